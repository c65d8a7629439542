/*
 * Starting a box.
 *
 *   front (outside)  ── control socket ──  keeper (pid 1 of the box)  ──  command
 *
 * The front clones the keeper straight into its namespaces. The keeper prepares each wall in turn (hold.h), starts the
 * command's process, which takes them upon itself and executes the command; it reaps whatever is orphaned to it, passes
 * signals on, and tells the front how the command ended, after it has ended everything else in the box. It also leads the
 * session that the command runs in.
 *
 * Which process has which privilege:
 *   front    the person's; nothing of the box's runs in it
 *   keeper   until hold_harden: every capability in its own user namespace, none outside; runs only our code.
 *            Afterwards: none. Not dumpable, so the command cannot look into it.
 *   command  none from its first instruction; Landlock and the seccomp filter are installed between fork and exec
 *
 * If somebody dies: the keeper dies with the front (PR_SET_PDEATHSIG), everything in the box dies with the keeper. A
 * command that cannot be started says so over a pipe that exec closes.
 *
 * Nothing is left behind: mounts and namespaces end with their last process, and no file is made outside the box.
 *
 * Without a pid namespace (level standard) the keeper is a subreaper: orphans come to it, and it outlives the front for
 * as long as it takes to end them and to remove the scratch directory. How it reaches them: hold_landlock.c.
 *
 * Needs of the kernel: clone3 (5.3), pidfd (5.3), close_range (5.9), and what the walls need.
 */
#include "linux/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/cgroup.h"
#include "linux/confine.h"
#include "linux/detach.h"
#include "linux/filter_install.h"
#include "linux/hold.h"
#include "linux/scratch.h"
#include "wire/wire.h"

enum { EXIT_RINGWALL = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

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

/* Looks the command up in the PATH that it gets, because a plan without exec allows one try. NULL: there is none. */
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

/* That everything else is closed tells the keeper that it runs. */
static _Noreturn void serve(const struct launch_request *request)
{
        enum { PLACE = STDERR_FILENO + 1 };
        /* Close-on-exec: it is no command's business. */
        if ((request->socket != PLACE && dup3(request->socket, PLACE, O_CLOEXEC) < 0) || syscall(SYS_close_range, PLACE + 1U, ~0U, 0U) < 0)
                _exit(EXIT_RINGWALL);
        /* What the person's environment says is nobody's business here, and this process is a copy of one that had it. */
        for (char **variable = environ; variable && *variable; variable++)
                explicit_bzero(*variable, strlen(*variable));
        environ = (char **)(uintptr_t)request->environment;
        _exit(request->serve(PLACE, request));
}

/* Returns only when it failed. */
static struct start_failure start_command(struct site *site)
{
        struct start_failure f = { .code = EXIT_RINGWALL };
        const struct launch_request *request = site->request;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(request->directory) < 0) {
                error_errno(&f.error, errno, "start", "cannot enter %s", request->directory);
                return f;
        }
        for (size_t i = 0; i < hold_count; i++)
                if (holds[i]->apply && holds[i]->apply(site, &f.error) < 0)
                        return f;
        reset_signals();
        if (request->serve)
                serve(request);
        char buffer[PATH_MAX];
        const char *program = find_command(request->command[0], request->environment, buffer);
        if (program)
                execve(program, request->command, request->environment);
        not_started(&f, program ? errno : ENOENT, request->command[0]);
        return f;
}

static int run_command(void *data)
{
        struct site *site = data;
        struct start_failure f = start_command(site);
        (void)send(site->to_keeper, &f, sizeof f, MSG_NOSIGNAL);
        _exit(f.code);
}

/*
 * With `borrow` the new process uses our memory until it executes, and we wait, which spares the copying (vfork). Not if
 * it can need us meanwhile: its exec has to be let pass, or a terminal may stop it; or if it executes nothing and stays.
 */
static pid_t fork_command(struct site *site, bool borrow)
{
        enum { STACK_BYTES = 64 * 1024 };
        _Alignas(16) char stack[STACK_BYTES];
        if (borrow)
                return clone(run_command, stack + sizeof stack, SIGCHLD | CLONE_VM | CLONE_VFORK, site);
        pid_t pid = fork();
        if (pid == 0)
                (void)run_command(site);
        return pid;
}

/* --- in the keeper: looking after the command --- */

/* What the keeper looks after, and by what. */
struct care {
        struct site site;
        pid_t command;
        int children; /* a signalfd */
        struct denials denials;
};

/*
 * All that is dead; 1, with its status, when the command is among them, 0, or -errno. Tells the front when it was stopped.
 */
static int reap(const struct care *c, int *ret_status)
{
        int ended = 0;
        int status = 0;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0 || (pid < 0 && errno == EINTR)) {
                if (pid != c->command)
                        continue;
                if (WIFSTOPPED(status) && c->site.request->serve) {
                        (void)kill(pid, SIGCONT); /* by one of its own commands: nobody but us would ever let it go on */
                        continue;
                }
                if (WIFSTOPPED(status)) {
                        site_tell(&c->site, BOX_STOPPED, WSTOPSIG(status), NULL);
                        continue;
                }
                *ret_status = status;
                ended = 1;
        }
        return ended || pid == 0 ? ended : -errno;
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
        if (!site_has(c->site.plan, SPACE_PID) && !c->site.scoped) {
                end_children();
        } else if (kill(-1, SIGKILL) == 0) {
                while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                        ;
        }
        if (c->site.request->scratch)
                scratch_remove(c->site.request->scratch);
}

/*
 * Without pids of its own a box would outlive its keeper, if somebody killed that. The keeper's second is one more process
 * of its domain: it waits for the keeper's end, and then ends everybody else there. When all goes well it is ended with
 * the others. Returns 0 or -errno.
 */
static int have_a_second(const struct care *c)
{
        if (site_has(c->site.plan, SPACE_PID) || !c->site.scoped)
                return 0;
        CLEANUP_FD int keeper = pidfd_open(getpid(), 0);
        pid_t pid = keeper < 0 ? -1 : fork();
        if (pid != 0)
                return pid < 0 ? -errno : 0;
        const struct cgroup *cgroup = c->site.request->cgroup;
        detach("rw-second", keeper, cgroup ? cgroup->hold : -1); /* its janitor comes after us */
        struct pollfd ended = { .fd = 0, .events = POLLIN };
        while (poll(&ended, 1, -1) < 0)
                ;
        end_others(c); /* of the keeper's children it has none; the signal reaches all the same */
        _exit(EXIT_RINGWALL);
}

/*
 * Giving a socket to a program waits until that has run, and the box can see to it that this takes long. So a process of its own does
 * it: the keeper must hear of the front, of time and of the end. Without it nobody gets a socket.
 */
static void have_a_giver(struct care *c)
{
        struct denials denials = c->denials;
        pid_t pid = denials.rights & FILTER_GIVEN && denials.listener >= 0 ? fork() : -1;
        if (pid == 0) {
                detach("rw-giver", denials.listener, -1);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (denials.listener = 0; denials.listener >= 0; denials_answer(&denials)) {
                        struct pollfd waiting = { .fd = denials.listener, .events = POLLIN };
                        (void)poll(&waiting, 1, -1);
                }
                _exit(0);
        }
        if (denials.rights & FILTER_GIVEN)
                fd_close(&c->denials.listener);
}

/* Waits until the command runs, or tells why it does not. The pipe ends with exec. */
static int await_start(int from_command, struct care *care)
{
        /* What serves executes nothing to begin with, so nothing is to be let pass. */
        bool may_exec = care->site.plan->number[PLAN_ALLOW_EXEC].number || care->site.request->serve;
        struct start_failure f;
        /* First one byte, perhaps with a listener, when the filter stands; or the reason why it does not. */
        ssize_t n = wire_receive(from_command, &f, sizeof f, 0, &care->denials.listener);
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
                site_tell(&care->site, BOX_STARTED, care->site.rules.abi, NULL);
                return 0;
        }
        if (n != sizeof f) {
                f.code = EXIT_RINGWALL;
                error_set(&f.error, EPIPE, "start", "the command ended before it was started");
        }
        end_others(care);
        site_tell(&care->site, BOX_FAILED, f.code, &f.error);
        return -EIO;
}

static void tell_denials(const struct care *c)
{
        const struct denials_told *told = c->denials.told;
        for (size_t i = 0; i < told->count && i < DENIALS_MAX; i++) {
                struct box_message m = { .kind = BOX_DENIED, .denial = told->list[i] };
                (void)wire_send(c->site.control, &m, sizeof m, -1);
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
        ssize_t n = recv(c->site.control, &m, sizeof m, MSG_DONTWAIT);
        if (n == 0) { /* the front is gone */
                end_others(c);
                _exit(EXIT_RINGWALL);
        }
        if (n != sizeof m)
                return;
        if (m.kind == BOX_SIGNAL && m.number > 0 && m.number < NSIG)
                send_signal(c->command, m.number);
        if (m.kind == BOX_CONTINUE) {
                pty_turn(&c->site.pty, m.number ? group_of(c->command) : 0);
                send_signal(c->command, SIGCONT);
        }
}

static int look_after(struct care *c)
{
        enum { CHILDREN, CONTROL, DENIALS, EGRESS };
        struct pollfd events[] = {
                [CHILDREN] = { .fd = c->children, .events = POLLIN },
                [CONTROL] = { .fd = c->site.control, .events = POLLIN },
                [DENIALS] = { .fd = c->denials.listener, .events = POLLIN },
                [EGRESS] = { .fd = c->site.request->egress, .events = POLLIN },
        };
        for (int status = 0;;) {
                struct signalfd_siginfo info;
                bool blind = poll(events, ARRAY_SIZE(events), -1) < 0 && errno != EINTR;
                if (!blind && events[CHILDREN].revents)
                        blind = read(c->children, &info, sizeof info) < 0 && errno != EAGAIN;
                int dead = blind ? -EIO : reap(c, &status);
                if (dead < 0) { /* nobody would look after it */
                        end_others(c);
                        return EXIT_RINGWALL;
                }
                if (events[DENIALS].revents) {
                        denials_answer(&c->denials);
                        events[DENIALS].fd = c->denials.listener;
                }
                if (events[EGRESS].revents && net_give_socket(events[EGRESS].fd) < 0)
                        events[EGRESS].fd = -1; /* gone, and the box's network with it */
                if (dead) {
                        end_others(c);
                        tell_denials(c);
                        fd_close(&c->site.pty.slave); /* the last: now the front reads the end of the output */
                        site_tell(&c->site, BOX_EXITED, status, NULL);
                        return 0;
                }
                if (events[CONTROL].revents)
                        take_message(c);
        }
}

static _Noreturn void give_up(const struct care *c, const struct error *e)
{
        if (c->site.request->scratch)
                scratch_remove(c->site.request->scratch);
        site_tell(&c->site, BOX_FAILED, EXIT_RINGWALL, e);
        _exit(EXIT_RINGWALL);
}

static int watch_children(struct care *c, struct error *e)
{
        sigset_t chld, blocked;
        (void)sigemptyset(&chld);
        (void)sigaddset(&chld, SIGCHLD);
        blocked = chld;
        (void)sigaddset(&blocked, SIGTTOU); /* we give the terminal away and take it back from behind */
        if (sigprocmask(SIG_BLOCK, &blocked, NULL) == 0)
                c->children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
        return c->children < 0 ? error_errno(e, errno, "start", "cannot watch over the command") : 0;
}

/*
 * A program that uses the library may have any descriptors, and the keeper is a copy of it: a pipe would not end, or a port be taken,
 * as long as the box runs.
 */
static void let_go_of_others(const struct care *c)
{
        const struct launch_request *request = c->site.request;
        const int kept[] = { c->children, c->site.control, c->denials.listener, c->site.pty.slave, request->egress,
                             request->cgroup ? request->cgroup->hold : -1 };
        for (int from = STDERR_FILENO + 1; from >= 0;) {
                int next = INT_MAX;
                for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
                        if (kept[i] >= from && kept[i] < next)
                                next = kept[i];
                if (next > from)
                        (void)syscall(SYS_close_range, (unsigned)from, (unsigned)next - 1, 0U);
                from = next < INT_MAX ? next + 1 : -1;
        }
}

/* Dies with the front, or, without pids of its own, stays to clear up after it. */
static void tie_to_front(const struct care *c)
{
        struct pollfd front = { .fd = c->site.control };
        if (site_has(c->site.plan, SPACE_PID))
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        else if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                _exit(EXIT_RINGWALL);
        /* The front may have died before that: then its end of the socket is closed already. */
        if (poll(&front, 1, 0) > 0 && (front.revents & POLLHUP))
                _exit(EXIT_RINGWALL);
}

/* Runs as pid 1 of the box, where it has pids of its own, and never returns. */
static _Noreturn void keep(struct site site)
{
        struct error e = { 0 };
        struct care care = { .site = site, .command = -1, .children = -1 };
        unsigned rights = filter_rights(site.plan);
        int prepared = denials_begin(&care.denials, rights, rights & FILTER_GIVEN);
        tie_to_front(&care);
        for (size_t i = 0; i < hold_count; i++)
                if (holds[i]->prepare && holds[i]->prepare(&care.site, &e) < 0)
                        give_up(&care, &e);
        if (watch_children(&care, &e) < 0)
                give_up(&care, &e);
        if (prepared == 0)
                prepared = have_a_second(&care);
        if (prepared < 0) {
                error_errno(&e, -prepared, "start", "cannot prepare for the command");
                give_up(&care, &e);
        }
        int pair[2];
        bool may_exec = site.plan->number[PLAN_ALLOW_EXEC].number;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
                care.site.to_keeper = pair[1];
                care.command = fork_command(&care.site, may_exec && !site.request->serve && care.site.pty.slave < 0);
        }
        if (care.command < 0) {
                error_errno(&e, errno, "start", "cannot fork");
                give_up(&care, &e);
        }
        fd_close(&pair[1]);
        fd_close(&care.site.rules.fd);
        int started = await_start(pair[0], &care);
        if (started == 0) {
                have_a_giver(&care);
                let_go_of_others(&care);
        }
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

int launch_box(const struct launch_request *request, struct box *ret, struct error *e)
{
        int pair[2], pidfd = -1;
        int abi = ruleset_abi();
        if (abi < 1)
                return error_errno(e, abi < 0 ? -abi : ENOSYS, "landlock",
                                   "this kernel has no Landlock ('ringwall doctor' says why)");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_errno(e, errno, "launch", "cannot make a socket");
        CLEANUP_FD int ours = pair[0], theirs = pair[1];
        struct site site = { .request = request, .plan = request->plan, .uid = geteuid(), .gid = getegid(), .control = theirs,
                             .to_keeper = -1, .pty = { .master = -1, .slave = -1 }, .rules.fd = -1 };
        struct clone_args args = {
                .flags = clone_flags(hold_spaces_of(request->plan, abi)),
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
                keep(site);
        }
        *ret = (struct box){ .own_pids = site_has(request->plan, SPACE_PID), .scratch = request->scratch,
                              .pid = (pid_t)pid, .pidfd = pidfd, .control = TAKE_FD(ours) };
        return 0;
}

ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd)
{
        return wire_receive(box->control, ret, sizeof *ret, MSG_DONTWAIT, ret_fd);
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
