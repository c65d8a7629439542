/*
 * Landlock rulesets; see ruleset.h.
 *
 * A writable place gets every right but that to make devices: overwriting needs TRUNCATE, moving between directories
 * needs REFER, and a set that handles them and grants them nowhere breaks every editor.
 *
 * Needs of the kernel: Landlock (5.13); each newer ABI adds rights, none is required here.
 */
#include "linux/ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

static const char stage[] = "landlock";

/* Rights that each ABI added. */
static const struct {
        int abi;
        uint64_t fs, net, scope;
} added[] = {
        { 1, (1ULL << 13) - 1, 0, 0 },
        { 2, LANDLOCK_ACCESS_FS_REFER, 0, 0 },
        { 3, LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0 },
        { 4, 0, LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP, 0 },
        { 5, LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0 },
        { 6, 0, 0, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL },
        { 9, LANDLOCK_ACCESS_FS_RESOLVE_UNIX, 0, 0 },
        { 10, 0, LANDLOCK_ACCESS_NET_BIND_UDP | LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, 0 },
};

static const uint64_t reading =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

static const uint64_t never = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

/* What a rule on something that is no directory may grant. */
static const uint64_t of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                                 LANDLOCK_ACCESS_FS_IOCTL_DEV | LANDLOCK_ACCESS_FS_RESOLVE_UNIX;

int ruleset_abi(void)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        return abi < 0 ? -errno : (int)abi;
}

int ruleset_begin(struct ruleset *ret, bool network, struct error *e)
{
        *ret = (struct ruleset){ .fd = -1, .abi = ruleset_abi(), .error = e };
        if (ret->abi < 1)
                return error_errno(e, ret->abi < 0 ? -ret->abi : ENOSYS, stage,
                                   "this kernel has no Landlock ('ringwall doctor' says why)");
        for (size_t i = 0; i < ARRAY_SIZE(added) && added[i].abi <= ret->abi; i++) {
                ret->attr.handled_fs |= added[i].fs;
                ret->attr.scoped |= added[i].scope;
                if (!network)
                        ret->attr.handled_net |= added[i].net;
        }
        /* The struct grows with the ABI; the kernel takes a longer one whose end is zero. */
        ret->fd = (int)syscall(SYS_landlock_create_ruleset, &ret->attr, sizeof ret->attr, 0);
        return ret->fd < 0 ? error_errno(e, errno, stage, "cannot make a ruleset") : 0;
}

int ruleset_allow(struct ruleset *r, int fd, const char *path, enum ruleset_access access)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return error_errno(r->error, errno, stage, "cannot look at %s", path);
        struct landlock_path_beneath_attr rule = {
                .parent_fd = fd,
                .allowed_access = access == RULESET_READ ? reading : r->attr.handled_fs & ~never,
        };
        if (!S_ISDIR(st.st_mode))
                rule.allowed_access &= of_files;
        if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                return error_errno(r->error, errno, stage, "cannot add a rule for %s", path);
        return 0;
}

int ruleset_allow_port(struct ruleset *r, uint16_t port)
{
        const struct landlock_port_attr rule = { .allowed_access = LANDLOCK_ACCESS_NET_CONNECT_TCP, .port = port };
        if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PORT, &rule, 0) < 0)
                return error_errno(r->error, errno, stage, "cannot add a rule for port %u", port);
        return 0;
}

int ruleset_enforce(struct ruleset *r, struct error *e)
{
        int done = syscall(SYS_landlock_restrict_self, r->fd, 0) < 0
                ? error_errno(e, errno, stage, "cannot restrict the process") : 0;
        fd_close(&r->fd);
        return done;
}

int ruleset_scope_signals(void)
{
        /* Moving files between directories is forbidden by every ruleset that does not say otherwise. */
        struct landlock_attr attr = { .handled_fs = LANDLOCK_ACCESS_FS_REFER, .scoped = LANDLOCK_SCOPE_SIGNAL };
        if (ruleset_abi() < 6)
                return -ENOTSUP;
        CLEANUP_FD int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        CLEANUP_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct landlock_path_beneath_attr everywhere = { .parent_fd = root, .allowed_access = LANDLOCK_ACCESS_FS_REFER };
        if (fd < 0 || root < 0 || syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &everywhere, 0) < 0)
                return -errno;
        return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}
