/*
 * Probes hardening: the privileges that a process gives up for good before it executes an untrusted program.
 *
 * What it is for: no_new_privs (without it an unprivileged user gets neither seccomp nor Landlock), empty capability
 * sets, and memory that is never both writable and executable (MDWE).
 *
 * How it works: a child takes each of these steps, and then tries what the step forbids.
 *
 * What it trusts: nothing. An attacker controls nothing.
 *
 * Needs of the kernel: no_new_privs 3.5, MDWE 6.3. The bounding set can be emptied only with CAP_SETPCAP: by root, or
 * inside a new user namespace.
 */
#include "linux/probes.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "linux/probe_child.h"
#include "linux/kernel_abi.h"
#include "linux/probe_namespaces.h"

static int ask_no_new_privs(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return probe_fail(a, "set no_new_privs");
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
                return probe_fail_with(a, EPROTO, "verify that no_new_privs is set");
        return 0;
}

/* PR_CAPBSET_READ fails with EINVAL for the first capability that the kernel does not know. */
static int drop_bounding_set(void)
{
        for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
                if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
                        return -errno;
        return 0;
}

static int ask_capabilities(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        const char *where = "directly";
        int r = drop_bounding_set();
        if (r == -EPERM) {
                where = "inside a user namespace";
                r = probe_enter_namespaces(0, a);
                if (r < 0)
                        return r;
                r = drop_bounding_set();
        }
        if (r < 0)
                return probe_fail_with(a, -r, "empty the bounding set");
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        if (syscall(SYS_capset, &header, sets) < 0)
                return probe_fail(a, "empty the capability sets");
        if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0 || prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) == 0)
                return probe_fail_with(a, EPROTO, "verify that the capability sets are empty");
        probe_describe(a, "bounding set and all other sets, %s", where);
        return 0;
}

static int ask_mdwe(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
                return probe_fail(a, "switch on MDWE (Linux 6.3)");
        size_t size = (size_t)sysconf(_SC_PAGESIZE);
        void *page = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED || errno != EACCES)
                return probe_fail_with(a, EPROTO, "verify that writable code is refused");
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
                return probe_fail(a, "map a page");
        if (mprotect(page, size, PROT_READ | PROT_EXEC) == 0 || errno != EACCES)
                return probe_fail_with(a, EPROTO, "verify that data cannot become code");
        probe_describe(a, "MDWE: writable memory cannot become code");
        return 0;
}

void probe_harden(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_NO_NEW_PRIVS, ask_no_new_privs, 0 },
                { FEATURE_CAPABILITIES, ask_capabilities, 0 },
                { FEATURE_MDWE, ask_mdwe, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
