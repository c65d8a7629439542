/*
 * A simulator of classic BPF as seccomp uses it: checks programs as the kernel does, and runs them. It is independent
 * of the code that generates ringwall's programs.
 */
#ifndef RINGWALL_TESTS_BPF_SIMULATOR_H
#define RINGWALL_TESTS_BPF_SIMULATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns 0, or -EINVAL if the kernel would refuse the program. */
int bpf_check(const struct sock_filter *code, size_t count);

struct bpf_result {
        uint32_t action;
        unsigned steps;           /* instructions that were run */
        bool looked_at_arguments; /* it loaded anything but the number and the architecture */
};

/* Runs a program that bpf_check() accepts. */
struct bpf_result bpf_run(const struct sock_filter *code, const struct seccomp_data *data);

#endif
