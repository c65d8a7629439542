/*
 * Starting a box: this file is the front, keeper.c the keeper, command.c the command.
 *
 *   front (outside)  ── control socket ──  keeper (pid 1 of the box)  ──  command
 *
 * The front clones the keeper straight into its namespaces. The keeper prepares each wall in turn (box_setup.h) and
 * forks the command's process, which applies the walls to itself and executes the command. The keeper is the leader of
 * the command's session, reaps orphans and forwards signals. When the command exits, the keeper kills all other
 * processes of the box and then reports the exit status to the front.
 *
 * Which process has which privilege:
 *   front    the person's; no code of the box runs in it
 *   keeper   until wall_harden: every capability in its own user namespace, none outside; runs only our code.
 *            Afterwards: none, or CAP_SYS_PTRACE until the guard is forked. Not dumpable, so the command cannot
 *            read its memory.
 *   command  none from its first instruction; Landlock and the seccomp filter are installed between fork and exec
 *
 * When a process dies: with a pid namespace, the keeper is killed with the front (PR_SET_PDEATHSIG), and everything in
 * the box with the keeper; without one, see below. A command that cannot be started sends the reason over a socket that
 * exec closes.
 *
 * What a box leaves behind is removed: mounts and namespaces by the kernel, with their last process; the scratch
 * directory (level standard) by the keeper, or by the front if the keeper was killed; the cgroup by the front or by its
 * janitor (cgroup.c).
 *
 * Without a pid namespace (level standard) the keeper is a subreaper: orphans become its children. It outlives the
 * front for as long as it takes to kill them and to remove the scratch directory. How its signals reach them:
 * wall_landlock.c.
 *
 * Needs of the kernel: clone3 (5.3), pidfd (5.3), close_range (5.9), and what the walls need.
 */
#include "platform/box.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/filter_install.h"
#include "linux/keeper.h"
#include "linux/landlock_table.h"
#include "linux/resource_group.h"
#include "linux/scratch.h"
#include "wire/packet.h"

static uint64_t clone_flags(uint64_t namespaces)
{
        static const struct {
                uint64_t bit, flag;
        } rows[] = {
                { NAMESPACE_USER, CLONE_NEWUSER }, { NAMESPACE_PID, CLONE_NEWPID },
                { NAMESPACE_MOUNT, CLONE_NEWNS },  { NAMESPACE_IPC, CLONE_NEWIPC },
                { NAMESPACE_UTS, CLONE_NEWUTS },   { NAMESPACE_CGROUP, CLONE_NEWCGROUP },
                { NAMESPACE_NET, CLONE_NEWNET },
        };
        uint64_t flags = CLONE_PIDFD;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                flags |= namespaces & rows[i].bit ? rows[i].flag : 0;
        return flags;
}

int launch_box(const struct launch_request *request, struct box *ret, struct error *e)
{
        int pair[2], pidfd = -1;
        int abi = landlock_abi();
        if (abi < 1)
                return error_errno(e, abi < 0 ? -abi : ENOSYS,
                                   "this kernel has no Landlock ('ringwall doctor' says why)");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_errno(e, errno, "cannot make a socket");
        CLEANUP_FD int front_end = pair[0], keeper_end = pair[1];
        struct box_setup setup = { .request = request,
                                   .plan = request->plan,
                                   .uid = geteuid(),
                                   .gid = getegid(),
                                   .to_front = keeper_end,
                                   .to_keeper = -1,
                                   .pty = { .master = -1, .slave = -1 },
                                   .rules.fd = -1,
                                   .guard = FILTER_NO_GUARD };
        struct clone_args args = {
                .flags = clone_flags(box_namespaces(request->plan, abi)),
                .pidfd = (uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        if (request->resources) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (unsigned)request->resources->cgroup.directory;
        }
        long pid = syscall(SYS_clone3, &args, sizeof args);
        if (pid < 0)
                return error_errno(e, errno, "cannot make the box's %s ('ringwall doctor' says why)",
                                   request->resources ? "namespaces, or start in its cgroup" : "namespaces");
        if (pid == 0) {
                fd_close(&front_end);
                keeper_run(setup);
        }
        *ret = (struct box){ .own_pids = plan_has_namespace(request->plan, NAMESPACE_PID), .scratch = request->scratch,
                             .pid = (pid_t)pid, .pidfd = pidfd, .control = TAKE_FD(front_end) };
        return 0;
}

ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd)
{
        return packet_receive(box->control, ret, sizeof *ret, MSG_DONTWAIT, ret_fd);
}

void box_close_fds(struct box *box)
{
        fd_close(&box->pidfd);
        fd_close(&box->control);
}

void box_kill(struct box *box)
{
        int status = 0;
        if (box->own_pids)
                (void)kill(box->pid, SIGKILL);
        fd_close(&box->control); /* without a pid namespace the keeper cleans up when it reads EOF */
        while (waitpid(box->pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (box->scratch)
                scratch_dir_remove(box->scratch); /* still there only if the keeper was killed */
        box_close_fds(box);
}
