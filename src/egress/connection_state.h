/*
 * What the connection_*.c files share: connection.c has the life cycle of a connection, connection_request.c finds its
 * host, connection_reach.c connects to the host, connection_carry.c relays, connection_refuse.c refuses.
 */
#ifndef RINGWALL_EGRESS_CONNECTION_STATE_H
#define RINGWALL_EGRESS_CONNECTION_STATE_H

#include "egress/connection.h"
#include "egress/destination.h"
#include "egress/inspection.h"

enum connection_state {
        STATE_READING_REQUEST, /* a program uses a proxy, and its request is not complete yet */
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
        uint32_t generation;   /* of the hosts that decided about this connection */
        int32_t rule;          /* the index of the rule that decided; -1: none */
        union address address; /* the address that was dialled or refused */
        bool reached;          /* `server` is connected to the host */
        bool is_proxy_request; /* to the HTTP proxy, with an http:// target instead of CONNECT */
        bool upstream;         /* through the proxy in HTTPS_PROXY */
        int client, server;    /* sockets: to the program, and to the host or -1 */
        struct event *client_read, *client_write, *server_read, *server_write, *timer;
        struct resolve_request *resolving;
        struct dial_request *dialling;
        struct upstream_connect *tunnel;
        struct splice_relay up, down; /* to the server, to the program */
        struct inspection inspection;
        int first_byte; /* the first byte that the program sent; -1: none yet */
        size_t seen;    /* unread bytes of the program that were too few to decide; more must arrive */
        int low_water;  /* SO_RCVLOWAT of the client */
        struct socks *socks;
        struct egress_event refusal;
};

/* The buffer for peeked bytes. All connections share it, so its contents are lost on return to the event loop. */
extern uint8_t connection_peeked[INSPECTION_MAX];

/* --- connection.c --- */

/* Called after every event: does what is possible now, then sets the events to wait for. May free the connection. */
void connection_advance(struct connection *c);

/* The callback of all events but the timer: calls connection_advance(). */
void connection_on_event(evutil_socket_t fd, short what, void *data);

/* Closes and frees the connection; abort also sends a reset to both sides. */
void connection_finish(struct connection *c);
void connection_abort(struct connection *c);

/* Cancels the resolving, dialling, or request to the upstream proxy that is in progress. */
void connection_stop_reaching(struct connection *c);

/* Fills in what a report says about any connection; the caller adds the kind and the reason. */
void connection_describe(const struct connection *c, struct egress_event *ret);

/* The connection is aborted after this time, unless the timer is set again or removed. */
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
 * Is there an urgent byte right after the `seen` bytes? MSG_PEEK never looks past it, so bytes after it could never be
 * inspected. Callers that need more bytes abort the connection: no protocol has an urgent byte in a head.
 */
bool connection_is_at_urgent_byte(int fd, ssize_t seen);

/* Makes the client's socket readable only from this many bytes on. */
void connection_set_low_water(struct connection *c, int bytes);

/* Makes the client's socket readable only when there are more than the `seen` bytes, and sets AWAITS_BYTES. */
void connection_wait_for_more(struct connection *c, size_t seen);

/* --- connection_request.c: which host does the program want to reach? Each may free the connection. --- */

void connection_read_socks_request(struct connection *c);
void connection_read_http_request(struct connection *c);

/* Finds the host by the fake address that the program connected to. */
void connection_find_host(struct connection *c);

/* --- connection_reach.c. Each may free the connection. --- */

/* Connects to c->host and c->port if they are allowed; refuses the program otherwise. */
void connection_reach(struct connection *c);

/* For a local port connects to the host's loopback, for a published port to the box's. Any protocol may pass. */
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

/* Refuses the connection: reports it to the front, and to the program in its own protocol. `other`: see egress_event.
 */
void connection_refuse(struct connection *c, enum deny_reason reason, const char *other);

/* Sends c->refusal in the protocol that the first byte of the program shows; returns if that byte has not arrived yet.
 */
void connection_send_refusal(struct connection *c);

/* Sends a last message to the program. Then the connection is drained and closed. */
void connection_send_and_drain(struct connection *c, const struct text *message);

/* Discards what the program still sends; finishes the connection at EOF or an error. */
void connection_drain(struct connection *c);

#endif
