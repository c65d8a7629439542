/* Landlock for the programs that ask about it; the numbers are the kernel's ABI. */
#ifndef RINGWALL_TESTS_ASSUME_LANDLOCK_H
#define RINGWALL_TESTS_ASSUME_LANDLOCK_H

#include "assume.h"

#include <linux/landlock.h>

enum { RIGHT_TRUNCATE = 1 << 14 };

/* Ends the program when this kernel's Landlock is older than `abi`. */
static inline void need_landlock(int abi)
{
        long have = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (have >= abi)
                return;
        if (have > 0)
                errno = EOPNOTSUPP;
        cannot_ask("have a new enough Landlock");
}

/* Restricts the caller: `handled` is taken everywhere, `granted` is given below `path`. */
static inline void restrict_to(const char *path, uint64_t handled, uint64_t granted)
{
        struct landlock_ruleset_attr ruleset = { .handled_access_fs = handled };
        struct landlock_path_beneath_attr rule = { .allowed_access = granted };
        int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
        rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || rule.parent_fd < 0 ||
            syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                cannot_ask("restrict itself with Landlock");
}

#endif
