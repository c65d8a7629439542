/*
 * The seccomp filter in this kernel: a child installs the program of each set of rights and makes real system calls.
 * test_filter.c checks the verdicts of every call in a simulator.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "linux/refused_calls.h"
#include "linux/filter_install.h"
#include "linux/kernel_abi.h"

#define HIGH_BITS 0xffffffff00000000ULL

enum { NOBODY = 65534, EXIT_DIFFERENT = 1, EXIT_UNPREPARED = 2 };

/* Acts as the keeper of a box until the filtered process, with which it shares descriptors, has exited. */
static _Noreturn void answer_denials(unsigned rights, int from_filtered)
{
        struct refused_calls d;
        if (refused_calls_init(&d, rights, false) < 0)
                _exit(EXIT_UNPREPARED);
        if (read(from_filtered, &d.listener, sizeof d.listener) != sizeof d.listener)
                _exit(EXIT_UNPREPARED);
        struct pollfd waiting = { .fd = d.listener, .events = POLLIN };
        while (d.listener >= 0 && poll(&waiting, 1, -1) > 0) /* until no filtered process is left */
                refused_calls_answer(&d);
        _exit(0);
}

/* Runs in a child: becomes an ordinary user and installs the filter. */
static void enter_filter(unsigned rights)
{
        int listener = -1, ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                _exit(EXIT_UNPREPARED);
        pid_t keeper = (pid_t)syscall(SYS_clone, CLONE_FILES, 0L, 0L, 0L, 0L); /* no SIGCHLD, so wait() ignores it */
        if (keeper == 0)
                answer_denials(rights, ends[0]);
        if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(EXIT_UNPREPARED);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_install(rights, FILTER_NO_GUARD, &listener) < 0)
                _exit(EXIT_UNPREPARED);
        if (keeper < 0 || listener < 0 || write(ends[1], &listener, sizeof listener) != sizeof listener)
                _exit(EXIT_UNPREPARED);
}

/* The arguments make the kernel fail with another errno than the filter: that shows that a call reached the kernel. */
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
                /* the caller sees no difference */
                bool from_socket_server = c->right == FILTER_NETWORK && (rights & FILTER_SOCKET_SERVER);
                int expected_errno = (c->right & ~rights) && !from_socket_server ? c->refused : c->allowed;
                if ((r < 0 ? errno : 0) == expected_errno)
                        continue;
                (void)dprintf(STDERR_FILENO, "rights %u, %s: %s\n", rights, c->what, strerror(errno));
                _exit(EXIT_DIFFERENT);
        }
        _exit(0);
}

static int wait_for(pid_t pid)
{
        int status = -1;
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void test_real_calls_get_their_verdicts_for_each_set_of_rights(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++) {
                pid_t pid = fork();
                if (pid == 0)
                        make_live_calls(rights);
                assert_int_equal(wait_for(pid), 0);
        }
}

/* The socket server's socket is bound to loopback for good, and has the requested flags. */
static void test_socket_of_the_socket_server_is_bound_to_loopback(void **state)
{
        (void)state;
        pid_t pid = fork();
        if (pid == 0) {
                struct sockaddr_in from = { 0 };
                socklen_t length = sizeof from, device_length = IFNAMSIZ;
                char device[IFNAMSIZ] = "";
                enter_filter(FILTER_SOCKET_SERVER);
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
                    bad_flags = socket(AF_INET, SOCK_STREAM | 0x10, 0), error = errno;
                bool as_expected = fd >= 0 && bad_flags < 0 && error == EINVAL && fcntl(fd, F_GETFD) == 0 &&
                                   (fcntl(fd, F_GETFL) & O_NONBLOCK) &&
                                   getsockname(fd, (struct sockaddr *)&from, &length) == 0 &&
                                   from.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && from.sin_port == 0 &&
                                   getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &device_length) == 0 &&
                                   strcmp(device, "lo") == 0 &&
                                   setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0) < 0 && errno == EPERM;
                _exit(as_expected ? 0 : EXIT_DIFFERENT);
        }
        assert_int_equal(wait_for(pid), 0);
}

static void *do_nothing(void *unused)
{
        return unused;
}

/* libc tries clone3 first and must fall back to clone. */
static void test_libc_makes_threads_and_processes_without_clone3(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++) {
                pid_t pid = fork();
                if (pid == 0) {
                        pthread_t thread;
                        enter_filter(rights);
                        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
                                _exit(EXIT_DIFFERENT);
                        pid_t child = fork();
                        if (child == 0)
                                _exit(0);
                        bool forked = child > 0 && waitpid(child, NULL, 0) == child;
                        _exit(forked == !!(rights & FILTER_FORK) ? 0 : EXIT_DIFFERENT);
                }
                assert_int_equal(wait_for(pid), 0);
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

static void test_calls_of_other_abis_kill_the_process(void **state)
{
        (void)state;
        static void (*const calls[])(void) = { call_x32, call_i386 };
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        calls[i](); /* a kernel without this ABI kills the process here */
                        _exit(0);
                }
                bool exists = wait_for(pid) == 0;
                pid = fork();
                if (pid == 0) {
                        enter_filter(FILTER_RIGHTS_COUNT - 1);
                        calls[i]();
                        _exit(0);
                }
                int status = wait_for(pid);
                assert_true(WIFSIGNALED(status));
                if (exists)
                        assert_int_equal(WTERMSIG(status), SIGSYS);
        }
}
#endif

/* --- exactly one exec --- */

#define AFTER_EXEC "--after-exec"

static char own_program[] = "/proc/self/exe", after_exec[] = AFTER_EXEC;

/* Runs in a program that was executed where exec is not allowed. */
static int check_after_exec(void)
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

/* Runs in a child that shares its descriptors with the test until exec. */
static _Noreturn void exec_under_filter(unsigned rights, int to_test)
{
        int listener = -1;
        char *const arguments[] = { own_program, after_exec, NULL };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_install(rights, FILTER_NO_GUARD, &listener) < 0 ||
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

static void test_only_the_first_exec_can_pass_without_the_right(void **state)
{
        (void)state;
        for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++) {
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
                assert_int_equal(wait_for(pid), 0);
                (void)close(ends[0]);
                (void)close(ends[1]);
        }
}

static void test_unknown_rights_are_refused(void **state)
{
        (void)state;
        int listener = -2;
        assert_int_equal(filter_install(FILTER_RIGHTS_COUNT, FILTER_NO_GUARD, &listener), -EINVAL);
        assert_int_equal(filter_install(~0U, FILTER_NO_GUARD, &listener), -EINVAL);
        assert_int_equal(listener, -2);
}

int main(int argc, char **argv)
{
        if (argc == 2 && !strcmp(argv[1], AFTER_EXEC))
                _exit(check_after_exec()); /* skips what sanitizers do at exit */
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_unknown_rights_are_refused),
                cmocka_unit_test(test_real_calls_get_their_verdicts_for_each_set_of_rights),
                cmocka_unit_test(test_socket_of_the_socket_server_is_bound_to_loopback),
                cmocka_unit_test(test_libc_makes_threads_and_processes_without_clone3),
#ifdef __x86_64__
                cmocka_unit_test(test_calls_of_other_abis_kill_the_process),
#endif
                cmocka_unit_test(test_only_the_first_exec_can_pass_without_the_right),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
