/* What every plan grants by default: the system directories, devices, temporary directories, and toolchains in PATH. */
#ifndef RINGWALL_POLICY_DEFAULTS_H
#define RINGWALL_POLICY_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "policy/host_facts.h"
#include "policy/plan.h"

struct default_rule {
        enum rule_kind kind;
        const char *path;
        const char *set; /* of the rule */
};

extern const struct default_rule default_rules[];
extern const size_t default_rule_count;

/* The environment variables that every box gets; NULL-terminated. HOME and TMPDIR get values of their own in a box. */
extern const char *const default_env[];

/*
 * The directory to grant for an entry of PATH: the toolchain that it belongs to, or the entry itself. NULL if the entry
 * is relative, too long or not UTF-8, or if it is a home, a parent of one, or in a system or temporary directory.
 */
const char *toolchain_root_of(struct arena *a, const char *entry, const struct host_facts *facts);

/* The next part of a toolchain that is granted in parts: ~/.cargo/registry after ~/.cargo/bin. NULL after the last. */
const char *default_next_toolchain_part(struct arena *a, const char *toolchain, const char *home);

/* May a private directory replace this home? Not if a default rule lies in it: a home of / would hide the root. */
bool home_may_be_private(const char *home);

#endif
