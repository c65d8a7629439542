/*
 * The guard's caller: its memory, directories, descriptors and umask; see guard.h.
 *
 * Looking a process up in /proc costs as much as serving its call, so recent callers are cached, each with an open
 * descriptor of its directory in /proc. Using that descriptor fails once the process has exited, even if its tid is
 * reused. A umask is cached until any process of the box changes its umask.
 */
#include "linux/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/box_setup.h"
#include "linux/confine.h"
#include "linux/guard_keeper.h"
#include "linux/landlock_table.h"

enum { PAGE = 4096, STATUS_BYTES = 512 };

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/*
 * CAP_SYS_PTRACE, the guard's only capability, is for inspecting callers. It is effective only during that, because
 * files must be opened for a caller without it.
 */
static void set_ptrace_capability(const struct guard *g, bool on)
{
        struct error e;
        if (g->has_ptrace && confine_set_ptrace_effective(on, &e) < 0)
                _exit(1);
}

int guard_yama_scope(void)
{
        char scope = '0';
        CLEANUP_FD int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, &scope, 1) != 1)
                scope = '1';
        return scope - '0';
}

void guard_probe_host(struct guard *g)
{
        g->yama_restricts = guard_yama_scope() != YAMA_NONE;
        g->asks_keeper = g->yama_restricts && !g->has_ptrace;
        g->scoped_sockets = landlock_has(FEATURE_LANDLOCK_SCOPE);
        g->own_network = box_namespaces(g->plan, landlock_abi()) & NAMESPACE_NET;
        set_ptrace_capability(g, false);
}

static void drop_caller(struct guard_caller *k)
{
        fd_close(&k->proc);
        k->tid = 0;
}

static int open_caller(const struct guard *g, struct guard_caller *k, pid_t tid)
{
        char name[16];
        drop_caller(k);
        (void)snprintf(name, sizeof name, "%d", (int)tid);
        k->proc = openat(g->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (k->proc < 0)
                return -errno;
        k->tid = tid;
        k->umask = -1;
        k->confirmed = true;
        return 0;
}

int guard_find_caller(struct guard *g)
{
        pid_t tid = (pid_t)g->notification->pid;
        struct guard_caller *k = &g->callers[(unsigned)tid % GUARD_CALLERS_MAX];
        g->caller = k;
        k->confirmed = false;
        return k->tid == tid ? 0 : open_caller(g, k, tid);
}

bool guard_caller_is_waiting(const struct guard *g)
{
        uint64_t id = g->notification->id;
        int r;
        do
                r = ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
        while (r < 0 && errno == EINTR); /* open_blocking() in guard_open.c has a timer running */
        return r == 0;
}

unsigned long guard_split_pages(uint64_t address, size_t size, struct iovec ret[2])
{
        size_t first = PAGE - (size_t)(address % PAGE);
        if (first > size)
                first = size;
        ret[0] = (struct iovec){ .iov_base = (void *)(uintptr_t)address, .iov_len = first };
        ret[1] = (struct iovec){ .iov_base = (void *)(uintptr_t)(address + first), .iov_len = size - first };
        return size > first ? 2 : 1;
}

static ssize_t read_some(struct guard *g, uint64_t address, void *ret, size_t size)
{
        if (g->asks_keeper)
                return guard_ask_memory(g, (pid_t)g->notification->pid, address, ret, size);
        struct iovec here = { .iov_base = ret, .iov_len = size };
        struct iovec there[2];
        unsigned long count = guard_split_pages(address, size, there);
        ssize_t n = g->yama_restricts ? -1 : process_vm_readv((pid_t)g->notification->pid, &here, 1, there, count, 0);
        if (n < 0 && (g->yama_restricts || errno == EPERM)) {
                set_ptrace_capability(g, true);
                n = process_vm_readv((pid_t)g->notification->pid, &here, 1, there, count, 0);
                int code = errno;
                set_ptrace_capability(g, false);
                errno = code;
        }
        return n < 0 ? -errno : n;
}

int guard_read_string(struct guard *g, uint64_t address, char *ret, size_t size, int too_long)
{
        enum { USUAL_BYTES = 256 };
        for (size_t used = 0; used < size;) {
                size_t want = used ? PAGE : USUAL_BYTES;
                ssize_t n = read_some(g, address + used, ret + used, want < size - used ? want : size - used);
                if (n <= 0)
                        return n == -ESRCH ? -ESRCH : -EFAULT;
                const char *end = memchr(ret + used, '\0', (size_t)n);
                if (end)
                        return (int)(end - ret);
                used += (size_t)n;
        }
        return -too_long;
}

int guard_read_memory(struct guard *g, uint64_t address, void *ret, size_t size)
{
        for (size_t used = 0; used < size;) {
                size_t want = size - used < PAGE ? size - used : PAGE;
                ssize_t n = read_some(g, address + used, (char *)ret + used, want);
                if (n <= 0)
                        return -EFAULT;
                used += (size_t)n;
        }
        return 0;
}

static int open_proc(const struct guard *g, const char *name, int flags)
{
        struct guard_caller *k = g->caller;
        int fd = openat(k->proc, name, flags | O_CLOEXEC);
        bool gone = fd < 0 && !k->confirmed && (errno == ENOENT || errno == ESRCH);
        /* The cached process has exited, and its tid was reused, perhaps by the caller. */
        if (gone && open_caller(g, k, (pid_t)g->notification->pid) == 0) {
                if (!guard_caller_is_waiting(g))
                        return -ESRCH;
                fd = openat(k->proc, name, flags | O_CLOEXEC);
        }
        int code = errno;
        k->confirmed |= fd >= 0;
        if (fd < 0 && code == EACCES) {
                set_ptrace_capability(g, true);
                fd = openat(g->caller->proc, name, flags | O_CLOEXEC);
                code = errno;
                set_ptrace_capability(g, false);
        }
        return fd < 0 ? -code : fd;
}

int guard_open_base(struct guard *g, int directory)
{
        if (directory == AT_FDCWD)
                return open_proc(g, "cwd", O_PATH | O_DIRECTORY);
        return guard_reopen_caller_fd(g, directory);
}

int guard_base_path(struct guard *g, int directory, char ret[PATH_MAX])
{
        char name[GUARD_LINK_BYTES] = "cwd";
        struct stat held, found;
        if (directory != AT_FDCWD)
                (void)snprintf(name, sizeof name, "fd/%d", directory);
        ssize_t n = readlinkat(g->caller->proc, name, ret, PATH_MAX - 1);
        if (n <= 0 || n == PATH_MAX - 1 || *ret != '/')
                return -EAGAIN;
        ret[n] = '\0';
        if (text_ends(ret, " (deleted)")) /* if it was removed, another directory may have this name */
                return -EAGAIN;
        if (strcmp(ret, g->last_base) != 0) {
                bool same = fstatat(g->caller->proc, name, &held, 0) == 0 && stat(ret, &found) == 0 &&
                            stat_same(&held, &found) && S_ISDIR(held.st_mode);
                if (!same)
                        return -EAGAIN;
                memcpy(g->last_base, ret, (size_t)n + 1);
        }
        g->caller->confirmed = true;
        return 0;
}

int guard_open_process(pid_t tid, pid_t tgid)
{
        int process = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
        return process < 0 && tgid ? (int)syscall(SYS_pidfd_open, tgid, 0) : process;
}

int guard_copy_caller_fd(struct guard *g, int fd)
{
        pid_t tgid = 0;
        if (g->asks_keeper) {
                int r = guard_caller_tgid(g, &tgid);
                return r < 0 ? r : guard_ask_fd(g, g->caller->tid, tgid, fd);
        }
        CLEANUP_FD int process = guard_open_process(g->caller->tid, 0);
        if (process < 0 && guard_caller_tgid(g, &tgid) == 0)
                process = guard_open_process(g->caller->tid, tgid);
        if (process < 0)
                return -errno;
        set_ptrace_capability(g, true);
        int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        int code = errno;
        set_ptrace_capability(g, false);
        return copy < 0 ? -code : copy;
}

int guard_reopen_caller_fd(struct guard *g, int fd)
{
        char name[GUARD_LINK_BYTES];
        if (fd < 0)
                return -EBADF;
        (void)snprintf(name, sizeof name, "fd/%d", fd);
        int path = open_proc(g, name, O_PATH);
        if (path != -EACCES)
                return path == -ENOENT ? -EBADF : path;
        /* The caller is not dumpable (PR_SET_DUMPABLE), so root owns its directory in /proc. */
        CLEANUP_FD int copy = guard_copy_caller_fd(g, fd);
        if (copy < 0)
                return copy;
        path = open(guard_fd_path(copy, name), O_PATH | O_CLOEXEC);
        return path < 0 ? -errno : path;
}

/* Reads the beginning of the caller's status, which has lines "Name:\tvalue". */
static int read_status(struct guard *g, char text[STATUS_BYTES])
{
        CLEANUP_FD int fd = open_proc(g, "status", O_RDONLY);
        ssize_t n = fd < 0 ? fd : read(fd, text, STATUS_BYTES - 1);
        if (n <= 0)
                return n < 0 && fd >= 0 ? -errno : -ESRCH;
        text[n] = '\0';
        return 0;
}

static long status_number(const char *text, const char *line, int base)
{
        const char *found = strstr(text, line);
        return found ? strtol(found + strlen(line), NULL, base) : -1;
}

/*
 * -ERESTARTSYS makes the kernel restart the call or fail it with EINTR, as the signal's action says. Only the thread
 * that handles the signal may get it; a signal to a process with several threads may go to any of them.
 */
int guard_caller_interrupted(struct guard *g)
{
        enum { RESTARTSYS = 512 };
        char text[4 * STATUS_BYTES * 2];
        CLEANUP_FD int fd = open_proc(g, "status", O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        static const char *const lines[] = { "\nSigPnd:\t", "\nShdPnd:\t", "\nSigBlk:\t", "\nSigIgn:\t" };
        uint64_t masks[ARRAY_SIZE(lines)];
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                const char *found = strstr(text, lines[i]);
                masks[i] = found ? strtoull(found + strlen(lines[i]), NULL, 16) : 0;
        }
        uint64_t handled = ~(masks[2] | masks[3]);
        bool single_thread = status_number(text, "\nThreads:\t", 10) == 1;
        if ((masks[0] & handled) || (single_thread && (masks[1] & handled)))
                return -RESTARTSYS;
        return masks[1] & handled ? -EINTR : 0;
}

int guard_caller_tgid(struct guard *g, pid_t *ret_tgid)
{
        char text[STATUS_BYTES];
        int r = read_status(g, text);
        if (r < 0)
                return r;
        *ret_tgid = (pid_t)status_number(text, "\nTgid:\t", 10);
        return *ret_tgid > 0 ? 0 : -ESRCH;
}

void guard_set_umask(struct guard *g, int mask)
{
        if (g->umask != mask)
                (void)umask((mode_t)mask);
        g->umask = mask;
}

int guard_apply_umask(struct guard *g)
{
        enum { ALL = 0777 };
        struct guard_caller *k = g->caller;
        struct stat st;
        bool settled;
        unsigned generation = guard_umask_generation(g, &settled);
        if (!k->confirmed && fstatat(k->proc, "fd", &st, 0) < 0 && open_caller(g, k, (pid_t)g->notification->pid) < 0)
                return -ESRCH;
        int mask = k->generation == generation ? k->umask : -1;
        if (mask < 0) {
                char text[STATUS_BYTES];
                int r = read_status(g, text);
                if (r < 0)
                        return r;
                mask = (int)status_number(text, "\nUmask:\t", 8);
                if (mask < 0 || mask > ALL)
                        return -EIO;
                k->umask = settled ? mask : -1;
                k->generation = generation;
        }
        guard_set_umask(g, mask);
        return 0;
}

bool guard_may_see_proc(struct guard *g, const char *path)
{
        static const char *const public_files[] = {
                "",       "stat",      "status",        "statm",      "comm",   "cmdline",
                "cgroup", "oom_score", "oom_score_adj", "loginuid",   "limits", "sessionid",
                "mounts", "mountinfo", "net",           "mountstats", "sched",  "schedstat",
        };
        char *rest = NULL;
        if (strcmp(path, "/proc") == 0)
                return true;
        pid_t tgid = 0, pid = (pid_t)strtol(path + strlen("/proc/"), &rest, 10);
        if (pid <= 0 || (*rest && *rest != '/'))
                return true; /* not about a process */
        if (pid == g->caller->tid || (guard_caller_tgid(g, &tgid) == 0 && pid == tgid))
                return true;
        rest += *rest == '/';
        if (strncmp(rest, "task", strlen("task")) == 0 && (rest[4] == '/' || !rest[4])) {
                rest += strlen("task");
                rest += *rest == '/';
                rest += strspn(rest, "0123456789");
                rest += *rest == '/';
        }
        for (size_t i = 0; i < ARRAY_SIZE(public_files); i++) {
                size_t n = strlen(public_files[i]);
                if (strncmp(rest, public_files[i], n) == 0 && (!rest[n] || (n && rest[n] == '/')))
                        return true;
        }
        return false;
}

dev_t guard_caller_terminal(struct guard *g)
{
        char text[STATUS_BYTES];
        CLEANUP_FD int fd = open_proc(g, "stat", O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        const char *name_end = strrchr(text, ')'); /* the command's name may contain ')' too */
        int number = 0;
        if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %d", &number) != 1)
                return 0;
        unsigned device = (unsigned)number; /* in the kernel's own encoding */
        return makedev((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
}
