/*
 * guard_bench create|open|stat|remove COUNT: creates, opens, stats or removes that many empty files in the current
 * directory. Linked statically, so that it starts fast.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int create_file(const char *name)
{
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        return fd < 0 || close(fd) < 0;
}

static int open_file(const char *name)
{
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        return fd < 0 || close(fd) < 0;
}

static int stat_file(const char *name)
{
        struct stat st;
        return stat(name, &st) < 0;
}

static int remove_file(const char *name)
{
        return unlink(name) < 0;
}

static const struct {
        const char *name;
        int (*run)(const char *name);
} jobs[] = { { "create", create_file }, { "open", open_file }, { "stat", stat_file }, { "remove", remove_file } };

int main(int argc, char **argv)
{
        for (size_t i = 0; argc == 3 && i < sizeof jobs / sizeof jobs[0]; i++) {
                if (strcmp(argv[1], jobs[i].name) != 0)
                        continue;
                char name[24];
                long count = strtol(argv[2], NULL, 10);
                for (long n = 0; n < count; n++) {
                        (void)snprintf(name, sizeof name, "f%ld", n);
                        if (jobs[i].run(name)) {
                                perror(name);
                                return 1;
                        }
                }
                return 0;
        }
        fputs("usage: guard_bench create|open|stat|remove COUNT\n", stderr);
        return 2;
}
