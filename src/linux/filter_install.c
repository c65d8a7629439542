/*
 * Installing a filter: nothing is left to do but to pick a program and hand it over.
 *
 * What it is for: a box starts in well under a millisecond. Compiling an allowlist takes several, so the programs are
 * made at build time (filter_generate.c), and this file does not need the library that knows the calls' names.
 *
 * What it trusts: the generated programs, which the unit tests compare with the table for every call. An attacker
 * controls nothing here.
 *
 * Needs of the kernel: CONFIG_SECCOMP_FILTER, seccomp(2), user notification (5.0); without FILTER_EXEC its CONTINUE (5.5).
 */
#include "linux/filter_install.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "linux/kernel_abi.h"

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

int filter_install(unsigned rights, int *ret_listener)
{
        const struct filter_programs *programs = native_programs();
        if (!programs)
                return -EOPNOTSUPP;
        if (rights >= FILTER_VARIANTS)
                return -EINVAL;
        const struct filter_span *span = &programs->variants[rights];
        struct sock_fprog program = {
                .len = span->count,
                .filter = (struct sock_filter *)(uintptr_t)(programs->code + span->start), /* only read, by the kernel */
        };
        unsigned long flags = ret_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        bool needs_listener = !(rights & FILTER_EXEC) || (rights & FILTER_GIVEN);
        if (r < 0 && errno == EBUSY && !needs_listener) {
                flags = 0;
                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        }
        if (r < 0)
                return -errno;
        if (ret_listener)
                *ret_listener = flags ? (int)r : -1;
        return 0;
}

/* Runs a program of ours as the kernel does; it has only these instructions. */
static uint32_t run(const struct sock_filter *code, size_t count, const struct seccomp_data *data)
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

int filter_answer(unsigned rights, const struct seccomp_data *data)
{
        const struct filter_programs *programs = native_programs();
        if (!programs || rights >= FILTER_VARIANTS)
                return EPERM;
        const struct filter_span *span = &programs->variants[rights];
        uint32_t verdict = run(programs->code + span->start, span->count, data);
        bool told = (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
        return told ? (int)(verdict & SECCOMP_RET_DATA) : EPERM;
}

const struct filter_told *filter_find_told(int number)
{
        const struct filter_programs *programs = native_programs();
        for (size_t i = 0; programs && i < programs->told_count; i++)
                if (programs->told[i].number == number)
                        return &programs->told[i];
        return NULL;
}
