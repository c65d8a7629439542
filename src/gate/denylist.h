/*
 * The command denylist: is one of the denied commands called in this command line? It counts where bash looks for a
 * command and nowhere else: `echo "use sudo now"` calls none, `/usr/bin/sudo`, `env A=1 sudo` and `bash -c 'sudo …'`
 * do.
 *
 * It helps against accidents and is no boundary: a command whose name only bash can know (a variable, a pattern, a
 * script, what is piped into a shell) passes, and meets the box. A function of a denied name counts as the command.
 */
#ifndef RINGWALL_GATE_DENYLIST_H
#define RINGWALL_GATE_DENYLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/plan.h"

struct denied {
        char token[256];                 /* the word without its quotes, cut if it is long */
        const struct plan_command *rule; /* what denies it */
        size_t offset;                   /* of the word as it was written */
        unsigned line, column;           /* of the same, from 1; columns in characters */
};

/* Finds the first call of a denied command. False, and *ret untouched, when there is none. */
bool denylist_find(const char *command, const struct plan_command *denied, size_t count, struct denied *ret);

/* The refusal, for the agent: what was found where, and what would allow it. */
void denylist_explain(const struct denied *d, struct text *out);

#endif
