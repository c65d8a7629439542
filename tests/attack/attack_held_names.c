/*
 * Attacks that change or read an existing file that a rule names: through descriptors opened for another purpose, with
 * newer system calls for modes and attributes, through mapped memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "attack.h"

/* System calls that older headers lack; their numbers are the same on every architecture. */
enum { NR_FCHMODAT2 = 452, NR_SETXATTRAT = 463, NR_FILE_SETATTR = 469 };

/* CANNOT_TRY if the kernel or the file system does not support the call. */
static int cannot_try_if_unsupported(int result)
{
        return result == -ENOSYS || result == -EOPNOTSUPP || result == -ENOTTY ? CANNOT_TRY : result;
}

static int write_by_creat(char **a)
{
        return write_line(creat(a[0], 0600));
}

static int write_by_open_create(char **a)
{
        return write_line(open(a[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static int write_by_openat2(char **a)
{
        struct open_how how = { .flags = O_WRONLY | O_TRUNC | O_CLOEXEC };
        return write_line((int)syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof how));
}

static int truncate_by_descriptor(char **a)
{
        int fd = open(a[0], O_RDWR | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(ftruncate(fd, 0));
}

static int truncate_by_descriptor_path(char **a)
{
        char path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return outcome(truncate(path, 0));
}

static int write_by_mmap(char **a)
{
        int fd = open(a[0], O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        char *memory = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        *memory = 'X';
        return outcome(msync(memory, 1, MS_SYNC));
}

static int write_by_copy(char **a)
{
        int from = open("/etc/passwd", O_RDONLY | O_CLOEXEC), to = open(a[0], O_WRONLY | O_CLOEXEC);
        if (from < 0)
                return CANNOT_TRY;
        if (to < 0)
                return -errno;
        if (copy_file_range(from, NULL, to, NULL, 4, 0) > 0)
                return 0;
        return outcome(sendfile(to, from, NULL, 4));
}

static int write_by_read_descriptor(char **a)
{
        char path[64];
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
        return write_line(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int punch_hole(char **a)
{
        int fd = open(a[0], O_RDWR | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
}

static int write_by_linked_descriptor_path(char **a)
{
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (linkat(fd, "", AT_FDCWD, "alias-of-attack", AT_EMPTY_PATH) < 0)
                return errno == ENOENT ? CANNOT_TRY : -errno;
        return write_line(open("alias-of-attack", O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int rename_noreplace(char **a)
{
        return outcome(renameat2(AT_FDCWD, a[0], AT_FDCWD, "taken-of-attack", RENAME_NOREPLACE));
}

static int rename_by_descriptors(char **a)
{
        int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return here < 0 ? CANNOT_TRY : outcome(renameat(here, a[0], here, "taken-of-attack"));
}

static int unlink_by_descriptor(char **a)
{
        int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return here < 0 ? CANNOT_TRY : outcome(unlinkat(here, a[0], 0));
}

/* Renames a new directory over an empty one. */
static int rename_directory_over(char **a)
{
        if (mkdir("directory-of-attack", 0700) < 0)
                return CANNOT_TRY;
        return outcome(rename("directory-of-attack", a[0]));
}

static int fchmodat_path(char **a)
{
        return outcome(syscall(SYS_fchmodat, AT_FDCWD, a[0], 0757));
}

static int fchmodat2_path(char **a)
{
        return cannot_try_if_unsupported(outcome(syscall(NR_FCHMODAT2, AT_FDCWD, a[0], 0757, AT_SYMLINK_NOFOLLOW)));
}

static int fchmodat2_descriptor(char **a)
{
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        return fd < 0 ? -errno : cannot_try_if_unsupported(outcome(syscall(NR_FCHMODAT2, fd, "", 0757, AT_EMPTY_PATH)));
}

static int chmod_by_path_descriptor(char **a)
{
        char path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return outcome(chmod(path, 0757));
}

static int chown_by_descriptor(char **a)
{
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(fchown(fd, geteuid(), getegid()));
}

static int lchown_path(char **a)
{
        return outcome(lchown(a[0], geteuid(), getegid()));
}

static int chown_by_empty_path(char **a)
{
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(fchownat(fd, "", geteuid(), getegid(), AT_EMPTY_PATH));
}

static int utime_path(char **a)
{
        return outcome(utime(a[0], &(struct utimbuf){ 1, 1 }));
}

static int utimes_path(char **a)
{
        return outcome(utimes(a[0], (struct timeval[]){ { .tv_sec = 1 }, { .tv_sec = 1 } }));
}

static int futimesat_path(char **a)
{
        const struct timeval times[] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
#ifdef SYS_futimesat
        return outcome(syscall(SYS_futimesat, AT_FDCWD, a[0], times));
#else
        return outcome(utimes(a[0], times));
#endif
}

static int utimensat_nofollow(char **a)
{
        const struct timespec times[] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        return outcome(utimensat(AT_FDCWD, a[0], times, AT_SYMLINK_NOFOLLOW));
}

static int lsetxattr_path(char **a)
{
        return cannot_try_if_unsupported(outcome(lsetxattr(a[0], "user.attacked", "yes", 3, 0)));
}

static int fsetxattr_path(char **a)
{
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : cannot_try_if_unsupported(outcome(fsetxattr(fd, "user.attacked", "yes", 3, 0)));
}

static int setxattrat_path(char **a)
{
        struct {
                uint64_t value;
                uint32_t size, flags;
        } how = { (uintptr_t) "yes", 3, 0 };
        return cannot_try_if_unsupported(
                outcome(syscall(NR_SETXATTRAT, AT_FDCWD, a[0], 0, "user.attacked", &how, sizeof how)));
}

static int removexattr_path(char **a)
{
        return outcome(removexattr(a[0], "user.kept"));
}

static int fremovexattr_path(char **a)
{
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : outcome(fremovexattr(fd, "user.kept"));
}

/* The argument is struct file_attr of Linux 6.17, with the flag FS_XFLAG_NODUMP. */
static int file_setattr_path(char **a)
{
        struct {
                uint64_t flags;
                uint32_t extent, extents, project, copy;
        } how = { .flags = 0x80 };
        return cannot_try_if_unsupported(outcome(syscall(NR_FILE_SETATTR, AT_FDCWD, a[0], &how, sizeof how, 0)));
}

static int read_by_openat2(char **a)
{
        struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
        return read_and_report((int)syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof how));
}

static int read_by_read_write(char **a)
{
        return read_and_report(open(a[0], O_RDWR | O_CLOEXEC));
}

static int read_by_open_create(char **a)
{
        return read_and_report(open(a[0], O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int read_by_raw_open(char **a)
{
#ifdef SYS_open
        return read_and_report((int)syscall(SYS_open, a[0], O_RDONLY));
#else
        return read_file(a[0]);
#endif
}

static int read_by_path_descriptor_of_directory(char **a)
{
        char path[4096];
        const char *slash = strrchr(a[0], '/'), *name = slash ? slash + 1 : a[0];
        snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - a[0]) + 1 : 1, slash ? a[0] : ".");
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof path, "/proc/self/fd/%d/%s", fd, name);
        return read_file(path);
}

static int read_by_descriptor_symlink(char **a)
{
        char path[64];
        int fd = open(a[0], O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (symlink(path, "symlink-of-attack") < 0)
                return CANNOT_TRY;
        return read_file("symlink-of-attack");
}

static int execute_by_descriptor(char **a)
{
        char *command[] = { a[0], NULL }, *environment[] = { NULL };
        int fd = open(a[0], O_PATH);
        if (fd < 0)
                return -errno;
        execveat(fd, "", command, environment, AT_EMPTY_PATH);
        return -errno;
}

const struct attack held_name_attacks[] = {
        { "write_by_creat", 1, write_by_creat },
        { "write_by_open_create", 1, write_by_open_create },
        { "write_by_openat2", 1, write_by_openat2 },
        { "truncate_by_descriptor", 1, truncate_by_descriptor },
        { "truncate_by_descriptor_path", 1, truncate_by_descriptor_path },
        { "write_by_mmap", 1, write_by_mmap },
        { "write_by_copy", 1, write_by_copy },
        { "write_by_read_descriptor", 1, write_by_read_descriptor },
        { "punch_hole", 1, punch_hole },
        { "write_by_linked_descriptor_path", 1, write_by_linked_descriptor_path },
        { "rename_noreplace", 1, rename_noreplace },
        { "rename_by_descriptors", 1, rename_by_descriptors },
        { "unlink_by_descriptor", 1, unlink_by_descriptor },
        { "rename_directory_over", 1, rename_directory_over },
        { "fchmodat", 1, fchmodat_path },
        { "fchmodat2", 1, fchmodat2_path },
        { "fchmodat2_descriptor", 1, fchmodat2_descriptor },
        { "chmod_by_path_descriptor", 1, chmod_by_path_descriptor },
        { "chown_by_descriptor", 1, chown_by_descriptor },
        { "lchown", 1, lchown_path },
        { "chown_by_empty_path", 1, chown_by_empty_path },
        { "utime", 1, utime_path },
        { "utimes", 1, utimes_path },
        { "futimesat", 1, futimesat_path },
        { "utimensat_nofollow", 1, utimensat_nofollow },
        { "lsetxattr", 1, lsetxattr_path },
        { "fsetxattr", 1, fsetxattr_path },
        { "setxattrat", 1, setxattrat_path },
        { "removexattr", 1, removexattr_path },
        { "fremovexattr", 1, fremovexattr_path },
        { "file_setattr", 1, file_setattr_path },
        { "read_by_openat2", 1, read_by_openat2 },
        { "read_by_read_write", 1, read_by_read_write },
        { "read_by_open_create", 1, read_by_open_create },
        { "read_by_raw_open", 1, read_by_raw_open },
        { "read_by_path_descriptor_of_directory", 1, read_by_path_descriptor_of_directory },
        { "read_by_descriptor_symlink", 1, read_by_descriptor_symlink },
        { "execute_by_descriptor", 1, execute_by_descriptor },
        { 0 },
};
