/* The cgroup of a box can be removed before its processes are reaped. */
#include "assume.h"

#include <linux/sched.h>

static const char *find_cgroup2_tree(void)
{
        if (access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0)
                return "/sys/fs/cgroup";
        return access("/sys/fs/cgroup/unified/cgroup.procs", W_OK) == 0 ? "/sys/fs/cgroup/unified" : NULL;
}

int main(void)
{
        assume("cgroup.kill kills all processes of a cgroup, and a cgroup with only zombies can be removed");
        const char *top = find_cgroup2_tree();
        char path[96], file[128];
        if (!top)
                skip_cannot("write in a cgroup2 tree");
        (void)snprintf(path, sizeof path, "%s/assume-%d", top, (int)getpid());
        (void)snprintf(file, sizeof file, "%s/cgroup.kill", path);
        if (mkdir(path, 0755) < 0)
                skip_cannot("make a cgroup");
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)fd };
        long pid = syscall(SYS_clone3, &args, sizeof args);
        if (pid == 0)
                for (;;)
                        (void)pause();
        bool busy = rmdir(path) < 0 && errno == EBUSY, killed = write_text(file, "1");
        int tries = 0;
        while (rmdir(path) < 0 && errno == EBUSY && tries++ < 5000)
                (void)usleep(1000);
        bool gone = access(path, F_OK) < 0;
        int status = pid < 0 ? -1 : wait_for((pid_t)pid);
        conclude(busy && killed && gone && status == 128 + SIGKILL,
                 "%s while the process ran, %s after cgroup.kill and before it was reaped; status %d",
                 busy ? "busy" : "not busy", gone ? "removed" : "not removed", status);
}
