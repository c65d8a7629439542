/* Code that checks whether a name exists must use lstat(): through a dangling symlink its target can be created. */
#include "assume.h"

#include <linux/openat2.h>

static int create_through_link(int directory, uint64_t resolve)
{
        struct open_how how = { .flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = resolve };
        return syscall(SYS_openat2, directory, "link", &how, sizeof how) >= 0 ? 0 : errno;
}

int main(void)
{
        assume("stat fails for a dangling symlink, O_CREAT creates its target, and RESOLVE_BENEATH refuses it");
        make_private_tmp();
        int directory = mkdir("/tmp/box", 0700) < 0 ? -1 : open("/tmp/box", O_PATH | O_CLOEXEC);
        if (directory < 0 || symlink("/tmp/outside", "/tmp/box/link") < 0)
                skip_cannot("make a link");
        struct stat st;
        bool absent = stat("/tmp/box/link", &st) < 0 && errno == ENOENT, present = lstat("/tmp/box/link", &st) == 0;
        int beneath = create_through_link(directory, RESOLVE_BENEATH);
        int no_links = create_through_link(directory, RESOLVE_NO_SYMLINKS);
        bool before = access("/tmp/outside", F_OK) == 0;
        if (beneath == ENOSYS)
                skip_cannot("use openat2");
        int plain = create_through_link(directory, 0);
        bool escaped = plain == 0 && access("/tmp/outside", F_OK) == 0;
        conclude(absent && present && beneath == EXDEV && no_links == ELOOP && !before && escaped,
                 "stat: %s, lstat: %s, beneath: %s, no symlinks: %s, plain open: %s", absent ? "ENOENT" : "found",
                 present ? "found" : "failed", strerrorname_np(beneath), strerrorname_np(no_links),
                 escaped ? "created outside" : "did not escape");
}
