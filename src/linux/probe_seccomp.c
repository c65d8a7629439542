/*
 * Probes seccomp, which decides which system calls a process may make.
 *
 * What it is for: every level needs a filter. This file asks whether this user can install one, whether the kernel
 * enforces it, and which filter actions the kernel knows.
 *
 * How it works: a child installs a filter that fails one harmless call with an errno which the call never returns
 * otherwise; the call must then fail with it.
 *
 * What it trusts: nothing. An attacker controls nothing.
 *
 * Needs of the kernel: CONFIG_SECCOMP_FILTER, seccomp(2) (3.17), SECCOMP_GET_ACTION_AVAIL (4.14).
 */
#include "linux/probes.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "linux/probe_child.h"
#include "linux/kernel_abi.h"

enum { FILTER_ERRNO = EXDEV };

static int ask_filter(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | FILTER_ERRNO),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return probe_fail(a, "set no_new_privs");
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                return probe_fail(a, "install a filter");
        errno = 0;
        if (syscall(SYS_getppid) != -1 || errno != FILTER_ERRNO)
                return probe_fail_with(a, EPROTO, "verify that the filter refuses a call");
        probe_describe(a, "installed in a child, and enforced");
        return 0;
}

static int ask_actions(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        static const struct {
                uint32_t action;
                const char *name;
        } actions[] = {
                { SECCOMP_RET_KILL_PROCESS, "kill_process" },
                { SECCOMP_RET_TRAP, "trap" },
                { SECCOMP_RET_ERRNO, "errno" },
                { SECCOMP_RET_USER_NOTIF, "user_notif" },
                { SECCOMP_RET_LOG, "log" },
                { SECCOMP_RET_ALLOW, "allow" },
        };
        char lists[2][96] = { "", "" }; /* unknown and known actions */
        size_t used[2] = { 0, 0 };
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                int known = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i].action) == 0;
                if (!known && errno != EOPNOTSUPP)
                        return probe_fail(a, "use SECCOMP_GET_ACTION_AVAIL");
                used[known] += (size_t)snprintf(lists[known] + used[known], sizeof lists[known] - used[known], " %s",
                                                actions[i].name);
        }
        if (!used[0]) {
                probe_describe(a, "%s", lists[1] + 1);
                return 0;
        }
        probe_describe(a, "lacks%s", lists[0]);
        return PROBE_PARTIAL;
}

void probe_seccomp(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_SECCOMP, ask_filter, 0 },
                { FEATURE_SECCOMP_ACTIONS, ask_actions, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
