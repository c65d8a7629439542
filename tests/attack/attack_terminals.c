/* Attacks on the user's terminal: put input into it, read it, write to it. Standard input is a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "attack.h"

/* The kernel ignores the upper 32 bits of the ioctl command; a filter that compares 64 bits would be bypassed. */
static const unsigned long high_bits = 0xdeadbeef00000000UL;

static int type_with_command(unsigned long command)
{
        for (const char *c = "typed\n"; *c; c++)
                if (syscall(SYS_ioctl, STDIN_FILENO, command, c) < 0)
                        return -errno;
        return 0;
}

static int type_text(char **a)
{
        (void)a;
        return type_with_command(TIOCSTI);
}

static int type_with_high_bits(char **a)
{
        (void)a;
        return type_with_command(TIOCSTI | high_bits);
}

static int type_by_dev_tty(char **a)
{
        (void)a;
        int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
        if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
                return -errno;
        return type_with_command(TIOCSTI);
}

/* Only consoles support TIOCLINUX; other terminals fail with ENOTTY. The filter must deny it before that. */
static int paste_with_command(unsigned long command)
{
        char subcode = 3; /* TIOCL_PASTESEL: paste the selection */
        long r = syscall(SYS_ioctl, STDIN_FILENO, command, &subcode);
        return r < 0 && errno != ENOTTY && errno != EINVAL ? -errno : 0;
}

static int paste_text(char **a)
{
        (void)a;
        return paste_with_command(TIOCLINUX);
}

static int paste_with_high_bits(char **a)
{
        (void)a;
        return paste_with_command(TIOCLINUX | high_bits);
}

static int write_to_terminal(char **a)
{
        int fd = open(a[0], O_WRONLY | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(write(fd, "scribbled", 9));
}

static int read_terminal(char **a)
{
        return read_and_report(open(a[0], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

const struct attack terminal_attacks[] = {
        { "type", 0, type_text },
        { "type_with_high_bits", 0, type_with_high_bits },
        { "type_by_dev_tty", 0, type_by_dev_tty },
        { "paste", 0, paste_text },
        { "paste_with_high_bits", 0, paste_with_high_bits },
        { "write_to_terminal", 1, write_to_terminal },
        { "read_terminal", 1, read_terminal },
        { 0 },
};
