/*
 * DNS for the box.
 *
 * No question leaves the machine: a name that the policy could allow on some port exists, with one address of ours in each family;
 * any other does not. That the real name exists is found out when somebody connects.
 *
 * What the program controls: packets, and how many. UDP keeps nothing; over TCP there are few connections, each with one question
 * at a time and a moment to ask it.
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
        PACKETS_AT_ONCE = 64,
        PACKET_MOST = 4096,
        LENGTH_BYTES = 2, /* in front of a packet, over TCP */
        STREAMS_MOST = 32,
        STREAM_SECONDS = 10,
        ADDRESS_TTL = 60,
};

static size_t streams;

static void tell_unknown(struct egress *g, const struct dns_query *q, enum egress_reason reason)
{
        struct egress_event event = { .reason = reason, .way = EGRESS_DNS_PACKETS, .generation = g->generation, .rule = -1 };
        const struct host_rule *rule = NULL;
        bool addresses = q->type == DNS_A || q->type == DNS_AAAA;
        /* Programs ask for their own machine, and for the names of addresses, all the time. */
        const char *dot = strchr(q->name, '.'), *last = strrchr(q->name, '.');
        if (!addresses || !dot || strcmp(last, ".arpa") == 0 || strcmp(last, ".local") == 0)
                return;
        (void)hosts_decide(&g->plan->hosts, q->name, 443, &rule);
        if (rule && !rule->allow) {
                event.reason = REASON_DENIED;
                event.rule = (int32_t)(rule - g->plan->hosts.list);
        }
        (void)snprintf(event.host, sizeof event.host, "%s", q->name);
        tell_refusal(&g->telling, &event);
}

/* The answer's length; 0: none is given. */
static size_t answer(struct egress *g, const uint8_t *packet, size_t length, bool stream, uint8_t *ret, size_t size)
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
        if (strcmp(q.name, "localhost") == 0) { /* RFC 6761: whoever has no hosts file asks for it */
                memcpy(addresses[0].bytes, &(struct in_addr){ htonl(INADDR_LOOPBACK) }, 4);
                memcpy(addresses[1].bytes, &in6addr_loopback, 16);
                return dns_write_answer(&q, DNS_NOERROR, addresses, g->v6 ? 2 : 1, ADDRESS_TTL, ret, limit);
        }
        if (q.odd || !hosts_know(&g->plan->hosts, q.name)) {
                tell_unknown(g, &q, REASON_NAME);
                return dns_write_answer(&q, DNS_NXDOMAIN, NULL, 0, 0, ret, limit);
        }
        int number = names_number(&g->names, q.name);
        if (number < 0) {
                tell_unknown(g, &q, REASON_TOO_MANY);
                return dns_write_answer(&q, DNS_SERVFAIL, NULL, 0, 0, ret, limit);
        }
        names_v4((size_t)number, addresses[0].bytes);
        names_v6((size_t)number, addresses[1].bytes);
        return dns_write_answer(&q, DNS_NOERROR, addresses, g->v6 ? 2 : 1, ADDRESS_TTL, ret, limit);
}

void dns_server_packets(struct egress *g, int fd)
{
        uint8_t packet[PACKET_MOST], reply[PACKET_MOST];
        for (int i = 0; i < PACKETS_AT_ONCE; i++) {
                struct sockaddr_storage from;
                socklen_t length = sizeof from;
                ssize_t n = recvfrom(fd, packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
                if (n < 0)
                        return;
                size_t size = answer(g, packet, (size_t)n, false, reply, sizeof reply);
                if (size)
                        (void)sendto(fd, reply, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, length);
        }
}

/* --- over TCP --- */

static void close_stream(struct bufferevent *io)
{
        bufferevent_free(io);
        streams--;
}

static void on_bytes(struct bufferevent *io, void *data)
{
        struct evbuffer *in = bufferevent_get_input(io);
        uint8_t header[LENGTH_BYTES], reply[LENGTH_BYTES + PACKET_MOST];
        while (evbuffer_copyout(in, header, LENGTH_BYTES) == LENGTH_BYTES) {
                size_t length = (size_t)header[0] << 8 | header[1];
                if (length > PACKET_MOST || evbuffer_get_length(bufferevent_get_output(io)) > PACKET_MOST) {
                        close_stream(io); /* no question is so long; nobody who reads lets so much pile up */
                        return;
                }
                if (evbuffer_get_length(in) < LENGTH_BYTES + length)
                        return;
                const uint8_t *packet = evbuffer_pullup(in, (ev_ssize_t)(LENGTH_BYTES + length));
                size_t size = packet ? answer(data, packet + LENGTH_BYTES, length, true, reply + LENGTH_BYTES, PACKET_MOST) : 0;
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

static void on_end(struct bufferevent *io, short what, void *data)
{
        (void)what;
        (void)data;
        close_stream(io);
}

void dns_server_stream(struct egress *g, int fd)
{
        const struct timeval patience = { .tv_sec = STREAM_SECONDS };
        struct bufferevent *io = streams < STREAMS_MOST ? bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
        if (!io) {
                (void)close(fd);
                return;
        }
        streams++;
        bufferevent_setcb(io, on_bytes, NULL, on_end, g);
        bufferevent_setwatermark(io, EV_READ, 0, LENGTH_BYTES + PACKET_MOST);
        (void)bufferevent_set_timeouts(io, &patience, &patience);
        (void)bufferevent_enable(io, EV_READ | EV_WRITE);
}
