/* Forks children that share our memory until they exec, to avoid copying page tables; see platform.h. */
#include "platform/platform.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

/* The child has a stack of its own, because a sanitizer would report its frames as errors in ours. */
pid_t platform_vfork(int (*run)(void *data), void *data)
{
        enum { STACK_BYTES = 64 * 1024 };
        char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED)
                return -1;
        pid_t pid = clone(run, stack + STACK_BYTES, SIGCHLD | CLONE_VM | CLONE_VFORK, data);
        int code = errno;
        (void)munmap(stack, STACK_BYTES);
        errno = code;
        return pid;
}
