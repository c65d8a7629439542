/*
 * Starting a box.
 *
 *   front (outside)  ── control socket ──  keeper (pid 1 of the box)  ──  command
 *
 * The front clones the keeper straight into its namespaces. The keeper maps its user, makes the root, gives up its
 * capabilities, starts the command, reaps whatever is orphaned to it, passes signals on, and tells the front how the
 * command ended, after it has ended everything else in the box. It also leads the session that the command runs in, with
 * a terminal of its own where the person has one: pty.c.
 *
 * Which process has which privilege:
 *   front    the person's; nothing of the box's runs in it
 *   keeper   until confine_privileges(): every capability in its own user namespace, none outside; runs only our code.
 *            Afterwards: none. Not dumpable, so the command cannot look into it.
 *   command  none from its first instruction; Landlock and the seccomp filter are installed between fork and exec
 *
 * If somebody dies: the keeper dies with the front (PR_SET_PDEATHSIG), everything in the box dies with the keeper. A
 * command that cannot be started says so over a pipe that exec closes.
 *
 * Nothing is left behind: mounts and namespaces end with their last process, and no file is made outside the box.
 *
 * Without a pid namespace (level standard) the keeper is a subreaper: orphans come to it, and it outlives the front for
 * as long as it takes to end them and to remove the scratch directory. It shuts itself, with all that it will start, into
 * a Landlock domain whose signals cannot leave it. Then kill(-1) is what it is in a pid namespace: one call that reaches
 * every process of the box, however fast they fork, and nobody else.
 *
 * Needs of the kernel: clone3 (5.3), pidfd (5.3), close_range (5.9), and what root.c and confine.c need.
 */
#include "linux/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/carve.h"
#include "linux/cgroup.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/kernel_abi.h"
#include "linux/pty.h"
#include "linux/root.h"
#include "linux/ruleset.h"
#include "linux/scratch.h"
#include "policy/caps.h"

enum { EXIT_RINGWALL = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

/* --- messages --- */

/* With one descriptor, unless fd is -1. */
static int send_with_fd(int socket, const void *data, size_t length, int fd)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct iovec piece = { .iov_base = (void *)(uintptr_t)data, .iov_len = length };
        struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };
        if (fd >= 0) {
                m.msg_control = control.space;
                m.msg_controllen = sizeof control.space;
                struct cmsghdr *c = CMSG_FIRSTHDR(&m);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -errno;
}

/* Returns the length, 0 at the end, or -errno; *ret_fd is -1 when none came. */
static ssize_t receive_with_fd(int socket, void *data, size_t length, int flags, int *ret_fd)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct iovec piece = { .iov_base = data, .iov_len = length };
        struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.space,
                            .msg_controllen = sizeof control.space };
        *ret_fd = -1;
        ssize_t n = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == ECONNRESET) /* the other end went with a message unread; what it said is still here */
                n = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
        struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
        return n < 0 ? -errno : n;
}

static void tell_with_fd(int control, enum box_message_kind kind, int number, const struct error *e, int fd)
{
        struct box_message m = { .kind = kind, .number = number };
        if (e)
                m.error = *e;
        m.error.stage = NULL;
        /* When nobody listens any more the front is gone, and we are about to be. */
        (void)send_with_fd(control, &m, sizeof m, fd);
}

static void tell(int control, enum box_message_kind kind, int number, const struct error *e)
{
        tell_with_fd(control, kind, number, e, -1);
}

/* --- in the keeper: the box --- */

static int write_map(const char *path, const char *text, struct error *e)
{
        CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
        return r < 0 ? error_errno(e, -r, "user namespace", "cannot write %s", path) : 0;
}

/* The person keeps their own ids inside, so that files belong to who they should. */
static int map_user(uid_t uid, gid_t gid, struct error *e)
{
        char uids[48], gids[48];
        (void)snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
        (void)snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
        int r = write_map("/proc/self/setgroups", "deny", e);
        if (r == 0)
                r = write_map("/proc/self/uid_map", uids, e);
        return r < 0 ? r : write_map("/proc/self/gid_map", gids, e);
}

static int raise_loopback(struct error *e)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
                return error_errno(e, errno, "network namespace", "cannot bring the loopback up");
        return 0;
}

struct ids {
        uid_t uid;
        gid_t gid;
};

static bool has_space(const struct plan *plan, uint64_t space)
{
        return plan->number[PLAN_NAMESPACES].number & space;
}

/* Without mounts: which places there are, whether Landlock alone can hold them, and the private directory. */
static int prepare_carving(const struct launch_request *request, struct places *places, int control, struct error *e)
{
        struct arena *arena = arena_new(CAP_ARENA_BYTES); /* lives as long as the keeper */
        size_t unheld = 0;
        const struct place *example = NULL;
        if (!arena)
                return error_errno(e, ENOMEM, "launch", "no memory");
        int r = places_find(request->plan, arena, places, e);
        if (r == 0)
                r = carve_check(request->plan, places, &unheld, &example, e);
        if (r < 0)
                return r;
        if (unheld) {
                struct error note;
                error_set(&note, ENOTSUP, "landlock", "without namespaces %s is not protected%s; --level strict protects it",
                          example->path, unheld > 1 ? ", nor are others" : "");
                tell(control, BOX_NOTE, (int)unheld, &note);
        }
        return scratch_make(request->scratch, e);
}

/* Here and not in the command's process: what it executes gets it from us. */
static int deny_new_code(const struct plan *plan, int control, struct error *e)
{
        int r = plan->number[PLAN_MDWE].number ? confine_memory(e) : 0;
        if (r < 0 && plan->number[PLAN_BEST_EFFORT].number) {
                tell(control, BOX_NOTE, 0, e);
                *e = (struct error){ 0 };
                r = 0;
        }
        return r;
}

static int make_box(const struct launch_request *request, struct ids ids, int control, struct error *e)
{
        const struct plan *plan = request->plan;
        uint64_t spaces = plan->number[PLAN_NAMESPACES].number, processes = plan->number[PLAN_PROCESSES].number;
        int r = request->cgroup ? cgroup_settle(request->cgroup, e) : 0;
        if (r == 0 && (spaces & SPACE_USER))
                r = map_user(ids.uid, ids.gid, e);
        if (r == 0 && (spaces & SPACE_NET))
                r = raise_loopback(e);
        if (r == 0 && (spaces & SPACE_UTS) && sethostname("ringwall", strlen("ringwall")) < 0)
                r = error_errno(e, errno, "uts namespace", "cannot set the host name");
        if (r == 0 && (spaces & SPACE_MOUNT))
                r = root_enter(plan, e);
        /* Without a cgroup: the processes of this user namespace, us among them. uid 0 of the machine is exempt. */
        struct rlimit most = { processes + 1, processes + 1 };
        if (r == 0 && !request->cgroup && processes && (spaces & SPACE_USER) && setrlimit(RLIMIT_NPROC, &most) < 0)
                r = error_errno(e, errno, "limits", "cannot limit the number of processes");
        if (r == 0)
                r = deny_new_code(plan, control, e);
        return r < 0 ? r : confine_privileges(e);
}

/* --- in the command's process, between fork and exec --- */

static void reset_signals(void)
{
        enum { FIRST_REALTIME = 32 };
        sigset_t none;
        for (int s = 1; s < FIRST_REALTIME; s++)
                (void)signal(s, SIG_DFL); /* fails for SIGKILL and SIGSTOP, which cannot be changed */
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

struct start_failure {
        int code;
        struct error error;
};

/*
 * Looks the command up in the PATH that it gets, before the filter stands: a plan without exec allows one try. Returns
 * NULL when there is no such file.
 */
static const char *find_command(const char *name, char *const *environment, char buffer[PATH_MAX])
{
        const char *path = "/usr/local/bin:/usr/bin:/bin";
        if (strchr(name, '/'))
                return name;
        for (; *environment; environment++)
                if (strncmp(*environment, "PATH=", strlen("PATH=")) == 0)
                        path = *environment + strlen("PATH=");
        for (; *path && *name; path += strcspn(path, ":"), path += *path == ':') {
                size_t length = strcspn(path, ":");
                if (*path != '/' || length + 1 + strlen(name) >= PATH_MAX)
                        continue;
                memcpy(buffer, path, length);
                buffer[length] = '/';
                memcpy(buffer + length + 1, name, strlen(name) + 1);
                if (faccessat(AT_FDCWD, buffer, X_OK, AT_EACCESS) == 0)
                        return buffer;
        }
        return NULL;
}

static int not_started(struct start_failure *f, int error, const char *name)
{
        f->code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
        return error_errno(&f->error, error, "exec", "cannot run %s", name);
}

/* What the keeper looks after, and by what. */
struct care {
        pid_t command;
        int control, children;
        struct pty pty;
        struct denials denials;
        struct ruleset rules;  /* of the command's files */
        struct places places;  /* without a mount namespace */
        const char *scratch;   /* the same: what to remove at the end */
        bool own_pids, scoped; /* kill(-1) reaches the box and nobody else, for either reason */
};

/* The caller's descriptors as the first three. Above them first, because one may stand where another belongs. */
static int wear_streams(const int streams[3])
{
        int high[3];
        for (int i = 0; i < 3; i++)
                if ((high[i] = fcntl(streams[i], F_DUPFD_CLOEXEC, 3)) < 0)
                        return -errno;
        for (int i = 0; i < 3; i++)
                if (dup2(high[i], i) < 0)
                        return -errno;
        return 0;
}

/* Returns only when it failed. */
static struct start_failure start_command(const struct launch_request *request, const struct care *care, int to_keeper)
{
        struct start_failure f = { .code = EXIT_RINGWALL };
        const struct plan *plan = request->plan;
        int listener = -1;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int r = setpgid(0, 0) < 0 ? -errno : pty_wear(&care->pty, request->foreground);
        if (r == 0 && request->streams)
                r = wear_streams(request->streams);
        if (r < 0) {
                error_errno(&f.error, -r, "start", "cannot make a process group with its streams");
                return f;
        }
        if (chdir(request->directory) < 0) {
                error_errno(&f.error, errno, "start", "cannot enter %s", request->directory);
                return f;
        }
        struct ruleset rules = care->rules;
        if (ruleset_enforce(&rules, &f.error) < 0)
                return f;
        reset_signals();
        char buffer[PATH_MAX];
        const char *program = find_command(request->command[0], request->environment, buffer);
        if (!program) {
                not_started(&f, ENOENT, request->command[0]);
                return f;
        }
        /* From here on every descriptor but the first three ends with exec, whoever opened it. */
        if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
                error_errno(&f.error, errno, "start", "cannot close the other descriptors");
                return f;
        }
        r = filter_install(filter_rights(plan), &listener);
        if (r == 0)
                r = send_with_fd(to_keeper, "", 1, listener);
        if (r < 0) {
                error_errno(&f.error, -r, "seccomp", "cannot install the filter");
                return f;
        }
        fd_close(&listener);
        execve(program, request->command, request->environment);
        not_started(&f, errno, request->command[0]);
        return f;
}

struct starting {
        const struct launch_request *request;
        const struct care *care;
        int to_keeper;
};

static int run_command(void *data)
{
        const struct starting *s = data;
        struct start_failure f = start_command(s->request, s->care, s->to_keeper);
        (void)send(s->to_keeper, &f, sizeof f, MSG_NOSIGNAL);
        _exit(f.code);
}

/*
 * With `borrow` the new process uses our memory until it executes, and we wait, which spares the copying (vfork). Not if
 * it can need us meanwhile: its exec has to be let pass, or a terminal may stop it.
 */
static pid_t fork_command(struct starting *s, bool borrow)
{
        enum { STACK_BYTES = 64 * 1024 };
        _Alignas(16) char stack[STACK_BYTES];
        return clone(run_command, stack + sizeof stack, SIGCHLD | (borrow ? CLONE_VM | CLONE_VFORK : 0), s);
}

/* --- in the keeper: looking after the command --- */

/* All that is dead; true, with its status, when the command is among them. Tells the front when it was stopped. */
static bool reap(const struct care *c, int *ret_status)
{
        bool ended = false;
        int status = 0;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0 || (pid < 0 && errno == EINTR);) {
                if (pid != c->command)
                        continue;
                if (WIFSTOPPED(status)) {
                        tell(c->control, BOX_STOPPED, WSTOPSIG(status), NULL);
                        continue;
                }
                *ret_status = status;
                ended = true;
        }
        return ended;
}

/* Kernels that cannot scope signals: child by child, until there is none. What forks faster than that wins. */
static void end_children(void)
{
        static const struct timespec moment = { .tv_nsec = 1000000 };
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        for (unsigned round = 0; round < 2000; round++) {
                FILE *list = fopen(path, "re");
                for (int pid; list && fscanf(list, "%d", &pid) == 1;)
                        (void)kill(pid, SIGKILL);
                if (list)
                        (void)fclose(list);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
                        return;
                (void)nanosleep(&moment, NULL);
        }
}

/*
 * Whatever the command left running ends before anybody hears that it ended. In a pid namespace our own exit would end it
 * too, but that takes down the mounts first, and the front need not wait for them.
 */
static void end_others(const struct care *c)
{
        if (!c->own_pids && !c->scoped) {
                end_children();
        } else if (kill(-1, SIGKILL) == 0) {
                while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                        ;
        }
        if (c->scratch)
                scratch_remove(c->scratch);
}

/* Waits until the command runs, or tells why it does not. The pipe ends with exec. */
static int await_start(int from_command, struct care *care, bool may_exec)
{
        struct start_failure f;
        /* First one byte, perhaps with a listener, when the filter stands; or the reason why it does not. */
        ssize_t n = receive_with_fd(from_command, &f, sizeof f, 0, &care->denials.listener);
        /* In a plan without exec the command's own is the first that is told, and it is still our code that asks. */
        int r = n == 1 && !may_exec ? denials_let_pass(&care->denials) : 0;
        if (r < 0)
                fd_close(&care->denials.listener); /* then its exec fails, and it says so */
        if (n == 1)
                n = recv(from_command, &f, sizeof f, 0);
        else if (n == 0)
                n = -1; /* it died before it said anything */
        if (r < 0 && n == sizeof f) {
                f.code = EXIT_RINGWALL;
                error_errno(&f.error, -r, "seccomp", "cannot let the command start");
        }
        if (n == 0 && r == 0) {
                tell(care->control, BOX_STARTED, care->rules.abi, NULL);
                return 0;
        }
        if (n != sizeof f) {
                f.code = EXIT_RINGWALL;
                error_set(&f.error, EPIPE, "start", "the command ended before it was started");
        }
        end_others(care);
        tell(care->control, BOX_FAILED, f.code, &f.error);
        return -EIO;
}

static void tell_denials(const struct care *c)
{
        for (size_t i = 0; i < c->denials.count; i++) {
                struct box_message m = { .kind = BOX_DENIED, .denial = c->denials.list[i] };
                (void)send_with_fd(c->control, &m, sizeof m, -1);
        }
}

/* The command may have moved to another group. Never to a group that we are in, and 1 would mean everybody. */
static pid_t group_of(pid_t command)
{
        pid_t group = getpgid(command);
        return group > 1 && group != getpgrp() ? group : 0;
}

static void send_signal(pid_t command, int number)
{
        pid_t group = group_of(command);
        (void)kill(group ? -group : command, number);
}

static void take_message(const struct care *c)
{
        struct box_message m;
        ssize_t n = recv(c->control, &m, sizeof m, MSG_DONTWAIT);
        if (n == 0) { /* the front is gone */
                end_others(c);
                _exit(EXIT_RINGWALL);
        }
        if (n != sizeof m)
                return;
        if (m.kind == BOX_SIGNAL && m.number > 0 && m.number < NSIG)
                send_signal(c->command, m.number);
        if (m.kind == BOX_CONTINUE) {
                pty_turn(&c->pty, m.number ? group_of(c->command) : 0);
                send_signal(c->command, SIGCONT);
        }
}

static int look_after(struct care *c)
{
        enum { CHILDREN, CONTROL, DENIALS };
        struct pollfd events[] = {
                [CHILDREN] = { .fd = c->children, .events = POLLIN },
                [CONTROL] = { .fd = c->control, .events = POLLIN },
                [DENIALS] = { .fd = c->denials.listener, .events = POLLIN },
        };
        for (int status = 0;;) {
                struct signalfd_siginfo info;
                bool blind = poll(events, ARRAY_SIZE(events), -1) < 0 && errno != EINTR;
                if (!blind && events[CHILDREN].revents)
                        blind = read(c->children, &info, sizeof info) < 0 && errno != EAGAIN;
                if (blind) { /* nobody would look after it */
                        end_others(c);
                        return EXIT_RINGWALL;
                }
                if (events[DENIALS].revents) {
                        denials_answer(&c->denials);
                        events[DENIALS].fd = c->denials.listener;
                }
                if (reap(c, &status)) {
                        end_others(c);
                        tell_denials(c);
                        fd_close(&c->pty.slave); /* the last: now the front reads the end of the output */
                        tell(c->control, BOX_EXITED, status, NULL);
                        return 0;
                }
                if (events[CONTROL].revents)
                        take_message(c);
        }
}

static _Noreturn void give_up(const struct care *c, const struct error *e)
{
        if (c->scratch)
                scratch_remove(c->scratch);
        tell(c->control, BOX_FAILED, EXIT_RINGWALL, e);
        _exit(EXIT_RINGWALL);
}

/*
 * Signals that cannot leave the box. The front, which has our user id, must be out of reach afterwards, or kill(-1) would
 * end all that the person runs.
 */
static bool scope_signals(void)
{
        pid_t front = getppid();
        return kill(front, 0) == 0 && ruleset_scope_signals() == 0 && kill(front, 0) < 0 && errno == EPERM;
}

/* Everything is ready but the command. */
static int prepare_care(const struct launch_request *request, struct care *c, struct error *e)
{
        sigset_t chld, blocked;
        int r = pty_open(&c->pty, request->terminals, request->foreground, e);
        if (r < 0)
                return r;
        if (c->pty.master >= 0)
                tell_with_fd(c->control, BOX_TERMINAL, 0, NULL, c->pty.master);
        fd_close(&c->pty.master); /* the front's alone, so that the terminal hangs up when it is gone */
        (void)sigemptyset(&chld);
        (void)sigaddset(&chld, SIGCHLD);
        blocked = chld;
        (void)sigaddset(&blocked, SIGTTOU); /* we give the terminal away and take it back from behind */
        if (sigprocmask(SIG_BLOCK, &blocked, NULL) == 0)
                c->children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
        if (c->children < 0)
                return error_errno(e, errno, "start", "cannot watch over the command");
        return has_space(request->plan, SPACE_MOUNT)
                ? confine_files(request->plan, &c->rules, e)
                : carve_files(request->plan, &c->places, c->scratch, c->pty.slave, &c->rules, e);
}

/* Runs as pid 1 of the box, where it has pids of its own, and never returns. */
static _Noreturn void keep(const struct launch_request *request, int control, struct ids ids)
{
        struct error e = { 0 };
        struct pollfd front = { .fd = control };
        struct care care = { .command = -1, .control = control, .children = -1, .denials.listener = -1, .rules.fd = -1,
                             .own_pids = has_space(request->plan, SPACE_PID) };
        if (care.own_pids)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        else if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                _exit(EXIT_RINGWALL);
        /* The front may have died before that: then its end of the socket is closed already. */
        if (poll(&front, 1, 0) > 0 && (front.revents & POLLHUP))
                _exit(EXIT_RINGWALL);
        if (make_box(request, ids, control, &e) < 0)
                give_up(&care, &e);
        if (!has_space(request->plan, SPACE_MOUNT)) {
                if (prepare_carving(request, &care.places, control, &e) < 0)
                        give_up(&care, &e);
                care.scratch = request->scratch;
        }
        care.scoped = !care.own_pids && scope_signals();
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                error_errno(&e, errno, "start", "cannot shut the keeper's memory");
        if (e.code || prepare_care(request, &care, &e) < 0)
                give_up(&care, &e);
        int pair[2];
        bool may_exec = request->plan->number[PLAN_ALLOW_EXEC].number;
        struct starting s = { .request = request, .care = &care };
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
                s.to_keeper = pair[1];
                care.command = fork_command(&s, may_exec && care.pty.slave < 0);
        }
        if (care.command < 0) {
                error_errno(&e, errno, "start", "cannot fork");
                give_up(&care, &e);
        }
        fd_close(&pair[1]);
        fd_close(&care.rules.fd);
        care.denials.rights = filter_rights(request->plan);
        int started = await_start(pair[0], &care, may_exec);
        _exit(started < 0 ? EXIT_RINGWALL : look_after(&care));
}

/* --- in the front --- */

static uint64_t clone_flags(uint64_t spaces)
{
        static const struct {
                uint64_t space, flag;
        } rows[] = {
                { SPACE_USER, CLONE_NEWUSER }, { SPACE_PID, CLONE_NEWPID },       { SPACE_MOUNT, CLONE_NEWNS },
                { SPACE_IPC, CLONE_NEWIPC },   { SPACE_UTS, CLONE_NEWUTS },       { SPACE_CGROUP, CLONE_NEWCGROUP },
                { SPACE_NET, CLONE_NEWNET },
        };
        uint64_t flags = CLONE_PIDFD;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                flags |= spaces & rows[i].space ? rows[i].flag : 0;
        return flags;
}

/*
 * The plan's, and one more on kernels before 6.12: abstract unix sockets belong to a network namespace, and there Landlock
 * cannot keep the host's apart. A plan without network does not notice.
 */
static uint64_t spaces_of(const struct plan *plan, int abi)
{
        uint64_t spaces = plan->number[PLAN_NAMESPACES].number;
        bool shares = (spaces & SPACE_USER) && !(spaces & SPACE_NET) && !plan->number[PLAN_ALLOW_NETWORK].number;
        return shares && abi < 6 ? spaces | SPACE_NET : spaces;
}

int launch_box(const struct launch_request *request, struct box *ret, struct error *e)
{
        int pair[2], pidfd = -1;
        struct ids ids = { geteuid(), getegid() };
        int abi = ruleset_abi();
        if (abi < 1)
                return error_errno(e, abi < 0 ? -abi : ENOSYS, "landlock",
                                   "this kernel has no Landlock ('ringwall doctor' says why)");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_errno(e, errno, "launch", "cannot make a socket");
        CLEANUP_FD int ours = pair[0], theirs = pair[1];
        struct clone_args args = {
                .flags = clone_flags(spaces_of(request->plan, abi)),
                .pidfd = (uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        if (request->cgroup) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (unsigned)request->cgroup->directory;
        }
        long pid = syscall(SYS_clone3, &args, sizeof args);
        if (pid < 0)
                return error_errno(e, errno, "launch", "cannot make the box's %s ('ringwall doctor' says why)",
                                   request->cgroup ? "namespaces, or start in its cgroup" : "namespaces");
        if (pid == 0) {
                fd_close(&ours);
                keep(request, theirs, ids);
        }
        *ret = (struct box){ .own_pids = has_space(request->plan, SPACE_PID), .scratch = request->scratch,
                              .pid = (pid_t)pid, .pidfd = pidfd, .control = TAKE_FD(ours) };
        return 0;
}

ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd)
{
        return receive_with_fd(box->control, ret, sizeof *ret, MSG_DONTWAIT, ret_fd);
}

void box_leave(struct box *box)
{
        fd_close(&box->pidfd);
        fd_close(&box->control);
}

void box_end(struct box *box)
{
        int status = 0;
        if (box->own_pids)
                (void)kill(box->pid, SIGKILL);
        fd_close(&box->control); /* without pids of its own the keeper cleans up when it sees this */
        while (waitpid(box->pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (box->scratch)
                scratch_remove(box->scratch); /* gone already, unless somebody killed the keeper */
        box_leave(box);
}
