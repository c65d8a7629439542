/*
 * The command denylist: finds calls of denied commands in a command line. A name counts only where bash expects a
 * command: `echo "use sudo now"` does not call sudo; `/usr/bin/sudo`, `env A=1 sudo`, `bash -c 'sudo …'` and a
 * here-document that a shell reads do. With a directory, only those of the system count: `./su` is the project's own
 * program. A call that only prints something (`sudo --help`, `mount` without arguments) is not denied.
 *
 * This protects against accidents and is not a security boundary: a command whose name is known only when bash runs
 * (from a variable, a pattern, a script or a command that writes into a shell) passes, and the box still confines it.
 * Calling a shell function with a denied name counts as calling the command.
 */
#ifndef RINGWALL_GATE_DENYLIST_H
#define RINGWALL_GATE_DENYLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/plan.h"

struct denied_call {
        char token[256];                 /* the words that the rule denies, without quotes, truncated if longer */
        const struct plan_denied_command *rule; /* the rule that denies it */
        size_t offset;                   /* of the first of them in the command line, quotes included */
        unsigned line, column;           /* the same place, counted from 1; columns in characters */
};

/* Finds the first call of a denied command. False, and *ret untouched, when there is none. */
bool denylist_check(const char *command, const struct plan_denied_command *denied, size_t count,
                    struct denied_call *ret);

/* Writes the refusal for the agent: the command, its position, and the setting that would allow it. */
void denylist_explain(const struct denied_call *d, struct text *out);

#endif
