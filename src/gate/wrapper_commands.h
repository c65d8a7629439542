/*
 * Commands that run other commands: `env A=1 sudo`, `xargs -n1 sudo`, `sh -c 'sudo …'`, `find -exec sudo {} +`. A
 * table describes the options of each and where the other command begins.
 */
#ifndef RINGWALL_GATE_WRAPPER_COMMANDS_H
#define RINGWALL_GATE_WRAPPER_COMMANDS_H

#include <stdbool.h>

#include "gate/shell_grammar.h"

/* A call of a program: its name or path, and its arguments. */
struct shell_call {
        const struct shell_word *words; /* at least one */
        size_t count;
        bool is_open; /* more arguments follow when it runs, as after xargs */
};
typedef void call_visit(void *context, const struct shell_call *call);

/* Calls `visit` for every call that the line makes and whose command is written in the line. */
void wrapper_walk_line(struct shell_text line, call_visit *visit, void *context);

/* The part of the word after its last slash. False if that part is empty, or a part of it is unknown. */
bool wrapper_name(const struct shell_word *word, struct shell_text *ret);

/*
 * The index of the first word from `from` on that is neither an option of the call's program nor the value of one; the
 * number of words if there is none.
 */
size_t wrapper_find_operand(const struct shell_call *call, size_t from);

#endif
