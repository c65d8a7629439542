/*
 * Performs operations on files, one after the other, for model.py: in a box, and outside on a copy of the tree.
 *
 *   player [DIRECTORY]    with a directory: starts there, and without capabilities, as in a box
 *
 * A request is a struct request and two strings. The answer is an errno, a length, and the output of the operation: the
 * beginning of a file, the names in a directory. No operation blocks: FIFOs are opened with O_NONBLOCK.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 65536, READ_BYTES = 256 };

struct request {
        char operation;
        uint32_t flags, mode;
        uint16_t lengths[2];
} __attribute__((packed));

struct probe_answer {
        uint32_t error, length;
};

static struct {
        char bytes[OUTPUT_BYTES];
        size_t length;
} output;

static int error_of(long r)
{
        return r < 0 ? errno : 0;
}

static void add_output(const char *bytes, size_t length)
{
        if (length > sizeof output.bytes - output.length)
                length = sizeof output.bytes - output.length;
        memcpy(output.bytes + output.length, bytes, length);
        output.length += length;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_directory(int fd)
{
        enum { NAMES_MAX = 1024 };
        char *names[NAMES_MAX];
        size_t count = 0;
        DIR *dir = fdopendir(fd);
        if (!dir)
                return errno;
        for (struct dirent *d; count < NAMES_MAX && (d = readdir(dir));)
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                        names[count++] = strdup(d->d_name);
        (void)closedir(dir);
        qsort(names, count, sizeof *names, compare_names);
        for (size_t i = 0; i < count; i++) {
                add_output(names[i], strlen(names[i]) + 1);
                free(names[i]);
        }
        return 0;
}

/* Opens the file; lists it if it is a directory, otherwise reads or writes `text` as the flags allow. */
static int open_file(const char *path, const struct request *q, const char *text)
{
        struct stat st;
        int flags = (int)q->flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, access = flags & O_ACCMODE;
        int fd = open(path, flags, q->mode);
        if (fd < 0 || fstat(fd, &st) < 0)
                return errno;
        if (S_ISDIR(st.st_mode))
                return list_directory(fd);
        if (S_ISREG(st.st_mode) && access != O_WRONLY) {
                char bytes[READ_BYTES];
                ssize_t n = read(fd, bytes, sizeof bytes);
                add_output(bytes, n > 0 ? (size_t)n : 0);
        }
        int r = 0;
        if (S_ISREG(st.st_mode) && access != O_RDONLY && *text)
                r = error_of(pwrite(fd, text, strlen(text), 0));
        (void)close(fd);
        return r;
}

static int bind_socket(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof address.sun_path)
                return ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = fd < 0 ? errno : error_of(bind(fd, (const struct sockaddr *)&address, sizeof address));
        (void)close(fd);
        return r;
}

static int execute(const char *path)
{
        static volatile int failure;
        char *const arguments[] = { (char *)path, NULL }, *const nothing[] = { NULL };
        int status = 0;
        failure = 0;
        pid_t pid = vfork();
        if (pid == 0) {
                (void)execve(path, arguments, nothing);
                failure = errno;
                _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                return errno;
        if (failure)
                return failure;
        char exit_status = (char)WEXITSTATUS(status);
        add_output(&exit_status, 1);
        return 0;
}

static int set_times(const char *path, const struct request *q)
{
        const struct timespec times[2] = { { .tv_sec = q->mode }, { .tv_sec = q->mode } };
        return error_of(utimensat(AT_FDCWD, path, times, (int)q->flags));
}

/* Makes a file without a name in the directory, and links it to the path. */
static int link_unnamed(const char *directory, const char *path)
{
        char link[32];
        int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
        if (fd < 0)
                return errno;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        int r = error_of(linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
        (void)close(fd);
        return r;
}

/* Prints the mount ID of a path and of its directory, and whether each is the root of its mount. */
static int print_mount_ids(const char *path, const char *directory)
{
        const char *const paths[] = { path, directory };
        for (size_t i = 0; i < 2; i++) {
                struct statx st;
                char text[64];
                int r = statx(AT_FDCWD, paths[i], i == 0 ? AT_SYMLINK_NOFOLLOW : 0, STATX_TYPE | STATX_MNT_ID, &st);
                int n = r < 0 ? snprintf(text, sizeof text, "- 0\n")
                              : snprintf(text, sizeof text, "%llu %d\n", (unsigned long long)st.stx_mnt_id,
                                         (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
                add_output(text, (size_t)n);
        }
        return 0;
}

static int print_current_directory(void)
{
        char path[PATH_MAX];
        /* The system call prints "(unreachable)" for a directory outside the root; the library would search for it. */
        if (syscall(SYS_getcwd, path, sizeof path) < 0)
                return errno;
        add_output(path, strlen(path));
        return 0;
}

static int print_mountinfo(void)
{
        int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        ssize_t n;
        char bytes[4096];
        if (fd < 0)
                return errno;
        while ((n = read(fd, bytes, sizeof bytes)) > 0)
                add_output(bytes, (size_t)n);
        (void)close(fd);
        return 0;
}

static int perform(const struct request *q, const char *one, const char *two)
{
        switch (q->operation) {
        case 'o': return open_file(one, q, two);
        case 'm': return error_of(mkdir(one, q->mode));
        case 'n': return error_of(mknod(one, q->mode, 0));
        case 's': return error_of(symlink(two, one));
        case 'l': return error_of(linkat(AT_FDCWD, one, AT_FDCWD, two, (int)q->flags));
        case 'p': return link_unnamed(one, two);
        case 'b': return bind_socket(one);
        case 'r': return error_of(renameat2(AT_FDCWD, one, AT_FDCWD, two, q->flags));
        case 'u': return error_of(unlink(one));
        case 'd': return error_of(rmdir(one));
        case 'c': return error_of(chmod(one, q->mode));
        case 't': return set_times(one, q);
        case 'T': return error_of(truncate(one, (off_t)q->mode));
        case 'x': return execute(one);
        case 'h': return error_of(chdir(one));
        case 'w': return print_current_directory();
        case 'k': return error_of((long)umask((mode_t)q->mode));
        case 'S': return print_mount_ids(one, two);
        case 'M': return print_mountinfo();
        default: return ENOSYS;
        }
}

static int drop_capabilities(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
        for (unsigned long c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
                ;
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : (int)syscall(SYS_capset, &header, none);
}

static int read_exactly(void *buffer, size_t size)
{
        for (size_t done = 0; done < size;) {
                ssize_t n = read(STDIN_FILENO, (char *)buffer + done, size - done);
                if (n <= 0)
                        return -1;
                done += (size_t)n;
        }
        return 0;
}

int main(int argc, char **argv)
{
        static char texts[2][UINT16_MAX + 1];
        static char reply[sizeof(struct probe_answer) + OUTPUT_BYTES];
        struct request q;
        if (argc > 1 && (drop_capabilities() < 0 || chdir(argv[1]) < 0)) {
                perror("player");
                return 1;
        }
        (void)umask(022);
        while (read_exactly(&q, sizeof q) == 0) {
                for (size_t i = 0; i < 2; i++) {
                        if (read_exactly(texts[i], q.lengths[i]) < 0)
                                return 1;
                        texts[i][q.lengths[i]] = '\0';
                }
                output.length = 0;
                struct probe_answer a = { .error = (uint32_t)perform(&q, texts[0], texts[1]) };
                a.length = (uint32_t)output.length;
                memcpy(reply, &a, sizeof a);
                memcpy(reply + sizeof a, output.bytes, output.length);
                if (write(STDOUT_FILENO, reply, sizeof a + output.length) != (ssize_t)(sizeof a + output.length))
                        return 1;
        }
        return 0;
}
