/* Whether a name exists is a question for lstat: what a dangling link hides can be created through it. */
#include "assume.h"

#include <linux/openat2.h>

static int open_under(int directory, uint64_t resolve)
{
        struct open_how how = { .flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = resolve };
        return syscall(SYS_openat2, directory, "link", &how, sizeof how) >= 0 ? 0 : errno;
}

int main(void)
{
        assume("stat calls a dangling symlink absent, O_CREAT creates its target, and openat2 refuses it beneath");
        make_private_tmp();
        int directory = mkdir("/tmp/box", 0700) < 0 ? -1 : open("/tmp/box", O_PATH | O_CLOEXEC);
        if (directory < 0 || symlink("/tmp/outside", "/tmp/box/link") < 0)
                cannot_ask("make a link");
        struct stat st;
        bool absent = stat("/tmp/box/link", &st) < 0 && errno == ENOENT, present = lstat("/tmp/box/link", &st) == 0;
        int beneath = open_under(directory, RESOLVE_BENEATH), no_links = open_under(directory, RESOLVE_NO_SYMLINKS);
        bool before = access("/tmp/outside", F_OK) == 0;
        if (beneath == ENOSYS)
                cannot_ask("use openat2");
        int plain = open_under(directory, 0);
        bool escaped = plain == 0 && access("/tmp/outside", F_OK) == 0;
        conclude(absent && present && beneath == EXDEV && no_links == ELOOP && !before && escaped,
                 "stat: %s, lstat: %s, beneath: %s, no symlinks: %s, plain open: %s", absent ? "absent" : "there",
                 present ? "there" : "absent", strerrorname_np(beneath), strerrorname_np(no_links),
                 escaped ? "created outside" : "did not escape");
}
