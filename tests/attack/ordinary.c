/*
 * ordinary
 *
 * Makes ordinary calls in the current directory and prints one line for each: "name: result". Its output has to be the
 * same outside and inside of a box: a program must not notice that a guard performs its calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ordinary.h"

enum { FILES = 2000, THREADS = 8, FILES_PER_THREAD = 200, EXECUTIONS = 500 };

void print_text(const char *check, const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        printf("%s: ", check);
        vprintf(format, arguments);
        putchar('\n');
        fflush(stdout);
        va_end(arguments);
}

void print_result(const char *check, long result)
{
        if (result < 0)
                print_text(check, "%s", strerrorname_np(errno));
        else
                print_text(check, "%ld", result);
}

void print_outcome(const char *check, long result)
{
        print_text(check, "%s", result < 0 ? strerrorname_np(errno) : "ok");
}

/* Runs the function in a child and prints its exit status, or the signal that killed it. */
static void run_in_child(const char *check, int (*run)(void))
{
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
                _exit(run());
        if (child < 0 || waitpid(child, &status, 0) < 0)
                print_outcome(check, -1);
        else if (WIFSIGNALED(status))
                print_text(check, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
        else
                print_text(check, "%d", WEXITSTATUS(status));
}

static int exceed_size(void)
{
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, 100 });
        signal(SIGXFSZ, SIG_IGN);
        static char text[200];
        int fd = open("limited", O_CREAT | O_WRONLY, 0600);
        if (write(fd, text, sizeof text) != 100 || write(fd, text, 1) >= 0)
                return 1;
        return errno == EFBIG && truncate("limited", 300) < 0 && errno == EFBIG ? 0 : 2;
}

static int exceed_size_and_die(void)
{
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, 100 });
        signal(SIGXFSZ, SIG_DFL);
        return truncate("limited", 300) < 0 ? 1 : 0;
}

static int work_undumpable(void)
{
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return 1;
        int fd = open("undumpable", O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || write(fd, "x", 1) != 1)
                return 2;
        if (mkdir("undumpable-directory", 0700) < 0 || rename("undumpable", "undumpable-directory/x") < 0)
                return 3;
        return unlink("undumpable-directory/x") < 0 || rmdir("undumpable-directory") < 0 ? 4 : 0;
}

/* The reader and the writer each block in open() until the other one opens the FIFO. */
static void check_fifo(void)
{
        char text[16] = { 0 };
        print_outcome("mkfifo", mkfifo("fifo", 0600));
        print_outcome("a FIFO without a reader, O_NONBLOCK", open("fifo", O_WRONLY | O_NONBLOCK));
        int ready = open("fifo", O_RDONLY | O_NONBLOCK);
        print_outcome("a FIFO for reading, O_NONBLOCK", ready);
        close(ready);
        for (int turn = 0; turn < 2; turn++) {
                fflush(stdout);
                pid_t child = fork();
                if (child == 0) {
                        usleep(turn ? 0 : 50000);
                        int fd = open("fifo", O_WRONLY);
                        _exit(write(fd, "through", 7) != 7);
                }
                usleep(turn ? 50000 : 0);
                int fd = open("fifo", O_RDONLY);
                print_result("read from a FIFO", read(fd, text, sizeof text));
                close(fd);
                waitpid(child, NULL, 0);
        }
        print_outcome("O_RDWR of a FIFO", open("fifo", O_RDWR));
}

static void handle_signal(int signal_number)
{
        (void)signal_number;
}

/* A signal interrupts an open() that blocks; with SA_RESTART the open() is restarted. */
static void check_interrupted_fifo(void)
{
        mkfifo("fifo2", 0600);
        struct sigaction action = { .sa_handler = handle_signal };
        sigaction(SIGALRM, &action, NULL);
        struct itimerval soon = { .it_value = { 0, 50000 } }, never = { 0 };
        setitimer(ITIMER_REAL, &soon, NULL);
        print_outcome("a FIFO, interrupted", open("fifo2", O_WRONLY));
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, NULL);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
                usleep(200000);
                _exit(open("fifo2", O_RDONLY) < 0);
        }
        setitimer(ITIMER_REAL, &soon, NULL);
        print_outcome("a FIFO, interrupted and restarted", open("fifo2", O_WRONLY));
        setitimer(ITIMER_REAL, &never, NULL);
        waitpid(child, NULL, 0);
}

static void print_open(const char *path, int flags)
{
        char check[64];
        snprintf(check, sizeof check, "open %s %s", path, flags & O_ACCMODE ? "for writing" : "for reading");
        int fd = open(path, flags | O_NOCTTY);
        print_outcome(check, fd);
        if (fd >= 0)
                close(fd);
}

/* A read() from a terminal may return only a part of the line. */
static ssize_t read_line(int fd, char *line, size_t size)
{
        size_t length = 0;
        while (length < size && (length == 0 || line[length - 1] != '\n')) {
                ssize_t n = read(fd, line + length, size - length);
                if (n <= 0)
                        return n;
                length += (size_t)n;
        }
        return (ssize_t)length;
}

static void check_special_files(void)
{
        static const char *const writable[] = {
                "/dev/null",   "/dev/zero", "/dev/full",       "/dev/tty",
                "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"
        };
        static const char *const readable[] = { "/dev/urandom",
                                                "/dev/random",
                                                "/proc/self/status",
                                                "/proc/thread-self/status",
                                                "/proc/self/maps",
                                                "/proc/self/comm",
                                                "/proc/meminfo",
                                                "/etc/passwd",
                                                "/usr",
                                                "/" };
        for (size_t i = 0; i < sizeof writable / sizeof *writable; i++)
                print_open(writable[i], O_WRONLY);
        for (size_t i = 0; i < 4; i++)
                print_open(writable[i], O_RDONLY);
        for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
                print_open(readable[i], O_RDONLY);
        char text[64];
        int fd = open("/proc/self/comm", O_RDONLY);
        ssize_t size = read(fd, text, sizeof text);
        print_text("/proc/self is the caller", "%.*s", size > 0 ? (int)size - 1 : 0, text);
        close(fd);
        int first, second;
        char name[64];
        print_outcome("openpty", openpty(&first, &second, name, NULL, NULL));
        int third = open(name, O_RDWR | O_NOCTTY);
        print_outcome("open a terminal by its name", third);
        print_result("write to a terminal", write(third, "hello\n", 6));
        print_result("read from its other side", read_line(first, text, sizeof text));
        char temporary[] = "temporary-XXXXXX", folder[] = "/tmp/ordinary-XXXXXX";
        print_outcome("mkostemp", mkostemp(temporary, O_CLOEXEC));
        print_outcome("mkdtemp in /tmp", mkdtemp(folder) ? 0 : -1);
        rmdir(folder);
        FILE *file = tmpfile();
        print_outcome("tmpfile", file ? 0 : -1);
}

static int open_controlling_terminal(void)
{
        int first, second;
        char name[64];
        if (openpty(&first, &second, name, NULL, NULL) < 0 || setsid() < 0)
                return 1;
        if (open("/dev/tty", O_RDWR) >= 0 || errno != ENXIO)
                return 2;
        if (open(name, O_RDWR) < 0) /* without O_NOCTTY it becomes the controlling terminal */
                return 3;
        return open("/dev/tty", O_RDWR) < 0 ? 4 : 0;
}

static void address_of(struct sockaddr_un *address, const char *path)
{
        *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        snprintf(address->sun_path, sizeof address->sun_path, "%s", path);
}

static void check_unix_socket(const char *path)
{
        struct sockaddr_un address, found = { 0 };
        socklen_t size = sizeof found;
        address_of(&address, path);
        int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
            client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        print_outcome("unix connect to a missing socket", connect(client, (struct sockaddr *)&address, sizeof address));
        print_outcome("unix bind", bind(server, (struct sockaddr *)&address, sizeof address));
        print_outcome("unix bind again",
                      bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address));
        print_outcome("unix connect before listen", connect(client, (struct sockaddr *)&address, sizeof address));
        print_outcome("unix listen", listen(server, 4));
        print_outcome("unix getsockname", getsockname(server, (struct sockaddr *)&found, &size));
        print_text("unix name as bound", "%d", strcmp(found.sun_path, path) == 0);
        print_outcome("unix connect", connect(client, (struct sockaddr *)&address, sizeof address));
        int accepted = accept(server, NULL, NULL);
        print_outcome("unix accept", accepted);
        print_result("unix send", send(client, "hello", 5, MSG_NOSIGNAL));
        char text[16];
        print_result("unix receive", recv(accepted, text, sizeof text, 0));
        struct stat status;
        print_outcome("unix stat", lstat(path, &status));
        print_text("unix mode", "%06o", status.st_mode);
        print_outcome("unix unlink", unlink(path));
        int pair[2];
        print_outcome("socketpair of datagrams", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
        print_result("datagram", send(pair[0], "x", 1, 0));
        close(server);
        close(client);
        close(accepted);
}

/* Every call succeeds, and is performed once, although signals interrupt it. */
static void check_signals(void)
{
        struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESTART };
        struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
        int failed = 0, first_errno = 0;
        char name[64], other[64];
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < FILES; i++) {
                snprintf(name, sizeof name, "signals/%d", i);
                snprintf(other, sizeof other, "signals/renamed-%d", i);
                if (i == 0 && mkdir("signals", 0700) < 0)
                        failed++;
                int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
                int wrong = fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0 || rename(name, other) < 0 ||
                            link(other, name) < 0 || unlink(other) < 0;
                first_errno = wrong && !failed ? errno : first_errno;
                failed += wrong;
        }
        setitimer(ITIMER_REAL, &never, NULL);
        print_text("calls that failed because of signals", "%d %s", failed, failed ? strerrorname_np(first_errno) : "");
}

static _Atomic int failed_calls;

static void *make_files(void *argument)
{
        char name[64], other[64];
        for (int i = 0; i < FILES_PER_THREAD; i++) {
                snprintf(name, sizeof name, "threads/%d.%d", *(int *)argument, i);
                snprintf(other, sizeof other, "threads/%d.%d.d", *(int *)argument, i);
                int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
                if (fd < 0 || close(fd) < 0 || mkdir(other, 0700) < 0 || chmod(name, 0640) < 0 || unlink(name) < 0 ||
                    rmdir(other) < 0)
                        failed_calls++;
        }
        return NULL;
}

static void check_threads(void)
{
        pthread_t threads[THREADS];
        int numbers[THREADS];
        mkdir("threads", 0700);
        for (int i = 0; i < THREADS; i++) {
                numbers[i] = i;
                if (pthread_create(&threads[i], NULL, make_files, &numbers[i]) != 0)
                        failed_calls++;
        }
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        print_text("calls that failed in threads", "%d", failed_calls);
        print_outcome("rmdir after the threads", rmdir("threads"));
}

static void check_executions(void)
{
        int failed = 0, status;
        for (int i = 0; i < EXECUTIONS; i++) {
                pid_t child = fork();
                if (child == 0) {
                        execl("./ordinary", "ordinary", "start", (char *)NULL);
                        _exit(127);
                }
                failed += child < 0 || waitpid(child, &status, 0) < 0 || status != 0;
        }
        print_text("executions that failed", "%d", failed);
}

/* The program that check_executions() starts: it appends a byte to a file that its parent sees. */
static int append_byte(void)
{
        int fd = open("started", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
        return fd < 0 || write(fd, "x", 1) != 1;
}

int main(int argc, char **argv)
{
        if (argc > 1 && strcmp(argv[1], "start") == 0)
                return append_byte();
        alarm(50); /* kills this program if a check hangs; the last line is of the check before */
        umask(022);
        check_files();
        run_in_child("RLIMIT_FSIZE", exceed_size);
        run_in_child("RLIMIT_FSIZE kills", exceed_size_and_die);
        run_in_child("a process that is not dumpable", work_undumpable);
        check_special_files();
        run_in_child("a controlling terminal by open()", open_controlling_terminal);
        check_unix_socket("ordinary.sock");
        check_unix_socket("./d/ordinary.sock");
        char folder[] = "/tmp/ordinary-XXXXXX", path[64];
        if (!mkdtemp(folder))
                print_outcome("mkdtemp", -1);
        snprintf(path, sizeof path, "%s/sock", folder);
        check_unix_socket(path);
        rmdir(folder);
        check_fifo();
        alarm(0); /* the next two checks use SIGALRM themselves */
        check_interrupted_fifo();
        check_signals();
        alarm(50);
        check_threads();
        check_executions();
        struct stat status;
        print_text("bytes that the executions appended", "%ld",
                   stat("started", &status) < 0 ? -1L : (long)status.st_size);
        print_text("end", "0");
        return 0;
}
