/*
 * Until its first exec, a process in a user namespace has memory that belongs to the namespace outside, where the
 * guard's CAP_SYS_PTRACE does not count.
 */
#include "assume.h"

#include <sys/uio.h>

static char word[] = "secret";

int main(void)
{
        assume("CAP_SYS_PTRACE in a user namespace does not allow reading a non-dumpable child that was forked there "
               "without exec");
        become_ordinary_user();
        enter_namespaces(0);
        int ready[2];
        char byte, copy[sizeof word] = "";
        if (pipe2(ready, O_CLOEXEC) < 0)
                skip_cannot("prepare");
        pid_t pid = fork();
        if (pid == 0) {
                if (prctl(PR_SET_DUMPABLE, 0) == 0 && write(ready[1], "", 1) == 1)
                        (void)pause();
                _exit(1);
        }
        (void)close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
                skip_cannot("fork");
        struct iovec here = { copy, sizeof copy }, there = { word, sizeof word };
        bool read_it = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof word;
        int code = errno;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        conclude(!read_it && code == EPERM, "%s", read_it ? "it can be read" : strerror(code));
}
