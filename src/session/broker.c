/*
 * Starts boxes for the MCP server; see broker.h.
 *
 *   client ── MCP ── server (a box of its own: no files, no network, no programs)
 *                      │ requests for boxes        │ frames, on one channel per box
 *                    broker (outside)             tools (a box for each session, behind the plan's walls)
 *
 * What it is for: the process that reads a client's bytes has access to nothing worth stealing, and the process that
 * can start boxes never reads a byte from a client.
 *
 * How it works: the server sends packets over a socket pair. It waits for an answer in two cases: the start of a box,
 * whose answer brings the channel, and a box that ended by itself, whose answer brings the reason. The broker polls the
 * server, the keeper and egress of each box, the policy files, and signals.
 *
 * What it trusts: nothing that the server sends. A compromised server can start and end boxes of this one plan, up to
 * BROKER_SESSIONS_MAX, and add events of known names to its own sessions' records.
 *
 * If the broker dies, the kernel kills every box. If the server dies, the broker ends all boxes and reports it.
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
#include "session/boxed_service.h"
#include "wire/packet.h"

enum packet_kind { LISTEN, START, END, RECORD };

/* A request or an answer. */
struct message {
        enum packet_kind kind;
        uint32_t session;
        int code;   /* answer: errno, 0 for success; END request: not 0 if the server wants an answer */
        char event[32];
        char text[16 << 10]; /* an error's text, or a record's fields as JSON: a count for every secret pattern fits */
};
_Static_assert(sizeof((struct message){ 0 }.text) >= sizeof((struct error){ 0 }.text), "an error fits");

static int send_message(int socket, const struct message *m, int fd)
{
        int r;
        do
                r = packet_send(socket, m, sizeof *m, fd);
        while (r == -EINTR);
        return r;
}

/* Returns 1 with a message, 0 at EOF, -EAGAIN, or another -errno. */
static int receive_message(int socket, struct message *ret, int flags, int *ret_fd)
{
        ssize_t n;
        do
                n = packet_receive(socket, ret, sizeof *ret, flags, ret_fd);
        while (n == -EINTR);
        if (n <= 0)
                return (int)n;
        ret->event[sizeof ret->event - 1] = ret->text[sizeof ret->text - 1] = '\0';
        return n == sizeof *ret ? 1 : -EPROTO;
}

/* --- in the broker --- */

struct broker_state {
        const struct broker_config *b;
        const struct plan *plan; /* of the next box of tools */
        struct boxed_service server;
        int socket; /* to the server */
        struct boxed_service *sessions[BROKER_SESSIONS_MAX];
        size_t notes_printed;
        bool tools_started; /* at least one box of tools has started */
        bool stopping;
        int null;
        int signals;
        int status;
};

/* Events that the server may add to an audit trail. */
enum { RECORD_DEPTH = 4 };
static const char *const record_events[] = { "secrets_redacted", "call_refused" };

/*
 * Prints the box's notes on what it does not enforce. All boxes of tools have the same notes, so each is printed once.
 */
static void update_from_report(struct broker_state *x, const struct boxed_service *c)
{
        x->tools_started |= c->run.report.started;
        while (x->notes_printed < c->run.report.note_count)
                x->b->print_message(c->run.report.notes[x->notes_printed++]);
}

static void end_session(struct broker_state *x, struct boxed_service **c, struct error *why)
{
        if (boxed_service_stop(*c) < 0)
                x->b->print_message("the audit trail of this session is incomplete: writing it failed");
        update_from_report(x, *c);
        *why = (*c)->run.report.end.error;
        if (!why->code)
                (void)error_set(why, EPIPE, "the tools have ended");
        boxed_service_free(*c);
        free(*c);
        *c = NULL;
}

static int start_session(struct broker_state *x, struct boxed_service **slot, struct error *e)
{
        const int streams[] = { x->null, x->null, STDERR_FILENO };
        const struct boxed_service_request request = { .plan = x->plan,
                                                       .name = "tools",
                                                       .serve = x->b->worker,
                                                       .data = x->b->worker_data,
                                                       .streams = streams,
                                                       .type = SOCK_STREAM };
        struct boxed_service *c = calloc(1, sizeof *c);
        int channel = c ? boxed_service_start(c, &request, e) : error_errno(e, ENOMEM, "no memory");
        if (channel < 0)
                free(c);
        else
                *slot = c;
        return channel;
}

static int send_answer(struct broker_state *x, const struct message *m, const struct error *e, int fd)
{
        struct message reply = { .kind = m->kind, .session = m->session, .code = e->code };
        memcpy(reply.text, e->text, sizeof e->text);
        return send_message(x->socket, &reply, fd);
}

static int add_to_record(struct boxed_service *c, const struct message *m)
{
        size_t i = 0;
        json_t *fields = NULL;
        while (i < ARRAY_SIZE(record_events) && strcmp(record_events[i], m->event) != 0)
                i++;
        if (i == ARRAY_SIZE(record_events) ||
            json_parse_bounded(m->text, strlen(m->text), sizeof m->text, RECORD_DEPTH, &fields, NULL, NULL, NULL) < 0)
                return -EPROTO;
        audit_trail_log(&c->run.trail, record_events[i], fields);
        return 0;
}

/*
 * Returns 0, or -errno when the request is invalid or the server has exited. Sets *e when no box of tools could ever be
 * started.
 */
static int handle_request(struct broker_state *x, const struct message *m, struct error *e)
{
        struct boxed_service **c = m->session < BROKER_SESSIONS_MAX ? &x->sessions[m->session] : NULL;
        struct error why = { 0 };
        if (!c || !*c != (m->kind == START))
                return -EPROTO;
        if (m->kind == START) {
                CLEANUP_FD int channel = start_session(x, c, &why);
                if (channel < 0 && !x->tools_started)
                        *e = why;
                return send_answer(x, m, &why, channel);
        }
        if (m->kind == END) {
                end_session(x, c, &why);
                if (!x->tools_started)
                        *e = why;
                return m->code ? send_answer(x, m, &why, -1) : 0;
        }
        return m->kind == RECORD ? add_to_record(*c, m) : -EPROTO;
}

static void receive_request(struct broker_state *x, struct error *e)
{
        struct message m;
        CLEANUP_FD int fd = -1;
        int r = receive_message(x->socket, &m, MSG_DONTWAIT, &fd);
        if (r == 1)
                r = handle_request(x, &m, e) < 0 ? -EPROTO : 1;
        x->stopping |= (r <= 0 && r != -EAGAIN) || e->code;
}

/* The new plan is never freed: reports have pointers to its rules. */
static void apply_policy_change(struct broker_state *x)
{
        CLEANUP_TEXT struct text complaint = { 0 };
        struct plan *changed = NULL;
        int r = live_policy_reload(x->b->live, &changed, &complaint);
        struct plan *next = r > 0 ? ARENA_NEW(changed->arena, struct plan) : NULL;
        if (r < 0 || (r > 0 && !next))
                x->b->print_message(complaint.data ? complaint.data : "no memory");
        if (!next)
                return;
        *next = *x->plan;
        next->hosts = plan_reachable_hosts(changed);
        next->private_hosts = changed->private_hosts;
        x->plan = next;
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                struct error e = { 0 };
                if (x->sessions[i] && boxed_service_set_hosts(x->sessions[i], changed, &e) < 0)
                        x->b->print_message(e.text);
        }
}

static void receive_signal(struct broker_state *x)
{
        struct signalfd_siginfo s;
        if (read(x->signals, &s, sizeof s) == sizeof s) {
                x->stopping = true;
                x->status = 128 + (int)s.ssi_signo;
        }
}

static int wait_for_events(struct broker_state *x, struct error *e)
{
        enum { SERVER_MESSAGES, SIGNALS, POLICY, SERVER, OWN = SERVER + BOX_RUN_FDS };
        struct pollfd fds[OWN + BOX_RUN_FDS * BROKER_SESSIONS_MAX] = {
                [SERVER_MESSAGES] = { .fd = x->socket, .events = POLLIN },
                [SIGNALS] = { .fd = x->signals, .events = POLLIN },
                [POLICY] = { .fd = x->b->live ? x->b->live->changes : -1, .events = POLLIN },
        };
        box_run_fill_pollfds(&x->server.run, &fds[SERVER]);
        struct boxed_service *owners[ARRAY_SIZE(fds)];
        size_t count = OWN; /* only open descriptors: poll() fails when count exceeds RLIMIT_NOFILE */
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                struct boxed_service *c = x->sessions[i];
                struct pollfd each[BOX_RUN_FDS];
                if (!c)
                        continue;
                box_run_fill_pollfds(&c->run, each);
                for (size_t j = 0; j < ARRAY_SIZE(each); j++) {
                        if (each[j].fd < 0)
                                continue;
                        owners[count] = c;
                        fds[count++] = each[j];
                }
        }
        if (poll(fds, count, -1) < 0)
                return errno == EINTR ? 0 : error_errno(e, errno, "cannot wait for the server");
        for (size_t i = OWN; i < count; i++) {
                if (fds[i].revents) {
                        cell_receive(owners[i]);
                        update_from_report(x, owners[i]);
                }
        }
        if (fds[SERVER].revents)
                cell_receive(&x->server);
        if (fds[SIGNALS].revents)
                receive_signal(x);
        if (fds[POLICY].revents)
                apply_policy_change(x);
        if (fds[SERVER_MESSAGES].revents)
                receive_request(x, e);
        else
                x->stopping |= x->server.run.over;
        return 0;
}

/*
 * No files, no network, no programs. Level and namespaces are those of the tools' plan, which this machine can enforce.
 */
static void make_server_plan(const struct plan *tools, struct plan *ret)
{
        static const enum plan_scalar copied[] = { PLAN_LEVEL, PLAN_NAMESPACES, PLAN_BEST_EFFORT };
        *ret = (struct plan){ .workspace = "/", .home = "" };
        for (size_t i = 0; i < PLAN_SCALAR_COUNT; i++)
                ret->scalar[i].from = tools->scalar[i].from;
        for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
                ret->scalar[copied[i]] = tools->scalar[copied[i]];
        if (ret->scalar[PLAN_NAMESPACES].value & NAMESPACE_USER)
                ret->scalar[PLAN_NAMESPACES].value |= NAMESPACE_NET;
}

static int start_server(struct broker_state *x, const struct plan *plan, struct error *e)
{
        const int streams[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
        const struct boxed_service_request request = { .plan = plan,
                                                       .name = "server",
                                                       .serve = x->b->server,
                                                       .data = x->b->server_data,
                                                       .directory = "/",
                                                       .streams = streams,
                                                       .type = SOCK_SEQPACKET };
        x->socket = boxed_service_start(&x->server, &request, e);
        int r = x->socket < 0 ? x->socket : 0;
        for (size_t i = 0; r == 0 && i < x->b->listener_count; i++)
                r = send_message(x->socket, &(struct message){ .kind = LISTEN }, x->b->listeners[i]);
        if (r < 0 && !e->code)
                error_errno(e, -r, "cannot start the server");
        return r;
}

static int end_all(struct broker_state *x, struct error *e)
{
        struct error why;
        (void)shutdown(x->socket, SHUT_RDWR); /* close() is not enough: the forked keepers have copies */
        fd_close(&x->socket);
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                if (!x->sessions[i])
                        continue;
                /* The server has exited and cannot shut the channel down: do not wait for the tools to exit. */
                x->sessions[i]->run.over |= x->server.run.over;
                end_session(x, &x->sessions[i], &why);
        }
        (void)boxed_service_stop(&x->server);
        const struct report *r = &x->server.run.report;
        bool failed = r->plan && !x->status && !(r->end.how == END_EXITED && r->end.number == 0);
        if (failed && !e->code && r->end.error.code)
                *e = r->end.error;
        else if (failed && !e->code)
                (void)error_set(e, EPIPE,
                                r->end.how == END_SIGNALLED ? "the server was killed by signal %d"
                                                        : "the server exited with status %d",
                                r->end.number);
        boxed_service_free(&x->server);
        return e->code ? -e->code : x->status;
}

int broker_run(const struct broker_config *b, struct error *e)
{
        struct broker_state x = { .b = b, .plan = b->plan, .socket = -1 };
        struct plan plan;
        sigset_t stop_signals, old_mask;
        (void)sigemptyset(&stop_signals);
        (void)sigaddset(&stop_signals, SIGTERM);
        (void)sigaddset(&stop_signals, SIGINT);
        (void)sigaddset(&stop_signals, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &stop_signals, &old_mask);
        CLEANUP_FD int signals = x.signals = signalfd(-1, &stop_signals, SFD_CLOEXEC | SFD_NONBLOCK);
        CLEANUP_FD int null = x.null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int r = signals < 0 || null < 0 ? error_errno(e, errno, "cannot prepare the server") : 0;
        make_server_plan(b->plan, &plan);
        if (r == 0)
                r = start_server(&x, &plan, e);
        while (r == 0 && !x.stopping)
                r = wait_for_events(&x, e);
        r = end_all(&x, e);
        (void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
        return r;
}

/* --- in the server --- */

int broker_receive_listener(int broker)
{
        struct message m;
        int fd = -1, r = receive_message(broker, &m, 0, &fd);
        if (r == 1 && m.kind == LISTEN && fd >= 0)
                return fd;
        fd_close(&fd);
        return r < 0 ? r : -EPROTO;
}

/* Sends a request and waits for its answer. The caller owns *ret_fd. */
static int send_request(int broker, const struct message *m, int *ret_fd, struct error *e)
{
        struct message reply = { 0 };
        int r = send_message(broker, m, -1);
        if (r == 0)
                r = receive_message(broker, &reply, 0, ret_fd);
        if (r != 1 || reply.kind != m->kind || reply.session != m->session)
                return error_set(e, EPIPE, "the broker has exited");
        return reply.code ? error_set(e, reply.code, "%s", reply.text) : 0;
}

int broker_start_session(int broker, uint32_t session, struct error *e)
{
        int fd = -1, r = send_request(broker, &(struct message){ .kind = START, .session = session }, &fd, e);
        if (r == 0 && fd < 0)
                r = error_set(e, EPROTO, "the broker's answer has no channel");
        if (r < 0)
                fd_close(&fd);
        return r < 0 ? r : fd;
}

void broker_end_session(int broker, uint32_t session, struct error *why)
{
        const struct message m = { .kind = END, .session = session, .code = why != NULL };
        CLEANUP_FD int fd = -1;
        if (why)
                (void)send_request(broker, &m, &fd, why);
        else
                (void)send_message(broker, &m, -1);
}

void broker_log_event(int broker, uint32_t session, const char *event, json_t *fields)
{
        CLEANUP_TEXT struct text out = { 0 };
        struct message m = { .kind = RECORD, .session = session };
        if (fields && json_write(fields, &out, false) == 0 && out.length < sizeof m.text &&
            strlen(event) < sizeof m.event) {
                memcpy(m.text, out.data, out.length);
                memcpy(m.event, event, strlen(event));
                (void)send_message(broker, &m, -1);
        }
        json_decref(fields);
}
