/*
 * The seccomp wall: which system calls the processes of a box may make. Theory of operation: filter_table.c has what is
 * allowed, filter_generate.c makes the programs when ringwall is built, filter_install.c hands one to the kernel.
 *
 * Not called filter.h, which would hide the kernel's <linux/filter.h>.
 */
#ifndef RINGWALL_LINUX_FILTER_INSTALL_H
#define RINGWALL_LINUX_FILTER_INSTALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* What the plan allows; each combination has a program of its own. */
enum filter_right {
        FILTER_EXEC = 1,
        FILTER_FORK = 2,    /* processes; threads can always be made */
        FILTER_NETWORK = 4, /* IPv4 and IPv6, TCP and UDP */
        FILTER_IPC = 8,     /* System V IPC and POSIX queues: only in a box with an IPC namespace of its own */
        FILTER_UNIX = 16,   /* unix sockets that can name another: only where the host's are out of reach otherwise */
        FILTER_PIDS = 32,   /* priorities of others: only in a box with a pid namespace of its own */
        FILTER_GIVEN = 64,  /* TCP over IPv4, by sockets that the keeper makes: for a box without a network namespace of its own */
        FILTER_VARIANTS = 128,
};

/*
 * Restricts the calling thread, and all that it starts, for good. Runs as: anybody with no_new_privs set, and one
 * thread. Should be the last step before exec; must not leave the caller with less than the whole filter.
 *
 * Refusals that are told wait for an answer from *ret_listener (close-on-exec): filter_answer() gives it. Without
 * FILTER_EXEC every exec is among them, the caller's own included, so whoever takes the listener lets one continue.
 * With ret_listener NULL, or inside a box that listens already (then *ret_listener is -1), refusals that would be told
 * fail with ENOSYS; without FILTER_EXEC, or with FILTER_GIVEN, the latter is an error.
 *
 * Returns 0 or -errno; -EOPNOTSUPP on an architecture without programs.
 */
int filter_install(unsigned rights, int *ret_listener);

/*
 * The errno that the filter with these rights has for a call of this machine that it notified of. 0: none, because the call is to
 * be answered by socket_give().
 */
int filter_answer(unsigned rights, const struct seccomp_data *data);

/* A call that some filter tells of. */
struct filter_told {
        uint16_t number;
        const char *call, *group; /* of filter_table.c */
};

/* NULL for another. */
const struct filter_told *filter_find_told(int number);

/* All programs of one architecture, one behind the other in `code`. */
struct filter_programs {
        const struct sock_filter *code;
        struct filter_span {
                uint16_t start, count;
        } variants[FILTER_VARIANTS]; /* by enum filter_right */
        const struct filter_told *told;
        size_t told_count;
};

/* Generated. Only the machine's own is linked into a program; tests look at both. */
extern const struct filter_programs filter_programs_x86_64, filter_programs_aarch64;

#endif
