/*
 * The sockets of a box without a network namespace: the keeper makes them, and they lead to this machine's loopback and nowhere
 * else. Theory of operation: socket_giver.c.
 */
#ifndef RINGWALL_LINUX_SOCKET_GIVER_H
#define RINGWALL_LINUX_SOCKET_GIVER_H

#include <linux/seccomp.h>

/*
 * Answers a socket() that the filter gave to decide (filter_is_given), with a socket of our own making. Runs in a child of the keeper. Returns 0,
 * or the errno that the caller is still to be told; ENOENT: the caller is gone.
 */
int socket_give(int listener, const struct seccomp_notif *request);

#endif
