/*
 * Probes Landlock, by which a process takes access to files, ports, sockets and signals away from itself.
 *
 * What it is for: every level needs Landlock. This file asks which of its rights (landlock_table.c) the running kernel
 * knows.
 *
 * How it works: the kernel reports an ABI number, but this file does not rely on it. It creates one ruleset per right,
 * and tries every flag of landlock_restrict_self() with an invalid descriptor, to see which of them the kernel accepts.
 * Another child restricts itself with all the file rights that were accepted; an open() that succeeded before must
 * then fail.
 *
 * What it trusts: the kernel's errno values (EINVAL and E2BIG: unknown; EBADF: known). An attacker controls nothing.
 *
 * Needs of the kernel: 5.13 or newer, CONFIG_SECURITY_LANDLOCK, "landlock" in the lsm= list. ENOSYS: not built in, or
 * hidden by an outer seccomp filter. EOPNOTSUPP: built in, but not enabled at boot.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/probe_child.h"
#include "linux/landlock_table.h"

static int create_ruleset(const struct landlock_attr *attr, size_t size, unsigned int flags)
{
        return (int)syscall(SYS_landlock_create_ruleset, attr, size, flags);
}

static int restrict_self(int ruleset, uint64_t flags)
{
        return (int)syscall(SYS_landlock_restrict_self, ruleset, (unsigned int)flags);
}

void landlock_describe_abi(int abi, char *text, size_t size)
{
        if (abi > landlock_newest_known())
                (void)snprintf(text, size, "ABI %d, newer than the %d known here: its additions are not used", abi,
                               landlock_newest_known());
        else
                (void)snprintf(text, size, "ABI %d", abi);
}

/* The names of the rights of one feature whose bit in `set` equals `wanted`. Bit i stands for landlock_rights[i]. */
static size_t list_rights(enum feature_id feature, uint64_t set, bool wanted, char *text, size_t size)
{
        size_t count = 0, used = 0;
        text[0] = '\0';
        for (size_t i = 0; i < landlock_right_count; i++) {
                if (landlock_rights[i].feature != feature || ((set >> i) & 1) != wanted)
                        continue;
                int n = snprintf(text + used, size - used, "%s%s", count ? " " : "", landlock_rights[i].name);
                if (n < 0 || (size_t)n >= size - used)
                        break;
                used += (size_t)n;
                count++;
        }
        return count;
}

void landlock_list_rights(enum feature_id feature, char *text, size_t size)
{
        (void)list_rights(feature, UINT64_MAX, true, text, size);
}

static bool kernel_knows(const struct landlock_right *right)
{
        if (right->kind == LANDLOCK_SWITCH) /* the kernel checks the flags first: EBADF means that it knows them */
                return restrict_self(-1, right->bit) == 0 || errno == EBADF;
        struct landlock_attr attr = { 0 };
        uint64_t *const fields[] = {
                [LANDLOCK_FS] = &attr.handled_fs,
                [LANDLOCK_NET] = &attr.handled_net,
                [LANDLOCK_SCOPE] = &attr.scoped,
        };
        *fields[right->kind] = right->bit;
        CLEANUP_FD int fd = create_ruleset(&attr, sizeof attr, 0);
        return fd >= 0;
}

static int ask_rights(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return probe_fail(a, "set no_new_privs");
        for (size_t i = 0; i < landlock_right_count; i++)
                if (kernel_knows(&landlock_rights[i]))
                        a->value |= 1ULL << i;
        return 0;
}

/* Adds no rule to the ruleset, so that everything it handles is denied afterwards. */
static int deny_all_files(struct probe_answer *a)
{
        struct landlock_attr attr = { 0 };
        for (size_t i = 0; i < landlock_right_count; i++)
                if (landlock_rights[i].kind == LANDLOCK_FS && kernel_knows(&landlock_rights[i]))
                        attr.handled_fs |= landlock_rights[i].bit;
        CLEANUP_FD int ruleset = create_ruleset(&attr, sizeof attr, 0);
        if (ruleset < 0)
                return probe_fail(a, "make a ruleset");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return probe_fail(a, "set no_new_privs");
        if (restrict_self(ruleset, 0) < 0)
                return probe_fail(a, "restrict a child");
        return 0;
}

static int ask_enforced(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int abi = landlock_abi();
        if (abi < 0)
                return probe_fail_with(a, -abi, "get the Landlock ABI");
        CLEANUP_FD int before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (before < 0)
                return probe_fail(a, "open / before the restriction");
        int r = deny_all_files(a);
        if (r < 0)
                return r;
        CLEANUP_FD int after = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (after >= 0 || errno != EACCES)
                return probe_fail_with(a, EPROTO, "verify that opening / is denied afterwards");
        char text[96];
        landlock_describe_abi(abi, text, sizeof text);
        probe_describe(a, "%s; a restricted child was denied access", text);
        return 0;
}

static void record_rights(struct probe_report *report, const struct landlock_version *version, uint64_t known)
{
        enum feature_id feature = version->feature;
        char present[200], missing[200];
        size_t present_count = list_rights(feature, known, true, present, sizeof present);
        size_t missing_count = list_rights(feature, known, false, missing, sizeof missing);
        if (!missing_count)
                feature_set(report, feature, FEATURE_YES, 0, "%s", present);
        else if (present_count)
                feature_set(report, feature, FEATURE_PARTIAL, EINVAL, "lacks %s", missing);
        else
                feature_set(report, feature, FEATURE_NO, EINVAL, "%s: needs ABI %d, Linux %s", missing, version->abi,
                            version->release);
}

void probe_landlock(struct probe_report *report)
{
        static const struct probe_question enforced = { FEATURE_LANDLOCK, ask_enforced, 0 };
        probe_feature(report, &enforced);

        struct probe_answer answer;
        enum feature_state state = probe_in_child(ask_rights, 0, &answer);
        for (size_t i = 0; i < landlock_version_count; i++) {
                if (state == FEATURE_YES)
                        record_rights(report, &landlock_versions[i], answer.value);
                else
                        probe_record(report, landlock_versions[i].feature, state, &answer);
        }
}
