/* Files of cgroup v2: where ours is, and reading and writing them. Theory of operation: cgroup.c and limits.c. */
#ifndef RINGWALL_LINUX_CGROUP_FILES_H
#define RINGWALL_LINUX_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the directory of this process's cgroup v2 from the texts of /proc/self/mountinfo and /proc/self/cgroup. 0, or
 * -ENOENT when no cgroup2 is mounted, or the one that is does not show our cgroup. *ret_top is the length of that part
 * of the path which is the mount's. Touches no file.
 */
int cgroup_find(const char *mountinfo, const char *cgroup, char *ret_path, size_t size, size_t *ret_top);

/* The same, asking /proc: for ourselves, or for another process in our mount namespace. */
int cgroup_find_of(pid_t pid, char *ret_path, size_t size, size_t *ret_top);
int cgroup_find_own(char *ret_path, size_t size, size_t *ret_top);

/* The first line of a file in a cgroup's directory. */
int cgroup_read_line(int directory, const char *name, char *ret_text, size_t size);

/* The whole of a small one. */
int cgroup_read(int directory, const char *name, char *ret_text, size_t size);

int cgroup_write(int directory, const char *name, const char *text);

/* Is word among words that are separated by single spaces? */
bool cgroup_has_word(const char *words, const char *word);

/* The number behind a key in "key number\n" lines, as in memory.events; 0 when there is none. */
uint64_t cgroup_value(const char *lines, const char *key);

#endif
