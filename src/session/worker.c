/*
 * The tools in their box; see worker.h.
 *
 *   server (outside)  ── frames of JSON ──  tools (in the box, behind every wall of the plan)
 *
 * What it is for: a tool's own scope and the kernel's agree, because the tool is one of the box's processes. The server
 * never opens a file for an agent.
 *
 * How it works: the box's command is not a program but a function of ours, which runs after all walls stand (launch.c). It
 * has its streams on /dev/null, but for stderr, and one socket. It keeps what it needs to know of the session: the
 * workspace, held by a descriptor, and what was read.
 *
 * What it trusts: nothing that comes from the box. An answer that is no JSON, or for which there is no call, ends it.
 *
 * If it dies, the channel ends; whoever waits for an answer is told, and a new one can be started.
 */
#include "session/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "policy/caps.h"
#include "tools/shell.h"
#include "tools/tool.h"

static const char stage[] = "tools";

enum { LAST_WORDS_MS = 1000 };

/* --- in the box --- */

enum { JOBS_AT_ONCE = 64 };

/* A call that takes its time. */
struct job {
        json_int_t id;
        const struct tool *tool;
        struct shell *shell; /* NULL: free */
};

struct service {
        struct toolbox box;
        struct channel channel;
        struct job jobs[JOBS_AT_ONCE];
};

static int reply(struct service *s, json_int_t id, const struct tool_answer *answer)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *json = json_pack("{s:I, s:b, s:s#}", "id", id, "is_error", answer->is_error, "text",
                                              answer->text.data ? answer->text.data : "", (int)answer->text.length);
        if (json && answer->structured)
                json_object_set(json, "structured", answer->structured);
        if (json && answer->image_type)
                json_object_set_new(json, "image_type", json_string(answer->image_type));
        int r = json ? json_write(json, &out, false) : -ENOMEM;
        return r < 0 ? r : channel_put(&s->channel, out.data, out.length);
}

static struct job *find_job(struct service *s, json_int_t id, bool free_one)
{
        for (size_t i = 0; i < JOBS_AT_ONCE; i++)
                if (free_one ? !s->jobs[i].shell : s->jobs[i].shell && s->jobs[i].id == id)
                        return &s->jobs[i];
        return NULL;
}

static int call_tool(struct service *s, json_int_t id, const struct tool *tool, const json_t *arguments)
{
        struct tool_answer answer = { 0 };
        struct job *job = find_job(s, 0, true);
        struct shell *shell = NULL;
        if (tool->start && !job)
                tool_fail(&answer, "too many commands run at once");
        else
                shell = toolbox_call(&s->box, tool, arguments, &answer);
        int r = 0;
        if (shell)
                *job = (struct job){ id, tool, shell };
        else
                r = reply(s, id, &answer);
        tool_answer_done(&answer);
        return r;
}

/* NULL: it has been answered already. */
static int cancel_job(struct service *s, struct job *job)
{
        struct tool_answer answer = { 0 };
        if (!job)
                return 0;
        shell_free(job->shell);
        job->shell = NULL;
        tool_fail(&answer, "cancelled");
        int r = reply(s, job->id, &answer);
        tool_answer_done(&answer);
        return r;
}

static int take_call(struct service *s, const char *frame, size_t length)
{
        CLEANUP_JSON json_t *call = NULL;
        const char *name = NULL;
        json_int_t id = 0;
        json_t *arguments = NULL;
        if (json_parse_bounded(frame, length, CHANNEL_MOST, JSON_DEPTH_MAX, &call, NULL, NULL, NULL) < 0)
                return -EPROTO;
        if (json_unpack(call, "{s:I}", "cancel", &id) == 0)
                return cancel_job(s, find_job(s, id, false));
        if (json_unpack(call, "{s:I, s:s, s:o}", "id", &id, "tool", &name, "arguments", &arguments) < 0 || !tool_find(name))
                return -EPROTO;
        return call_tool(s, id, tool_find(name), arguments);
}

static int step_jobs(struct service *s)
{
        int r = 0;
        for (size_t i = 0; i < BACKGROUND_MOST; i++)
                if (s->box.background[i])
                        (void)shell_step(s->box.background[i]);
        for (size_t i = 0; r == 0 && i < JOBS_AT_ONCE; i++) {
                struct job *job = &s->jobs[i];
                if (!job->shell || !shell_step(job->shell))
                        continue;
                struct tool_answer answer;
                toolbox_finish(job->tool, job->shell, &answer);
                r = reply(s, job->id, &answer);
                tool_answer_done(&answer);
                shell_free(job->shell);
                job->shell = NULL;
        }
        return r;
}

/* Until a call comes, a command writes or ends, or the time of one is up. */
static int wait_for_something(struct service *s)
{
        enum { SHELLS = JOBS_AT_ONCE + BACKGROUND_MOST, LONGEST_MS = 60000 };
        struct pollfd events[1 + SHELLS * SHELL_FDS] = {
                { .fd = s->channel.fd, .events = channel_events(&s->channel) },
        };
        nfds_t count = 1;
        int64_t now = clock_ms(), wait = LONGEST_MS;
        for (size_t i = 0; i < SHELLS; i++) {
                const struct shell *shell = i < JOBS_AT_ONCE ? s->jobs[i].shell : s->box.background[i - JOBS_AT_ONCE];
                if (!shell || shell->ended)
                        continue;
                int64_t left = shell->deadline > now ? shell->deadline - now : 0;
                wait = left < wait && !shell->timed_out ? left : wait; /* one that was killed ends when it can */
                shell_poll(shell, events + count);
                count += SHELL_FDS;
        }
        return poll(events, count, (int)wait) < 0 && errno != EINTR ? -errno : 0;
}

static int serve_calls(struct service *s)
{
        int r = 0;
        while (r == 0 && !s->channel.ended) {
                const char *frame = NULL;
                size_t length = 0;
                r = wait_for_something(s);
                if (r == 0)
                        r = channel_move(&s->channel);
                while (r == 0 && (r = channel_take(&s->channel, &frame, &length)) == 1)
                        r = take_call(s, frame, length);
                if (r == 0)
                        r = step_jobs(s);
                if (r == 0)
                        r = channel_flush(&s->channel);
        }
        return r;
}

static int serve(int socket, const struct launch_request *request)
{
        static struct service s; /* too large for a stack */
        struct workspace *workspace = NULL;
        mode_t mask = umask(0);
        (void)umask(mask);
        environ = (char **)(uintptr_t)request->environment; /* the person's own is nobody's business here */
        s.box = (struct toolbox){ .workspaces = &workspace, .workspace_count = 1, .tracker = tracker_new(),
                                  .new_mode = 0666 & ~mask, .environment = request->environment,
                                  .most_seconds = (int64_t)request->plan->number[PLAN_TIMEOUT].number };
        if (!s.box.tracker || channel_open(&s.channel, socket) < 0 || workspace_open(request->plan->workspace, &workspace, NULL) < 0)
                return 1;
        return serve_calls(&s) < 0;
}

/* --- outside --- */

int worker_start(struct worker *w, const struct plan *plan, struct error *e)
{
        static char word[] = "tools";
        static char *const name[] = { word, NULL };
        int ends[2];
        *w = (struct worker){ .plan = plan, .channel.fd = -1, .trail.fd = -1, .arena = arena_new(CAP_ARENA_BYTES) };
        CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (!w->arena || null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
                int code = w->arena ? errno : ENOMEM;
                arena_free(w->arena);
                w->arena = NULL;
                return error_errno(e, code, stage, "cannot prepare the tools");
        }
        CLEANUP_FD int theirs = ends[1];
        int streams[] = { null, null, STDERR_FILENO };
        report_begin(&w->report, w->arena, plan, name);
        struct launch_request request = { .plan = plan, .command = name, .serve = serve,
                                          .socket = theirs, .streams = streams };
        int r = channel_open(&w->channel, ends[0]);
        if (r == 0)
                r = trail_begin(&w->trail, NULL, &w->report, e);
        if (r == 0)
                r = start_box(&request, &w->report, &w->running, e);
        w->alive = r == 0;
        if (r < 0) {
                report_stop(&w->report, END_FAILED, e);
                (void)worker_end(w); /* the failure is told already */
        }
        return r;
}

/* What the keeper says. True when it was the last, or it says nothing any more. */
static bool hear_keeper(struct worker *w)
{
        for (;;) {
                struct box_message m;
                CLEANUP_FD int fd = -1;
                ssize_t n = box_receive(&w->running.box, &m, &fd);
                if (n == -EAGAIN)
                        return false;
                if (n == -EINTR)
                        continue;
                if (n != sizeof m || report_take(&w->report, &m))
                        return true;
                if (m.kind == BOX_STARTED)
                        trail_started(&w->trail, &w->report);
        }
}

/* It ends when the channel does. Then the keeper tells what was refused, for the record; not for ever. */
static void let_it_end(struct worker *w)
{
        int64_t until = clock_ms() + LAST_WORDS_MS;
        (void)shutdown(w->channel.fd, SHUT_RDWR);
        while (!hear_keeper(w) && clock_ms() < until) {
                struct pollfd keeper = { .fd = w->running.box.control, .events = POLLIN };
                (void)poll(&keeper, 1, LAST_WORDS_MS);
        }
}

int worker_end(struct worker *w)
{
        if (w->alive) {
                let_it_end(w);
                box_end(&w->running.box);
                start_finish(&w->running, &w->report);
        }
        int r = w->arena ? trail_end(&w->trail, &w->report) : 0;
        w->alive = false;
        channel_close(&w->channel);
        arena_free(w->arena);
        w->arena = NULL;
        return r;
}

void worker_poll(const struct worker *w, struct pollfd ret[WORKER_FDS])
{
        ret[0] = (struct pollfd){ .fd = w->alive ? w->channel.fd : -1, .events = channel_events(&w->channel) };
        ret[1] = (struct pollfd){ .fd = w->alive ? w->running.box.control : -1, .events = POLLIN };
}

int worker_call(struct worker *w, json_int_t id, const char *tool, const json_t *arguments)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *call = json_pack("{s:I, s:s, s:O}", "id", id, "tool", tool, "arguments", arguments);
        int r = call ? json_write(call, &out, false) : -ENOMEM;
        return r < 0 ? r : channel_put(&w->channel, out.data, out.length);
}

int worker_cancel(struct worker *w, json_int_t id)
{
        char text[64];
        int n = snprintf(text, sizeof text, "{\"cancel\":%lld}", (long long)id);
        return channel_put(&w->channel, text, (size_t)n);
}

int worker_answer(struct worker *w, json_t **ret, struct error *e)
{
        const char *frame = NULL;
        size_t length = 0;
        int r = channel_move(&w->channel);
        if (r == 0)
                r = channel_take(&w->channel, &frame, &length);
        if (r == 1 && json_parse_bounded(frame, length, CHANNEL_MOST, JSON_DEPTH_MAX, ret, NULL, NULL, NULL) == 0)
                return 1;
        if (r != 0)
                return error_set(e, EPROTO, stage, "the tools answered with nonsense");
        if (!hear_keeper(w) && !w->channel.ended)
                return 0;
        if (!w->report.error.code)
                return error_set(e, EPIPE, stage, "the tools have ended");
        *e = w->report.error;
        return -e->code;
}
