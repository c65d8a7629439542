/*
 * inject_fault LOG CALL ACTION -- ringwall run …
 *
 * Runs ringwall and injects a fault at one system call of the launch. CALL is PROCESS:NUMBER: PROCESS is front, keeper
 * or command, in the order in which they start; NUMBER counts that process's calls from 1. ACTION is an errno by name,
 * with which the call fails instead of being executed, or kill=PROCESS, which kills that process at the call's entry.
 * The call is written to LOG as "!PROCESS NUMBER NAME TEXT", where TEXT is the strings that its first two arguments
 * point to, if those are printable. With CALL "-" no fault is injected, and all calls are logged, without a '!'.
 *
 * The command is detached at its execve(), because what it does then is not part of the launch. Exits with the front's
 * exit status.
 *
 * Uses ptrace and not a seccomp filter, because the calls that ringwall makes under its own filter are counted too, and
 * because a process may have only one filter with a listener.
 */
#include <elf.h>
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { FAILED = 99, ERRNO_MAX = 200, PROCESSES = 3 };

static const char *const process_names[PROCESSES] = { "front", "keeper", "command" };

static struct {
        pid_t pid;
        unsigned calls;
        int ready; /* its calls are counted; those of the front only from its execve() on */
} processes[PROCESSES];

static struct {
        int process, victim, error;
        unsigned number;
        pid_t failing; /* the process that is in the failing call, or 0 */
} fault = { -1, -1, 0, 0, 0 };

static FILE *log_file;

static _Noreturn void fail(const char *what)
{
        fprintf(stderr, "inject_fault: %s: %s\n", what, strerror(errno));
        exit(FAILED);
}

static int parse_process(const char *name)
{
        for (int i = 0; i < PROCESSES; i++)
                if (strncmp(process_names[i], name, strlen(process_names[i])) == 0)
                        return i;
        errno = EINVAL;
        fail(name);
}

/* --- registers --- */

#if defined(__x86_64__)
static void replace_call(pid_t pid, long number)
{
        struct user_regs_struct r;
        if (ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0) {
                r.orig_rax = (unsigned long long)number;
                ptrace(PTRACE_SETREGS, pid, NULL, &r);
        }
}

static void replace_result(pid_t pid, long result)
{
        struct user_regs_struct r;
        if (ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0) {
                r.rax = (unsigned long long)result;
                ptrace(PTRACE_SETREGS, pid, NULL, &r);
        }
}
#elif defined(__aarch64__)
static void replace_call(pid_t pid, long number)
{
        int call = (int)number;
        struct iovec registers = { &call, sizeof call };
        ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &registers);
}

static void replace_result(pid_t pid, long result)
{
        struct user_regs_struct r;
        struct iovec registers = { &r, sizeof r };
        if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &registers) == 0) {
                r.regs[0] = (unsigned long long)result;
                ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &registers);
        }
}
#else
#error "not implemented: reading the number of a system call on this architecture"
#endif

/* --- the log --- */

/* Prints nothing if the memory cannot be read or is not printable text. */
static void print_text(pid_t pid, unsigned long long address)
{
        char text[65] = "";
        for (size_t i = 0; i + sizeof(long) < sizeof text && strlen(text) == i; i += sizeof(long)) {
                errno = 0;
                long word = ptrace(PTRACE_PEEKDATA, pid, address + i, NULL);
                if (errno)
                        return;
                memcpy(text + i, &word, sizeof word);
        }
        for (const char *c = text; *c; c++)
                if (*c < ' ' || *c > '~')
                        return;
        if (strlen(text) > 1 || *text == '.')
                fprintf(log_file, " %s", text);
}

static void print_call(int process, const struct ptrace_syscall_info *info, const char *mark)
{
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)info->entry.nr);
        fprintf(log_file, "%s%s %u %s", mark, process_names[process], processes[process].calls, name ? name : "?");
        free(name);
        for (int i = 0; i < 2; i++)
                print_text(processes[process].pid, info->entry.args[i]);
        fputc('\n', log_file);
}

/* --- tracing --- */

static void enter_call(int process, const struct ptrace_syscall_info *info)
{
        bool is_fault = ++processes[process].calls == fault.number && process == fault.process;
        if (is_fault || !fault.number)
                print_call(process, info, is_fault ? "!" : "");
        if (is_fault && fault.victim >= 0 && processes[fault.victim].pid) {
                kill(processes[fault.victim].pid, SIGKILL);
        } else if (is_fault && fault.error) {
                /* Call getpid() instead, which the box's filter allows. close() is executed, because it closes even if
                 * it fails. */
                if (info->entry.nr != (unsigned)seccomp_syscall_resolve_name("close"))
                        replace_call(processes[process].pid, seccomp_syscall_resolve_name("getpid"));
                fault.failing = processes[process].pid;
        }
}

static void handle_syscall_stop(int process)
{
        struct ptrace_syscall_info info;
        pid_t pid = processes[process].pid;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 || !processes[process].ready)
                return;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
                enter_call(process, &info);
        if (info.op == PTRACE_SYSCALL_INFO_EXIT && fault.failing == pid) {
                replace_result(pid, -fault.error);
                fault.failing = 0;
        }
}

/* The index of a process; a new process gets the next free one. -1 if there is none. */
static int index_of(pid_t pid)
{
        for (int i = 0; i < PROCESSES; i++) {
                if (!processes[i].pid) {
                        processes[i].pid = pid;
                        processes[i].ready = i > 0;
                }
                if (processes[i].pid == pid)
                        return i;
        }
        return -1;
}

static void handle_stop(pid_t pid, int status)
{
        int process = index_of(pid), number = WSTOPSIG(status), event = status >> 16;
        bool executed = event == PTRACE_EVENT_EXEC;
        if (process < 0 || (executed && process > 0)) {
                ptrace(PTRACE_DETACH, pid, NULL, 0);
                return;
        }
        if (executed)
                processes[process].ready = 1;
        if (number == (SIGTRAP | 0x80))
                handle_syscall_stop(process);
        /* ptrace stops every new process with SIGSTOP. Other signals are passed on. */
        bool from_ptrace = number == (SIGTRAP | 0x80) || event || number == SIGSTOP;
        ptrace(PTRACE_SYSCALL, pid, NULL, from_ptrace ? 0 : number);
}

static int trace(pid_t front)
{
        int result = FAILED, status;
        for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
                if (pid <= 0)
                        continue;
                if (WIFSTOPPED(status))
                        handle_stop(pid, status);
                else if (pid == front)
                        result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        return result;
}

static void parse_fault(const char *call, const char *action)
{
        if (strcmp(call, "-") == 0)
                return;
        const char *colon = strchr(call, ':');
        fault.process = parse_process(call);
        fault.number = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
        if (strncmp(action, "kill=", 5) == 0)
                fault.victim = parse_process(action + 5);
        for (int code = 1; code < ERRNO_MAX && fault.victim < 0; code++)
                if (strerrorname_np(code) && strcmp(strerrorname_np(code), action) == 0)
                        fault.error = code;
        if (!fault.number || (fault.victim < 0 && !fault.error)) {
                errno = EINVAL;
                fail(action);
        }
}

int main(int argc, char **argv)
{
        if (argc < 6 || strcmp(argv[4], "--") != 0) {
                fputs("usage: inject_fault LOG PROCESS:NUMBER|- ERRNO|kill=PROCESS -- COMMAND...\n", stderr);
                return FAILED;
        }
        log_file = fopen(argv[1], "we");
        if (!log_file)
                fail(argv[1]);
        setvbuf(log_file, NULL, _IOLBF, 0);
        parse_fault(argv[2], argv[3]);
        pid_t front = fork();
        if (front < 0)
                fail("fork");
        if (front == 0) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
                        fail("ptrace");
                execv(argv[5], argv + 5);
                fail(argv[5]);
        }
        long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (waitpid(front, NULL, 0) < 0 || ptrace(PTRACE_SETOPTIONS, front, NULL, options) < 0)
                fail("ptrace");
        index_of(front);
        ptrace(PTRACE_SYSCALL, front, NULL, 0);
        int result = trace(front);
        if (fclose(log_file) != 0)
                fail(argv[1]);
        return result;
}
