/* Children that outlive the front by a moment to clear up after it, and that nobody may have to wait for. */
#ifndef RINGWALL_LINUX_DETACH_H
#define RINGWALL_LINUX_DETACH_H

/*
 * Runs in a child, first of all: a session of its own, no signals, the root directory, and no descriptors but these
 * two, which become 0 and 1. second may be -1. Ends the child when that cannot be done.
 */
void detach(const char *name, int first, int second);

/* Waits until the other end of a socket is closed everywhere, or something comes from it. */
void detach_await_end(int fd);

#endif
