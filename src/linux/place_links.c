/*
 * Symlinks that a box could have made.
 *
 * What it is for: a policy grants ~/A/proj/data. Last week, a program in a box that could write ~/A/proj replaced data
 * by a symlink to ~/Documents. If ringwall follows that symlink today, it grants what the program chose.
 * docs/decisions/links-in-grants.md.
 *
 * How it works: a program in a box has the person's user id and no privileges. It can have made a symlink that the
 * person owns, and can have moved any symlink into a directory that the person may write. A symlink of root in a
 * directory of root (/bin -> usr/bin) is neither. Root's own boxes leave symlinks of root behind, so for root the path
 * decides: symlinks at the top of the tree, in the system's directories, and directly in /var and /opt are the system's
 * (deeper directories there may be workspaces); all others could have been made by a box.
 *
 * In a user namespace all unmapped ids read as the overflow id; the caller's own id is mapped to itself.
 */
#include "linux/place_links.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/path_pattern.h"

/* Directories in which only the system's own programs make symlinks. */
static const char *const system_directories[] = {
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/run", "/nix", "/gnu",
};

/* Directories in those that other programs can write. */
static const char *const shared_directories[] = { "/run/user", "/run/lock", "/usr/src" };

/* Directories of which only the direct entries are the system's. */
static const char *const system_parents[] = { "", "/var", "/opt" };

static bool is_beneath_any(const char *path, const char *const *list, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (path_is_beneath(path, list[i]))
                        return true;
        return false;
}

static bool is_system_path(const char *path)
{
        size_t parent_length = (size_t)(strrchr(path, '/') - path);
        for (size_t i = 0; i < ARRAY_SIZE(system_parents); i++)
                if (strlen(system_parents[i]) == parent_length &&
                    strncmp(path, system_parents[i], parent_length) == 0)
                        return true;
        return is_beneath_any(path, system_directories, ARRAY_SIZE(system_directories)) &&
               !is_beneath_any(path, shared_directories, ARRAY_SIZE(shared_directories));
}

/* May the person write the directory of this path, or chmod it so that they may? */
static bool may_write_parent(const char *path)
{
        char parent[PATH_MAX];
        struct stat st;
        size_t length = (size_t)(strrchr(path, '/') - path);
        if (length >= sizeof parent)
                return true;
        memcpy(parent, length ? path : "/", length ? length : 1);
        parent[length ? length : 1] = '\0';
        return stat(parent, &st) < 0 || st.st_uid == geteuid() || access(parent, W_OK) == 0;
}

int place_link_read(const char *path, char ret_target[static PATH_MAX], bool *ret_box_could_make)
{
        struct stat st;
        CLEANUP_FD int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISLNK(st.st_mode))
                return -EINVAL;
        ssize_t n = readlinkat(fd, "", ret_target, PATH_MAX - 1);
        if (n < 0)
                return -errno;
        ret_target[n] = '\0';
        *ret_box_could_make = geteuid() == 0 ? !is_system_path(path) : st.st_uid == geteuid() || may_write_parent(path);
        return 0;
}
