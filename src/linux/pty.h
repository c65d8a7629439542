/* The box's own terminal and session, on the keeper's side. Theory of operation: pty.c. */
#ifndef RINGWALL_LINUX_PTY_H
#define RINGWALL_LINUX_PTY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct pty {
        int master; /* sent to the front */
        int slave;  /* for the command; the keeper keeps a copy, so that the terminal exists as long as the command */
        unsigned replaced; /* bit n: the command's descriptor n is the slave; 0: no terminal */
};

/*
 * Makes a session and, if `replaced` is not 0, a terminal for it, with the size and modes of the one it replaces. Runs
 * as: the keeper, in its root. Unless `foreground`, the new terminal does not process output: the person's own terminal
 * does.
 */
int pty_open(struct pty *ret, unsigned replaced, bool foreground, struct error *e);

/*
 * Makes the terminal the command's. Runs as: the command's process, in its own process group, with SIGTTOU blocked.
 * Returns 0 or -errno.
 */
int pty_attach(const struct pty *pty, bool foreground);

/* Lets this process group read from the terminal, or with 0 no process. Runs as: the keeper, with SIGTTOU blocked. */
void pty_set_foreground(const struct pty *pty, pid_t group);

#endif
