/*
 * A plan from untrusted JSON: it is refused with a printable message, or it is a complete plan that passes
 * plan_check(). A complete plan is long, so the input is also used as a change: its members replace those of a plan
 * without rules.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "plan_checks.h"
#include "policy/input_limits.h"
#include "policy/compile.h"

static void check_plan_json(const json_t *json)
{
        CLEANUP_PLAN struct plan *plan = NULL;
        struct error e = { 0 };
        int r = plan_from_json(json, &plan, &e);
        if (r < 0) {
                PROMISE(!plan && r == -EINVAL && e.code == EINVAL && *e.text);
                promise_printable(e.text);
                return;
        }
        PROMISE(r == 0 && plan);
        plan_check(plan);
}

/* The plan of an empty policy, without its rules. Made once. */
static json_t *empty_plan(void)
{
        static json_t *plan_json;
        if (plan_json)
                return plan_json;
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        struct settings s;
        settings_init(&s, arena, m, NULL);
        PROMISE(policy_compile(&s, NULL, 0, &fuzz_facts, m, &plan) == 0);
        plan_json = plan_to_json(plan);
        PROMISE(plan_json && json_object_set_new(plan_json, "rules", json_array()) == 0);
        check_plan_json(plan_json);
        return plan_json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_JSON json_t *json = NULL;
        if (json_parse_bounded((const char *)data, size, size, JSON_DEPTH_MAX, &json, NULL, NULL, NULL) < 0)
                return 0;
        check_plan_json(json);
        CLEANUP_JSON json_t *changed = json_copy(empty_plan());
        if (json_is_object(json) && json_object_update(changed, json) == 0)
                check_plan_json(changed);
        return 0;
}
