/* Attacks that read files: by links, descriptors, mounts, file handles, and descriptors inherited from outside. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

enum { HANDLE_MAX = 128 };

static int read_path(char **a)
{
        return read_file(a[0]);
}

static int read_by_symlink(char **a)
{
        if (symlink(a[0], "symlink-of-attack") < 0)
                return CANNOT_TRY;
        return read_file("symlink-of-attack");
}

static int read_by_symlinked_parent(char **a)
{
        char path[4096];
        if (symlink(a[0], "parent-of-attack") < 0)
                return CANNOT_TRY;
        snprintf(path, sizeof path, "parent-of-attack/%s", a[1]);
        return read_file(path);
}

static int read_by_hard_link(char **a)
{
        if (link(a[0], "link-of-attack") < 0)
                return -errno;
        return read_file("link-of-attack");
}

/* Opens a path relative to an open directory. */
static int read_beneath(char **a)
{
        int directory = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -errno : read_and_report(openat(directory, a[1], O_RDONLY | O_CLOEXEC));
}

static int read_in_root(char **a)
{
        struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
        int directory = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -errno : read_and_report((int)syscall(SYS_openat2, directory, a[1], &how, sizeof how));
}

/* open() with O_PATH needs no right to read the file; the second open() does. */
static int read_by_reopening(char **a)
{
        char fd_path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
        return read_file(fd_path);
}

static int read_by_changing_directory(char **a)
{
        return chdir(a[0]) < 0 ? -errno : read_file(a[1]);
}

static int read_after_rename(char **a)
{
        char path[4096];
        if (rename(a[0], a[1]) < 0)
                return -errno;
        snprintf(path, sizeof path, "%s/%s", a[1], a[2]);
        return read_file(path);
}

static int read_after_exchange(char **a)
{
        int fd = open("mine-of-attack", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0)
                return CANNOT_TRY;
        close(fd);
        if (renameat2(AT_FDCWD, a[0], AT_FDCWD, "mine-of-attack", RENAME_EXCHANGE) < 0)
                return -errno;
        return read_file("mine-of-attack");
}

static int read_by_bind(char **a)
{
        char path[4096];
        enter_user_namespace();
        if (mkdir("bind-of-attack", 0700) < 0)
                return CANNOT_TRY;
        if (mount(a[0], "bind-of-attack", NULL, MS_BIND, NULL) < 0)
                return -errno;
        snprintf(path, sizeof path, "bind-of-attack/%s", a[1]);
        return read_file(path);
}

static int read_by_open_tree(char **a)
{
        enter_user_namespace();
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, a[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        return tree < 0 ? -errno : read_and_report(openat(tree, a[1], O_RDONLY | O_CLOEXEC));
}

/* A file handle names an inode without a path. Tests run this outside and pass the handle to read_by_handle. */
static int print_handle(char **a)
{
        union {
                struct file_handle head;
                char bytes[sizeof(struct file_handle) + HANDLE_MAX];
        } handle = { .head.handle_bytes = HANDLE_MAX };
        int mount;
        if (name_to_handle_at(AT_FDCWD, a[0], &handle.head, &mount, 0) < 0)
                return -errno;
        printf("%d ", handle.head.handle_type);
        for (unsigned i = 0; i < handle.head.handle_bytes; i++)
                printf("%02x", handle.head.f_handle[i]);
        putchar('\n');
        return 0;
}

static int read_by_handle(char **a)
{
        union {
                struct file_handle head;
                char bytes[sizeof(struct file_handle) + HANDLE_MAX];
        } handle = { .head.handle_type = (int)parse_number(a[0]) };
        for (const char *hex = a[1]; hex[0] && hex[1] && handle.head.handle_bytes < HANDLE_MAX; hex += 2) {
                char byte[] = { hex[0], hex[1], '\0' };
                handle.head.f_handle[handle.head.handle_bytes++] = (unsigned char)strtoul(byte, NULL, 16);
        }
        int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return here < 0 ? CANNOT_TRY : read_and_report(open_by_handle_at(here, &handle.head, O_RDONLY | O_CLOEXEC));
}

static int list_directory(char **a)
{
        char entries[4096];
        int fd = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return outcome(syscall(SYS_getdents64, fd, entries, sizeof entries));
}

/* The descriptor was inherited from outside of the box. */
static int read_inherited(char **a)
{
        return read_and_report(dup((int)parse_number(a[0])));
}

static int write_inherited(char **a)
{
        return write_line(dup((int)parse_number(a[0])));
}

static int read_beneath_inherited(char **a)
{
        return read_and_report(openat((int)parse_number(a[0]), a[1], O_RDONLY | O_CLOEXEC));
}

static int reopen_inherited(char **a, int flags)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%s", a[0]);
        return open(path, flags | O_CLOEXEC);
}

static int reopen_for_reading(char **a)
{
        return read_and_report(reopen_inherited(a, O_RDONLY));
}

static int reopen_for_writing(char **a)
{
        return write_line(reopen_inherited(a, O_WRONLY | O_TRUNC));
}

/* Succeeds if a descriptor other than 0, 1 and 2 is open. */
static int find_descriptors(char **a)
{
        (void)a;
        for (int fd = 3; fd < 1024; fd++)
                if (fcntl(fd, F_GETFD) >= 0) {
                        report_success("found %d", fd);
                        return 0;
                }
        return -EBADF;
}

static int read_environment(char **a)
{
        const char *value = getenv(a[0]);
        if (!value)
                return -ENOENT;
        report_success("read '%s'", value);
        return 0;
}

const struct attack file_attacks[] = {
        { "read", 1, read_path },
        { "read_by_symlink", 1, read_by_symlink },
        { "read_by_symlinked_parent", 2, read_by_symlinked_parent },
        { "read_by_hard_link", 1, read_by_hard_link },
        { "read_beneath", 2, read_beneath },
        { "read_in_root", 2, read_in_root },
        { "read_by_reopening", 1, read_by_reopening },
        { "read_by_changing_directory", 2, read_by_changing_directory },
        { "read_after_rename", 3, read_after_rename },
        { "read_after_exchange", 1, read_after_exchange },
        { "read_by_bind", 2, read_by_bind },
        { "read_by_open_tree", 2, read_by_open_tree },
        { "print_handle", 1, print_handle },
        { "read_by_handle", 2, read_by_handle },
        { "list", 1, list_directory },
        { "read_inherited", 1, read_inherited },
        { "write_inherited", 1, write_inherited },
        { "read_beneath_inherited", 2, read_beneath_inherited },
        { "reopen_for_reading", 1, reopen_for_reading },
        { "reopen_for_writing", 1, reopen_for_writing },
        { "find_descriptors", 0, find_descriptors },
        { "read_environment", 1, read_environment },
        { 0 },
};
