/*
 * Boxes on request; see broker.h.
 *
 *   client ── MCP ── server (a box of its own: no files, no network, no programs)
 *                      │ asks for boxes            │ frames, by a channel of its own for each box
 *                    broker (outside)             tools (a box for each session, behind the plan's walls)
 *
 * What it is for: the one process that reads what a client sends holds nothing that is worth taking, and the one that can
 * make boxes never reads a byte of a client's.
 *
 * How it works: packets over a socket pair. The server waits for the answers that it needs, which are few: one for the
 * start of each box, with the channel to it, and one for each that ended by itself, with the reason. The broker waits for
 * whatever comes first: the server, the keeper of a box, a signal.
 *
 * What it trusts: nothing that the server says. It can start and end boxes of this one plan, up to a number, and add
 * events of known names to its own sessions' records.
 *
 * If the broker dies, the kernel ends every box with it. If the server dies, the broker ends all boxes and says so.
 */
#include "session/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "session/cell.h"
#include "wire/wire.h"

static const char stage[] = "session";

enum packet_kind { LISTEN, START, END, RECORD };

/* Both ways. Text: an error's, or a record's fields as JSON. */
struct message {
        enum packet_kind kind;
        uint32_t session;
        int code;   /* an answer's; of END, not 0 when an answer is wanted */
        char event[32];
        char text[16 << 10]; /* counts of every shape that there can be fit */
};
_Static_assert(sizeof((struct message){ 0 }.text) >= sizeof((struct error){ 0 }.text), "an error fits");

static int send_message(int socket, const struct message *m, int fd)
{
        int r;
        do
                r = wire_send(socket, m, sizeof *m, fd);
        while (r == -EINTR);
        return r;
}

/* 1 with a message, 0 at the end, -EAGAIN, or another -errno. */
static int receive_message(int socket, struct message *ret, int flags, int *ret_fd)
{
        ssize_t n;
        do
                n = wire_receive(socket, ret, sizeof *ret, flags, ret_fd);
        while (n == -EINTR);
        if (n <= 0)
                return (int)n;
        ret->event[sizeof ret->event - 1] = ret->text[sizeof ret->text - 1] = '\0';
        return n == sizeof *ret ? 1 : -EPROTO;
}

/* --- outside --- */

struct brokering {
        const struct broker *b;
        const struct plan *plan; /* of boxes that are to come */
        struct cell server;
        int socket; /* to it */
        struct cell *sessions[BROKER_SESSIONS];
        size_t notes;  /* of what the boxes do not hold, that were told */
        bool stood;    /* a box of tools has */
        bool over;
        int null;
        int signals;
        int status;
};

/* Events that a server may add to a record. */
enum { RECORD_DEPTH = 4 };
static const char *const events[] = { "secrets_redacted", "call_refused" };

/* What this box does not hold; once, though others like it may follow. */
static void look_at(struct brokering *x, const struct cell *c)
{
        x->stood |= c->report.started;
        while (x->notes < c->report.note_count)
                x->b->tell(c->report.notes[x->notes++]);
}

static void end_session(struct brokering *x, struct cell **c, struct error *why)
{
        if (cell_end(*c) < 0)
                x->b->tell("the record of this session could not be written to its end");
        look_at(x, *c);
        *why = (*c)->report.error;
        if (!why->code)
                (void)error_set(why, EPIPE, stage, "the tools have ended");
        cell_free(*c);
        free(*c);
        *c = NULL;
}

static int start_session(struct brokering *x, struct cell **place, struct error *e)
{
        const int streams[] = { x->null, x->null, STDERR_FILENO };
        const struct cell_request request = { .plan = x->plan, .name = "tools", .serve = x->b->tools, .data = x->b->tools_data,
                                              .streams = streams, .type = SOCK_STREAM };
        struct cell *c = calloc(1, sizeof *c);
        int channel = c ? cell_start(c, &request, e) : error_errno(e, ENOMEM, stage, "no memory");
        if (channel < 0)
                free(c);
        else
                *place = c;
        return channel;
}

static int answer(struct brokering *x, const struct message *m, const struct error *e, int fd)
{
        struct message reply = { .kind = m->kind, .session = m->session, .code = e->code };
        memcpy(reply.text, e->text, sizeof e->text);
        return send_message(x->socket, &reply, fd);
}

static int record(struct cell *c, const struct message *m)
{
        size_t i = 0;
        json_t *fields = NULL;
        while (i < ARRAY_SIZE(events) && strcmp(events[i], m->event) != 0)
                i++;
        if (i == ARRAY_SIZE(events) ||
            json_parse_bounded(m->text, strlen(m->text), sizeof m->text, RECORD_DEPTH, &fields, NULL, NULL, NULL) < 0)
                return -EPROTO;
        trail_event(&c->trail, events[i], fields);
        return 0;
}

/* A failure here ends the server: it says what no server of ours says, or is gone. */
static int take_message(struct brokering *x, const struct message *m, struct error *e)
{
        struct cell **c = m->session < BROKER_SESSIONS ? &x->sessions[m->session] : NULL;
        struct error why = { 0 };
        if (!c || !*c != (m->kind == START))
                return -EPROTO;
        if (m->kind == START) {
                CLEANUP_FD int channel = start_session(x, c, &why);
                if (channel < 0 && !x->stood)
                        *e = why;
                return answer(x, m, &why, channel);
        }
        if (m->kind == END) {
                end_session(x, c, &why);
                if (!x->stood)
                        *e = why;
                return m->code ? answer(x, m, &why, -1) : 0;
        }
        return m->kind == RECORD ? record(*c, m) : -EPROTO;
}

static void hear_server(struct brokering *x, struct error *e)
{
        struct message m;
        CLEANUP_FD int fd = -1;
        int r = receive_message(x->socket, &m, MSG_DONTWAIT, &fd);
        if (r == 1)
                r = take_message(x, &m, e) < 0 ? -EPROTO : 1;
        x->over |= (r <= 0 && r != -EAGAIN) || e->code;
}

/* The plan that is made here is never freed: reports speak of its rules. */
static void hear_policy(struct brokering *x)
{
        CLEANUP_TEXT struct text complaint = { 0 };
        struct plan *changed = NULL;
        int r = live_read(x->b->live, &changed, &complaint);
        struct plan *next = r > 0 ? ARENA_NEW(changed->arena, struct plan) : NULL;
        if (r < 0 || (r > 0 && !next))
                x->b->tell(complaint.data ? complaint.data : "no memory");
        if (!next)
                return;
        *next = *x->plan;
        next->hosts = plan_reachable_hosts(changed);
        next->private_hosts = changed->private_hosts;
        x->plan = next;
        for (size_t i = 0; i < BROKER_SESSIONS; i++) {
                struct error e = { 0 };
                if (x->sessions[i] && cell_change_hosts(x->sessions[i], changed, &e) < 0)
                        x->b->tell(e.text);
        }
}

static void hear_signal(struct brokering *x)
{
        struct signalfd_siginfo s;
        if (read(x->signals, &s, sizeof s) == sizeof s) {
                x->over = true;
                x->status = 128 + (int)s.ssi_signo;
        }
}

static int wait_for_something(struct brokering *x, struct error *e)
{
        enum { OWN = 4 };
        struct pollfd fds[OWN + 2 * BROKER_SESSIONS] = {
                { .fd = x->socket, .events = POLLIN },
                { .fd = cell_fd(&x->server), .events = POLLIN },
                { .fd = x->signals, .events = POLLIN },
                { .fd = x->b->live ? x->b->live->changes : -1, .events = POLLIN },
        };
        struct cell *whose[ARRAY_SIZE(fds)];
        size_t count = OWN; /* only of those that there are: poll takes no more than descriptors can be open */
        for (size_t i = 0; i < BROKER_SESSIONS; i++) {
                struct cell *c = x->sessions[i];
                const int each[] = { c ? cell_fd(c) : -1, c ? cell_egress_fd(c) : -1 };
                for (size_t j = 0; j < ARRAY_SIZE(each); j++) {
                        if (each[j] < 0)
                                continue;
                        whose[count] = c;
                        fds[count++] = (struct pollfd){ .fd = each[j], .events = POLLIN };
                }
        }
        if (poll(fds, count, -1) < 0)
                return errno == EINTR ? 0 : error_errno(e, errno, stage, "cannot wait");
        for (size_t i = OWN; i < count; i++) {
                if (fds[i].revents) {
                        cell_hear(whose[i]);
                        look_at(x, whose[i]);
                }
        }
        if (fds[1].revents)
                cell_hear(&x->server);
        if (fds[2].revents)
                hear_signal(x);
        if (fds[3].revents)
                hear_policy(x);
        if (fds[0].revents)
                hear_server(x, e);
        else
                x->over |= x->server.said_all;
        return 0;
}

/* No file, no network, no program; the spaces and the level are those of the tools, which this machine can hold. */
static void plan_server(const struct plan *tools, struct plan *ret)
{
        static const enum plan_number same[] = { PLAN_LEVEL, PLAN_NAMESPACES, PLAN_BEST_EFFORT };
        *ret = (struct plan){ .workspace = "/", .home = "" };
        for (size_t i = 0; i < PLAN_NUMBER_COUNT; i++)
                ret->number[i].from = tools->number[i].from;
        for (size_t i = 0; i < ARRAY_SIZE(same); i++)
                ret->number[same[i]] = tools->number[same[i]];
        if (ret->number[PLAN_NAMESPACES].number & SPACE_USER)
                ret->number[PLAN_NAMESPACES].number |= SPACE_NET;
}

static int start_server(struct brokering *x, const struct plan *plan, struct error *e)
{
        const int streams[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
        const struct cell_request request = { .plan = plan, .name = "server", .serve = x->b->server, .data = x->b->server_data,
                                              .directory = "/", .streams = streams, .type = SOCK_SEQPACKET };
        x->socket = cell_start(&x->server, &request, e);
        int r = x->socket < 0 ? x->socket : 0;
        for (size_t i = 0; r == 0 && i < x->b->listener_count; i++)
                r = send_message(x->socket, &(struct message){ .kind = LISTEN }, x->b->listeners[i]);
        if (r < 0 && !e->code)
                error_errno(e, -r, stage, "cannot start the server");
        return r;
}

static int end_all(struct brokering *x, struct error *e)
{
        struct error why;
        (void)shutdown(x->socket, SHUT_RDWR); /* the keepers have it too, since they were forked */
        fd_close(&x->socket);
        for (size_t i = 0; i < BROKER_SESSIONS; i++) {
                if (!x->sessions[i])
                        continue;
                x->sessions[i]->said_all |= x->server.said_all; /* nobody is left to tell its tools to end */
                end_session(x, &x->sessions[i], &why);
        }
        (void)cell_end(&x->server);
        const struct report *r = &x->server.report;
        bool failed = r->plan && !x->status && !(r->end == END_EXITED && r->number == 0);
        if (failed && !e->code && r->error.code)
                *e = r->error;
        else if (failed && !e->code)
                (void)error_set(e, EPIPE, stage, r->end == END_SIGNALLED ? "the server was ended by signal %d"
                                                                         : "the server has failed with status %d", r->number);
        cell_free(&x->server);
        return e->code ? -e->code : x->status;
}

int broker_run(const struct broker *b, struct error *e)
{
        struct brokering x = { .b = b, .plan = b->plan, .socket = -1 };
        struct plan plan;
        sigset_t ends, before;
        (void)sigemptyset(&ends);
        (void)sigaddset(&ends, SIGTERM);
        (void)sigaddset(&ends, SIGINT);
        (void)sigaddset(&ends, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &ends, &before);
        CLEANUP_FD int signals = x.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
        CLEANUP_FD int null = x.null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int r = signals < 0 || null < 0 ? error_errno(e, errno, stage, "cannot prepare the server") : 0;
        plan_server(b->plan, &plan);
        if (r == 0)
                r = start_server(&x, &plan, e);
        while (r == 0 && !x.over)
                r = wait_for_something(&x, e);
        r = end_all(&x, e);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}

/* --- in the server --- */

int broker_listener(int broker)
{
        struct message m;
        int fd = -1, r = receive_message(broker, &m, 0, &fd);
        if (r == 1 && m.kind == LISTEN && fd >= 0)
                return fd;
        fd_close(&fd);
        return r < 0 ? r : -EPROTO;
}

/* Until the answer of this kind comes; the descriptor with it, if any, is the caller's. */
static int ask(int broker, const struct message *m, int *ret_fd, struct error *e)
{
        struct message reply = { 0 };
        int r = send_message(broker, m, -1);
        if (r == 0)
                r = receive_message(broker, &reply, 0, ret_fd);
        if (r != 1 || reply.kind != m->kind || reply.session != m->session)
                return error_set(e, EPIPE, stage, "the process that makes boxes is gone");
        return reply.code ? error_set(e, reply.code, stage, "%s", reply.text) : 0;
}

int broker_start(int broker, uint32_t session, struct error *e)
{
        int fd = -1, r = ask(broker, &(struct message){ .kind = START, .session = session }, &fd, e);
        if (r == 0 && fd < 0)
                r = error_set(e, EPROTO, stage, "a box came without a channel");
        if (r < 0)
                fd_close(&fd);
        return r < 0 ? r : fd;
}

void broker_end(int broker, uint32_t session, struct error *why)
{
        const struct message m = { .kind = END, .session = session, .code = why != NULL };
        CLEANUP_FD int fd = -1;
        if (why)
                (void)ask(broker, &m, &fd, why);
        else
                (void)send_message(broker, &m, -1);
}

void broker_record(int broker, uint32_t session, const char *event, json_t *fields)
{
        CLEANUP_TEXT struct text out = { 0 };
        struct message m = { .kind = RECORD, .session = session };
        if (fields && json_write(fields, &out, false) == 0 && out.length < sizeof m.text && strlen(event) < sizeof m.event) {
                memcpy(m.text, out.data, out.length);
                memcpy(m.event, event, strlen(event));
                (void)send_message(broker, &m, -1);
        }
        json_decref(fields);
}
