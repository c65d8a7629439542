/*
 * Walls: the kinds of enforcement, and the features of a machine that they need.
 *
 * What it is for: a shared vocabulary for the code that asks the kernel (src/linux) and the code that decides
 * (src/box).
 *
 * How it works: every question to a machine has a fixed id, so that tables of ids can describe what a level needs. A
 * probe fills the features of its wall in a report. A probe cannot fail: a feature that it could not ask for stays
 * FEATURE_UNKNOWN, which counts as "no".
 *
 * What it trusts: nothing but the answers in the report. A detail may quote untrusted text (environment, cgroup names);
 * feature_set() makes it printable, so a report can be written to a terminal or into JSON unchanged.
 *
 * Needs of the kernel: nothing. This folder makes no system calls.
 */
#ifndef RINGWALL_FEATURE_FEATURE_H
#define RINGWALL_FEATURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

/* In the order in which `ringwall doctor` prints them, grouped as in feature_infos[] (wall.c). */
enum feature_id {
        FEATURE_CONTAINER,
        FEATURE_APPARMOR_USERNS,
        FEATURE_USERNS_SYSCTL,
        FEATURE_OUTER_SECCOMP,

        FEATURE_OPENAT2,
        FEATURE_PIDFD,
        FEATURE_CLONE3,
        FEATURE_CLOSE_RANGE,

        FEATURE_LANDLOCK,
        FEATURE_LANDLOCK_FILES,
        FEATURE_LANDLOCK_REFER,
        FEATURE_LANDLOCK_TRUNCATE,
        FEATURE_LANDLOCK_TCP,
        FEATURE_LANDLOCK_IOCTL_DEV,
        FEATURE_LANDLOCK_SCOPE,
        FEATURE_LANDLOCK_AUDIT,
        FEATURE_LANDLOCK_TSYNC,
        FEATURE_LANDLOCK_UNIX,
        FEATURE_LANDLOCK_UDP,

        FEATURE_SECCOMP,
        FEATURE_SECCOMP_ACTIONS,

        FEATURE_NO_NEW_PRIVS,
        FEATURE_CAPABILITIES,
        FEATURE_MDWE,

        FEATURE_USER_NAMESPACE,
        FEATURE_PID_NAMESPACE,
        FEATURE_MOUNT_NAMESPACE,
        FEATURE_IPC_NAMESPACE,
        FEATURE_UTS_NAMESPACE,
        FEATURE_CGROUP_NAMESPACE,
        FEATURE_NAMESPACES_COMBINED,
        FEATURE_PIVOT_ROOT,
        FEATURE_MOUNT_PROC,
        FEATURE_OVERLAY,

        FEATURE_CGROUP2,
        FEATURE_CGROUP_DELEGATION,
        FEATURE_CLONE_INTO_CGROUP,
        FEATURE_SYSTEMD_SCOPE,
        FEATURE_NPROC,

        FEATURE_NOTIFY,
        FEATURE_ADDFD,
        FEATURE_WAIT_KILLABLE,
        FEATURE_VM_READV,

        FEATURE_NET_NAMESPACE,
        FEATURE_LOOPBACK,
        FEATURE_NFTABLES,
        FEATURE_TCP_REDIRECT,

        FEATURE_COUNT
};

enum feature_state {
        FEATURE_UNKNOWN, /* the kernel could not be asked; counts as no */
        FEATURE_NO,
        FEATURE_PARTIAL,
        FEATURE_YES,
};

struct feature {
        enum feature_state state;
        int error;         /* the positive errno of the step that failed, 0 if every step succeeded */
        char detail[240];  /* one line for the user, printable UTF-8 */
        const char *help;  /* a string constant: a command or step that would help on this machine; NULL: none known */
};

struct probe_report {
        struct feature features[FEATURE_COUNT];
};

struct feature_info {
        const char *key;   /* "namespaces.user": group, dot, name; part of the JSON format, so it never changes */
        const char *label; /* for the user, under the heading of its group */
        bool is_fact;      /* it describes the host: neither "yes" nor "no" is a failure */
};

const struct feature_info *feature_info(enum feature_id id);

/* "unasked", "no", "partly", "yes" */
const char *feature_state_name(enum feature_state state);

/* Fills one feature; `error` is 0 or a positive errno. A detail that is too long is truncated and ends in "…". */
void feature_set(struct probe_report *report, enum feature_id id, enum feature_state state, int error,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
