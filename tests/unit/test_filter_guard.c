/*
 * The filter of a box with a guard, in the simulator: the guard's program in front of each program of rights, joined as
 * in filter_install.c. The list of calls that must be notified was written from what the calls do, not from the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/memory.h"
#include "bpf_simulator.h"
#include "linux/filter_install.h"
#include "linux/filter_table.h"

#define NOTIFY SECCOMP_RET_USER_NOTIF
#define FAIL(code) (SECCOMP_RET_ERRNO | (code))
#define HIGH_BITS 0xffffffff00000000ULL
enum {
        JOINED_MAX = 1024,
        ALL_RIGHTS = FILTER_EXEC | FILTER_FORK | FILTER_NETWORK | FILTER_IPC | FILTER_UNIX | FILTER_PRIORITIES
};

static const struct filter_programs *const programs[FILTER_ARCHES] = {
        [FILTER_X86_64] = &filter_programs_x86_64,
        [FILTER_AARCH64] = &filter_programs_aarch64,
};

static size_t join(enum filter_arch arch, unsigned rights, unsigned guard, struct sock_filter code[JOINED_MAX])
{
        const struct program_slice *first = &programs[arch]->guards[guard], *second = &programs[arch]->variants[rights];
        assert_true(first->count + second->count <= JOINED_MAX);
        memcpy(code, programs[arch]->code + first->start, first->count * sizeof *code);
        memcpy(code + first->count, programs[arch]->code + second->start, second->count * sizeof *code);
        return first->count + second->count;
}

static int find_number(enum filter_arch arch, const char *call)
{
        for (size_t i = 0; i < filter_number_count; i++)
                if (!strcmp(filter_extra_numbers[i].call, call))
                        return filter_extra_numbers[i].numbers[arch];
        return seccomp_syscall_resolve_name_arch(filter_abis[arch].audit, call);
}

static void test_kernel_would_accept_each_joined_program(void **state)
{
        (void)state;
        struct sock_filter code[JOINED_MAX];
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++)
                        for (unsigned guard = 0; guard < FILTER_GUARD_COUNT; guard++)
                                assert_int_equal(bpf_check(code, join(arch, rights, guard, code)), 0);
}

static bool is_guarded(enum filter_arch arch, int number)
{
        for (size_t i = 0; i < filter_guarded_count; i++)
                if (find_number(arch, filter_guarded[i].call) == number)
                        return true;
        for (size_t i = 0; i < filter_guard_condition_count; i++)
                if (find_number(arch, filter_guard_conditions[i].call) == number)
                        return true;
        return false;
}

/* Calls that the guard does not check get the same verdict as without a guard; foreign calls are killed as well. */
static void test_unguarded_calls_get_the_same_verdict_as_without_a_guard(void **state)
{
        (void)state;
        struct sock_filter code[JOINED_MAX];
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                for (unsigned guard = 0; guard < FILTER_GUARD_COUNT; guard++) {
                        (void)join(arch, ALL_RIGHTS, guard, code);
                        const struct sock_filter *unguarded = programs[arch]->code +
                                                              programs[arch]->variants[ALL_RIGHTS].start;
                        for (int n = 0; n < 2 * FILTER_NUMBERS_MAX; n++) {
                                struct seccomp_data data = { .nr = n, .arch = filter_abis[arch].audit };
                                if (!is_guarded(arch, n))
                                        assert_int_equal(bpf_run(code, &data).action, bpf_run(unguarded, &data).action);
                                data.arch = AUDIT_ARCH_I386;
                                assert_int_equal(bpf_run(code, &data).action, SECCOMP_RET_KILL_PROCESS);
                                data = (struct seccomp_data){ .nr = n | 0x40000000, .arch = filter_abis[arch].audit };
                                assert_int_equal(bpf_run(code, &data).action, bpf_run(unguarded, &data).action);
                        }
                }
}

#define ALWAYS 0
/* The verdict for a call in programs that have the bits `guard` and not the bits `unless`. */
static const struct example {
        const char *call;
        uint64_t args[4];
        unsigned guard, unless;
        uint32_t action;
} examples[] = {
        { "open", { 0, O_RDONLY }, ALWAYS, FILTER_GUARD_READS, SECCOMP_RET_ALLOW },
        { "open", { 0, O_RDONLY }, FILTER_GUARD_READS, 0, NOTIFY },
        { "open", { 0, O_PATH }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "openat", { 0, 0, O_PATH | O_RDWR }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "open", { 0, O_WRONLY }, ALWAYS, 0, NOTIFY },
        { "open", { 0, O_RDWR }, ALWAYS, 0, NOTIFY },
        { "open", { 0, O_RDONLY | O_TRUNC }, ALWAYS, 0, NOTIFY },
        { "open", { 0, O_RDONLY | O_CREAT }, ALWAYS, 0, NOTIFY },
        { "open", { 0, O_ACCMODE }, ALWAYS, 0, NOTIFY },
        { "open", { 0, O_TMPFILE | O_RDWR }, ALWAYS, 0, NOTIFY },
        { "openat", { 0, 0, O_RDONLY | O_DIRECTORY }, ALWAYS, FILTER_GUARD_READS, SECCOMP_RET_ALLOW },
        { "openat", { 0, 0, O_RDONLY | O_DIRECTORY }, FILTER_GUARD_READS, 0, NOTIFY },
        { "openat", { 0, 0, O_WRONLY | O_CREAT, 0644 }, ALWAYS, 0, NOTIFY },
        { "openat", { 0, 0, O_WRONLY | HIGH_BITS }, ALWAYS, 0, NOTIFY },
        { "openat", { 0, 0, O_WRONLY | O_CREAT, 04755 }, ALWAYS, 0, FAIL(EPERM) },
        { "openat", { 0, 0, O_WRONLY | O_CREAT, 02755 }, ALWAYS, 0, FAIL(EPERM) },
        { "openat", { 0, 0, O_WRONLY, 04755 }, ALWAYS, 0, NOTIFY },
        { "openat2", { 0 }, ALWAYS, 0, FAIL(ENOSYS) },
        { "creat", { 0, 0644 }, ALWAYS, 0, NOTIFY },
        { "creat", { 0, 04644 }, ALWAYS, 0, FAIL(EPERM) },
        { "truncate", { 0 }, ALWAYS, 0, NOTIFY },
        { "mkdir", { 0 }, ALWAYS, 0, NOTIFY },
        { "mkdirat", { 0 }, ALWAYS, 0, NOTIFY },
        { "mknod", { 0, S_IFIFO | 0644 }, ALWAYS, 0, NOTIFY },
        { "mknodat", { 0, 0, S_IFREG | 0644 }, ALWAYS, 0, NOTIFY },
        { "mknodat", { 0, 0, S_IFCHR }, ALWAYS, 0, FAIL(EPERM) },
        { "mknodat", { 0, 0, S_IFBLK | 0644 }, ALWAYS, 0, FAIL(EPERM) },
        { "mknodat", { 0, 0, S_IFREG | 04755 }, ALWAYS, 0, FAIL(EPERM) },
        { "symlink", { 0 }, ALWAYS, 0, NOTIFY },
        { "symlinkat", { 0 }, ALWAYS, 0, NOTIFY },
        { "link", { 0 }, ALWAYS, 0, NOTIFY },
        { "linkat", { 0 }, ALWAYS, 0, NOTIFY },
        { "unlink", { 0 }, ALWAYS, 0, NOTIFY },
        { "unlinkat", { 0 }, ALWAYS, 0, NOTIFY },
        { "rmdir", { 0 }, ALWAYS, 0, NOTIFY },
        { "rename", { 0 }, ALWAYS, 0, NOTIFY },
        { "renameat", { 0 }, ALWAYS, 0, NOTIFY },
        { "renameat2", { 0 }, ALWAYS, 0, NOTIFY },
        { "chmod", { 0, 0755 }, ALWAYS, 0, NOTIFY },
        { "chmod", { 0, 02755 }, ALWAYS, 0, NOTIFY }, /* allowed for a directory */
        { "chmod", { 0, 04755 }, ALWAYS, 0, FAIL(EPERM) },
        { "fchmod", { 0, 0755 }, ALWAYS, 0, NOTIFY },
        { "fchmod", { 0, 06755 }, ALWAYS, 0, FAIL(EPERM) },
        { "fchmodat", { 0, 0, 0755 }, ALWAYS, 0, NOTIFY },
        { "fchmodat2", { 0, 0, 0755 }, ALWAYS, 0, NOTIFY },
        { "fchmodat2", { 0, 0, 04755 }, ALWAYS, 0, FAIL(EPERM) },
        { "chown", { 0 }, ALWAYS, 0, NOTIFY },
        { "lchown", { 0 }, ALWAYS, 0, NOTIFY },
        { "fchown", { 0 }, ALWAYS, 0, NOTIFY },
        { "fchownat", { 0 }, ALWAYS, 0, NOTIFY },
        { "utime", { 0 }, ALWAYS, 0, NOTIFY },
        { "utimes", { 0 }, ALWAYS, 0, NOTIFY },
        { "futimesat", { 0 }, ALWAYS, 0, NOTIFY },
        { "utimensat", { 0 }, ALWAYS, 0, NOTIFY },
        { "setxattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "lsetxattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "fsetxattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "removexattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "lremovexattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "fremovexattr", { 0 }, ALWAYS, 0, NOTIFY },
        { "setxattrat", { 0 }, ALWAYS, 0, FAIL(ENOSYS) },
        { "removexattrat", { 0 }, ALWAYS, 0, FAIL(ENOSYS) },
        { "umask", { 0 }, ALWAYS, 0, NOTIFY },
        { "bind", { 0 }, ALWAYS, 0, NOTIFY },
        { "connect", { 0 }, FILTER_GUARD_CONNECT, 0, NOTIFY },
        { "connect", { 0 }, ALWAYS, FILTER_GUARD_CONNECT, SECCOMP_RET_ALLOW },
        { "listen", { 3, 128 }, FILTER_GUARD_NO_NAMESPACES, 0, NOTIFY },
        { "listen", { 3, 128 }, ALWAYS, FILTER_GUARD_NO_NAMESPACES, SECCOMP_RET_ALLOW },
        { "prctl", { PR_SET_DUMPABLE, 0 }, FILTER_GUARD_NO_NAMESPACES, 0, FAIL(0) },
        { "prctl", { PR_SET_DUMPABLE, 1 }, FILTER_GUARD_NO_NAMESPACES, 0, SECCOMP_RET_ALLOW },
        { "prctl", { PR_SET_DUMPABLE, 0 }, ALWAYS, FILTER_GUARD_NO_NAMESPACES, SECCOMP_RET_ALLOW },
        { "socket", { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC }, FILTER_GUARD_CONNECT, 0, FAIL(EPERM) },
        { "socketpair", { AF_UNIX, SOCK_DGRAM }, FILTER_GUARD_CONNECT, 0, FAIL(EPERM) },
        /* which the kernel turns into datagram sockets */
        { "socket", { AF_UNIX, SOCK_RAW }, FILTER_GUARD_CONNECT, 0, FAIL(EPERM) },
        { "socketpair", { AF_UNIX, SOCK_RAW | SOCK_NONBLOCK }, FILTER_GUARD_CONNECT, 0, FAIL(EPERM) },
        { "openat", { 0, 0, O_TMPFILE | O_RDWR, S_ISUID | 0755 }, ALWAYS, 0, FAIL(EPERM) },
        { "ioctl", { 3, FS_IOC_SETVERSION }, ALWAYS, 0, FAIL(EPERM) },
        { "socket", { AF_UNIX, SOCK_STREAM }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "ioctl", { 0, FS_IOC_SETFLAGS }, ALWAYS, 0, FAIL(EPERM) },
        { "ioctl", { 0, FS_IOC_FSSETXATTR }, ALWAYS, 0, FAIL(EPERM) },
        { "read", { 0 }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "newfstatat", { 0 }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "readlinkat", { 0 }, ALWAYS, 0, SECCOMP_RET_ALLOW },
        { "ptrace", { 0 }, ALWAYS, 0, NOTIFY | EPERM },
};

static void test_examples_get_their_verdicts(void **state)
{
        (void)state;
        static bool tried[ARRAY_SIZE(examples)];
        struct sock_filter code[JOINED_MAX];
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                for (unsigned guard = 0; guard < FILTER_GUARD_COUNT; guard++) {
                        (void)join(arch, ALL_RIGHTS, guard, code);
                        for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
                                const struct example *x = &examples[i];
                                struct seccomp_data data = { .nr = find_number(arch, x->call),
                                                             .arch = filter_abis[arch].audit };
                                for (size_t k = 0; k < ARRAY_SIZE(x->args); k++)
                                        data.args[k] = x->args[k];
                                if (data.nr < 0 || (guard & x->guard) != x->guard || (guard & x->unless))
                                        continue;
                                tried[i] = true;
                                uint32_t actual = bpf_run(code, &data).action;
                                if (actual != x->action)
                                        fail_msg("%s, guard %u, %s (example %zu): 0x%x instead of 0x%x",
                                                 filter_abis[arch].name, guard, x->call, i, actual, x->action);
                        }
                }
        for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
                if (!tried[i])
                        fail_msg("%s (example %zu) was tried nowhere", examples[i].call, i);
}

static bool has_example(const char *call)
{
        for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
                if (!strcmp(examples[i].call, call))
                        return true;
        return false;
}

static void test_each_guarded_call_has_an_example(void **state)
{
        (void)state;
        for (size_t i = 0; i < filter_guarded_count; i++)
                if (!has_example(filter_guarded[i].call))
                        fail_msg("%s has no example", filter_guarded[i].call);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kernel_would_accept_each_joined_program),
                cmocka_unit_test(test_unguarded_calls_get_the_same_verdict_as_without_a_guard),
                cmocka_unit_test(test_examples_get_their_verdicts),
                cmocka_unit_test(test_each_guarded_call_has_an_example),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
