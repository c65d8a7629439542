/*
 * inject LOG PLACE ACTION -- ringwall run …
 *
 * Runs ringwall and lets one system call of the launch go wrong. PLACE is PROCESS:NUMBER, the process's calls counted
 * from 1; a process is front, keeper or command, in the order in which they start. ACTION is the name of an errno, which
 * the call fails with instead of being made, or kill=PROCESS, which is killed when the call is about to be made. Each call
 * is written to LOG as "PROCESS NUMBER NAME TEXT", where TEXT is what its first two arguments point to, if that is a path;
 * the one that went wrong with a '!' in front. With PLACE "-" nothing goes wrong and all are listed.
 *
 * The command is let go when it has been executed: what it does is no part of the launch. Exits as the front did.
 *
 * By ptrace and not by a seccomp filter, because the calls that ringwall makes under a filter of its own count too, and
 * because a process with a listener on its filters cannot have another.
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

static const char *const names[PROCESSES] = { "front", "keeper", "command" };

static struct {
        pid_t pid;
        unsigned calls;
        int ready; /* counted only when the front has been executed */
} processes[PROCESSES];

static struct {
        int process, victim, error;
        unsigned number;
        pid_t failing; /* it is in the call that fails */
} fault = { -1, -1, 0, 0, 0 };

static FILE *list;

static _Noreturn void die(const char *what)
{
        fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
        exit(FAILED);
}

static int find_process(const char *name)
{
        for (int i = 0; i < PROCESSES; i++)
                if (strncmp(names[i], name, strlen(names[i])) == 0)
                        return i;
        errno = EINVAL;
        die(name);
}

/* --- one register --- */

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
        struct iovec piece = { &call, sizeof call };
        ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &piece);
}

static void replace_result(pid_t pid, long result)
{
        struct user_regs_struct r;
        struct iovec piece = { &r, sizeof r };
        if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &piece) == 0) {
                r.regs[0] = (unsigned long long)result;
                ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &piece);
        }
}
#else
#error "where is the number of a system call on this machine?"
#endif

/* --- what is written down --- */

/* What cannot be read, or is no text, is left out. */
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
                fprintf(list, " %s", text);
}

static void print_call(int process, const struct ptrace_syscall_info *info, const char *mark)
{
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)info->entry.nr);
        fprintf(list, "%s%s %u %s", mark, names[process], processes[process].calls, name ? name : "?");
        free(name);
        for (int i = 0; i < 2; i++)
                print_text(processes[process].pid, info->entry.args[i]);
        fputc('\n', list);
}

/* --- what happens --- */

static void enter_call(int process, const struct ptrace_syscall_info *info)
{
        bool here = ++processes[process].calls == fault.number && process == fault.process;
        if (here || !fault.number)
                print_call(process, info, here ? "!" : "");
        if (here && fault.victim >= 0 && processes[fault.victim].pid) {
                kill(processes[fault.victim].pid, SIGKILL);
        } else if (here && fault.error) {
                /* One that the filter of the box lets pass. close() closes, whatever it says then. */
                if (info->entry.nr != (unsigned)seccomp_syscall_resolve_name("close"))
                        replace_call(processes[process].pid, seccomp_syscall_resolve_name("getpid"));
                fault.failing = processes[process].pid;
        }
}

static void take_call(int process)
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

/* Which process this is; whoever is new is the next in order. -1: one too many. */
static int which(pid_t pid)
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

static void take_stop(pid_t pid, int status)
{
        int process = which(pid), number = WSTOPSIG(status), event = status >> 16;
        bool executed = event == PTRACE_EVENT_EXEC;
        if (process < 0 || (executed && process > 0)) {
                ptrace(PTRACE_DETACH, pid, NULL, 0);
                return;
        }
        if (executed)
                processes[process].ready = 1;
        if (number == (SIGTRAP | 0x80))
                take_call(process);
        /* Every process starts with a SIGSTOP of ptrace's own; other signals are passed on. */
        bool ours = number == (SIGTRAP | 0x80) || event || number == SIGSTOP;
        ptrace(PTRACE_SYSCALL, pid, NULL, ours ? 0 : number);
}

static int attend(pid_t front)
{
        int result = FAILED, status;
        for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
                if (pid <= 0)
                        continue;
                if (WIFSTOPPED(status))
                        take_stop(pid, status);
                else if (pid == front)
                        result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        return result;
}

static void parse_fault(const char *place, const char *action)
{
        if (strcmp(place, "-") == 0)
                return;
        const char *colon = strchr(place, ':');
        fault.process = find_process(place);
        fault.number = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
        if (strncmp(action, "kill=", 5) == 0)
                fault.victim = find_process(action + 5);
        for (int code = 1; code < ERRNO_MAX && fault.victim < 0; code++)
                if (strerrorname_np(code) && strcmp(strerrorname_np(code), action) == 0)
                        fault.error = code;
        if (!fault.number || (fault.victim < 0 && !fault.error)) {
                errno = EINVAL;
                die(action);
        }
}

int main(int argc, char **argv)
{
        if (argc < 6 || strcmp(argv[4], "--") != 0) {
                fputs("usage: inject LOG PROCESS:NUMBER|- ERRNO|kill=PROCESS -- COMMAND...\n", stderr);
                return FAILED;
        }
        list = fopen(argv[1], "we");
        if (!list)
                die(argv[1]);
        setvbuf(list, NULL, _IOLBF, 0);
        parse_fault(argv[2], argv[3]);
        pid_t front = fork();
        if (front < 0)
                die("fork");
        if (front == 0) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
                        die("ptrace");
                execv(argv[5], argv + 5);
                die(argv[5]);
        }
        long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (waitpid(front, NULL, 0) < 0 || ptrace(PTRACE_SETOPTIONS, front, NULL, options) < 0)
                die("ptrace");
        which(front);
        ptrace(PTRACE_SYSCALL, front, NULL, 0);
        int result = attend(front);
        if (fclose(list) != 0)
                die(argv[1]);
        return result;
}
