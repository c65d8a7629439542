/*
 * ringwall-mcp: serves an agent's tools over MCP.
 *
 * It is a separate program, so that `ringwall run` does not load the libraries that it needs. Standard output is for
 * the protocol; messages for people go to standard error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box/gather_facts.h"
#include "box/load_flags.h"
#include "box/load_policy.h"
#include "cli/program.h"
#include "cli/mcp_listen.h"
#include "cli/mcp_options.h"
#include "cli/policy.h"
#include "cli/load_options.h"
#include "mcp/serve_http.h"
#include "mcp/serve_stdio.h"
#include "policy/input_limits.h"
#include "policy/keys.h"
#include "session/tool_worker.h"

static const char verb[] = "mcp";

/* Modes that ask a person are not implemented, and a policy that requires one must not run without it. */
static int refuse_mode(const struct plan *plan)
{
        const struct plan_value *mode = &plan->scalar[PLAN_MODE];
        CLEANUP_TEXT struct text source = { 0 }, word = { 0 };
        source_print(mode->from, &source);
        plan_print_scalar(PLAN_MODE, mode->value, &word);
        return program_error(verb,
                             "refused: mode %s (%s) is not implemented yet; use mode: auto, in which calls run "
                             "without asking and the box confines them",
                             word.data ? word.data : "", source.data ? source.data : "");
}

/* Timeouts of sessions are not implemented: a session lasts as long as its client. */
static int refuse_session(const struct plan *plan, enum plan_scalar which)
{
        CLEANUP_TEXT struct text source = { 0 };
        source_print(plan->scalar[which].from, &source);
        return program_error(verb, "refused: %s (%s) is not implemented yet; remove it", plan_scalar_name(which),
                             source.data ? source.data : "");
}

static void print_message(const char *sentence)
{
        program_message(verb, "%s", sentence);
}

/* --- in the server's box --- */

enum { LISTENERS_MAX = 8 };

struct setup {
        struct named_workspace workspaces[WORKSPACES_MAX];
        size_t workspace_count;
        struct text instructions;
        struct mcp_server_config offer;
        struct gate gate;
        struct mcp_listener listening[LISTENERS_MAX];
        size_t listener_count; /* 0: standard input and output */
        char token[MCP_TOKEN_MAX];
};

static int receive_listeners(const struct setup *setup, int broker, struct http_listener *ret, struct error *e)
{
        for (size_t i = 0; i < setup->listener_count; i++) {
                ret[i] = (struct http_listener){ broker_receive_listener(broker), setup->listening[i].local };
                if (ret[i].fd < 0)
                        return error_errno(e, -ret[i].fd, "cannot receive a listening socket from the broker");
        }
        return 0;
}

static int serve(int broker, const struct launch_request *request)
{
        const struct setup *setup = request->data;
        static struct server s; /* too large for a stack */
        struct http_listener listeners[LISTENERS_MAX];
        const struct http_config http = { listeners, setup->listener_count, setup->token };
        struct error e = { 0 };
        int r = receive_listeners(setup, broker, listeners, &e);
        if (r == 0)
                r = server_open(&s, &setup->offer, NULL, broker, !setup->listener_count, &e);
        s.gate = &setup->gate;
        if (r == 0)
                r = setup->listener_count ? serve_http(&s, &http, &e) : serve_stdio(&s, &e);
        server_close(&s);
        if (r < 0)
                print_message(e.text);
        return r < 0;
}

/* --- outside, in the broker --- */

static int open_listeners(const struct options_result *r, struct setup *setup, struct error *e)
{
        int done = 0;
        for (const struct option_occurrence *u = NULL; done == 0 && (u = options_next(r, MCP_OPTION_HTTP, u));) {
                if (setup->listener_count == LISTENERS_MAX)
                        return error_set(e, E2BIG, "--http can be given at most %d times", LISTENERS_MAX);
                done = mcp_listen(u->value, &setup->listening[setup->listener_count], e);
                setup->listener_count += done == 0;
        }
        if (done == 0 && setup->listener_count)
                done = mcp_load_token(options_value(r, MCP_OPTION_TOKEN_FILE), setup->token, e);
        else if (done == 0 && options_has(r, MCP_OPTION_TOKEN_FILE))
                done = error_set(e, EINVAL, "--token-file needs --http");
        return done;
}

/* Prints the addresses, and a generated token, which is shown only here. */
static void print_addresses(const struct options_result *r, const struct setup *setup)
{
        bool needs_token = false;
        for (size_t i = 0; i < setup->listener_count; i++) {
                program_message(verb, "listening on %s", setup->listening[i].url);
                needs_token |= !setup->listening[i].local;
        }
        if (needs_token && !options_has(r, MCP_OPTION_TOKEN_FILE))
                program_message(verb, "the token is %s", setup->token);
}

/* The workspace's name is the first `length` bytes of `given`, or if that is 0, the name of the directory. */
static int add_workspace(struct arena *a, struct setup *setup, const char *path, const char *given, size_t length,
                         struct error *e)
{
        const char *name = length ? arena_strndup(a, given, length) : strrchr(path, '/') + 1;
        if (!name)
                return error_errno(e, ENOMEM, "no memory");
        if (setup->workspace_count == WORKSPACES_MAX)
                return error_set(e, E2BIG, "at most %d workspaces", WORKSPACES_MAX);
        for (size_t i = 0; i < setup->workspace_count; i++)
                if (strcmp(setup->workspaces[i].name, name) == 0)
                        return error_set(e, EEXIST, "two workspaces are called '%s'; rename one with NAME=%s", name,
                                         path);
        setup->workspaces[setup->workspace_count++] = (struct named_workspace){ name, path };
        return 0;
}

/* The workspaces of the tools: the plan's workspace, and those of further --workspace options. */
static int find_workspaces(struct arena *a, const struct options_result *r, const struct plan *plan,
                           struct setup *setup, struct error *e)
{
        const struct option_occurrence *use = options_next(r, FLAG_ID_WORKSPACE, NULL);
        size_t length = 0;
        if (use)
                (void)parse_workspace_option(use->value, &length);
        int done = add_workspace(a, setup, plan->workspace, use ? use->value : "", length, e);
        while (done == 0 && use && (use = options_next(r, FLAG_ID_WORKSPACE, use))) {
                const char *given = parse_workspace_option(use->value, &length);
                CLEANUP_FREE char *real = realpath(given, NULL);
                const char *path = real ? arena_strdup(a, real) : NULL;
                done = path ? add_workspace(a, setup, path, use->value, length, e)
                            : error_errno(e, real ? ENOMEM : errno, "cannot use the workspace %s", given);
        }
        return done;
}

/* Instructions for the agent, which the client gets when it connects. */
static void write_instructions(const struct plan *plan, struct setup *setup)
{
        struct text *t = &setup->instructions;
        text_format(t, "The tools run in a box. Relative paths begin in %s", setup->workspaces[0].path);
        for (size_t i = 1; i < setup->workspace_count; i++)
                text_format(t, ", or with workspace='%s' in %s", setup->workspaces[i].name, setup->workspaces[i].path);
        text_add(t, "; files outside cannot be written, and most of them cannot be read. Bash runs in the same box.");
        if (!plan->scalar[PLAN_ALLOW_NETWORK].value)
                text_add(t, " There is no network.");
        else if (!plan_needs_egress(plan))
                text_add(t, " No host can be reached, but programs in the box can reach each other on 127.0.0.1 "
                            "and ::1.");
        setup->offer.instructions = t->failed ? NULL : t->data;
}

/* Must run outside the boxes: scrubber_new() starts a program if the policy adds patterns. */
static int open_gate(const struct plan *plan, struct gate *ret, struct error *e)
{
        struct scrub_extra_pattern extras[EXTRA_PATTERNS_MAX];
        *ret = (struct gate){ .plan = plan, .to_ascii = host_name_to_ascii };
        if (plan->secret_count > ARRAY_SIZE(extras))
                return error_set(e, E2BIG, "at most %zu patterns in gate.secrets", ARRAY_SIZE(extras));
        for (size_t i = 0; i < plan->secret_count; i++)
                extras[i] = (struct scrub_extra_pattern){ plan->secrets[i].name, plan->secrets[i].expression };
        return scrubber_new(extras, plan->secret_count, &ret->scrubber, e);
}

static int run_server(struct arena *a, const struct options_result *r, const struct plan *plan,
                      struct live_policy *live)
{
        static struct setup setup;
        int fds[LISTENERS_MAX];
        struct error e = { 0 };
        int status = find_workspaces(a, r, plan, &setup, &e);
        setup.offer = (struct mcp_server_config){ .readonly = options_has(r, MCP_OPTION_READONLY),
                                                  .workspaces = setup.workspaces,
                                                  .workspace_count = setup.workspace_count };
        if (status == 0)
                status = open_gate(plan, &setup.gate, &e);
        if (status == 0)
                status = open_listeners(r, &setup, &e);
        if (status == 0) {
                const struct worker_config for_tools = { setup.workspaces, setup.workspace_count, setup.gate.scrubber };
                const struct broker_config broker = { .plan = plan,
                                                      .worker = worker_main,
                                                      .worker_data = &for_tools,
                                                      .server = serve,
                                                      .server_data = &setup,
                                                      .listeners = fds,
                                                      .listener_count = setup.listener_count,
                                                      .print_message = print_message,
                                                      .live = live };
                for (size_t i = 0; i < setup.listener_count; i++)
                        fds[i] = setup.listening[i].fd;
                write_instructions(plan, &setup);
                print_addresses(r, &setup);
                status = broker_run(&broker, &e);
        }
        for (size_t i = 0; i < setup.listener_count; i++)
                mcp_listener_close(&setup.listening[i]);
        scrubber_free(setup.gate.scrubber);
        text_done(&setup.instructions);
        return status < 0 ? program_error(verb, "%s", e.text) : status;
}

static int check_and_run(struct arena *a, const struct options_result *r, const struct load_request *policy,
                         const struct plan *plan)
{
        static const enum plan_scalar sessions[] = { PLAN_SESSION_TIMEOUT, PLAN_IDLE_TIMEOUT };
        if (plan->scalar[PLAN_LEVEL].value == LEVEL_OFF)
                return program_error(verb, "level off cannot run the tools in a box; use --level standard");
        if (!source_is_default(plan->scalar[PLAN_MODE].from) && plan->scalar[PLAN_MODE].value == 0)
                return refuse_mode(plan);
        for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
                if (!source_is_default(plan->scalar[sessions[i]].from))
                        return refuse_session(plan, sessions[i]);
        struct live_policy live;
        struct error e = { 0 };
        if (live_policy_open(&live, a, policy, plan, &e) < 0)
                return program_error(verb, "%s", e.text);
        int status = run_server(a, r, plan, &live);
        live_policy_close(&live);
        return status;
}

int main(int argc, char **argv)
{
        CLEANUP_OPTIONS struct options_result options;
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_PLAN struct plan *plan = NULL;
        struct load_request request;
        struct error e = { 0 };
        int code;
        if (!program_parse(&mcp_usage, argc, argv, 1, &options, &code))
                return code;
        if (!m || !arena || load_request_from_options(arena, &options, &request) < 0)
                return program_error(verb, "no memory");
        int loaded = load_plan(&request, m, &plan, &e);
        if (loaded < 0)
                return program_error(verb, "%s", e.text);
        policy_print_diagnostics(m);
        return loaded > 0 ? EXIT_RINGWALL : check_and_run(arena, &options, &request, plan);
}
