/* The person's terminal: typing into it, reading it, writing on it. Standard input is a terminal here. */
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

/* The kernel looks at 32 bits of the command, the caller passes 64: a filter must not be told apart by the rest. */
static const unsigned long high_bits = 0xdeadbeef00000000UL;

static int type_into(unsigned long command)
{
        for (const char *c = "typed\n"; *c; c++)
                if (syscall(SYS_ioctl, STDIN_FILENO, command, c) < 0)
                        return -errno;
        return 0;
}

static int type_text(char **a)
{
        (void)a;
        return type_into(TIOCSTI);
}

static int type_with_high_bits(char **a)
{
        (void)a;
        return type_into(TIOCSTI | high_bits);
}

static int type_by_dev_tty(char **a)
{
        (void)a;
        int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
        if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
                return -errno;
        return type_into(TIOCSTI);
}

/* Pasting is for consoles. Another terminal says ENOTTY, so asking it at all is what must not happen. */
static int paste(unsigned long command)
{
        char subcode = 3;
        long r = syscall(SYS_ioctl, STDIN_FILENO, command, &subcode);
        return r < 0 && errno != ENOTTY && errno != EINVAL ? -errno : 0;
}

static int paste_text(char **a)
{
        (void)a;
        return paste(TIOCLINUX);
}

static int paste_with_high_bits(char **a)
{
        (void)a;
        return paste(TIOCLINUX | high_bits);
}

static int write_on(char **a)
{
        int fd = open(a[0], O_WRONLY | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(write(fd, "scribbled", 9));
}

static int read_from(char **a)
{
        return take(open(a[0], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

const struct attack terminal_attacks[] = {
        { "type", 0, type_text },
        { "type_with_high_bits", 0, type_with_high_bits },
        { "type_by_dev_tty", 0, type_by_dev_tty },
        { "paste", 0, paste_text },
        { "paste_with_high_bits", 0, paste_with_high_bits },
        { "write_on", 1, write_on },
        { "read_from", 1, read_from },
        { 0 },
};
