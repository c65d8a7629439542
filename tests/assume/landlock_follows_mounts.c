/* A box can be given a directory while it runs, by mounting it below one that its rules allow. */
#include "assume_landlock.h"

static int open_when_told(int told)
{
        char byte;
        restrict_to("/tmp/allowed", LANDLOCK_ACCESS_FS_READ_FILE, LANDLOCK_ACCESS_FS_READ_FILE);
        if (read(told, &byte, 1) != 1)
                return ECANCELED;
        if (open("/tmp/outside/file", O_RDONLY | O_CLOEXEC) >= 0)
                return EPROTO;
        return open("/tmp/allowed/later/file", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

int main(void)
{
        assume("Landlock rules go up through mount points: a directory mounted later below an allowed one is allowed");
        need_landlock(1);
        make_private_tmp();
        int told[2];
        if (mkdir("/tmp/allowed", 0700) < 0 || mkdir("/tmp/allowed/later", 0700) < 0 ||
            mkdir("/tmp/outside", 0700) < 0 || pipe2(told, O_CLOEXEC) < 0)
                cannot_ask("prepare");
        make_file("/tmp/outside/file", "text");
        pid_t pid = fork();
        if (pid == 0)
                _exit(open_when_told(told[0]));
        if (mount("/tmp/outside", "/tmp/allowed/later", NULL, MS_BIND, NULL) < 0)
                cannot_ask("bind a directory");
        if (write(told[1], "", 1) != 1)
                cannot_ask("tell the child");
        int seen = wait_for(pid);
        conclude(seen == 0, "through the mount: %s", strerror(seen));
}
