/* launch.c, end_others(): without a pid namespace, one kill(-1) ends the box, however fast it forks, and nobody else. */
#include "assume_landlock.h"

static void scope_signals(void)
{
        struct {
                uint64_t handled_fs, handled_net, scoped;
        } attr = { .scoped = 1 << 1 };
        int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                cannot_ask("scope its signals");
}

static _Noreturn void fork_for_ever(void)
{
        for (;;)
                if (fork() > 0)
                        _exit(0);
}

int main(void)
{
        assume("kill(-1) in a Landlock domain that scopes signals ends every process of the domain and no other");
        need_landlock(6);
        become_ordinary();
        pid_t outside = fork();
        if (outside == 0) {
                (void)pause();
                _exit(0);
        }
        pid_t keeper = fork();
        if (keeper == 0) {
                (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
                scope_signals();
                for (int i = 0; i < 3; i++)
                        if (fork() == 0)
                                fork_for_ever();
                (void)usleep(50000);
                (void)kill(-1, SIGKILL);
                while (waitpid(-1, NULL, 0) > 0)
                        ;
                _exit(errno == ECHILD ? 0 : 1);
        }
        int status = wait_for(keeper);
        bool lives = waitpid(outside, NULL, WNOHANG) == 0;
        (void)kill(outside, SIGKILL);
        conclude(status == 0 && lives, "the domain is %s, the process outside %s", status == 0 ? "empty" : "not empty",
                 lives ? "lives" : "does not live");
}
