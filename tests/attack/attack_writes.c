/* Attacks that change files: their content, names, modes, owners, times, attributes and flags. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

static int write_path(char **a)
{
        return write_line(open(a[0], O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int append(char **a)
{
        return write_line(open(a[0], O_WRONLY | O_APPEND | O_CLOEXEC));
}

static int create(char **a)
{
        return write_line(open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int truncate_path(char **a)
{
        return outcome(truncate(a[0], 0));
}

/* O_RDONLY with O_TRUNC truncates a file without opening it for writing. */
static int truncate_by_read_only_open(char **a)
{
        int fd = open(a[0], O_RDONLY | O_TRUNC | O_CLOEXEC);
        return outcome(fd);
}

static int write_by_reopening(char **a)
{
        char fd_path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
        return write_line(open(fd_path, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int write_by_hard_link(char **a)
{
        if (link(a[0], a[1]) < 0)
                return -errno;
        return write_line(open(a[1], O_WRONLY | O_TRUNC | O_CLOEXEC));
}

/* Links a descriptor, so that linkat() is not given the path of the file. */
static int write_by_linked_descriptor(char **a)
{
        char fd_path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
        if (linkat(AT_FDCWD, fd_path, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW) < 0)
                return -errno;
        return write_line(open(a[1], O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int write_by_symlink(char **a)
{
        if (symlink(a[0], "symlink-of-attack") < 0)
                return -errno;
        return write_line(open("symlink-of-attack", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static int remove_file(char **a)
{
        return outcome(unlink(a[0]));
}

static int remove_directory(char **a)
{
        return outcome(rmdir(a[0]));
}

static int rename_path(char **a)
{
        return outcome(rename(a[0], a[1]));
}

/* Renames a new file over the path. */
static int rename_over(char **a)
{
        int fd = open("mine-of-attack", O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
        if (fd < 0 || write_line(fd) < 0)
                return CANNOT_TRY;
        return outcome(rename("mine-of-attack", a[0]));
}

static int exchange(char **a)
{
        int fd = open("mine-of-attack", O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
        if (fd < 0 || write_line(fd) < 0)
                return CANNOT_TRY;
        return outcome(renameat2(AT_FDCWD, "mine-of-attack", AT_FDCWD, a[0], RENAME_EXCHANGE));
}

static int link_over(char **a)
{
        int fd = open("mine-of-attack", O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
        if (fd < 0 || write_line(fd) < 0)
                return CANNOT_TRY;
        if (unlink(a[0]) < 0)
                return -errno;
        return outcome(link("mine-of-attack", a[0]));
}

static int link_path(char **a)
{
        return outcome(link(a[0], a[1]));
}

static int symlink_path(char **a)
{
        return outcome(symlink("anywhere", a[0]));
}

static int make_directory(char **a)
{
        return outcome(mkdir(a[0], 0700));
}

static int make_fifo(char **a)
{
        return outcome(mkfifo(a[0], 0600));
}

static int make_node(char **a)
{
        return outcome(mknod(a[0], S_IFREG | 0600, 0));
}

/* A device node for /dev/kmsg under another name. */
static int make_device(char **a)
{
        if (mknod(a[0], S_IFCHR | 0600, makedev(1, 11)) < 0)
                return -errno;
        return read_file(a[0]);
}

static int make_socket(char **a)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        snprintf(address.sun_path, sizeof address.sun_path, "%s", a[0]);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return outcome(fd < 0 ? fd : bind(fd, (struct sockaddr *)&address, sizeof address));
}

/* Creates an unnamed file in a writable directory and links it to a path elsewhere. */
static int link_tmpfile(char **a)
{
        char fd_path[64];
        int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return CANNOT_TRY;
        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
        return outcome(linkat(AT_FDCWD, fd_path, AT_FDCWD, a[0], AT_SYMLINK_FOLLOW));
}

static int create_tmpfile(char **a)
{
        return write_line(open(a[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static int change_mode(char **a)
{
        return outcome(chmod(a[0], 0757));
}

static int change_mode_by_descriptor(char **a)
{
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(fchmod(fd, 0757));
}

static int change_times_by_descriptor(char **a)
{
        const struct timespec times[] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(futimens(fd, times));
}

static int change_owner(char **a)
{
        return outcome(chown(a[0], geteuid(), getegid()));
}

static int change_times(char **a)
{
        const struct timespec times[] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        return outcome(utimensat(AT_FDCWD, a[0], times, 0));
}

static int set_attribute(char **a)
{
        int r = outcome(setxattr(a[0], "user.attacked", "yes", 3, 0));
        return r == -EOPNOTSUPP ? CANNOT_TRY : r;
}

static int set_flags(char **a)
{
        int flags = 0, fd = open(a[0], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
                return errno == ENOTTY ? CANNOT_TRY : -errno;
        flags |= FS_NODUMP_FL;
        return outcome(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

/* Writes a kernel setting back with its present value, so that success changes nothing. */
static int rewrite_setting(char **a)
{
        char text[4096];
        int fd = open(a[0], O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        ssize_t size = read(fd, text, sizeof text);
        return size < 0 ? -errno : outcome(pwrite(fd, text, (size_t)size, 0));
}

static int open_for_writing(char **a)
{
        return outcome(open(a[0], O_WRONLY | O_CLOEXEC));
}

const struct attack change_attacks[] = {
        { "write", 1, write_path },
        { "append", 1, append },
        { "create", 1, create },
        { "truncate", 1, truncate_path },
        { "truncate_by_read_only_open", 1, truncate_by_read_only_open },
        { "write_by_reopening", 1, write_by_reopening },
        { "write_by_hard_link", 2, write_by_hard_link },
        { "write_by_linked_descriptor", 2, write_by_linked_descriptor },
        { "write_by_symlink", 1, write_by_symlink },
        { "unlink", 1, remove_file },
        { "rmdir", 1, remove_directory },
        { "rename", 2, rename_path },
        { "rename_over", 1, rename_over },
        { "exchange", 1, exchange },
        { "link_over", 1, link_over },
        { "link", 2, link_path },
        { "symlink", 1, symlink_path },
        { "mkdir", 1, make_directory },
        { "mkfifo", 1, make_fifo },
        { "mknod", 1, make_node },
        { "make_device", 1, make_device },
        { "make_socket", 1, make_socket },
        { "link_tmpfile", 1, link_tmpfile },
        { "create_tmpfile", 1, create_tmpfile },
        { "chmod", 1, change_mode },
        { "chmod_by_descriptor", 1, change_mode_by_descriptor },
        { "futimens", 1, change_times_by_descriptor },
        { "chown", 1, change_owner },
        { "utimensat", 1, change_times },
        { "setxattr", 1, set_attribute },
        { "set_flags", 1, set_flags },
        { "rewrite_setting", 1, rewrite_setting },
        { "open_for_writing", 1, open_for_writing },
        { 0 },
};
