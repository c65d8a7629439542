/*
 * Namespaces and mounts.
 *
 * What it is for: `strict` and `maximum` put a box into its own user, pid, mount, ipc, uts, cgroup (and net) namespaces
 * and under a root of its own. This file asks whether this kernel, for this user, in these surroundings, allows that.
 *
 * How it works: each namespace is really made, inside a fresh user namespace as a box would make it, and then used: a
 * namespace that was granted but is powerless (AppArmor's restriction on Ubuntu does exactly that) must not count as
 * working. Mounts are tried on a tmpfs that only the asking child can see.
 *
 * What it trusts: /proc is the kernel's. Attackers control nothing here: no path or name comes from outside.
 *
 * Needs of the kernel: user namespaces, and what is asked: pid, mount, ipc, uts, cgroup namespaces, clone3 (5.3),
 * open_tree and move_mount (5.2), mount_setattr (5.12), overlayfs in a user namespace (5.11).
 */
#include "linux/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/kernel_abi.h"
#include "linux/probes.h"

static int write_proc(const char *path, const char *text)
{
        CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int map_ids(unsigned int uid, unsigned int gid, struct answer *a)
{
        char uid_map[32], gid_map[32];
        (void)snprintf(uid_map, sizeof uid_map, "0 %u 1", uid);
        (void)snprintf(gid_map, sizeof gid_map, "0 %u 1", gid);
        const struct {
                const char *path, *text;
        } steps[] = {
                { "/proc/self/uid_map", uid_map },
                { "/proc/self/setgroups", "deny" }, /* the kernel wants this before an unprivileged gid_map */
                { "/proc/self/gid_map", gid_map },
        };
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                int r = write_proc(steps[i].path, steps[i].text);
                if (r < 0) {
                        char stage[sizeof a->stage];
                        (void)snprintf(stage, sizeof stage, "write %s", steps[i].path);
                        return ask_failed_with(a, -r, stage);
                }
        }
        return 0;
}

int spaces_enter(int flags, struct answer *a)
{
        unsigned int uid = geteuid(), gid = getegid();
        if (unshare(CLONE_NEWUSER) < 0)
                return ask_failed(a, "make a user namespace");
        int r = map_ids(uid, gid, a);
        if (r < 0)
                return r;
        if (flags && unshare(flags) < 0)
                return ask_failed(a, "make the namespace");
        return 0;
}

int spaces_make_scratch(struct answer *a)
{
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return ask_failed(a, "make the mounts private");
        if (mount("tmpfs", SPACES_SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") < 0)
                return ask_failed(a, "mount a tmpfs");
        return 0;
}

static int ask_user(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(0, a);
        if (r < 0)
                return r;
        /* AppArmor can grant the namespace and refuse every capability in it: use one. */
        if (prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) < 0)
                return ask_failed(a, "use a capability inside");
        ask_say(a, "made, mapped, capabilities work");
        return 0;
}

static int check_first(void *unused)
{
        (void)unused;
        return getpid() == 1 ? 0 : EPROTO;
}

static int check_hostname(void *unused)
{
        (void)unused;
        return sethostname("box", 3) < 0 ? errno : 0;
}

static int check_mount(void *unused)
{
        (void)unused;
        struct answer a;
        int r = spaces_make_scratch(&a);
        if (r < 0)
                return -r;
        return umount2(SPACES_SCRATCH, 0) < 0 ? errno : 0;
}

enum { TRIAL_PID, TRIAL_MOUNT, TRIAL_IPC, TRIAL_UTS, TRIAL_CGROUP };
static const struct trial {
        int flag;
        const char *path;     /* names the namespace that the flag replaces; its inode must change */
        int (*check)(void *); /* what the new namespace must allow, where a small step can tell; runs in a fork */
} trials[] = {
        [TRIAL_PID] = { CLONE_NEWPID, "/proc/self/ns/pid_for_children", check_first },
        [TRIAL_MOUNT] = { CLONE_NEWNS, "/proc/self/ns/mnt", check_mount },
        [TRIAL_IPC] = { CLONE_NEWIPC, "/proc/self/ns/ipc", NULL },
        [TRIAL_UTS] = { CLONE_NEWUTS, "/proc/self/ns/uts", check_hostname },
        [TRIAL_CGROUP] = { CLONE_NEWCGROUP, "/proc/self/ns/cgroup", NULL },
};

static int ask_space(unsigned long which, struct answer *a)
{
        const struct trial *s = &trials[which];
        struct stat before, after;
        if (stat(s->path, &before) < 0)
                return ask_failed(a, "look at the namespace");
        int r = spaces_enter(s->flag, a);
        if (r < 0)
                return r;
        if (s->check) {
                r = ask_in_fork(s->check, NULL);
                if (r < 0)
                        return ask_failed_with(a, -r, "work in the new namespace");
        }
        if (stat(s->path, &after) < 0)
                return ask_failed(a, "look at the namespace");
        if (after.st_ino == before.st_ino)
                return ask_failed_with(a, EPROTO, "see the new namespace");
        return 0;
}

static int ask_together(unsigned long unused, struct answer *a)
{
        (void)unused;
        struct clone_args args = {
                .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                         CLONE_NEWCGROUP,
                .exit_signal = SIGCHLD,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid < 0)
                return ask_failed(a, "use clone3 with seven namespaces");
        if (pid == 0)
                _exit(check_first(NULL));
        int r = ask_wait(pid);
        if (r < 0)
                return ask_failed_with(a, -r, "run as process 1");
        ask_say(a, "user pid mount ipc uts net cgroup");
        return 0;
}

/* A read-only copy of the host's tree below the scratch, by file descriptor. */
static int place_tree(struct answer *a)
{
        CLEANUP_FD int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/",
                                           OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (tree < 0)
                return ask_failed(a, "use open_tree");
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
        if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
                return ask_failed(a, "use mount_setattr");
        if (mkdir(SPACES_SCRATCH "/host", 0700) < 0)
                return ask_failed(a, "mkdir");
        if (syscall(SYS_move_mount, tree, "", AT_FDCWD, SPACES_SCRATCH "/host", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return ask_failed(a, "use move_mount");
        return 0;
}

static int ask_root(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNS, a);
        if (r >= 0)
                r = spaces_make_scratch(a);
        if (r >= 0)
                r = place_tree(a);
        if (r < 0)
                return r;
        if (chdir(SPACES_SCRATCH) < 0)
                return ask_failed(a, "chdir");
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return ask_failed(a, "use pivot_root");
        if (umount2(".", MNT_DETACH) < 0)
                return ask_failed(a, "detach the old root");
        struct statvfs st;
        if (statvfs("/host", &st) < 0)
                return ask_failed(a, "see the new root");
        if (!(st.f_flag & ST_RDONLY) || access("/host/proc", F_OK) < 0 || access("/proc", F_OK) == 0)
                return ask_failed_with(a, EPROTO, "see a read-only copy under a new root");
        ask_say(a, "open_tree mount_setattr move_mount pivot_root");
        return 0;
}

static int mount_proc(void *unused)
{
        (void)unused;
        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return errno;
        char self[8] = "";
        if (readlink("/proc/self", self, sizeof self - 1) < 0)
                return errno;
        return strcmp(self, "1") == 0 ? 0 : EPROTO;
}

static int ask_proc(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNS | CLONE_NEWPID, a);
        if (r < 0)
                return r;
        r = ask_in_fork(mount_proc, NULL);
        return r < 0 ? ask_failed_with(a, -r, "mount a fresh /proc") : 0;
}

#define OVERLAY_OPTIONS \
        "lowerdir=" SPACES_SCRATCH "/lower,upperdir=" SPACES_SCRATCH "/upper,workdir=" SPACES_SCRATCH "/work,userxattr"

static int mount_overlay(struct answer *a)
{
        static const char *const directories[] = { "/lower", "/upper", "/work", "/merged", "/lower/gone" };
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
                char path[64];
                (void)snprintf(path, sizeof path, "%s%s", SPACES_SCRATCH, directories[i]);
                if (mkdir(path, 0700) < 0)
                        return ask_failed(a, "mkdir");
        }
        if (mount("overlay", SPACES_SCRATCH "/merged", "overlay", MS_NOSUID | MS_NODEV, OVERLAY_OPTIONS) < 0)
                return ask_failed(a, "mount an overlay");
        return 0;
}

static int ask_overlay(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNS, a);
        if (r >= 0)
                r = spaces_make_scratch(a);
        if (r >= 0)
                r = mount_overlay(a);
        if (r < 0)
                return r;
        /* A snapshot lives by both: what is new stays above, what is removed stays below. */
        if (mkdir(SPACES_SCRATCH "/merged/new", 0700) < 0)
                return ask_failed(a, "write above an overlay");
        if (rmdir(SPACES_SCRATCH "/merged/gone") < 0)
                return ask_failed(a, "remove above an overlay");
        if (access(SPACES_SCRATCH "/lower/new", F_OK) == 0 || access(SPACES_SCRATCH "/lower/gone", F_OK) < 0)
                return ask_failed_with(a, EPROTO, "leave the lower directory alone");
        return 0;
}

void spaces_probe(struct probe_report *report)
{
        static const struct question questions[] = {
                { FEATURE_USER, ask_user, 0 },
                { FEATURE_PID, ask_space, TRIAL_PID },
                { FEATURE_MOUNT, ask_space, TRIAL_MOUNT },
                { FEATURE_IPC, ask_space, TRIAL_IPC },
                { FEATURE_UTS, ask_space, TRIAL_UTS },
                { FEATURE_CGROUP, ask_space, TRIAL_CGROUP },
                { FEATURE_TOGETHER, ask_together, 0 },
                { FEATURE_ROOT, ask_root, 0 },
                { FEATURE_PROC, ask_proc, 0 },
                { FEATURE_OVERLAY, ask_overlay, 0 },
        };
        ask_all(report, questions, ARRAY_SIZE(questions));
}
