/*
 * withhold NAME[:ARGUMENT]=ERRNO… -- COMMAND…
 *
 * Runs a command on a kernel that lacks something: each system call named fails with the errno (by name or number),
 * or kills its caller if ERRNO is KILL; with ":ARGUMENT" only when the call's first argument is that number.
 * Everything that the command starts is filtered too. For tests of degraded machines:
 *
 *     withhold landlock_create_ruleset=ENOSYS prctl:65=EINVAL -- ringwall doctor
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

static int withhold(scmp_filter_ctx filter, char *rule)
{
        char *code = strchr(rule, '=');
        if (!code)
                return -EINVAL;
        *code++ = '\0';
        char *argument = strchr(rule, ':');
        if (argument)
                *argument++ = '\0';
        int call = seccomp_syscall_resolve_name(rule), error = parse_errno(code);
        int is_kill = strcmp(code, "KILL") == 0;
        if (call == __NR_SCMP_ERROR || (error < 0 && !is_kill))
                return -EINVAL;
        uint32_t action = is_kill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO((uint32_t)error);
        if (!argument)
                return seccomp_rule_add(filter, action, call, 0);
        return seccomp_rule_add(filter, action, call, 1, SCMP_A0(SCMP_CMP_EQ, strtoull(argument, NULL, 0)));
}

int main(int argc, char **argv)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        int i = 1;
        for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
                int r = withhold(filter, argv[i]);
                if (r < 0) {
                        fprintf(stderr, "withhold: bad rule '%s': %s\n", argv[i], strerror(-r));
                        return FAILED;
                }
        }
        if (i + 1 >= argc) {
                fputs("usage: withhold NAME[:ARGUMENT]=ERRNO... -- COMMAND...\n", stderr);
                return FAILED;
        }
        int r = seccomp_load(filter);
        if (r < 0) {
                fprintf(stderr, "withhold: cannot install the filter: %s\n", strerror(-r));
                return FAILED;
        }
        seccomp_release(filter);
        execvp(argv[i + 1], argv + i + 1);
        fprintf(stderr, "withhold: cannot run %s: %s\n", argv[i + 1], strerror(errno));
        return FAILED;
}
