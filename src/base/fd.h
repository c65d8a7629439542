/* File descriptors: one owner each, close-on-exec from birth, never closed twice. */
#ifndef RINGWALL_BASE_FD_H
#define RINGWALL_BASE_FD_H

#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"

/* Closes *fd if it is open and sets it to -1. A failed close is never retried: the descriptor is gone either way. */
void fd_close(int *fd);
#define CLEANUP_FD CLEANUP(fd_close)
#define TAKE_FD(fd) ({ int taken_ = (fd); (fd) = -1; taken_; })

/*
 * Reads a whole regular file of at most cap bytes (FIFOs and devices are refused, so that a read cannot hang). The
 * buffer is terminated by a NUL that ret_length does not count, and belongs to the caller. -EFBIG when it is larger.
 */
int fd_read_file(const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e);

/* The same for a file that is open; `path` is for messages. */
int fd_read_open(int fd, const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e);

/*
 * Opens a path of which no part is a symbolic link (ELOOP otherwise), below `directory` if it is relative. `flags` as for
 * open(2), close-on-exec without saying so; `mode` with O_CREAT. Returns the descriptor or -errno.
 */
int fd_open_straight(int directory, const char *path, int flags, unsigned mode);

/* Writes it all, or returns -errno. */
int fd_write_all(int fd, const void *data, size_t length);

#endif
