/*
 * Landlock rulesets; see landlock_ruleset.h.
 *
 * A writable place gets every right except making devices: overwriting needs TRUNCATE, moving between directories needs
 * REFER, and a ruleset that handles these rights but grants them nowhere breaks every editor.
 *
 * Needs of the kernel: Landlock (5.13); each newer ABI adds rights, none of which is required here.
 */
#include "linux/landlock_ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/landlock_table.h"
#include "platform/platform.h"

static const uint64_t read_rights =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

static const uint64_t device_rights = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

/* The rights that a rule for something other than a directory may grant. */
static const uint64_t file_rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                                    LANDLOCK_ACCESS_FS_IOCTL_DEV | LANDLOCK_ACCESS_FS_RESOLVE_UNIX;

int ruleset_new(struct ruleset *ret, bool network, struct error *e)
{
        *ret = (struct ruleset){ .fd = -1, .abi = landlock_abi(), .error = e };
        if (ret->abi < 1)
                return error_errno(e, ret->abi < 0 ? -ret->abi : ENOSYS,
                                   "this kernel has no Landlock ('ringwall doctor' says why)");
        ret->attr = landlock_all_rights(ret->abi);
        if (network)
                ret->attr.handled_net = 0;
        /* The struct grows with the ABI; older kernels accept a longer one whose end is zero. */
        ret->fd = (int)syscall(SYS_landlock_create_ruleset, &ret->attr, sizeof ret->attr, 0);
        return ret->fd < 0 ? error_errno(e, errno, "cannot make a ruleset") : 0;
}

int ruleset_begin_scopes(struct ruleset *ret, struct error *e)
{
        *ret = (struct ruleset){ .fd = -1, .abi = landlock_abi(), .error = e };
        ret->attr.scoped = landlock_all_rights(ret->abi).scoped;
        if (!ret->attr.scoped)
                return 0;
        ret->fd = (int)syscall(SYS_landlock_create_ruleset, &ret->attr, sizeof ret->attr, 0);
        return ret->fd < 0 ? error_errno(e, errno, "cannot make a ruleset") : 0;
}

int ruleset_allow_path(struct ruleset *r, int fd, const char *path, enum ruleset_access access)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return error_errno(r->error, errno, "cannot look at %s", path);
        struct landlock_path_beneath_attr rule = {
                .parent_fd = fd,
                .allowed_access = access == RULESET_READ ? read_rights : r->attr.handled_fs & ~device_rights,
        };
        if (!S_ISDIR(st.st_mode))
                rule.allowed_access &= file_rights;
        if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                return error_errno(r->error, errno, "cannot add a rule for %s", path);
        return 0;
}

int ruleset_allow_connect(struct ruleset *r, uint16_t port)
{
        const struct landlock_port_attr rule = { .allowed_access = LANDLOCK_ACCESS_NET_CONNECT_TCP, .port = port };
        if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PORT, &rule, 0) < 0)
                return error_errno(r->error, errno, "cannot add a rule for port %u", port);
        return 0;
}

int ruleset_enforce(struct ruleset *r, struct error *e)
{
        int result = syscall(SYS_landlock_restrict_self, r->fd, 0) < 0
                ? error_errno(e, errno, "cannot restrict the process") : 0;
        fd_close(&r->fd);
        return result;
}

/* Every ruleset forbids moving files between directories unless it grants REFER. */
static int enter_domain(uint64_t scopes)
{
        struct landlock_attr attr = { .handled_fs = LANDLOCK_ACCESS_FS_REFER, .scoped = scopes };
        CLEANUP_FD int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        CLEANUP_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct landlock_path_beneath_attr everywhere = { .parent_fd = root,
                                                         .allowed_access = LANDLOCK_ACCESS_FS_REFER };
        if (fd < 0 || root < 0 || syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &everywhere, 0) < 0)
                return -errno;
        return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* Enters a Landlock domain nested in the present one. */
int platform_enter_nested_domain(void)
{
        return !landlock_has(FEATURE_LANDLOCK_REFER) ? -ENOTSUP : enter_domain(0);
}

int ruleset_scope_signals(void)
{
        return !landlock_has(FEATURE_LANDLOCK_SCOPE) ? -ENOTSUP : enter_domain(LANDLOCK_SCOPE_SIGNAL);
}
