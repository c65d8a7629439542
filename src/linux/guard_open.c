/*
 * Opens files for the caller; see guard.h.
 *
 * An existing file is opened through the guard's O_PATH descriptor, so that it is the one that was checked. A new file
 * is created with O_EXCL; if another process created it first, the guard retries. Opening a FIFO may block until its
 * other end is opened, so a forked process does that.
 */
#include "linux/guard_git.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"

enum { TRIES_MAX = 16, ALL_MODES = 07777, TTY_MAJOR = 5, TTY_MINOR = 0, PTS_MAJOR = 136, PTS_MAJOR_LAST = 143 };

static int answer_with_fd(int fd, int flags, mode_t mode, struct guard_answer *answer)
{
        if (fd < 0)
                return -errno;
        answer->kind = GUARD_FD;
        answer->mode = mode;
        answer->writable = (flags & O_ACCMODE) != O_RDONLY;
        answer->fd = fd;
        answer->close_on_exec = flags & O_CLOEXEC;
        return 0;
}

/* Opens the caller's controlling terminal, for /dev/tty. */
static int open_terminal(struct guard *g, int flags, struct guard_answer *answer)
{
        char path[GUARD_LINK_BYTES];
        struct stat st;
        dev_t device = guard_caller_terminal(g);
        if (major(device) < PTS_MAJOR || major(device) > PTS_MAJOR_LAST)
                return -ENXIO;
        (void)snprintf(path, sizeof path, "/dev/pts/%u", minor(device) + 256 * (major(device) - PTS_MAJOR));
        CLEANUP_FD int fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return st.st_rdev == device ? answer_with_fd(TAKE_FD(fd), flags, st.st_mode, answer) : -ENXIO;
}

/* The handler does nothing, but the signal interrupts open(). */
static void handle_alarm(int number)
{
        (void)number;
}

/* In a forked process: opens a FIFO, and gives up when the caller exits or has to handle a signal. */
static int open_blocking(struct guard *g, const char *path, int flags)
{
        static const struct itimerval every_20_ms = { { 0, 20000 }, { 0, 20000 } }, off;
        struct sigaction action = { .sa_handler = handle_alarm };
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)sigaction(SIGALRM, &action, NULL);
        (void)setitimer(ITIMER_REAL, &every_20_ms, NULL);
        int fd, interrupted = 0;
        do {
                fd = open(path, flags);
        } while (fd < 0 && errno == EINTR && !(interrupted = guard_caller_interrupted(g)) &&
                 guard_caller_is_waiting(g));
        int code = fd < 0 && interrupted ? -interrupted : errno;
        (void)setitimer(ITIMER_REAL, &off, NULL); /* it must not interrupt the answer */
        errno = code;
        return fd;
}

/* For GUARD_GIT_KEEP_EMPTY: the file exists now and is empty, and what the caller writes is lost. */
static int open_null_instead(int fd, int flags)
{
        fd_close(&fd);
        return open("/dev/null", (flags & O_ACCMODE) | O_CLOEXEC);
}

static int open_object(struct guard *g, const struct guard_name *n, int flags, mode_t mode, struct guard_answer *answer)
{
        char path[GUARD_LINK_BYTES];
        struct stat st;
        int open_flags = (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY;
        if ((flags & O_CREAT) && (flags & O_EXCL))
                return -EEXIST;
        if (S_ISLNK(n->mode))
                return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
        if (S_ISDIR(n->mode) ? flags & O_CREAT : n->slash)
                return S_ISDIR(n->mode) ? -EISDIR : -ENOTDIR;
        bool tmpfile = (flags & O_TMPFILE) == O_TMPFILE;
        bool write = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
        int r = guard_judge_name(g, n, tmpfile || write);
        if (r == 0 && write)
                r = guard_git_judge(g, n, GUARD_GIT_WRITE, NULL);
        if (r == GUARD_GIT_KEEP_EMPTY && !(flags & O_TRUNC))
                return -EACCES;
        if (r < 0)
                return r;
        bool keep_empty = r == GUARD_GIT_KEEP_EMPTY;
        if (S_ISCHR(n->mode) && fstat(n->object, &st) == 0 && st.st_rdev == makedev(TTY_MAJOR, TTY_MINOR))
                return open_terminal(g, flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW), answer);
        bool proc = strncmp(n->path, "/proc/", strlen("/proc/")) == 0 || strcmp(n->path, "/proc") == 0;
        if (proc ? !guard_may_see_proc(g, n->path) : guard_is_on_proc(n->object)) /* a procfs elsewhere is denied */
                return -EACCES;
        (void)guard_fd_path(n->object, path);
        if (tmpfile) {
                r = guard_apply_umask(g);
                return r < 0 ? r : answer_with_fd(open(path, open_flags | (flags & O_EXCL), mode), flags,
                                                  S_IFREG | mode, answer);
        }
        if (S_ISFIFO(n->mode) && !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != O_RDWR) {
                guard_unlock(g);
                if (!guard_fork_delegate(g, answer))
                        return answer->kind == GUARD_DELEGATED ? 0 : -EAGAIN;
                return answer_with_fd(open_blocking(g, path, open_flags), flags, n->mode, answer);
        }
        int fd = open(path, open_flags);
        if (fd >= 0 && keep_empty)
                fd = open_null_instead(fd, flags);
        return answer_with_fd(fd, flags, n->mode, answer);
}

/* -EEXIST: another process created the file first. */
static int create_file(struct guard *g, struct guard_name *n, int flags, mode_t mode, struct guard_answer *answer)
{
        int r = guard_judge_name(g, n, true);
        if (r == 0)
                r = guard_git_judge(g, n, GUARD_GIT_CREATE_FILE, NULL);
        bool keep_empty = r == GUARD_GIT_KEEP_EMPTY;
        if (r >= 0)
                r = guard_apply_umask(g);
        if (r < 0)
                return r;
        int fd = openat(n->parent, n->name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
        if (fd >= 0 && keep_empty)
                fd = open_null_instead(fd, flags);
        r = answer_with_fd(fd, flags, S_IFREG | (mode & 0777), answer);
        if (r == 0) {
                answer->created = true;
                answer->created_in = TAKE_FD(n->parent);
                memcpy(answer->created_name, n->name, strlen(n->name) + 1);
        }
        return r;
}

/*
 * The fast way: most created files have a plain path and do not exist yet, and are created by that path. Returns false
 * in all other cases, errors included, and has then created nothing.
 */
static bool create_plain(struct guard *g, int directory, uint64_t address, int flags, mode_t mode,
                         struct guard_answer *answer)
{
        struct guard_name n;
        n.parent = n.object = -1;
        n.mode = 0;
        n.slash = false;
        n.name[0] = '\0';
        if (guard_find_plain(g, directory, address, n.path) < 0 || guard_judge(g, n.path, true) < 0 ||
            !guard_is_granted(g, n.path, true) || guard_git_judge(g, &n, GUARD_GIT_CREATE_FILE, NULL) != 0 ||
            guard_apply_umask(g) < 0)
                return false;
        int fd = fd_open_no_symlinks(AT_FDCWD, n.path, flags | O_EXCL | O_NOCTTY, mode & ALL_MODES);
        if (fd < 0)
                return false;
        (void)answer_with_fd(fd, flags, S_IFREG | (mode & 0777), answer);
        answer->created = true;
        answer->created_in = AT_FDCWD;
        memcpy(answer->created_name, n.path, strlen(n.path) + 1);
        return true;
}

static long open_at(struct guard *g, int directory, uint64_t address, int flags, mode_t mode,
                    struct guard_answer *answer)
{
        bool create = flags & O_CREAT;
        if (create && (flags & O_DIRECTORY))
                return -EINVAL;
        if (create || (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
                guard_lock(g, false);
        if (create && create_plain(g, directory, address, flags, mode, answer))
                return 0;
        g->denied_by = NULL;
        bool follow = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
        for (unsigned attempt = 0; attempt < TRIES_MAX; attempt++) {
                CLEANUP_GUARD_NAME struct guard_name n;
                if (attempt == 0 && !(create && (flags & O_EXCL))) {
                        int found = guard_find_object(g, directory, address, &n);
                        if (found == 0)
                                return open_object(g, &n, flags, mode, answer);
                        guard_name_close(&n);
                        if (found != -EAGAIN && !create)
                                return found;
                }
                int r = guard_find(g, directory, address, (follow ? GUARD_FOLLOW : 0U) | (create ? GUARD_ENTRY : 0U),
                                   &n);
                if (r < 0)
                        return r;
                if (create && n.slash)
                        return -EISDIR;
                if (n.object >= 0)
                        return open_object(g, &n, flags, mode, answer);
                if (!create)
                        return -ENOENT;
                r = create_file(g, &n, flags, mode, answer);
                if (r != -EEXIST || (flags & O_EXCL))
                        return r;
        }
        return -EBUSY;
}

long guard_open(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        return open_at(g, AT_FDCWD, args[0], (int)args[1], (mode_t)args[2], answer);
}

long guard_openat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        return open_at(g, (int)args[0], args[1], (int)args[2], (mode_t)args[3], answer);
}

long guard_creat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        return open_at(g, AT_FDCWD, args[0], O_CREAT | O_WRONLY | O_TRUNC, (mode_t)args[1], answer);
}

long guard_truncate(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        char path[GUARD_LINK_BYTES];
        struct rlimit limit;
        CLEANUP_GUARD_NAME struct guard_name n;
        guard_lock(g, false);
        int r = guard_find(g, AT_FDCWD, args[0], GUARD_FOLLOW, &n);
        if (r == 0 && n.object < 0)
                r = -ENOENT;
        if (r == 0 && n.slash && !S_ISDIR(n.mode))
                r = -ENOTDIR;
        if (r == 0)
                r = guard_judge_name(g, &n, true);
        if (r == 0)
                r = guard_git_judge(g, &n, GUARD_GIT_WRITE, NULL);
        if (r != 0)
                return r == GUARD_GIT_KEEP_EMPTY ? -EACCES : r;
        if (prlimit(g->caller->tid, RLIMIT_FSIZE, NULL, &limit) == 0 && args[1] > limit.rlim_cur) {
                pid_t tgid = 0;
                if (guard_caller_tgid(g, &tgid) == 0)
                        (void)syscall(SYS_tgkill, tgid, g->caller->tid, SIGXFSZ);
                return -EFBIG;
        }
        return truncate(guard_fd_path(n.object, path), (off_t)args[1]) < 0 ? -errno : 0;
}
