/*
 * For small programs that each test one assumption about the kernel. A program prints what it assumes, tries it, prints
 * the result, and exits with 0 (holds), 1 (does not hold: code that relies on it must change) or 77 (cannot be tested
 * here). The programs use nothing from src/, so that they can be copied to a machine with a new kernel and run there.
 */
#ifndef RINGWALL_TESTS_ASSUME_H
#define RINGWALL_TESTS_ASSUME_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Prints the assumption and sets a time limit. Every program calls it first. */
static inline void assume(const char *assumption)
{
        (void)printf("assumed: %s\n", assumption);
        (void)fflush(stdout); /* forked children must not print it again */
        (void)alarm(20);
}

/* Prints the result and exits. */
__attribute__((format(printf, 2, 3))) static inline _Noreturn void conclude(bool holds, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        (void)fputs("saw: ", stdout);
        (void)vprintf(format, args);
        va_end(args);
        (void)puts(holds ? "\nholds" : "\nDOES NOT HOLD");
        exit(holds ? 0 : 1);
}

/* Exits as skipped: the assumption cannot be tested on this machine or as this user. Prints errno. */
static inline _Noreturn void skip_cannot(const char *step)
{
        (void)printf("skip: cannot %s: %s\n", step, strerror(errno));
        exit(77);
}

/* If run as root, irrevocably becomes an ordinary user, because the assumption is about one. */
static inline void become_ordinary_user(void)
{
        if (geteuid() != 0)
                return;
        if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                skip_cannot("become an ordinary user");
        (void)prctl(PR_SET_DUMPABLE, 1); /* setresuid() cleared it, so /proc/self belongs to root */
}

static inline bool write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
        int error = errno;
        if (fd >= 0)
                (void)close(fd);
        errno = error;
        return done;
}

/* Enters a new user namespace, as its uid 0 and gid 0, and new namespaces of the kinds in `flags`. */
static inline void enter_namespaces(int flags)
{
        char uid_map[32], gid_map[32];
        (void)snprintf(uid_map, sizeof uid_map, "0 %u 1", geteuid());
        (void)snprintf(gid_map, sizeof gid_map, "0 %u 1", getegid());
        if (unshare(CLONE_NEWUSER | flags) < 0)
                skip_cannot("make namespaces");
        if (!write_text("/proc/self/uid_map", uid_map) || !write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/gid_map", gid_map))
                skip_cannot("map ids");
}

/* Mounts a tmpfs on /tmp, in a mount namespace of this program's own. */
static inline void make_private_tmp(void)
{
        enter_namespaces(CLONE_NEWNS);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0)
                skip_cannot("mount a private /tmp");
}

static inline void make_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                skip_cannot("write a file");
        (void)close(fd);
}

/* Waits for a child. Returns its exit status, or 128 plus the signal that killed it. */
static inline int wait_for(pid_t pid)
{
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
