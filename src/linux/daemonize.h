/* Prepares a helper process (watchdog, janitor, guard, socket server): drops what it inherited but two descriptors. */
#ifndef RINGWALL_LINUX_DAEMONIZE_H
#define RINGWALL_LINUX_DAEMONIZE_H

/*
 * Called first in a child. Creates a session, blocks all signals, changes to "/", and closes all descriptors but these
 * two, which become 0 and 1. `second` may be -1. Exits when that fails.
 */
void daemonize_child(const char *name, int first, int second);

/*
 * The same without a new session: the scheduler groups processes by session (sched_autogroup), and migrates processes
 * of different groups that take turns from processor to processor.
 */
void detach_within_session(const char *name, int first, int second);

/* Waits until all copies of the other end of a socket are closed, or a byte arrives from it. */
void wait_for_eof(int fd);

#endif
