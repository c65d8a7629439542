/* Without a pid namespace the keeper kills its box with one kill(-1), however fast it forks: kill_others(). */
#include "assume_landlock.h"

static void scope_signals(void)
{
        struct {
                uint64_t handled_fs, handled_net, scoped;
        } attr = { .scoped = 1 << 1 /* LANDLOCK_SCOPE_SIGNAL */ };
        int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                skip_cannot("scope its signals with Landlock");
}

static _Noreturn void fork_forever(void)
{
        for (;;)
                if (fork() > 0)
                        _exit(0);
}

int main(void)
{
        assume("kill(-1) in a Landlock domain that scopes signals kills every process of the domain and no other");
        require_landlock(6);
        become_ordinary_user();
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
                                fork_forever();
                (void)usleep(50000);
                (void)kill(-1, SIGKILL);
                while (waitpid(-1, NULL, 0) > 0)
                        ;
                _exit(errno == ECHILD ? 0 : 1);
        }
        int status = wait_for(keeper);
        bool outside_alive = waitpid(outside, NULL, WNOHANG) == 0;
        (void)kill(outside, SIGKILL);
        conclude(status == 0 && outside_alive, "the domain is %s, the process outside is %s",
                 status == 0 ? "empty" : "not empty", outside_alive ? "alive" : "dead");
}
