/* A directory that is mounted below one that a box's rules allow becomes accessible to the box while it runs. */
#include "assume_landlock.h"

static int open_when_woken(int go)
{
        char byte;
        restrict_to("/tmp/allowed", LANDLOCK_ACCESS_FS_READ_FILE, LANDLOCK_ACCESS_FS_READ_FILE);
        if (read(go, &byte, 1) != 1)
                return ECANCELED;
        if (open("/tmp/outside/file", O_RDONLY | O_CLOEXEC) >= 0)
                return EPROTO;
        return open("/tmp/allowed/later/file", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

int main(void)
{
        assume("Landlock checks parents across mount points: a directory mounted later below an allowed one is "
               "allowed");
        require_landlock(1);
        make_private_tmp();
        int go[2];
        if (mkdir("/tmp/allowed", 0700) < 0 || mkdir("/tmp/allowed/later", 0700) < 0 ||
            mkdir("/tmp/outside", 0700) < 0 || pipe2(go, O_CLOEXEC) < 0)
                skip_cannot("prepare");
        make_file("/tmp/outside/file", "text");
        pid_t pid = fork();
        if (pid == 0)
                _exit(open_when_woken(go[0]));
        if (mount("/tmp/outside", "/tmp/allowed/later", NULL, MS_BIND, NULL) < 0)
                skip_cannot("bind mount a directory");
        if (write(go[1], "", 1) != 1)
                skip_cannot("wake the child");
        int seen = wait_for(pid);
        conclude(seen == 0, "through the mount: %s", strerror(seen));
}
