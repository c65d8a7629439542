/*
 * Kills process trees; see process_tree.h. All members are stopped before any is killed, until a scan of /proc finds no
 * new one. A process that keeps forking cannot outrun the scan, because a stopped process cannot fork.
 */
#include "tools/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

enum { MEMBERS_MAX = 4096, ROUNDS_MAX = 32, NAMES_MAX = 8 };

struct process_tree {
        pid_t first;
        pid_t members[MEMBERS_MAX];
        size_t count;
        struct text *names; /* NULL: not wanted */
};

struct process_stat {
        char name[64];
        pid_t parent, session;
};

static bool is_member(const struct process_tree *f, pid_t pid)
{
        for (size_t i = 0; i < f->count; i++)
                if (f->members[i] == pid)
                        return true;
        return false;
}

/* "PID (NAME) STATE PARENT GROUP SESSION …". The name can contain any characters, even a ")". */
static bool read_stat(int proc, const char *pid, struct process_stat *ret)
{
        char path[32], text[512];
        (void)snprintf(path, sizeof path, "%.20s/stat", pid);
        CLEANUP_FD int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
                return false;
        text[n] = '\0';
        char *name = strchr(text, '('), *after_name = strrchr(text, ')');
        if (!name || !after_name ||
            sscanf(after_name, ") %*c %d %*d %d", &ret->parent, &ret->session) != 2) // NOLINT(cert-err34-c)
                return false;
        *after_name = '\0';
        (void)snprintf(ret->name, sizeof ret->name, "%s", name + 1);
        return true;
}

static void add_name(struct process_tree *f, const char *name)
{
        if (f->names && f->count <= NAMES_MAX + 2) {
                text_add(f->names, f->count == 2 ? "" : ", ");
                if (f->count == NAMES_MAX + 2)
                        text_add(f->names, "…");
                else
                        text_add_escaped(f->names, name, strlen(name));
        }
}

/* Stops new members and adds them. Returns true if there was one. */
static bool stop_new_members(struct process_tree *f)
{
        DIR *dir = opendir("/proc");
        bool found = false;
        for (const struct dirent *d;
             dir && f->count < MEMBERS_MAX && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                struct process_stat stat;
                pid_t pid = isdigit((unsigned char)*d->d_name) ? (pid_t)strtol(d->d_name, NULL, 10) : 0;
                if (pid <= 1 || is_member(f, pid) || !read_stat(dirfd(dir), d->d_name, &stat))
                        continue;
                if (stat.session != f->first && !is_member(f, stat.parent))
                        continue;
                f->members[f->count++] = pid;
                (void)kill(pid, SIGSTOP);
                add_name(f, stat.name);
                found = true;
        }
        if (dir)
                (void)closedir(dir);
        return found;
}

void process_tree_kill(pid_t first, struct text *ret_names)
{
        struct process_tree *f = first > 1 ? malloc(sizeof *f) : NULL;
        if (f) {
                *f = (struct process_tree){ .first = first, .members = { first }, .count = 1, .names = ret_names };
                (void)kill(first, SIGSTOP);
                for (int i = 0; i < ROUNDS_MAX && stop_new_members(f); i++)
                        ;
                /* the first process first, so that it cannot react to the death of the others */
                for (size_t i = 0; i < f->count; i++)
                        (void)kill(f->members[i], SIGKILL);
        }
        free(f);
        if (first > 1)
                (void)kill(-first, SIGKILL);
}
