/*
 * Case folding; see case_folding.h.
 *
 * Which names are equal in a case-insensitive directory depends on the Unicode table of its file system. So rules by
 * name cannot be enforced in it, and a plan that needs them is refused (wall_guard.c). Case folding is a property of a
 * directory (ext4, f2fs, tmpfs), of a mount (vfat, exfat, ntfs, cifs) or of the machine that serves the files (9p of
 * WSL, FUSE), so this file detects it by looking a name up in the other case.
 */
#include "linux/case_folding.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "base/memory.h"

enum { NAMES_MAX = 64, CASEFOLD_FLAG = 0x40000000 /* FS_CASEFOLD_FL */ };

/* msdos and vfat, exfat, ntfs3, smb, cifs, smb2, hfs+ */
static const unsigned long folding_types[] = { 0x4d44, 0x2011bab0, 0x7366746e, 0x517b, 0xff534d42, 0xfe534d42, 0x482b };

/* Swaps upper and lower case. False: the name has no letters. */
static bool change_case(const char *name, char ret[NAME_MAX + 1])
{
        bool changed = false;
        size_t i = 0;
        for (; i < NAME_MAX && name[i]; i++) {
                unsigned char c = (unsigned char)name[i];
                bool letter = c < 0x80 && isalpha(c);
                ret[i] = (char)(letter ? c ^ 0x20 : c);
                changed |= letter;
        }
        ret[i] = '\0';
        return changed;
}

/* 1: a name in the directory is found in another case too; 0: it is not; -1: no name is suitable for the test. */
static int probe_names(DIR *dir)
{
        char other[NAME_MAX + 1];
        struct stat st, found;
        struct dirent *d;
        for (unsigned i = 0; i < NAMES_MAX && (d = readdir(dir)); i++) { // cppcheck-suppress readdirCalled
                bool suitable = change_case(d->d_name, other) &&
                                fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
                if (!suitable)
                        continue;
                if (fstatat(dirfd(dir), other, &found, AT_SYMLINK_NOFOLLOW) < 0)
                        return 0;
                if (!stat_same(&found, &st))
                        return 0;
                if (st.st_nlink == 1 || S_ISDIR(st.st_mode)) /* the other name is not a hard link */
                        return 1;
        }
        return -1;
}

/* As probe_names(), for the directory's own name in its parent, if that is on the same file system. */
static int probe_own_name(const char *path, int fd)
{
        char parent[PATH_MAX], other[NAME_MAX + 1];
        struct stat st, parent_st, found;
        const char *name = strrchr(path, '/');
        if (!name || name == path || (size_t)(name - path) >= sizeof parent || !change_case(name + 1, other))
                return -1;
        memcpy(parent, path, (size_t)(name - path));
        parent[name - path] = '\0';
        CLEANUP_FD int up = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(fd, &st) < 0 || fstat(up, &parent_st) < 0 || st.st_dev != parent_st.st_dev)
                return -1;
        return fstatat(up, other, &found, AT_SYMLINK_NOFOLLOW) == 0 && stat_same(&found, &st);
}

/* Returns 1, 0 or -1, as probe_names(); -1 also if the directory cannot be listed. */
static int probe_content(const char *path)
{
        long flags = 0;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd); /* owns fd from here on */
        if (!dir) {
                fd_close(&fd);
                return -1;
        }
        int folds = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & CASEFOLD_FLAG) ? 1 : probe_names(dir);
        (void)closedir(dir);
        return folds;
}

static bool is_folding_type(int fd)
{
        struct statfs fs;
        for (size_t i = 0; i < ARRAY_SIZE(folding_types) && fstatfs(fd, &fs) == 0; i++)
                if ((unsigned long)fs.f_type == folding_types[i])
                        return true;
        return false;
}

bool directory_folds_case(const char *path)
{
        int folds = probe_content(path);
        if (folds >= 0)
                return folds;
        CLEANUP_FD int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return false;
        folds = probe_own_name(path, fd);
        return folds >= 0 ? folds : is_folding_type(fd);
}
