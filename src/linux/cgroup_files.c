/*
 * Files of cgroup v2; see cgroup_files.h. /proc is trusted. In a container the mount may contain only a part of the
 * tree.
 */
#include "linux/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/mountinfo.h"

enum { PROC_CAP = 1024 * 1024 };

/* The part of `path` below `root`, the root of the mount: in a container it may not be /. NULL: not below. */
static const char *path_below(const char *path, const char *root)
{
        if (strcmp(root, "/") == 0)
                return path;
        size_t length = strlen(root);
        if (!text_has_prefix(path, root) || (path[length] && path[length] != '/'))
                return NULL;
        return path + length;
}

int cgroup_parse_path(const char *mountinfo, const char *cgroup, char *ret_path, size_t size, size_t *ret_top)
{
        const char *own = text_has_prefix(cgroup, "0::") ? cgroup : strstr(cgroup, "\n0::");
        if (!own)
                return -ENOENT;
        own += *own == '\n' ? 4 : 3;
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s", (int)strcspn(own, "\n"), own);
        if (n < 0 || (size_t)n >= sizeof path)
                return -ENAMETOOLONG;
        for (struct mountinfo_entry m; mountinfo_next(&mountinfo, &m);) {
                const char *rest = strcmp(m.type, "cgroup2") == 0 ? path_below(path, m.root) : NULL;
                if (!rest || strstr(path, "/..")) /* "/.." is a cgroup outside our cgroup namespace */
                        continue;
                n = snprintf(ret_path, size, "%s%s", m.point, strcmp(rest, "/") == 0 ? "" : rest);
                *ret_top = strlen(m.point);
                return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
        }
        return -ENOENT;
}

int cgroup_path_of_pid(pid_t pid, char *ret_path, size_t size, size_t *ret_top)
{
        CLEANUP_FREE char *mountinfo = NULL;
        CLEANUP_FREE char *cgroup = NULL;
        char file[32];
        size_t length;
        (void)snprintf(file, sizeof file, "/proc/%d/cgroup", (int)pid);
        int r = mountinfo_read(&mountinfo);
        if (r == 0)
                r = fd_read_file(file, PROC_CAP, &cgroup, &length, NULL);
        return r != 0 ? r : cgroup_parse_path(mountinfo, cgroup, ret_path, size, ret_top);
}

int cgroup_path_of_self(char *ret_path, size_t size, size_t *ret_top)
{
        return cgroup_path_of_pid(getpid(), ret_path, size, ret_top);
}

int cgroup_read(int directory, const char *name, char *ret_text, size_t size)
{
        CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, ret_text, size - 1);
        if (n < 0)
                return -errno;
        ret_text[n] = '\0';
        return 0;
}

int cgroup_read_line(int directory, const char *name, char *ret_text, size_t size)
{
        int r = cgroup_read(directory, name, ret_text, size);
        if (r == 0)
                ret_text[strcspn(ret_text, "\n")] = '\0';
        return r;
}

int cgroup_write(int directory, const char *name, const char *text)
{
        CLEANUP_FD int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

bool cgroup_has_controller(const char *words, const char *word)
{
        size_t length = strlen(word);
        for (const char *at = words; (at = strstr(at, word)); at += length)
                if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
                        return true;
        return false;
}

uint64_t cgroup_event_count(const char *lines, const char *key)
{
        size_t length = strlen(key);
        for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                unsigned long long value = 0;
                const char *digits = line + length + 1;
                if (text_has_prefix(line, key) && line[length] == ' ' &&
                    text_parse_unsigned(digits, strcspn(digits, "\n"), &value))
                        return value;
        }
        return 0;
}
