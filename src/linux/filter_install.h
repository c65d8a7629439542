/*
 * The seccomp wall: which system calls the processes of a box may make. Theory of operation: filter_table.c lists what
 * is allowed, filter_generate.c compiles it when ringwall is built, filter_install.c passes a program to the kernel.
 *
 * Not called filter.h, which would hide the kernel's <linux/filter.h>.
 */
#ifndef RINGWALL_LINUX_FILTER_INSTALL_H
#define RINGWALL_LINUX_FILTER_INSTALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

/* What the plan allows. Each combination has its own program. */
enum filter_right {
        FILTER_EXEC = 1,
        FILTER_FORK = 2,    /* new processes; threads are always allowed */
        FILTER_NETWORK = 4, /* IPv4 and IPv6, TCP and UDP */
        FILTER_IPC = 8,     /* System V IPC and POSIX queues: only in a box with an IPC namespace */
        FILTER_UNIX = 16,   /* unix sockets with addresses: only where another wall denies the sockets of the host */
        FILTER_PRIORITIES = 32, /* priorities of other processes: only in a box with a pid namespace */
        /* TCP over IPv4, with sockets that a ringwall process makes: for a box without a network namespace */
        FILTER_SOCKET_SERVER = 64,
        FILTER_RIGHTS_COUNT = 128,
};

/* What the guard of a box checks besides changes. Each combination has a program, which runs before that of the rights.
 */
enum filter_guard {
        FILTER_GUARD_READS = 1,   /* opening for reading */
        FILTER_GUARD_CONNECT = 2, /* connecting a socket; unix datagram sockets are refused then */
        /* for a box without namespaces: the guard checks listen() too, and no program can hide its memory from it */
        FILTER_GUARD_NO_NAMESPACES = 4,
        FILTER_GUARD_COUNT = 8,
};
enum { FILTER_NO_GUARD = -1 };

/* The rights (enum filter_right) that the plan gives. `guard`: the box's, of enum filter_guard, or FILTER_NO_GUARD. */
unsigned filter_rights_from_plan(const struct plan *plan, int guard);

/*
 * Restricts the calling thread, and all that it starts, permanently. Runs as: any process with no_new_privs set and one
 * thread, as its last step before foreign code. Installs the whole filter, or on failure nothing.
 *
 * Notified calls block until *ret_listener (close-on-exec) is used to answer them, with the errno from filter_errno().
 * Without FILTER_EXEC every exec is notified, also the caller's own, so the process that receives the listener has to
 * let the first one continue. `guard` is FILTER_NO_GUARD or of enum filter_guard: then the calls of filter_guarded[]
 * are notified too. If ret_listener is NULL, or inside a box that already has a listener (then *ret_listener is -1),
 * calls that would be notified fail with ENOSYS; the second case is an error without FILTER_EXEC, with
 * FILTER_SOCKET_SERVER or with a guard.
 *
 * Returns 0 or -errno; -EOPNOTSUPP on an architecture without programs.
 */
int filter_install(unsigned rights, int guard, int *ret_listener);

/* Does this kernel support a filter with a guard? */
bool filter_can_guard(void);

/*
 * The errno with which to answer a call that the filter with these rights notified. 0: socket_serve() has to answer it.
 */
int filter_errno(unsigned rights, const struct seccomp_data *data);

/* A call that some filter notifies. */
struct filter_notified {
        uint16_t number;
        const char *call, *group; /* as in filter_table.c */
};

/* NULL: no filter notifies this call. */
const struct filter_notified *filter_find_notified(int number);

/* All programs of one architecture, concatenated in `code`. */
struct filter_programs {
        const struct sock_filter *code;
        struct program_slice {
                uint16_t start, count;
        } variants[FILTER_RIGHTS_COUNT]; /* by enum filter_right */
        struct program_slice guards[FILTER_GUARD_COUNT]; /* by enum filter_guard; installed with a variant after it */
        const struct filter_notified *notified;
        size_t notified_count;
};

/* Generated. Only that of the machine is linked into a program; tests use both. */
extern const struct filter_programs filter_programs_x86_64, filter_programs_aarch64;

#endif
