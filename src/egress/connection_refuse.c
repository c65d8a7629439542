/* Refusing a connection, in the program's own protocol; see connection.c. */
#include "egress/connection_state.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/deny_response.h"
#include "policy/default_ports.h"

enum { REFUSED_SECONDS = 2 }; /* for the program to send its first byte, and to read the refusal */

void connection_drain(struct connection *c)
{
        ssize_t n;
        while ((n = recv(c->client, connection_peeked, sizeof connection_peeked, MSG_DONTWAIT)) > 0)
                ;
        if (n == 0 || errno != EAGAIN)
                connection_finish(c);
}

void connection_send_and_drain(struct connection *c, const struct text *message)
{
        if (message->failed ||
            send(c->client, message->data, message->length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)message->length) {
                connection_abort(c);
                return;
        }
        (void)shutdown(c->client, SHUT_WR);
        c->state = STATE_DRAINING;
        connection_set_timer(c, REFUSED_SECONDS);
        connection_drain(c);
}

void connection_send_refusal(struct connection *c)
{
        CLEANUP_TEXT struct text reply = { 0 };
        uint8_t byte = 0;
        if (c->first_byte < 0 && recv(c->client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
                c->first_byte = byte;
        deny_response_write(&c->refusal, c->first_byte, &reply);
        if (reply.length)
                connection_send_and_drain(c, &reply);
        else if (c->first_byte >= 0 || connection_peer_has_closed(c->client))
                connection_abort(c);
}

void connection_refuse(struct connection *c, enum deny_reason reason, const char *other)
{
        bool client_speaks_first = port_is_default(NULL, c->port) || c->listener != LISTENER_TRANSPARENT ||
                                   c->first_byte >= 0 || c->awaits == AWAITS_BYTES;
        connection_describe(c, &c->refusal);
        c->refusal.reason = reason;
        (void)snprintf(c->refusal.other, sizeof c->refusal.other, "%s", other);
        report_refusal(&c->egress->reporter, &c->refusal);
        connection_stop_reaching(c);
        connection_free_event(&c->server_read);
        connection_free_event(&c->server_write);
        connection_reset_on_close(c->server);
        fd_close(&c->server);
        if (c->state == STATE_CARRYING && c->down.passed) { /* the program has received bytes already */
                connection_abort(c);
                return;
        }
        c->state = STATE_REFUSING;
        connection_set_timer(c, REFUSED_SECONDS);
        (void)event_del(c->client_write);
        (void)event_add(c->client_read, NULL);
        if (client_speaks_first)
                connection_send_refusal(c);
        else
                connection_abort(c);
}
