/*
 * What the files of a connection share: connection.c has its life cycle, connection_request.c finds its host,
 * connection_reach.c connects to the host, connection_carry.c relays, connection_refuse.c refuses.
 */
#ifndef RINGWALL_EGRESS_CONNECTION_STATE_H
#define RINGWALL_EGRESS_CONNECTION_STATE_H

#include "egress/connection.h"
#include "egress/destination.h"
#include "egress/inspection.h"

enum connection_state {
        STATE_READING_REQUEST, /* of a client of a proxy */
        STATE_REACHING,        /* resolving the name, connecting, asking the upstream proxy */
        STATE_CARRYING,
        STATE_REFUSING,        /* waiting for the program's first byte, which decides the protocol of the refusal */
        STATE_DRAINING,        /* the last answer is sent; what the program still sends is discarded */
};

/* What must arrive before more of the program's bytes can pass. */
enum connection_awaits {
        AWAITS_NOTHING,
        AWAITS_BYTES,  /* more bytes from the program, to inspect */
        AWAITS_ANSWER, /* the server's answer */
};

struct connection {
        struct egress *egress;
        struct connection *next, **link; /* the list of all connections; *link points to this one */
        enum egress_listener_kind listener;
        enum connection_state state;
        enum connection_awaits awaits;
        char host[DOMAIN_MAX + 1];
        uint16_t port;
        uint32_t generation;
        int32_t rule;
        union address address; /* the address that was dialled or refused */
        bool reached;
        bool is_proxy_request; /* to the HTTP proxy, with an http:// target instead of CONNECT */
        bool upstream;         /* through the proxy in HTTPS_PROXY */
        int client, server;
        struct event *client_read, *client_write, *server_read, *server_write, *timer;
        struct resolve_request *resolving;
        struct dial_request *dialling;
        struct upstream_connect *tunnel;
        struct splice_relay up, down; /* to the server, to the program */
        struct inspection inspection;
        int first_byte; /* the first byte that the program sent; -1: none yet */
        size_t seen;    /* bytes that were inspected already and were too few */
        int low_water;  /* SO_RCVLOWAT of the client */
        struct socks *socks;
        struct egress_event refusal;
};

/* The buffer for bytes to inspect. All connections share it, so its contents are lost on return to the event loop. */
extern uint8_t connection_peeked[INSPECTION_MAX];

/* --- connection.c --- */

/* Called after every event: does what is possible now, then sets the events to wait for. May free the connection. */
void connection_advance(struct connection *c);
void connection_on_event(evutil_socket_t fd, short what, void *data);

/* Closes and frees the connection; abort also sends a reset to both sides. */
void connection_finish(struct connection *c);
void connection_abort(struct connection *c);

void connection_stop_reaching(struct connection *c);
void connection_describe(const struct connection *c, struct egress_event *ret);
void connection_set_timer(struct connection *c, int seconds);
void connection_watch_event(struct event *event, bool wanted);
void connection_free_event(struct event **e);

/* Makes the later close() send a reset. */
void connection_reset_on_close(int fd);

/* Has the peer closed, or shut down its sending side? */
bool connection_peer_has_closed(int fd);

/* Removes bytes that were peeked from the program's stream. Overwrites connection_peeked. */
bool connection_consume(struct connection *c, size_t bytes);

/*
 * Is there an urgent byte behind the `seen` bytes? MSG_PEEK never looks past it, so the rest could never be inspected.
 * The caller aborts: no protocol has one in a head.
 */
bool connection_is_at_urgent_byte(int fd, ssize_t seen);

/* The client's socket becomes readable at this many bytes, or when there are more than `seen`. */
void connection_set_low_water(struct connection *c, int bytes);
void connection_wait_for_more(struct connection *c, size_t seen);

/* --- connection_request.c: which host does the program want to reach? Each may free the connection. --- */

void connection_read_socks_request(struct connection *c);
void connection_read_http_request(struct connection *c);

/* Finds the host by the fake address that the program connected to. */
void connection_find_host(struct connection *c);

/* --- connection_reach.c. Each may free the connection. --- */

/* Connects to c->host and c->port, if they are allowed. */
void connection_reach(struct connection *c);

/* Connects the box's loopback with the host's, in either direction. Any protocol may pass. */
void connection_reach_loopback(struct connection *c);

/* --- connection_carry.c --- */

/*
 * Inspects what the program has sent, unless inspected bytes are still to be relayed. False: the connection was refused
 * or aborted, and may be freed.
 */
bool connection_inspect(struct connection *c);

/* Relays both directions. May free the connection. */
void connection_carry(struct connection *c);

/* --- connection_refuse.c. Each may free the connection. --- */

/* Reports the refusal to the front and to the program. */
void http_connection_reply_error(struct connection *c, enum deny_reason reason, const char *other);

/* Sends the refusal in the protocol of the program's first byte; may have to wait for that byte. */
void connection_send_refusal(struct connection *c);

/* Sends the last message to the program; the connection is drained and then closed. */
void connection_send_and_drain(struct connection *c, const struct text *message);

/* Discards what the program still sends; finishes the connection at EOF. */
void connection_drain(struct connection *c);

#endif
