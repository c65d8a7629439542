/*
 * attacks NAME ARGUMENT…
 *
 * Runs one attack. Prints "did: …" and exits with 0 if the attack succeeded, prints "failed: ERRNO" and exits with 1
 * if it was stopped, prints "cannot: …" and exits with 2 if this machine lacks what it needs. Statically linked, so
 * that it needs no files but itself.
 *
 * Trusts its arguments: outside a box an attack really damages the files and processes that it is given.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static const struct attack *const tables[] = { file_attacks,    change_attacks, process_attacks,   ipc_attacks,
                                               network_attacks, call_attacks,   kernel_attacks,    terminal_attacks,
                                               life_attacks,    name_attacks,   held_name_attacks, name_race_attacks };

static bool success_reported;

void report_success(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        fputs("did: ", stdout);
        vprintf(format, arguments);
        putchar('\n');
        fflush(stdout);
        va_end(arguments);
        success_reported = true;
}

int outcome(long result)
{
        return result < 0 ? -errno : 0;
}

long parse_number(const char *text)
{
        return strcmp(text, "parent") == 0 ? getppid() : strtol(text, NULL, 0);
}

int read_and_report(int fd)
{
        if (fd < 0)
                return -errno;
        char text[512];
        ssize_t size = read(fd, text, sizeof text - 1);
        int r = outcome(size);
        close(fd);
        if (r < 0)
                return r;
        text[size] = '\0';
        for (char *c = text; c < text + size; c++)
                if (*c < ' ')
                        *c = ' ';
        report_success("read '%s'", text);
        return 0;
}

int read_file(const char *path)
{
        return read_and_report(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

int write_line(int fd)
{
        if (fd < 0)
                return -errno;
        static const char text[] = "attacked\n";
        int r = outcome(write(fd, text, sizeof text - 1));
        close(fd);
        return r;
}

static void write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        if (write(fd, text, strlen(text)) < 0)
                errno = 0; /* the attack continues without privileges */
        close(fd);
}

void enter_user_namespace(void)
{
        char map[64];
        uid_t user = geteuid();
        gid_t group = getegid();
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP) < 0)
                return;
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "0 %u 1", user);
        write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof map, "0 %u 1", group);
        write_text("/proc/self/gid_map", map);
}

/* Prints the result of an attack and returns the exit status. */
static int report_result(int result)
{
        if (result == CANNOT_TRY)
                puts("cannot: this machine lacks what the attack needs");
        else if (result < 0)
                printf("failed: %s\n", strerrorname_np(-result));
        else if (!success_reported)
                puts("did: it worked");
        fflush(stdout);
        return result == CANNOT_TRY ? 2 : result < 0;
}

int run_in_child(int (*run)(char **arguments), char **arguments)
{
        pid_t child = fork();
        if (child < 0)
                return -errno;
        if (child == 0)
                _exit(report_result(run(arguments)));
        int status;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) {
                printf("failed: SIG%s\n", sigabbrev_np(WTERMSIG(status)));
                exit(1);
        }
        exit(WEXITSTATUS(status));
}

static const struct attack *find(const char *name)
{
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                for (const struct attack *attack = tables[i]; attack->name; attack++)
                        if (strcmp(attack->name, name) == 0)
                                return attack;
        return NULL;
}

int main(int argc, char **argv)
{
        const struct attack *attack = argc > 1 ? find(argv[1]) : NULL;
        if (!attack || argc - 2 != attack->arguments) {
                printf("cannot: %s\n", attack ? "wrong number of arguments" : "no such attack");
                return 2;
        }
        return report_result(attack->run(argv + 2));
}
