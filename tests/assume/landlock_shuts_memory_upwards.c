/* A guard reads its callers' memory; Landlock's domains keep them from reading the guard's, whatever else allows it. */
#include "assume_landlock.h"

#include <sys/uio.h>

static char word[] = "secret";

static bool can_read(pid_t pid)
{
        char copy[sizeof word] = "";
        struct iovec here = { copy, sizeof copy }, there = { word, sizeof word };
        return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof word;
}

/* Runs in the child. Enters a domain below its parent's and writes 'y' if it can read the parent's memory, else 'n'. */
static int run_below(pid_t parent, int result)
{
        char byte;
        restrict_to("/", LANDLOCK_ACCESS_FS_MAKE_CHAR, LANDLOCK_ACCESS_FS_MAKE_CHAR);
        byte = can_read(parent) ? 'y' : 'n';
        if (write(result, &byte, 1) != 1)
                return ECANCELED;
        (void)pause();
        return 0;
}

int main(void)
{
        assume("a process can read the memory of one in a Landlock domain below its own, not of one above");
        become_ordinary_user();
        require_landlock(1);
        if (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) < 0 && errno != EINVAL) /* for Yama; EINVAL without it */
                skip_cannot("let the child trace its parent");
        restrict_to("/", LANDLOCK_ACCESS_FS_MAKE_BLOCK, LANDLOCK_ACCESS_FS_MAKE_BLOCK);
        int result[2];
        char byte = 0;
        if (pipe2(result, O_CLOEXEC) < 0)
                skip_cannot("prepare");
        pid_t parent = getpid(), pid = fork();
        if (pid == 0)
                _exit(run_below(parent, result[1]));
        (void)close(result[1]);
        if (read(result[0], &byte, 1) != 1)
                skip_cannot("restrict the child");
        bool reads_child = can_read(pid);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        conclude(reads_child && byte == 'n', "parent reads child: %s, child reads parent: %s",
                 reads_child ? "yes" : "no", byte == 'y' ? "yes" : "no");
}
