/*
 * Commands that run other commands: `env A=1 sudo`, `xargs -n1 sudo`, `sh -c 'sudo …'`, `find -exec sudo {} +`. One
 * table says of each which of its words are options and where the other command begins.
 */
#ifndef RINGWALL_GATE_RUNNER_H
#define RINGWALL_GATE_RUNNER_H

#include <stdbool.h>

#include "gate/command_line.h"

/* `word` names a program that is called. */
typedef void called(void *context, const struct shell_word *word);

/* All calls that the line makes, as far as it says them. */
void runner_walk_line(struct shell_text line, called *tell, void *context);

/* What stands behind the last slash; false when it is not known or there is nothing. */
bool runner_name(const struct shell_word *word, struct shell_text *ret);

#endif
