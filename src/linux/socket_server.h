/*
 * Sockets for a box without a network namespace: a child of the keeper, or the keeper, makes them, and they reach only
 * this machine's loopback. Theory of operation: socket_server.c.
 */
#ifndef RINGWALL_LINUX_SOCKET_SERVER_H
#define RINGWALL_LINUX_SOCKET_SERVER_H

#include <linux/seccomp.h>

/* Makes such a socket; `nonblocking` is SOCK_NONBLOCK or 0. Returns it, or -errno. */
int socket_make(int nonblocking);

/*
 * Answers a notified socket() for which filter_errno() has no errno, with a new socket. Returns 0, or the errno with
 * which the call still has to be answered; ENOENT: the caller has exited.
 */
int socket_serve(int listener, const struct seccomp_notif *request);

#endif
