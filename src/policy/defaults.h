/* What every plan grants before a person says anything: the system's directories, devices, and toolchains in PATH. */
#ifndef RINGWALL_POLICY_DEFAULTS_H
#define RINGWALL_POLICY_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "policy/facts.h"
#include "policy/plan.h"

struct default_rule {
        enum rule_kind kind;
        const char *path; /* ~ is the home directory */
        const char *why;  /* shown as the rule's set */
};

extern const struct default_rule default_rules[];
extern const size_t default_rule_count;

/* The variables that a box gets without being asked. TMPDIR and HOME are set by the box itself. */
extern const char *const default_env[];

/*
 * The directories that a PATH entry needs to work: itself, or the toolchain it is the bin directory of. NULL when the
 * system's directories cover it, or when it is relative or strange.
 */
const char *default_toolchain_of(struct arena *a, const char *entry, const char *home);

/* What a toolchain in the home cannot do without: the compilers behind ~/.cargo/bin lie in ~/.rustup. NULL: nothing. */
const char *default_companion_of(struct arena *a, const char *toolchain, const char *home);

/* May an empty directory take this home's place? Not where the system itself lies in it: a home of / hides the root. */
bool default_home_is_private(const char *home);

#endif
