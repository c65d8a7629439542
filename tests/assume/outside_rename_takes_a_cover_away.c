/* A cover is a mount on a denied file. A process outside removes it if it renames another file over the denied one. */
#include "assume.h"

/* Runs in the child: covers the file, waits until it is replaced, and returns 0 if the new file can be read. */
static int read_after_rename(int go, int ready)
{
        char byte;
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("/tmp/cover", "/tmp/secret", NULL, MS_BIND, NULL) < 0)
                return ECANCELED;
        if (write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
                return ECANCELED;
        int fd = open("/tmp/secret", O_RDONLY | O_CLOEXEC);
        return fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'n' ? 0 : EPROTO;
}

int main(void)
{
        assume("a rename from another mount namespace detaches the mount on that name, and the new file can be "
               "read");
        make_private_tmp();
        make_file("/tmp/secret", "old");
        make_file("/tmp/new", "new");
        make_file("/tmp/cover", "");
        int go[2], ready[2];
        char byte;
        if (pipe2(go, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
                skip_cannot("prepare");
        pid_t pid = fork();
        if (pid == 0)
                _exit(read_after_rename(go[0], ready[1]));
        (void)close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
                skip_cannot("cover a file");
        if (rename("/tmp/new", "/tmp/secret") < 0 || write(go[1], "", 1) != 1)
                skip_cannot("replace a file");
        int seen = wait_for(pid);
        conclude(seen == 0, "after the rename the box reads: %s", seen == 0 ? "the new file" : strerror(seen));
}
