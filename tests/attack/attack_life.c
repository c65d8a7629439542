/*
 * Outliving the box. These always "work" when they are started; the test looks whether anything is still there, by the
 * token that stays in the command line of every process that they leave.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

enum { LIFE = 60 }; /* seconds: what a test fails to clean up ends by itself */

static void let_go(void)
{
        for (int fd = 0; fd < 3; fd++)
                close(fd);
}

static int daemonize(void)
{
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child > 0)
                return outcome(waitpid(child, NULL, 0));
        setsid();
        if (fork() == 0) {
                let_go();
                sleep(LIFE);
        }
        _exit(0);
}

static int leave_daemon(char **a)
{
        (void)a;
        return daemonize();
}

static int leave_stubborn_daemon(char **a)
{
        (void)a;
        for (int number_of_signal = 1; number_of_signal < NSIG; number_of_signal++)
                signal(number_of_signal, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);
        return daemonize();
}

static int leave_stopped_daemon(char **a)
{
        (void)a;
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child == 0) {
                setsid();
                let_go();
                raise(SIGSTOP);
                sleep(LIFE);
                _exit(0);
        }
        return outcome(waitpid(child, NULL, WUNTRACED));
}

/* Always one generation ahead of whoever counts processes. */
static int leave_runner(char **a)
{
        (void)a;
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child > 0)
                return 0;
        setsid();
        let_go();
        for (int i = 0; i < LIFE * 5; i++) {
                if (fork() > 0)
                        _exit(0);
                usleep(200000); /* long enough to be found at all, on a slow machine too */
        }
        _exit(0);
}

/* Children of a subreaper stay with it, and it has left. */
static int leave_subreaper(char **a)
{
        (void)a;
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child > 0) {
                usleep(50000);
                return 0;
        }
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
        let_go();
        if (fork() == 0 && fork() > 0)
                _exit(0);
        sleep(LIFE);
        _exit(0);
}

/* Stays in front, with a child in another session, and answers no signal that can be ignored. */
static int stay(char **a)
{
        (void)a;
        for (int number_of_signal = 1; number_of_signal < NSIG; number_of_signal++)
                signal(number_of_signal, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
        if (fork() == 0)
                setsid();
        did("started");
        sleep(LIFE);
        return 0;
}

const struct attack life_attacks[] = {
        { "leave_daemon", 1, leave_daemon },
        { "leave_stubborn_daemon", 1, leave_stubborn_daemon },
        { "leave_stopped_daemon", 1, leave_stopped_daemon },
        { "leave_runner", 1, leave_runner },
        { "leave_subreaper", 1, leave_subreaper },
        { "stay", 1, stay },
        { 0 },
};
