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
#include "tools/shell.h"
#include "tools/tool.h"

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

int worker_serve(int socket, const struct launch_request *request)
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

int worker_call(struct channel *c, json_int_t id, const char *tool, const json_t *arguments)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *call = json_pack("{s:I, s:s, s:O}", "id", id, "tool", tool, "arguments", arguments);
        int r = call ? json_write(call, &out, false) : -ENOMEM;
        return r < 0 ? r : channel_put(c, out.data, out.length);
}

int worker_cancel(struct channel *c, json_int_t id)
{
        char text[64];
        int n = snprintf(text, sizeof text, "{\"cancel\":%lld}", (long long)id);
        return channel_put(c, text, (size_t)n);
}

int worker_answer(struct channel *c, json_t **ret)
{
        const char *frame = NULL;
        size_t length = 0;
        int r = channel_take(c, &frame, &length);
        if (r == 1)
                r = json_parse_bounded(frame, length, CHANNEL_MOST, JSON_DEPTH_MAX, ret, NULL, NULL, NULL) == 0 ? 1 : -EPROTO;
        return r;
}
