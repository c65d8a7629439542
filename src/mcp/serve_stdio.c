/*
 * MCP over standard input and output: one JSON object a line, nothing else.
 *
 * The server stays outside the box and opens no file; tool calls go to the worker, and several can be on their way. A worker
 * that dies is replaced with the next call, and whoever waited for it gets an honest error. A client that does not read
 * makes us wait, which is its own loss.
 */
#include "mcp/serve_stdio.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "session/worker.h"

enum { CALLS_AT_ONCE = 64, PIECE = 64 << 10, LEAVE_MS = 2000 };

struct pending {
        json_int_t number; /* ours, for the worker; 0: free */
        json_t *id;        /* the client's */
        bool modern, unwanted;
};

struct server {
        const struct mcp *m;
        const struct plan *plan;
        struct worker worker;
        struct pending calls[CALLS_AT_ONCE];
        json_int_t last;
        struct text in;
        size_t notes;  /* of what the box does not hold, that were told */
        bool stood;    /* a box of ours has stood */
        bool skipping; /* a line that is too long: to its end */
        bool broken;   /* nobody reads us */
};

static void say(struct server *s, json_t *message)
{
        CLEANUP_TEXT struct text out = { 0 };
        if (message && json_write(message, &out, false) == 0) {
                text_add(&out, "\n");
                s->broken |= out.failed || fd_write_all(STDOUT_FILENO, out.data, out.length) < 0;
        }
        json_decref(message);
}

/* --- calls --- */

static void forget(struct pending *p)
{
        json_decref(p->id);
        *p = (struct pending){ 0 };
}

static struct pending *find_call(struct server *s, json_int_t number)
{
        for (size_t i = 0; i < CALLS_AT_ONCE; i++)
                if (s->calls[i].number == number)
                        return &s->calls[i];
        return NULL;
}

static void end_worker(struct server *s)
{
        if (worker_end(&s->worker) < 0)
                s->m->tell("the record could not be written to its end");
}

static void fail_all(struct server *s, const struct error *e)
{
        CLEANUP_TEXT struct text why = { 0 };
        text_format(&why, "the call did not come back: %s", e->text);
        for (size_t i = 0; i < CALLS_AT_ONCE; i++) {
                struct pending *p = &s->calls[i];
                if (p->number && !p->unwanted)
                        say(s, mcp_failure(p->id, p->modern, why.data ? why.data : "the call did not come back"));
                forget(p);
        }
        end_worker(s);
}

static void call(struct server *s, const struct mcp_event *event)
{
        struct pending *p = find_call(s, 0);
        struct error e = { 0 };
        if (!p) {
                say(s, mcp_failure(event->id, event->modern, "too many calls at once"));
                return;
        }
        int r = s->worker.alive ? 0 : worker_start(&s->worker, s->plan, &e);
        if (r == 0)
                r = worker_call(&s->worker, s->last + 1, event->tool->name, event->arguments);
        if (r < 0) {
                say(s, mcp_failure(event->id, event->modern, e.code ? e.text : "the call could not be sent"));
                return;
        }
        *p = (struct pending){ .number = ++s->last, .id = json_incref(event->id), .modern = event->modern };
}

/* Its answer will not be told, and what it started ends. */
static void cancel(struct server *s, const json_t *id)
{
        for (size_t i = 0; i < CALLS_AT_ONCE; i++) {
                struct pending *p = &s->calls[i];
                if (!p->number || p->unwanted || !json_equal(p->id, id))
                        continue;
                p->unwanted = true;
                if (s->worker.alive)
                        (void)worker_cancel(&s->worker, p->number);
        }
}

/* What this box does not hold; once, though another may take its place. */
static void tell_notes(struct server *s)
{
        const struct report *r = &s->worker.report;
        s->stood |= r->started;
        while (s->worker.alive && s->notes < r->note_count)
                s->m->tell(r->notes[s->notes++]);
}

/* Returns 0, or -errno with an error when there never was a box, and so nothing to serve with. */
static int take_answers(struct server *s, struct error *ret)
{
        struct error e = { 0 };
        json_t *answer = NULL;
        int r = 0;
        while (s->worker.alive && (r = worker_answer(&s->worker, &answer, &e)) == 1) {
                struct pending *p = find_call(s, json_integer_value(json_object_get(answer, "id")));
                if (p && p->number && !p->unwanted)
                        say(s, mcp_result(p->id, p->modern, answer));
                if (p && p->number)
                        forget(p);
                json_decref(answer);
        }
        tell_notes(s);
        if (r < 0)
                fail_all(s, &e);
        if (r < 0 && !s->stood)
                *ret = e;
        return r < 0 && !s->stood ? r : 0;
}

/* --- lines --- */

static void take_line(struct server *s, const char *line, size_t length)
{
        struct mcp_event event;
        while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
                length--;
        if (!length)
                return;
        mcp_take(s->m, line, length, &event);
        if (event.kind == MCP_REPLY)
                say(s, json_incref(event.reply));
        else if (event.kind == MCP_CALL)
                call(s, &event);
        else if (event.kind == MCP_CANCEL)
                cancel(s, event.id);
        mcp_event_done(&event);
}

static void add_input(struct server *s, const char *bytes, size_t length)
{
        for (const char *end; (end = memchr(bytes, '\n', length));) {
                size_t n = (size_t)(end - bytes);
                text_add_bytes(&s->in, bytes, n);
                if (!s->skipping)
                        take_line(s, s->in.data ? s->in.data : "", s->in.length);
                s->in.length = 0;
                s->skipping = false;
                bytes += n + 1;
                length -= n + 1;
        }
        text_add_bytes(&s->in, bytes, length);
        if (s->in.length > MCP_MOST_BYTES && !s->skipping) {
                take_line(s, s->in.data, s->in.length); /* which says that it is too long */
                s->skipping = true;
        }
        if (s->skipping)
                s->in.length = 0;
}

/* True when the client has said all. */
static bool read_input(struct server *s)
{
        char piece[PIECE];
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n > 0)
                add_input(s, piece, (size_t)n);
        return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static bool is_waiting(const struct server *s)
{
        for (size_t i = 0; i < CALLS_AT_ONCE; i++)
                if (s->calls[i].number && !s->calls[i].unwanted)
                        return true;
        return false;
}

int serve_stdio(const struct mcp *m, const struct plan *plan, struct error *e)
{
        struct server s = { .m = m, .plan = plan };
        int r = worker_start(&s.worker, plan, e);
        int64_t leave = INT64_MAX; /* a client that has said all is waited for, but not for long */
        while (r == 0 && !s.broken && !s.in.failed && (leave == INT64_MAX || (is_waiting(&s) && clock_ms() < leave))) {
                bool listens = leave == INT64_MAX;
                struct pollfd events[1 + WORKER_FDS] = { { .fd = listens ? STDIN_FILENO : -1, .events = POLLIN } };
                worker_poll(&s.worker, events + 1);
                if (poll(events, 1 + WORKER_FDS, listens ? -1 : LEAVE_MS) < 0 && errno != EINTR)
                        r = error_errno(e, errno, "mcp", "cannot wait");
                if (events[0].revents && read_input(&s))
                        leave = clock_ms() + LEAVE_MS;
                if (r == 0)
                        r = take_answers(&s, e);
        }
        for (size_t i = 0; i < CALLS_AT_ONCE; i++)
                forget(&s.calls[i]);
        end_worker(&s);
        text_done(&s.in);
        return r;
}
