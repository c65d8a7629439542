/* Moving a file from one directory to another works in a box only if REFER is handled and granted. */
#include "assume_landlock.h"

enum { FILE_RIGHTS = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE };

static int rename_under(uint64_t handled)
{
        pid_t pid = fork();
        if (pid == 0) {
                make_file("/tmp/a/file", "text");
                restrict_to("/tmp", handled, handled);
                _exit(rename("/tmp/a/file", "/tmp/b/file") == 0 ? 0 : errno);
        }
        return wait_for(pid);
}

int main(void)
{
        assume("without REFER every rename between directories is refused with EXDEV; granted, it works");
        require_landlock(2);
        make_private_tmp();
        if (mkdir("/tmp/a", 0700) < 0 || mkdir("/tmp/b", 0700) < 0)
                skip_cannot("make directories");
        int without = rename_under(FILE_RIGHTS), with = rename_under(FILE_RIGHTS | LANDLOCK_ACCESS_FS_REFER);
        conclude(without == EXDEV && with == 0, "without: %s; with: %s", strerror(without), strerror(with));
}
