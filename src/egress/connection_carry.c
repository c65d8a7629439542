/* Inspecting and relaying a connection; see connection.c. */
#include "egress/connection_state.h"

#include <errno.h>
#include <sys/socket.h>

bool connection_inspect(struct connection *c)
{
        if (c->awaits == AWAITS_BYTES)
                c->awaits = AWAITS_NOTHING;
        while (c->up.allowance == 0 && !c->up.ahead.length && !c->up.ended && c->awaits == AWAITS_NOTHING) {
                struct inspection_verdict verdict;
                if (inspection_wants_response(&c->inspection)) {
                        c->awaits = AWAITS_ANSWER;
                        break;
                }
                ssize_t n = recv(c->client, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT);
                if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                        connection_wait_for_more(c, 0);
                        return true;
                }
                if (n <= 0) {
                        c->up.allowance = RELAY_UNLIMITED; /* EOF, which the relay forwards */
                        if (n < 0 || !inspection_may_end(&c->inspection)) {
                                connection_abort(c);
                                return false;
                        }
                        return true;
                }
                if (c->first_byte < 0)
                        c->first_byte = connection_peeked[0];
                bool ended = c->seen && (size_t)n == c->seen && connection_peer_has_closed(c->client);
                switch (inspection_inspect(&c->inspection, connection_peeked, (size_t)n, ended, &verdict)) {
                case INSPECTION_NEED_MORE:
                        if (connection_is_at_urgent_byte(c->client, n)) {
                                connection_abort(c);
                                return false;
                        }
                        connection_wait_for_more(c, (size_t)n);
                        return true;
                case INSPECTION_PASS:
                        c->up.allowance = (int64_t)verdict.bytes;
                        break;
                case INSPECTION_REPLACE:
                        c->up.ahead = verdict.replacement;
                        if (verdict.replacement.failed || !connection_consume(c, verdict.bytes)) {
                                connection_abort(c);
                                return false;
                        }
                        break;
                case INSPECTION_PASS_REST:
                        c->up.allowance = RELAY_UNLIMITED;
                        break;
                case INSPECTION_NEED_RESPONSE:
                        c->awaits = AWAITS_ANSWER;
                        break;
                case INSPECTION_DENY:
                        connection_refuse(c, verdict.reason, verdict.other);
                        return false;
                }
                (void)event_del(c->timer);
        }
        c->seen = 0;
        return true;
}

/* The server's answer decides what the program may send next. False: an urgent byte hides the rest of the answer. */
static bool inspect_answer(struct connection *c)
{
        static const uint8_t not_an_answer[] = { 0 };
        ssize_t n = recv(c->server, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n > 0 && connection_is_at_urgent_byte(c->server, n))
                return false;
        bool decided = n <= 0 || connection_peer_has_closed(c->server) /* it will never be complete */
                ? inspection_feed_response(&c->inspection, not_an_answer, sizeof not_an_answer)
                : inspection_feed_response(&c->inspection, connection_peeked, (size_t)n);
        c->awaits = decided ? AWAITS_NOTHING : AWAITS_ANSWER;
        const int least = decided ? 1 : (int)n + 1;
        (void)setsockopt(c->server, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
        return true;
}

/* While the server's answer is awaited: lets the program's EOF pass if no unread bytes precede it. True: the client is
   to be polled. False: poll would return at once again, because of EOF, an urgent byte or a full buffer. */
static bool watch_client(struct connection *c)
{
        ssize_t n = recv(c->client, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT);
        if (n == 0)
                c->up.allowance = RELAY_UNLIMITED;
        if (n > 0)
                connection_set_low_water(c, (int)n + 1);
        else if (n < 0)
                connection_set_low_water(c, 1);
        return n < 0 || (n > 0 && (size_t)n < sizeof connection_peeked && !connection_peer_has_closed(c->client) &&
                         !connection_is_at_urgent_byte(c->client, n));
}

void connection_carry(struct connection *c)
{
        struct pipe_pool *pipes = &c->egress->pipes;
        enum relay_status up, down;
        bool watching;
        if (c->awaits == AWAITS_ANSWER && !inspect_answer(c)) {
                connection_abort(c);
                return;
        }
        do {
                if (!connection_inspect(c))
                        return;
                watching = c->awaits == AWAITS_ANSWER && watch_client(c);
                up = splice_relay_pump(&c->up, pipes);
        } while (up == RELAY_ALLOWANCE_SPENT && c->awaits == AWAITS_NOTHING);
        /* An awaited answer is inspected before it passes. */
        down = c->awaits == AWAITS_ANSWER ? RELAY_WANT_READ : splice_relay_pump(&c->down, pipes);
        if (up == RELAY_BROKEN || down == RELAY_BROKEN) {
                connection_abort(c);
                return;
        }
        if (up == RELAY_DONE && down == RELAY_DONE) {
                connection_finish(c);
                return;
        }
        if (up == RELAY_WANT_READ)
                connection_set_low_water(c, 1);
        bool wants_bytes = c->awaits == AWAITS_BYTES || watching;
        connection_watch_event(c->client_read, up == RELAY_WANT_READ || (up == RELAY_ALLOWANCE_SPENT && wants_bytes));
        connection_watch_event(c->server_write, up == RELAY_WANT_WRITE);
        connection_watch_event(c->server_read, down == RELAY_WANT_READ);
        connection_watch_event(c->client_write, down == RELAY_WANT_WRITE);
        if (up == RELAY_YIELD || down == RELAY_YIELD)
                event_active(c->client_read, EV_READ, 0);
}
