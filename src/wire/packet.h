/* Packets between ringwall's own processes, over socket pairs that no other process has. */
#ifndef RINGWALL_WIRE_PACKET_H
#define RINGWALL_WIRE_PACKET_H

#include <stddef.h>
#include <sys/types.h>

/* Sends one packet, with one descriptor unless fd is -1. Returns 0 or -errno. */
int packet_send(int socket, const void *data, size_t length, int fd);

/* Returns the packet's length, 0 at EOF, or -errno. *ret_fd is the descriptor, which the caller closes, or -1. */
ssize_t packet_receive(int socket, void *data, size_t length, int flags, int *ret_fd);

#endif
