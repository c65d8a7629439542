/*
 * Lists that a managed set takes part in: the set's own entries first, then what each file and flag adds, in order,
 * each `-name` taking out what stands before it. See compile.h and managed.h.
 */
#include <stdio.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/compile.h"

void entries_add(struct compiler *c, struct entries *list, struct entry e)
{
        struct entry *slot = arena_array_add(c->arena, &list->list, &list->count, sizeof *slot);
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

bool entries_add_named(struct compiler *c, struct entries *list, const struct managed_set *set,
                       const struct setting *setting, const char *name)
{
        bool found = false;
        for (size_t i = 0; set && i < set->count; i++) {
                if (name && !managed_names_entry(set, &set->entries[i], name))
                        continue;
                found = true;
                if (!has_managed(list, &set->entries[i]))
                        entries_add(c, list, (struct entry){ setting, &set->entries[i] });
        }
        return found;
}

static bool remove_named(struct entries *list, const struct managed_set *set, const char *name)
{
        size_t kept = 0;
        for (size_t i = 0; i < list->count; i++) {
                const struct entry *e = &list->list[i];
                bool named = e->managed ? managed_names_entry(set, e->managed, name)
                                        : strcmp(e->setting->text, name) == 0;
                if (!named)
                        list->list[kept++] = *e;
        }
        bool removed = kept < list->count;
        list->count = kept;
        return removed;
}

static bool set_knows(const struct managed_set *set, const char *name)
{
        for (size_t i = 0; i < set->count; i++)
                if (managed_names_entry(set, &set->entries[i], name))
                        return true;
        return false;
}

/* Every name that a - or a + could mean: the set, its groups, its entries. */
static const char *nearest_name(const struct managed_set *set, const char *name)
{
        const char *nearest = text_nearest(name, &set->name, 1);
        for (size_t i = 0; !nearest && i < set->count; i++) {
                const char *entry = set->entries[i].entry;
                const char *candidates[] = {
                        set->entries[i].group,
                        text_starts(entry, "{writable}/") ? entry + strlen("{writable}/") : entry,
                };
                nearest = text_nearest(name, candidates, ARRAY_SIZE(candidates));
        }
        return nearest;
}

static void report_nothing_to_remove(struct compiler *c, const struct managed_set *set, const struct setting *s)
{
        char hint[160];
        bool shown = messages_count(c->messages, MESSAGE_ERROR) < CAP_MESSAGES;
        const char *near = shown ? nearest_name(set, s->text) : NULL;
        if (near)
                (void)snprintf(hint, sizeof hint, "did you mean '-%.100s'?", near);
        else
                (void)snprintf(hint, sizeof hint, "'ringwall policy show' lists the %s set by group", set->name);
        message_error(c->messages, s->from, hint, "'-%.100s' releases nothing: no entry or group has this name",
                      s->text);
        c->failed = true;
}

/* A misspelt group behind a + would quietly become a path of that name. */
static void warn_of_near_group(struct compiler *c, const struct managed_set *set, const struct setting *s)
{
        const char *near = strpbrk(s->text, "/.~*") ? NULL : nearest_name(set, s->text);
        if (!near)
                return;
        char hint[192];
        (void)snprintf(hint, sizeof hint, "did you mean the group '+%.100s'? Without the + it is taken as written", near);
        message_warning(c->messages, s->from, hint, "'+%.100s' is no group of the %s set, so it is taken as a name",
                        s->text, set->name);
}

/* Only keys that edit a managed set carry signs: the reader makes no others. */
static void compile_signed(struct compiler *c, struct entries *list, const struct managed_set *set,
                           const struct setting *s)
{
        if (s->sign == SIGN_MINUS) {
                /* Releasing what an earlier file released is no mistake. */
                if (!remove_named(list, set, s->text) && !set_knows(set, s->text))
                        report_nothing_to_remove(c, set, s);
                return;
        }
        if (entries_add_named(c, list, set, s, s->text))
                return;
        if (keys[set->key].kind == VALUE_PATTERN)
                warn_of_near_group(c, set, s);
        entries_add(c, list, (struct entry){ s, NULL });
}

struct entries compile_entries(struct compiler *c, enum key_id key, const char *server)
{
        struct entries list = { 0 };
        const struct managed_set *set = managed_set_of(key);
        if (set && set->by_default)
                (void)entries_add_named(c, &list, set, NULL, NULL);
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (!setting_is(s, key, server) || s->empty)
                        continue;
                if (s->sign != SIGN_NONE && set)
                        compile_signed(c, &list, set, s);
                else
                        entries_add(c, &list, (struct entry){ s, NULL });
        }
        return list;
}
