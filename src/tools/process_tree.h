/* Kills a process with all processes that it has started. */
#ifndef RINGWALL_TOOLS_PROCESS_TREE_H
#define RINGWALL_TOOLS_PROCESS_TREE_H

#include <sys/types.h>

/*
 * Kills the process, its process group, its session and its descendants, as far as /proc shows them. A process that has
 * left the session and was reparented is not found.
 */
void process_tree_kill(pid_t first);

#endif
