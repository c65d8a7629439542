/*
 * try_server_box LEVEL|outside FILE
 *
 * Makes attempts that must fail in the box in which `ringwall mcp` runs its server, and prints a line for each: "did"
 * or "failed to", and its name. "outside" makes the same attempts without a box. FILE is a file that the user can
 * read and write.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/load_policy.h"
#include "session/broker.h"

static const char *file;

static bool open_file(int flags)
{
        int fd = open(file, flags);
        return fd >= 0 && close(fd) == 0;
}

static bool read_file(void)
{
        return open_file(O_RDONLY);
}

static bool write_file(void)
{
        return open_file(O_WRONLY);
}

static bool read_system_file(void)
{
        int fd = open("/etc/passwd", O_RDONLY);
        return fd >= 0 && close(fd) == 0;
}

static bool make_file(void)
{
        char name[] = "/tmp/server-box-XXXXXX";
        int fd = mkstemp(name);
        return fd >= 0 && unlink(name) == 0 && close(fd) == 0;
}

static bool start_process(void)
{
        pid_t pid = fork();
        if (pid == 0)
                _exit(0);
        return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

/* Replaces this process, so it is the last attempt; the program itself prints that it ran. */
static bool run_program(void)
{
        (void)fflush(stdout);
        (void)execl("/bin/echo", "echo", "did run a program", (char *)NULL);
        return false;
}

static bool bind_socket(void)
{
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        return fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof to) == 0 && close(fd) == 0;
}

static bool signal_parent(void)
{
        return getppid() > 1 && kill(getppid(), 0) == 0;
}

static bool read_environment(void)
{
        const char *token = getenv("ATTACK_TOKEN");
        return token && *token;
}

static int make_attempts(int broker, const struct launch_request *request)
{
        static const struct {
                const char *name;
                bool (*try)(void);
        } attempts[] = {
                { "read a file of the person", read_file },
                { "write a file of the person", write_file },
                { "read a file of the system", read_system_file },
                { "make a file", make_file },
                { "start a process", start_process },
                { "bind a socket", bind_socket },
                { "signal another process", signal_parent },
                { "read the environment", read_environment },
                { "run a program", run_program },
        };
        (void)broker;
        (void)request;
        for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
                (void)printf("%s %s\n", attempts[i].try() ? "did" : "failed to", attempts[i].name);
        (void)fflush(stdout);
        return 0;
}

static void print_line(const char *line)
{
        (void)fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
        struct error e = { 0 };
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        if (argc != 3 || !m)
                return 2;
        file = argv[2];
        if (strcmp(argv[1], "outside") == 0)
                return make_attempts(-1, NULL);
        const struct load_item level = { .kind = LOAD_FLAG, .key = KEY_LEVEL, .value = argv[1], .flag = "level" };
        const struct load_request request = { .items = &level, .count = 1, .ignore_defaults = true };
        int r = load_plan(&request, m, &plan, &e);
        const struct broker_config broker = { .plan = plan, .server = make_attempts, .print_message = print_line };
        if (r == 0)
                r = broker_run(&broker, &e);
        if (r < 0)
                (void)fprintf(stderr, "%s\n", e.text);
        return r != 0;
}
