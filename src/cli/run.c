/* `ringwall run`: runs a command in a box. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "box/box_run.h"
#include "box/live_policy.h"
#include "box/load_policy.h"
#include "cli/program.h"
#include "cli/policy.h"
#include "cli/load_options.h"
#include "cli/run_options.h"
#include "cli/supervise.h"
#include "cli/verbs.h"
#include "platform/platform.h"
#include "policy/input_limits.h"

static const char verb[] = "run";

/* --level off: the command runs unconfined, after a warning. */
static int run_unconfined(const struct plan *plan, char **command, struct arena *a)
{
        char **environment = start_build_environment(a, plan, NULL, NULL);
        if (!environment)
                return program_error(verb, "out of memory");
        if (chdir(plan->workspace) < 0)
                return program_error(verb, "cannot enter %s: %s", plan->workspace, strerrordesc_np(errno));
        program_message(verb, "level off: nothing is confined or limited");
        execvpe(command[0], command, environment);
        int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
        program_message(verb, "cannot run %s: %s", command[0], strerrordesc_np(errno));
        return code;
}

/* --- reports --- */

/*
 * Opens the destination of --json-report, before anything runs; a number is an inherited descriptor. *ret_fd is -1
 * without that option. Returns 0 or the exit code.
 */
static int open_report(const char *where, int *ret_fd)
{
        *ret_fd = -1;
        if (!where)
                return 0;
        size_t length = strlen(where);
        if (length > 0 && length < 10 && strspn(where, "0123456789") == length)
                *ret_fd = fcntl((int)strtol(where, NULL, 10), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        else /* follows no symlink: a command that ran earlier could have planted one */
                *ret_fd = fd_open_no_symlinks(AT_FDCWD, where, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0600);
        /* fcntl() returns -1 and sets errno, fd_open_no_symlinks() returns -errno */
        int code = *ret_fd == -1 ? errno : -*ret_fd;
        return *ret_fd < 0 ? program_error(verb, "cannot open %s for the report: %s", where, strerrordesc_np(code)) : 0;
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

static void print_enforced(const struct report *r)
{
        CLEANUP_TEXT struct text level = { 0 };
        plan_print_scalar(PLAN_LEVEL, r->plan->scalar[PLAN_LEVEL].value, &level);
        program_message(verb, "level %s, %zu file rules, %lld ms", level.data, r->plan->rules.count,
                      (long long)(r->end.at - r->began));
        const char *name;
        for (size_t i = 0; (name = platform_wall_name(i)); i++) {
                CLEANUP_TEXT struct text state = { 0 };
                report_add_wall(r, i, &state);
                if (state.length)
                        program_message(verb, "%s: %s", name, state.data);
        }
}

/*
 * Prints the built-in grants that were left out because of a symlink in their path (docs/decisions/links-in-grants.md).
 * They are looked up again here, because the keeper does not report them.
 */
static void print_left_out_grants(const struct report *r)
{
        struct left_out_grant *left_out = NULL;
        size_t count = 0;
        struct error e = { 0 };
        if (platform_find_left_out(r->plan, r->arena, &left_out, &count, &e) < 0)
                return;
        for (size_t i = 0; i < count; i++) {
                const struct left_out_grant *l = &left_out[i];
                program_message(verb,
                              "%s is not granted: %s is a symbolic link that a program in a box could have made; to "
                              "grant %s, name it with --ro",
                              l->rule->path, l->link, l->target);
        }
}

/*
 * Prints refused hosts and, if the command failed, refused calls and paths. With -v prints them all in any case, and
 * what was enforced; with -q only ringwall's own errors.
 */
static void print_outcome(const struct report *r, bool quiet, bool verbose)
{
        CLEANUP_TEXT struct text out = { 0 };
        int status = report_exit_status(r);
        if (r->end.how == END_TIMED_OUT && !quiet)
                program_message(verb, "the command ran out of time");
        else if (r->end.error.code)
                program_message(verb, "%s", r->end.error.text);
        if (verbose && r->started) {
                print_enforced(r);
                print_left_out_grants(r);
        }
        if ((status != 0 && !quiet) || verbose)
                refusals_explain_calls_and_paths(&r->refused, r->plan, PROGRAM_NAME " run: ", &out);
        if (!quiet || verbose) /* even if the command succeeded: programs often ignore that a host is unreachable */
                refusals_explain_hosts(&r->refused, r->plan, PROGRAM_NAME " run: ", &out);
        if (out.length)
                program_print_error(&out);
}

/* --- the run --- */

/* Starts the box and waits until it has ended. The result is in the report. Returns what box_run_finish() returns. */
static int run_in_box(struct box_run *run, const struct load_request *policy, bool quiet)
{
        const struct report *r = &run->report;
        struct launch_request request = { .plan = r->plan, .command = r->command };
        struct live_policy live;
        struct error e = { 0 };
        struct terminal terminal;
        CLEANUP_FD int signals = -1;
        if (supervise_prepare(&signals) < 0) {
                error_set(&e, EIO, "cannot receive signals");
                box_run_fail(run, &e);
                return box_run_finish(run, true);
        }
        terminal_init(&terminal);
        request.terminals = terminal.replaced;
        request.foreground = terminal.claim_at_start;
        if (live_policy_open(&live, r->arena, policy, r->plan, &e) < 0) {
                box_run_fail(run, &e);
                return box_run_finish(run, true);
        }
        int started = box_run_start(run, &request, &e);
        for (size_t i = 0; started == 0 && !quiet && i < r->note_count; i++)
                program_message(verb, "%s", r->notes[i]);
        int recorded = started < 0 ? box_run_finish(run, true) : supervise_box(run, &terminal, &live, signals, quiet);
        live_policy_close(&live);
        return recorded;
}

static int run_plan(const struct plan *plan, const struct load_request *policy, const struct options_result *o,
                    struct arena *a)
{
        struct box_run run;
        struct error e = { 0 };
        bool quiet = options_has(o, RUN_OPTION_QUIET);
        CLEANUP_FD int report_fd = -1;
        int code = open_report(options_value(o, RUN_OPTION_JSON_REPORT), &report_fd);
        if (code)
                return code;
        int begun = box_run_begin(&run, a, plan, o->positionals, options_value(o, RUN_OPTION_AUDIT), &e);
        int recorded = begun < 0 ? box_run_finish(&run, true) : run_in_box(&run, policy, quiet);
        code = report_exit_status(&run.report);
        print_outcome(&run.report, quiet, options_has(o, RUN_OPTION_VERBOSE));
        if (recorded < 0)
                code = program_error(verb, "cannot write the audit trail: it is incomplete");
        if (report_fd >= 0 && write_report(&run.report, report_fd) < 0)
                code = program_error(verb, "cannot write the report (--json-report)");
        return code;
}

int verb_run(struct options_result *r)
{
        /*
         * Never freed, because the process is about to exit, and writing to pages shared with the keeper would copy
         * them. Static, so that leak checkers do not report them.
         */
        static struct diagnostics *m;
        static struct arena *arena;
        static struct plan *plan;
        m = diagnostics_new();
        arena = arena_new(ARENA_BYTES_MAX);
        struct load_request request;
        struct error e = { 0 };
        if (!m || !arena || load_request_from_options(arena, r, &request) < 0)
                return program_error(verb, "no memory");
        int loaded = load_plan(&request, m, &plan, &e);
        if (loaded < 0)
                return program_error(verb, "%s", e.text);
        policy_print_diagnostics(m);
        if (loaded > 0)
                return EXIT_RINGWALL;
        bool off = plan->scalar[PLAN_LEVEL].value == LEVEL_OFF;
        if (off && (plan->scalar[PLAN_AUDIT].value || options_has(r, RUN_OPTION_AUDIT) ||
                    options_has(r, RUN_OPTION_JSON_REPORT)))
                return program_error(verb, "level off cannot write an audit trail or a report; use --level standard");
        if (off)
                return run_unconfined(plan, r->positionals, arena);
        return run_plan(plan, &request, r, arena);
}
