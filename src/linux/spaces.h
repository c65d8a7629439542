/* Namespaces: what other walls need of them. Theory of operation: spaces.c. */
#ifndef RINGWALL_LINUX_SPACES_H
#define RINGWALL_LINUX_SPACES_H

#include "linux/ask.h"

/*
 * In a probe's child. Moves the caller into a new user namespace, where it is uid 0 and holds every capability, and
 * into the namespaces of `flags` (CLONE_NEW…) that belong to it. Runs as: the caller's user. Should leave the caller
 * able to mount and configure inside; must not be used in a process that goes on to do anything else.
 */
int spaces_enter(int flags, struct answer *answer);

/* A private tmpfs over the one directory that is sure to exist, visible in this mount namespace alone. */
#define SPACES_SCRATCH "/proc"
int spaces_make_scratch(struct answer *answer);

#endif
