/*
 * The box's own terminal.
 *
 * What it is for: a command that shared the person's terminal could type into it (TIOCSTI), change its modes, read what
 * is typed for others, and come back to it through /dev/tty after it should have ended. So it gets another one, and the
 * front carries bytes between the two (cli/terminal.c).
 *
 * How it works: the keeper opens /dev/ptmx in the root that it has just made, hence in the box's own devpts, and sends
 * the master to the front. A pty of the host's would work as well, but its name would mean nothing inside: ttyname()
 * would fail, and with it gpg, screen and mesg. In a box without a mount namespace the same line opens the host's
 * devpts, which is then the one the command sees.
 *
 * The keeper leads the session, and the command has a process group in it. That is not decoration: the kernel does not
 * stop a process group whose parents are all outside its session (it is orphaned), so a command that led the session
 * itself could not be stopped with Ctrl-Z.
 *
 * The kernel also tells us when the command wants to read. While the terminal's foreground group is the keeper's, which
 * never reads, a command that reads or changes modes is stopped with SIGTTIN or SIGTTOU; the keeper reports it, the
 * front takes the person's terminal if it is its turn, and has the command continued as the foreground group. Thus
 * `ringwall run -- make | less` leaves the keyboard to less.
 *
 * A box without any terminal has a session all the same, so that /dev/tty leads nowhere.
 *
 * What an attacker controls: everything about the slave, its modes and its size. None of it reaches the person's terminal
 * but the bytes of output.
 *
 * Needs of the kernel: TIOCGPTPEER (4.13).
 */
#include "linux/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

static const char stage[] = "terminal";

/* The front leaves its terminal's modes alone until it has the master, so these are the person's. */
static int copy_settings(int from, int to, bool foreground)
{
        struct termios modes;
        struct winsize size;
        if (tcgetattr(from, &modes) < 0 || ioctl(from, TIOCGWINSZ, &size) < 0)
                return -1;
        if (!foreground)
                modes.c_oflag &= ~(tcflag_t)OPOST;
        return tcsetattr(to, TCSANOW, &modes) < 0 ? -1 : ioctl(to, TIOCSWINSZ, &size);
}

int pty_open(struct pty *ret, unsigned replaced, bool foreground, struct error *e)
{
        *ret = (struct pty){ .master = -1, .slave = -1, .replaced = replaced };
        if (setsid() < 0)
                return error_errno(e, errno, stage, "cannot make a session");
        if (!replaced)
                return 0;
        CLEANUP_FD int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (master < 0)
                return error_errno(e, errno, stage, "cannot open /dev/ptmx");
        int locked = 0;
        if (ioctl(master, TIOCSPTLCK, &locked) < 0)
                return error_errno(e, errno, stage, "cannot unlock the box's terminal");
        CLEANUP_FD int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return error_errno(e, errno, stage, "cannot open the box's terminal");
        if (copy_settings(ffs((int)replaced) - 1, slave, foreground) < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
                return error_errno(e, errno, stage, "cannot set up the box's terminal");
        ret->master = TAKE_FD(master);
        ret->slave = TAKE_FD(slave);
        return 0;
}

int pty_wear(const struct pty *pty, bool foreground)
{
        if (foreground && pty->replaced && tcsetpgrp(pty->slave, getpgrp()) < 0)
                return -errno;
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if ((pty->replaced & 1U << fd) && dup2(pty->slave, fd) < 0)
                        return -errno;
        return 0;
}

void pty_turn(const struct pty *pty, pid_t group)
{
        /* Fails when the command has left the session, or the group is empty: then it has no turn to take. */
        if (pty->slave >= 0)
                (void)tcsetpgrp(pty->slave, group > 0 ? group : getpgrp());
}
