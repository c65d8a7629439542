/* The parts of the kernel that attackers like best, and the settings of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include "attack.h"

static int io_uring(char **a)
{
        (void)a;
        struct io_uring_params how = { 0 };
        return outcome(syscall(SYS_io_uring_setup, 1, &how));
}

static int perf(char **a)
{
        (void)a;
        struct perf_event_attr how = { .type = PERF_TYPE_SOFTWARE, .size = sizeof how };
        how.config = PERF_COUNT_SW_TASK_CLOCK;
        how.exclude_kernel = 1;
        how.exclude_hv = 1;
        return outcome(syscall(SYS_perf_event_open, &how, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int perf_other(char **a)
{
        struct perf_event_attr how = { .type = PERF_TYPE_SOFTWARE, .size = sizeof how };
        how.config = PERF_COUNT_SW_TASK_CLOCK;
        how.exclude_kernel = 1;
        how.exclude_hv = 1;
        return outcome(syscall(SYS_perf_event_open, &how, number(a[0]), -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int bpf_map(char **a)
{
        (void)a;
        union bpf_attr how = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
        return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &how, sizeof how));
}

static int fault_handler(char **a)
{
        (void)a;
        return outcome(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

static int set_personality(char **a)
{
        return outcome(personality((unsigned long)number(a[0])));
}

/* Loading another kernel: wrong flags, so that even a caller with every right gets EINVAL and no kernel. */
static int load_kernel(char **a)
{
        (void)a;
        long r = syscall(SYS_kexec_load, 0, 0, NULL, 0xffff);
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && errno == EINVAL ? 0 : outcome(r);
}

/* The same for a restart, with magic numbers that are none. */
static int restart(char **a)
{
        (void)a;
        long r = syscall(SYS_reboot, 0, 0, 0, NULL);
        return r < 0 && errno == EINVAL ? 0 : outcome(r);
}

static int load_module(char **a)
{
        (void)a;
        long r = syscall(SYS_init_module, "", 0, "");
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && (errno == ENOEXEC || errno == EFAULT) ? 0 : outcome(r);
}

static int load_module_file(char **a)
{
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return CANNOT_TRY;
        long r = syscall(SYS_finit_module, fd, "", 0);
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && (errno == ENOEXEC || errno == EINVAL || errno == ENODATA) ? 0 : outcome(r);
}

static int read_log(char **a)
{
        (void)a;
        char text[4096];
        return outcome(klogctl(3 /* read all */, text, sizeof text));
}

/* Sets the time zone that is set: the clock itself stays. */
static int set_clock(char **a)
{
        (void)a;
        struct timezone zone = { 0, 0 };
        return outcome(syscall(SYS_settimeofday, NULL, &zone));
}

static int adjust_clock(char **a)
{
        (void)a;
        struct timex how = { .modes = 0 };
        if (adjtimex(&how) < 0)
                return -errno;
        how.modes = ADJ_ESTERROR;
        return adjtimex(&how) < 0 ? -errno : 0;
}

static int stop_accounting(char **a)
{
        (void)a;
        int r = outcome(acct(NULL));
        return r == -ENOSYS ? CANNOT_TRY : r;
}

static int swap_off(char **a)
{
        long r = syscall(SYS_swapoff, a[0]);
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && (errno == EINVAL || errno == ENOENT) ? 0 : outcome(r);
}

static int touch_port(char **a)
{
        (void)a;
#ifdef SYS_ioperm
        int r = outcome(syscall(SYS_ioperm, 0x80, 1, 1));
        return r == -ENOSYS ? CANNOT_TRY : r;
#else
        return CANNOT_TRY;
#endif
}

static int watch_filesystem(char **a)
{
        int fd = (int)syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_FID, O_RDONLY);
        if (fd < 0)
                return -errno;
        unsigned long mask = FAN_MODIFY | FAN_EVENT_ON_CHILD;
        return outcome(syscall(SYS_fanotify_mark, fd, FAN_MARK_ADD, mask, AT_FDCWD, a[0]));
}

static int become(char **a)
{
        return outcome(setresuid((uid_t)number(a[0]), (uid_t)number(a[0]), (uid_t)number(a[0])));
}

static int drop_groups(char **a)
{
        (void)a;
        return outcome(syscall(SYS_setgroups, 0, NULL));
}

/* A capability in any set: even the bounding set alone is what the next setuid program would get. */
static int have_capabilities(char **a)
{
        (void)a;
        char line[256], name[32];
        unsigned long bits;
        FILE *status = fopen("/proc/self/status", "re");
        if (!status)
                return CANNOT_TRY;
        while (fgets(line, sizeof line, status))
                if (sscanf(line, "Cap%31[A-Za-z]: %lx", name, &bits) == 2 && bits) {
                        did("Cap%s %lx", name, bits);
                        fclose(status);
                        return 0;
                }
        fclose(status);
        return -EPERM;
}

static int regain_capability(char **a)
{
        (void)a;
        return outcome(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

static int gain_new_privileges(char **a)
{
        (void)a;
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -EPERM : 0;
}

static int open_memory_of_parent(char **a)
{
        (void)a;
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mem", getppid());
        return outcome(open(path, O_RDONLY | O_CLOEXEC));
}

const struct attack kernel_attacks[] = {
        { "io_uring", 0, io_uring },
        { "perf", 0, perf },
        { "perf_other", 1, perf_other },
        { "bpf_map", 0, bpf_map },
        { "fault_handler", 0, fault_handler },
        { "set_personality", 1, set_personality },
        { "load_kernel", 0, load_kernel },
        { "restart", 0, restart },
        { "load_module", 0, load_module },
        { "load_module_file", 1, load_module_file },
        { "read_log", 0, read_log },
        { "set_clock", 0, set_clock },
        { "adjust_clock", 0, adjust_clock },
        { "stop_accounting", 0, stop_accounting },
        { "swap_off", 1, swap_off },
        { "touch_port", 0, touch_port },
        { "watch_filesystem", 1, watch_filesystem },
        { "become", 1, become },
        { "drop_groups", 0, drop_groups },
        { "have_capabilities", 0, have_capabilities },
        { "regain_capability", 0, regain_capability },
        { "gain_new_privileges", 0, gain_new_privileges },
        { "open_memory_of_parent", 0, open_memory_of_parent },
        { 0 },
};
