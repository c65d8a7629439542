/* The command's process, from fork to exec. */
#ifndef RINGWALL_LINUX_COMMAND_H
#define RINGWALL_LINUX_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "linux/box_setup.h"

/* Sent to the keeper, over setup->to_keeper, if the command could not be started. */
struct start_failure {
        int code; /* ringwall's exit status */
        struct error error;
};

/*
 * Forks a process that applies the walls to itself and executes the command. Its exec closes setup->to_keeper.
 *
 * With `like_vfork` the child uses the keeper's memory until it executes, and the keeper is suspended: no page tables
 * are copied. The caller must not use it if the child needs the keeper before its exec (to allow the exec, or to
 * continue the child when a terminal stops it), if the child forks a guard, or if it never executes (serve).
 */
pid_t command_fork(struct box_setup *setup, bool like_vfork);

#endif
