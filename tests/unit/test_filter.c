/*
 * The seccomp wall. The compiled programs run in a simulator, for every number of both architectures and all sets of
 * rights, and each verdict is compared with the table, read here a second time and in another way than the generator
 * does: from the number to the name. What the table itself must say is in a list of examples. Then the programs are
 * installed, and calls are made.
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
#include "linux/denials.h"
#include "linux/filter_install.h"
#include "linux/filter_table.h"
#include "linux/kernel_abi.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define FAIL(code) (SECCOMP_RET_ERRNO | (code))
#define TELL(code) (SECCOMP_RET_USER_NOTIF | (code))
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
                for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++)

static struct bpf_result run(enum filter_arch arch, unsigned rights, const struct seccomp_data *data)
{
        return bpf_run(programs[arch]->code + programs[arch]->variants[rights].start, data);
}

/* --- the table, from numbers to names --- */

static const char *names[FILTER_ARCHES][FILTER_NUMBERS_MAX]; /* what libseccomp and filter_numbers know; else NULL */

static int learn_names(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                        names[arch][n] = seccomp_syscall_resolve_num_arch(filter_abis[arch].audit, n);
                for (size_t i = 0; i < filter_number_count; i++) {
                        int n = filter_numbers[i].numbers[arch];
                        if (n >= 0 && !names[arch][n])
                                names[arch][n] = strdup(filter_numbers[i].call);
                }
        }
        return 0;
}

static int forget_names(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++)
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                        free((char *)(uintptr_t)names[arch][n]);
        return 0;
}

static int number_of(enum filter_arch arch, const char *name)
{
        for (int n = 0; n < FILTER_NUMBERS_MAX; n++)
                if (names[arch][n] && !strcmp(names[arch][n], name))
                        return n;
        return -1;
}

static const struct filter_group *group_of(const char *name)
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
        const struct filter_group *g = name ? group_of(name) : NULL;
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
        uint32_t want = expected(arch, rights, data);
        if (r.action != want)
                fail_msg("%s, rights %u, number 0x%x, arguments 0x%llx 0x%llx 0x%llx: 0x%x instead of 0x%x",
                         filter_abis[arch].name, rights, (unsigned)data->nr, (unsigned long long)data->args[0],
                         (unsigned long long)data->args[1], (unsigned long long)data->args[2], r.action, want);
        return r;
}

/* --- the programs against the table --- */

static void test_kernel_would_accept_each_program(void **state)
{
        (void)state;
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                print_message("%s, instructions:", filter_abis[arch].name);
                for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++) {
                        const struct filter_span *span = &programs[arch]->variants[rights];
                        assert_int_equal(bpf_check(programs[arch]->code + span->start, span->count), 0);
                        print_message(" %u", span->count);
                }
                print_message("\n");
        }
}

static void test_every_number_gets_the_table_s_verdict(void **state)
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
        print_message("longest way through a program: %u instructions\n", longest);
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

/* The kernel then allows such calls without running the program. */
static void test_arguments_are_looked_at_only_where_they_count(void **state)
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

/* Values on both sides of every test on this argument of the call. */
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

static void test_arguments_get_the_table_s_verdict(void **state)
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
                        struct seccomp_data d = { .nr = number_of(arch, name), .arch = filter_abis[arch].audit };
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

static void test_each_call_is_named_once_and_exists(void **state)
{
        (void)state;
        for (size_t i = 0; i < filter_group_count; i++)
                for (const char *const *call = filter_groups[i].calls; *call; call++) {
                        if (group_of(*call) != &filter_groups[i] || (call[1] && strcmp(call[0], call[1]) >= 0))
                                fail_msg("%s: twice, or out of order", *call);
                        if (number_of(FILTER_X86_64, *call) < 0 && number_of(FILTER_AARCH64, *call) < 0)
                                fail_msg("%s: no such call", *call);
                }
        for (size_t i = 0; i < filter_condition_count; i++) {
                if (!group_of(filter_conditions[i].call))
                        fail_msg("%s: has a condition and no group", filter_conditions[i].call);
                for (size_t k = 0; k < FILTER_TESTS_MAX; k++)
                        assert_int_equal(filter_conditions[i].tests[k].value & ~filter_conditions[i].tests[k].mask, 0);
        }
}

/* Fails when libseccomp learns of a new call: put it into a group of filter_table.c, `absent` if nothing needs it. */
static void test_each_call_that_libseccomp_knows_is_decided(void **state)
{
        (void)state;
        size_t count[FILTER_ARCHES] = { 0 };
        for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
                for (int n = 0; n < FILTER_NUMBERS_MAX; n++) {
                        count[arch] += names[arch][n] != NULL;
                        if (names[arch][n] && !group_of(names[arch][n]))
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
                        int n = seccomp_syscall_resolve_name_arch(filter_abis[arch].audit, filter_numbers[i].call);
                        if (n != __NR_SCMP_ERROR && (n < 0 ? -1 : n) != filter_numbers[i].numbers[arch])
                                fail_msg("%s on %s is %d", filter_numbers[i].call, filter_abis[arch].name, n);
                }
}

/* What must never change by accident, whatever the table says. `with` and `without` are rights that it depends on. */
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
        { "mount", 0, 0, { 0 }, TELL(EPERM) },
        { "move_mount", 0, 0, { 0 }, TELL(EPERM) },
        { "open_tree_attr", 0, 0, { 0 }, TELL(EPERM) },
        { "unshare", 0, 0, { 0 }, TELL(EPERM) },
        { "setns", 0, 0, { 0 }, TELL(EPERM) },
        { "chroot", 0, 0, { 0 }, TELL(EPERM) },
        { "ptrace", 0, 0, { 0 }, TELL(EPERM) },
        { "process_vm_readv", 0, 0, { 0 }, TELL(EPERM) },
        { "pidfd_getfd", 0, 0, { 0 }, TELL(EPERM) },
        { "open_by_handle_at", 0, 0, { 0 }, TELL(EPERM) },
        { "bpf", 0, 0, { 0 }, TELL(EPERM) },
        { "keyctl", 0, 0, { 0 }, TELL(EPERM) },
        { "perf_event_open", 0, 0, { 0 }, TELL(EPERM) },
        { "userfaultfd", 0, 0, { 0 }, TELL(EPERM) },
        { "fork", FILTER_FORK, 0, { 0 }, ALLOW },
        { "fork", 0, FILTER_FORK, { 0 }, TELL(EPERM) },
        { "vfork", 0, FILTER_FORK, { 0 }, TELL(EPERM) },
        { "clone", FILTER_FORK, 0, { SIGCHLD }, ALLOW },
        { "clone", FILTER_FORK, 0, { CLONE_VM | CLONE_VFORK | SIGCHLD }, ALLOW },
        { "clone", 0, FILTER_FORK, { SIGCHLD }, TELL(EPERM) },
        { "clone", 0, FILTER_FORK, { CLONE_VM | CLONE_VFORK | SIGCHLD }, TELL(EPERM) },
        { "clone", 0, 0, { CLONE_VM | CLONE_SIGHAND | CLONE_THREAD }, ALLOW },
        { "clone", 0, 0, { CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | HIGH_BITS }, ALLOW },
        { "clone", 0, 0, { CLONE_NEWUSER | SIGCHLD }, TELL(EPERM) },
        { "clone", 0, 0, { CLONE_NEWUSER | CLONE_THREAD }, TELL(EPERM) },
        { "clone", 0, 0, { CLONE_NEWNS | SIGCHLD }, TELL(EPERM) },
        { "clone", 0, 0, { CLONE_NEWCGROUP | SIGCHLD }, TELL(EPERM) },
        { "clone", 0, 0, { CLONE_PARENT | SIGCHLD }, TELL(EPERM) },
        { "execve", FILTER_EXEC, 0, { 0 }, ALLOW },
        { "execve", 0, FILTER_EXEC, { 0 }, TELL(EPERM) },
        { "execveat", 0, FILTER_EXEC, { 0 }, TELL(EPERM) },
        { "seccomp", 0, 0, { SECCOMP_SET_MODE_FILTER, 0 }, ALLOW },
        { "seccomp", 0, 0, { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER }, FAIL(EBUSY) },
        { "seccomp", 0, 0, { 1, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_LOG | HIGH_BITS }, FAIL(EBUSY) },
        { "shmget", FILTER_IPC, 0, { 0 }, ALLOW },
        { "shmget", 0, FILTER_IPC, { 0 }, TELL(EPERM) },
        { "mq_open", 0, FILTER_IPC, { 0 }, TELL(EPERM) },
        { "sched_setaffinity", FILTER_PIDS, 0, { 7 }, ALLOW },
        { "sched_setaffinity", 0, FILTER_PIDS, { 7 }, TELL(EPERM) },
        { "sched_setaffinity", 0, 0, { 0 }, ALLOW },
        { "setpriority", 0, FILTER_PIDS, { PRIO_PROCESS, 0, 19 }, ALLOW },
        { "setpriority", 0, FILTER_PIDS, { PRIO_USER, 0, 19 }, TELL(EPERM) },
        { "ioprio_set", 0, FILTER_PIDS, { 1, 7 }, TELL(EPERM) },
        { "ioctl", 0, 0, { 0, TCGETS }, ALLOW },
        { "ioctl", 0, 0, { 0, TIOCSTI }, TELL(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCSTI | HIGH_BITS }, TELL(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCLINUX | 1ULL << 32 }, TELL(EPERM) },
        { "ioctl", 0, 0, { 0, TIOCCONS | 1ULL << 63 }, TELL(EPERM) },
        { "personality", 0, 0, { 0xffffffff }, ALLOW },
        { "personality", 0, 0, { UINT64_MAX }, ALLOW },
        { "personality", 0, 0, { READ_IMPLIES_EXEC }, TELL(EPERM) },
        { "personality", 0, 0, { ADDR_NO_RANDOMIZE }, TELL(EPERM) },
        { "prlimit64", 0, 0, { 0, RLIMIT_NOFILE }, ALLOW },
        { "prlimit64", 0, 0, { 1, RLIMIT_CPU }, TELL(EPERM) },
        { "prlimit64", 0, 0, { 1ULL << 32, RLIMIT_CPU }, ALLOW }, /* the kernel sees pid 0 */
        { "mknodat", 0, 0, { 0, 0, S_IFIFO | 0600 }, ALLOW },
        { "mknodat", 0, 0, { 0, 0, S_IFCHR | 0600 }, FAIL(EPERM) },
        { "mknodat", 0, 0, { 0, 0, S_IFBLK | 0x10000 }, FAIL(EPERM) }, /* the kernel sees 16 bits */
        { "socket", FILTER_UNIX, 0, { AF_UNIX, SOCK_STREAM }, ALLOW },
        { "socket", 0, FILTER_UNIX, { AF_UNIX, SOCK_STREAM }, TELL(EPERM) },
        { "socket", 0, FILTER_UNIX, { AF_UNIX | HIGH_BITS, SOCK_DGRAM }, TELL(EPERM) },
        { "socket", 0, FILTER_NETWORK | FILTER_GIVEN, { AF_INET, SOCK_STREAM }, TELL(EACCES) },
        { "socket", 0, FILTER_NETWORK | FILTER_GIVEN, { AF_INET | HIGH_BITS, SOCK_STREAM }, TELL(EACCES) },
        { "socket", 0, FILTER_NETWORK | FILTER_GIVEN, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, TELL(EACCES) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP }, ALLOW },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, ALLOW },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET, SOCK_STREAM, IPPROTO_MPTCP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET6, SOCK_STREAM, IPPROTO_MPTCP | HIGH_BITS }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET, SOCK_RAW | HIGH_BITS, IPPROTO_ICMP }, FAIL(EPERM) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_INET, SOCK_PACKET, 0 }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, ALLOW },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_PACKET, SOCK_RAW }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_VSOCK, SOCK_STREAM }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_NETWORK, FILTER_GIVEN, { AF_ALG, SOCK_SEQPACKET }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_STREAM }, TELL(0) },
        { "socket", FILTER_GIVEN, 0, { AF_INET | HIGH_BITS, SOCK_STREAM | SOCK_CLOEXEC | HIGH_BITS, IPPROTO_TCP }, TELL(0) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_STREAM, IPPROTO_MPTCP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_DGRAM }, TELL(EACCES) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, TELL(EACCES) },
        { "socket", FILTER_GIVEN, 0, { AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP }, TELL(EACCES) },
        { "socket", FILTER_GIVEN, 0, { AF_INET6, SOCK_STREAM, IPPROTO_TCP }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_GIVEN, 0, { AF_INET6, SOCK_DGRAM }, FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_GIVEN, 0, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, ALLOW },
        { "socket", FILTER_GIVEN, 0, { AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG }, FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_GIVEN, FILTER_NETWORK, { AF_VSOCK, SOCK_STREAM }, TELL(EACCES) },
        { "socket", FILTER_GIVEN, FILTER_NETWORK, { AF_PACKET, SOCK_RAW }, TELL(EACCES) },
        { "listen", FILTER_GIVEN, FILTER_UNIX, { 3, 128 }, FAIL(EACCES) },
        { "listen", FILTER_GIVEN | FILTER_UNIX, 0, { 3, 128 }, ALLOW },
        { "listen", 0, FILTER_GIVEN, { 3, 128 }, ALLOW },
        { "socketpair", FILTER_UNIX, 0, { AF_UNIX, SOCK_DGRAM }, ALLOW },
        { "socketpair", 0, FILTER_UNIX, { AF_UNIX, SOCK_DGRAM }, TELL(EPERM) },
        { "socketpair", 0, 0, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, ALLOW },
        { "socketpair", 0, 0, { AF_UNIX, SOCK_SEQPACKET }, ALLOW },
        { "socketpair", 0, FILTER_UNIX, { AF_UNIX, SOCK_RAW }, TELL(EPERM) },
        { "socketpair", 0, 0, { AF_TIPC, SOCK_DGRAM }, FAIL(EACCES) },
        { "sendto", 0, 0, { 3, 0, 0, MSG_NOSIGNAL }, ALLOW },
        { "sendto", 0, 0, { 3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL | HIGH_BITS }, FAIL(EOPNOTSUPP) },
        { "sendmsg", 0, 0, { 3, 0, MSG_FASTOPEN, 0 }, FAIL(EOPNOTSUPP) },
        { "sendmmsg", 0, 0, { 3, 0, 1, MSG_FASTOPEN }, FAIL(EOPNOTSUPP) },
};

static void test_examples(void **state)
{
        (void)state;
        for (const struct example *e = examples; e < examples + ARRAY_SIZE(examples); e++)
                FOR_EACH_VARIANT(arch, rights) {
                        struct seccomp_data data = { .nr = number_of(arch, e->name), .arch = filter_abis[arch].audit };
                        memcpy(data.args, e->args, sizeof e->args);
                        if (data.nr < 0 || (e->with & ~rights) || (e->without & rights))
                                continue;
                        uint32_t action = run(arch, rights, &data).action;
                        if (programs[arch] == native && e->action >> 16 == SECCOMP_RET_USER_NOTIF >> 16)
                                assert_int_equal(filter_answer(rights, &data), e->action & SECCOMP_RET_DATA);
                        if (action != e->action)
                                fail_msg("%s, rights %u, %s (example %td): 0x%x instead of 0x%x",
                                         filter_abis[arch].name, rights, e->name, e - examples, action, e->action);
                }
}

/* --- on this kernel --- */

enum { NOBODY = 65534, EXIT_DIFFERENT = 1, EXIT_UNPREPARED = 2 };

/* What the keeper of a box does, until its neighbour, with which it shares descriptors, is gone. */
static _Noreturn void answer_denials(unsigned rights, int from_neighbour)
{
        struct denials d;
        if (denials_begin(&d, rights, false) < 0)
                _exit(EXIT_UNPREPARED);
        if (read(from_neighbour, &d.listener, sizeof d.listener) != sizeof d.listener)
                _exit(EXIT_UNPREPARED);
        struct pollfd waiting = { .fd = d.listener, .events = POLLIN };
        while (d.listener >= 0 && poll(&waiting, 1, -1) > 0) /* ends when nobody is left behind the filter */
                denials_answer(&d);
        _exit(0);
}

/* In a child: an ordinary user's process behind the filter. */
static void enter_filter(unsigned rights)
{
        int listener = -1, ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                _exit(EXIT_UNPREPARED);
        pid_t keeper = (pid_t)syscall(SYS_clone, CLONE_FILES, 0L, 0L, 0L, 0L); /* which wait() does not see */
        if (keeper == 0)
                answer_denials(rights, ends[0]);
        if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(EXIT_UNPREPARED);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_install(rights, &listener) < 0)
                _exit(EXIT_UNPREPARED);
        if (keeper < 0 || listener < 0 || write(ends[1], &listener, sizeof listener) != sizeof listener)
                _exit(EXIT_UNPREPARED);
}

/* Arguments that the kernel refuses with an errno of its own show that a call got through, and do nothing. */
static const struct live_call {
        const char *what;
        long number;
        unsigned right;
        int allowed, refused; /* errno with the right, and without it; 0: the call succeeds */
        long args[4];
} live_calls[] = {
        { "getppid", SYS_getppid, 0, 0, 0, { 0 } },
        { "unix socket", SYS_socket, FILTER_UNIX, 0, EPERM, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC } },
        { "tcp socket", SYS_socket, FILTER_NETWORK, 0, EACCES, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC } },
        { "tcp socket, high bits", SYS_socket, FILTER_NETWORK, 0, EACCES, { AF_INET | 1L << 32, SOCK_STREAM } },
        { "mptcp socket", SYS_socket, FILTER_NETWORK, EPROTONOSUPPORT, EACCES, { AF_INET, SOCK_STREAM, 262 } },
        { "route socket", SYS_socket, FILTER_NETWORK, 0, EACCES, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE } },
        { "fast open", SYS_sendto, 0, EOPNOTSUPP, EOPNOTSUPP, { -1, 0, 0, MSG_FASTOPEN } },
        { "process", SYS_clone, FILTER_FORK, EINVAL, EPERM, { CLONE_SIGHAND | SIGCHLD } },
        { "thread", SYS_clone, 0, EINVAL, EINVAL, { CLONE_THREAD } },
        { "user namespace", SYS_clone, 0, EPERM, EPERM, { CLONE_NEWUSER | SIGCHLD } },
        { "clone3", SYS_clone3, 0, ENOSYS, ENOSYS, { 0 } },
        { "unshare", SYS_unshare, 0, EPERM, EPERM, { CLONE_NEWUSER } },
        { "exec", SYS_execve, FILTER_EXEC, EFAULT, EPERM, { 0 } },
        { "execveat", SYS_execveat, FILTER_EXEC, EFAULT, EPERM, { -1, 0 } },
        { "listener", SYS_seccomp, 0, EBUSY, EBUSY, { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER } },
        { "own filter", SYS_seccomp, 0, EFAULT, EFAULT, { SECCOMP_SET_MODE_FILTER } },
        { "shared memory", SYS_shmget, FILTER_IPC, EINVAL, EPERM, { 0 /* IPC_PRIVATE */, 0 } },
        { "io_uring", SYS_io_uring_setup, 0, ENOSYS, ENOSYS, { 0 } },
        { "ptrace", SYS_ptrace, 0, EPERM, EPERM, { 0 } },
        { "TIOCSTI", SYS_ioctl, 0, EPERM, EPERM, { -1, TIOCSTI } },
        { "TIOCSTI, high bits", SYS_ioctl, 0, EPERM, EPERM, { -1, (long)(TIOCSTI | HIGH_BITS) } },
        { "TCGETS", SYS_ioctl, 0, EBADF, EBADF, { -1, TCGETS } },
        { "personality", SYS_personality, 0, EPERM, EPERM, { ADDR_NO_RANDOMIZE } },
        { "asking for the personality", SYS_personality, 0, 0, 0, { 0xffffffff } },
        { "own limits", SYS_prlimit64, 0, 0, 0, { 0, RLIMIT_CPU } },
        { "others' limits", SYS_prlimit64, 0, EPERM, EPERM, { 1, RLIMIT_CPU } },
        { "futex", SYS_futex, 0, EFAULT, EFAULT, { 0, 1 /* FUTEX_WAKE */ } },
        { "no call at all", -1, 0, ENOSYS, ENOSYS, { 0 } },
};

static void make_live_calls(unsigned rights)
{
        enter_filter(rights);
        for (const struct live_call *c = live_calls; c < live_calls + ARRAY_SIZE(live_calls); c++) {
                errno = 0;
                long r = syscall(c->number, c->args[0], c->args[1], c->args[2], c->args[3], 0L, 0L);
                bool given = c->right == FILTER_NETWORK && (rights & FILTER_GIVEN); /* which looks the same to who asks */
                int want = (c->right & ~rights) && !given ? c->refused : c->allowed;
                if ((r < 0 ? errno : 0) == want)
                        continue;
                (void)dprintf(STDERR_FILENO, "rights %u, %s: %s\n", rights, c->what, strerror(errno));
                _exit(EXIT_DIFFERENT);
        }
        _exit(0);
}

static int status_of(pid_t pid)
{
        int status = -1;
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void test_calls_behave_in_each_variant(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++) {
                pid_t pid = fork();
                if (pid == 0)
                        make_live_calls(rights);
                assert_int_equal(status_of(pid), 0);
        }
}

/* What the keeper gives is the loopback's, has no room to move, and comes as it was asked for. */
static void test_a_given_socket_stays_at_home(void **state)
{
        (void)state;
        pid_t pid = fork();
        if (pid == 0) {
                struct sockaddr_in from = { 0 };
                socklen_t length = sizeof from, device_length = IFNAMSIZ;
                char device[IFNAMSIZ] = "";
                enter_filter(FILTER_GIVEN);
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), strange = socket(AF_INET, SOCK_STREAM | 0x10, 0), error = errno;
                bool right = fd >= 0 && strange < 0 && error == EINVAL && fcntl(fd, F_GETFD) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) &&
                             getsockname(fd, (struct sockaddr *)&from, &length) == 0 && from.sin_addr.s_addr == htonl(INADDR_LOOPBACK) &&
                             from.sin_port == 0 && getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &device_length) == 0 &&
                             strcmp(device, "lo") == 0 && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0) < 0 && errno == EPERM;
                _exit(right ? 0 : EXIT_DIFFERENT);
        }
        assert_int_equal(status_of(pid), 0);
}

static void *do_nothing(void *unused)
{
        return unused;
}

/* libc asks for clone3 first and has to find its way. */
static void test_libc_makes_threads_and_processes(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++) {
                pid_t pid = fork();
                if (pid == 0) {
                        pthread_t thread;
                        enter_filter(rights);
                        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
                                _exit(EXIT_DIFFERENT);
                        pid_t child = fork();
                        if (child == 0)
                                _exit(0);
                        bool made = child > 0 && waitpid(child, NULL, 0) == child;
                        _exit(made == !!(rights & FILTER_FORK) ? 0 : EXIT_DIFFERENT);
                }
                assert_int_equal(status_of(pid), 0);
        }
}

#ifdef __x86_64__
static void call_x32(void)
{
        (void)syscall(SYS_getpid | 0x40000000);
}

static void call_i386(void)
{
        long number = 20; /* getpid */
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
}

static void test_calls_of_other_abis_kill(void **state)
{
        (void)state;
        static void (*const calls[])(void) = { call_x32, call_i386 };
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        calls[i](); /* a kernel may lack the ABI, and end us already here */
                        _exit(0);
                }
                bool exists = status_of(pid) == 0;
                pid = fork();
                if (pid == 0) {
                        enter_filter(FILTER_VARIANTS - 1);
                        calls[i]();
                        _exit(0);
                }
                int status = status_of(pid);
                assert_true(WIFSIGNALED(status));
                if (exists)
                        assert_int_equal(WTERMSIG(status), SIGSYS);
        }
}
#endif

/* --- one exec and no more --- */

#define AFTER_EXEC "--after-exec"

static char own_program[] = "/proc/self/exe", after_exec[] = AFTER_EXEC;

/* What the program finds that was started where exec is not allowed. */
static int look_around_after_exec(void)
{
        char *const arguments[] = { own_program, NULL };
        struct sock_filter notify[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF) };
        struct sock_fprog program = { .len = 1, .filter = notify };
        (void)execv(own_program, arguments);
        if (errno != ENOSYS)
                return EXIT_DIFFERENT;
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
        return r < 0 && errno == EBUSY ? 0 : EXIT_DIFFERENT;
}

/* In a child that shares its descriptors with the test, until exec. */
static _Noreturn void exec_under_filter(unsigned rights, int to_test)
{
        int listener = -1;
        char *const arguments[] = { own_program, after_exec, NULL };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_install(rights, &listener) < 0 ||
            write(to_test, &listener, sizeof listener) != sizeof listener)
                _exit(EXIT_UNPREPARED);
        (void)execv(own_program, arguments);
        _exit(EXIT_UNPREPARED);
}

static void let_one_exec_pass(int listener)
{
        struct seccomp_notif request = { 0 };
        assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request), 0);
        struct seccomp_notif_resp response = { .id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response), 0);
        assert_int_equal(close(listener), 0);
}

static void test_first_exec_can_pass_and_no_other(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++) {
                int ends[2], listener = -1;
                if (rights & FILTER_EXEC)
                        continue;
                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
                if (pid == 0)
                        exec_under_filter(rights, ends[1]);
                assert_true(pid > 0);
                assert_int_equal(read(ends[0], &listener, sizeof listener), sizeof listener);
                let_one_exec_pass(listener);
                assert_int_equal(status_of(pid), 0);
                (void)close(ends[0]);
                (void)close(ends[1]);
        }
}

static void test_rights_that_do_not_exist_are_refused(void **state)
{
        (void)state;
        int listener = -2;
        assert_int_equal(filter_install(FILTER_VARIANTS, &listener), -EINVAL);
        assert_int_equal(filter_install(~0U, &listener), -EINVAL);
        assert_int_equal(listener, -2);
}

int main(int argc, char **argv)
{
        if (argc == 2 && !strcmp(argv[1], AFTER_EXEC))
                _exit(look_around_after_exec()); /* without what sanitizers do at the end */
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kernel_would_accept_each_program),
                cmocka_unit_test(test_every_number_gets_the_table_s_verdict),
                cmocka_unit_test(test_other_architectures_are_killed),
                cmocka_unit_test(test_arguments_are_looked_at_only_where_they_count),
                cmocka_unit_test(test_arguments_get_the_table_s_verdict),
                cmocka_unit_test(test_each_call_is_named_once_and_exists),
                cmocka_unit_test(test_each_call_that_libseccomp_knows_is_decided),
                cmocka_unit_test(test_our_numbers_agree_with_libseccomp),
                cmocka_unit_test(test_examples),
                cmocka_unit_test(test_rights_that_do_not_exist_are_refused),
                cmocka_unit_test(test_calls_behave_in_each_variant),
                cmocka_unit_test(test_a_given_socket_stays_at_home),
                cmocka_unit_test(test_libc_makes_threads_and_processes),
#ifdef __x86_64__
                cmocka_unit_test(test_calls_of_other_abis_kill),
#endif
                cmocka_unit_test(test_first_exec_can_pass_and_no_other),
        };
        return cmocka_run_group_tests(tests, learn_names, forget_names);
}
