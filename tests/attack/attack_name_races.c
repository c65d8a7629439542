/*
 * Races for a name: another thread or process of the box, or the host, changes what a path leads to while the guard
 * checks it. Other attacks here kill, stop or overload the guard. A race succeeds when the protected file has changed;
 * if that does not happen in the given time, the attack was stopped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

enum {
        PATH_BYTES = 1024,
        CALLS_PER_CHECK = 32,
        FIFOS_MAX = 4096,
        BOX_PROCESSES_MAX = 30, /* more processes than that: this is not a box */
};

static const char own_file[] = "mine-of-attack";

/* In shared memory, because the two sides may be processes. */
struct race {
        sa_family_t family;    /* family and path together are the address for bind() */
        char path[PATH_BYTES]; /* the argument of the calls */
        char allowed[PATH_BYTES], denied[PATH_BYTES];
        const char *protected; /* the file that must not change */
        struct stat before;
        bool existed;
        int swapped_fd, allowed_directory, denied_directory;
        int cleanup_at; /* a call on the allowed path creates cleanup_name in this directory; it is removed again */
        const char *cleanup_name;
        unsigned random_state;
        _Atomic bool stop;
        void (*disturb)(struct race *race);
        int (*attempt)(struct race *race);
};

static long now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct race *new_race(const char *protected)
{
        struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (race == MAP_FAILED)
                exit(2);
        race->protected = protected;
        race->existed = lstat(protected, &race->before) == 0;
        return race;
}

static bool has_changed(const struct race *race)
{
        struct stat now;
        if ((lstat(race->protected, &now) == 0) != race->existed)
                return true;
        return race->existed && (now.st_ino != race->before.st_ino || now.st_size != race->before.st_size ||
                                 now.st_mode != race->before.st_mode || now.st_nlink != race->before.st_nlink);
}

static void *run_disturber(void *argument)
{
        struct race *race = argument;
        while (!race->stop)
                race->disturb(race);
        return NULL;
}

static int run_race(struct race *race, bool in_process, long milliseconds)
{
        write_line(open(own_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        pthread_t thread;
        pid_t child = in_process ? fork() : 0;
        if (in_process && child == 0) {
                run_disturber(race);
                _exit(0);
        }
        if (child < 0 || (!in_process && pthread_create(&thread, NULL, run_disturber, race) != 0))
                return CANNOT_TRY;
        long end = now_ms() + milliseconds;
        int r = -EACCES;
        while (r < 0 && now_ms() < end) {
                for (int i = 0; i < CALLS_PER_CHECK && r < 0; i++)
                        if (race->attempt(race) == 0)
                                r = 0;
                if (has_changed(race))
                        r = 0;
        }
        race->stop = true;
        if (in_process)
                waitpid(child, NULL, 0);
        else
                pthread_join(thread, NULL);
        return r == 0 || has_changed(race) ? 0 : -EACCES;
}

/* A call that succeeded proves nothing, because it may have used the allowed path. */
static int inconclusive(long result)
{
        return result < 0 ? -errno : -EAGAIN;
}

/* The operations of a race on race->path. They return 0 only if they can tell that the attack succeeded. */
static int try_open(struct race *race)
{
        int fd = open(race->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd >= 0)
                close(fd);
        unlinkat(race->cleanup_at, race->cleanup_name, 0);
        return -1;
}

static int try_write(struct race *race)
{
        write_line(open(race->path, O_WRONLY | O_APPEND | O_CLOEXEC));
        return -1;
}

static int try_mkdir(struct race *race)
{
        mkdir(race->path, 0700);
        unlinkat(race->cleanup_at, race->cleanup_name, AT_REMOVEDIR);
        return -1;
}

static int try_mknod(struct race *race)
{
        mknod(race->path, S_IFREG | 0600, 0);
        unlinkat(race->cleanup_at, race->cleanup_name, 0);
        return -1;
}

static int try_symlink(struct race *race)
{
        int r = inconclusive(symlink("anywhere", race->path));
        unlinkat(race->cleanup_at, race->cleanup_name, 0);
        return r;
}

static int try_link(struct race *race)
{
        int r = inconclusive(link(own_file, race->path));
        unlinkat(race->cleanup_at, race->cleanup_name, 0);
        return r;
}

static int try_rename(struct race *race)
{
        write_line(open(own_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        rename(own_file, race->path);
        return -1;
}

static int try_rename_away(struct race *race)
{
        rename(race->path, "taken-of-attack");
        return -1;
}

static int try_unlink(struct race *race)
{
        unlink(race->path);
        return -1;
}

static int try_truncate(struct race *race)
{
        return inconclusive(truncate(race->path, 0));
}

static int try_chmod(struct race *race)
{
        chmod(race->path, 0757);
        return -1;
}

static int try_bind(struct race *race)
{
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -1;
        bind(fd, (const struct sockaddr *)(const void *)&race->family, sizeof(struct sockaddr_un));
        close(fd);
        unlinkat(race->cleanup_at, race->cleanup_name, 0);
        return -1;
}

static int try_read(struct race *race)
{
        char text[64] = { 0 };
        int fd = open(race->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        ssize_t size = read(fd, text, sizeof text - 1);
        close(fd);
        if (size <= 0 || strncmp(text, "SECRET", 6) != 0)
                return -1;
        report_success("read '%s'", text);
        return 0;
}

static const struct {
        const char *name;
        int (*attempt)(struct race *race);
} operations[] = {
        { "open", try_open },         { "write", try_write },     { "mkdir", try_mkdir },
        { "mknod", try_mknod },       { "symlink", try_symlink }, { "link", try_link },
        { "rename", try_rename },     { "unlink", try_unlink },   { "rename_away", try_rename_away },
        { "truncate", try_truncate }, { "chmod", try_chmod },     { "bind", try_bind },
        { "read", try_read },
};

static int (*find_operation(const char *name))(struct race *race)
{
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
                if (strcmp(operations[i].name, name) == 0)
                        return operations[i].attempt;
        exit(2);
}

/* Spins for a random time, so that some calls see the allowed state and some the denied one. */
static void spin_randomly(struct race *race)
{
        race->random_state = race->random_state * 1103515245 + 12345;
        for (volatile unsigned i = race->random_state >> 16 & 1023; i > 0; i--)
                ;
}

static void flip_string(struct race *race)
{
        for (size_t i = 0; race->allowed[i]; i++)
                if (race->allowed[i] != race->denied[i]) {
                        ((volatile char *)race->path)[i] = race->denied[i];
                        spin_randomly(race);
                        ((volatile char *)race->path)[i] = race->allowed[i];
                        spin_randomly(race);
                }
}

/*
 * OPERATION thread|process ALLOWED PROTECTED MILLISECONDS: the two paths differ in one letter, which another thread or
 * process keeps changing in the argument of the call.
 */
static int race_path_string(char **a)
{
        struct race *race = new_race(a[3]);
        race->attempt = find_operation(a[0]);
        race->disturb = flip_string;
        race->family = AF_UNIX;
        snprintf(race->allowed, sizeof race->allowed, "%s", a[2]);
        snprintf(race->denied, sizeof race->denied, "%s", a[3]);
        snprintf(race->path, sizeof race->path, "%s", a[2]);
        race->cleanup_at = AT_FDCWD;
        race->cleanup_name = race->allowed;
        return run_race(race, strcmp(a[1], "process") == 0, parse_number(a[4]));
}

static void swap_directory_and_link(struct race *race)
{
        renameat2(AT_FDCWD, race->allowed, AT_FDCWD, race->denied, RENAME_EXCHANGE);
}

/*
 * OPERATION FOLDER NAME MILLISECONDS: way-of-attack is by turns a directory of the attack and a symlink to FOLDER. The
 * calls use way-of-attack/NAME; FOLDER/NAME is protected.
 */
static int race_symlink(char **a)
{
        char protected[PATH_BYTES];
        snprintf(protected, sizeof protected, "%s/%s", a[1], a[2]);
        struct race *race = new_race(protected);
        race->attempt = find_operation(a[0]);
        race->disturb = swap_directory_and_link;
        snprintf(race->allowed, sizeof race->allowed, "way-of-attack");
        snprintf(race->denied, sizeof race->denied, "link-of-attack");
        if (mkdir("way-of-attack", 0700) < 0 || symlink(a[1], "link-of-attack") < 0)
                return CANNOT_TRY;
        snprintf(race->path, sizeof race->path, "way-of-attack/%s", a[2]);
        race->cleanup_at = open("way-of-attack", O_PATH | O_DIRECTORY | O_CLOEXEC);
        race->cleanup_name = a[2];
        return run_race(race, false, parse_number(a[3]));
}

static void swap_descriptor(struct race *race)
{
        dup2(race->denied_directory, race->swapped_fd);
        spin_randomly(race);
        dup2(race->allowed_directory, race->swapped_fd);
        spin_randomly(race);
}

static int try_in_descriptor(struct race *race)
{
        int fd = openat(race->swapped_fd, race->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd >= 0)
                close(fd);
        unlinkat(race->allowed_directory, race->path, 0);
        mkdirat(race->swapped_fd, race->path, 0700);
        unlinkat(race->allowed_directory, race->path, AT_REMOVEDIR);
        return -1;
}

static void swap_working_directory(struct race *race)
{
        if (fchdir(race->denied_directory) < 0 || fchdir(race->allowed_directory) < 0)
                race->stop = true;
}

static int try_in_working_directory(struct race *race)
{
        return try_open(race);
}

/*
 * descriptor|directory FOLDER NAME MILLISECONDS: a descriptor, or the working directory, is by turns FOLDER and a
 * directory of the attack. The calls use NAME relative to it; FOLDER/NAME is protected.
 */
static int race_directory(char **a)
{
        char protected[PATH_BYTES], *folder = realpath(a[1], NULL);
        if (!folder)
                return CANNOT_TRY;
        snprintf(protected, sizeof protected, "%s/%s", folder, a[2]);
        struct race *race = new_race(protected);
        bool by_descriptor = strcmp(a[0], "descriptor") == 0;
        race->attempt = by_descriptor ? try_in_descriptor : try_in_working_directory;
        race->disturb = by_descriptor ? swap_descriptor : swap_working_directory;
        if (mkdir("way-of-attack", 0700) < 0)
                return CANNOT_TRY;
        race->allowed_directory = open("way-of-attack", O_RDONLY | O_DIRECTORY);
        race->denied_directory = open(folder, O_RDONLY | O_DIRECTORY);
        race->swapped_fd = dup(race->allowed_directory);
        if (race->swapped_fd < 0 || race->denied_directory < 0 ||
            (!by_descriptor && fchdir(race->allowed_directory) < 0))
                return CANNOT_TRY;
        snprintf(race->path, sizeof race->path, "%s", a[2]);
        race->cleanup_at = race->allowed_directory;
        race->cleanup_name = a[2];
        return run_race(race, false, parse_number(a[3]));
}

struct move_race {
        pthread_barrier_t barrier;
        const char *from, *to;
        int sub_directory, rounds;
};

static void *rename_each_round(void *argument)
{
        struct move_race *race = argument;
        for (int i = 0; i < race->rounds; i++) {
                pthread_barrier_wait(&race->barrier);
                rename(race->from, race->to);
                pthread_barrier_wait(&race->barrier);
                pthread_barrier_wait(&race->barrier);
        }
        return NULL;
}

/*
 * FROM TO SUB NAME ROUNDS: a second thread renames FROM to TO while this one creates NAME in FROM/SUB, through a
 * descriptor or by its path. Either call may come first. TO/SUB/NAME is protected and must not exist afterwards: one of
 * the two calls has to fail, or the new file has to be removed.
 */
static int race_moved_parent(char **a)
{
        char sub[PATH_BYTES], protected[PATH_BYTES], created[PATH_BYTES];
        snprintf(sub, sizeof sub, "%s/%s", a[0], a[2]);
        snprintf(protected, sizeof protected, "%s/%s/%s", a[1], a[2], a[3]);
        snprintf(created, sizeof created, "%s/%s/%s", a[0], a[2], a[3]);
        struct move_race race = { .from = a[0], .to = a[1], .rounds = (int)parse_number(a[4]) };
        if (mkdir(a[0], 0700) < 0 || mkdir(sub, 0700) < 0)
                return CANNOT_TRY;
        race.sub_directory = open(sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        pthread_t thread;
        pthread_barrier_init(&race.barrier, NULL, 2);
        if (race.sub_directory < 0 || pthread_create(&thread, NULL, rename_each_round, &race) != 0)
                return CANNOT_TRY;
        struct stat found;
        int r = -EACCES;
        for (int i = 0; i < race.rounds; i++) {
                pthread_barrier_wait(&race.barrier);
                int fd = i % 2 ? open(created, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)
                               : openat(race.sub_directory, a[3], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
                if (fd >= 0)
                        close(fd);
                pthread_barrier_wait(&race.barrier);
                if (r < 0 && lstat(protected, &found) == 0)
                        r = 0;
                if (r < 0) { /* after a success the files stay, for the test to see */
                        unlinkat(race.sub_directory, a[3], 0);
                        rename(a[1], a[0]);
                }
                pthread_barrier_wait(&race.barrier);
        }
        pthread_join(thread, NULL);
        return r;
}

/* The host waits for this file before it starts to replace the target. */
static void create_ready_file(void)
{
        int fd = open("ready-of-attack", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd >= 0)
                close(fd);
}

/* PATH STOP: tries to read PATH until the file STOP exists. Any successful read is a success. */
static int read_until_stopped(char **a)
{
        char fd_path[64];
        create_ready_file();
        for (long i = 0; i % 16 || access(a[1], F_OK) < 0; i++) {
                int fd = open(a[0], (i % 2 ? O_PATH : O_RDONLY) | O_CLOEXEC);
                if (fd < 0)
                        continue;
                if (i % 2) {
                        int path_fd = fd;
                        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", path_fd);
                        fd = open(fd_path, O_RDONLY | O_CLOEXEC);
                        close(path_fd);
                }
                if (fd >= 0 && read_and_report(fd) == 0)
                        return 0;
        }
        return -EACCES;
}

/* PATH STOP: the same for writing, in four ways by turns. */
static int write_until_stopped(char **a)
{
        create_ready_file();
        for (long i = 0; i % 16 || access(a[1], F_OK) < 0; i++) {
                int r = -1;
                if (i % 4 == 0)
                        r = write_line(open(a[0], O_WRONLY | O_APPEND | O_CLOEXEC));
                else if (i % 4 == 1)
                        r = write_line(open(a[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
                else if (i % 4 == 2)
                        r = truncate(a[0], 0);
                else if (write_line(open(own_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0)
                        r = rename(own_file, a[0]);
                if (r == 0)
                        return 0;
        }
        return -EACCES;
}

/* Signals every other process, several times. Does nothing outside of a box, where there are more processes. */
static int signal_all_processes(int signal_number)
{
        for (int repeat = 0; repeat < 5; repeat++) {
                int count = 0, pids[BOX_PROCESSES_MAX + 1];
                DIR *proc = opendir("/proc");
                if (!proc)
                        return CANNOT_TRY;
                for (struct dirent *entry; count <= BOX_PROCESSES_MAX && (entry = readdir(proc));) {
                        int pid = (int)strtol(entry->d_name, NULL, 10);
                        if (pid > 0)
                                pids[count++] = pid;
                }
                closedir(proc);
                if (count > BOX_PROCESSES_MAX)
                        return CANNOT_TRY;
                for (int i = 0; i < count; i++)
                        if (pids[i] != getpid())
                                kill(pids[i], signal_number);
                usleep(20000);
        }
        return 0;
}

/* SIGNAL PATH: creates PATH after all other processes, including the guard, have been sent the signal. */
static int create_after_signals(char **a)
{
        if (signal_all_processes((int)parse_number(a[0])) != 0)
                return CANNOT_TRY;
        alarm(10); /* ends a call that no guard answers */
        return write_line(open(a[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* Creates, renames and removes files, and tries to create PATH in between. Returns 1 if a call on the files failed. */
static int work_on_files(int i, const char *path)
{
        char name[64], other[64];
        int failed = 0;
        for (int n = 0; n < 10; n++) {
                snprintf(name, sizeof name, "crowd-of-attack.%d.%d", i, n);
                snprintf(other, sizeof other, "moved-of-attack.%d.%d", i, n);
                failed |= write_line(open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)) < 0;
                failed |= rename(name, other) < 0;
                write_line(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
                failed |= unlink(other) < 0;
        }
        return failed;
}

/* PROCESSES PATH: that many processes run work_on_files() at the same time; EIO if a call on their own files failed. */
static int create_among_many_processes(char **a)
{
        int started = 0, failed = 0, status;
        for (long i = 0; i < parse_number(a[0]); i++) {
                pid_t child = fork();
                if (child == 0)
                        _exit(work_on_files((int)i, a[1]));
                started += child > 0;
        }
        while (wait(&status) > 0)
                failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (access(a[1], F_OK) == 0)
                return 0;
        return failed || !started ? -EIO : -EACCES;
}

/* PROCESSES PATH: that many processes open as many descriptors as they can. This one keeps one free and makes PATH. */
static int create_without_free_descriptors(char **a)
{
        const struct rlimit few = { 1000, 1000 }; /* some machines allow a million, which take minutes to open */
        int ready[2], last = -1;
        char byte;
        if (setrlimit(RLIMIT_NOFILE, &few) < 0 || pipe(ready) < 0)
                return CANNOT_TRY;
        for (long i = 0; i < parse_number(a[0]); i++)
                if (fork() == 0) {
                        while (open("/dev/null", O_RDONLY) >= 0)
                                ;
                        _exit(write(ready[1], "x", 1) < 0 || sleep(20));
                }
        for (long i = 0; i < parse_number(a[0]); i++)
                if (read(ready[0], &byte, 1) < 0)
                        return CANNOT_TRY;
        for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;)
                last = fd;
        close(last);
        int r = write_line(open(a[1], O_CREAT | O_WRONLY, 0600));
        return r;
}

/* Runs the attack in a process group of its own, so that all its processes can be killed. */
static int create_without_free_descriptors_in_group(char **a)
{
        pid_t child = fork();
        if (child < 0)
                return CANNOT_TRY;
        if (child == 0) {
                setpgid(0, 0);
                int r = create_without_free_descriptors(a);
                _exit(r == CANNOT_TRY ? 255 : -r);
        }
        int status;
        waitpid(child, &status, 0);
        kill(-child, SIGKILL);
        return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? -WEXITSTATUS(status) : CANNOT_TRY;
}

/* PATH: creates PATH when this process can map no more memory. */
static int create_without_memory(char **a)
{
        struct rlimit limit = { 64 << 20, 64 << 20 };
        if (setrlimit(RLIMIT_AS, &limit) < 0)
                return CANNOT_TRY;
        for (size_t size = 16 << 20; size >= 4096; size /= 2)
                for (void *memory; (memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                                  0)) != MAP_FAILED;)
                        ;
        return write_line(open(a[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void *open_fifo(void *path)
{
        write_line(open(path, O_WRONLY | O_CLOEXEC));
        return NULL;
}

/* THREADS PATH: that many threads block on FIFOs that have no reader. ETIMEDOUT if other calls are delayed by them. */
static int create_while_fifos_block(char **a)
{
        static char names[FIFOS_MAX][48];
        long count = parse_number(a[0]);
        for (long i = 0; i < count && i < FIFOS_MAX; i++) {
                pthread_t thread;
                snprintf(names[i], sizeof names[i], "fifo-of-attack.%ld", i);
                if (mkfifo(names[i], 0600) < 0 || pthread_create(&thread, NULL, open_fifo, names[i]) != 0)
                        return CANNOT_TRY;
        }
        usleep(200000);
        long start = now_ms();
        for (int i = 0; i < 20; i++)
                if (write_line(open(own_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) < 0)
                        return -EIO;
        if (now_ms() - start > 2000)
                return -ETIMEDOUT;
        return write_line(open(a[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* NAME SECONDS: listens on an abstract address, as an X server does, and writes a line to each client. */
static int serve_abstract_socket(char **a)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", a[0]);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a[0]));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4) < 0)
                return -errno;
        report_success("listening");
        alarm((unsigned)parse_number(a[1]));
        for (;;) {
                int client = accept(fd, NULL, NULL);
                if (client >= 0)
                        write_line(client);
        }
}

const struct attack name_race_attacks[] = {
        { "race_path_string", 5, race_path_string },
        { "race_symlink", 4, race_symlink },
        { "race_directory", 4, race_directory },
        { "race_moved_parent", 5, race_moved_parent },
        { "read_until_stopped", 2, read_until_stopped },
        { "write_until_stopped", 2, write_until_stopped },
        { "create_after_signals", 2, create_after_signals },
        { "create_among_many_processes", 2, create_among_many_processes },
        { "create_without_free_descriptors", 2, create_without_free_descriptors_in_group },
        { "create_without_memory", 1, create_without_memory },
        { "create_while_fifos_block", 2, create_while_fifos_block },
        { "serve_abstract_socket", 2, serve_abstract_socket },
        { 0 },
};
