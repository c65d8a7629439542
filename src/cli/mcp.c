/*
 * ringwall-mcp: an agent's tools over MCP.
 *
 * A program of its own, because it stays: what it links costs `ringwall run` nothing. Standard output belongs to the
 * protocol; whatever a person should know goes to standard error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box/facts.h"
#include "box/load.h"
#include "cli/front.h"
#include "cli/mcp_listen.h"
#include "cli/mcp_options.h"
#include "cli/policy.h"
#include "cli/request.h"
#include "mcp/serve_http.h"
#include "mcp/serve_stdio.h"
#include "policy/caps.h"
#include "policy/keys.h"
#include "session/worker.h"

static const char verb[] = "mcp";

/* Modes that ask a person are not there yet, and a policy that wants one must not be run without. */
static int refuse_mode(const struct plan *plan)
{
        const struct plan_value *mode = &plan->number[PLAN_MODE];
        CLEANUP_TEXT struct text source = { 0 }, word = { 0 };
        source_print(mode->from, &source);
        plan_print_number(PLAN_MODE, mode->number, &word);
        return front_complain(verb, "refused: the mode %s (%s) is not there yet; use mode: auto, in which the box is the guard",
                              word.data ? word.data : "", source.data ? source.data : "");
}

/* A session lasts as long as its client, so far. */
static int refuse_session(const struct plan *plan, enum plan_number which)
{
        CLEANUP_TEXT struct text source = { 0 };
        source_print(plan->number[which].from, &source);
        return front_complain(verb, "refused: %s (%s) cannot be held yet; leave it out", plan_numbers[which].name,
                              source.data ? source.data : "");
}

static void tell(const char *sentence)
{
        (void)front_complain(verb, "%s", sentence);
}

/* --- in the server's box --- */

enum { LISTENERS_MOST = 8 };

struct setup {
        struct workspace_name workspaces[WORKSPACES_MOST];
        size_t workspace_count;
        struct text instructions;
        struct mcp_offer offer;
        struct gate gate;
        struct mcp_listening listening[LISTENERS_MOST];
        size_t count; /* 0: over standard input and output */
        char token[MCP_TOKEN_MOST];
};

static int take_listeners(const struct setup *setup, int broker, struct http_listener *ret, struct error *e)
{
        for (size_t i = 0; i < setup->count; i++) {
                ret[i] = (struct http_listener){ broker_listener(broker), setup->listening[i].local };
                if (ret[i].fd < 0)
                        return error_errno(e, -ret[i].fd, "mcp", "cannot listen");
        }
        return 0;
}

static int serve(int broker, const struct launch_request *request)
{
        const struct setup *setup = request->data;
        static struct server s; /* too large for a stack */
        struct http_listener listeners[LISTENERS_MOST];
        const struct http_setup http = { listeners, setup->count, setup->token };
        struct error e = { 0 };
        int r = take_listeners(setup, broker, listeners, &e);
        if (r == 0)
                r = server_open(&s, &setup->offer, NULL, broker, !setup->count, &e);
        s.gate = &setup->gate;
        if (r == 0)
                r = setup->count ? serve_http(&s, &http, &e) : serve_stdio(&s, &e);
        server_close(&s);
        if (r < 0)
                tell(e.text);
        return r < 0;
}

/* --- outside --- */

static int open_listeners(const struct options_result *r, struct setup *setup, struct error *e)
{
        int done = 0;
        for (const struct option_use *u = NULL; done == 0 && (u = options_next(r, MCP_OPTION_HTTP, u));) {
                if (setup->count == LISTENERS_MOST)
                        return error_set(e, E2BIG, "listen", "at most %d times --http", LISTENERS_MOST);
                done = mcp_listen(u->value, &setup->listening[setup->count], e);
                setup->count += done == 0;
        }
        if (done == 0 && setup->count)
                done = mcp_token(options_value(r, MCP_OPTION_TOKEN_FILE), setup->token, e);
        else if (done == 0 && options_has(r, MCP_OPTION_TOKEN_FILE))
                done = error_set(e, EINVAL, "listen", "--token-file goes with --http");
        return done;
}

/* Once, and nowhere else. */
static void tell_where(const struct options_result *r, const struct setup *setup)
{
        bool needed = false;
        for (size_t i = 0; i < setup->count; i++) {
                (void)front_complain(verb, "listening on %s", setup->listening[i].url);
                needed |= !setup->listening[i].local;
        }
        if (needed && !options_has(r, MCP_OPTION_TOKEN_FILE))
                (void)front_complain(verb, "the token is %s", setup->token);
}

/* Its name is what was given, or the directory's own; `length` is how much of `given` is a name. */
static int add_workspace(struct arena *a, struct setup *setup, const char *path, const char *given, size_t length, struct error *e)
{
        const char *name = length ? arena_copy(a, given, length) : strrchr(path, '/') + 1;
        if (!name)
                return error_errno(e, ENOMEM, verb, "no memory");
        if (setup->workspace_count == WORKSPACES_MOST)
                return error_set(e, E2BIG, verb, "at most %d workspaces", WORKSPACES_MOST);
        for (size_t i = 0; i < setup->workspace_count; i++)
                if (strcmp(setup->workspaces[i].name, name) == 0)
                        return error_set(e, EEXIST, verb, "two workspaces are called '%s'; name one: NAME=%s", name, path);
        setup->workspaces[setup->workspace_count++] = (struct workspace_name){ name, path };
        return 0;
}

/* Where the tools work: what the plan works in, and the further ones that were named. */
static int find_workspaces(struct arena *a, const struct options_result *r, const struct plan *plan, struct setup *setup,
                           struct error *e)
{
        const struct option_use *use = options_next(r, RUN_OPTION_WORKSPACE, NULL);
        size_t length = 0;
        if (use)
                (void)request_workspace(use->value, &length);
        int done = add_workspace(a, setup, plan->workspace, use ? use->value : "", length, e);
        while (done == 0 && use && (use = options_next(r, RUN_OPTION_WORKSPACE, use))) {
                const char *given = request_workspace(use->value, &length);
                CLEANUP_FREE char *real = realpath(given, NULL);
                const char *path = real ? arena_string(a, real) : NULL;
                done = path ? add_workspace(a, setup, path, use->value, length, e)
                            : error_errno(e, real ? ENOMEM : errno, verb, "cannot use the workspace %s", given);
        }
        return done;
}

/* What an agent should know before its first call. */
static void instruct(const struct plan *plan, struct setup *setup)
{
        struct text *t = &setup->instructions;
        text_format(t, "The tools run in a box. Relative paths begin in %s", setup->workspaces[0].path);
        for (size_t i = 1; i < setup->workspace_count; i++)
                text_format(t, ", or with workspace='%s' in %s", setup->workspaces[i].name, setup->workspaces[i].path);
        text_add(t, "; what lies outside cannot be written, and little of it read. Bash runs in the same box.");
        if (!plan->number[PLAN_ALLOW_NETWORK].number)
                text_add(t, " There is no network.");
        setup->offer.instructions = t->failed ? NULL : t->data;
}

/* Here, because a policy's own shapes are compiled by a program. */
static int open_gate(const struct plan *plan, struct gate *ret, struct error *e)
{
        struct scrub_extra extras[SHAPES_EXTRA_MOST];
        *ret = (struct gate){ .plan = plan, .to_ascii = facts_to_ascii };
        if (plan->secret_count > ARRAY_SIZE(extras))
                return error_set(e, E2BIG, "mcp", "at most %zu shapes in gate.secrets", ARRAY_SIZE(extras));
        for (size_t i = 0; i < plan->secret_count; i++)
                extras[i] = (struct scrub_extra){ plan->secrets[i].name, plan->secrets[i].expression };
        return scrubber_new(extras, plan->secret_count, &ret->scrubber, e);
}

static int run_server(struct arena *a, const struct options_result *r, const struct plan *plan, struct live *live)
{
        static struct setup setup;
        int fds[LISTENERS_MOST];
        struct error e = { 0 };
        int status = find_workspaces(a, r, plan, &setup, &e);
        setup.offer = (struct mcp_offer){ .readonly = options_has(r, MCP_OPTION_READONLY), .workspaces = setup.workspaces,
                                          .workspace_count = setup.workspace_count };
        if (status == 0)
                status = open_gate(plan, &setup.gate, &e);
        if (status == 0)
                status = open_listeners(r, &setup, &e);
        if (status == 0) {
                const struct worker_setup for_tools = { setup.workspaces, setup.workspace_count, setup.gate.scrubber };
                const struct broker broker = { .plan = plan, .tools = worker_serve, .tools_data = &for_tools, .server = serve,
                                               .server_data = &setup, .listeners = fds, .listener_count = setup.count, .tell = tell,
                                               .live = live };
                for (size_t i = 0; i < setup.count; i++)
                        fds[i] = setup.listening[i].fd;
                instruct(plan, &setup);
                tell_where(r, &setup);
                status = broker_run(&broker, &e);
        }
        for (size_t i = 0; i < setup.count; i++)
                mcp_listen_end(&setup.listening[i]);
        scrubber_free(setup.gate.scrubber);
        text_done(&setup.instructions);
        return status < 0 ? front_complain(verb, "%s", e.text) : status;
}

static int check_and_run(struct arena *a, const struct options_result *r, const struct load_request *policy, const struct plan *plan)
{
        static const enum plan_number sessions[] = { PLAN_SESSION_TIMEOUT, PLAN_IDLE_TIMEOUT };
        if (plan->number[PLAN_LEVEL].number == LEVEL_OFF)
                return front_complain(verb, "level off has no box for the tools; use --level standard");
        if (strcmp(plan->number[PLAN_MODE].from.name, "default") != 0 && plan->number[PLAN_MODE].number == 0)
                return refuse_mode(plan);
        for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
                if (strcmp(plan->number[sessions[i]].from.name, "default") != 0)
                        return refuse_session(plan, sessions[i]);
        struct live live;
        struct error e = { 0 };
        if (live_begin(&live, a, policy, plan, &e) < 0)
                return front_complain(verb, "%s", e.text);
        int status = run_server(a, r, plan, &live);
        live_end(&live);
        return status;
}

int main(int argc, char **argv)
{
        CLEANUP_OPTIONS struct options_result options;
        CLEANUP_MESSAGES struct messages *m = messages_new();
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        CLEANUP_PLAN struct plan *plan = NULL;
        struct load_request request;
        struct error e = { 0 };
        int code;
        if (!front_parse(&mcp_usage, argc, argv, 1, &options, &code))
                return code;
        if (!m || !arena || request_from_options(arena, &options, &request) < 0)
                return front_complain(verb, "no memory");
        int loaded = load_plan(&request, m, &plan, &e);
        if (loaded < 0)
                return front_complain(verb, "%s", e.text);
        policy_print_messages(m);
        return loaded > 0 ? FRONT_FAILED : check_and_run(arena, &options, &request, plan);
}
