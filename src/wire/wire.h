/* Messages between processes of ours, over sockets that nobody else has. */
#ifndef RINGWALL_WIRE_WIRE_H
#define RINGWALL_WIRE_WIRE_H

#include <stddef.h>
#include <sys/types.h>

/* One packet with one descriptor, unless fd is -1. Returns 0 or -errno. */
int wire_send(int socket, const void *data, size_t length, int fd);

/* Returns the length, 0 at the end, or -errno; *ret_fd is -1 when none came, else the caller's to close. */
ssize_t wire_receive(int socket, void *data, size_t length, int flags, int *ret_fd);

#endif
