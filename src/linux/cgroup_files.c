/*
 * Files of cgroup v2; see cgroup_files.h. /proc is trusted. A container may see only a part of the tree, and its mount
 * then begins there.
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

enum { PROC_CAP = 4 * 1024 * 1024 }; /* a machine with very many mounts */

/* Undoes mountinfo's \040 in place. */
static void unescape(char *text)
{
        char *to = text;
        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* One line of mountinfo: id parent device root point options… - type …. True for a cgroup2. */
static bool parse_mount(const char *line, size_t length, char *root, char *point, size_t size)
{
        char copy[2 * PATH_MAX];
        if (length >= sizeof copy)
                return false;
        memcpy(copy, line, length);
        copy[length] = '\0';
        const char *type = strstr(copy, " - ");
        if (!type || !text_starts(type, " - cgroup2 "))
                return false;
        char *rest = copy, *fields[5];
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                fields[i] = strsep(&rest, " ");
                if (!fields[i])
                        return false;
        }
        unescape(fields[3]);
        unescape(fields[4]);
        int a = snprintf(root, size, "%s", fields[3]);
        int b = snprintf(point, size, "%s", fields[4]);
        return a >= 0 && b >= 0 && (size_t)a < size && (size_t)b < size;
}

/* What is left of path below root: a container may see only a part of the tree. NULL when it is elsewhere. */
static const char *below(const char *path, const char *root)
{
        if (strcmp(root, "/") == 0)
                return path;
        size_t length = strlen(root);
        if (!text_starts(path, root) || (path[length] && path[length] != '/'))
                return NULL;
        return path + length;
}

int cgroup_find(const char *mountinfo, const char *cgroup, char *ret_path, size_t size, size_t *ret_top)
{
        const char *own = text_starts(cgroup, "0::") ? cgroup : strstr(cgroup, "\n0::");
        if (!own)
                return -ENOENT;
        own += *own == '\n' ? 4 : 3;
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s", (int)strcspn(own, "\n"), own);
        if (n < 0 || (size_t)n >= sizeof path)
                return -ENAMETOOLONG;
        for (const char *line = mountinfo; *line;) {
                char root[PATH_MAX], point[PATH_MAX];
                size_t length = strcspn(line, "\n");
                if (parse_mount(line, length, root, point, sizeof root)) {
                        const char *rest = below(path, root);
                        if (rest && !strstr(path, "/..")) { /* "/.." is a cgroup outside our cgroup namespace */
                                n = snprintf(ret_path, size, "%s%s", point, strcmp(rest, "/") == 0 ? "" : rest);
                                *ret_top = strlen(point);
                                return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
                        }
                }
                line += length + (line[length] == '\n');
        }
        return -ENOENT;
}

int cgroup_find_of(pid_t pid, char *ret_path, size_t size, size_t *ret_top)
{
        CLEANUP_FREE char *mountinfo = NULL;
        CLEANUP_FREE char *cgroup = NULL;
        char file[32];
        size_t length;
        (void)snprintf(file, sizeof file, "/proc/%d/cgroup", (int)pid);
        int r = fd_read_file("/proc/self/mountinfo", PROC_CAP, &mountinfo, &length, NULL);
        if (r == 0)
                r = fd_read_file(file, PROC_CAP, &cgroup, &length, NULL);
        return r != 0 ? r : cgroup_find(mountinfo, cgroup, ret_path, size, ret_top);
}

int cgroup_find_own(char *ret_path, size_t size, size_t *ret_top)
{
        return cgroup_find_of(getpid(), ret_path, size, ret_top);
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

bool cgroup_has_word(const char *words, const char *word)
{
        size_t length = strlen(word);
        for (const char *at = words; (at = strstr(at, word)); at += length)
                if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
                        return true;
        return false;
}

uint64_t cgroup_value(const char *lines, const char *key)
{
        size_t length = strlen(key);
        for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                unsigned long long value = 0;
                const char *digits = line + length + 1;
                if (text_starts(line, key) && line[length] == ' ' &&
                    text_to_number(digits, strcspn(digits, "\n"), &value))
                        return value;
        }
        return 0;
}
