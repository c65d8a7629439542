/*
 * What the filters say, as tables: for the program that compiles them, and for the tests that check what it compiled.
 * The tables themselves, and why each call is where it is: filter_table.c. Nothing of this is linked into ringwall.
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
        FILTER_NUMBERS_MAX = 1024, /* no call has a number beyond: unknown */
        FILTER_TESTS_MAX = 3,
};

/* The numbering that a filter belongs to. Calls made in another one are killed. */
struct filter_abi {
        const char *name;
        uint32_t audit;   /* AUDIT_ARCH_*, which is also how libseccomp names it */
        uint32_t foreign; /* numbers from here on belong to another ABI of the same audit value; 0: none */
};
extern const struct filter_abi filter_abis[FILTER_ARCHES];

/*
 * Calls of one kind share a verdict: `with` where the plan has the right (or the group needs none), else `without`.
 * Verdicts are SECCOMP_RET_*, with their errno.
 */
struct filter_group {
        const char *name;
        unsigned right; /* of enum filter_right, or 0 */
        uint32_t with, without;
        const char *const *calls; /* NULL after the last */
};
extern const struct filter_group filter_groups[];
extern const size_t filter_group_count;

/*
 * Holds when (argument & mask) == value. The kernel takes the arguments that are tested here as 32 bits, so only the
 * lower half is looked at: what stands in the upper half cannot change the verdict, as it cannot change the call.
 */
struct filter_test {
        uint8_t argument;
        uint32_t mask, value; /* mask 0: no test */
};

/* Verdicts that depend on arguments. They come before the group's; of those whose tests all hold, the first decides. */
struct filter_condition {
        const char *call;
        unsigned with, without; /* counts in plans that have all the rights of the one and none of the other */
        struct filter_test tests[FILTER_TESTS_MAX];
        uint32_t action;
};
extern const struct filter_condition filter_conditions[];
extern const size_t filter_condition_count;

/* Numbers of calls that the oldest libseccomp of our builds does not know; -1 where an architecture lacks the call. */
struct filter_number {
        const char *call;
        int numbers[FILTER_ARCHES];
};
extern const struct filter_number filter_numbers[];
extern const size_t filter_number_count;

/* The verdict on every call that no group names. */
extern const uint32_t filter_unknown;

#endif
