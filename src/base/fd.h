/* File descriptors: one owner each, close-on-exec from the start, never closed twice. */
#ifndef RINGWALL_BASE_FD_H
#define RINGWALL_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"

/* Closes *fd if it is open and sets it to -1. A failed close is never retried: the descriptor is gone either way. */
void fd_close(int *fd);
#define CLEANUP_FD CLEANUP(fd_close)
#define TAKE_FD(fd) ({ int taken_ = (fd); (fd) = -1; taken_; })

/*
 * Reads a whole regular file of at most cap bytes (FIFOs and devices are refused, so that a read cannot hang); -EFBIG
 * when it is larger. The buffer ends with a NUL that ret_length does not count, and belongs to the caller.
 */
int fd_read_file(const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e);

/* The same for an open file; `path` is for messages. */
int fd_read_all(int fd, const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e);

/*
 * Opens a path of which no part is a symbolic link (-ELOOP otherwise); a relative one starts at `directory`. `flags`
 * as for open(2), to which O_CLOEXEC is added; `mode` with O_CREAT. Returns the descriptor or -errno.
 */
int fd_open_no_symlinks(int directory, const char *path, int flags, unsigned mode);

/* Do both describe the same file? */
static inline bool stat_same(const struct stat *a, const struct stat *b)
{
        return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Writes all bytes, in several writes if it has to. Returns 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t length);

#endif
