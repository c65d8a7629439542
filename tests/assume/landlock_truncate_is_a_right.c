/* A ruleset must handle TRUNCATE, or a box can empty any file; it must grant it where files may be overwritten. */
#include "assume_landlock.h"

static int truncate_under(uint64_t handled, uint64_t granted)
{
        pid_t pid = fork();
        if (pid == 0) {
                restrict_to("/tmp", handled, granted);
                _exit(truncate("/tmp/file", 0) == 0 ? 0 : errno);
        }
        return wait_for(pid);
}

int main(void)
{
        assume("TRUNCATE is a right of its own: WRITE_FILE does not give it, and it is not checked unless handled");
        require_landlock(3);
        make_private_tmp();
        make_file("/tmp/file", "text");
        int unhandled = truncate_under(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE,
                                       LANDLOCK_ACCESS_FS_READ_FILE);
        int ungranted = truncate_under(LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE, LANDLOCK_ACCESS_FS_WRITE_FILE);
        int granted = truncate_under(LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE,
                                     LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE);
        conclude(unhandled == 0 && ungranted == EACCES && granted == 0,
                 "truncate() of a read-only file unhandled: %s; handled, not granted: %s; granted: %s",
                 strerror(unhandled), strerror(ungranted), strerror(granted));
}
