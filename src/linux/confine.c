/*
 * Giving things up.
 *
 * Landlock under mounts: the root shows what may be read and nothing else, so reading is granted everywhere, and
 * Landlock says once more what may be written.
 *
 * Privileges: the order matters. The bounding set can only be emptied while there still are capabilities, so it is
 * first; no_new_privs comes before Landlock and seccomp, which ask for it.
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
#include "linux/ruleset.h"

/* Outside a user namespace of its own, an ordinary user's process. */
static bool is_powerless(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        return syscall(SYS_capget, &header, sets) == 0 && !sets[0].effective && !sets[1].effective;
}

int confine_privileges(struct error *e)
{
        static const char stage[] = "drop privileges";
        /* The first that the kernel does not know is EINVAL. Who has no capability in the first place may not drop one
           either (EPERM), and cannot get one back: no_new_privs. */
        unsigned long c = 0;
        while (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
                c++;
        bool complete = errno == EINVAL && prctl(PR_CAPBSET_READ, c, 0, 0, 0) < 0;
        if (!complete && (errno != EPERM || !is_powerless()))
                return error_errno(e, errno, stage, "cannot empty the bounding set");
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return error_errno(e, errno, stage, "cannot empty the ambient set");
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        if (syscall(SYS_capset, &header, sets) < 0)
                return error_errno(e, errno, stage, "cannot empty the capability sets");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return error_errno(e, errno, stage, "cannot set no_new_privs");
        return 0;
}

int confine_memory(struct error *e)
{
        if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
                return error_errno(e, errno, "mdwe", "cannot keep written memory from becoming code (it takes Linux 6.3; "
                                   "--mdwe, security.sandbox.mdwe)");
        return 0;
}

static const char stage[] = "landlock";

/* What does not exist, or not for us, needs no rule. */
static int allow(struct ruleset *r, const char *path, enum ruleset_access access)
{
        CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                        ? 0 : error_errno(r->error, errno, stage, "cannot open %s", path);
        return ruleset_allow(r, fd, path, access);
}

int confine_files(const struct plan *plan, struct ruleset *ret, struct error *e)
{
        int r = ruleset_begin(ret, plan->number[PLAN_ALLOW_NETWORK].number, e);
        if (r == 0)
                r = allow(ret, "/", RULESET_READ);
        for (size_t i = 0; r == 0 && i < plan->rules.count; i++) {
                const struct rule *rule = &plan->rules.list[i];
                if (rule->kind == RULE_WRITE || rule->kind == RULE_PRIVATE)
                        r = allow(ret, rule->path, RULESET_WRITE);
        }
        for (size_t i = 0; r == 0 && i < plan->unix_socket_count; i++)
                r = allow(ret, plan->unix_sockets[i].path, RULESET_WRITE);
        if (r < 0)
                fd_close(&ret->fd);
        return r;
}

unsigned filter_rights(const struct plan *plan)
{
        const struct plan_value *n = plan->number;
        bool mounts = n[PLAN_NAMESPACES].number & SPACE_MOUNT;
        return (n[PLAN_ALLOW_EXEC].number ? FILTER_EXEC : 0U) | (n[PLAN_ALLOW_FORK].number ? FILTER_FORK : 0U) |
               (!n[PLAN_ALLOW_NETWORK].number ? 0U : n[PLAN_NAMESPACES].number & SPACE_NET ? FILTER_NETWORK : FILTER_GIVEN) |
               (n[PLAN_NAMESPACES].number & SPACE_IPC ? FILTER_IPC : 0U) |
               (n[PLAN_NAMESPACES].number & SPACE_PID ? FILTER_PIDS : 0U) |
               (mounts || ruleset_abi() >= 9 ? FILTER_UNIX : 0U);
}
