/*
 * Runs the tools in their box; see tool_worker.h.
 *
 *   server (in a box of its own)  ── frames ──  worker (in the session's box, behind every wall of the plan)
 *
 * A call is JSON; an answer is not (worker_message.c).
 *
 * What it is for: the tools are processes of the box, so the kernel confines them like the commands that they start.
 * The server never opens a file for an agent.
 *
 * How it works: worker_main() runs in place of the box's command, after all walls are applied (linux/command.c). Its
 * stdin and stdout are /dev/null, and it has one socket. One loop polls the channel and the running jobs. The worker
 * keeps the state of the session: open workspaces, the files that were read, background commands.
 *
 * What it trusts: the server; a malformed call makes the worker exit. The server does not trust the worker: a malformed
 * answer ends the box, and an answer to an unknown call is ignored.
 *
 * If the worker dies, the server reads EOF from the channel, fails the pending calls, and asks for a new box when the
 * next call comes.
 */
#include "session/tool_worker.h"

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
#include "box/gather_facts.h"
#include "tools/shell_job.h"
#include "tools/tool.h"

/* --- in the box --- */

enum { JOBS_MAX = 64, PROGRESS_MS = 500 };

/* A call whose job is running. */
struct running_call {
        json_int_t id;
        const struct tool *tool;
        struct job *job;     /* NULL: this slot is free */
        int64_t report_at;   /* when to report progress, by clock_ms(); INT64_MAX: never */
        uint64_t reported;   /* the last number that was reported */
};

struct worker {
        struct tool_context box;
        struct channel channel;
        struct running_call calls[JOBS_MAX];
        struct output_scrub_ops filter;
};

/* --- secrets in the output of commands --- */

/*
 * Output is scrubbed as it arrives, because truncation may cut a secret in two, and so may two calls that each show a
 * part. The server scrubs every complete answer again.
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

static int send_answer(struct worker *s, json_int_t id, const struct tool_result *answer)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *redacted =
                s->filter.context ? scrubber_take_counts(s->filter.context) : NULL; /* for the audit trail */
        int r = worker_message_write_answer(&out, id, answer, redacted);
        return r < 0 ? r : channel_queue_frame(&s->channel, out.data, out.length);
}

static struct running_call *find_call(struct worker *s, json_int_t id, bool find_free)
{
        for (size_t i = 0; i < JOBS_MAX; i++)
                if (find_free ? !s->calls[i].job : s->calls[i].job && s->calls[i].id == id)
                        return &s->calls[i];
        return NULL;
}

static int call_tool(struct worker *s, json_int_t id, const struct tool *tool, const json_t *arguments, bool progress)
{
        struct tool_result answer = { 0 };
        struct running_call *p = find_call(s, 0, true);
        struct job *job = NULL;
        if (tool->start && !p)
                tool_fail(&answer, "too many calls are running; wait until one has finished");
        else
                job = tool_call(&s->box, tool, arguments, &answer);
        int r = 0;
        if (job)
                *p = (struct running_call){ id, tool, job, progress ? clock_ms() + PROGRESS_MS : INT64_MAX, 0 };
        else
                r = send_answer(s, id, &answer);
        tool_result_done(&answer);
        return r;
}

/* `p` is NULL when the call has been answered already. */
static int cancel_call(struct worker *s, struct running_call *p)
{
        struct tool_result answer = { 0 };
        if (!p)
                return 0;
        job_free(TAKE_PTR(p->job));
        tool_fail(&answer, "cancelled");
        int r = send_answer(s, p->id, &answer);
        tool_result_done(&answer);
        return r;
}

static int handle_frame(struct worker *s, const char *frame, size_t length)
{
        CLEANUP_WORKER_CALL struct worker_call call = { 0 };
        int r = worker_call_read(frame, length, &call);
        if (r < 0)
                return r;
        if (call.cancel)
                return cancel_call(s, find_call(s, call.number, false));
        const struct tool *tool = tool_find(call.tool.data ? call.tool.data : "");
        return tool ? call_tool(s, call.number, tool, call.arguments, call.wants_progress) : -EPROTO;
}

/* Sends a progress report if one is due and the number has grown. */
static int report_progress(struct worker *s, struct running_call *p)
{
        CLEANUP_TEXT struct text message = { 0 }, out = { 0 };
        int64_t now = clock_ms();
        if (now < p->report_at)
                return 0;
        p->report_at = now + PROGRESS_MS;
        uint64_t number = p->job->kind->progress(p->job, &message);
        if (number <= p->reported || message.failed)
                return 0;
        p->reported = number;
        int r = worker_message_write_progress(&out, p->id, (int64_t)number, &message);
        return r < 0 ? r : channel_queue_frame(&s->channel, out.data, out.length);
}

static int step_call(struct worker *s, struct running_call *p)
{
        struct tool_result answer;
        if (!p->job->kind->step(p->job))
                return report_progress(s, p);
        tool_finish(p->tool, p->job, &answer);
        int r = send_answer(s, p->id, &answer);
        tool_result_done(&answer);
        job_free(TAKE_PTR(p->job));
        return r;
}

static int step_jobs(struct worker *s)
{
        int r = 0;
        for (size_t i = 0; i < BACKGROUND_MAX; i++)
                if (s->box.background[i])
                        (void)shell_job_advance(s->box.background[i]);
        for (size_t i = 0; r == 0 && i < JOBS_MAX; i++)
                if (s->calls[i].job)
                        r = step_call(s, &s->calls[i]);
        return r;
}

/* Waits for a frame, an event of a job, or the first deadline. */
static int wait_for_events(struct worker *s)
{
        enum { JOBS = JOBS_MAX + BACKGROUND_MAX, LONGEST_MS = 60000 };
        struct pollfd events[1 + JOBS * JOB_POLL_FDS_MAX] = {
                { .fd = s->channel.fd, .events = channel_poll_events(&s->channel) },
        };
        nfds_t count = 1;
        int64_t now = clock_ms(), next = now + LONGEST_MS;
        for (size_t i = 0; i < JOBS; i++) {
                const struct running_call *p = i < JOBS_MAX ? &s->calls[i] : NULL;
                const struct shell_job *shell = p ? NULL : s->box.background[i - JOBS_MAX];
                const struct job *job = p ? p->job : shell ? &shell->job : NULL;
                if (!job)
                        continue;
                int64_t deadline = job->kind->deadline(job);
                if (p && p->report_at < deadline)
                        deadline = p->report_at;
                next = deadline < next ? deadline : next;
                count += job->kind->poll(job, events + count);
        }
        return poll(events, count, next > now ? (int)(next - now) : 0) < 0 && errno != EINTR ? -errno : 0;
}

static int serve_calls(struct worker *s)
{
        int r = 0;
        while (r == 0 && !s->channel.peer_closed) {
                const char *frame = NULL;
                size_t length = 0;
                r = wait_for_events(s);
                if (r == 0)
                        r = channel_pump(&s->channel);
                while (r == 0 && (r = channel_next_frame(&s->channel, &frame, &length)) == 1)
                        r = handle_frame(s, frame, length);
                if (r == 0)
                        r = step_jobs(s);
                if (r == 0)
                        r = channel_flush(&s->channel);
        }
        return r;
}

int worker_main(int socket, const struct launch_request *request)
{
        static struct worker s; /* too large for a stack */
        const struct worker_config *setup = request->data;
        struct workspace *workspaces[WORKSPACES_MAX];
        mode_t mask = umask(0);
        (void)umask(mask);
        s.box = (struct tool_context){ .workspaces = workspaces,
                                       .names = setup->workspaces,
                                       .workspace_count = setup->workspace_count,
                                       .tracker = read_tracker_new(),
                                       .new_mode = 0666 & ~mask,
                                       .environment = request->environment,
                                       .plan = request->plan,
                                       .to_ascii = host_name_to_ascii,
                                       .max_seconds = (int64_t)request->plan->scalar[PLAN_TIMEOUT].value };
        s.filter = (struct output_scrub_ops){ begin_scrubbing, scrub_piece, end_scrubbing, setup->scrubber };
        s.box.filter = setup->scrubber ? &s.filter : NULL;
        if (!s.box.tracker || channel_open(&s.channel, socket) < 0)
                return 1;
        for (size_t i = 0; i < setup->workspace_count; i++)
                if (workspace_open(setup->workspaces[i].path, &workspaces[i], NULL) < 0)
                        return 1;
        struct workspace *root = NULL;
        if (!request->plan->scalar[PLAN_WORKSPACE_ONLY].value && workspace_open("/", &root, NULL) < 0)
                return 1;
        s.box.outside = root;
        return serve_calls(&s) < 0;
}

/* --- in the server --- */

int worker_call(struct channel *c, json_int_t id, const char *tool, const json_t *arguments, bool progress)
{
        CLEANUP_TEXT struct text out = { 0 };
        int r = worker_call_write(&out, id, tool, arguments, progress);
        return r < 0 ? r : channel_queue_frame(c, out.data, out.length);
}

int worker_cancel(struct channel *c, json_int_t id)
{
        CLEANUP_TEXT struct text out = { 0 };
        int r = worker_call_write_cancel(&out, id);
        return r < 0 ? r : channel_queue_frame(c, out.data, out.length);
}

int worker_receive(struct channel *c, struct worker_message *ret)
{
        const char *frame = NULL;
        size_t length = 0;
        *ret = (struct worker_message){ 0 };
        int r = channel_next_frame(c, &frame, &length);
        if (r != 1)
                return r;
        r = worker_message_read(frame, length, ret);
        return r < 0 ? r : 1;
}
