/*
 * Lists that start from a managed set: first the set's own entries, then those of each file and flag in order. A -name
 * removes matching entries that came before it. See compile.h and managed.h.
 */
#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"

void entries_add(struct compiler *c, struct entries *list, struct entry e)
{
        struct entry *slot = arena_array_push(c->arena, &list->list, &list->count, sizeof *slot);
        if (slot)
                *slot = e;
        c->no_memory |= !slot;
}

static bool has_managed(const struct entries *list, const struct managed_entry *managed)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->list[i].managed == managed)
                        return true;
        return false;
}

bool entries_add_group(struct compiler *c, struct entries *list, const struct managed_set *set,
                       const struct setting *setting, const char *name)
{
        bool found = false;
        for (size_t i = 0; set && i < set->count; i++) {
                if (name && !managed_entry_matches(set, &set->entries[i], name))
                        continue;
                if ((!name || strcmp(name, set->name) == 0) && !managed_is_in_whole_set(set, &set->entries[i]))
                        continue;
                found = true;
                if (!has_managed(list, &set->entries[i]))
                        entries_add(c, list, (struct entry){ setting, &set->entries[i], false });
        }
        return found;
}

static bool remove_named(struct entries *list, const struct managed_set *set, const char *name)
{
        size_t kept = 0;
        for (size_t i = 0; i < list->count; i++) {
                const struct entry *e = &list->list[i];
                bool named = e->managed ? managed_entry_matches(set, e->managed, name)
                                        : strcmp(e->setting->text, name) == 0;
                if (!named)
                        list->list[kept++] = *e;
        }
        bool removed = kept < list->count;
        list->count = kept;
        return removed;
}

static bool set_has_name(const struct managed_set *set, const char *name)
{
        for (size_t i = 0; i < set->count; i++)
                if (managed_entry_matches(set, &set->entries[i], name))
                        return true;
        return false;
}

/* The name most like `name` that a + or - accepts: the set, one of its groups or one of its entries. NULL: none is. */
static const char *nearest_name(const struct managed_set *set, const char *name)
{
        const char *nearest = text_suggest(name, &set->name, 1);
        for (size_t i = 0; !nearest && i < set->count; i++) {
                const char *entry = set->entries[i].entry;
                const char *candidates[] = {
                        set->entries[i].group,
                        text_has_prefix(entry, "{writable}/") ? entry + strlen("{writable}/") : entry,
                };
                nearest = text_suggest(name, candidates, ARRAY_SIZE(candidates));
        }
        return nearest;
}

static void report_nothing_to_remove(struct compiler *c, const struct managed_set *set, const struct setting *s)
{
        char hint[160];
        bool shown = diagnostics_count(c->messages, DIAGNOSTIC_ERROR) < POLICY_MESSAGES_MAX;
        const char *similar = shown ? nearest_name(set, s->text) : NULL;
        if (similar)
                (void)snprintf(hint, sizeof hint, "did you mean '-%.100s'?", similar);
        else
                (void)snprintf(hint, sizeof hint, "'ringwall policy show' lists the groups of the %s set", set->name);
        diagnostic_error(c->messages, s->from, hint,
                         "'-%.100s' releases nothing: there is no entry or group of this name", s->text);
        c->failed = true;
}

/* Without this warning, a misspelt group after a + would silently become a path of that name. */
static void warn_of_similar_group(struct compiler *c, const struct managed_set *set, const struct setting *s)
{
        const char *similar = strpbrk(s->text, "/.~*") ? NULL : nearest_name(set, s->text);
        if (!similar)
                return;
        char hint[192];
        (void)snprintf(hint, sizeof hint, "did you mean the group '+%.100s'? For a path, remove the +", similar);
        diagnostic_warning(c->messages, s->from, hint,
                           "'+%.100s' is not a group of the %s set, so it is taken as a path", s->text, set->name);
}

/* The readers set a sign only for keys that have a managed set. */
static void apply_signed(struct compiler *c, struct entries *list, const struct managed_set *set,
                         const struct setting *s)
{
        if (s->sign == SIGN_MINUS) {
                /* An entry of the set that an earlier file removed may be removed again. */
                if (!remove_named(list, set, s->text) && !set_has_name(set, s->text))
                        report_nothing_to_remove(c, set, s);
                return;
        }
        if (entries_add_group(c, list, set, s, s->text))
                return;
        if (keys[set->key].kind == VALUE_PATTERN)
                warn_of_similar_group(c, set, s);
        entries_add(c, list, (struct entry){ s, NULL, false });
}

struct entries compile_entries(struct compiler *c, enum key_id key, const char *server)
{
        struct entries list = { 0 };
        const struct managed_set *set = managed_set_of(key);
        if (set && set->by_default)
                (void)entries_add_group(c, &list, set, NULL, NULL);
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (!setting_has_key(s, key, server) || s->empty)
                        continue;
                if (s->sign != SIGN_NONE && set)
                        apply_signed(c, &list, set, s);
                else
                        entries_add(c, &list, (struct entry){ s, NULL, false });
        }
        return list;
}
