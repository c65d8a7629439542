/*
 * Attacks that leave a process running after the box has ended. They always report success when they are started. The
 * argument is a token: the test then looks for processes that have it in their command line.
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

enum { LIFETIME = 60 }; /* seconds; a process that a test does not kill exits after that time */

static void close_streams(void)
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
                close_streams();
                sleep(LIFETIME);
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
        for (int signal_number = 1; signal_number < NSIG; signal_number++)
                signal(signal_number, SIG_IGN);
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
                close_streams();
                raise(SIGSTOP);
                sleep(LIFETIME);
                _exit(0);
        }
        return outcome(waitpid(child, NULL, WUNTRACED));
}

/* Forks and exits again and again, so that its pid changes while processes are listed. */
static int leave_forking_daemon(char **a)
{
        (void)a;
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child > 0)
                return 0;
        setsid();
        close_streams();
        for (int i = 0; i < LIFETIME * 5; i++) {
                if (fork() > 0)
                        _exit(0);
                usleep(200000); /* so that a test on a slow machine can find it */
        }
        _exit(0);
}

/* Orphans are reparented to this subreaper, which is itself an orphan in another session. */
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
        close_streams();
        if (fork() == 0 && fork() > 0)
                _exit(0);
        sleep(LIFETIME);
        _exit(0);
}

/* Stays in the foreground, with a child in another session; both ignore all signals that can be ignored. */
static int ignore_signals(char **a)
{
        (void)a;
        for (int signal_number = 1; signal_number < NSIG; signal_number++)
                signal(signal_number, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
        if (fork() == 0)
                setsid();
        report_success("started");
        sleep(LIFETIME);
        return 0;
}

const struct attack life_attacks[] = {
        { "leave_daemon", 1, leave_daemon },
        { "leave_stubborn_daemon", 1, leave_stubborn_daemon },
        { "leave_stopped_daemon", 1, leave_stopped_daemon },
        { "leave_forking_daemon", 1, leave_forking_daemon },
        { "leave_subreaper", 1, leave_subreaper },
        { "ignore_signals", 1, ignore_signals },
        { 0 },
};
