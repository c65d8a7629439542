/* The command's process, from fork to exec. */
#ifndef RINGWALL_LINUX_COMMAND_H
#define RINGWALL_LINUX_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "linux/box_setup.h"

/* Sent to the keeper, over setup->to_keeper, if the command could not be started. */
struct start_failure {
        int code; /* an exit status of ringwall's */
        struct error error;
};

/*
 * Forks a process that applies the walls to itself and executes the command. Its exec closes setup->to_keeper.
 *
 * With `like_vfork` the child uses the keeper's memory until it executes, and the keeper is suspended: no page tables
 * are copied. Not if the child needs the keeper before that (to allow its exec, or to be continued when a terminal
 * stops it), forks a guard, or never executes (serve).
 */
pid_t command_fork(struct box_setup *setup, bool like_vfork);

#endif
