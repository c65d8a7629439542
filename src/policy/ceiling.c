/*
 * Ceilings: limits that no plan exceeds, whatever its policies allow. A ceiling is a policy file whose keys are read as
 * limits. A list of what is allowed limits the plan only if the ceiling has it; an empty list then allows nothing.
 *
 *   numbers          the stricter of the two values applies
 *   allow_write      every writable path must be inside one of these, the workspace too ({workspace} allows any)
 *   allow_paths      every granted path except the workspace must be inside one of these
 *   denials, protect   added to the plan; no narrower grant of a policy overrides them
 *   namespaces, denied_commands, secrets   added to the plan
 *   allowed_domains  every allowed host must be covered. An entry without a port covers only the default ports, so a
 *                    policy's example.com:8443 needs example.com:8443 in the ceiling
 *   allow_private    the same, except that an entry without a port covers every port
 *   allow_local_ports, publish   every port must be in the list
 *   unix_sockets     every socket must be in the list or beneath a directory in it
 *
 * The system directories and the box's private directories are in every plan, and only a denial closes them. Each cut
 * is recorded with the setting that caused it. Paths are cut in ceiling_paths.c; hosts, ports and sockets in
 * ceiling_network.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/ceiling_parts.h"
#include "policy/module_rights.h"

int ceiling_check(const struct settings *ceiling)
{
        int wrong = 0;
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                if (!key_is_for_ceilings(&keys[s->key])) {
                        diagnostic_error(ceiling->messages, s->from, "a ceiling only limits; put this into a policy",
                                         "%s has no meaning in a ceiling", keys[s->key].path);
                        wrong = 1;
                } else if (s->key == KEY_DENY && !s->empty && (permissions[s->number].granted & RIGHT_READ)) {
                        diagnostic_error(ceiling->messages, s->from, "name the paths in filesystem.deny_read",
                                         "'%s' cannot be denied as a whole", s->text);
                        wrong = 1;
                } else if (s->sign == SIGN_MINUS) {
                        diagnostic_error(ceiling->messages, s->from, "a ceiling only limits; put this into a policy",
                                         "'-%.100s' would release an entry", s->text);
                        wrong = 1;
                }
        }
        return wrong;
}

void plan_record_ceiling_cut(struct compiler *c, struct source by, const char *result, const char *format, ...)
{
        char what[512];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(what, sizeof what, format, args);
        va_end(args);
        text_remove_invalid_utf8(what);
        struct plan_ceiling_cut *slot = arena_array_push(c->arena, &c->plan->cuts, &c->plan->cut_count, sizeof *slot);
        if (slot)
                *slot = (struct plan_ceiling_cut){ arena_strdup(c->arena, what), arena_strdup(c->arena, result),
                                                   compile_source(c, by) };
        c->no_memory |= !slot || !slot->what || !slot->result;
}

static bool exceeds(enum ceiling_rule rule, uint64_t value, uint64_t ceiling)
{
        switch (rule) {
        case CEILING_LIMIT:
                return value == 0 || value > ceiling;
        case CEILING_AT_MOST:
                return value > ceiling;
        case CEILING_AT_LEAST:
                return value < ceiling;
        case CEILING_ADDS: /* ceiling_add_namespaces() */
        case CEILING_NOT_ALLOWED:
                break;
        }
        return false;
}

static void cut_number(struct compiler *c, enum plan_scalar number, uint64_t to, struct source by)
{
        struct plan_value *v = &c->plan->scalar[number];
        CLEANUP_TEXT struct text before = { 0 }, after = { 0 };
        if (v->value == 0 && plan_scalar_is_limit(number))
                text_add(&before, "no limit");
        else
                plan_print_scalar(number, v->value, &before);
        plan_print_scalar(number, to, &after);
        *v = (struct plan_value){ to, compile_source(c, by) };
        if (before.failed || after.failed)
                c->no_memory = true;
        else
                plan_record_ceiling_cut(c, by, after.data, "%s %s", plan_scalar_name(number), before.data);
}

void ceiling_cut_scalars(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                for (enum key_id key = 0; key < KEY_COUNT; key++) {
                        const struct key *k = &keys[key];
                        const struct setting *s =
                                key_has_single_value(k) ? settings_find_last(c->ceilings[i], key) : NULL;
                        if (s && exceeds(k->ceiling, c->plan->scalar[k->scalar].value, s->number))
                                cut_number(c, k->scalar, s->number, s->from);
                }
        /* If a ceiling made the pool smaller than its number of warm boxes, reduce that number too. */
        const struct plan_value *n = c->plan->scalar;
        const struct setting *own = settings_find_last(c->settings, KEY_POOL_MAX);
        uint64_t asked = own ? own->number : key_default_scalar(&keys[KEY_POOL_MAX]);
        if (n[PLAN_POOL_SIZE].value > n[PLAN_POOL_MAX].value && n[PLAN_POOL_MAX].value != asked)
                cut_number(c, PLAN_POOL_SIZE, n[PLAN_POOL_MAX].value, n[PLAN_POOL_MAX].from);
}

/* Adds the namespaces that ceilings require. Call after the plan's own namespaces are known. */
void ceiling_add_namespaces(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *last = settings_find_last(c->ceilings[i], KEY_NAMESPACES);
                uint64_t wanted = 0, have = c->plan->scalar[PLAN_NAMESPACES].value;
                for (size_t j = 0; last && j < c->ceilings[i]->count; j++)
                        if (c->ceilings[i]->list[j].key == KEY_NAMESPACES && !c->ceilings[i]->list[j].empty)
                                wanted |= 1ULL << c->ceilings[i]->list[j].number;
                if (last && (wanted & ~have))
                        cut_number(c, PLAN_NAMESPACES, wanted | have, last->from);
        }
}

unsigned ceiling_denied_rights(const struct compiler *c, struct source *ret_by)
{
        unsigned rights = 0;
        for (size_t i = 0; i < c->ceiling_count; i++)
                for (size_t j = 0; j < c->ceilings[i]->count; j++) {
                        const struct setting *s = &c->ceilings[i]->list[j];
                        if (s->key != KEY_DENY || s->empty)
                                continue;
                        rights |= permissions[s->number].granted;
                        *ret_by = s->from;
                }
        return rights;
}

void ceiling_collect_entries(struct compiler *c, const struct settings *ceiling, enum key_id key, struct entries *list)
{
        const struct managed_set *set = managed_set_of(key);
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                if (s->key != key || s->empty || s->sign == SIGN_MINUS)
                        continue;
                if (s->sign != SIGN_PLUS || !entries_add_group(c, list, set, s, s->text)) {
                        entries_add(c, list, (struct entry){ s, NULL, true });
                        continue;
                }
                for (size_t j = 0; j < list->count; j++)
                        if (list->list[j].managed && managed_entry_matches(set, list->list[j].managed, s->text))
                                list->list[j].of_ceiling = true;
        }
}

/* If a ceiling makes the workspace read-only, this denial keeps a policy from granting writes to parts of it. */
static void deny_workspace_writes(struct compiler *c, const struct setting *by, struct entries *list)
{
        struct setting *deny = ARENA_NEW(c->arena, struct setting);
        if (!deny) {
                c->no_memory = true;
                return;
        }
        *deny = (struct setting){ .key = KEY_DENY_WRITE, .text = "{workspace}", .from = by->from };
        entries_add(c, list, (struct entry){ deny, NULL, true });
}

void ceiling_add_entries(struct compiler *c, enum key_id key, struct entries *list)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *workspace = settings_find_last(c->ceilings[i], KEY_WORKSPACE);
                ceiling_collect_entries(c, c->ceilings[i], key, list);
                if (key == KEY_DENY_WRITE && workspace && workspace->number == PLAN_WORKSPACE_RO)
                        deny_workspace_writes(c, workspace, list);
        }
}
