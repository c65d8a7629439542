/*
 * The managed sets: lists that ringwall keeps so that a person need not, each in a file of its own. A policy adds
 * (+name) and releases (-name) a whole set, a group of it, or one entry, by its name as written in the table.
 */
#ifndef RINGWALL_POLICY_MANAGED_H
#define RINGWALL_POLICY_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/keys.h"
#include "policy/plan.h"

struct managed_entry {
        const char *group;
        const char *entry; /* a pattern, a host or a command; {writable} stands for each writable directory */
};

struct managed_set {
        const char *name;
        enum key_id key;      /* the list that it belongs to */
        enum rule_kind kind;  /* of its rules, where they are file rules */
        bool by_default;      /* part of every plan until released */
        const struct managed_entry *entries;
        size_t count;
};

extern const struct managed_set sensitive_set, protected_set, dev_network_set, denied_commands_set;

/* The set that this key edits, or NULL. */
const struct managed_set *managed_set_of(enum key_id key);

/* Does `name` mean this entry: the set's name, its group's, or the entry itself (a trailing slash aside)? */
bool managed_names_entry(const struct managed_set *set, const struct managed_entry *entry, const char *name);

#endif
