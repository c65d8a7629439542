/*
 * Files of cgroup v2: finds our cgroup, reads and writes its files. Theory of operation: cgroup.c and probe_limits.c.
 */
#ifndef RINGWALL_LINUX_CGROUP_FILES_H
#define RINGWALL_LINUX_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the directory of this process's cgroup v2 from the texts of /proc/self/mountinfo and /proc/self/cgroup. 0 or
 * -errno; -ENOENT when no cgroup2 is mounted, or when the mount does not contain our cgroup. *ret_top is the length of
 * the mount point at the start of the path. Opens no file.
 */
int cgroup_parse_path(const char *mountinfo, const char *cgroup, char *ret_path, size_t size, size_t *ret_top);

/* The same from /proc: for another process in our mount namespace, or for ourselves. */
int cgroup_path_of_pid(pid_t pid, char *ret_path, size_t size, size_t *ret_top);
int cgroup_path_of_self(char *ret_path, size_t size, size_t *ret_top);

/* The first line of a file in a cgroup's directory. */
int cgroup_read_line(int directory, const char *name, char *ret_text, size_t size);

/* All of a small file, truncated to the size. */
int cgroup_read(int directory, const char *name, char *ret_text, size_t size);

int cgroup_write(int directory, const char *name, const char *text);

/* Is `word` one of `words`, which are separated by single spaces? */
bool cgroup_has_controller(const char *words, const char *word);

/* The number after a key in "key number\n" lines, as in memory.events; 0 if the key is missing. */
uint64_t cgroup_event_count(const char *lines, const char *key);

#endif
