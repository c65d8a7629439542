/*
 * The filters as tables, for the program that compiles them and for the tests that check its output. filter_table.c
 * gives the reasons. Not linked into ringwall.
 */
#ifndef RINGWALL_LINUX_FILTER_TABLE_H
#define RINGWALL_LINUX_FILTER_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum filter_arch {
        FILTER_X86_64,
        FILTER_AARCH64,
        FILTER_ARCHES,
};

enum {
        FILTER_NUMBERS_MAX = 1024, /* higher than the number of any known call */
        FILTER_TESTS_MAX = 3,
};

/* The system call ABI that a filter is for. A process that makes a call of another ABI is killed. */
struct filter_abi {
        const char *name;
        uint32_t audit;   /* AUDIT_ARCH_*, which is also libseccomp's identifier */
        uint32_t foreign; /* numbers from here on belong to another ABI with the same audit value; 0: none */
};
extern const struct filter_abi filter_abis[FILTER_ARCHES];

/*
 * The calls of a group share a verdict: `with` where the plan has the right (or the group needs none), else `without`.
 * Verdicts are SECCOMP_RET_* with their errno.
 */
struct filter_group {
        const char *name;
        unsigned right; /* of enum filter_right, or 0 */
        uint32_t with, without;
        const char *const *calls; /* NULL-terminated */
};
extern const struct filter_group filter_groups[];
extern const size_t filter_group_count;

/*
 * True when (argument & mask) == value. The kernel reads the arguments that are tested here as 32 bits, so only the
 * lower half is compared: the upper half can change neither the verdict nor the call.
 */
struct filter_test {
        uint8_t argument;
        uint32_t mask, value; /* mask 0: no test */
};

/*
 * Verdicts that depend on arguments, checked before the group's. The first condition whose tests are all true decides.
 */
struct filter_condition {
        const char *call;
        unsigned with, without; /* applies to plans that have all rights of `with` and none of `without` */
        struct filter_test tests[FILTER_TESTS_MAX];
        uint32_t action;
};
extern const struct filter_condition filter_conditions[];
extern const size_t filter_condition_count;

/*
 * Calls that the guard checks (guard.h). In a box with a guard these tables come before all others: the first condition
 * whose tests are all true decides; otherwise the call is notified. FILTER_PASS leaves it to the tables above.
 */
struct filter_guarded {
        const char *call;
        unsigned guard;  /* of enum filter_guard: only in boxes with these bits */
        uint32_t action; /* 0: notify */
};
extern const struct filter_guarded filter_guarded[];
extern const size_t filter_guarded_count;

/*
 * The conditions of the guard's programs; `with` and `without` are of enum filter_guard. A call that is not in
 * filter_guarded[] passes if no condition applies.
 */
extern const struct filter_condition filter_guard_conditions[];
extern const size_t filter_guard_condition_count;

/* Not a verdict of the kernel: leaves the call to the tables above. */
#define FILTER_PASS UINT32_MAX

/* Numbers of calls that the oldest supported libseccomp does not know; -1 where an architecture lacks the call. */
struct filter_extra_number {
        const char *call;
        int numbers[FILTER_ARCHES];
};
extern const struct filter_extra_number filter_extra_numbers[];
extern const size_t filter_number_count;

/* The verdict on every call that no group names. */
extern const uint32_t filter_default_action;

#endif
