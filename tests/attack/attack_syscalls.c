/* Attacks with system calls: namespaces, mounts, execution of programs, and the ABIs x32 and i386. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static int unshare_namespace(char **a)
{
        return outcome(unshare((int)parse_number(a[0])));
}

/* The child exits at once; the parent reaps it. */
static int reap(long child)
{
        if (child == 0)
                _exit(0);
        if (child < 0)
                return -errno;
        return outcome(waitpid((pid_t)child, NULL, __WALL));
}

static int clone_user_namespace(char **a)
{
        (void)a;
        return reap(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_user_namespace(char **a)
{
        (void)a;
        struct clone_args how = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
        return reap(syscall(SYS_clone3, &how, sizeof how));
}

static int clone3_into_cgroup(char **a)
{
        int fd = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        struct clone_args how = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)fd };
        return reap(syscall(SYS_clone3, &how, sizeof how));
}

/* A user namespace inside a user namespace, in case only the first one is denied. */
static int nest_user_namespaces(char **a)
{
        (void)a;
        enter_user_namespace();
        return outcome(unshare(CLONE_NEWUSER | CLONE_NEWNS));
}

static int join_namespace(char **a)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/ns/%s", parse_number(a[0]), a[1]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(setns(fd, 0));
}

/* setns() with a pidfd joins the namespaces of that process. */
static int join_namespaces_by_pidfd(char **a)
{
        int fd = (int)syscall(SYS_pidfd_open, parse_number(a[0]), 0);
        return fd < 0 ? -errno : outcome(setns(fd, CLONE_NEWUTS));
}

static int rejoin_own_namespace(char **a)
{
        (void)a;
        enter_user_namespace();
        int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(setns(fd, CLONE_NEWUTS));
}

static int mount_tmpfs(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        return outcome(mount("tmpfs", "mount-of-attack", "tmpfs", 0, NULL));
}

static int bind_mount_proc(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        return outcome(mount("/proc", "mount-of-attack", NULL, MS_BIND | MS_REC, NULL));
}

static int mount_cgroup(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        return outcome(mount("cgroup2", "mount-of-attack", "cgroup2", 0, NULL));
}

static int mount_overlay(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("upper-of-attack", 0700);
        mkdir("work-of-attack", 0700);
        mkdir("mount-of-attack", 0700);
        return outcome(mount("overlay", "mount-of-attack", "overlay", 0,
                             "lowerdir=/usr,upperdir=upper-of-attack,workdir=work-of-attack,userxattr"));
}

/* A denied path is covered by a mount, so an unmount would uncover it. */
static int unmount(char **a)
{
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        if (mount("tmpfs", "mount-of-attack", "tmpfs", 0, NULL) < 0 && errno != EPERM)
                return -errno;
        return outcome(umount2(a[0], MNT_DETACH));
}

static int remount_writable(char **a)
{
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        mount("tmpfs", "mount-of-attack", "tmpfs", MS_RDONLY, NULL);
        return outcome(mount(NULL, a[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int set_mount_writable(char **a)
{
        struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        mount("tmpfs", "mount-of-attack", "tmpfs", MS_RDONLY, NULL);
        return outcome(syscall(SYS_mount_setattr, AT_FDCWD, a[0], 0, &writable, sizeof writable));
}

static int fsopen_tmpfs(char **a)
{
        (void)a;
        enter_user_namespace();
        return outcome(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
}

static int fspick_tmpfs(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        mount("tmpfs", "mount-of-attack", "tmpfs", 0, NULL);
        return outcome(syscall(SYS_fspick, AT_FDCWD, "mount-of-attack", FSPICK_CLOEXEC));
}

static int move_mount_tree(char **a)
{
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, a[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0 && errno != EPERM && errno != ENOSYS)
                return -errno;
        return outcome(syscall(SYS_move_mount, tree, "", AT_FDCWD, "mount-of-attack", MOVE_MOUNT_F_EMPTY_PATH));
}

static int change_root_directory(char **a)
{
        enter_user_namespace();
        return outcome(chroot(a[0]));
}

static int pivot_to_tmpfs(char **a)
{
        (void)a;
        enter_user_namespace();
        mkdir("mount-of-attack", 0700);
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        mount("tmpfs", "mount-of-attack", "tmpfs", 0, NULL);
        mkdir("mount-of-attack/old", 0700);
        return outcome(syscall(SYS_pivot_root, "mount-of-attack", "mount-of-attack/old"));
}

static int set_host_name(char **a)
{
        (void)a;
        enter_user_namespace();
        return outcome(sethostname("attacked", 8));
}

static int set_domain_name(char **a)
{
        (void)a;
        enter_user_namespace();
        return outcome(setdomainname("attacked", 8));
}

/* Runs start() in a child, which exits with the errno of a failed exec. If it succeeds, "attacks ran" reports it. */
static int start_in_child(int (*start)(char **a), char **a)
{
        int status;
        pid_t child = vfork();
        if (child < 0)
                return -errno;
        if (child == 0)
                _exit(-start(a));
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int exec_path(char **a)
{
        char *const arguments[] = { a[0], (char *)(size_t) "ran", NULL };
        execv(a[0], arguments);
        return -errno;
}

static int execute(char **a)
{
        return start_in_child(exec_path, a);
}

static int execute_without_fork(char **a)
{
        return exec_path(a);
}

/* Copies the program into a memfd, which has no path, and executes that. */
static int exec_memfd(char **a)
{
        char *const arguments[] = { (char *)(size_t) "attacks", (char *)(size_t) "ran", NULL };
        int program = open(a[0], O_RDONLY | O_CLOEXEC), memory = memfd_create("attack", MFD_CLOEXEC);
        struct stat status;
        if (program < 0 || memory < 0 || fstat(program, &status) < 0)
                return -errno;
        if (sendfile(memory, program, NULL, (size_t)status.st_size) < 0)
                return -errno;
        syscall(SYS_execveat, memory, "", arguments, NULL, AT_EMPTY_PATH);
        return -errno;
}

/* To execute a script, the kernel executes its interpreter: here the program. */
static int exec_script(char **a)
{
        int fd = open("script-of-attack", O_WRONLY | O_CREAT | O_TRUNC, 0700);
        dprintf(fd, "#!%s ran_script\n", a[0]);
        close(fd);
        char *const arguments[] = { (char *)(size_t) "script-of-attack", NULL };
        execv("script-of-attack", arguments);
        return -errno;
}

static int ran(char **a)
{
        (void)a;
        report_success("ran a program");
        return 0;
}

static int fork_child(char **a)
{
        (void)a;
        return reap(fork());
}

static int vfork_child(char **a)
{
        (void)a;
        pid_t child = vfork();
        if (child == 0)
                _exit(0);
        return reap(child);
}

static int clone3_child(char **a)
{
        (void)a;
        struct clone_args how = { .exit_signal = SIGCHLD };
        return reap(syscall(SYS_clone3, &how, sizeof how));
}

/* Executes a setuid program and reads its effective uid from /proc. */
static int execute_setuid(char **a)
{
        char path[64], line[256];
        int silent_pipe[2]; /* standard input of the program: it waits for input */
        if (access(a[0], X_OK) < 0)
                return CANNOT_TRY;
        if (pipe2(silent_pipe, O_CLOEXEC) < 0)
                return -errno;
        pid_t child = fork();
        if (child == 0) {
                int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
                dup2(silent_pipe[0], STDIN_FILENO);
                dup2(null, STDOUT_FILENO);
                dup2(null, STDERR_FILENO);
                execl(a[0], a[0], "sleep", "1", NULL);
                _exit(127);
        }
        unsigned effective = geteuid();
        snprintf(path, sizeof path, "/proc/%d/status", child);
        for (int i = 0; i < 50 && effective == geteuid(); i++) {
                usleep(10000);
                FILE *status = fopen(path, "re");
                while (status && fgets(line, sizeof line, status))
                        sscanf(line, "Uid: %*u %u", &effective);
                if (status)
                        fclose(status);
        }
        kill(child, SIGKILL);
        return effective == geteuid() ? -EPERM : 0;
}

static int sleep_seconds(char **a)
{
        sleep((unsigned)parse_number(a[0]));
        return 0;
}

#ifdef __x86_64__
/* A kernel without x32 returns ENOSYS, which counts as success: in a box the filter kills the process before. */
static int call_x32(char **a)
{
        (void)a;
        long r = syscall(SYS_getpid | 0x40000000);
        return r < 0 && errno != ENOSYS ? -errno : 0;
}

static int call_i386(char **a)
{
        (void)a;
        long r = 20; /* getpid */
        __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
        return r == getpid() ? 0 : -EINVAL;
}

static int by_x32(char **a)
{
        return run_in_child(call_x32, a);
}

static int by_i386(char **a)
{
        return run_in_child(call_i386, a);
}
#else
static int by_x32(char **a)
{
        (void)a;
        return CANNOT_TRY;
}

static int by_i386(char **a)
{
        (void)a;
        return CANNOT_TRY;
}
#endif

static int execute_memfd(char **a)
{
        return exec_memfd(a);
}

static int execute_script(char **a)
{
        return exec_script(a);
}

const struct attack call_attacks[] = {
        { "unshare", 1, unshare_namespace },
        { "clone_user_namespace", 0, clone_user_namespace },
        { "clone3_user_namespace", 0, clone3_user_namespace },
        { "clone3_into_cgroup", 1, clone3_into_cgroup },
        { "nest_user_namespaces", 0, nest_user_namespaces },
        { "join_namespace", 2, join_namespace },
        { "join_namespaces_by_pidfd", 1, join_namespaces_by_pidfd },
        { "rejoin_own_namespace", 0, rejoin_own_namespace },
        { "mount_tmpfs", 0, mount_tmpfs },
        { "bind_mount_proc", 0, bind_mount_proc },
        { "mount_cgroup", 0, mount_cgroup },
        { "mount_overlay", 0, mount_overlay },
        { "unmount", 1, unmount },
        { "remount_writable", 1, remount_writable },
        { "mount_setattr", 1, set_mount_writable },
        { "fsopen", 0, fsopen_tmpfs },
        { "fspick", 0, fspick_tmpfs },
        { "move_mount", 1, move_mount_tree },
        { "chroot", 1, change_root_directory },
        { "pivot_root", 0, pivot_to_tmpfs },
        { "sethostname", 0, set_host_name },
        { "setdomainname", 0, set_domain_name },
        { "execute", 1, execute },
        { "execute_without_fork", 1, execute_without_fork },
        { "execute_memfd", 1, execute_memfd },
        { "execute_script", 1, execute_script },
        { "ran", 0, ran },
        { "ran_script", 1, ran },
        { "fork", 0, fork_child },
        { "vfork", 0, vfork_child },
        { "clone3", 0, clone3_child },
        { "execute_setuid", 1, execute_setuid },
        { "sleep", 1, sleep_seconds },
        { "x32", 0, by_x32 },
        { "i386", 0, by_i386 },
        { 0 },
};
