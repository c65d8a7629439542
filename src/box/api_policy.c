/*
 * libringwall's policies and plans, on top of load_policy.h. Each function is described in include/ringwall/ringwall.h.
 */
#include <errno.h>
#include <ringwall/ringwall.h>
#include <string.h>

#include "base/json.h"
#include "box/load_flags.h"
#include "box/load_policy.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

struct ringwall_policy {
        struct arena *arena;
        struct load_item *items;
        size_t count;
        bool ignore_defaults;
        char *messages;
};

/* An opaque type for callers: every pointer to it is a pointer to a struct plan. */
struct ringwall_plan;

static const struct plan *plan_of(const struct ringwall_plan *plan)
{
        return (const struct plan *)plan;
}

const char *ringwall_version(void)
{
        return RINGWALL_VERSION;
}

struct ringwall_policy *ringwall_policy_new(void)
{
        struct ringwall_policy *p = calloc(1, sizeof *p);
        if (!p)
                return NULL;
        p->arena = arena_new(ARENA_BYTES_MAX);
        if (!p->arena) {
                free(p);
                return NULL;
        }
        return p;
}

void ringwall_policy_free(struct ringwall_policy *policy)
{
        if (!policy)
                return;
        arena_free(policy->arena);
        free(policy->messages);
        free(policy);
}

int ringwall_policy_set(struct ringwall_policy *policy, const char *flag, const char *value)
{
        struct load_item item;
        int r = load_item_from_flag(flag, value, &item);
        if (r < 0)
                return r;
        if (value)
                item.value = arena_strdup(policy->arena, value);
        struct load_item *slot =
                item.value ? arena_array_push(policy->arena, &policy->items, &policy->count, sizeof *slot) : NULL;
        if (!slot)
                return -ENOMEM;
        *slot = item;
        return 0;
}

void ringwall_policy_ignore_defaults(struct ringwall_policy *policy)
{
        policy->ignore_defaults = true;
}

int ringwall_policy_compile(struct ringwall_policy *policy, struct ringwall_plan **ret)
{
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_TEXT struct text text = { 0 };
        struct load_request request = { .items = policy->items,
                                        .count = policy->count,
                                        .ignore_defaults = policy->ignore_defaults };
        struct plan *plan = NULL;
        struct error e = { 0 };
        if (!m)
                return -ENOMEM;
        int r = load_plan(&request, m, &plan, &e);
        diagnostics_print(m, &text, false);
        if (r < 0)
                text_add(&text, e.text);
        free(policy->messages);
        policy->messages = text_take(&text);
        if (r > 0)
                return -EBADMSG;
        if (r == 0)
                *ret = (struct ringwall_plan *)plan;
        return r;
}

const char *ringwall_policy_messages(const struct ringwall_policy *policy)
{
        return policy->messages ? policy->messages : "";
}

void ringwall_plan_free(struct ringwall_plan *plan)
{
        plan_free((struct plan *)plan);
}

char *ringwall_plan_to_json(const struct ringwall_plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan_of(plan));
        CLEANUP_TEXT struct text out = { 0 };
        if (!json || json_write(json, &out, true) < 0)
                return NULL;
        return text_take(&out);
}

int ringwall_plan_allows_path(const struct ringwall_plan *plan, const char *path, int write)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        if (*path != '/')
                return -EINVAL;
        const char *normal = arena ? path_normalize(arena, path) : NULL;
        return normal ? rules_decide(&plan_of(plan)->rules, normal, write != 0, NULL) : -ENOMEM;
}
