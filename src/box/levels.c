/* Which levels this machine can hold. Theory of operation: levels.h. */
#include "box/levels.h"

#include "base/memory.h"

#define ANY(...) ((const enum feature_id[]){ __VA_ARGS__, FEATURE_COUNT })
#define NEEDS true
#define WANTS false

/* Hard needs first, then what is lost, gravest first: the first row that has a remedy gives the one command to try. */
static const struct level_need needs[] = {
        { ANY(FEATURE_LANDLOCK), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "no file can be kept from a program" },
        { ANY(FEATURE_SECCOMP), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "system calls cannot be filtered" },
        { ANY(FEATURE_NO_NEW_PRIVS), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS,
          "setuid programs would give privileges back" },
        { ANY(FEATURE_OPENAT2), LEVEL_STANDARD, LEVEL_MAXIMUM, NEEDS, "paths cannot be resolved without a race" },
        { ANY(FEATURE_LANDLOCK_TRUNCATE), LEVEL_STANDARD, LEVEL_STANDARD, NEEDS,
          "files that may only be read could be emptied" },
        { ANY(FEATURE_USER), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "no user namespace can be made" },
        { ANY(FEATURE_PID), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's processes stay in sight" },
        { ANY(FEATURE_MOUNT), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's files stay in sight" },
        { ANY(FEATURE_IPC), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's shared memory stays in reach" },
        { ANY(FEATURE_UTS), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's name stays in sight" },
        { ANY(FEATURE_CGROUP), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the host's cgroups stay in sight" },
        { ANY(FEATURE_TOGETHER), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "the namespaces cannot be made in one step" },
        { ANY(FEATURE_ROOT), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own root directory" },
        { ANY(FEATURE_PROC), LEVEL_STRICT, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own /proc" },
        { ANY(FEATURE_NET), LEVEL_MAXIMUM, LEVEL_MAXIMUM, NEEDS, "the host's network stays in reach" },
        { ANY(FEATURE_LOOPBACK), LEVEL_MAXIMUM, LEVEL_MAXIMUM, NEEDS, "a box cannot have its own loopback" },

        { ANY(FEATURE_LANDLOCK_SCOPE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "the user's other processes can be sent signals" },
        { ANY(FEATURE_LANDLOCK_SCOPE, FEATURE_NET), LEVEL_STRICT, LEVEL_STRICT, NEEDS,
          "the host's abstract unix sockets stay in reach" },
        { ANY(FEATURE_LANDLOCK_UNIX), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "unix sockets can be had in pairs only" },
        { ANY(FEATURE_LANDLOCK_UNIX), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS,
          "unix sockets in directories that may be read stay in reach" },
        { ANY(FEATURE_LANDLOCK_IOCTL_DEV), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "a device that may be opened takes any ioctl" },
        { ANY(FEATURE_LANDLOCK_SCOPE), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "what forks faster than it is found may outlive its command" },
        { ANY(FEATURE_ADDFD), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "names that do not exist yet cannot be protected" },
        { ANY(FEATURE_READ_MEMORY), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "the guard cannot see which path is meant" },
        { ANY(FEATURE_WAIT_KILLABLE), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "a signal can make a guarded call happen twice" },
        { ANY(FEATURE_DELEGATION, FEATURE_MANAGER), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "memory and CPU time cannot be limited" },
        { ANY(FEATURE_DELEGATION, FEATURE_MANAGER), LEVEL_STANDARD, LEVEL_STANDARD, WANTS,
          "the number of processes cannot be limited" },
        { ANY(FEATURE_DELEGATION, FEATURE_MANAGER, FEATURE_NPROC), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS,
          "the number of processes cannot be limited" },
        { ANY(FEATURE_LANDLOCK_TCP), LEVEL_STANDARD, LEVEL_STANDARD, WANTS, "policies that name hosts are refused" },
        { ANY(FEATURE_REDIRECT), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS, "policies that name hosts are refused" },
        { ANY(FEATURE_OVERLAY), LEVEL_STRICT, LEVEL_MAXIMUM, WANTS, "workspaces cannot have snapshots" },
        { ANY(FEATURE_LANDLOCK_REFER), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS,
          "files cannot be moved from one directory to another" },
        { ANY(FEATURE_CAPABILITIES), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "the bounding set cannot be emptied" },
        { ANY(FEATURE_MDWE), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "data can be turned into code" },
        { ANY(FEATURE_PIDFD), LEVEL_STANDARD, LEVEL_MAXIMUM, WANTS, "processes are told apart by number only" },
};
_Static_assert(ARRAY_SIZE(needs) <= LEVEL_NEEDS_MAX, "LEVEL_NEEDS_MAX is too small");

/* Of hosts, where there is no network namespace. */
static const char by_proxy[] = "programs reach hosts only by the proxy of http_proxy; of a local port that a policy allows, the same "
                               "number at this machine's other addresses is in reach too";

static bool is_met(const struct level_need *need, const struct probe_report *report)
{
        for (const enum feature_id *id = need->any_of; *id != FEATURE_COUNT; id++)
                if (report->features[*id].state == FEATURE_YES)
                        return true;
        return false;
}

static const char *find_help(const struct level_need *const *lacking, size_t count, const struct probe_report *report)
{
        for (size_t i = 0; i < count; i++)
                for (const enum feature_id *id = lacking[i]->any_of; *id != FEATURE_COUNT; id++)
                        if (report->features[*id].help)
                                return report->features[*id].help;
        return NULL;
}

void level_judge(enum level level, const struct probe_report *report, struct level_result *ret)
{
        *ret = (struct level_result){ .verdict = VERDICT_WORKS };
        for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
                const struct level_need *need = &needs[i];
                if (level < need->from || level > need->to || is_met(need, report))
                        continue;
                if (need->is_hard)
                        ret->missing[ret->missing_count++] = need;
                else
                        ret->shortfalls[ret->shortfall_count++] = need;
        }
        if (level == LEVEL_STANDARD && !ret->missing_count && report->features[FEATURE_LANDLOCK_TCP].state == FEATURE_YES)
                ret->remark = by_proxy;
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
