/* The box's own terminal and session, on the keeper's side. Theory of operation: pty.c. */
#ifndef RINGWALL_LINUX_PTY_H
#define RINGWALL_LINUX_PTY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct pty {
        int master; /* for the front */
        int slave;  /* for the command; the keeper keeps it, so that the terminal lasts as long as the command */
        unsigned replaced; /* bit n: the command's descriptor n is the slave; 0: there is no terminal at all */
};

/*
 * A session without a terminal, then, when `replaced` is not 0, a terminal for it, with the size and modes of the one
 * it replaces. Runs as: the keeper, in its root. Unless `foreground`, output is passed on as it is: the person's own
 * terminal processes it.
 */
int pty_open(struct pty *ret, unsigned replaced, bool foreground, struct error *e);

/* Puts it on. Runs as: the command's process, in a process group of its own, with SIGTTOU blocked. Returns 0 or -errno. */
int pty_wear(const struct pty *pty, bool foreground);

/* Whose turn it is to read: this process group's, or, with 0, nobody's. Runs as: the keeper, with SIGTTOU blocked. */
void pty_turn(const struct pty *pty, pid_t group);

#endif
