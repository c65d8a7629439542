/*
 * ringwall-mcp: an agent's tools over MCP.
 *
 * A program of its own, because it stays: what it links costs `ringwall run` nothing. Standard output belongs to the
 * protocol; whatever a person should know goes to standard error.
 */
#include <string.h>

#include "box/load.h"
#include "cli/front.h"
#include "cli/mcp_options.h"
#include "cli/policy.h"
#include "cli/request.h"
#include "mcp/serve_stdio.h"
#include "policy/caps.h"
#include "policy/keys.h"

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

static int serve(const struct options_result *r, const struct plan *plan)
{
        static const enum plan_number sessions[] = { PLAN_SESSION_TIMEOUT, PLAN_IDLE_TIMEOUT };
        struct mcp m = { .readonly = options_has(r, MCP_OPTION_READONLY), .tell = tell };
        struct error e = { 0 };
        if (plan->number[PLAN_LEVEL].number == LEVEL_OFF)
                return front_complain(verb, "level off has no box for the tools; use --level standard");
        if (strcmp(plan->number[PLAN_MODE].from.name, "default") != 0 && plan->number[PLAN_MODE].number == 0)
                return refuse_mode(plan);
        for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
                if (strcmp(plan->number[sessions[i]].from.name, "default") != 0)
                        return refuse_session(plan, sessions[i]);
        return serve_stdio(&m, plan, &e) < 0 ? front_complain(verb, "%s", e.text) : 0;
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
        return loaded > 0 ? FRONT_FAILED : serve(&options, plan);
}
