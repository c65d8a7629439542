/* Namespaces for the other probes. Theory of operation: probe_namespaces.c. */
#ifndef RINGWALL_LINUX_PROBE_NAMESPACES_H
#define RINGWALL_LINUX_PROBE_NAMESPACES_H

#include "linux/probe_child.h"

/*
 * Runs in a probe's child, as the caller's user. Moves it into a new user namespace, where it is uid 0 with every
 * capability, and into the new namespaces of `flags` (CLONE_NEW…), which that user namespace owns. Should leave the
 * child able to mount and configure inside. Must not be called in a process that has other work to do afterwards.
 */
int probe_enter_namespaces(int flags, struct probe_answer *answer);

/* Mounts an empty tmpfs on /proc, the one directory that always exists. Only this mount namespace sees it. */
#define PROBE_TMPFS_PATH "/proc"
int probe_mount_tmpfs(struct probe_answer *answer);

#endif
