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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "box/facts.h"
#include "tools/shell.h"
#include "tools/tool.h"

/* --- in the box --- */

enum { JOBS_AT_ONCE = 64, PROGRESS_MS = 500 };

/* A call that takes its time. */
struct pending {
        json_int_t id;
        const struct tool *tool;
        struct job *job;     /* NULL: free */
        int64_t tell;        /* when to tell how far it is, by clock_ms(); INT64_MAX: nobody asked */
        uint64_t told;       /* what was told last */
};

struct service {
        struct toolbox box;
        struct channel channel;
        struct pending calls[JOBS_AT_ONCE];
        struct capture_filter filter;
};

/* --- what commands write --- */

/*
 * It is looked through for secrets as it comes, since a secret may be cut in two by what is kept, or by two calls that each
 * show a part. The server looks through every answer again, whole.
 */
static void *begin_scrubbing(void *context)
{
        struct scrub_stream *stream = malloc(sizeof *stream);
        if (stream)
                scrub_stream_init(stream, context);
        return stream;
}

static bool scrub_piece(void *stream, const char *bytes, size_t length, struct text *out)
{
        return (bytes ? scrub_stream_feed(stream, bytes, length, out) : scrub_stream_finish(stream, out)) == 0;
}

static void end_scrubbing(void *stream)
{
        scrub_stream_done(stream);
        free(stream);
}

/* --- calls --- */

static int put(struct service *s, const json_t *json)
{
        CLEANUP_TEXT struct text out = { 0 };
        int r = json ? json_write(json, &out, false) : -ENOMEM;
        return r < 0 ? r : channel_put(&s->channel, out.data, out.length);
}

static int reply(struct service *s, json_int_t id, const struct tool_answer *answer)
{
        CLEANUP_JSON json_t *json = json_pack("{s:I, s:b, s:s#}", "id", id, "is_error", answer->is_error, "text",
                                              answer->text.data ? answer->text.data : "", (int)answer->text.length);
        if (json && answer->structured)
                json_object_set(json, "structured", answer->structured);
        if (json && answer->image_type)
                json_object_set_new(json, "image_type", json_string(answer->image_type));
        json_t *taken = s->filter.context ? scrubber_tell(s->filter.context) : NULL; /* for the record */
        if (json && taken)
                json_object_set(json, "secrets", taken);
        json_decref(taken);
        return put(s, json);
}

static struct pending *find_call(struct service *s, json_int_t id, bool free_one)
{
        for (size_t i = 0; i < JOBS_AT_ONCE; i++)
                if (free_one ? !s->calls[i].job : s->calls[i].job && s->calls[i].id == id)
                        return &s->calls[i];
        return NULL;
}

static int call_tool(struct service *s, json_int_t id, const struct tool *tool, const json_t *arguments, bool progress)
{
        struct tool_answer answer = { 0 };
        struct pending *p = find_call(s, 0, true);
        struct job *job = NULL;
        if (tool->start && !p)
                tool_fail(&answer, "too many calls run at once");
        else
                job = toolbox_call(&s->box, tool, arguments, &answer);
        int r = 0;
        if (job)
                *p = (struct pending){ id, tool, job, progress ? clock_ms() + PROGRESS_MS : INT64_MAX, 0 };
        else
                r = reply(s, id, &answer);
        tool_answer_done(&answer);
        return r;
}

/* NULL: it has been answered already. */
static int cancel_call(struct service *s, struct pending *p)
{
        struct tool_answer answer = { 0 };
        if (!p)
                return 0;
        job_free(TAKE_PTR(p->job));
        tool_fail(&answer, "cancelled");
        int r = reply(s, p->id, &answer);
        tool_answer_done(&answer);
        return r;
}

static int take_call(struct service *s, const char *frame, size_t length)
{
        CLEANUP_JSON json_t *call = NULL;
        const char *name = NULL;
        json_int_t id = 0;
        json_t *arguments = NULL;
        int progress = 0;
        if (json_parse_bounded(frame, length, CHANNEL_MOST, JSON_DEPTH_MAX, &call, NULL, NULL, NULL) < 0)
                return -EPROTO;
        if (json_unpack(call, "{s:I}", "cancel", &id) == 0)
                return cancel_call(s, find_call(s, id, false));
        if (json_unpack(call, "{s:I, s:s, s:o, s?b}", "id", &id, "tool", &name, "arguments", &arguments, "progress",
                        &progress) < 0 || !tool_find(name))
                return -EPROTO;
        return call_tool(s, id, tool_find(name), arguments, progress);
}

/* How far it is, if that is further than what was told last. */
static int tell_progress(struct service *s, struct pending *p)
{
        CLEANUP_TEXT struct text message = { 0 };
        int64_t now = clock_ms();
        if (now < p->tell)
                return 0;
        p->tell = now + PROGRESS_MS;
        uint64_t number = p->job->kind->progress(p->job, &message);
        if (number <= p->told || message.failed)
                return 0;
        p->told = number;
        CLEANUP_JSON json_t *json = json_pack("{s:I, s:I, s:s}", "id", p->id, "progress", (json_int_t)number, "message",
                                              message.data);
        return put(s, json);
}

static int step_call(struct service *s, struct pending *p)
{
        struct tool_answer answer;
        if (!p->job->kind->step(p->job))
                return tell_progress(s, p);
        toolbox_finish(p->tool, p->job, &answer);
        int r = reply(s, p->id, &answer);
        tool_answer_done(&answer);
        job_free(TAKE_PTR(p->job));
        return r;
}

static int step_jobs(struct service *s)
{
        int r = 0;
        for (size_t i = 0; i < BACKGROUND_MOST; i++)
                if (s->box.background[i])
                        (void)shell_step(s->box.background[i]);
        for (size_t i = 0; r == 0 && i < JOBS_AT_ONCE; i++)
                if (s->calls[i].job)
                        r = step_call(s, &s->calls[i]);
        return r;
}

/* Until a call comes, something happens to a job, or the time of one has come. */
static int wait_for_something(struct service *s)
{
        enum { JOBS = JOBS_AT_ONCE + BACKGROUND_MOST, LONGEST_MS = 60000 };
        struct pollfd events[1 + JOBS * JOB_FDS] = {
                { .fd = s->channel.fd, .events = channel_events(&s->channel) },
        };
        nfds_t count = 1;
        int64_t now = clock_ms(), next = now + LONGEST_MS;
        for (size_t i = 0; i < JOBS; i++) {
                const struct pending *p = i < JOBS_AT_ONCE ? &s->calls[i] : NULL;
                const struct shell *shell = p ? NULL : s->box.background[i - JOBS_AT_ONCE];
                const struct job *job = p ? p->job : shell ? &shell->job : NULL;
                if (!job)
                        continue;
                int64_t deadline = job->kind->deadline(job);
                if (p && p->tell < deadline)
                        deadline = p->tell;
                next = deadline < next ? deadline : next;
                count += job->kind->poll(job, events + count);
        }
        return poll(events, count, next > now ? (int)(next - now) : 0) < 0 && errno != EINTR ? -errno : 0;
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
        const struct worker_setup *setup = request->data;
        struct workspace *workspaces[WORKSPACES_MOST];
        mode_t mask = umask(0);
        (void)umask(mask);
        s.box = (struct toolbox){ .workspaces = workspaces, .names = setup->workspaces, .workspace_count = setup->workspace_count,
                                  .tracker = tracker_new(), .new_mode = 0666 & ~mask, .environment = request->environment,
                                  .plan = request->plan, .to_ascii = facts_to_ascii,
                                  .most_seconds = (int64_t)request->plan->number[PLAN_TIMEOUT].number };
        s.filter = (struct capture_filter){ begin_scrubbing, scrub_piece, end_scrubbing, setup->scrubber };
        s.box.filter = setup->scrubber ? &s.filter : NULL;
        if (!s.box.tracker || channel_open(&s.channel, socket) < 0)
                return 1;
        for (size_t i = 0; i < setup->workspace_count; i++)
                if (workspace_open(setup->workspaces[i].path, &workspaces[i], NULL) < 0)
                        return 1;
        return serve_calls(&s) < 0;
}

/* --- outside --- */

int worker_call(struct channel *c, json_int_t id, const char *tool, const json_t *arguments, bool progress)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *call = json_pack("{s:I, s:s, s:O, s:b}", "id", id, "tool", tool, "arguments", arguments,
                                              "progress", progress);
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
