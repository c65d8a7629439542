/*
 * Scratch directories; see scratch.h.
 *
 * Removal works level by level: every nested directory is first moved to the top, so that stack, descriptors and path
 * lengths do not grow with a depth that an attacker chose.
 */
#include "linux/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "platform/box.h"

int box_scratch_name(char ret[SCRATCH_LENGTH], struct error *e)
{
        uint64_t number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return error_errno(e, errno, "cannot get random bytes");
        (void)snprintf(ret, SCRATCH_LENGTH, "/tmp/ringwall-%016llx", (unsigned long long)number);
        return 0;
}

int scratch_dir_create(const char *name, struct error *e)
{
        static const char *const subdirectories[] = { "tmp", "home" };
        if (mkdir(name, 0700) < 0)
                return error_errno(e, errno, "cannot make %s", name);
        CLEANUP_FD int fd = open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        for (size_t i = 0; i < ARRAY_SIZE(subdirectories); i++)
                if (fd < 0 || mkdirat(fd, subdirectories[i], 0700) < 0) {
                        error_errno(e, errno, "cannot make %s/%s", name, subdirectories[i]);
                        scratch_dir_remove(name);
                        return -e->code;
                }
        return 0;
}

/* Changes the mode by descriptor: a process may replace the directory by a symlink at any moment (TOCTOU). */
static bool make_accessible(int parent, const char *name)
{
        char path[32];
        CLEANUP_FD int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return fd >= 0 && chmod(path, 0700) == 0;
}

static DIR *open_directory(int parent, const char *name)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && make_accessible(parent, name))
                fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                (void)fchmod(fd, 0700); /* so that entries can be removed */
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir)
                fd_close(&fd);
        return dir;
}

struct removal {
        unsigned count; /* directories that were moved; numbers their names */
        bool progress;
};

/* Removes the files of one directory of `top`, and moves its subdirectories up into `top`. */
static void empty_directory(int top, const char *name, struct removal *r)
{
        DIR *dir = open_directory(top, name);
        for (struct dirent *d; dir && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                char moved[32];
                (void)snprintf(moved, sizeof moved, ".%u", r->count++);
                bool removed = unlinkat(dirfd(dir), d->d_name, 0) == 0;
                if (!removed && errno == EISDIR) {
                        /* A directory without write permission cannot be moved to another parent. */
                        removed = make_accessible(dirfd(dir), d->d_name) &&
                                  renameat(dirfd(dir), d->d_name, top, moved) == 0;
                }
                r->progress |= removed;
        }
        if (dir)
                (void)closedir(dir);
        r->progress |= unlinkat(top, name, AT_REMOVEDIR) == 0;
}

void scratch_dir_remove(const char *name)
{
        struct removal r = { .progress = true };
        while (r.progress && rmdir(name) < 0) {
                DIR *top = open_directory(AT_FDCWD, name);
                r.progress = false;
                for (struct dirent *d; top && (d = readdir(top));) { // cppcheck-suppress readdirCalled
                        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                                continue;
                        if (unlinkat(dirfd(top), d->d_name, 0) == 0)
                                r.progress = true;
                        else
                                empty_directory(dirfd(top), d->d_name, &r);
                }
                if (top)
                        (void)closedir(top);
        }
}
