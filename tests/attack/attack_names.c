/*
 * Attacks that create a file that a rule denies, by every system call that can create a name. The file does not exist
 * at the start, so no mount can cover it. Each function gets the path that must not appear.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

enum { PATH_BYTES = 4096 };

static const char own_file[] = "mine-of-attack";

/* Creates a file that is then renamed or linked to the denied name. */
static int create_own_file(void)
{
        return write_line(open(own_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0700));
}

/* Opens the parent directory of path; *name is the last part of path. */
static int open_parent(const char *path, const char **name)
{
        char parent[PATH_BYTES];
        const char *slash = strrchr(path, '/');
        *name = slash ? slash + 1 : path;
        snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
        return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int make_file(const char *path)
{
        return write_line(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
}

static int by_open(char **a)
{
        return make_file(a[0]);
}

/* O_CREAT creates the file even with O_RDONLY. */
static int by_open_for_reading(char **a)
{
        return outcome(open(a[0], O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
}

static int by_creat(char **a)
{
        return write_line(creat(a[0], 0600));
}

static int by_raw_open(char **a)
{
#ifdef SYS_open
        return write_line((int)syscall(SYS_open, a[0], O_CREAT | O_WRONLY, 0600));
#else
        return by_open(a);
#endif
}

static int by_raw_creat(char **a)
{
#ifdef SYS_creat
        return write_line((int)syscall(SYS_creat, a[0], 0600));
#else
        return by_open(a);
#endif
}

static int by_raw_mkdir(char **a)
{
#ifdef SYS_mkdir
        return outcome(syscall(SYS_mkdir, a[0], 0700));
#else
        return outcome(mkdir(a[0], 0700));
#endif
}

/* The kernel ignores the upper half of the registers for a descriptor and for flags. */
static int by_open_with_high_bits(char **a)
{
        long dirty = (long)0x7ead0000ffffff9cUL;
        return write_line((int)syscall(SYS_openat, dirty, a[0], 0x7ead00000000L | O_CREAT | O_WRONLY, 0600));
}

static int by_openat(char **a)
{
        const char *name;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : write_line(openat(parent, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static int by_openat2_with(const char *path, unsigned long resolve)
{
        struct open_how how = { .flags = O_CREAT | O_WRONLY | O_CLOEXEC, .mode = 0600, .resolve = resolve };
        const char *name;
        int parent = open_parent(path, &name);
        return parent < 0 ? -errno : write_line((int)syscall(SYS_openat2, parent, name, &how, sizeof how));
}

static int by_openat2(char **a)
{
        return by_openat2_with(a[0], 0);
}

static int by_openat2_beneath(char **a)
{
        return by_openat2_with(a[0], RESOLVE_BENEATH);
}

/* With RESOLVE_IN_ROOT the directory is the root, so "/../name" is a name in it. */
static int by_openat2_in_root(char **a)
{
        struct open_how how = { .flags = O_CREAT | O_WRONLY | O_CLOEXEC, .mode = 0600, .resolve = RESOLVE_IN_ROOT };
        char path[PATH_BYTES];
        const char *name;
        int parent = open_parent(a[0], &name);
        snprintf(path, sizeof path, "/../%s", name);
        return parent < 0 ? -errno : write_line((int)syscall(SYS_openat2, parent, path, &how, sizeof how));
}

static int by_mkdirat(char **a)
{
        const char *name;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : outcome(mkdirat(parent, name, 0700));
}

static int by_mknodat(char **a)
{
        const char *name;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : outcome(mknodat(parent, name, S_IFIFO | 0600, 0));
}

static int by_mknod_socket(char **a)
{
        return outcome(mknod(a[0], S_IFSOCK | 0600, 0));
}

static int by_symlinkat(char **a)
{
        const char *name;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : outcome(symlinkat("anywhere", parent, name));
}

static int by_link(char **a)
{
        if (create_own_file() < 0)
                return CANNOT_TRY;
        return outcome(link(own_file, a[0]));
}

static int by_linkat(char **a)
{
        const char *name;
        if (create_own_file() < 0)
                return CANNOT_TRY;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : outcome(linkat(AT_FDCWD, own_file, parent, name, 0));
}

static int by_link_of_symlink(char **a)
{
        if (symlink("anywhere", "symlink-of-attack") < 0)
                return CANNOT_TRY;
        return outcome(link("symlink-of-attack", a[0]));
}

static int by_rename(char **a)
{
        if (create_own_file() < 0)
                return CANNOT_TRY;
        return outcome(rename(own_file, a[0]));
}

static int by_renameat(char **a)
{
        const char *name;
        if (create_own_file() < 0)
                return CANNOT_TRY;
        int parent = open_parent(a[0], &name);
        return parent < 0 ? -errno : outcome(renameat(AT_FDCWD, own_file, parent, name));
}

static int by_rename_noreplace(char **a)
{
        if (create_own_file() < 0)
                return CANNOT_TRY;
        return outcome(renameat2(AT_FDCWD, own_file, AT_FDCWD, a[0], RENAME_NOREPLACE));
}

static int by_rename_of_directory(char **a)
{
        if (mkdir("directory-of-attack", 0700) < 0)
                return CANNOT_TRY;
        return outcome(rename("directory-of-attack", a[0]));
}

static int by_rename_of_symlink(char **a)
{
        if (symlink("anywhere", "symlink-of-attack") < 0)
                return CANNOT_TRY;
        return outcome(rename("symlink-of-attack", a[0]));
}

static int bind_to(const char *path, int kind, int terminated)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        size_t size = offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path) + (size_t)terminated;
        int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);
        return outcome(fd < 0 ? fd : bind(fd, (struct sockaddr *)&address, (socklen_t)size));
}

static int by_bind(char **a)
{
        return bind_to(a[0], SOCK_STREAM, 1);
}

static int by_bind_of_datagrams(char **a)
{
        return bind_to(a[0], SOCK_DGRAM, 1);
}

/* The address has no terminating zero byte; its length ends the path. */
static int by_bind_unterminated(char **a)
{
        return bind_to(a[0], SOCK_SEQPACKET, 0);
}

static int by_linking_tmpfile(char **a)
{
        char path[64];
        int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return CANNOT_TRY;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return outcome(linkat(AT_FDCWD, path, AT_FDCWD, a[0], AT_SYMLINK_FOLLOW));
}

/* Without CAP_DAC_READ_SEARCH this works from Linux 6.10 on. */
static int by_linking_tmpfile_descriptor(char **a)
{
        int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return CANNOT_TRY;
        int r = outcome(linkat(fd, "", AT_FDCWD, a[0], AT_EMPTY_PATH));
        return r == -ENOENT ? CANNOT_TRY : r;
}

static int make_parents(const char *path)
{
        char partial[PATH_BYTES];
        snprintf(partial, sizeof partial, "%s", path);
        for (char *slash = strchr(partial + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(partial, 0700) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return 0;
}

static int by_making_parents(char **a)
{
        int r = make_parents(a[0]);
        return r < 0 ? r : by_open(a);
}

/*
 * Creates the last a[1] components of the path a[0] in another directory, and moves that directory into place. For
 * "dir/sub/name" and "2", creates tree-of-attack/sub/name and renames tree-of-attack to dir, or exchanges it for dir if
 * that exists.
 */
static int by_moving_tree(char **a)
{
        char top[PATH_BYTES], prepared[PATH_BYTES + 32];
        snprintf(top, sizeof top, "%s", a[0]);
        const char *rest = NULL;
        for (long names = parse_number(a[1]); names > 0; names--) {
                char *slash = strrchr(top, '/');
                if (!slash)
                        return CANNOT_TRY;
                *slash = '\0';
                rest = a[0] + (slash - top) + 1;
        }
        snprintf(prepared, sizeof prepared, "tree-of-attack/%s", rest ? rest : "");
        if (make_parents(prepared) < 0 || make_file(prepared) < 0)
                return CANNOT_TRY;
        make_parents(top);
        if (renameat2(AT_FDCWD, "tree-of-attack", AT_FDCWD, top, RENAME_EXCHANGE) == 0)
                return 0;
        return errno == ENOENT ? outcome(rename("tree-of-attack", top)) : -errno;
}

/* Two symlinks lead to the parent directory. A name in the working directory is reached through both of them. */
static int by_symlinked_parent(char **a)
{
        char path[PATH_BYTES], parent[PATH_BYTES];
        const char *slash = strrchr(a[0], '/'), *name = slash ? slash + 1 : a[0];
        snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - a[0]) : 1, slash ? a[0] : ".");
        if (symlink(parent, "way-of-attack") < 0 || symlink("way-of-attack/./way-of-attack", "more-of-attack") < 0)
                return CANNOT_TRY;
        snprintf(path, sizeof path, "%s/%s", slash ? "way-of-attack" : "more-of-attack", name);
        return make_file(path);
}

/* open() with O_CREAT follows a dangling symlink and creates its target. */
static int by_dangling_symlink(char **a)
{
        if (symlink(a[0], "symlink-of-attack") < 0)
                return CANNOT_TRY;
        return make_file("symlink-of-attack");
}

static int by_two_dangling_symlinks(char **a)
{
        if (symlink(a[0], "symlink-of-attack") < 0 || symlink("./symlink-of-attack", "second-of-attack") < 0)
                return CANNOT_TRY;
        return write_line(creat("second-of-attack", 0600));
}

static int by_descriptor_path(const char *fd_directory, const char *path)
{
        char spelled[PATH_BYTES];
        const char *name;
        int parent = open_parent(path, &name);
        if (parent < 0)
                return -errno;
        snprintf(spelled, sizeof spelled, "%s/%d/%s", fd_directory, parent, name);
        return make_file(spelled);
}

static int by_proc_descriptor(char **a)
{
        return by_descriptor_path("/proc/self/fd", a[0]);
}

static int by_dev_descriptor(char **a)
{
        return by_descriptor_path("/dev/fd", a[0]);
}

static int by_thread_descriptor(char **a)
{
        return by_descriptor_path("/proc/thread-self/fd", a[0]);
}

/* The path is relative to an O_PATH descriptor of the working directory. */
static int by_path_descriptor(char **a)
{
        int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return here < 0 ? -errno : write_line(openat(here, a[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* Opens a directory, renames it to a[0], and creates a[1] in it through the older descriptor. */
static int in_moved_directory(char **a)
{
        if (mkdir("tree-of-attack", 0700) < 0)
                return CANNOT_TRY;
        int directory = open("tree-of-attack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0 || make_parents(a[0]) < 0)
                return CANNOT_TRY;
        if (rename("tree-of-attack", a[0]) < 0)
                return -errno;
        return write_line(openat(directory, a[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* The same with the working directory instead of a descriptor. */
static int in_moved_working_directory(char **a)
{
        char target[PATH_BYTES];
        if (mkdir("tree-of-attack", 0700) < 0 || make_parents(a[0]) < 0 || chdir("tree-of-attack") < 0)
                return CANNOT_TRY;
        snprintf(target, sizeof target, "../%s", a[0]);
        if (rename("../tree-of-attack", target) < 0)
                return -errno;
        return by_open(a + 1);
}

static int by_chdir(char **a)
{
        char parent[PATH_BYTES];
        char *slash = strrchr(a[0], '/');
        if (slash) {
                snprintf(parent, sizeof parent, "%.*s", (int)(slash - a[0]) + 1, a[0]);
                if (chdir(parent) < 0)
                        return -errno;
        }
        return make_file(slash ? slash + 1 : a[0]);
}

static int wait_for(pid_t child)
{
        int status;
        if (child < 0 || waitpid(child, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int by_grandchild(char **a)
{
        pid_t child = fork();
        if (child == 0) {
                pid_t grandchild = fork();
                _exit(grandchild == 0 ? -by_open(a) : -wait_for(grandchild));
        }
        return wait_for(child);
}

/* posix_spawn() opens the file in the child, which it creates like vfork(). */
static int by_posix_spawn(char **a)
{
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 1, a[0], O_CREAT | O_WRONLY, 0600);
        pid_t child;
        char *command[] = { a[0], NULL }, *environment[] = { NULL };
        int r = posix_spawn(&child, "/bin/true", &actions, NULL, command, environment);
        return r ? -r : wait_for(child);
}

struct thread_arguments {
        const char *parent, *name;
        int result;
};

static void *create_in_own_directory(void *argument)
{
        struct thread_arguments *own = argument;
        if (unshare(CLONE_FS) < 0 || chdir(own->parent) < 0)
                own->result = -errno;
        else
                own->result = make_file(own->name);
        return NULL;
}

/* After unshare() a thread has its own working directory, where its relative paths start. */
static int by_thread_with_its_own_directory(char **a)
{
        char parent[PATH_BYTES];
        const char *slash = strrchr(a[0], '/');
        snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - a[0]) : 1, slash ? a[0] : ".");
        struct thread_arguments own = { realpath(parent, NULL), slash ? slash + 1 : a[0], -ECHILD };
        if (!own.parent || mkdir("directory-of-attack", 0700) < 0 || chdir("directory-of-attack") < 0)
                return CANNOT_TRY;
        pthread_t thread;
        if (pthread_create(&thread, NULL, create_in_own_directory, &own) != 0)
                return CANNOT_TRY;
        pthread_join(thread, NULL);
        return own.result;
}

/* The path ends at the end of the mapping; the next page is not mapped. */
static int by_path_at_page_end(char **a)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE), size = strlen(a[0]) + 1;
        char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || munmap(memory + page, page) < 0)
                return CANNOT_TRY;
        memcpy(memory + page - size, a[0], size);
        return make_file(memory + page - size);
}

/* The path is in a shared mapping whose page has not been touched. */
static int by_path_in_shared_memory(char **a)
{
        int fd = memfd_create("path", MFD_CLOEXEC);
        if (fd < 0 || write(fd, a[0], strlen(a[0]) + 1) < 0)
                return CANNOT_TRY;
        char *memory = mmap(NULL, PATH_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        return memory == MAP_FAILED ? CANNOT_TRY : make_file(memory);
}

/* The path has the maximum length, 4,095 bytes, or one byte less. */
static int by_longest_path(char **a)
{
        static char path[PATH_BYTES];
        size_t name_length = strlen(a[0]), prefix_length = sizeof path - 1 - name_length;
        for (size_t i = 0; i + 1 < prefix_length; i += 2)
                memcpy(path + i, "./", 2);
        memcpy(path + prefix_length / 2 * 2, a[0], name_length + 1);
        return make_file(path);
}

/* From a working directory whose own path is longer than a path may be, the path leads up again with "..". */
static int from_deep_directory(char **a)
{
        static char up[PATH_BYTES];
        char name[201] = { 0 };
        memset(name, 'd', 200);
        if (mkdir("deep-of-attack", 0700) < 0 || chdir("deep-of-attack") < 0)
                return CANNOT_TRY;
        size_t used = 3;
        memcpy(up, "../", 3);
        for (int i = 0; i < 30; i++, used += 3) {
                if (mkdir(name, 0700) < 0 || chdir(name) < 0)
                        return CANNOT_TRY;
                memcpy(up + used, "../", 3);
        }
        snprintf(up + used, sizeof up - used, "%s", a[0]);
        return make_file(up);
}

/* The working directory was removed, so ".." does not work; a descriptor of its former parent does. */
static int from_removed_directory(char **a)
{
        int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (here < 0 || mkdir("gone-of-attack", 0700) < 0 || chdir("gone-of-attack") < 0 ||
            rmdir("../gone-of-attack") < 0)
                return CANNOT_TRY;
        return write_line(openat(here, a[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* With descriptors 0, 1 and 2 closed, open() returns 0. */
static int with_streams_closed(char **a)
{
        int saved_output = dup(1);
        close(0);
        close(1);
        close(2);
        int r = by_open(a);
        dup2(saved_output, 1);
        return r;
}

static int run_script(char **a)
{
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
                execl("/bin/sh", "sh", "-c", a[0], (char *)NULL);
                _exit(127);
        }
        return wait_for(child) ? -EACCES : 0;
}

const struct attack name_attacks[] = {
        { "by_open", 1, by_open },
        { "by_open_for_reading", 1, by_open_for_reading },
        { "by_creat", 1, by_creat },
        { "by_raw_open", 1, by_raw_open },
        { "by_raw_creat", 1, by_raw_creat },
        { "by_raw_mkdir", 1, by_raw_mkdir },
        { "by_open_with_high_bits", 1, by_open_with_high_bits },
        { "by_openat", 1, by_openat },
        { "by_openat2", 1, by_openat2 },
        { "by_openat2_beneath", 1, by_openat2_beneath },
        { "by_openat2_in_root", 1, by_openat2_in_root },
        { "by_mkdirat", 1, by_mkdirat },
        { "by_mknodat", 1, by_mknodat },
        { "by_mknod_socket", 1, by_mknod_socket },
        { "by_symlinkat", 1, by_symlinkat },
        { "by_link", 1, by_link },
        { "by_linkat", 1, by_linkat },
        { "by_link_of_symlink", 1, by_link_of_symlink },
        { "by_rename", 1, by_rename },
        { "by_renameat", 1, by_renameat },
        { "by_rename_noreplace", 1, by_rename_noreplace },
        { "by_rename_of_directory", 1, by_rename_of_directory },
        { "by_rename_of_symlink", 1, by_rename_of_symlink },
        { "by_bind", 1, by_bind },
        { "by_bind_of_datagrams", 1, by_bind_of_datagrams },
        { "by_bind_unterminated", 1, by_bind_unterminated },
        { "by_linking_tmpfile", 1, by_linking_tmpfile },
        { "by_linking_tmpfile_descriptor", 1, by_linking_tmpfile_descriptor },
        { "by_making_parents", 1, by_making_parents },
        { "by_moving_tree", 2, by_moving_tree },
        { "by_symlinked_parent", 1, by_symlinked_parent },
        { "by_dangling_symlink", 1, by_dangling_symlink },
        { "by_two_dangling_symlinks", 1, by_two_dangling_symlinks },
        { "by_proc_descriptor", 1, by_proc_descriptor },
        { "by_dev_descriptor", 1, by_dev_descriptor },
        { "by_thread_descriptor", 1, by_thread_descriptor },
        { "by_path_descriptor", 1, by_path_descriptor },
        { "in_moved_directory", 2, in_moved_directory },
        { "in_moved_working_directory", 2, in_moved_working_directory },
        { "by_chdir", 1, by_chdir },
        { "by_grandchild", 1, by_grandchild },
        { "by_posix_spawn", 1, by_posix_spawn },
        { "by_thread_with_its_own_directory", 1, by_thread_with_its_own_directory },
        { "by_path_at_page_end", 1, by_path_at_page_end },
        { "by_path_in_shared_memory", 1, by_path_in_shared_memory },
        { "by_longest_path", 1, by_longest_path },
        { "from_deep_directory", 1, from_deep_directory },
        { "from_removed_directory", 1, from_removed_directory },
        { "with_streams_closed", 1, with_streams_closed },
        { "script", 1, run_script },
        { 0 },
};
