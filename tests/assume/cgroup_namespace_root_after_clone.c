/* One clone3() puts the keeper into its cgroup and into a cgroup namespace whose root is that cgroup. */
#include "assume.h"

#include <linux/sched.h>

static const char *find_cgroup2_tree(void)
{
        if (access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0)
                return "/sys/fs/cgroup";
        return access("/sys/fs/cgroup/unified/cgroup.procs", W_OK) == 0 ? "/sys/fs/cgroup/unified" : NULL;
}

/* Runs in the child. Returns 0 if its cgroup is the root of its cgroup namespace. */
static int check_own_cgroup(void)
{
        char text[1024];
        int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        text[n < 0 ? 0 : n] = '\0';
        return strstr(text, "0::/\n") ? 0 : 1;
}

int main(void)
{
        assume("with CLONE_INTO_CGROUP and CLONE_NEWCGROUP the namespace's root is the child's cgroup, not its "
               "parent's");
        const char *top = find_cgroup2_tree();
        char path[96];
        if (!top)
                skip_cannot("write in a cgroup2 tree");
        (void)snprintf(path, sizeof path, "%s/assume-%d", top, (int)getpid());
        if (mkdir(path, 0755) < 0)
                skip_cannot("make a cgroup");
        struct clone_args args = { .flags = CLONE_INTO_CGROUP | CLONE_NEWCGROUP, .exit_signal = SIGCHLD };
        args.cgroup = (unsigned)open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        long pid = syscall(SYS_clone3, &args, sizeof args);
        int error = errno;
        if (pid == 0)
                _exit(check_own_cgroup());
        int status = pid < 0 ? -1 : wait_for((pid_t)pid);
        while (rmdir(path) < 0 && errno == EBUSY)
                (void)usleep(1000);
        errno = error;
        if (pid < 0)
                skip_cannot("clone a child into a cgroup");
        conclude(status == 0, status == 0 ? "0::/ inside" : "another path inside");
}
