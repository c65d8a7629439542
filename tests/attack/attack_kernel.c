/* Attacks on parts of the kernel with a large attack surface, on settings of the machine, and on credentials. */
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

static int open_perf_event(char **a)
{
        (void)a;
        struct perf_event_attr how = { .type = PERF_TYPE_SOFTWARE, .size = sizeof how };
        how.config = PERF_COUNT_SW_TASK_CLOCK;
        how.exclude_kernel = 1;
        how.exclude_hv = 1;
        return outcome(syscall(SYS_perf_event_open, &how, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int open_perf_event_of(char **a)
{
        struct perf_event_attr how = { .type = PERF_TYPE_SOFTWARE, .size = sizeof how };
        how.config = PERF_COUNT_SW_TASK_CLOCK;
        how.exclude_kernel = 1;
        how.exclude_hv = 1;
        return outcome(syscall(SYS_perf_event_open, &how, parse_number(a[0]), -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int create_bpf_map(char **a)
{
        (void)a;
        union bpf_attr how = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
        return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &how, sizeof how));
}

static int open_userfaultfd(char **a)
{
        (void)a;
        return outcome(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

static int set_personality(char **a)
{
        return outcome(personality((unsigned long)parse_number(a[0])));
}

/* The flags are invalid: a caller that may load a kernel gets EINVAL, which counts as success. */
static int load_kernel(char **a)
{
        (void)a;
        long r = syscall(SYS_kexec_load, 0, 0, NULL, 0xffff);
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && errno == EINVAL ? 0 : outcome(r);
}

/* The magic numbers are invalid, for the same reason. */
static int reboot_machine(char **a)
{
        (void)a;
        long r = syscall(SYS_reboot, 0, 0, 0, NULL);
        return r < 0 && errno == EINVAL ? 0 : outcome(r);
}

/* The module is empty: a caller that may load modules gets ENOEXEC or EFAULT, which counts as success. */
static int load_module(char **a)
{
        (void)a;
        long r = syscall(SYS_init_module, "", 0, "");
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && (errno == ENOEXEC || errno == EFAULT) ? 0 : outcome(r);
}

/* The file is not a module; the errors of a caller that may load modules count as success. */
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

static int read_kernel_log(char **a)
{
        (void)a;
        char text[4096];
        return outcome(klogctl(3 /* read all */, text, sizeof text));
}

/* Sets the time zone only, to UTC; the clock does not change. */
static int set_clock(char **a)
{
        (void)a;
        struct timezone zone = { 0, 0 };
        return outcome(syscall(SYS_settimeofday, NULL, &zone));
}

/* Sets the estimated error to the value that it has. */
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

/* The path is not swap space; the errors of a caller that may turn swap off count as success. */
static int swap_off(char **a)
{
        long r = syscall(SYS_swapoff, a[0]);
        if (r < 0 && errno == ENOSYS)
                return CANNOT_TRY;
        return r < 0 && (errno == EINVAL || errno == ENOENT) ? 0 : outcome(r);
}

static int permit_io_port(char **a)
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

static int set_user(char **a)
{
        return outcome(setresuid((uid_t)parse_number(a[0]), (uid_t)parse_number(a[0]), (uid_t)parse_number(a[0])));
}

static int set_groups(char **a)
{
        (void)a;
        return outcome(syscall(SYS_setgroups, 0, NULL));
}

/* Succeeds with a capability in any set. The bounding set counts too: it limits what a setuid program gets. */
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
                        report_success("Cap%s %lx", name, bits);
                        fclose(status);
                        return 0;
                }
        fclose(status);
        return -EPERM;
}

static int set_securebits(char **a)
{
        (void)a;
        return outcome(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

/* Succeeds if no_new_privs is not set. */
static int lack_no_new_privs(char **a)
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
        { "perf_event_open", 0, open_perf_event },
        { "perf_event_open_other", 1, open_perf_event_of },
        { "create_bpf_map", 0, create_bpf_map },
        { "userfaultfd", 0, open_userfaultfd },
        { "set_personality", 1, set_personality },
        { "kexec_load", 0, load_kernel },
        { "reboot", 0, reboot_machine },
        { "load_module", 0, load_module },
        { "load_module_file", 1, load_module_file },
        { "read_kernel_log", 0, read_kernel_log },
        { "set_clock", 0, set_clock },
        { "adjust_clock", 0, adjust_clock },
        { "stop_accounting", 0, stop_accounting },
        { "swapoff", 1, swap_off },
        { "ioperm", 0, permit_io_port },
        { "watch_filesystem", 1, watch_filesystem },
        { "setresuid", 1, set_user },
        { "setgroups", 0, set_groups },
        { "have_capabilities", 0, have_capabilities },
        { "set_securebits", 0, set_securebits },
        { "lack_no_new_privs", 0, lack_no_new_privs },
        { "open_memory_of_parent", 0, open_memory_of_parent },
        { 0 },
};
