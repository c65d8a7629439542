/* The front's part in a running box: signals, the terminal, the time limit, and how it ended. */
#ifndef RINGWALL_CLI_ATTEND_H
#define RINGWALL_CLI_ATTEND_H

#include <stdbool.h>

#include "box/live.h"
#include "box/start.h"
#include "cli/terminal.h"

/* Blocks what the front passes on instead of dying of it. Before the box is started, so that none is lost. */
int attend_prepare(int *ret_signals);

/*
 * Waits for the end of the command, or of its time. How it ended is in the report then, everything in the box has ended,
 * and the terminal is as it was. What the box does not hold is said at once, unless `quiet`. Meanwhile policies that are live
 * are followed.
 */
void attend_box(struct running *running, struct terminal *terminal, struct live *live, int signals, bool quiet,
                struct report *report, struct trail *trail);

#endif
