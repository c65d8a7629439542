/*
 * The keeper: prepares the walls, starts the command and its guard, reaps, forwards signals, answers refused calls, and
 * kills all other processes of the box when the command exits. launch.c has the theory.
 *
 * What an attacker controls: the command's processes, which are its children; when they exit, and which of their calls
 * are refused. Its memory cannot be read by them, and every message to the front has a fixed size.
 */
#include "linux/keeper.h"

#include <errno.h>
#include <poll.h>
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

#include "base/exit_status.h"
#include "base/fd.h"
#include "linux/command.h"
#include "linux/confine.h"
#include "linux/daemonize.h"
#include "linux/filter_install.h"
#include "linux/guard_keeper.h"
#include "linux/net_setup.h"
#include "linux/resource_group.h"
#include "linux/scratch.h"
#include "wire/packet.h"

/* The state of the keeper. */
struct keeper {
        struct box_setup setup;
        pid_t command;
        int sigchld; /* a signalfd */
        struct refused_calls refused;
        struct guard_shared *guards; /* NULL: the box has no guard */
        int to_guard; /* without namespaces: a socket to the guard, or -1 */
};

/*
 * Reaps all dead children. Returns 1 and the wait status if the command was among them, 0 if not, -ESRCH if a guard
 * died, or another -errno. Reports to the front when the command was stopped.
 */
static int reap(const struct keeper *k, int *ret_status)
{
        int ended = 0;
        int status = 0;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0 || (pid < 0 && errno == EINTR)) {
                if (pid > 0 && !WIFSTOPPED(status) && k->guards && guard_is_guard_pid(k->guards, pid))
                        return -ESRCH;
                if (pid != k->command)
                        continue;
                if (WIFSTOPPED(status) && k->setup.request->serve) {
                        /* one of its own commands stopped it, and only the keeper can continue it */
                        (void)kill(pid, SIGCONT);
                        continue;
                }
                if (WIFSTOPPED(status)) {
                        send_to_front(&k->setup, BOX_STOPPED, WSTOPSIG(status), NULL);
                        continue;
                }
                *ret_status = status;
                ended = 1;
        }
        return ended || pid == 0 ? ended : -errno;
}

/* For kernels that cannot scope signals: kills child by child until none is left. A box that forks faster survives. */
static void kill_children_one_by_one(void)
{
        static const struct timespec one_millisecond = { .tv_nsec = 1000000 };
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
                (void)nanosleep(&one_millisecond, NULL);
        }
}

/*
 * Kills what the command left running, before its exit is reported, and removes the scratch directory. In a pid
 * namespace the keeper's exit would kill these processes too, but then the front would have to wait for that exit, and
 * so until the mounts are torn down.
 */
static void kill_others(const struct keeper *k)
{
        if (!plan_has_namespace(k->setup.plan, NAMESPACE_PID) && !k->setup.signals_scoped) {
                kill_children_one_by_one();
        } else if (kill(-1, SIGKILL) == 0) {
                while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                        ;
        }
        if (k->setup.request->scratch)
                scratch_dir_remove(k->setup.request->scratch);
}

/*
 * Without a pid namespace a box would outlive a killed keeper. The watchdog is another process in the keeper's Landlock
 * domain: it waits for the keeper's exit and then kills all other processes of the domain. Normally it is killed with
 * them. Returns 0 or -errno.
 */
static int fork_watchdog(const struct keeper *k)
{
        if (plan_has_namespace(k->setup.plan, NAMESPACE_PID) || !k->setup.signals_scoped)
                return 0;
        CLEANUP_FD int keeper_pidfd = pidfd_open(getpid(), 0);
        pid_t pid = keeper_pidfd < 0 ? -1 : fork();
        if (pid != 0)
                return pid < 0 ? -errno : 0;
        const struct resource_group *group = k->setup.request->resources;
        const struct cgroup *cgroup = group ? &group->cgroup : NULL;
        enum { KEEPER_PIDFD = 0 }; /* where daemonize_child() puts it */
        daemonize_child("rw-watchdog", keeper_pidfd, cgroup ? cgroup->lifeline : -1);
        struct pollfd ended = { .fd = KEEPER_PIDFD, .events = POLLIN };
        while (poll(&ended, 1, -1) < 0)
                ;
        kill_others(k); /* kill(-1) reaches the whole domain, though these are not our children */
        _exit(EXIT_RINGWALL);
}

/*
 * ADDFD blocks until the target runs, and a hostile box can delay that. So a process of its own answers socket(), and
 * the keeper is not blocked. If it cannot be forked, every socket() fails. A box with a guard does not need it.
 */
static void fork_socket_server(struct keeper *k)
{
        struct refused_calls refused = k->refused;
        pid_t pid = refused.rights & FILTER_SOCKET_SERVER && refused.listener >= 0 ? fork() : -1;
        if (pid == 0) {
                daemonize_child("rw-sockets", refused.listener, -1);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (refused.listener = 0; refused.listener >= 0; refused_calls_answer(&refused)) {
                        struct pollfd waiting = { .fd = refused.listener, .events = POLLIN };
                        (void)poll(&waiting, 1, -1);
                }
                _exit(0);
        }
        if (refused.rights & FILTER_SOCKET_SERVER)
                fd_close(&k->refused.listener);
}

/*
 * Starts the guard, which serves the calls that rules by name depend on (guard.h); those calls block until then.
 * Without namespaces the guard is already running and waits for the listener.
 */
static int start_guard(struct keeper *k)
{
        struct error e;
        if (k->setup.guard == FILTER_NO_GUARD)
                return 0;
        int r = 0;
        pid_t pid = k->to_guard < 0 ? fork() : -1;
        if (pid == 0)
                guard_serve(&k->setup.guard_start);
        if (pid > 0)
                guard_register_first(k->guards, pid);
        if (k->to_guard >= 0)
                r = packet_send(k->to_guard, "", 1, k->refused.listener);
        else if (pid < 0)
                r = -errno;
        fd_close(&k->refused.listener);
        return r < 0 || !k->setup.guard_start.has_ptrace ? r : confine_capabilities(false, &e);
}

/* Makes the memory and the socket that the keeper shares with the guard and with the process that forks it. */
static int prepare_guard(struct keeper *k)
{
        int pair[2] = { -1, -1 };
        if (k->setup.guard == FILTER_NO_GUARD)
                return 0;
        k->guards = guard_shared_new();
        if (!k->guards)
                return -ENOMEM;
        bool early = !plan_has_namespace(k->setup.plan, NAMESPACE_MOUNT);
        if (early && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        k->to_guard = pair[0];
        k->setup.guard_start = (struct guard_start){
                .plan = k->setup.plan,
                .aliases = &k->setup.aliases,
                .shared = k->guards,
                .refused = &k->refused,
                .has_ptrace = k->setup.guard_start.has_ptrace,
                .scratch = k->setup.request->scratch,
                .places = &k->setup.places,
                .keeper = pair[1],
        };
        return 0;
}

/* Waits until the command runs, or reports to the front why it does not. Its exec closes the socket. */
static int wait_for_command_start(int from_command, struct keeper *keeper)
{
        /* A serve function starts without an exec, so there is none to allow. */
        bool may_exec = keeper->setup.plan->scalar[PLAN_ALLOW_EXEC].value || keeper->setup.request->serve;
        struct start_failure f;
        /* First message: one byte, perhaps with a listener, once the filter is installed; or why that failed. */
        ssize_t n = packet_receive(from_command, &f, sizeof f, 0, &keeper->refused.listener);
        /* Without the right to exec, the first notified call is the command's own exec, which ringwall's code makes. */
        int r = n == 1 && !may_exec ? refused_calls_let_exec_continue(&keeper->refused) : 0;
        if (r < 0)
                fd_close(&keeper->refused.listener); /* its exec then fails, and it reports that */
        if (n == 1)
                n = recv(from_command, &f, sizeof f, 0);
        else if (n == 0)
                n = -1; /* it died before it sent anything */
        if (r < 0 && n == sizeof f) {
                f.code = EXIT_RINGWALL;
                error_errno(&f.error, -r, "cannot allow the command's exec");
        }
        if (n == 0 && r == 0) {
                const struct box_message m = { .kind = BOX_STARTED,
                                               .number = keeper->setup.rules.abi,
                                               .guard = keeper->setup.guard };
                (void)packet_send(keeper->setup.to_front, &m, sizeof m, -1);
                return 0;
        }
        if (n != sizeof f) {
                f.code = EXIT_RINGWALL;
                error_set(&f.error, EPIPE, "the process that should run the command died first");
        }
        kill_others(keeper);
        send_to_front(&keeper->setup, BOX_FAILED, f.code, &f.error);
        return -EIO;
}

static void send_refused(const struct keeper *k)
{
        const struct refused_log *log = k->refused.log;
        bool reaches_out = k->setup.request->egress >= 0;
        unsigned unroutable = plan_has_own_network(k->setup.plan) && !reaches_out ? net_count_unroutable() : 0;
        if (unroutable) {
                const struct refused_call call = { .number = REFUSED_NO_ROUTE, .count = unroutable };
                struct box_message m = { .kind = BOX_REFUSED_CALL, .call = call };
                (void)packet_send(k->setup.to_front, &m, sizeof m, -1);
        }
        for (size_t i = 0; i < log->call_count && i < REFUSED_CALLS_MAX; i++) {
                struct box_message m = { .kind = BOX_REFUSED_CALL, .call = log->calls[i] };
                (void)packet_send(k->setup.to_front, &m, sizeof m, -1);
        }
        for (size_t i = 0; i < log->path_count && i < REFUSED_PATHS_MAX; i++) {
                struct box_message m = { .kind = BOX_REFUSED_PATH, .path = log->paths[i] };
                (void)packet_send(k->setup.to_front, &m, sizeof m, -1);
        }
}

/*
 * The process group of the command, which may have changed it. Returns 0 if that is the keeper's own group, or group 1:
 * kill(-1) would signal every process.
 */
static pid_t foreground_group_of(pid_t command)
{
        pid_t group = getpgid(command);
        return group > 1 && group != getpgrp() ? group : 0;
}

static void send_signal(pid_t command, int number)
{
        pid_t group = foreground_group_of(command);
        (void)kill(group ? -group : command, number);
}

static void handle_message(const struct keeper *k)
{
        struct box_message m;
        ssize_t n = recv(k->setup.to_front, &m, sizeof m, MSG_DONTWAIT);
        if (n == 0) { /* the front has exited */
                kill_others(k);
                _exit(EXIT_RINGWALL);
        }
        if (n != sizeof m)
                return;
        if (m.kind == BOX_SIGNAL && m.number > 0 && m.number < NSIG)
                send_signal(k->command, m.number);
        if (m.kind == BOX_CONTINUE) {
                pty_set_foreground(&k->setup.pty, m.number ? foreground_group_of(k->command) : 0);
                send_signal(k->command, SIGCONT);
        }
}

static int keeper_loop(struct keeper *k)
{
        enum { CHILDREN, CONTROL, REFUSED, EGRESS, GUARD };
        struct pollfd events[] = {
                [CHILDREN] = { .fd = k->sigchld, .events = POLLIN },
                [CONTROL] = { .fd = k->setup.to_front, .events = POLLIN },
                [REFUSED] = { .fd = k->refused.listener, .events = POLLIN },
                [EGRESS] = { .fd = k->setup.request->egress, .events = POLLIN },
                [GUARD] = { .fd = k->to_guard, .events = POLLIN },
        };
        for (int status = 0;;) {
                struct signalfd_siginfo info;
                bool broken = poll(events, ARRAY_SIZE(events), -1) < 0 && errno != EINTR;
                if (!broken && events[CHILDREN].revents)
                        broken = read(k->sigchld, &info, sizeof info) < 0 && errno != EAGAIN;
                int reaped = broken ? -EIO : reap(k, &status);
                if (reaped < 0) { /* no process would supervise the box any more */
                        struct error e;
                        kill_others(k);
                        error_errno(&e, -reaped,
                                    reaped == -ESRCH ? "the guard, which checks file names, has ended, so the box was "
                                                       "killed"
                                                     : "cannot supervise the box, so it was killed");
                        send_to_front(&k->setup, BOX_FAILED, EXIT_RINGWALL, &e);
                        return EXIT_RINGWALL;
                }
                if (events[REFUSED].revents) {
                        refused_calls_answer(&k->refused);
                        events[REFUSED].fd = k->refused.listener;
                }
                if (events[EGRESS].revents && net_send_socket(events[EGRESS].fd) < 0)
                        events[EGRESS].fd = -1; /* egress has exited, so the box has no network any more */
                if (events[GUARD].revents && guard_keeper_answer(events[GUARD].fd) < 0)
                        events[GUARD].fd = -1; /* all guards have exited; reap() is about to notice */
                if (reaped) {
                        kill_others(k);
                        send_refused(k);
                        fd_close(&k->setup.pty.slave); /* the last one open: the front now reads EOF */
                        send_to_front(&k->setup, BOX_EXITED, status, NULL);
                        return 0;
                }
                if (events[CONTROL].revents)
                        handle_message(k);
        }
}

static _Noreturn void abort_start(const struct keeper *k, const struct error *e)
{
        if (k->setup.request->scratch)
                scratch_dir_remove(k->setup.request->scratch);
        send_to_front(&k->setup, BOX_FAILED, EXIT_RINGWALL, e);
        _exit(EXIT_RINGWALL);
}

/*
 * The keeper's memory is a copy of the front's, with the person's environment in it, which the box must not see. The
 * command gets its own.
 */
static void erase_environment(void)
{
        for (char **variable = environ; variable && *variable; variable++)
                explicit_bzero(*variable, strlen(*variable));
}

static int open_child_signalfd(struct keeper *k, struct error *e)
{
        sigset_t chld, blocked;
        (void)sigemptyset(&chld);
        (void)sigaddset(&chld, SIGCHLD);
        blocked = chld;
        (void)sigaddset(&blocked, SIGTTOU); /* tcsetpgrp() is called from the background */
        if (sigprocmask(SIG_BLOCK, &blocked, NULL) == 0)
                k->sigchld = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
        return k->sigchld < 0 ? error_errno(e, errno, "cannot make a signalfd to supervise the command") : 0;
}

/*
 * The keeper inherits every descriptor of a program that uses the library. If one stayed open, a pipe would not reach
 * EOF, or a port would be in use, as long as the box runs.
 */
static void close_other_fds(const struct keeper *k)
{
        const struct launch_request *request = k->setup.request;
        const int kept[] = { k->sigchld,
                             k->setup.to_front,
                             k->refused.listener,
                             k->setup.pty.slave,
                             request->egress,
                             k->to_guard,
                             request->resources ? request->resources->cgroup.lifeline : -1 };
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

/* The keeper is killed with the front, or, without a pid namespace, survives it to clean up. */
static void follow_front_lifetime(const struct keeper *k)
{
        struct pollfd front = { .fd = k->setup.to_front };
        if (plan_has_namespace(k->setup.plan, NAMESPACE_PID))
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        else if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                _exit(EXIT_RINGWALL);
        /* The front may have died before the call above: then its end of the socket is already closed. */
        if (poll(&front, 1, 0) > 0 && (front.revents & POLLHUP))
                _exit(EXIT_RINGWALL);
}

_Noreturn void keeper_run(struct box_setup setup)
{
        struct error e = { 0 };
        struct keeper keeper = { .setup = setup, .command = -1, .sigchld = -1, .to_guard = -1 };
        follow_front_lifetime(&keeper);
        for (size_t i = 0; i < wall_count; i++)
                if (walls[i]->prepare && walls[i]->prepare(&keeper.setup, &e) < 0)
                        abort_start(&keeper, &e);
        if (open_child_signalfd(&keeper, &e) < 0)
                abort_start(&keeper, &e);
        erase_environment();
        bool guarded = keeper.setup.guard != FILTER_NO_GUARD;
        unsigned rights = filter_rights_from_plan(setup.plan, keeper.setup.guard);
        int prepared = refused_calls_init(&keeper.refused, rights, (rights & FILTER_SOCKET_SERVER) || guarded);
        if (prepared == 0)
                prepared = prepare_guard(&keeper);
        if (prepared == 0)
                prepared = fork_watchdog(&keeper);
        if (prepared < 0) {
                error_errno(&e, -prepared, "cannot prepare to supervise the command");
                abort_start(&keeper, &e);
        }
        int pair[2];
        bool may_exec = setup.plan->scalar[PLAN_ALLOW_EXEC].value;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
                keeper.setup.to_keeper = pair[1];
                keeper.command = command_fork(&keeper.setup, may_exec && !setup.request->serve &&
                                                                     keeper.setup.pty.slave < 0 && keeper.to_guard < 0);
        }
        if (keeper.command < 0) {
                error_errno(&e, errno, "cannot fork");
                abort_start(&keeper, &e);
        }
        fd_close(&pair[1]);
        fd_close(&keeper.setup.guard_start.keeper);
        fd_close(&keeper.setup.rules.fd);
        int started = wait_for_command_start(pair[0], &keeper);
        if (started == 0 && (started = start_guard(&keeper)) < 0) {
                error_errno(&e, -started, "cannot start the guard");
                kill_others(&keeper);
                abort_start(&keeper, &e);
        }
        if (started == 0) {
                fork_socket_server(&keeper);
                close_other_fds(&keeper);
        }
        _exit(started < 0 ? EXIT_RINGWALL : keeper_loop(&keeper));
}
