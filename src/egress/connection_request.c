/*
 * Finds the host that a program wants to reach: it asks a proxy, by SOCKS or HTTP, or connects to the fake
 * address of a name; see connection.c.
 */
#include "egress/connection_state.h"

#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "egress/http_destination.h"
#include "egress/deny_response.h"
#include "egress/socks.h"
#include "egress/proxy_token.h"

enum { IP6_ORIGINAL_DST = 80 }; /* IP6T_SO_ORIGINAL_DST, whose header clashes with others */

/* The name whose fake address this is, or NULL. */
static const char *name_of(const struct egress *g, const union address *a)
{
        return a->any.sa_family == AF_INET6
                       ? fake_ip_find(&g->names, a->v6.sin6_addr.s6_addr, sizeof a->v6.sin6_addr)
                       : fake_ip_find(&g->names, (const uint8_t *)&a->v4.sin_addr, sizeof a->v4.sin_addr);
}

/* Sets the connection's host and port. False: the destination is an address that is not a fake address of a name. */
static bool set_destination(struct connection *c, const struct destination *to)
{
        union address a;
        const char *name = to->host;
        if (to->is_address && address_parse(to->host, &a))
                name = name_of(c->egress, &a);
        c->port = to->port;
        if (name)
                (void)snprintf(c->host, sizeof c->host, "%s", name);
        else
                c->address = a;
        return name;
}

static void report_wrong_token(struct connection *c)
{
        (void)snprintf(c->host, sizeof c->host, "localhost");
        connection_describe(c, &c->refusal);
        c->refusal.reason = REASON_BAD_TOKEN;
        report_refusal(&c->egress->reporter, &c->refusal);
}

/*
 * Some clients send the token only after this challenge, over a new connection, so a missing token is not reported. May
 * free the connection.
 */
static void challenge_client(struct connection *c, enum proxy_token_result token)
{
        CLEANUP_TEXT struct text challenge = { 0 };
        if (token == PROXY_TOKEN_WRONG)
                report_wrong_token(c);
        proxy_auth_challenge_write(&challenge);
        connection_send_and_drain(c, &challenge);
}

void connection_read_socks_request(struct connection *c)
{
        CLEANUP_TEXT struct text answer = { 0 };
        if (!c->socks && (c->socks = calloc(1, sizeof *c->socks)))
                socks_init(c->socks, *c->egress->token ? c->egress->token : NULL);
        for (int r = 0; c->socks && r == 0;) {
                ssize_t n = recv(c->client, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT);
                if (n < 0 && errno == EAGAIN)
                        return;
                size_t used = 0;
                r = n <= 0 ? -EPIPE : socks_feed(c->socks, (const char *)connection_peeked, (size_t)n, &used, &answer);
                if (n > 0)
                        (void)connection_consume(c, used);
                if (answer.length && send(c->client, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                        r = -EPIPE;
                text_done(&answer);
                if (r == 1) {
                        if (set_destination(c, &c->socks->destination))
                                connection_reach(c);
                        else
                                connection_refuse(c, REASON_RAW_ADDRESS, "");
                        return;
                }
                if (r == -EACCES)
                        report_wrong_token(c);
                if (r < 0) {
                        connection_finish(c);
                        return;
                }
        }
        if (!c->socks)
                connection_finish(c);
}

/* The answer to CONNECT is sent once the host is reached. Any other request stays in the socket for inspection.c. */
void connection_read_http_request(struct connection *c)
{
        struct http_request request;
        struct destination to;
        size_t used = 0;
        ssize_t n = recv(c->client, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
                return;
        if (n <= 0) {
                connection_finish(c);
                return;
        }
        http_request_init_relay(&request);
        int taken = http_request_feed(&request, (const char *)connection_peeked, (size_t)n, &used);
        if (taken == 0) {
                bool ended = c->seen && (size_t)n == c->seen && connection_peer_has_closed(c->client);
                http_request_done(&request);
                if (ended || connection_is_at_urgent_byte(c->client, n))
                        connection_abort(c);
                else
                        connection_wait_for_more(c, (size_t)n);
                return;
        }
        bool known = taken > 0 && !http_find_destination(&request, &to), tunnel = known && http_is_connect(&request);
        enum proxy_token_result token =
                taken > 0 && *c->egress->token ? token_check(c->egress->token, &request) : PROXY_TOKEN_OK;
        http_request_done(&request);
        c->seen = 0;
        if (token != PROXY_TOKEN_OK) {
                challenge_client(c, token);
        } else if (!known) {
                connection_refuse(c, REASON_MALFORMED_HTTP, "");
        } else if (!set_destination(c, &to)) {
                connection_refuse(c, REASON_RAW_ADDRESS, "");
        } else {
                if (tunnel && connection_consume(c, used))
                        text_add(&c->down.ahead, "HTTP/1.1 200 Connection established\r\n\r\n");
                c->is_proxy_request = !tunnel;
                connection_reach(c);
        }
}

void connection_find_host(struct connection *c)
{
        union address original = { 0 };
        socklen_t length = sizeof original;
        int family = AF_INET;
        socklen_t family_length = sizeof family;
        (void)getsockopt(c->client, SOL_SOCKET, SO_DOMAIN, &family, &family_length);
        bool v6 = family == AF_INET6;
        const char *name = NULL;
        if (getsockopt(c->client, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IP6_ORIGINAL_DST : SO_ORIGINAL_DST, &original,
                       &length) == 0) {
                c->port = ntohs(v6 ? original.v6.sin6_port : original.v4.sin_port);
                name = name_of(c->egress, &original);
        }
        if (name) {
                (void)snprintf(c->host, sizeof c->host, "%s", name);
                connection_reach(c);
        } else {
                c->address = original;
                connection_refuse(c, REASON_RAW_ADDRESS, "");
        }
}
