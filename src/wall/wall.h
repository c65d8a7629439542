/*
 * Walls: the kinds of enforcement, and what the machine can do for each.
 *
 * What it is for: one vocabulary between the code that talks to a kernel (src/linux, level 3) and the code that decides
 * (src/box, level 4). A platform offers one table of struct wall; a wall is a name and its functions.
 *
 * How it works: every question that can be put to a machine has a fixed id, so that a verdict can be a table over ids.
 * A probe fills the features of its wall in a report. A probe cannot fail: what could not be asked stays UNASKED, and
 * whoever needs it must read that as "no".
 *
 * What it trusts: nothing but the answers in the report. Details may quote text that others wrote (environment, cgroup
 * names); feature_set() makes it printable, so a report can go to a terminal or into JSON as it is.
 *
 * Needs of the kernel: nothing. This folder makes no system calls.
 */
#ifndef RINGWALL_WALL_WALL_H
#define RINGWALL_WALL_WALL_H

#include <stdbool.h>
#include <stddef.h>

/* In the order in which a person reads them; the groups are those of feature_infos[] in wall.c. */
enum feature_id {
        FEATURE_CONTAINER,
        FEATURE_APPARMOR_USERNS,
        FEATURE_USERNS_SYSCTL,
        FEATURE_FILTERED,

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

        FEATURE_USER,
        FEATURE_PID,
        FEATURE_MOUNT,
        FEATURE_IPC,
        FEATURE_UTS,
        FEATURE_CGROUP,
        FEATURE_TOGETHER,
        FEATURE_ROOT,
        FEATURE_PROC,
        FEATURE_OVERLAY,

        FEATURE_CGROUP2,
        FEATURE_DELEGATION,
        FEATURE_INTO_CGROUP,
        FEATURE_MANAGER,
        FEATURE_NPROC,

        FEATURE_NOTIFY,
        FEATURE_ADDFD,
        FEATURE_WAIT_KILLABLE,
        FEATURE_READ_MEMORY,

        FEATURE_NET,
        FEATURE_LOOPBACK,
        FEATURE_NFTABLES,
        FEATURE_REDIRECT,

        FEATURE_COUNT
};

enum feature_state {
        FEATURE_UNASKED, /* the question could not be put; counts as no */
        FEATURE_NO,
        FEATURE_PARTLY,
        FEATURE_YES,
};

struct feature {
        enum feature_state state;
        int error;         /* the positive errno of the step that failed, 0 if none did */
        char detail[240];  /* one line for a person, printable UTF-8 */
        const char *help;  /* a string constant: what would help on this machine; NULL when nothing is known to */
};

struct probe_report {
        struct feature features[FEATURE_COUNT];
};

struct feature_info {
        const char *key;   /* "spaces.user": group, dot, name; stable, machines read it */
        const char *label; /* for a person, under the heading of its group */
        bool is_fact;      /* about the surroundings: yes is not good and no is not bad */
};

struct wall {
        const char *name;
        void (*probe)(struct probe_report *report);
};

const struct feature_info *feature_info(enum feature_id id);

/* "unasked", "no", "partly", "yes" */
const char *feature_state_name(enum feature_state state);

/* Fills one feature; `error` is 0 or a positive errno value. Overlong details are cut with "…". */
void feature_set(struct probe_report *report, enum feature_id id, enum feature_state state, int error,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Empties the report, then asks each wall in turn. */
void wall_probe(const struct wall *walls, size_t count, struct probe_report *report);

#endif
