/* Prepares a helper process (watchdog, janitor, guard, socket server): closes all but two inherited descriptors. */
#ifndef RINGWALL_LINUX_DAEMONIZE_H
#define RINGWALL_LINUX_DAEMONIZE_H

/*
 * Called first in a child. Creates a session, blocks all signals, sets the process's name, changes to "/", and closes
 * all descriptors but these two, which become 0 and 1. `second` may be -1. Exits when that fails.
 */
void daemonize_child(const char *name, int first, int second);

/*
 * The same with a new process group, but in the caller's session, for the guard: the scheduler groups processes by
 * session (sched_autogroup), and moves two processes that wake each other between processors if their groups differ.
 */
void detach_within_session(const char *name, int first, int second);

/* Waits until all copies of the other end of a socket are closed, or a byte arrives from it. */
void wait_for_eof(int fd);

#endif
