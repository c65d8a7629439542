/* ringwall policy check, show, schema. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "box/load_policy.h"
#include "cli/program.h"
#include "cli/policy.h"
#include "cli/policy_show.h"
#include "cli/load_options.h"
#include "cli/verbs.h"
#include "policy/input_limits.h"
#include "policy/schema.h"

static int print_json(const char *path, json_t *json, int code)
{
        CLEANUP_JSON json_t *owned = json;
        CLEANUP_TEXT struct text out = { 0 };
        int r = json ? json_write(json, &out, true) : -ENOMEM;
        if (r < 0)
                return program_error(path, "cannot write the result as JSON: %s", strerrordesc_np(-r));
        text_add(&out, "\n");
        return program_print(&out, code);
}

void policy_print_diagnostics(const struct diagnostics *m)
{
        CLEANUP_TEXT struct text out = { 0 };
        diagnostics_print(m, &out, program_is_styled(STDERR_FILENO));
        if (out.length)
                (void)program_print_error(&out);
}

/* A file name need not be UTF-8, but JSON must be. */
static json_t *name_to_json(const char *name)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_escaped(&visible, name, strlen(name));
        return json_string(visible.data ? visible.data : "");
}

int verb_policy_check(struct options_result *r)
{
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_JSON json_t *files = json_array();
        CLEANUP_TEXT struct text out = { 0 };
        bool ok = true;
        if (!m || !files)
                return program_error("policy check", "no memory");
        for (size_t i = 0; i < r->positional_count; i++) {
                const char *name = r->positionals[i];
                struct error e = { 0 };
                int checked = load_check_file(name, m, &e);
                if (checked < 0)
                        return program_error("policy check", "%s", e.text);
                ok &= checked == 0;
                json_array_append_new(files, json_pack("{s:o, s:b}", "file", name_to_json(name), "ok", checked == 0));
                if (checked == 0) {
                        text_add_escaped(&out, name, strlen(name));
                        text_add(&out, ": ok\n");
                }
        }
        int code = ok ? 0 : EXIT_RINGWALL;
        if (options_has(r, VERB_OPTION_JSON))
                return print_json("policy check", json_pack("{s:b, s:O, s:o}", "ok", ok, "files", files, "messages",
                                                            diagnostics_to_json(m)), code);
        policy_print_diagnostics(m);
        return program_print(&out, code);
}

/* A policy in the workspace may have been written by the agent, so it is not used unless the user names it. */
static void note_policy_in_workspace(struct diagnostics *m, const struct plan *plan)
{
        static const char *const names[] = { "ringwall.yaml", ".ringwall.yaml" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char path[POLICY_TEXT_MAX + 32];
                (void)snprintf(path, sizeof path, "%s/%s", plan->workspace, names[i]);
                bool used = false; /* a policy in use has a protect rule (policy/host_facts.h, own_files) */
                for (size_t j = 0; j < plan->rules.count; j++)
                        used |= plan->rules.list[j].kind == RULE_PROTECT && strcmp(plan->rules.list[j].path, path) == 0;
                if (!used && access(path, F_OK) == 0)
                        diagnostic_add(m, DIAGNOSTIC_NOTE, (struct source){ .name = path },
                                       "to use it, name it with --policy",
                                       "this policy is in the workspace and is not used");
        }
}

int verb_policy_show(struct options_result *r)
{
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_PLAN struct plan *plan = NULL;
        CLEANUP_TEXT struct text out = { 0 };
        struct load_request request;
        struct error e = { 0 };
        if (!m || !arena || load_request_from_options(arena, r, &request) < 0)
                return program_error("policy show", "no memory");
        int loaded = load_plan(&request, m, &plan, &e);
        if (loaded < 0)
                return program_error("policy show", "%s", e.text);
        if (loaded == 0)
                note_policy_in_workspace(m, plan);
        if (options_has(r, VERB_OPTION_JSON)) {
                if (loaded > 0)
                        return print_json("policy show",
                                          json_pack("{s:b, s:o}", "ok", false, "messages", diagnostics_to_json(m)),
                                          EXIT_RINGWALL);
                policy_print_diagnostics(m);
                return print_json("policy show", plan_to_json(plan), 0);
        }
        policy_print_diagnostics(m);
        if (loaded > 0)
                return EXIT_RINGWALL;
        policy_show_plan(plan, &out, program_is_styled(STDOUT_FILENO));
        return program_print(&out, 0);
}

int verb_policy_schema(struct options_result *r)
{
        (void)r;
        return print_json("policy schema", schema_of_policy(), 0);
}
