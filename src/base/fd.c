/* File descriptors; see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_close(int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}

/* Grows the buffer while reading. st_size is not trusted: it is 0 in /proc, and a file may grow meanwhile. */
static int read_up_to(int fd, size_t cap, char **ret_data, size_t *ret_length)
{
        CLEANUP_FREE char *data = NULL;
        size_t used = 0, size = 0;
        for (;;) {
                if (size - used < 2) {
                        size_t larger = size ? size * 2 : 16384;
                        char *grown = realloc(data, larger);
                        if (!grown)
                                return -ENOMEM;
                        data = grown;
                        size = larger;
                }
                ssize_t n = read(fd, data + used, size - used - 1);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                used += (size_t)n;
                if (used > cap)
                        return -EFBIG;
        }
        data[used] = '\0';
        *ret_data = TAKE_PTR(data);
        *ret_length = used;
        return 0;
}

int fd_read_all(int fd, const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "cannot stat %s", path);
        if (S_ISDIR(st.st_mode))
                return error_set(e, EISDIR, "%s is a directory, not a file", path);
        if (!S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "%s is not a regular file", path);
        int r = read_up_to(fd, cap, ret_data, ret_length);
        if (r == -EFBIG)
                return error_set(e, EFBIG, "%s is larger than %zu bytes, which is the limit", path, cap);
        if (r < 0)
                return error_errno(e, -r, "cannot read %s", path);
        return 0;
}

int fd_read_file(const char *path, size_t cap, char **ret_data, size_t *ret_length, struct error *e)
{
        CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return error_errno(e, errno, "cannot open %s", path);
        return fd_read_all(fd, path, cap, ret_data, ret_length, e);
}

int fd_write_all(int fd, const void *data, size_t length)
{
        const char *p = data;
        while (length > 0) {
                ssize_t n = write(fd, p, length);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                p += n;
                length -= (size_t)n;
        }
        return 0;
}

int fd_open_no_symlinks(int directory, const char *path, int flags, unsigned mode)
{
        struct open_how how = {
                .flags = (unsigned)flags | O_CLOEXEC,
                .mode = mode,
                .resolve = RESOLVE_NO_SYMLINKS,
        };
        long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
        return fd < 0 ? -errno : (int)fd;
}
