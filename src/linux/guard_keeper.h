/*
 * Requests of a guard to its keeper in a box without namespaces. Theory of operation: guard_keeper.c.
 */
#ifndef RINGWALL_LINUX_GUARD_KEEPER_H
#define RINGWALL_LINUX_GUARD_KEEPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct guard;

enum { KEEPER_BYTES_MAX = 4096 };

/* In the guard, over g->keeper. Each returns the result of the keeper's call: a length or a descriptor, or -errno. */
ssize_t guard_ask_memory(struct guard *g, pid_t tid, uint64_t address, void *ret, size_t size);
int guard_ask_fd(struct guard *g, pid_t tid, pid_t tgid, int fd);
int guard_ask_socket(struct guard *g, int nonblocking);

/* In the keeper: answers one request. -errno: no guard is left. */
int guard_keeper_answer(int socket);

#endif
