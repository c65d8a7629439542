/* The processes that a command has started, wherever they have gone. */
#ifndef RINGWALL_TOOLS_FAMILY_H
#define RINGWALL_TOOLS_FAMILY_H

#include <sys/types.h>

/*
 * Kills the process, its group, its session, and all that descends from it, as far as /proc tells; what has left the
 * session and lost its parents is not found.
 */
void family_kill(pid_t first);

#endif
