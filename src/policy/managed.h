/*
 * The managed sets: lists that ringwall maintains, each in a file of its own. A policy adds (+name) and releases
 * (-name) a whole set, a group of it, or one entry, by its name as written in the table.
 */
#ifndef RINGWALL_POLICY_MANAGED_H
#define RINGWALL_POLICY_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/keys.h"
#include "policy/plan.h"

struct managed_entry {
        const char *group;
        const char *entry; /* a pattern, a host or a command; {writable} is replaced by each writable directory */
};

struct managed_set {
        const char *name;
        enum key_id key;      /* the list that +name and -name edit */
        enum rule_kind kind;  /* of its file rules; unused for hosts and commands */
        bool by_default;      /* part of every plan until released */
        const char *const *opt_in_groups; /* which only +group or +entry adds, NULL after the last; or NULL */
        const struct managed_entry *entries;
        size_t count;
};

extern const struct managed_set sensitive_set, protected_set, dev_network_set, denied_commands_set;

/* The set that this key edits, or NULL. */
const struct managed_set *managed_set_of(enum key_id key);

/* Does the whole set include this entry, by default or by +set? False for an entry of an opt-in group. */
bool managed_is_in_whole_set(const struct managed_set *set, const struct managed_entry *entry);

/* Does `name` name this entry: by the set, by its group, or by the entry itself (ignoring a trailing slash)? */
bool managed_entry_matches(const struct managed_set *set, const struct managed_entry *entry, const char *name);

#endif
