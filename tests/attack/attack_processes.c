/*
 * Attacks on processes of the host: read them, write to them, signal them, slow them down. In a box, "parent" is
 * ringwall or its keeper.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* The process that is attacked. A secret is in its memory, in its environment and in a file open as descriptor 3. */
static int be_victim(char **a)
{
        static char secret[128];
        snprintf(secret, sizeof secret, "%s", a[0]);
        int fd = open(a[1], O_RDONLY);
        if (fd < 0 || dup2(fd, 3) < 0)
                return -errno;
        printf("%p\n", (void *)secret);
        fflush(stdout);
        sleep(100);
        return 0;
}

static int read_proc_file(char **a)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/%s", parse_number(a[0]), a[1]);
        return read_file(path);
}

static int read_proc_link(char **a)
{
        char path[64], target[4096];
        snprintf(path, sizeof path, "/proc/%ld/%s", parse_number(a[0]), a[1]);
        ssize_t size = readlink(path, target, sizeof target - 1);
        if (size < 0)
                return -errno;
        report_success("read the link to %.*s", (int)size, target);
        return 0;
}

static int read_through_proc(char **a)
{
        char path[4096];
        snprintf(path, sizeof path, "/proc/%ld/%s", parse_number(a[0]), a[1]);
        return read_file(path);
}

static bool contains(const char *path, const char *needle)
{
        char text[65536];
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return false;
        ssize_t size = read(fd, text, sizeof text);
        close(fd);
        return size > 0 && memmem(text, (size_t)size, needle, strlen(needle));
}

/*
 * Searches /proc/PID/FILE of every other process for the secret. FILE may lead through a link such as root. The secret
 * is given backwards, because command lines of this attack must not contain it.
 */
static int search_processes(char **a)
{
        char path[4096];
        for (char *left = a[1], *right = left + strlen(left) - 1; left < right; left++, right--) {
                char c = *left;
                *left = *right;
                *right = c;
        }
        DIR *directory = opendir("/proc");
        if (!directory)
                return -errno;
        for (struct dirent *entry; (entry = readdir(directory));) {
                long pid = strtol(entry->d_name, NULL, 10);
                if (pid <= 0 || pid == getpid())
                        continue;
                snprintf(path, sizeof path, "/proc/%ld/%s", pid, a[0]);
                if (contains(path, a[1])) {
                        report_success("found it in %s", path);
                        return 0;
                }
        }
        closedir(directory);
        return -ENOENT;
}

static int read_memory_file(char **a)
{
        char path[64], text[16] = "";
        snprintf(path, sizeof path, "/proc/%ld/mem", parse_number(a[0]));
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (pread(fd, text, sizeof text - 1, parse_number(a[1])) < 0)
                return -errno;
        report_success("read '%s'", text);
        return 0;
}

static int read_memory(char **a)
{
        char text[16] = "";
        struct iovec mine = { text, sizeof text - 1 }, theirs = { (void *)parse_number(a[1]), sizeof text - 1 };
        if (process_vm_readv((pid_t)parse_number(a[0]), &mine, 1, &theirs, 1, 0) < 0)
                return -errno;
        report_success("read '%s'", text);
        return 0;
}

static int write_memory(char **a)
{
        char text[] = "overwritten";
        struct iovec mine = { text, sizeof text }, theirs = { (void *)parse_number(a[1]), sizeof text };
        return outcome(process_vm_writev((pid_t)parse_number(a[0]), &mine, 1, &theirs, 1, 0));
}

static int trace(char **a)
{
        pid_t pid = (pid_t)parse_number(a[0]);
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
                return -errno;
        report_success("traces %d", pid);
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
        waitpid(pid, NULL, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return 0;
}

static int open_pidfd(const char *pid)
{
        return (int)syscall(SYS_pidfd_open, parse_number(pid), 0);
}

static int steal_descriptor(char **a)
{
        int process = open_pidfd(a[0]);
        return process < 0 ? -errno : read_and_report((int)syscall(SYS_pidfd_getfd, process, parse_number(a[1]), 0));
}

static int signal_by_pidfd(char **a)
{
        int process = open_pidfd(a[0]);
        return process < 0 ? -errno : outcome(syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0));
}

static int advise_memory(char **a)
{
        struct iovec theirs = { (void *)(parse_number(a[1]) & ~4095L), 4096 };
        int process = open_pidfd(a[0]);
        return process < 0 ? -errno : outcome(syscall(SYS_process_madvise, process, &theirs, 1, MADV_COLD, 0));
}

static int compare_descriptors(char **a)
{
        return outcome(syscall(SYS_kcmp, parse_number(a[0]), getpid(), KCMP_FILE, 3, 0));
}

static int signal_process(char **a)
{
        return outcome(kill((pid_t)parse_number(a[0]), SIGTERM));
}

static int kill_process(char **a)
{
        return outcome(kill((pid_t)parse_number(a[0]), SIGKILL));
}

static int signal_group(char **a)
{
        pid_t group = getpgid((pid_t)parse_number(a[0]));
        return group < 0 ? -errno : outcome(kill(-group, SIGTERM));
}

static int signal_thread(char **a)
{
        return outcome(syscall(SYS_tkill, parse_number(a[0]), SIGTERM));
}

static int signal_thread_of_group(char **a)
{
        return outcome(syscall(SYS_tgkill, parse_number(a[0]), parse_number(a[0]), SIGTERM));
}

static int signal_with_value(char **a)
{
        return outcome(sigqueue((pid_t)parse_number(a[0]), SIGTERM, (union sigval){ 0 }));
}

static int signal_thread_with_value(char **a)
{
        siginfo_t information = { .si_code = SI_QUEUE };
        return outcome(syscall(SYS_rt_tgsigqueueinfo, parse_number(a[0]), parse_number(a[0]), SIGTERM, &information));
}

static int signal_own_group(char **a)
{
        (void)a;
        return outcome(kill(0, SIGKILL));
}

static int signal_all_processes(char **a)
{
        (void)a;
        signal(SIGTERM, SIG_IGN);
        return outcome(kill(-1, SIGTERM));
}

/* The kernel sends the signal, with the credentials of the process that set the owner. */
static int signal_by_owner(char **a)
{
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return CANNOT_TRY;
        if (fcntl(pair[0], F_SETOWN, (int)parse_number(a[0])) < 0)
                return -errno;
        if (fcntl(pair[0], F_SETSIG, SIGTERM) < 0 || fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
                return -errno;
        return outcome(write(pair[1], "x", 1));
}

static int limit_process(char **a)
{
        const struct rlimit none = { 0, 0 };
        return outcome(prlimit((pid_t)parse_number(a[0]), RLIMIT_CORE, &none, NULL));
}

static int lower_priority(char **a)
{
        return outcome(setpriority(PRIO_PROCESS, (id_t)parse_number(a[0]), 19));
}

static int lower_io_priority(char **a)
{
        return outcome(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, parse_number(a[0]),
                               IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)));
}

static int pin_process(char **a)
{
        if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
                return CANNOT_TRY;
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        return outcome(sched_setaffinity((pid_t)parse_number(a[0]), sizeof first, &first));
}

static int schedule_process(char **a)
{
        const struct sched_param parameters = { 0 };
        return outcome(sched_setscheduler((pid_t)parse_number(a[0]), SCHED_IDLE, &parameters));
}

static int schedule_by_attributes(char **a)
{
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } how = { .size = sizeof how, .policy = SCHED_IDLE };
        return outcome(syscall(SYS_sched_setattr, parse_number(a[0]), &how, 0));
}

static int locate_pages(char **a)
{
        void *page = (void *)(parse_number(a[1]) & ~4095L);
        int node;
        return outcome(syscall(SYS_move_pages, parse_number(a[0]), 1UL, &page, NULL, &node, 0));
}

static int raise_oom_score(char **a)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/oom_score_adj", parse_number(a[0]));
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(write(fd, "1000", 4));
}

static int see_process(char **a)
{
        return outcome(kill((pid_t)parse_number(a[0]), 0));
}

const struct attack process_attacks[] = {
        { "victim", 2, be_victim },
        { "read_proc_file", 2, read_proc_file },
        { "read_proc_link", 2, read_proc_link },
        { "read_through_proc", 2, read_through_proc },
        { "search_processes", 2, search_processes },
        { "read_memory_file", 2, read_memory_file },
        { "read_memory", 2, read_memory },
        { "write_memory", 2, write_memory },
        { "trace", 1, trace },
        { "steal_descriptor", 2, steal_descriptor },
        { "signal_by_pidfd", 1, signal_by_pidfd },
        { "advise_memory", 2, advise_memory },
        { "compare_descriptors", 1, compare_descriptors },
        { "signal", 1, signal_process },
        { "kill", 1, kill_process },
        { "signal_group", 1, signal_group },
        { "signal_thread", 1, signal_thread },
        { "signal_thread_of_group", 1, signal_thread_of_group },
        { "signal_with_value", 1, signal_with_value },
        { "signal_thread_with_value", 1, signal_thread_with_value },
        { "signal_own_group", 0, signal_own_group },
        { "signal_all", 0, signal_all_processes },
        { "signal_by_owner", 1, signal_by_owner },
        { "limit_process", 1, limit_process },
        { "lower_priority", 1, lower_priority },
        { "lower_io_priority", 1, lower_io_priority },
        { "pin_process", 1, pin_process },
        { "schedule_process", 1, schedule_process },
        { "schedule_by_attributes", 1, schedule_by_attributes },
        { "locate_pages", 2, locate_pages },
        { "raise_oom_score", 1, raise_oom_score },
        { "see_process", 1, see_process },
        { 0 },
};
