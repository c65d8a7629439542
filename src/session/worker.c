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
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "policy/caps.h"
#include "tools/tool.h"

static const char stage[] = "tools";

/* --- in the box --- */

static int answer_call(struct toolbox *box, const char *frame, size_t length, struct channel *c)
{
        CLEANUP_JSON json_t *call = NULL;
        CLEANUP_TEXT struct text out = { 0 };
        struct tool_answer answer = { 0 };
        const char *name = NULL;
        json_int_t id = 0;
        json_t *arguments = NULL;
        if (json_parse_bounded(frame, length, CHANNEL_MOST, JSON_DEPTH_MAX, &call, NULL, NULL, NULL) < 0 ||
            json_unpack(call, "{s:I, s:s, s:o}", "id", &id, "tool", &name, "arguments", &arguments) < 0)
                return -EPROTO;
        const struct tool *tool = tool_find(name);
        if (!tool)
                return -EPROTO;
        toolbox_call(box, tool, arguments, &answer);
        CLEANUP_JSON json_t *reply = json_pack("{s:I, s:b, s:s#}", "id", id, "is_error", answer.is_error, "text",
                                               answer.text.data ? answer.text.data : "", (int)answer.text.length);
        if (reply && answer.structured)
                json_object_set(reply, "structured", answer.structured);
        if (reply && answer.image_type)
                json_object_set_new(reply, "image_type", json_string(answer.image_type));
        tool_answer_done(&answer);
        int r = reply ? json_write(reply, &out, false) : -ENOMEM;
        return r < 0 ? r : channel_put(c, out.data, out.length);
}

static int serve_calls(struct toolbox *box, struct channel *c)
{
        int r = 0;
        while (r == 0 && !c->ended) {
                struct pollfd wait = { .fd = c->fd, .events = channel_events(c) };
                if (poll(&wait, 1, -1) < 0 && errno != EINTR)
                        return -errno;
                const char *frame = NULL;
                size_t length = 0;
                r = channel_move(c);
                while (r == 0 && (r = channel_take(c, &frame, &length)) == 1)
                        r = answer_call(box, frame, length, c);
                if (r == 0)
                        r = channel_flush(c);
        }
        return r;
}

static int serve(int socket, void *data)
{
        const struct plan *plan = data;
        struct workspace *workspace = NULL;
        struct toolbox box = { .workspaces = &workspace, .workspace_count = 1, .tracker = tracker_new() };
        struct channel c;
        struct error e = { 0 };
        mode_t mask = umask(0);
        (void)umask(mask);
        box.new_mode = 0666 & ~mask;
        if (!box.tracker || channel_open(&c, socket) < 0 || workspace_open(plan->workspace, &workspace, &e) < 0)
                return 1;
        return serve_calls(&box, &c) < 0;
}

/* --- outside --- */

int worker_start(struct worker *w, const struct plan *plan, struct error *e)
{
        static char word[] = "tools";
        static char *const name[] = { word, NULL };
        int ends[2];
        *w = (struct worker){ .plan = plan, .channel.fd = -1, .arena = arena_new(CAP_ARENA_BYTES) };
        CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (!w->arena || null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
                int code = w->arena ? errno : ENOMEM;
                worker_end(w);
                return error_errno(e, code, stage, "cannot prepare the tools");
        }
        CLEANUP_FD int theirs = ends[1];
        int streams[] = { null, null, STDERR_FILENO };
        report_begin(&w->report, w->arena, plan, name);
        struct launch_request request = { .plan = plan, .command = name, .serve = serve, .data = (void *)(uintptr_t)plan,
                                          .socket = theirs, .streams = streams };
        int r = channel_open(&w->channel, ends[0]);
        if (r == 0)
                r = start_box(&request, &w->report, &w->running, e);
        w->alive = r == 0;
        if (r < 0)
                worker_end(w);
        return r;
}

void worker_end(struct worker *w)
{
        if (w->alive) {
                box_end(&w->running.box);
                start_finish(&w->running, &w->report);
        }
        w->alive = false;
        channel_close(&w->channel);
        arena_free(w->arena);
        w->arena = NULL;
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

/* What the keeper says: that it failed, or is over. */
static int hear_keeper(struct worker *w, struct error *e)
{
        struct box_message m;
        for (ssize_t n; (n = ({ CLEANUP_FD int fd = -1; box_receive(&w->running.box, &m, &fd); })) != -EAGAIN;) {
                bool over = n == sizeof m ? report_take(&w->report, &m) : n != -EINTR;
                if (!over)
                        continue;
                if (w->report.error.code) {
                        *e = w->report.error;
                        return -e->code;
                }
                return error_set(e, EPIPE, stage, "the box of the tools has ended");
        }
        return 0;
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
        r = hear_keeper(w, e);
        if (r == 0 && w->channel.ended)
                r = error_set(e, EPIPE, stage, "the tools have ended");
        return r;
}
