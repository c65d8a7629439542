/*
 * Seccomp: which system calls may be made at all.
 *
 * What it is for: every level stands on a filter. This file asks whether one can be installed by this user and
 * whether it bites, and which verdicts the kernel knows.
 *
 * How it works: a child installs a filter made by libseccomp, the library that makes the real ones, in which one
 * harmless call fails with an errno that the call never gives by itself; the call must then fail with it.
 *
 * What it trusts: libseccomp's translation of names to numbers. An attacker controls nothing.
 *
 * Needs of the kernel: CONFIG_SECCOMP_FILTER, seccomp(2) (3.17), SECCOMP_GET_ACTION_AVAIL (4.14).
 */
#include "linux/probes.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "linux/ask.h"
#include "linux/kernel_abi.h"

enum { UNLIKELY_ERRNO = EXDEV };

static int install_filter(scmp_filter_ctx filter, struct answer *a)
{
        int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(UNLIKELY_ERRNO), SCMP_SYS(getppid), 0);
        if (r == 0)
                r = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
        if (r < 0)
                return ask_failed_with(a, -r, "build a filter");
        r = seccomp_load(filter);
        return r < 0 ? ask_failed_with(a, -r, "install a filter") : 0;
}

static int ask_filter(unsigned long unused, struct answer *a)
{
        (void)unused;
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (!filter)
                return ask_failed_with(a, ENOMEM, "build a filter");
        int r = install_filter(filter, a);
        seccomp_release(filter);
        if (r < 0)
                return r;
        errno = 0;
        if (syscall(SYS_getppid) != -1 || errno != UNLIKELY_ERRNO)
                return ask_failed_with(a, EPROTO, "get stopped by the filter");
        ask_say(a, "installed in a child, and it bites");
        return 0;
}

static int ask_actions(unsigned long unused, struct answer *a)
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
        char lists[2][96] = { "", "" }; /* lacking, known */
        size_t used[2] = { 0, 0 };
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                int known = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i].action) == 0;
                if (!known && errno != EOPNOTSUPP)
                        return ask_failed(a, "ask for the actions");
                used[known] += (size_t)snprintf(lists[known] + used[known], sizeof lists[known] - used[known], " %s",
                                                actions[i].name);
        }
        if (!used[0]) {
                ask_say(a, "%s", lists[1] + 1);
                return 0;
        }
        ask_say(a, "without%s", lists[0]);
        return ANSWER_PARTLY;
}

void seccomp_probe(struct probe_report *report)
{
        static const struct question questions[] = {
                { FEATURE_SECCOMP, ask_filter, 0 },
                { FEATURE_SECCOMP_ACTIONS, ask_actions, 0 },
        };
        ask_all(report, questions, ARRAY_SIZE(questions));
}
