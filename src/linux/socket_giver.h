/*
 * The sockets of a box without a network namespace: a child of the keeper makes them, and they lead to this machine's loopback and
 * nowhere else. Theory of operation: socket_giver.c.
 */
#ifndef RINGWALL_LINUX_SOCKET_GIVER_H
#define RINGWALL_LINUX_SOCKET_GIVER_H

#include <linux/seccomp.h>

/*
 * Answers a socket() for which filter_answer() has no errno, with a socket of our own making. Returns 0, or the errno that the caller is
 * still to be told; ENOENT: the caller is gone.
 */
int socket_give(int listener, const struct seccomp_notif *request);

#endif
