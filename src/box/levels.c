/* Which levels this machine can enforce. Theory of operation: levels.h. */
#include "box/levels.h"

#include "base/memory.h"

#define ANY(...) ((const enum feature_id[]){ __VA_ARGS__, FEATURE_COUNT })
#define NEEDS true
#define WANTS false

/*
 * The most serious first, among the NEEDS and among the WANTS: `help` comes from the first missing requirement that has
 * one; if nothing is missing, from the first shortfall that has one.
 */
static const struct level_requirement needs[] = {
        { ANY(FEATURE_LANDLOCK), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "access to files cannot be denied" },
        { ANY(FEATURE_SECCOMP), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "system calls cannot be filtered" },
        { ANY(FEATURE_NO_NEW_PRIVS), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "setuid programs could regain privileges" },
        { ANY(FEATURE_OPENAT2), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "paths cannot be resolved without a race" },
        { ANY(FEATURE_LANDLOCK_TRUNCATE), LEVEL_STANDARD, LEVEL_STANDARD, NEEDS,
          "files that may only be read could be truncated" },
        { ANY(FEATURE_USER_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "no user namespace can be made" },
        { ANY(FEATURE_PID_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's processes stay visible" },
        { ANY(FEATURE_MOUNT_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's files stay visible" },
        { ANY(FEATURE_IPC_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's shared memory stays reachable" },
        { ANY(FEATURE_UTS_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's name stays visible" },
        { ANY(FEATURE_CGROUP_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's cgroups stay visible" },
        { ANY(FEATURE_NAMESPACES_COMBINED), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS,
          "the namespaces cannot be made in one step" },
        { ANY(FEATURE_PIVOT_ROOT), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own root directory" },
        { ANY(FEATURE_MOUNT_PROC), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own /proc" },
        { ANY(FEATURE_ADDFD), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "names that do not exist yet cannot be protected" },
        { ANY(FEATURE_VM_READV), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the guard cannot read the path of a call" },
        { ANY(FEATURE_WAIT_KILLABLE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS,
          "a signal could make a guarded call happen twice" },
        { ANY(FEATURE_NET_NAMESPACE), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's network stays reachable" },
        { ANY(FEATURE_LOOPBACK), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own loopback" },

        { ANY(FEATURE_LANDLOCK_SCOPE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "a box can send signals to the user's other processes" },
        { ANY(FEATURE_WAIT_KILLABLE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "rules about names in writable directories are refused" },
        { ANY(FEATURE_VM_READV), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "rules about names in writable directories are refused" },
        { ANY(FEATURE_LANDLOCK_UNIX, FEATURE_WAIT_KILLABLE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "a box can make unix sockets only by socketpair()" },
        { ANY(FEATURE_LANDLOCK_IOCTL_DEV), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "every ioctl works on a device that a box may open" },
        { ANY(FEATURE_LANDLOCK_SCOPE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "processes that fork very fast may outlive the command" },
        { ANY(FEATURE_CGROUP_DELEGATION, FEATURE_SYSTEMD_SCOPE), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "memory and CPU time cannot be limited" },
        { ANY(FEATURE_CGROUP_DELEGATION, FEATURE_SYSTEMD_SCOPE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "the number of processes cannot be limited" },
        { ANY(FEATURE_CGROUP_DELEGATION, FEATURE_SYSTEMD_SCOPE, FEATURE_NPROC), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS,
          "the number of processes cannot be limited" },
        { ANY(FEATURE_LANDLOCK_TCP), LEVEL_STANDARD, LEVEL_STANDARD, WANTS, "policies that name hosts are refused" },
        { ANY(FEATURE_TCP_REDIRECT), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS, "only programs that use a proxy reach hosts" },
        { ANY(FEATURE_OVERLAY), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS, "workspaces cannot have snapshots" },
        { ANY(FEATURE_LANDLOCK_REFER), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "files cannot be moved from one directory to another" },
        { ANY(FEATURE_CAPABILITIES), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "the bounding set cannot be emptied" },
        { ANY(FEATURE_MDWE), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "writable memory can be made executable" },
        { ANY(FEATURE_PIDFD), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "processes are identified by pid, which may be reused" },
};
_Static_assert(ARRAY_SIZE(needs) <= LEVEL_REQUIREMENTS_MAX, "LEVEL_REQUIREMENTS_MAX is too small");

/* For level standard, which has no network namespace. */
static const char network_remark[] = "programs can reach hosts only by the proxy of http_proxy; a local port that a "
                                     "policy allows is reachable at this machine's other addresses too";

static bool is_met(const struct level_requirement *need, const struct probe_report *report)
{
        for (const enum feature_id *id = need->any_of; *id != FEATURE_COUNT; id++)
                if (report->features[*id].state == FEATURE_YES)
                        return true;
        return false;
}

static const char *find_help(const struct level_requirement *const *unmet, size_t count,
                             const struct probe_report *report)
{
        for (size_t i = 0; i < count; i++)
                for (const enum feature_id *id = unmet[i]->any_of; *id != FEATURE_COUNT; id++)
                        if (report->features[*id].help)
                                return report->features[*id].help;
        return NULL;
}

void level_evaluate(enum level level, const struct probe_report *report, struct level_result *ret)
{
        *ret = (struct level_result){ .verdict = VERDICT_WORKS };
        for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
                const struct level_requirement *need = &needs[i];
                if (level < need->from || level > need->to || is_met(need, report))
                        continue;
                if (need->is_required)
                        ret->missing[ret->missing_count++] = need;
                else
                        ret->shortfalls[ret->shortfall_count++] = need;
        }
        if (level == LEVEL_STANDARD && !ret->missing_count &&
            report->features[FEATURE_LANDLOCK_TCP].state == FEATURE_YES)
                ret->remark = network_remark;
        if (ret->missing_count) {
                ret->verdict = VERDICT_REFUSED;
                ret->help = find_help(ret->missing, ret->missing_count, report);
        } else if (ret->shortfall_count) {
                ret->verdict = VERDICT_SHORTFALLS;
                ret->help = find_help(ret->shortfalls, ret->shortfall_count, report);
        }
}

const char *level_verdict_name(enum level_verdict verdict)
{
        static const char *const names[] = {
                [VERDICT_WORKS] = "works",
                [VERDICT_SHORTFALLS] = "shortfalls",
                [VERDICT_REFUSED] = "refused",
        };
        return names[verdict];
}
