/*
 * Probes namespaces and mounts.
 *
 * What it is for: `strict` and `maximum` give a box its own user, pid, mount, ipc, uts, cgroup (and net) namespaces and
 * its own root directory. This file asks whether the kernel allows that to this user, on this host.
 *
 * How it works: makes each namespace inside a new user namespace, as for a box, and then uses it: a namespace without
 * capabilities (which Ubuntu's AppArmor restriction leads to) must not count as working. Mounts are tried on a tmpfs
 * that only the asking child can see.
 *
 * What it trusts: that /proc is the kernel's. An attacker controls nothing: no path or name comes from outside.
 *
 * Needs of the kernel: user namespaces, and the features that it asks for: pid, mount, ipc, uts and cgroup namespaces,
 * clone3 (5.3), open_tree and move_mount (5.2), mount_setattr (5.12), overlayfs in a user namespace (5.11).
 */
#include "linux/probe_namespaces.h"

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

static int map_ids(unsigned int uid, unsigned int gid, struct probe_answer *a)
{
        char uid_map[32], gid_map[32];
        (void)snprintf(uid_map, sizeof uid_map, "0 %u 1", uid);
        (void)snprintf(gid_map, sizeof gid_map, "0 %u 1", gid);
        const struct {
                const char *path, *text;
        } steps[] = {
                { "/proc/self/uid_map", uid_map },
                { "/proc/self/setgroups", "deny" }, /* required before an unprivileged process writes gid_map */
                { "/proc/self/gid_map", gid_map },
        };
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                int r = write_proc(steps[i].path, steps[i].text);
                if (r < 0) {
                        char stage[sizeof a->stage];
                        (void)snprintf(stage, sizeof stage, "write %s", steps[i].path);
                        return probe_fail_with(a, -r, stage);
                }
        }
        return 0;
}

int probe_enter_namespaces(int flags, struct probe_answer *a)
{
        unsigned int uid = geteuid(), gid = getegid();
        if (unshare(CLONE_NEWUSER) < 0)
                return probe_fail(a, "make a user namespace");
        int r = map_ids(uid, gid, a);
        if (r < 0)
                return r;
        if (flags && unshare(flags) < 0)
                return probe_fail(a, "make the namespace");
        return 0;
}

int probe_mount_tmpfs(struct probe_answer *a)
{
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return probe_fail(a, "make the mounts private");
        if (mount("tmpfs", PROBE_TMPFS_PATH, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") < 0)
                return probe_fail(a, "mount a tmpfs");
        return 0;
}

static int ask_user_namespace(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(0, a);
        if (r < 0)
                return r;
        /* AppArmor can allow the namespace and refuse every capability in it, so use a capability. */
        if (prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) < 0)
                return probe_fail(a, "use a capability inside");
        probe_describe(a, "made, mapped, capabilities work");
        return 0;
}

static int check_is_pid1(void *unused)
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
        struct probe_answer a;
        int r = probe_mount_tmpfs(&a);
        if (r < 0)
                return -r;
        return umount2(PROBE_TMPFS_PATH, 0) < 0 ? errno : 0;
}

enum { TRIAL_PID, TRIAL_MOUNT, TRIAL_IPC, TRIAL_UTS, TRIAL_CGROUP };
static const struct trial {
        int flag;
        const char *path;     /* identifies the namespace that the flag replaces: the inode must change */
        int (*check)(void *); /* uses the new namespace, in a forked child; NULL: no simple use shows that it works */
} trials[] = {
        [TRIAL_PID] = { CLONE_NEWPID, "/proc/self/ns/pid_for_children", check_is_pid1 },
        [TRIAL_MOUNT] = { CLONE_NEWNS, "/proc/self/ns/mnt", check_mount },
        [TRIAL_IPC] = { CLONE_NEWIPC, "/proc/self/ns/ipc", NULL },
        [TRIAL_UTS] = { CLONE_NEWUTS, "/proc/self/ns/uts", check_hostname },
        [TRIAL_CGROUP] = { CLONE_NEWCGROUP, "/proc/self/ns/cgroup", NULL },
};

static int ask_namespace(unsigned long which, struct probe_answer *a)
{
        const struct trial *t = &trials[which];
        struct stat before, after;
        if (stat(t->path, &before) < 0)
                return probe_fail(a, "identify the namespace");
        int r = probe_enter_namespaces(t->flag, a);
        if (r < 0)
                return r;
        if (t->check) {
                r = probe_in_grandchild(t->check, NULL);
                if (r < 0)
                        return probe_fail_with(a, -r, "use the new namespace");
        }
        if (stat(t->path, &after) < 0)
                return probe_fail(a, "identify the namespace");
        if (after.st_ino == before.st_ino)
                return probe_fail_with(a, EPROTO, "verify that the namespace is a new one");
        return 0;
}

static int ask_all_namespaces(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        struct clone_args args = {
                .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                         CLONE_NEWCGROUP,
                .exit_signal = SIGCHLD,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid < 0)
                return probe_fail(a, "use clone3 with seven namespaces");
        if (pid == 0)
                _exit(check_is_pid1(NULL));
        int r = probe_wait_child(pid);
        if (r < 0)
                return probe_fail_with(a, -r, "run as process 1");
        probe_describe(a, "user pid mount ipc uts net cgroup");
        return 0;
}

/* Mounts a read-only clone of the host's tree below the scratch directory, by descriptor. */
static int mount_host_tree(struct probe_answer *a)
{
        CLEANUP_FD int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/",
                                           OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (tree < 0)
                return probe_fail(a, "use open_tree");
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
        if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
                return probe_fail(a, "use mount_setattr");
        if (mkdir(PROBE_TMPFS_PATH "/host", 0700) < 0)
                return probe_fail(a, "mkdir");
        if (syscall(SYS_move_mount, tree, "", AT_FDCWD, PROBE_TMPFS_PATH "/host", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return probe_fail(a, "use move_mount");
        return 0;
}

static int ask_root(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNS, a);
        if (r >= 0)
                r = probe_mount_tmpfs(a);
        if (r >= 0)
                r = mount_host_tree(a);
        if (r < 0)
                return r;
        if (chdir(PROBE_TMPFS_PATH) < 0)
                return probe_fail(a, "chdir");
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return probe_fail(a, "use pivot_root");
        if (umount2(".", MNT_DETACH) < 0)
                return probe_fail(a, "detach the old root");
        struct statvfs st;
        if (statvfs("/host", &st) < 0)
                return probe_fail(a, "statvfs the clone under the new root");
        if (!(st.f_flag & ST_RDONLY) || access("/host/proc", F_OK) < 0 || access("/proc", F_OK) == 0)
                return probe_fail_with(a, EPROTO, "verify the read-only clone under a new root");
        probe_describe(a, "open_tree mount_setattr move_mount pivot_root");
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

static int ask_proc(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNS | CLONE_NEWPID, a);
        if (r < 0)
                return r;
        r = probe_in_grandchild(mount_proc, NULL);
        return r < 0 ? probe_fail_with(a, -r, "mount a fresh /proc") : 0;
}

#define OVERLAY_OPTIONS \
        "lowerdir=" PROBE_TMPFS_PATH "/lower,upperdir=" PROBE_TMPFS_PATH "/upper,workdir=" PROBE_TMPFS_PATH \
        "/work,userxattr"

static int mount_overlay(struct probe_answer *a)
{
        static const char *const directories[] = { "/lower", "/upper", "/work", "/merged", "/lower/gone" };
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
                char path[64];
                (void)snprintf(path, sizeof path, "%s%s", PROBE_TMPFS_PATH, directories[i]);
                if (mkdir(path, 0700) < 0)
                        return probe_fail(a, "mkdir");
        }
        if (mount("overlay", PROBE_TMPFS_PATH "/merged", "overlay", MS_NOSUID | MS_NODEV, OVERLAY_OPTIONS) < 0)
                return probe_fail(a, "mount an overlay");
        return 0;
}

static int ask_overlay(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNS, a);
        if (r >= 0)
                r = probe_mount_tmpfs(a);
        if (r >= 0)
                r = mount_overlay(a);
        if (r < 0)
                return r;
        /* A snapshot needs both: a new file exists only in the upper layer, a removed one remains in the lower. */
        if (mkdir(PROBE_TMPFS_PATH "/merged/new", 0700) < 0)
                return probe_fail(a, "make a directory in an overlay");
        if (rmdir(PROBE_TMPFS_PATH "/merged/gone") < 0)
                return probe_fail(a, "remove a directory in an overlay");
        if (access(PROBE_TMPFS_PATH "/lower/new", F_OK) == 0 || access(PROBE_TMPFS_PATH "/lower/gone", F_OK) < 0)
                return probe_fail_with(a, EPROTO, "verify that the lower layer is unchanged");
        return 0;
}

void namespaces_probe(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_USER_NAMESPACE, ask_user_namespace, 0 },
                { FEATURE_PID_NAMESPACE, ask_namespace, TRIAL_PID },
                { FEATURE_MOUNT_NAMESPACE, ask_namespace, TRIAL_MOUNT },
                { FEATURE_IPC_NAMESPACE, ask_namespace, TRIAL_IPC },
                { FEATURE_UTS_NAMESPACE, ask_namespace, TRIAL_UTS },
                { FEATURE_CGROUP_NAMESPACE, ask_namespace, TRIAL_CGROUP },
                { FEATURE_NAMESPACES_COMBINED, ask_all_namespaces, 0 },
                { FEATURE_PIVOT_ROOT, ask_root, 0 },
                { FEATURE_MOUNT_PROC, ask_proc, 0 },
                { FEATURE_OVERLAY, ask_overlay, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
