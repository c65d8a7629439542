/*
 * Gives up privileges and files; see confine.h.
 *
 * Landlock under mounts: the box's root contains only files that it may read, so Landlock grants reading everywhere; it
 * enforces which files may be written, as the read-only mounts do already.
 *
 * Privileges: the order matters. The bounding set can only be emptied while the process has capabilities, so that comes
 * first; no_new_privs comes before Landlock and seccomp, which require it.
 */
#include "linux/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/filter_install.h"
#include "linux/kernel_abi.h"
#include "linux/landlock_table.h"
#include "linux/landlock_ruleset.h"

/* True for an ordinary user's process, unless it is in a user namespace of its own. */
static bool has_no_capabilities(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        return syscall(SYS_capget, &header, sets) == 0 && !sets[0].effective && !sets[1].effective;
}

bool confine_has_ptrace(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        return syscall(SYS_capget, &header, sets) == 0 && (sets[0].permitted & (1U << CAP_SYS_PTRACE));
}

int confine_capabilities(bool keep_ptrace, struct error *e)
{
        uint32_t kept = keep_ptrace ? 1U << CAP_SYS_PTRACE : 0;
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { { .permitted = kept, .effective = kept } };
        return syscall(SYS_capset, &header, sets) < 0 ? error_errno(e, errno, "cannot empty the capability sets") : 0;
}

int confine_set_ptrace_effective(bool effective, struct error *e)
{
        uint32_t kept = 1U << CAP_SYS_PTRACE;
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { { .permitted = kept,
                                                                           .effective = effective ? kept : 0 } };
        return syscall(SYS_capset, &header, sets) < 0 ? error_errno(e, errno, "cannot change the capability sets") : 0;
}

int drop_privileges(bool keep_ptrace, struct error *e)
{
        /* EINVAL: the kernel does not know this capability, so all are dropped. EPERM: a process without capabilities
           cannot drop any, but with no_new_privs it cannot gain one either. */
        unsigned long c = 0;
        while (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
                c++;
        bool complete = errno == EINVAL && prctl(PR_CAPBSET_READ, c, 0, 0, 0) < 0;
        if (!complete && (errno != EPERM || !has_no_capabilities()))
                return error_errno(e, errno, "cannot empty the bounding set");
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return error_errno(e, errno, "cannot empty the ambient set");
        int r = confine_capabilities(keep_ptrace, e);
        if (r < 0)
                return r;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return error_errno(e, errno, "cannot set no_new_privs");
        return 0;
}

int enable_mdwe(struct error *e)
{
        if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
                return error_errno(e, errno, "cannot forbid turning written memory into code, which needs Linux 6.3 "
                                   "(--mdwe, security.sandbox.mdwe)");
        return 0;
}

/* A path that does not exist or cannot be reached needs no rule. */
static int allow(struct ruleset *r, const char *path, enum ruleset_access access)
{
        CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                        ? 0 : error_errno(r->error, errno, "cannot open %s", path);
        return ruleset_allow_path(r, fd, path, access);
}

int landlock_under_mounts_build(const struct plan *plan, struct ruleset *ret, struct error *e)
{
        int r = ruleset_new(ret, plan->scalar[PLAN_ALLOW_NETWORK].value, e);
        if (r == 0)
                r = allow(ret, "/", RULESET_READ);
        for (size_t i = 0; r == 0 && i < plan->rules.count; i++) {
                const struct rule *rule = &plan->rules.list[i];
                bool device = rule_is_of_set(rule, SET_DEVICES);
                if ((rule->kind == RULE_WRITE || rule->kind == RULE_PRIVATE) &&
                    (device || rules_decide(&plan->rules, rule->path, true, NULL)))
                        r = allow(ret, rule->path, RULESET_WRITE);
        }
        for (size_t i = 0; r == 0 && i < plan->unix_socket_count; i++)
                r = allow(ret, plan->unix_sockets[i].path, RULESET_WRITE);
        if (r < 0)
                fd_close(&ret->fd);
        return r;
}
