/*
 * DNS for the box.
 *
 * No query of the box leaves the machine. A name that the plan allows on at least one port gets a fake IPv4 address
 * and, if the box has IPv6, a fake IPv6 address; localhost gets the loopback; any other name gets NXDOMAIN. Whether the
 * name really exists is found out when a program connects.
 *
 * What the program controls: the packets and their number. UDP keeps no state. TCP has at most STREAMS_MAX connections,
 * which answer one query at a time and are closed after STREAM_SECONDS without one.
 */
#include "egress/dns_server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/dns_packet.h"

enum {
        PACKETS_MAX = 64,  /* that are answered at one event */
        PACKET_MAX = 4096, /* bytes */
        LENGTH_BYTES = 2, /* the length before a packet, over TCP */
        STREAMS_MAX = 32,
        STREAM_SECONDS = 10,
        ADDRESS_TTL = 60,
};

static size_t stream_count;

static void report_name(struct egress *g, const struct dns_query *q, enum deny_reason reason)
{
        struct egress_event event = {
                .reason = reason, .listener = LISTENER_DNS_UDP, .generation = g->generation, .rule = -1
        };
        const struct host_rule *rule = NULL;
        bool asks_for_address = q->type == DNS_A || q->type == DNS_AAAA;
        /* Programs make these queries all the time, so they are not reported: other types, names without a dot, .local,
           and reverse lookups. */
        const char *dot = strchr(q->name, '.'), *last = strrchr(q->name, '.');
        if (!asks_for_address || !dot || strcmp(last, ".arpa") == 0 || strcmp(last, ".local") == 0)
                return;
        (void)hosts_decide(&g->plan->hosts, q->name, 443, &rule); /* a query has no port; 443 is the likeliest */
        if (rule && !rule->allow) {
                event.reason = REASON_HOST_DENIED;
                event.rule = (int32_t)(rule - g->plan->hosts.list);
        }
        (void)snprintf(event.host, sizeof event.host, "%s", q->name);
        report_refusal(&g->reporter, &event);
}

/* Returns the length of the answer; 0: the query gets no answer. */
static size_t answer_query(struct egress *g, const uint8_t *packet, size_t length, bool stream, uint8_t *ret,
                           size_t size)
{
        struct dns_query q;
        struct dns_address addresses[2] = { { .is_v6 = false }, { .is_v6 = true } };
        int code = dns_parse_query(packet, length, &q);
        if (code < 0)
                return 0;
        size_t limit = stream ? size : dns_udp_limit(&q);
        if (limit > size)
                limit = size;
        if (code > 0)
                return dns_write_answer(&q, (enum dns_rcode)code, NULL, 0, 0, ret, limit);
        if (strcmp(q.name, "localhost") == 0) { /* RFC 6761; for programs that do not read /etc/hosts */
                memcpy(addresses[0].bytes, &(struct in_addr){ htonl(INADDR_LOOPBACK) }, 4);
                memcpy(addresses[1].bytes, &in6addr_loopback, 16);
                return dns_write_answer(&q, DNS_NOERROR, addresses, g->v6 ? 2 : 1, ADDRESS_TTL, ret, limit);
        }
        if (q.not_host_name || !hosts_allow_any_port(&g->plan->hosts, q.name)) {
                report_name(g, &q, REASON_HOST_NOT_ALLOWED);
                return dns_write_answer(&q, DNS_NXDOMAIN, NULL, 0, 0, ret, limit);
        }
        int number = fake_ip_get_number(&g->names, q.name);
        if (number < 0) {
                report_name(g, &q, REASON_TOO_MANY_NAMES);
                return dns_write_answer(&q, DNS_SERVFAIL, NULL, 0, 0, ret, limit);
        }
        fake_ip_v4((size_t)number, addresses[0].bytes);
        fake_ip_v6((size_t)number, addresses[1].bytes);
        return dns_write_answer(&q, DNS_NOERROR, addresses, g->v6 ? 2 : 1, ADDRESS_TTL, ret, limit);
}

void dns_server_read_packets(struct egress *g, int fd)
{
        uint8_t packet[PACKET_MAX], reply[PACKET_MAX];
        for (int i = 0; i < PACKETS_MAX; i++) {
                struct sockaddr_storage from;
                socklen_t length = sizeof from;
                ssize_t n = recvfrom(fd, packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
                if (n < 0)
                        return;
                size_t size = answer_query(g, packet, (size_t)n, false, reply, sizeof reply);
                if (size)
                        (void)sendto(fd, reply, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, length);
        }
}

/* --- over TCP --- */

static void close_stream(struct bufferevent *io)
{
        bufferevent_free(io);
        stream_count--;
}

static void on_stream_bytes(struct bufferevent *io, void *data)
{
        struct evbuffer *in = bufferevent_get_input(io);
        uint8_t header[LENGTH_BYTES], reply[LENGTH_BYTES + PACKET_MAX];
        while (evbuffer_copyout(in, header, LENGTH_BYTES) == LENGTH_BYTES) {
                size_t length = (size_t)header[0] << 8 | header[1];
                if (length > PACKET_MAX || evbuffer_get_length(bufferevent_get_output(io)) > PACKET_MAX) {
                        close_stream(io); /* too long for a query, or the client does not read its answers */
                        return;
                }
                if (evbuffer_get_length(in) < LENGTH_BYTES + length)
                        return;
                const uint8_t *packet = evbuffer_pullup(in, (ev_ssize_t)(LENGTH_BYTES + length));
                size_t size = packet ? answer_query(data, packet + LENGTH_BYTES, length, true, reply + LENGTH_BYTES,
                                                    PACKET_MAX)
                                     : 0;
                if (!size) {
                        close_stream(io);
                        return;
                }
                (void)evbuffer_drain(in, LENGTH_BYTES + length);
                reply[0] = (uint8_t)(size >> 8);
                reply[1] = (uint8_t)size;
                (void)bufferevent_write(io, reply, LENGTH_BYTES + size);
        }
}

static void on_stream_end(struct bufferevent *io, short what, void *data)
{
        (void)what;
        (void)data;
        close_stream(io);
}

void dns_server_take_stream(struct egress *g, int fd)
{
        const struct timeval timeout = { .tv_sec = STREAM_SECONDS };
        struct bufferevent *io = stream_count < STREAMS_MAX ? bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE)
                                                            : NULL;
        if (!io) {
                (void)close(fd);
                return;
        }
        stream_count++;
        bufferevent_setcb(io, on_stream_bytes, NULL, on_stream_end, g);
        bufferevent_setwatermark(io, EV_READ, 0, LENGTH_BYTES + PACKET_MAX);
        (void)bufferevent_set_timeouts(io, &timeout, &timeout);
        (void)bufferevent_enable(io, EV_READ | EV_WRITE);
}
