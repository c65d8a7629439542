/* See bpf_simulator.h. Instructions that ringwall's programs never use (scratch memory, register X) are refused. */
#include "bpf_simulator.h"

#include <errno.h>
#include <string.h>

static bool is_conditional(uint16_t code)
{
        static const uint16_t comparisons[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
        for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++)
                if (code == (BPF_JMP | comparisons[i] | BPF_K))
                        return true;
        return false;
}

static bool instruction_is_valid(const struct sock_filter *f, size_t left)
{
        if (is_conditional(f->code))
                return f->jt < left && f->jf < left;
        switch (f->code) {
        case BPF_LD | BPF_W | BPF_ABS:
                return f->k < sizeof(struct seccomp_data) && f->k % sizeof(uint32_t) == 0 && left > 0;
        case BPF_ALU | BPF_AND | BPF_K:
                return left > 0;
        case BPF_JMP | BPF_JA:
                return f->k < left;
        case BPF_RET | BPF_K:
                return true;
        default:
                return false;
        }
}

int bpf_check(const struct sock_filter *code, size_t count)
{
        if (count == 0 || count > BPF_MAXINSNS)
                return -EINVAL;
        for (size_t i = 0; i < count; i++)
                if (!instruction_is_valid(&code[i], count - i - 1))
                        return -EINVAL;
        return 0;
}

static bool compare(const struct sock_filter *f, uint32_t a)
{
        switch (BPF_OP(f->code)) {
        case BPF_JEQ:
                return a == f->k;
        case BPF_JGT:
                return a > f->k;
        case BPF_JGE:
                return a >= f->k;
        default:
                return a & f->k; /* BPF_JSET */
        }
}

struct bpf_result bpf_run(const struct sock_filter *code, const struct seccomp_data *data)
{
        struct bpf_result r = { 0 };
        uint32_t a = 0;
        for (const struct sock_filter *f = code;; f++) {
                r.steps++;
                switch (BPF_CLASS(f->code)) {
                case BPF_LD:
                        memcpy(&a, (const char *)data + f->k, sizeof a);
                        if (f->k != offsetof(struct seccomp_data, nr) && f->k != offsetof(struct seccomp_data, arch))
                                r.looked_at_arguments = true;
                        break;
                case BPF_ALU:
                        a &= f->k;
                        break;
                case BPF_JMP:
                        f += is_conditional(f->code) ? (compare(f, a) ? f->jt : f->jf) : f->k;
                        break;
                default:
                        r.action = f->k; /* BPF_RET */
                        return r;
                }
        }
}
