/*
 * Commands that run other commands: `env A=1 sudo`, `xargs -n1 sudo`, `sh -c 'sudo …'`, `find -exec sudo {} +`. A
 * table describes the options of each and where the other command begins.
 */
#ifndef RINGWALL_GATE_WRAPPER_COMMANDS_H
#define RINGWALL_GATE_WRAPPER_COMMANDS_H

#include <stdbool.h>

#include "gate/shell_grammar.h"

/* Receives `word`, the name or path of a program that is called. */
typedef void call_visit(void *context, const struct shell_word *word);

/* Calls `visit` for every call that the line makes and whose command is written in the line. */
void wrapper_walk_line(struct shell_text line, call_visit *visit, void *context);

/* The part of the word after its last slash. False if that part is empty, or a part of it is unknown. */
bool wrapper_name(const struct shell_word *word, struct shell_text *ret);

#endif
