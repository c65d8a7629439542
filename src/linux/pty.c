/*
 * The box's own terminal.
 *
 * What it is for: a command that shared the person's terminal could type into it (TIOCSTI), change its modes, read what
 * is typed for other programs, and open it again as /dev/tty after it should have ended. So the command gets a terminal
 * of its own, and the front copies bytes between the two (cli/terminal.c).
 *
 * How it works: the keeper opens /dev/ptmx in the root that it has just made, hence in the box's own devpts, and sends
 * the master to the front. A pty of the host would work as well, but its name would not exist inside: ttyname() would
 * fail, and with it gpg, screen and mesg. In a box without a mount namespace the same call opens the host's devpts,
 * which is the one that the command sees.
 *
 * The keeper is the session leader, and the command has a process group in the session. This is needed for Ctrl-Z: the
 * kernel does not stop a process group whose parents are all outside its session (an orphaned group), so a command that
 * led the session itself could not be stopped.
 *
 * The kernel also reports when the command wants to read. While the keeper's own group, which never reads, is the
 * foreground group of the terminal, a command that reads or changes modes is stopped with SIGTTIN or SIGTTOU. The
 * keeper reports that; the front takes the person's terminal if it is in the foreground there, and has the command
 * continued as the foreground group. Thus `ringwall run -- make | less` leaves the keyboard to less.
 *
 * A box without a terminal has its own session too, so that /dev/tty cannot be opened.
 *
 * What an attacker controls: everything about the slave, its modes and its size. None of it reaches the person's
 * terminal but the bytes of output.
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

/* The front does not change the modes of its terminal before it has the master, so these are the person's. */
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
                return error_errno(e, errno, "cannot make a session");
        if (!replaced)
                return 0;
        CLEANUP_FD int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (master < 0)
                return error_errno(e, errno, "cannot open /dev/ptmx");
        int locked = 0;
        if (ioctl(master, TIOCSPTLCK, &locked) < 0)
                return error_errno(e, errno, "cannot unlock the box's terminal");
        CLEANUP_FD int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return error_errno(e, errno, "cannot open the box's terminal");
        if (copy_settings(ffs((int)replaced) - 1, slave, foreground) < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
                return error_errno(e, errno, "cannot set up the box's terminal");
        ret->master = TAKE_FD(master);
        ret->slave = TAKE_FD(slave);
        return 0;
}

int pty_attach(const struct pty *pty, bool foreground)
{
        if (foreground && pty->replaced && tcsetpgrp(pty->slave, getpgrp()) < 0)
                return -errno;
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if ((pty->replaced & 1U << fd) && dup2(pty->slave, fd) < 0)
                        return -errno;
        return 0;
}

void pty_set_foreground(const struct pty *pty, pid_t group)
{
        /* Fails if the command has left the session, or the group is empty: then no process of it reads. */
        if (pty->slave >= 0)
                (void)tcsetpgrp(pty->slave, group > 0 ? group : getpgrp());
}
