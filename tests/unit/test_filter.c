/*
 * The seccomp wall. The compiled programs run in a simulator, for every system call number of both architectures and
 * all sets of rights, and each verdict is compared with the table, which is evaluated here independently of the
 * generator, from number to name. The table itself is checked by a list of examples. test_filter_kernel.c installs the
 * programs and makes system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "bpf_simulator.h"
#include "linux/filter_install.h"
#include "linux/filter_table.h"
#include "linux/kernel_abi.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define FAIL(code) (SECCOMP_RET_ERRNO | (code))
#define NOTIFY(code) (SECCOMP_RET_USER_NOTIF | (code))
#define HIGH_BITS 0xffffffff00000000ULL

static const struct filter_programs *const programs[FILTER_ARCHES] = {
        [FILTER_X86_64] = &filter_programs_x86_64,
        [FILTER_AARCH64] = &filter_programs_aarch64,
};

#if defined(__x86_64__)
static const struct filter_programs *const native = &filter_programs_x86_64;
#else
static const struct filter_programs *const native = &filter_programs_aarch64;
#endif

#define FOR_EACH_VARIANT(arch, rights)                                                                                 \
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)                                                  \
                for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++)

static struct bpf_result run(enum filter_arch arch, unsigned rights, const struct seccomp_data *data)
{
        return bpf_run(programs[arch]->code + programs[arch]->variants[rights].start, data);
}

/* --- the table, from numbers to names --- */

static const char *names[FILTER_ARCHES][FILTER_NUMBERS_MAX]; /* from libseccomp and filter_extra_numbers; or NULL */

static int load_names(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                        names[arch][n] = seccomp_syscall_resolve_num_arch(filter_abis[arch].audit, n);
                for (size_t i = 0; i < filter_number_count; i++) {
                        int n = filter_extra_numbers[i].numbers[arch];
                        if (n >= 0 && !names[arch][n])
                                names[arch][n] = strdup(filter_extra_numbers[i].call);
                }
        }
        return 0;
}

static int free_names(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                        free((char *)(uintptr_t)names[arch][n]);
        return 0;
}

static int find_number(enum filter_arch arch, const char *name)
{
        for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                if (names[arch][n] && !strcmp(names[arch][n], name))
                        return n;
        return -1;
}

static const struct filter_group *find_group(const char *name)
{
        for (size_t i = 0; i < filter_group_count; i++)
                for (const char *const *call = filter_groups[i].calls; *call; call++)
                        if (!strcmp(*call, name))
                                return &filter_groups[i];
        return NULL;
}

static bool condition_holds(const struct filter_condition *c, const char *name, unsigned rights, const uint64_t *args)
{
        if (strcmp(c->call, name) || (c->with & ~rights) || (c->without & rights))
                return false;
        for (size_t i = 0; i < FILTER_TESTS_MAX; i++) {
                uint32_t low = (uint32_t)args[c->tests[i].argument];
                if (c->tests[i].mask && (low & c->tests[i].mask) != c->tests[i].value)
                        return false;
        }
        return true;
}

static bool has_conditions(const char *name)
{
        for (size_t i = 0; name && i < filter_condition_count; i++)
                if (!strcmp(filter_conditions[i].call, name))
                        return true;
        return false;
}

static uint32_t expected(enum filter_arch arch, unsigned rights, const struct seccomp_data *data)
{
        uint32_t number = (uint32_t)data->nr;
        if (data->arch != filter_abis[arch].audit)
                return KILL;
        if (arch == FILTER_X86_64 && number >= 0x40000000 && number != UINT32_MAX)
                return KILL;
        const char *name = number < FILTER_NUMBERS_MAX ? names[arch][number] : NULL;
        const struct filter_group *g = name ? find_group(name) : NULL;
        if (!g)
                return FAIL(ENOSYS);
        for (size_t i = 0; i < filter_condition_count; i++)
                if (condition_holds(&filter_conditions[i], name, rights, (const uint64_t *)data->args))
                        return filter_conditions[i].action;
        return g->right & ~rights ? g->without : g->with;
}

static struct bpf_result compare(enum filter_arch arch, unsigned rights, const struct seccomp_data *data)
{
        struct bpf_result r = run(arch, rights, data);
        uint32_t expected_action = expected(arch, rights, data);
        if (r.action != expected_action)
                fail_msg("%s, rights %u, number 0x%x, arguments 0x%llx 0x%llx 0x%llx: 0x%x instead of 0x%x",
                         filter_abis[arch].name, rights, (unsigned)data->nr, (unsigned long long)data->args[0],
                         (unsigned long long)data->args[1], (unsigned long long)data->args[2], r.action,
                         expected_action);
        return r;
}

/* --- the programs against the table --- */

static void test_kernel_would_accept_each_program(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                print_message("%s, instructions:", filter_abis[arch].name);
                for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++) {
                        const struct program_slice *span = &programs[arch]->variants[rights];
                        assert_int_equal(bpf_check(programs[arch]->code + span->start, span->count), 0);
                        print_message(" %u", span->count);
                }
                print_message("\n");
        }
}

static void test_every_number_gets_the_verdict_of_the_table(void **state)
{
        (void)state;
        static const uint32_t edges[] = { 1024,       4095,       0xffff,     0x3fffffff, 0x7fffffff,
                                          0x80000000, 0xbfffffff, 0xfffffffe, 0xffffffff };
        unsigned longest = 0;
        FOR_EACH_VARIANT(arch, rights) {
                struct seccomp_data data = { .arch = filter_abis[arch].audit };
                for (int fill = 0; fill < 2; fill++) {
                        memset(data.args, fill ? 0xff : 0, sizeof data.args);
                        for (int n = 0; n < FILTER_NUMBERS_MAX; n++) {
                                data.nr = n;
                                struct bpf_result r = compare(arch, rights, &data);
                                longest = r.steps > longest ? r.steps : longest;
                                data.nr = n | 0x40000000;
                                (void)compare(arch, rights, &data);
                        }
                        for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
                                data.nr = (int)edges[i];
                                (void)compare(arch, rights, &data);
                        }
                }
        }
        print_message("longest path through a program: %u instructions\n", longest);
}

static void test_other_architectures_are_killed(void **state)
{
        (void)state;
        static const uint32_t foreign[] = { AUDIT_ARCH_I386,    AUDIT_ARCH_ARM,  AUDIT_ARCH_ARMEB,
                                            AUDIT_ARCH_RISCV64, AUDIT_ARCH_S390, 0, UINT32_MAX };
        FOR_EACH_VARIANT(arch, rights)
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++) {
                        struct seccomp_data data = { .nr = n, .arch = filter_abis[!arch].audit };
                        assert_int_equal(run(arch, rights, &data).action, KILL);
                        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
                                data.arch = foreign[i];
                                assert_int_equal(run(arch, rights, &data).action, KILL);
                        }
                }
}

/* The kernel can allow such calls without running the program. */
static void test_arguments_are_loaded_only_where_the_verdict_depends_on_them(void **state)
{
        (void)state;
        FOR_EACH_VARIANT(arch, rights)
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++) {
                        struct seccomp_data data = { .nr = n, .arch = filter_abis[arch].audit };
                        if (!has_conditions(names[arch][n]))
                                assert_false(run(arch, rights, &data).looked_at_arguments);
                }
}

struct candidates {
        uint64_t values[160];
        size_t count;
};

static void add_candidate(struct candidates *c, uint64_t value)
{
        for (size_t i = 0; i < c->count; i++)
                if (c->values[i] == value)
                        return;
        assert_true(c->count < ARRAY_SIZE(c->values));
        c->values[c->count++] = value;
}

/* Finds values of this argument for which each test of the call holds, and for which it does not. */
static void find_candidates(const char *name, unsigned argument, struct candidates *c)
{
        c->count = 0;
        add_candidate(c, 0);
        for (size_t i = 0; i < filter_condition_count; i++)
                for (size_t k = 0; k < FILTER_TESTS_MAX && !strcmp(filter_conditions[i].call, name); k++) {
                        const struct filter_test *t = &filter_conditions[i].tests[k];
                        if (!t->mask || t->argument != argument)
                                continue;
                        add_candidate(c, t->value);
                        add_candidate(c, t->value | HIGH_BITS);
                        add_candidate(c, t->value | (uint32_t)~t->mask | 1ULL << 32);
                        add_candidate(c, t->value ^ 1);
                        add_candidate(c, (uint64_t)t->value << 32);
                        add_candidate(c, UINT64_MAX);
                }
        for (int bit = 0; bit < 32 && argument == 0 && !strcmp(name, "clone"); bit++) {
                add_candidate(c, 1U << bit);
                add_candidate(c, CLONE_THREAD | 1U << bit);
        }
}

static void test_every_combination_of_arguments_gets_the_verdict_of_the_table(void **state)
{
        (void)state;
        static struct candidates c[4];
        size_t compared = 0;
        for (size_t first = 0; first < filter_condition_count; first++) {
                const char *name = filter_conditions[first].call;
                if (first > 0 && !strcmp(name, filter_conditions[first - 1].call))
                        continue;
                for (unsigned k = 0; k < ARRAY_SIZE(c); k++)
                        find_candidates(name, k, &c[k]);
                size_t combinations = c[0].count * c[1].count * c[2].count * c[3].count;
                FOR_EACH_VARIANT(arch, rights) {
                        struct seccomp_data d = { .nr = find_number(arch, name), .arch = filter_abis[arch].audit };
                        for (size_t i = 0; d.nr >= 0 && i < combinations; i++) {
                                for (size_t k = 0, rest = i; k < ARRAY_SIZE(c); rest /= c[k++].count)
                                        d.args[k] = c[k].values[rest % c[k].count];
                                (void)compare(arch, rights, &d);
                                compared++;
                        }
                }
        }
        print_message("%zu combinations of arguments\n", compared);
}

/* --- the table --- */

static void test_each_call_of_the_table_exists_and_is_listed_once(void **state)
{
        (void)state;
        for (size_t i = 0; i < filter_group_count; i++)
                for (const char *const *call = filter_groups[i].calls; *call; call++) {
                        if (find_group(*call) != &filter_groups[i] || (call[1] && strcmp(call[0], call[1]) >= 0))
                                fail_msg("%s: listed twice, or not in alphabetical order", *call);
                        if (find_number(FILTER_X86_64, *call) < 0 && find_number(FILTER_AARCH64, *call) < 0)
                                fail_msg("%s: no such call", *call);
                }
        for (size_t i = 0; i < filter_condition_count; i++) {
                if (!find_group(filter_conditions[i].call))
                        fail_msg("%s: has a condition but no group", filter_conditions[i].call);
                for (size_t k = 0; k < FILTER_TESTS_MAX; k++)
                        assert_int_equal(filter_conditions[i].tests[k].value & ~filter_conditions[i].tests[k].mask, 0);
        }
}

/* Fails when libseccomp knows a new call: add it to a group of filter_table.c, to `absent` if nothing needs it. */
static void test_each_call_that_libseccomp_knows_is_in_a_group(void **state)
{
        (void)state;
        size_t count[FILTER_ARCHES] = { 0 };
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++) {
                        count[arch] += names[arch][n] != NULL;
                        if (names[arch][n] && !find_group(names[arch][n]))
                                fail_msg("%s (%s %d) is in no group", names[arch][n], filter_abis[arch].name, n);
                }
                print_message("%s: %zu calls\n", filter_abis[arch].name, count[arch]);
        }
}

static void test_our_numbers_agree_with_libseccomp(void **state)
{
        (void)state;
        for (size_t i = 0; i < filter_number_count; i++)
                for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                        int n = seccomp_syscall_resolve_name_arch(filter_abis[arch].audit,
                                                                  filter_extra_numbers[i].call);
                        if (n != __NR_SCMP_ERROR && (n < 0 ? -1 : n) != filter_extra_numbers[i].numbers[arch])
                                fail_msg("%s on %s is %d", filter_extra_numbers[i].call, filter_abis[arch].name, n);
                }
}

/* Verdicts that must not change by accident. They hold for sets of rights with `with` and without `without`. */
static const struct example {
        const char *name;
        unsigned with, without;
        uint64_t args[4];
        uint32_t action;
} examples[] = {
        { "openat", 0, 0, { 0 }, ALLOW },
        { "getrandom", 0, 0, { 0 }, ALLOW },
        { "futex", 0, 0, { 0 }, ALLOW },
        { "rseq", 0, 0, { 0 }, ALLOW },
        { "clone3", 0, 0, { 0 }, FAIL(ENOSYS) },
        { "io_uring_setup", 0, 0, { 0 }, FAIL(ENOSYS) },
        { "io_uring_enter", 0, 0, { 0 }, FAIL(ENOSYS) },
        { "mount", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "move_mount", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "open_tree_attr", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "unshare", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "setns", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "chroot", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "ptrace", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "process_vm_readv", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "pidfd_getfd", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "open_by_handle_at", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "bpf", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "keyctl", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "perf_event_open", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "userfaultfd", 0, 0, { 0 }, NOTIFY(EPERM) },
        { "fork", FILTER_FORK, 0, { 0 }, ALLOW },
        { "fork", 0, FILTER_FORK, { 0 }, NOTIFY(EPERM) },
        { "vfork", 0, FILTER_FORK, { 0 }, NOTIFY(EPERM) },
        { "clone", FILTER_FORK, 0, { SIGCHLD }, ALLOW },
        { "clone", FILTER_FORK, 0, { CLONE_VM | CLONE_VFORK | SIGCHLD }, ALLOW },
        { "clone", 0, FILTER_FORK, { SIGCHLD }, NOTIFY(EPERM) },
        { "clone", 0, FILTER_FORK, { CLONE_VM | CLONE_VFORK | SIGCHLD }, NOTIFY(EPERM) },
        { "clone", 0, 0, { CLONE_VM | CLONE_SIGHAND | CLONE_THREAD }, ALLOW },
        { "clone", 0, 0, { CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | HIGH_BITS }, ALLOW },
        { "clone", 0, 0, { CLONE_NEWUSER | SIGCHLD }, NOTIFY(EPERM) },
        { "clone", 0, 0, { CLONE_NEWUSER | CLONE_THREAD }, NOTIFY(EPERM) },
        { "clone", 0, 0, { CLONE_NEWNS | SIGCHLD }, NOTIFY(EPERM) },
        { "clone", 0, 0, { CLONE_NEWCGROUP | SIGCHLD }, NOTIFY(EPERM) },
        { "clone", 0, 0, { CLONE_PARENT | SIGCHLD }, NOTIFY(EPERM) },
        { "execve", FILTER_EXEC, 0, { 0 }, ALLOW },
        { "execve", 0, FILTER_EXEC, { 0 }, NOTIFY(EPERM) },
        { "execveat", 0, FILTER_EXEC, { 0 }, NOTIFY(EPERM) },
        { "seccomp", 0, 0, { SECCOMP_SET_MODE_FILTER, 0 }, ALLOW },
        { "seccomp", 0, 0, { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER }, FAIL(EBUSY) },
        { "seccomp", 0, 0, { 1, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_LOG | HIGH_BITS }, FAIL(EBUSY) },
        { "shmget", FILTER_IPC, 0, { 0 }, ALLOW },
        { "shmget", 0, FILTER_IPC, { 0 }, NOTIFY(EPERM) },
        { "mq_open", 0, FILTER_IPC, { 0 }, NOTIFY(EPERM) },
        { "sched_setaffinity", FILTER_PRIORITIES, 0, { 7 }, ALLOW },
        { "sched_setaffinity", 0, FILTER_PRIORITIES, { 7 }, NOTIFY(EPERM) },
        { "sched_setaffinity", 0, 0, { 0 }, ALLOW },
        { "setpriority", 0, FILTER_PRIORITIES, { PRIO_PROCESS, 0, 19 }, ALLOW },
        { "setpriority", 0, FILTER_PRIORITIES, { PRIO_USER, 0, 19 }, NOTIFY(EPERM) },
        { "ioprio_set", 0, FILTER_PRIORITIES, { 1, 7 }, NOTIFY(EPERM) },
        { "ioctl", 0, 0, { 0, TCGETS }, ALLOW },
        { "ioctl", 0, 0, { 0, TIOCSTI }, NOTIFY(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCSTI | HIGH_BITS }, NOTIFY(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCLINUX | 1ULL << 32 }, NOTIFY(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCCONS | 1ULL << 63 }, NOTIFY(EPERM) },
        { "personality", 0, 0, { 0xffffffff }, ALLOW },
        { "personality", 0, 0, { UINT64_MAX }, ALLOW },
        { "personality", 0, 0, { READ_IMPLIES_EXEC }, NOTIFY(EPERM) },
        { "personality", 0, 0, { ADDR_NO_RANDOMIZE }, NOTIFY(EPERM) },
        { "prlimit64", 0, 0, { 0, RLIMIT_NOFILE }, ALLOW },
        { "prlimit64", 0, 0, { 1, RLIMIT_CPU }, NOTIFY(EPERM) },
        { "prlimit64", 0, 0, { 1ULL << 32, RLIMIT_CPU }, ALLOW }, /* the kernel sees pid 0 */
        { "mknodat", 0, 0, { 0, 0, S_IFIFO | 0600 }, ALLOW },
        { "mknodat", 0, 0, { 0, 0, S_IFCHR | 0600 }, FAIL(EPERM) },
        { "mknodat", 0, 0, { 0, 0, S_IFBLK | 0x10000 }, FAIL(EPERM) }, /* the kernel sees 16 bits */
        { "socket", FILTER_UNIX, 0, { AF_UNIX, SOCK_STREAM }, ALLOW },
        { "socket", 0, FILTER_UNIX, { AF_UNIX, SOCK_STREAM }, NOTIFY(EPERM) },
        { "socket", 0, FILTER_UNIX, { AF_UNIX | HIGH_BITS, SOCK_DGRAM }, NOTIFY(EPERM) },
        { "socket", 0, FILTER_NETWORK | FILTER_SOCKET_SERVER, { AF_INET, SOCK_STREAM }, NOTIFY(EACCES) },
        { "socket", 0, FILTER_NETWORK | FILTER_SOCKET_SERVER, { AF_INET | HIGH_BITS, SOCK_STREAM }, NOTIFY(EACCES) },
        { "socket", 0, FILTER_NETWORK | FILTER_SOCKET_SERVER, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, NOTIFY(EACCES) },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP },
          ALLOW },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, ALLOW },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_INET, SOCK_STREAM, IPPROTO_MPTCP },
          FAIL(EPROTONOSUPPORT) },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_INET6, SOCK_STREAM, IPPROTO_MPTCP | HIGH_BITS },
          FAIL(EPROTONOSUPPORT) },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_INET, SOCK_STREAM, IPPROTO_SCTP },
          FAIL(EPROTONOSUPPORT) },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_INET, SOCK_RAW | HIGH_BITS, IPPROTO_ICMP },
          FAIL(EPERM) },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_INET, SOCK_PACKET, 0 }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, ALLOW },
        { "socket",
          FILTER_NETWORK,
          FILTER_SOCKET_SERVER,
          { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
          FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_PACKET, SOCK_RAW }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_VSOCK, SOCK_STREAM }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_SOCKET_SERVER, { AF_ALG, SOCK_SEQPACKET }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_STREAM }, NOTIFY(0) },
        { "socket",
          FILTER_SOCKET_SERVER,
          0,
          { AF_INET | HIGH_BITS, SOCK_STREAM | SOCK_CLOEXEC | HIGH_BITS, IPPROTO_TCP },
          NOTIFY(0) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_STREAM, IPPROTO_MPTCP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_DGRAM }, NOTIFY(EACCES) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, NOTIFY(EACCES) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP }, NOTIFY(EACCES) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET6, SOCK_STREAM, IPPROTO_TCP }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_INET6, SOCK_DGRAM }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, ALLOW },
        { "socket", FILTER_SOCKET_SERVER, 0, { AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, FILTER_NETWORK, { AF_VSOCK, SOCK_STREAM }, NOTIFY(EACCES) },
        { "socket", FILTER_SOCKET_SERVER, FILTER_NETWORK, { AF_PACKET, SOCK_RAW }, NOTIFY(EACCES) },
        { "listen", FILTER_SOCKET_SERVER, FILTER_UNIX, { 3, 128 }, FAIL(EACCES) },
        { "listen", FILTER_SOCKET_SERVER | FILTER_UNIX, 0, { 3, 128 }, ALLOW },
        { "listen", 0, FILTER_SOCKET_SERVER, { 3, 128 }, ALLOW },
        { "socketpair", FILTER_UNIX, 0, { AF_UNIX, SOCK_DGRAM }, ALLOW },
        { "socketpair", 0, FILTER_UNIX, { AF_UNIX, SOCK_DGRAM }, NOTIFY(EPERM) },
        { "socketpair", 0, 0, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, ALLOW },
        { "socketpair", 0, 0, { AF_UNIX, SOCK_SEQPACKET }, ALLOW },
        { "socketpair", 0, FILTER_UNIX, { AF_UNIX, SOCK_RAW }, NOTIFY(EPERM) },
        { "socketpair", 0, 0, { AF_TIPC, SOCK_DGRAM }, FAIL(EACCES) },
        { "sendto", 0, 0, { 3, 0, 0, MSG_NOSIGNAL }, ALLOW },
        { "sendto", 0, 0, { 3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL | HIGH_BITS }, FAIL(EOPNOTSUPP) },
        { "sendmsg", 0, 0, { 3, 0, MSG_FASTOPEN, 0 }, FAIL(EOPNOTSUPP) },
        { "sendmmsg", 0, 0, { 3, 0, 1, MSG_FASTOPEN }, FAIL(EOPNOTSUPP) },
};

/* A misspelt name would be an example that is never tried. */
static void test_examples_name_calls_that_exist(void **state)
{
        (void)state;
        for (const struct example *e = examples; e < examples + ARRAY_SIZE(examples); e++) {
                bool known = false;
                for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                        known |= find_number(arch, e->name) >= 0;
                if (!known)
                        fail_msg("no architecture has a call %s (example %td)", e->name, e - examples);
        }
}

static void test_examples_get_their_verdicts(void **state)
{
        (void)state;
        for (const struct example *e = examples; e < examples + ARRAY_SIZE(examples); e++)
                FOR_EACH_VARIANT(arch, rights) {
                        struct seccomp_data data = { .nr = find_number(arch, e->name),
                                                     .arch = filter_abis[arch].audit };
                        memcpy(data.args, e->args, sizeof e->args);
                        if (data.nr < 0 || (e->with & ~rights) || (e->without & rights))
                                continue;
                        uint32_t action = run(arch, rights, &data).action;
                        if (programs[arch] == native && e->action >> 16 == SECCOMP_RET_USER_NOTIF >> 16)
                                assert_int_equal(filter_errno(rights, &data), e->action & SECCOMP_RET_DATA);
                        if (action != e->action)
                                fail_msg("%s, rights %u, %s (example %td): 0x%x instead of 0x%x",
                                         filter_abis[arch].name, rights, e->name, e - examples, action, e->action);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kernel_would_accept_each_program),
                cmocka_unit_test(test_every_number_gets_the_verdict_of_the_table),
                cmocka_unit_test(test_other_architectures_are_killed),
                cmocka_unit_test(test_arguments_are_loaded_only_where_the_verdict_depends_on_them),
                cmocka_unit_test(test_every_combination_of_arguments_gets_the_verdict_of_the_table),
                cmocka_unit_test(test_each_call_of_the_table_exists_and_is_listed_once),
                cmocka_unit_test(test_each_call_that_libseccomp_knows_is_in_a_group),
                cmocka_unit_test(test_our_numbers_agree_with_libseccomp),
                cmocka_unit_test(test_examples_name_calls_that_exist),
                cmocka_unit_test(test_examples_get_their_verdicts),
        };
        return cmocka_run_group_tests(tests, load_names, free_names);
}
