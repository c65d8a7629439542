/*
 * Classic BPF as seccomp has it: what the kernel accepts, and what it then does, step by step. It knows nothing of how
 * ringwall makes its programs.
 */
#ifndef RINGWALL_TESTS_BPF_SIMULATOR_H
#define RINGWALL_TESTS_BPF_SIMULATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0, or -EINVAL where the kernel would refuse the program. */
int bpf_check(const struct sock_filter *code, size_t count);

struct bpf_result {
        uint32_t action;
        unsigned steps;           /* instructions that were run */
        bool looked_at_arguments; /* or at anything else than the number and the architecture */
};

/* For a program that bpf_check() accepts. */
struct bpf_result bpf_run(const struct sock_filter *code, const struct seccomp_data *data);

#endif
