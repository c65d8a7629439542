/*
 * deny_syscalls NAME[:ARGUMENT|&BITS]=ERRNO… -- COMMAND…
 *
 * Runs a command as on a kernel that lacks some system calls: a seccomp filter makes each named call fail with the
 * errno (a name or a number), or kills the caller if ERRNO is KILL. With ":ARGUMENT" this applies only to calls whose
 * first argument is that number, with "&BITS" only to calls whose second argument has all of these bits set. Child
 * processes inherit the filter.
 *
 *     deny_syscalls landlock_create_ruleset=ENOSYS prctl:65=EINVAL -- ringwall doctor
 */
#include <errno.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILED = 125, ERRNO_MAX = 200 };

static int parse_errno(const char *text)
{
        char *end;
        long number = strtol(text, &end, 10);
        if (*text && !*end)
                return (int)number;
        for (int code = 1; code < ERRNO_MAX; code++) {
                const char *name = strerrorname_np(code);
                if (name && strcmp(name, text) == 0)
                        return code;
        }
        return -1;
}

static int add_rule(scmp_filter_ctx filter, char *rule)
{
        char *code = strchr(rule, '=');
        if (!code)
                return -EINVAL;
        *code++ = '\0';
        char *argument = strchr(rule, ':'), *bits = strchr(rule, '&');
        if (argument)
                *argument++ = '\0';
        if (bits)
                *bits++ = '\0';
        int call = seccomp_syscall_resolve_name(rule), error = parse_errno(code);
        int is_kill = strcmp(code, "KILL") == 0;
        if (call == __NR_SCMP_ERROR || (error < 0 && !is_kill))
                return -EINVAL;
        uint32_t action = is_kill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO((uint32_t)error);
        if (bits) {
                uint64_t mask = strtoull(bits, NULL, 0);
                return seccomp_rule_add(filter, action, call, 1, SCMP_A1(SCMP_CMP_MASKED_EQ, mask, mask));
        }
        if (!argument)
                return seccomp_rule_add(filter, action, call, 0);
        return seccomp_rule_add(filter, action, call, 1, SCMP_A0(SCMP_CMP_EQ, strtoull(argument, NULL, 0)));
}

int main(int argc, char **argv)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        int i = 1;
        for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
                int r = add_rule(filter, argv[i]);
                if (r < 0) {
                        fprintf(stderr, "deny_syscalls: bad rule '%s': %s\n", argv[i], strerror(-r));
                        return FAILED;
                }
        }
        if (i + 1 >= argc) {
                fputs("usage: deny_syscalls NAME[:ARGUMENT|&BITS]=ERRNO... -- COMMAND...\n", stderr);
                return FAILED;
        }
        int r = seccomp_load(filter);
        if (r < 0) {
                fprintf(stderr, "deny_syscalls: cannot install the filter: %s\n", strerror(-r));
                return FAILED;
        }
        seccomp_release(filter);
        execvp(argv[i + 1], argv + i + 1);
        fprintf(stderr, "deny_syscalls: cannot run %s: %s\n", argv[i + 1], strerror(errno));
        return FAILED;
}
