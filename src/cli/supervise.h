/* The event loop of `ringwall run` while a box runs: signals, the terminal, the time limit. */
#ifndef RINGWALL_CLI_SUPERVISE_H
#define RINGWALL_CLI_SUPERVISE_H

#include <stdbool.h>

#include "box/box_run.h"
#include "box/live_policy.h"
#include "cli/terminal.h"

/*
 * Blocks the signals that are forwarded to the command, and makes a signalfd for them. Call it before the box is
 * started, so that no signal is lost. Returns 0 or -errno.
 */
int supervise_prepare(int *ret_signals);

/*
 * Waits until the command ends or its time limit expires, and finishes the run: then every process of the box has
 * ended, and the terminal is restored. Meanwhile it prints the notes of the report as they arrive, unless `quiet`, and
 * applies the hosts of a policy that changes (live_policy.h). Returns what box_run_finish() returns.
 */
int supervise_box(struct box_run *run, struct terminal *terminal, struct live_policy *live, int signals, bool quiet);

#endif
