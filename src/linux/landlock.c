/*
 * Landlock: files, ports, sockets and signals, taken away by the process itself.
 *
 * What it is for: every level stands on Landlock. This file knows its rights, in one table, and asks which of them the
 * running kernel knows.
 *
 * How it works: the kernel tells its ABI number, but the number is not believed: every right is offered by itself in a
 * ruleset, and every switch of landlock_restrict_self() with an fd that cannot be one, and the kernel's answers are
 * counted. Then a child restricts itself with all the rights of files that the kernel took, and must be refused what it
 * could do before.
 *
 * What it trusts: the kernel's errno values (EINVAL and E2BIG: unknown; EBADF: known). An attacker controls nothing.
 *
 * Needs of the kernel: 5.13 or newer, CONFIG_SECURITY_LANDLOCK, "landlock" in the lsm= list. ENOSYS: not built in, or
 * hidden by an outer seccomp filter. EOPNOTSUPP: built in and not switched on at boot.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/ask.h"
#include "linux/kernel_abi.h"

enum kind { KIND_FS, KIND_NET, KIND_SCOPE, KIND_SWITCH };

static const struct right {
        enum feature_id feature;
        enum kind kind;
        uint64_t bit;
        const char *name;
} rights[] = {
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_EXECUTE, "execute" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_WRITE_FILE, "write_file" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_READ_FILE, "read_file" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_READ_DIR, "read_dir" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_REMOVE_DIR, "remove_dir" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_REMOVE_FILE, "remove_file" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_CHAR, "make_char" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_DIR, "make_dir" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_REG, "make_reg" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_SOCK, "make_sock" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_FIFO, "make_fifo" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_BLOCK, "make_block" },
        { FEATURE_LANDLOCK_FILES, KIND_FS, LANDLOCK_ACCESS_FS_MAKE_SYM, "make_sym" },
        { FEATURE_LANDLOCK_REFER, KIND_FS, LANDLOCK_ACCESS_FS_REFER, "refer" },
        { FEATURE_LANDLOCK_TRUNCATE, KIND_FS, LANDLOCK_ACCESS_FS_TRUNCATE, "truncate" },
        { FEATURE_LANDLOCK_TCP, KIND_NET, LANDLOCK_ACCESS_NET_BIND_TCP, "bind_tcp" },
        { FEATURE_LANDLOCK_TCP, KIND_NET, LANDLOCK_ACCESS_NET_CONNECT_TCP, "connect_tcp" },
        { FEATURE_LANDLOCK_IOCTL_DEV, KIND_FS, LANDLOCK_ACCESS_FS_IOCTL_DEV, "ioctl_dev" },
        { FEATURE_LANDLOCK_SCOPE, KIND_SCOPE, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "abstract_unix_socket" },
        { FEATURE_LANDLOCK_SCOPE, KIND_SCOPE, LANDLOCK_SCOPE_SIGNAL, "signal" },
        { FEATURE_LANDLOCK_AUDIT, KIND_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF, "log_same_exec_off" },
        { FEATURE_LANDLOCK_AUDIT, KIND_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON, "log_new_exec_on" },
        { FEATURE_LANDLOCK_AUDIT, KIND_SWITCH, LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF, "log_subdomains_off" },
        { FEATURE_LANDLOCK_TSYNC, KIND_SWITCH, LANDLOCK_RESTRICT_SELF_TSYNC, "tsync" },
        { FEATURE_LANDLOCK_UNIX, KIND_FS, LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "resolve_unix" },
        { FEATURE_LANDLOCK_UDP, KIND_NET, LANDLOCK_ACCESS_NET_BIND_UDP, "bind_udp" },
        { FEATURE_LANDLOCK_UDP, KIND_NET, LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, "connect_send_udp" },
};
_Static_assert(ARRAY_SIZE(rights) <= 64, "the answer is a bit set");

/* What came when. Only for people: nothing is concluded from it. */
static const struct {
        enum feature_id feature;
        int abi;
        const char *release;
} ages[] = {
        { FEATURE_LANDLOCK_FILES, 1, "5.13" },
        { FEATURE_LANDLOCK_REFER, 2, "5.19" },
        { FEATURE_LANDLOCK_TRUNCATE, 3, "6.2" },
        { FEATURE_LANDLOCK_TCP, 4, "6.7" },
        { FEATURE_LANDLOCK_IOCTL_DEV, 5, "6.10" },
        { FEATURE_LANDLOCK_SCOPE, 6, "6.12" },
        { FEATURE_LANDLOCK_AUDIT, 7, "6.15" },
        { FEATURE_LANDLOCK_TSYNC, 8, "7.0" },
        { FEATURE_LANDLOCK_UNIX, 9, "7.1" },
        { FEATURE_LANDLOCK_UDP, LANDLOCK_NEWEST_KNOWN, "7.2" },
};

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
        if (abi > LANDLOCK_NEWEST_KNOWN)
                (void)snprintf(text, size, "ABI %d, newer than the %d known here: what it added is not used", abi,
                               LANDLOCK_NEWEST_KNOWN);
        else
                (void)snprintf(text, size, "ABI %d", abi);
}

/* The names of those rights of one feature whose bit in `set` (an index into rights[]) equals `wanted`. */
static size_t list_rights(enum feature_id feature, uint64_t set, bool wanted, char *text, size_t size)
{
        size_t count = 0, used = 0;
        text[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
                if (rights[i].feature != feature || ((set >> i) & 1) != wanted)
                        continue;
                int n = snprintf(text + used, size - used, "%s%s", count ? " " : "", rights[i].name);
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

static bool kernel_knows(const struct right *right)
{
        if (right->kind == KIND_SWITCH) /* a known switch gets as far as the fd, which is none */
                return restrict_self(-1, right->bit) == 0 || errno == EBADF;
        struct landlock_attr attr = { 0 };
        uint64_t *const fields[] = {
                [KIND_FS] = &attr.handled_fs,
                [KIND_NET] = &attr.handled_net,
                [KIND_SCOPE] = &attr.scoped,
        };
        *fields[right->kind] = right->bit;
        CLEANUP_FD int fd = create_ruleset(&attr, sizeof attr, 0);
        return fd >= 0;
}

static int ask_rights(unsigned long unused, struct answer *a)
{
        (void)unused;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return ask_failed(a, "set no_new_privs");
        for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
                if (kernel_knows(&rights[i]))
                        a->value |= 1ULL << i;
        return 0;
}

/* Lays no rule at all: whatever is handled must be refused afterwards. */
static int restrict_everything(struct answer *a)
{
        struct landlock_attr attr = { 0 };
        for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
                if (rights[i].kind == KIND_FS && kernel_knows(&rights[i]))
                        attr.handled_fs |= rights[i].bit;
        CLEANUP_FD int ruleset = create_ruleset(&attr, sizeof attr, 0);
        if (ruleset < 0)
                return ask_failed(a, "make a ruleset");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return ask_failed(a, "set no_new_privs");
        if (restrict_self(ruleset, 0) < 0)
                return ask_failed(a, "restrict a child");
        return 0;
}

static int ask_enforced(unsigned long unused, struct answer *a)
{
        (void)unused;
        int abi = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 0)
                return ask_failed(a, "ask for Landlock");
        CLEANUP_FD int before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (before < 0)
                return ask_failed(a, "list / before restriction");
        int r = restrict_everything(a);
        if (r < 0)
                return r;
        CLEANUP_FD int after = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (after >= 0 || errno != EACCES)
                return ask_failed_with(a, EPROTO, "get refused after restriction");
        char text[96];
        landlock_describe_abi(abi, text, sizeof text);
        ask_say(a, "%s; a restricted child was refused", text);
        return 0;
}

static void enter_rights(struct probe_report *report, size_t age, uint64_t known)
{
        enum feature_id feature = ages[age].feature;
        char have[200], lack[200];
        size_t has = list_rights(feature, known, true, have, sizeof have);
        size_t lacks = list_rights(feature, known, false, lack, sizeof lack);
        if (!lacks)
                feature_set(report, feature, FEATURE_YES, 0, "%s", have);
        else if (has)
                feature_set(report, feature, FEATURE_PARTLY, EINVAL, "without %s", lack);
        else
                feature_set(report, feature, FEATURE_NO, EINVAL, "%s: from ABI %d, Linux %s", lack, ages[age].abi,
                            ages[age].release);
}

void landlock_probe(struct probe_report *report)
{
        static const struct question enforced = { FEATURE_LANDLOCK, ask_enforced, 0 };
        ask_feature(report, &enforced);

        struct answer answer;
        enum feature_state state = ask(ask_rights, 0, &answer);
        for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
                if (state == FEATURE_YES)
                        enter_rights(report, i, answer.value);
                else
                        ask_enter(report, ages[i].feature, state, &answer);
        }
}
