#include "linux/landlock_table.h"

#include <errno.h>
#include <unistd.h>

#include "base/memory.h"

const struct landlock_right landlock_rights[] = {
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_EXECUTE, "execute" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_WRITE_FILE, "write_file" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_READ_FILE, "read_file" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_READ_DIR, "read_dir" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_REMOVE_DIR, "remove_dir" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_REMOVE_FILE, "remove_file" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_CHAR, "make_char" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_DIR, "make_dir" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_REG, "make_reg" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_SOCK, "make_sock" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_FIFO, "make_fifo" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_BLOCK, "make_block" },
        { FEATURE_LANDLOCK_FILES, LANDLOCK_FS, LANDLOCK_ACCESS_FS_MAKE_SYM, "make_sym" },
        { FEATURE_LANDLOCK_REFER, LANDLOCK_FS, LANDLOCK_ACCESS_FS_REFER, "refer" },
        { FEATURE_LANDLOCK_TRUNCATE, LANDLOCK_FS, LANDLOCK_ACCESS_FS_TRUNCATE, "truncate" },
        { FEATURE_LANDLOCK_TCP, LANDLOCK_NET, LANDLOCK_ACCESS_NET_BIND_TCP, "bind_tcp" },
        { FEATURE_LANDLOCK_TCP, LANDLOCK_NET, LANDLOCK_ACCESS_NET_CONNECT_TCP, "connect_tcp" },
        { FEATURE_LANDLOCK_IOCTL_DEV, LANDLOCK_FS, LANDLOCK_ACCESS_FS_IOCTL_DEV, "ioctl_dev" },
        { FEATURE_LANDLOCK_SCOPE, LANDLOCK_SCOPE, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "abstract_unix_socket" },
        { FEATURE_LANDLOCK_SCOPE, LANDLOCK_SCOPE, LANDLOCK_SCOPE_SIGNAL, "signal" },
        { FEATURE_LANDLOCK_AUDIT, LANDLOCK_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF, "log_same_exec_off" },
        { FEATURE_LANDLOCK_AUDIT, LANDLOCK_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON, "log_new_exec_on" },
        { FEATURE_LANDLOCK_AUDIT, LANDLOCK_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF, "log_subdomains_off" },
        { FEATURE_LANDLOCK_TSYNC, LANDLOCK_SWITCH, LANDLOCK_RESTRICT_SELF_TSYNC, "tsync" },
        { FEATURE_LANDLOCK_UNIX, LANDLOCK_FS, LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "resolve_unix" },
        { FEATURE_LANDLOCK_UDP, LANDLOCK_NET, LANDLOCK_ACCESS_NET_BIND_UDP, "bind_udp" },
        { FEATURE_LANDLOCK_UDP, LANDLOCK_NET, LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, "connect_send_udp" },
};
const size_t landlock_right_count = ARRAY_SIZE(landlock_rights);

const struct landlock_version landlock_versions[] = {
        { FEATURE_LANDLOCK_FILES, 1, "5.13" },
        { FEATURE_LANDLOCK_REFER, 2, "5.19" },
        { FEATURE_LANDLOCK_TRUNCATE, 3, "6.2" },
        { FEATURE_LANDLOCK_TCP, 4, "6.7" },
        { FEATURE_LANDLOCK_IOCTL_DEV, 5, "6.10" },
        { FEATURE_LANDLOCK_SCOPE, 6, "6.12" },
        { FEATURE_LANDLOCK_AUDIT, 7, "6.15" },
        { FEATURE_LANDLOCK_TSYNC, 8, "7.0" },
        { FEATURE_LANDLOCK_UNIX, 9, "7.1" },
        { FEATURE_LANDLOCK_UDP, 10, "7.2" },
};
const size_t landlock_version_count = ARRAY_SIZE(landlock_versions);

int landlock_newest_known(void)
{
        return landlock_versions[ARRAY_SIZE(landlock_versions) - 1].abi;
}

int landlock_abi(void)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        return abi < 0 ? -errno : (int)abi;
}

static const struct landlock_version *version_of(enum feature_id feature)
{
        for (size_t i = 0; i < ARRAY_SIZE(landlock_versions); i++)
                if (landlock_versions[i].feature == feature)
                        return &landlock_versions[i];
        return NULL;
}

bool landlock_abi_has(int abi, enum feature_id feature)
{
        const struct landlock_version *version = version_of(feature);
        return version && abi >= version->abi;
}

bool landlock_has(enum feature_id feature)
{
        return landlock_abi_has(landlock_abi(), feature);
}

const char *landlock_release(enum feature_id feature)
{
        const struct landlock_version *version = version_of(feature);
        return version ? version->release : "?";
}

struct landlock_attr landlock_all_rights(int abi)
{
        struct landlock_attr all = { 0 };
        for (size_t i = 0; i < ARRAY_SIZE(landlock_rights); i++) {
                const struct landlock_right *right = &landlock_rights[i];
                if (!landlock_abi_has(abi, right->feature))
                        continue;
                all.handled_fs |= right->kind == LANDLOCK_FS ? right->bit : 0;
                all.handled_net |= right->kind == LANDLOCK_NET ? right->bit : 0;
                all.scoped |= right->kind == LANDLOCK_SCOPE ? right->bit : 0;
        }
        return all;
}
