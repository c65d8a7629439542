/*
 * Families; see family.h. They are stopped before they are killed, until a look at all processes finds nobody new: one that
 * starts others all the time cannot outrun that, because what is stopped starts nothing.
 */
#include "tools/family.h"

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

enum { MEMBERS_MOST = 4096, ROUNDS_MOST = 32 };

struct family {
        pid_t first;
        pid_t members[MEMBERS_MOST];
        size_t count;
};

static bool is_member(const struct family *f, pid_t pid)
{
        for (size_t i = 0; i < f->count; i++)
                if (f->members[i] == pid)
                        return true;
        return false;
}

/* Its parent and its session, behind its name, which can have anything in it. */
static bool read_stat(int proc, const char *pid, pid_t *ret_parent, pid_t *ret_session)
{
        char path[32], text[512];
        (void)snprintf(path, sizeof path, "%.20s/stat", pid);
        CLEANUP_FD int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
                return false;
        text[n] = '\0';
        const char *behind = strrchr(text, ')');
        return behind && sscanf(behind, ") %*c %d %*d %d", ret_parent, ret_session) == 2; // NOLINT(cert-err34-c): the kernel wrote it
}

/* True when somebody was found who was not known. */
static bool look(struct family *f)
{
        DIR *dir = opendir("/proc");
        bool found = false;
        for (const struct dirent *d; dir && f->count < MEMBERS_MOST && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                pid_t pid = isdigit((unsigned char)*d->d_name) ? (pid_t)strtol(d->d_name, NULL, 10) : 0, parent, session;
                if (pid <= 1 || is_member(f, pid) || !read_stat(dirfd(dir), d->d_name, &parent, &session))
                        continue;
                if (session != f->first && !is_member(f, parent))
                        continue;
                f->members[f->count++] = pid;
                (void)kill(pid, SIGSTOP);
                found = true;
        }
        if (dir)
                (void)closedir(dir);
        return found;
}

void family_kill(pid_t first)
{
        struct family *f = first > 1 ? malloc(sizeof *f) : NULL;
        if (f) {
                *f = (struct family){ .first = first, .members = { first }, .count = 1 };
                (void)kill(first, SIGSTOP);
                for (int i = 0; i < ROUNDS_MOST && look(f); i++)
                        ;
                for (size_t i = 0; i < f->count; i++) /* the first one first: it has nothing to say of the others' end */
                        (void)kill(f->members[i], SIGKILL);
        }
        free(f);
        if (first > 1)
                (void)kill(-first, SIGKILL);
}
