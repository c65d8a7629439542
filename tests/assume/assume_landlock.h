/* For the programs that test Landlock. Older headers lack RIGHT_TRUNCATE, so its number is here. */
#ifndef RINGWALL_TESTS_ASSUME_LANDLOCK_H
#define RINGWALL_TESTS_ASSUME_LANDLOCK_H

#include "assume.h"

#include <linux/landlock.h>

enum { RIGHT_TRUNCATE = 1 << 14 };

/* Skips the test if this kernel's Landlock is older than `abi`. */
static inline void require_landlock(int abi)
{
        long kernel_abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (kernel_abi >= abi)
                return;
        if (kernel_abi > 0)
                errno = EOPNOTSUPP;
        skip_cannot("use a new enough Landlock");
}

/* Restricts the caller: the rights in `handled` are denied everywhere, those in `granted` are allowed below `path`. */
static inline void restrict_to(const char *path, uint64_t handled, uint64_t granted)
{
        struct landlock_ruleset_attr ruleset = { .handled_access_fs = handled };
        struct landlock_path_beneath_attr rule = { .allowed_access = granted };
        int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
        rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || rule.parent_fd < 0 ||
            syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                skip_cannot("restrict itself with Landlock");
}

#endif
