/*
 * Installs a seccomp filter: picks a program that was compiled at build time, and passes it to the kernel.
 *
 * What it is for: compiling an allowlist when a box starts would double the time of the start. So filter_generate.c
 * does that at build time, and ringwall does not need libseccomp.
 *
 * What it trusts: the generated programs, which the unit tests compare with the table for every call. An attacker
 * controls nothing here.
 *
 * Needs of the kernel: CONFIG_SECCOMP_FILTER, seccomp(2), user notification (5.0); without FILTER_EXEC its CONTINUE
 * (5.5); with a guard WAIT_KILLABLE_RECV (5.19).
 */
#include "linux/filter_install.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "linux/kernel_abi.h"
#include "platform/platform.h"

static const struct filter_programs *native_programs(void)
{
#if defined(__x86_64__) && !defined(__ILP32__)
        return &filter_programs_x86_64;
#elif defined(__aarch64__) && !defined(__ILP32__) && defined(__AARCH64EL__)
        return &filter_programs_aarch64;
#else
        return NULL;
#endif
}

enum { COMBINED_MAX = 1024 }; /* instructions */

/* Concatenates two programs: the guard's, which jumps to its own end, and the one for the rights. */
static int concatenate(const struct filter_programs *programs, const struct program_slice *first,
                       const struct program_slice *second, struct sock_filter code[COMBINED_MAX])
{
        if (first->count + second->count > COMBINED_MAX)
                return -E2BIG;
        memcpy(code, programs->code + first->start, first->count * sizeof *code);
        memcpy(code + first->count, programs->code + second->start, second->count * sizeof *code);
        return first->count + second->count;
}

int filter_install(unsigned rights, int guard, int *ret_listener)
{
        const struct filter_programs *programs = native_programs();
        if (!programs)
                return -EOPNOTSUPP;
        if (rights >= FILTER_RIGHTS_COUNT || guard >= FILTER_GUARD_COUNT)
                return -EINVAL;
        const struct program_slice *slice = &programs->variants[rights];
        struct sock_filter combined[COMBINED_MAX];
        struct sock_fprog program = {
                .len = slice->count,
                /* the kernel only reads it */
                .filter = (struct sock_filter *)(uintptr_t)(programs->code + slice->start),
        };
        if (guard >= 0) {
                int length = concatenate(programs, &programs->guards[guard], slice, combined);
                if (length < 0)
                        return length;
                program = (struct sock_fprog){ .len = (unsigned short)length, .filter = combined };
        }
        /* A signal must not restart a call that the guard has begun to perform. */
        unsigned long killable = guard >= 0 ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
        unsigned long flags = (ret_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0) | killable;
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        bool needs_listener = !(rights & FILTER_EXEC) || (rights & FILTER_SOCKET_SERVER) || guard >= 0;
        if (r < 0 && errno == EBUSY && !needs_listener) { /* an outer filter of this process has a listener already */
                flags = 0;
                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        }
        if (r < 0)
                return -errno;
        if (ret_listener)
                *ret_listener = flags ? (int)r : -1;
        return 0;
}

bool filter_can_guard(void)
{
        /* The kernel checks the flags before it reads the program: EFAULT means that it knows them. */
        unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
}

/* Runs a generated program as the kernel does. Generated programs contain only these instructions. */
static uint32_t simulate(const struct sock_filter *code, size_t count, const struct seccomp_data *data)
{
        uint32_t a = 0;
        for (size_t i = 0; i < count; i++) {
                const struct sock_filter *f = &code[i];
                switch (f->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        if (f->k > sizeof *data - sizeof a)
                                return 0;
                        memcpy(&a, (const char *)data + f->k, sizeof a);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= f->k;
                        break;
                case BPF_JMP | BPF_JA:
                        i += f->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        i += a == f->k ? f->jt : f->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        i += a >= f->k ? f->jt : f->jf;
                        break;
                case BPF_RET | BPF_K:
                        return f->k;
                default:
                        return 0;
                }
        }
        return 0;
}

int filter_errno(unsigned rights, const struct seccomp_data *data)
{
        const struct filter_programs *programs = native_programs();
        if (!programs || rights >= FILTER_RIGHTS_COUNT)
                return EPERM;
        const struct program_slice *slice = &programs->variants[rights];
        uint32_t verdict = simulate(programs->code + slice->start, slice->count, data);
        bool notified = (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
        return notified ? (int)(verdict & SECCOMP_RET_DATA) : EPERM;
}

const struct filter_notified *filter_find_notified(int number)
{
        const struct filter_programs *programs = native_programs();
        for (size_t i = 0; programs && i < programs->notified_count; i++)
                if (programs->notified[i].number == number)
                        return &programs->notified[i];
        return NULL;
}

bool platform_describe_call(int number, const char **ret_call, const char **ret_group)
{
        const struct filter_notified *notified = filter_find_notified(number);
        if (!notified)
                return false;
        *ret_call = notified->call;
        *ret_group = notified->group;
        return true;
}
