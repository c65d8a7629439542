/* For the programs that test seccomp. */
#ifndef RINGWALL_TESTS_ASSUME_SECCOMP_H
#define RINGWALL_TESTS_ASSUME_SECCOMP_H

#include "assume.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

/* Installs a filter that returns `verdict` for getppid. Returns the listener if `flags` ask for one. */
static inline int filter_getppid(uint32_t verdict, unsigned long flags)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, verdict),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = sizeof code / sizeof code[0], .filter = code };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                skip_cannot("set no_new_privs");
        int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        if (fd < 0)
                skip_cannot("install a filter");
        return fd;
}

#endif
