/*
 * For small programs that each prove one assumption about the kernel. A program says what it assumes, tries it, says
 * what it saw, and ends with 0 (holds), 1 (does not hold: code that relies on it must change) or 77 (cannot be asked
 * here). They stand alone: nothing of src/ is in them, so that they can be copied to a new kernel and run.
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

/* What is assumed; a program calls it first. */
static inline void assume(const char *sentence)
{
        (void)printf("assumed: %s\n", sentence);
        (void)fflush(stdout); /* children must not print it again */
        (void)alarm(20);
}

/* Ends the program with what was seen. */
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

/* Ends the program: this machine, or this user, cannot be asked. */
static inline _Noreturn void cannot_ask(const char *step)
{
        (void)printf("skip: cannot %s: %s\n", step, strerror(errno));
        exit(77);
}

/* Root gives up being root for good, so that the question is an ordinary user's. */
static inline void become_ordinary(void)
{
        if (geteuid() != 0)
                return;
        if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                cannot_ask("become an ordinary user");
        (void)prctl(PR_SET_DUMPABLE, 1); /* the change of user took it away, and /proc/self with it */
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

/* Into a new user namespace, as its uid 0 and gid 0, and into the namespaces of flags. */
static inline void enter_namespaces(int flags)
{
        char uid_map[32], gid_map[32];
        (void)snprintf(uid_map, sizeof uid_map, "0 %u 1", geteuid());
        (void)snprintf(gid_map, sizeof gid_map, "0 %u 1", getegid());
        if (unshare(CLONE_NEWUSER | flags) < 0)
                cannot_ask("make namespaces");
        if (!write_text("/proc/self/uid_map", uid_map) || !write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/gid_map", gid_map))
                cannot_ask("map ids");
}

/* A /tmp that only this program sees and that vanishes with it. */
static inline void make_private_tmp(void)
{
        enter_namespaces(CLONE_NEWNS);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0)
                cannot_ask("mount a private /tmp");
}

static inline void make_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                cannot_ask("write a file");
        (void)close(fd);
}

/* The exit status of a child, or 128 and more when it was killed. */
static inline int wait_for(pid_t pid)
{
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
