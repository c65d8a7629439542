/*
 * The guard processes, and their answers; see guard.h.
 *
 * Two processes serve from the start, so that a file system that blocks one of them does not block every caller, and a
 * box that creates files on two processors is served on two. Up to four serve in a burst of calls, or when the others
 * are blocked. Each receives the next notification from the one listener. If one of them exits, the keeper ends the
 * box, because a caller may be waiting for an answer that never comes.
 *
 * Waking a process on another processor takes longer than serving the call, so the kernel is asked to wake guard and
 * caller on the same one (6.6).
 */
#include "linux/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/daemonize.h"
#include "linux/filter_install.h"
#include "linux/guard_aliases.h"
#include "linux/kernel_abi.h"
#include "linux/resolved_paths.h"
#include "policy/input_limits.h"
#include "wire/packet.h"

enum {
        GUARDS_MAX = 4,
        DELEGATES_MAX = 64,
        UMASK_SETTLED_NS = 10000000, /* umasks are not cached for this long after a umask() */
        STALLED_NS = 500000000, /* a guard that is busy for longer is blocked, even on a loaded machine */
        SPINS = 20, /* yields before a guard sleeps until another has closed its copy of a descriptor */
        BURST_NS = 1000000, /* calls at most this far apart make a burst */
        BURST_CALLS = 256,
};

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

struct guard_lock {
        atomic_int holders; /* -1: one process, exclusively */
        atomic_int waiters;
};

struct guard_shared {
        struct guard_lock names, refused_log, keeper;
        atomic_uint exclusive_changes;  /* how often the exclusive lock on names was held */
        atomic_uint umask_changes;      /* how many umask() calls there were */
        atomic_llong umask_changed_at;  /* time of the last one, in nanoseconds */
        atomic_uint idle;               /* guards that wait for a call */
        atomic_uint delegates;          /* processes made by guard_fork_delegate() */
        /* Pids; 0: a free slot. Both a new guard and the process that forked it store its pid, so that the keeper knows
           it from the start and notices when the guard exits. */
        atomic_int guards[GUARDS_MAX];
        atomic_llong busy_since[GUARDS_MAX]; /* when each received the call that it serves; 0: idle */
        atomic_int handing_fd[GUARDS_MAX];   /* 1: the guard may still have its copy of a descriptor that it sent */
        atomic_int handing_fd_waiters;       /* guards that wait for one of these to become 0 */
        struct guard_git_snapshot git_snapshots[GUARD_GIT_SNAPSHOTS_MAX]; /* untouched pages cost nothing */
};

struct guard_shared *guard_shared_new(void)
{
        struct guard_shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return s == MAP_FAILED ? NULL : s;
}

/*
 * Locks between processes. Not those of libc, which identify a holder by a cached thread id that is wrong after a raw
 * clone(). A guard that dies with a lock leaves the others waiting, but then the keeper ends the box.
 */
static void lock(struct guard_lock *l, bool exclusive)
{
        for (;;) {
                int now = atomic_load(&l->holders);
                bool free = exclusive ? now == 0 : now >= 0;
                if (free && atomic_compare_exchange_weak(&l->holders, &now, exclusive ? -1 : now + 1))
                        return;
                if (free)
                        continue;
                atomic_fetch_add(&l->waiters, 1);
                (void)syscall(SYS_futex, &l->holders, FUTEX_WAIT, now, NULL, NULL, 0);
                atomic_fetch_sub(&l->waiters, 1);
        }
}

static void unlock(struct guard_lock *l)
{
        int before = atomic_load(&l->holders);
        while (!atomic_compare_exchange_weak(&l->holders, &before, before < 0 ? 0 : before - 1))
                ;
        if (atomic_load(&l->waiters))
                (void)syscall(SYS_futex, &l->holders, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool guard_is_guard_pid(const struct guard_shared *s, pid_t pid)
{
        for (size_t i = 0; i < GUARDS_MAX; i++)
                if (atomic_load(&s->guards[i]) == pid)
                        return true;
        return false;
}

void guard_lock(struct guard *g, bool exclusive)
{
        if (g->locked)
                return;
        lock(&g->shared->names, exclusive);
        g->locked = true;
        g->exclusive = exclusive;
}

unsigned guard_exclusive_changes(const struct guard *g)
{
        return atomic_load(&g->shared->exclusive_changes);
}

void guard_unlock(struct guard *g)
{
        if (g->exclusive)
                atomic_fetch_add(&g->shared->exclusive_changes, 1);
        if (g->locked)
                unlock(&g->shared->names);
        g->locked = g->exclusive = false;
}

void guard_lock_keeper(struct guard *g)
{
        lock(&g->shared->keeper, true);
}

void guard_unlock_keeper(struct guard *g)
{
        unlock(&g->shared->keeper);
}

static long long monotonic_ns(void)
{
        struct timespec t;
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The guard counts a umask() before the kernel performs it, so umasks are not cached for a moment after one. */
unsigned guard_umask_generation(const struct guard *g, bool *ret_settled)
{
        *ret_settled = monotonic_ns() - atomic_load(&g->shared->umask_changed_at) > UMASK_SETTLED_NS;
        return atomic_load(&g->shared->umask_changes);
}

/* --- the calls --- */

static long note_umask(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)args;
        atomic_store(&g->shared->umask_changed_at, monotonic_ns());
        atomic_fetch_add(&g->shared->umask_changes, 1);
        answer->kind = GUARD_CONTINUE; /* safe: its argument is in a register */
        return 0;
}

#define ROW(call) { SYS_##call, guard_##call }
static const struct row {
        int number;
        guard_call *serve;
} rows[] = {
        ROW(openat),       ROW(truncate),    ROW(mkdirat),      ROW(mknodat),      ROW(symlinkat),    ROW(linkat),
        ROW(unlinkat),     ROW(renameat2),   ROW(fchmod),       ROW(fchmodat),     ROW(fchown),       ROW(fchownat),
        ROW(utimensat),    ROW(setxattr),    ROW(lsetxattr),    ROW(fsetxattr),    ROW(removexattr),  ROW(lremovexattr),
        ROW(fremovexattr), ROW(bind),        ROW(connect),      ROW(listen),      { SYS_umask, note_umask },
        { 452, guard_fchmodat2 }, /* the same number on every architecture; older headers lack it */
#ifdef SYS_renameat
        ROW(renameat),
#endif
#ifdef SYS_open
        ROW(open),         ROW(creat),       ROW(mkdir),        ROW(mknod),        ROW(symlink),      ROW(link),
        ROW(unlink),       ROW(rmdir),       ROW(rename),       ROW(chmod),        ROW(chown),        ROW(lchown),
        ROW(utime),        ROW(utimes),      ROW(futimesat),
#endif
};

enum { NUMBERS_MAX = 512 };
static guard_call *calls[NUMBERS_MAX]; /* by system call number; filled by guard_serve() */

static void send_answer(struct guard *g, long value)
{
        struct seccomp_notif_resp response = { .id = g->notification->id };
        if (value < 0)
                response.error = (int)value;
        else
                response.val = value;
        /* ENOENT, EINPROGRESS: the caller was killed before the answer, or while a descriptor was installed. After any
           other failure it would wait for ever, so the guard exits and the box ends. */
        if (ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT &&
            errno != EINPROGRESS)
                _exit(1);
}

/*
 * The caller may close the descriptor before the guard runs again and closes its copy. Until then a program that is
 * open for writing could not be executed (ETXTBSY), and a FIFO would seem to have an open end.
 */
static bool must_close_before_answer(const struct guard_answer *answer)
{
        return S_ISFIFO(answer->mode) || (answer->writable && S_ISREG(answer->mode) && (answer->mode & 0111));
}

/* Installs the descriptor, closes the guard's copy, then answers. */
static int send_fd_then_answer(struct guard *g, struct guard_answer *answer)
{
        struct seccomp_notif_addfd addfd = { .id = g->notification->id, .srcfd = (uint32_t)answer->fd,
                                             .newfd_flags = answer->close_on_exec ? O_CLOEXEC : 0 };
        int number = ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
        if (number < 0)
                return -errno;
        fd_close(&answer->fd);
        send_answer(g, number);
        return 0;
}

/* Faster, but the guard's copy is closed only after the caller runs again: see await_handed_fds(). */
static int send_fd_with_answer(struct guard *g, const struct guard_answer *answer)
{
        atomic_store(&g->shared->handing_fd[g->slot], 1);
        struct seccomp_notif_addfd addfd = { .id = g->notification->id,
                                             .flags = SECCOMP_ADDFD_FLAG_SEND,
                                             .srcfd = (uint32_t)answer->fd,
                                             .newfd_flags = answer->close_on_exec ? O_CLOEXEC : 0 };
        return ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd) < 0 ? -errno : 0;
}

/*
 * Removes the created file, if it still has its name. The lock on names is no longer held, so a file that has replaced
 * it must not be removed, and no symlink followed.
 */
static void remove_created(struct guard_answer *answer)
{
        struct stat made, found;
        char *name = answer->created_name;
        if (answer->created_in == AT_FDCWD) {
                char *slash = strrchr(name, '/');
                *slash = '\0';
                answer->created_in = fd_open_no_symlinks(AT_FDCWD, *name ? name : "/", O_PATH | O_DIRECTORY, 0);
                name = slash + 1;
        }
        bool same = answer->created_in >= 0 && fstat(answer->fd, &made) == 0 &&
                    fstatat(answer->created_in, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && stat_same(&made, &found);
        if (same)
                (void)unlinkat(answer->created_in, name, 0);
}

static void send_fd(struct guard *g, struct guard_answer *answer)
{
        int r = must_close_before_answer(answer) ? send_fd_then_answer(g, answer) : send_fd_with_answer(g, answer);
        if (r == 0 || r == -ENOENT)
                return;
        if (answer->created) /* EMFILE: the caller has no free descriptor; open() would not have created the file */
                remove_created(answer);
        send_answer(g, r);
}

static void note_refusal(struct guard *g)
{
        const struct rule *by = g->denied_by;
        CLEANUP_TEXT struct text rule = { 0 };
        text_format(&rule, "%s %s (", rule_kind_words[by->kind], by->path);
        source_print(by->from, &rule);
        text_format(&rule, "%s%s)", by->set ? ", " : "", by->set ? by->set : "");
        lock(&g->shared->refused_log, true);
        refused_calls_note_path(g->refused, g->denied_path, rule.data ? rule.data : "");
        unlock(&g->shared->refused_log);
}

/*
 * Answers a notified call that is not in rows[]: refuses it with the filter's errno, or makes a socket
 * (socket_serve()).
 */
static void answer_unguarded_call(struct guard *g)
{
        lock(&g->shared->refused_log, true);
        refused_calls_count(g->refused, g->notification);
        unlock(&g->shared->refused_log);
        refused_calls_answer_one(g->refused, g->notification);
}

static void clear_handing_fd(struct guard *g)
{
        atomic_int *handing = &g->shared->handing_fd[g->slot];
        atomic_store(handing, 0);
        if (atomic_load(&g->shared->handing_fd_waiters))
                (void)syscall(SYS_futex, handing, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void answer_call(struct guard *g, long value, struct guard_answer *answer)
{
        struct seccomp_notif_resp resume = { .id = g->notification->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        if (value == -EACCES && g->denied_by)
                note_refusal(g);
        if (value < 0)
                send_answer(g, value == -EMFILE ? -ENFILE : value); /* the guard's limit, not the caller's */
        else if (answer->kind == GUARD_FD)
                send_fd(g, answer);
        else if (answer->kind == GUARD_CONTINUE)
                (void)ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_SEND, &resume);
        else if (answer->kind == GUARD_VALUE)
                send_answer(g, value);
        fd_close(&answer->fd);
        if (!g->is_delegate) /* a delegate has the slot number of the guard that forked it */
                clear_handing_fd(g);
        fd_close(&answer->created_in);
}

/* Forks a sibling: a child of the keeper. */
static pid_t fork_sibling(void)
{
        return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
}

/* Opens the process's own /proc/self/fd, and has the process killed with the keeper. */
static bool init_process(struct guard *g)
{
        fd_close(&g->self_fds);
        g->self_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return g->self_fds >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

bool guard_fork_delegate(struct guard *g, struct guard_answer *answer)
{
        if (atomic_fetch_add(&g->shared->delegates, 1) >= DELEGATES_MAX) {
                atomic_fetch_sub(&g->shared->delegates, 1);
                return false;
        }
        pid_t pid = fork_sibling();
        if (pid != 0) {
                if (pid < 0)
                        atomic_fetch_sub(&g->shared->delegates, 1);
                else
                        answer->kind = GUARD_DELEGATED;
                return false;
        }
        if (!init_process(g))
                _exit(1);
        answer->kind = GUARD_VALUE;
        g->is_delegate = true;
        return true;
}

/*
 * Another guard may still have a copy of a descriptor that its caller has already closed, with a lock (flock) or open
 * for writing (ETXTBSY). So a call that created no file is answered after all such copies are closed: mostly at once,
 * on a loaded machine when that guard runs again, and after a second if it was stopped.
 */
static void await_handed_fds(const struct guard *g, const struct guard_answer *answer)
{
        static const struct timespec timeout = { .tv_sec = 1 };
        if (answer->created || answer->kind == GUARD_DELEGATED)
                return;
        for (size_t i = 0; i < GUARDS_MAX; i++) {
                atomic_int *handing = &g->shared->handing_fd[i];
                for (unsigned spin = 0; i != g->slot && atomic_load(handing) && spin < SPINS; spin++)
                        (void)sched_yield();
                if (i == g->slot || !atomic_load(handing))
                        continue;
                atomic_fetch_add(&g->shared->handing_fd_waiters, 1);
                (void)syscall(SYS_futex, handing, FUTEX_WAIT, 1, &timeout, NULL, 0);
                atomic_fetch_sub(&g->shared->handing_fd_waiters, 1);
        }
}

static void serve_call(struct guard *g, guard_call *serve)
{
        struct guard_answer answer;
        answer.kind = GUARD_VALUE;
        answer.fd = answer.created_in = -1;
        answer.created = false;
        answer.mode = 0;
        uint64_t args[ARRAY_SIZE(g->notification->data.args)];
        for (size_t i = 0; i < ARRAY_SIZE(args); i++)
                args[i] = g->notification->data.args[i];
        g->denied_by = NULL;
        long value = guard_find_caller(g);
        if (value == 0)
                value = serve(g, args, &answer);
        if (value == GUARD_RETRY_EXCLUSIVE) {
                guard_unlock(g);
                guard_lock(g, true);
                value = serve(g, args, &answer);
        }
        guard_unlock(g);
        if (value < 0 && answer.kind == GUARD_DELEGATED)
                value = 0;
        await_handed_fds(g, &answer);
        answer_call(g, value, &answer);
        if (g->is_delegate) {
                atomic_fetch_sub(&g->shared->delegates, 1);
                _exit(0);
        }
}

/* --- the processes --- */

/* Indexes of guards[]; RESERVED stands in a slot while its guard is being forked. */
enum { FIRST_SLOT = 0, NO_SLOT = GUARDS_MAX, RESERVED = -1 };

void guard_register_first(struct guard_shared *s, pid_t pid)
{
        atomic_store(&s->guards[FIRST_SLOT], pid);
}

/* NO_SLOT: no more guards are allowed. */
static size_t reserve_slot(const struct guard *g)
{
        size_t max = g->plan->scalar[PLAN_PROCESSES].value ? GUARDS_WITH_PROCESS_LIMIT : GUARDS_MAX;
        for (size_t slot = FIRST_SLOT + 1; slot < max; slot++) {
                int unused = 0;
                if (atomic_compare_exchange_strong(&g->shared->guards[slot], &unused, RESERVED))
                        return slot;
        }
        return NO_SLOT;
}

/* Have all other guards been busy for long? */
static bool others_are_stalled(const struct guard *g, long long now)
{
        for (size_t i = 0; i < GUARDS_MAX; i++) {
                long long since = atomic_load(&g->shared->busy_since[i]);
                if (i != g->slot && atomic_load(&g->shared->guards[i]) && (since == 0 || now - since < STALLED_NS))
                        return false;
        }
        return true;
}

/* True in the new guard. */
static bool fork_guard(struct guard *g)
{
        size_t slot = reserve_slot(g);
        pid_t pid = slot == NO_SLOT ? -1 : fork_sibling();
        if (slot != NO_SLOT && pid != 0)
                atomic_store(&g->shared->guards[slot], pid < 0 ? 0 : pid);
        if (pid != 0)
                return false;
        g->slot = slot;
        atomic_store(&g->shared->guards[slot], getpid());
        if (!init_process(g))
                _exit(1);
        return true;
}

/*
 * Called when no other guard is idle. Forks one if the others are blocked by a file system, because this call may block
 * too; and in a burst of calls, because a guard that hands over a descriptor is still busy when its caller makes the
 * next call.
 */
static bool fork_guard_if_busy(struct guard *g, long long now, long long before, unsigned *burst)
{
        *burst = now - before < BURST_NS ? *burst + 1 : 0;
        return (*burst >= BURST_CALLS || others_are_stalled(g, now)) && fork_guard(g);
}

/*
 * After ENOENT: a caller was killed before its notification was received, or no process uses the filter any more. In
 * the latter case the box is ending, and the guard waits to be killed.
 */
static void await_callers(const struct guard *g)
{
        struct pollfd p = { .fd = g->refused->listener, .events = POLLIN };
        while (poll(&p, 1, -1) >= 0 && !(p.revents & POLLIN))
                (void)pause();
}

static _Noreturn void serve(struct guard *g)
{
        static union {
                struct seccomp_notif request;
                char room[512]; /* a newer kernel may write more than our header declares; it requires zeroes */
        } buffer;
        unsigned burst = 0;
        (void)fork_guard(g);
        for (long long now = 0, before;;) {
                memset(&buffer, 0, sizeof buffer);
                atomic_store(&g->shared->busy_since[g->slot], 0);
                atomic_fetch_add(&g->shared->idle, 1);
                int r = ioctl(g->refused->listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer.request) < 0 ? errno : 0;
                unsigned idle_others = atomic_fetch_sub(&g->shared->idle, 1) - 1;
                if (r == ENOENT)
                        await_callers(g);
                if (r == ENOENT || r == EINTR)
                        continue;
                if (r)
                        _exit(1);
                g->notification = &buffer.request;
                before = now;
                now = monotonic_ns();
                atomic_store(&g->shared->busy_since[g->slot], now);
                if (idle_others == 0 && fork_guard_if_busy(g, now, before, &burst))
                        continue;
                int number = buffer.request.data.nr;
                guard_call *call = number >= 0 && number < NUMBERS_MAX ? calls[number] : NULL;
                /* Not in rows[]: most notified socket() calls are refused; those with errno 0 get a socket. */
                if (number == SYS_socket && g->keeper >= 0 &&
                    filter_errno(g->refused->rights, &buffer.request.data) == 0)
                        call = guard_socket;
                if (call)
                        serve_call(g, call);
                else
                        answer_unguarded_call(g);
        }
}

/* Without mounts: adds the scratch directory, which the plan does not name, and grants by their real paths. */
static bool add_grants(struct guard *g, const struct guard_start *start)
{
        const struct rule scratch = { .kind = RULE_PRIVATE, .path = start->scratch };
        if (start->scratch && !name_rules_add(g->rules, &scratch, start->scratch))
                return false;
        for (size_t i = 0; !g->own_mounts && i < start->places->count; i++) {
                const struct resolved_path *p = &start->places->list[i];
                bool grant = p->kind == RESOLVED_READ_ONLY || p->kind == RESOLVED_WRITABLE;
                if (grant && strcmp(p->path, p->rule->path) != 0 && !name_rules_add(g->rules, p->rule, p->path))
                        return false;
        }
        return true;
}

_Noreturn void guard_serve(const struct guard_start *start)
{
        enum { LISTENER = 0, KEEPER = 1 }; /* where detach_within_session() puts them */
        struct guard g = { .plan = start->plan,
                           .shared = start->shared,
                           .refused = start->refused,
                           .self_fds = -1,
                           .umask = -1,
                           .own_mounts = start->plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT,
                           .has_ptrace = start->has_ptrace,
                           .keeper = start->keeper < 0 ? -1 : KEEPER,
                           .arena = arena_new(ARENA_BYTES_MAX) };
        for (size_t i = 0; i < GUARD_CALLERS_MAX; i++)
                g.callers[i].proc = -1;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].number < NUMBERS_MAX)
                        calls[rows[i].number] = rows[i].serve;
        detach_within_session("rw-guard", g.refused->listener, start->keeper);
        g.refused->listener = LISTENER;
        (void)ioctl(LISTENER, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP); /* 6.6 */
        g.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        g.slot = FIRST_SLOT;
        guard_register_first(g.shared, getpid());
        if (g.proc < 0 || !g.arena || !init_process(&g))
                _exit(1);
        guard_probe_host(&g);
        g.git_snapshots = g.shared->git_snapshots;
        g.protects_git = name_rules_has_git_rule(g.plan);
        g.rules = name_rules_new(g.arena, g.plan);
        if (!g.rules || guard_add_aliases(g.rules, g.arena, g.plan, start->aliases, &g.relative_hooks) < 0 ||
            !add_grants(&g, start) ||
            !name_rules_index(g.rules))
                _exit(1);
        serve(&g);
}

int guard_fork_before_listener(const struct guard_start *start)
{
        char byte;
        pid_t pid = fork_sibling();
        if (pid > 0)
                guard_register_first(start->shared, pid);
        if (pid != 0)
                return pid < 0 ? -errno : 0;
        /* The keeper learns of the command's exec when its socket is closed, so the guard must not keep a copy. */
        if (dup2(start->keeper, STDERR_FILENO + 1) < 0 || syscall(SYS_close_range, STDERR_FILENO + 2U, ~0U, 0U) < 0)
                _exit(1);
        struct guard_start here = *start;
        here.keeper = STDERR_FILENO + 1;
        if (packet_receive(here.keeper, &byte, 1, 0, &here.refused->listener) != 1 || here.refused->listener < 0)
                _exit(1);
        guard_serve(&here);
}
