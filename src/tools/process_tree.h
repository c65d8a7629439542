/* Kills a process with all processes that it has started. */
#ifndef RINGWALL_TOOLS_PROCESS_TREE_H
#define RINGWALL_TOOLS_PROCESS_TREE_H

#include <sys/types.h>

#include "base/text.h"

/*
 * Kills the process, its process group, its session and its descendants, as far as /proc shows them. A process that has
 * left the session and was reparented is not found, unless `first` is a subreaper: then it is the new parent. Adds the
 * names of the killed descendants to ret_names, separated by commas; NULL: they are not wanted.
 */
void process_tree_kill(pid_t first, struct text *ret_names);

#endif
