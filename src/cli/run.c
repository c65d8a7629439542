/* ringwall run: a command in a box. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "box/live.h"
#include "box/load.h"
#include "box/report.h"
#include "box/start.h"
#include "box/trail.h"
#include "cli/attend.h"
#include "cli/front.h"
#include "cli/policy.h"
#include "cli/request.h"
#include "cli/run_options.h"
#include "cli/verbs.h"
#include "linux/hold.h"
#include "policy/caps.h"

static const char verb[] = "run";

/* No walls at all: the person asked for it, and is told. */
static int run_without_walls(const struct plan *plan, char **command, struct arena *a)
{
        char **environment = start_environment(a, plan, NULL, NULL);
        if (!environment || chdir(plan->workspace) < 0)
                return front_complain(verb, "cannot enter %s", plan->workspace);
        front_complain(verb, "level off: nothing is confined or limited");
        execvpe(command[0], command, environment);
        int code = errno == ENOENT ? 127 : 126;
        front_complain(verb, "cannot run %s: %s", command[0], strerrordesc_np(errno));
        return code;
}

/* --- what is said about it --- */

/* Where --json-report goes, opened before anything runs. -1: nowhere. A number is a descriptor that is open already. */
static int open_report(const char *where, int *ret_fd)
{
        *ret_fd = -1;
        if (!where)
                return 0;
        size_t length = strlen(where);
        if (length > 0 && length < 10 && strspn(where, "0123456789") == length)
                *ret_fd = fcntl((int)strtol(where, NULL, 10), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        else /* over no link: one run could leave it where the next is told to write */
                *ret_fd = fd_open_straight(AT_FDCWD, where, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0600);
        int code = *ret_fd == -1 ? errno : -*ret_fd;
        return *ret_fd < 0 ? front_complain(verb, "cannot open %s for the report: %s", where, strerrordesc_np(code)) : 0;
}

static int write_report(const struct report *r, int fd)
{
        CLEANUP_JSON json_t *json = report_to_json(r);
        CLEANUP_TEXT struct text out = { 0 };
        if (!json || json_write(json, &out, true) < 0)
                return -ENOMEM;
        text_add(&out, "\n");
        return out.failed ? -ENOMEM : fd_write_all(fd, out.data, out.length);
}

static void say_what_stands(const struct report *r)
{
        CLEANUP_TEXT struct text level = { 0 };
        plan_print_number(PLAN_LEVEL, r->plan->number[PLAN_LEVEL].number, &level);
        front_complain(verb, "level %s, %zu file rules, %lld ms", level.data, r->plan->rules.count,
                       (long long)(r->ended - r->began));
        for (size_t i = 0; i < hold_count; i++) {
                CLEANUP_TEXT struct text held = { 0 };
                report_wall(r, i, &held);
                if (held.length)
                        front_complain(verb, "%s: %s", holds[i]->name, held.data);
        }
}

/* A person hears of what went wrong; with -v of what went on; with -q of nothing but ringwall's own failures. */
static void say_how_it_was(const struct report *r, bool quiet, bool verbose)
{
        CLEANUP_TEXT struct text out = { 0 };
        int status = report_status(r);
        if (r->end == END_TIMED_OUT && !quiet)
                front_complain(verb, "the command ran out of time");
        else if (r->error.code)
                front_complain(verb, "%s", r->error.text);
        if (verbose && r->started)
                say_what_stands(r);
        if ((status != 0 && !quiet) || verbose)
                report_explain_calls(r, FRONT_PROGRAM " run: ", &out);
        if (!quiet || verbose) /* a program seldom says that it would have liked to reach a host */
                report_explain_hosts(r, FRONT_PROGRAM " run: ", &out);
        if (out.length)
                front_print_error(&out);
}

/* --- the run --- */

/* Starts it and stays until it has ended; all that is to be told about it is in the report. */
static void attend(struct report *r, struct trail *trail, const struct load_request *policy, bool quiet)
{
        struct launch_request request = { .plan = r->plan, .command = r->command };
        struct running running;
        struct live live;
        struct error e = { 0 };
        struct terminal terminal;
        CLEANUP_FD int signals = -1;
        if (attend_prepare(&signals) < 0) {
                error_set(&e, EIO, "attend", "signals cannot be received");
                report_stop(r, END_FAILED, &e);
                return;
        }
        terminal_find(&terminal);
        request.terminals = terminal.replaced;
        request.foreground = terminal.eager;
        int started = live_begin(&live, r->arena, policy, r->plan, &e);
        if (started == 0)
                started = start_box(&request, r, trail, &running, &e);
        if (started < 0) {
                live_end(&live);
                report_stop(r, END_FAILED, &e);
                return;
        }
        for (size_t i = 0; !quiet && i < r->note_count; i++)
                front_complain(verb, "%s", r->notes[i]);
        attend_box(&running, &terminal, &live, signals, quiet, r, trail);
        live_end(&live);
        start_finish(&running, r);
}

static int run_plan(const struct plan *plan, const struct load_request *policy, const struct options_result *o, struct arena *a)
{
        struct report r;
        struct trail trail;
        struct error e = { 0 };
        bool quiet = options_has(o, RUN_OPTION_QUIET);
        CLEANUP_FD int report_fd = -1;
        int code = open_report(options_value(o, RUN_OPTION_JSON_REPORT), &report_fd);
        if (code)
                return code;
        report_begin(&r, a, plan, o->positionals);
        if (trail_begin(&trail, options_value(o, RUN_OPTION_AUDIT), &r, &e) < 0)
                report_stop(&r, END_FAILED, &e);
        else
                attend(&r, &trail, policy, quiet);
        code = report_status(&r);
        say_how_it_was(&r, quiet, options_has(o, RUN_OPTION_VERBOSE));
        if (trail_end(&trail, &r) < 0)
                code = front_complain(verb, "the record could not be written to its end");
        if (report_fd >= 0 && write_report(&r, report_fd) < 0)
                code = front_complain(verb, "the report could not be written");
        return code;
}

int verb_run(struct options_result *r)
{
        /* Not freed, only kept in sight: the process ends here, and pages that the keeper has too would be copied for it. */
        static struct messages *m;
        static struct arena *arena;
        static struct plan *plan;
        m = messages_new();
        arena = arena_new(CAP_ARENA_BYTES);
        struct load_request request;
        struct error e = { 0 };
        if (!m || !arena || request_from_options(arena, r, &request) < 0)
                return front_complain(verb, "no memory");
        int loaded = load_plan(&request, m, &plan, &e);
        if (loaded < 0)
                return front_complain(verb, "%s", e.text);
        policy_print_messages(m);
        if (loaded > 0)
                return FRONT_FAILED;
        bool off = plan->number[PLAN_LEVEL].number == LEVEL_OFF;
        if (off && (plan->number[PLAN_AUDIT].number || options_has(r, RUN_OPTION_AUDIT) || options_has(r, RUN_OPTION_JSON_REPORT)))
                return front_complain(verb, "level off keeps no record and makes no report; use --level standard");
        if (off)
                return run_without_walls(plan, r->positionals, arena);
        return run_plan(plan, &request, r, arena);
}
