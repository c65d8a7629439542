/*
 * keep_renames: loaded into git with LD_PRELOAD, records each rename() to the name of a git configuration, as
 * ringwall's guard sees it. $KEEP_RENAMES/N.old and N.new are the file that is replaced and the one that replaces it,
 * N.name is the absolute path. N is counted over all processes, in the order of the renames.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"

__attribute__((visibility("default"))) int rename(const char *from, const char *to);

static void write_file(const char *path, const char *text, size_t length)
{
        FILE *file = fopen(path, "we");
        if (!file || fwrite(text, 1, length, file) != length || fclose(file) != 0)
                abort();
}

/* Reserves the first number that is not in use. Sets `path` to its N.name. */
static int reserve_number(const char *folder, char *path)
{
        for (int i = 0; i < 10000; i++) {
                (void)snprintf(path, PATH_MAX, "%s/%04d.name", folder, i);
                int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (fd >= 0) {
                        (void)close(fd);
                        return i;
                }
        }
        abort();
}

static void record_rename(const char *folder, const char *from, const char *to)
{
        CLEANUP_FREE char *old = NULL, *new = NULL, *directory = NULL;
        char path[PATH_MAX], parent[PATH_MAX];
        size_t old_length = 0, new_length = 0;
        const char *slash = strrchr(to, '/');
        (void)snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - to) : 1, slash ? to : ".");
        directory = realpath(parent, NULL);
        if (!directory || fd_read_file(from, 1 << 24, &new, &new_length, NULL) < 0)
                abort();
        int number = reserve_number(folder, path);
        (void)snprintf(parent, sizeof parent, "%s/%s", directory, slash ? slash + 1 : to);
        write_file(path, parent, strlen(parent));
        (void)snprintf(path, sizeof path, "%s/%04d.new", folder, number);
        write_file(path, new, new_length);
        (void)snprintf(path, sizeof path, "%s/%04d.old", folder, number);
        if (fd_read_file(to, 1 << 24, &old, &old_length, NULL) >= 0)
                write_file(path, old, old_length);
}

int rename(const char *from, const char *to)
{
        static const char *const names[] = { "config", "config.worktree", ".gitmodules" };
        const char *folder = getenv("KEEP_RENAMES"), *slash = strrchr(to, '/');
        for (size_t i = 0; folder && i < ARRAY_SIZE(names); i++)
                if (strcmp(slash ? slash + 1 : to, names[i]) == 0)
                        record_rename(folder, from, to);
        int (*next)(const char *, const char *) = NULL;
        *(void **)&next = dlsym(RTLD_NEXT, "rename");
        return next(from, to);
}
