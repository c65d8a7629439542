/* Results of single calls on files: errors, modes, flags, descriptor numbers. See ordinary.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ordinary.h"

static char *bad_pointer = (char *)0x10;

/* Opens the file, prints the outcome, and closes it. */
static void print_open(const char *check, const char *path, int flags, mode_t mode)
{
        int fd = open(path, flags, mode);
        print_outcome(check, fd);
        if (fd >= 0)
                close(fd);
}

static void print_mode(const char *check, const char *path)
{
        struct stat status;
        if (lstat(path, &status) < 0)
                print_outcome(check, -1);
        else
                print_text(check, "%06o links %lu size %ld", status.st_mode, (unsigned long)status.st_nlink,
                           S_ISDIR(status.st_mode) ? 0L : (long)status.st_size);
}

static void create_file(const char *path, const char *text)
{
        int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                print_outcome(path, -1);
        close(fd);
}

static void print_content(const char *check, const char *path)
{
        char text[64];
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text);
        if (size < 0)
                print_outcome(check, -1);
        else
                print_text(check, "'%.*s'", (int)size, text);
        if (fd >= 0)
                close(fd);
}

static void check_umask(void)
{
        static const mode_t masks[] = { 0, 022, 027, 077, 0777 };
        for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
                char name[64];
                umask(masks[i]);
                print_open("umask open", "masked", O_CREAT | O_EXCL | O_WRONLY, 0666);
                print_mode("umask open mode", "masked");
                print_outcome("umask mkdir", mkdir("masked-directory", 0777));
                print_mode("umask mkdir mode", "masked-directory");
                print_outcome("umask mkdir sticky", mkdir("masked-sticky", 01777));
                print_mode("umask sticky mode", "masked-sticky");
                print_outcome("umask mkfifo", mkfifo("masked-fifo", 0666));
                print_mode("umask mkfifo mode", "masked-fifo");
                print_outcome("umask mknod", mknod("masked-node", S_IFREG | 0755, 0));
                print_mode("umask mknod mode", "masked-node");
                int fd = open(".", O_TMPFILE | O_RDWR, 0666);
                struct stat status = { 0 };
                print_outcome("umask O_TMPFILE", fstat(fd, &status));
                print_text("umask O_TMPFILE mode", "%06o", status.st_mode);
                close(fd);
                snprintf(name, sizeof name, "umask is %03o", umask(0));
                print_text(name, "kept");
                unlink("masked");
                unlink("masked-fifo");
                unlink("masked-node");
                rmdir("masked-directory");
                rmdir("masked-sticky");
        }
        umask(022);
}

static void check_open_errors(void)
{
        char long_name[300], long_path[5000];
        memset(long_name, 'n', sizeof long_name);
        long_name[256] = '\0';
        memset(long_path, '/', sizeof long_path);
        memcpy(long_path, "./", 2);
        long_path[4999] = '\0';
        mkdir("d", 0755);
        create_file("f", "text");
        create_file("unreadable", "x");
        symlink("loop", "loop") < 0 ? print_outcome("symlink", -1) : (void)0;
        symlink("f", "to-f") < 0 ? print_outcome("symlink", -1) : (void)0;
        symlink("nowhere", "dangling") < 0 ? print_outcome("symlink", -1) : (void)0;
        print_open("O_EXCL on a file", "f", O_CREAT | O_EXCL | O_WRONLY, 0600);
        print_open("O_EXCL on a link", "dangling", O_CREAT | O_EXCL | O_WRONLY, 0600);
        print_open("O_EXCL on a directory", "d", O_CREAT | O_EXCL | O_WRONLY, 0600);
        print_open("O_CREAT on a directory", "d", O_CREAT | O_WRONLY, 0600);
        print_open("O_CREAT for reading on a directory", "d", O_CREAT | O_RDONLY, 0600);
        print_open("O_WRONLY on a directory", "d", O_WRONLY, 0);
        print_open("O_RDWR on a directory", "d", O_RDWR, 0);
        print_open("a file as a directory", "f/x", O_CREAT | O_WRONLY, 0600);
        print_open("below a missing directory", "nothing/x", O_CREAT | O_WRONLY, 0600);
        print_open("a missing file for writing", "nothing", O_WRONLY, 0);
        print_open("the empty path", "", O_CREAT | O_WRONLY, 0600);
        print_open("a long name", long_name, O_CREAT | O_WRONLY, 0600);
        long_name[255] = '\0';
        print_open("the longest name", long_name, O_CREAT | O_WRONLY, 0600);
        print_outcome("unlink the longest name", unlink(long_name));
        print_open("a long path", long_path, O_CREAT | O_WRONLY, 0600);
        print_open("a loop", "loop", O_CREAT | O_WRONLY, 0600);
        print_open("below a loop", "loop/x", O_CREAT | O_WRONLY, 0600);
        print_open("O_NOFOLLOW on a link", "to-f", O_WRONLY | O_NOFOLLOW, 0);
        print_open("O_NOFOLLOW|O_CREAT on a link", "dangling", O_CREAT | O_WRONLY | O_NOFOLLOW, 0600);
        print_open("O_NOFOLLOW|O_PATH on a link", "to-f", O_PATH | O_NOFOLLOW, 0);
        print_open("O_DIRECTORY on a file", "f", O_RDONLY | O_DIRECTORY, 0);
        print_open("O_DIRECTORY on a directory", "d", O_RDONLY | O_DIRECTORY, 0);
        print_open("O_PATH on a file", "f", O_PATH, 0);
        print_open("O_PATH|O_WRONLY|O_CREAT on a missing file", "nothing", O_PATH | O_WRONLY | O_CREAT, 0600);
        print_open("a trailing slash on a file", "f/", O_WRONLY, 0);
        print_open("a trailing slash on a new name", "new/", O_CREAT | O_WRONLY, 0600);
        print_open("repeated slashes", ".////f", O_WRONLY, 0);
        print_open("O_CREAT through a dangling link", "dangling", O_CREAT | O_WRONLY, 0640);
        print_mode("the target of the dangling link", "nowhere");
        unlink("nowhere");
        print_open("a bad pointer", bad_pointer, O_CREAT | O_WRONLY, 0600);
        print_open("a bad pointer for reading", bad_pointer, O_RDONLY, 0);
        print_outcome("a bad directory descriptor", openat(9999, "x", O_CREAT | O_WRONLY, 0600));
        int file = open("f", O_RDONLY);
        print_outcome("a file as the directory descriptor", openat(file, "x", O_CREAT | O_WRONLY, 0600));
        close(file);
        print_outcome("an absolute path and a bad directory descriptor", openat(9999, "/dev/null", O_WRONLY));
        print_open("all access bits", "f", O_WRONLY | O_RDWR, 0);
        print_open("a missing file in /proc", "/proc/self/nothing", O_WRONLY, 0);
        print_open("a missing file in /usr", "/usr/nothing-of-ordinary", O_WRONLY, 0);
}

static void check_other_errors(void)
{
        print_outcome("mkdir on a file", mkdir("f", 0700));
        print_outcome("mkdir on a directory", mkdir("d", 0700));
        print_outcome("mkdir on a link", mkdir("dangling", 0700));
        print_outcome("mkdir below a missing directory", mkdir("nothing/d", 0700));
        print_outcome("mkdir below a file", mkdir("f/d", 0700));
        print_outcome("mkdir with a trailing slash", mkdir("slashed/", 0700));
        print_outcome("mkdir of .", mkdir(".", 0700));
        print_outcome("mkdir of the root", mkdir("/", 0700));
        print_outcome("mkdir of the empty path", mkdir("", 0700));
        print_outcome("mkdir, a bad pointer", mkdir(bad_pointer, 0700));
        print_outcome("rmdir of .", rmdir("."));
        print_outcome("rmdir of ..", rmdir("d/.."));
        print_outcome("rmdir of a file", rmdir("f"));
        print_outcome("rmdir of a missing directory", rmdir("nothing"));
        print_outcome("rmdir", rmdir("slashed/"));
        print_outcome("unlink of a directory", unlink("d"));
        print_outcome("unlink with a trailing slash", unlink("f/"));
        print_outcome("unlink of a missing file", unlink("nothing"));
        print_outcome("unlink, a bad pointer", unlink(bad_pointer));
        print_outcome("unlinkat, bad flags", unlinkat(AT_FDCWD, "f", 0x4000));
        print_outcome("link of a directory", link("d", "d2"));
        print_outcome("link over a file", link("f", "to-f"));
        print_outcome("link of a missing file", link("nothing", "x"));
        print_outcome("linkat, bad flags", linkat(AT_FDCWD, "f", AT_FDCWD, "x", 0x2));
        print_outcome("symlink over a file", symlink("x", "f"));
        print_outcome("symlink to the empty path", symlink("", "x"));
        print_outcome("symlink with a trailing slash", symlink("x", "new/"));
        print_outcome("mknod over a file", mknod("f", S_IFREG | 0600, 0));
        print_outcome("mknod of a directory", mknod("x", S_IFDIR | 0600, 0));
        print_outcome("truncate of a directory", truncate("d", 0));
        print_outcome("truncate of a missing file", truncate("nothing", 0));
        print_outcome("truncate to a negative size", truncate("f", -1));
        print_outcome("chmod of a missing file", chmod("nothing", 0600));
        print_outcome("chmod, a bad pointer", chmod(bad_pointer, 0600));
        print_outcome("chmod of a loop", chmod("loop", 0600));
        print_outcome("fchmodat, bad flags", syscall(452, AT_FDCWD, "f", 0600, 0x1) < 0 && errno == ENOSYS ? 0 : -1);
        print_outcome("utimensat of a missing file", utimensat(AT_FDCWD, "nothing", NULL, 0));
        print_outcome("setxattr, a bad name", setxattr("f", "nonsense", "x", 1, 0));
        print_outcome("removexattr of a missing attribute", removexattr("f", "user.none"));
}

static void check_renames(void)
{
        mkdir("r1", 0755);
        mkdir("r2", 0755);
        create_file("r1/x", "one");
        create_file("r2/y", "two");
        create_file("a", "a");
        create_file("b", "b");
        print_outcome("rename over a directory that is not empty", rename("r1", "r2"));
        print_outcome("rename of a file over a directory", rename("a", "r1"));
        print_outcome("rename of a directory over a file", rename("r1", "a"));
        print_outcome("rename into itself", rename("r1", "r1/z"));
        print_outcome("rename of a missing file", rename("nothing", "z"));
        print_outcome("rename to a missing directory", rename("a", "nothing/z"));
        print_outcome("rename of .", rename(".", "z"));
        print_outcome("rename of a file with a trailing slash", rename("a/", "z"));
        print_outcome("rename of a directory with trailing slashes", rename("r2/", "r3/"));
        print_outcome("rename to itself", rename("a", "a"));
        print_outcome("rename, bad pointers", rename(bad_pointer, bad_pointer));
        print_outcome("NOREPLACE over a file", renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE));
        print_outcome("NOREPLACE", renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE));
        print_outcome("EXCHANGE", renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE));
        print_content("b after EXCHANGE", "b");
        print_content("c after EXCHANGE", "c");
        print_outcome("EXCHANGE of a file and a directory", renameat2(AT_FDCWD, "b", AT_FDCWD, "r3", RENAME_EXCHANGE));
        print_mode("b is a directory", "b");
        print_outcome("EXCHANGE with a missing file", renameat2(AT_FDCWD, "b", AT_FDCWD, "nothing", RENAME_EXCHANGE));
        print_outcome("renameat2, bad flags", renameat2(AT_FDCWD, "b", AT_FDCWD, "c", 0x100));
        print_outcome("renameat2, both flags",
                      renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE | RENAME_NOREPLACE));
        print_content("a file in the exchanged directory", "b/y");
        print_outcome("link", link("c", "c2"));
        print_mode("two links", "c");
        print_outcome("rename of one link over the other", rename("c", "c2"));
        print_mode("two links after that rename", "c2");
        print_outcome("unlink one", unlink("c2"));
        print_mode("one link", "c");
        print_outcome("link of a symlink", link("to-f", "to-f2"));
        print_mode("a hard link of a symlink", "to-f2");
        print_outcome("linkat AT_SYMLINK_FOLLOW", linkat(AT_FDCWD, "to-f", AT_FDCWD, "f2", AT_SYMLINK_FOLLOW));
        print_mode("a hard link of its target", "f2");
        mkdir("many", 0755);
        print_mode("links of a directory", "many");
        mkdir("many/sub", 0755);
        print_mode("links with a subdirectory", "many");
}

static void check_times_and_modes(void)
{
        struct stat before, after;
        create_file("t", "t");
        symlink("t", "to-t") < 0 ? print_outcome("symlink", -1) : (void)0;
        const struct timespec old[] = { { .tv_sec = 1000 }, { .tv_sec = 2000 } };
        const struct timespec half[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 3000, .tv_nsec = 5 } };
        const struct timespec none[] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
        const struct timespec current[] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
        const struct timespec wrong[] = { { .tv_nsec = 2000000000 }, { .tv_sec = 1 } };
        print_outcome("utimensat", utimensat(AT_FDCWD, "t", old, 0));
        stat("t", &after);
        print_text("times", "%ld %ld", (long)after.st_atime, (long)after.st_mtime);
        print_outcome("UTIME_OMIT", utimensat(AT_FDCWD, "t", half, 0));
        stat("t", &after);
        print_text("times, one omitted", "%ld %ld.%ld", (long)after.st_atime, (long)after.st_mtime,
                   after.st_mtim.tv_nsec);
        print_outcome("UTIME_OMIT twice", utimensat(AT_FDCWD, "t", none, 0));
        print_outcome("wrong times", utimensat(AT_FDCWD, "t", wrong, 0));
        print_outcome("times at a bad pointer", syscall(SYS_utimensat, AT_FDCWD, "t", bad_pointer, 0));
        print_outcome("NULL times", utimensat(AT_FDCWD, "t", NULL, 0));
        stat("t", &after);
        print_text("NULL times are the present", "%d", after.st_mtime > 1000000);
        print_outcome("UTIME_NOW", utimensat(AT_FDCWD, "t", current, 0));
        stat("t", &before);
        print_outcome("utimensat of a link", utimensat(AT_FDCWD, "to-t", old, AT_SYMLINK_NOFOLLOW));
        stat("t", &after);
        print_text("times of its target are unchanged", "%d", before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
        lstat("to-t", &after);
        print_text("times of the link are set", "%ld", (long)after.st_mtime);
        int fd = open("t", O_RDWR);
        print_outcome("futimens", futimens(fd, old));
        print_outcome("utimensat of a descriptor, NULL path", syscall(SYS_utimensat, fd, NULL, old, 0));
        print_outcome("fchmod", fchmod(fd, 0640));
        print_mode("fchmod mode", "t");
        print_outcome("fchown", fchown(fd, geteuid(), getegid()));
        print_outcome("chown that changes nothing", chown("t", (uid_t)-1, (gid_t)-1));
        print_outcome("lchown of a link", lchown("to-t", geteuid(), getegid()));
        print_outcome("fsetxattr", fsetxattr(fd, "user.x", "value", 5, 0));
        print_outcome("setxattr XATTR_CREATE", setxattr("t", "user.x", "other", 5, XATTR_CREATE));
        print_outcome("setxattr XATTR_REPLACE", setxattr("to-t", "user.x", "longer", 6, XATTR_REPLACE));
        char value[16];
        print_result("getxattr", getxattr("t", "user.x", value, sizeof value));
        print_outcome("fremovexattr", fremovexattr(fd, "user.x"));
        print_outcome("removexattr", removexattr("t", "user.x"));
        close(fd);
        print_outcome("chmod", chmod("to-t", 0600));
        print_mode("chmod through a link", "t");
        print_outcome("chmod sticky", chmod("d", 01755));
        print_mode("sticky", "d");
        print_outcome("chmod 000", chmod("unreadable", 0));
        print_mode("mode 000", "unreadable");
        print_outcome("chmod back", chmod("unreadable", 0600));
        print_outcome("fchmodat", fchmodat(AT_FDCWD, "t", 0604, 0));
        print_mode("fchmodat mode", "t");
}

static void check_descriptors(void)
{
        create_file("numbers", "0123456789");
        int first = open("numbers", O_RDONLY), second = open("numbers", O_WRONLY),
            third = open("made", O_CREAT | O_RDWR, 0600);
        print_text("descriptors", "%d %d", second - first, third - first);
        close(second);
        print_text("the lowest free descriptor", "%d", open("made2", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) - first);
        print_result("O_CLOEXEC is set", fcntl(second, F_GETFD));
        print_result("O_CLOEXEC is not set", fcntl(third, F_GETFD));
        int flags = fcntl(third, F_GETFL);
        print_text("status flags", "%o",
                   (unsigned)flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DIRECT | O_NOATIME));
        int appending = open("numbers", O_WRONLY | O_APPEND | O_NONBLOCK | O_SYNC);
        print_text("status flags of appending", "%o",
                   (unsigned)fcntl(appending, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC));
        print_result("append", write(appending, "X", 1));
        print_content("appended", "numbers");
        print_result("offset at the start", lseek(first, 0, SEEK_CUR));
        print_result("flock", flock(third, LOCK_EX | LOCK_NB));
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        print_result("fcntl lock", fcntl(third, F_SETLK, &lock));
        print_result("lease", fcntl(third, F_GETLEASE));
        print_result("ftruncate", ftruncate(third, 4096));
        char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, third, 0);
        print_outcome("mmap", memory == MAP_FAILED ? -1 : 0);
        if (memory != MAP_FAILED)
                memory[0] = 'm';
        char link[64], target[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", third);
        ssize_t size = readlink(link, target, sizeof target);
        print_text("path of the descriptor", "%.*s", size > 4 ? 5 : 0, size > 4 ? target + size - 5 : "");
        print_outcome("O_TRUNC", open("numbers", O_WRONLY | O_TRUNC));
        print_content("emptied", "numbers");
        for (int fd = first; fd < first + 10; fd++)
                close(fd);
        struct rlimit before, few;
        getrlimit(RLIMIT_NOFILE, &before);
        few = (struct rlimit){ (rlim_t)first, before.rlim_max };
        setrlimit(RLIMIT_NOFILE, &few);
        print_outcome("EMFILE", open("too-many", O_CREAT | O_WRONLY, 0600));
        print_outcome("EMFILE for reading", open("f", O_RDONLY));
        setrlimit(RLIMIT_NOFILE, &before);
        print_outcome("the file that failed with EMFILE", access("too-many", F_OK));
        unlink("too-many");
}

static void check_tmpfile(void)
{
        char path[64], text[8] = { 0 };
        int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);
        print_outcome("O_TMPFILE", fd);
        print_result("write to O_TMPFILE", write(fd, "named", 5));
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        print_outcome("linkat by proc", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
        print_outcome("linkat by proc again", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
        print_mode("mode of the linked file", "named");
        print_content("content of the linked file", "named");
        print_result("read after linkat", pread(fd, text, 5, 0));
        close(fd);
        fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        print_outcome("O_TMPFILE|O_EXCL cannot be named",
                      linkat(AT_FDCWD, path, AT_FDCWD, "named2", AT_SYMLINK_FOLLOW));
        close(fd);
        print_outcome("O_TMPFILE for reading", open(".", O_TMPFILE | O_RDONLY, 0600));
        print_outcome("O_TMPFILE in a file", open("f", O_TMPFILE | O_RDWR, 0600));
}

static void print_openat2(const char *check, int at, const char *path, struct open_how how)
{
        int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
        /* ENOSYS counts as success, because libraries then fall back to openat(). */
        print_text(check, "%s", fd >= 0 ? "ok" : errno == ENOSYS ? "ok" : strerrorname_np(errno));
        if (fd < 0 && errno == ENOSYS && (how.flags & O_CREAT))
                fd = openat(at, path, (int)how.flags, (mode_t)how.mode);
        if (fd >= 0)
                close(fd);
}

static void check_openat2(void)
{
        print_openat2("openat2 for reading", AT_FDCWD, "f", (struct open_how){ .flags = O_RDONLY });
        print_openat2("openat2 O_CREAT", AT_FDCWD, "two",
                      (struct open_how){ .flags = O_CREAT | O_WRONLY, .mode = 0640 });
        print_mode("openat2 mode", "two");
        int here = open("d", O_PATH | O_DIRECTORY);
        print_openat2("openat2 beneath", here, "three",
                      (struct open_how){ .flags = O_CREAT | O_WRONLY, .mode = 0600, .resolve = RESOLVE_BENEATH });
        print_mode("openat2 beneath, mode", "d/three");
        close(here);
}

void check_files(void)
{
        check_umask();
        check_open_errors();
        check_other_errors();
        check_renames();
        check_times_and_modes();
        check_descriptors();
        check_tmpfile();
        check_openat2();
}
