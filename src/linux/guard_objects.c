/*
 * Changes modes, owners, times and extended attributes for the caller; see guard.h. All changes are made through an
 * O_PATH descriptor of the object that was checked. The calls that take a descriptor are guarded too, because one that
 * is open for reading is enough for them.
 */
#include "linux/guard_git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/fd.h"

enum { XATTR_NAME = 256, XATTR_VALUE = 65536 };

static int check_change(struct guard *g, const struct guard_name *n, const mode_t *mode)
{
        enum { ALL = 07777 };
        bool toggles_exec = mode && S_ISREG(n->mode) && !((*mode ^ n->mode) & (ALL & ~(mode_t)S_IXUSR));
        int r = guard_judge_name(g, n, true);
        if (r == 0 && !g->own_mounts && (S_ISCHR(n->mode) || S_ISBLK(n->mode)))
                r = -EACCES; /* a device of the host, and Landlock has no right for these changes */
        return r < 0 ? r : guard_git_judge(g, n, toggles_exec ? GUARD_GIT_TOGGLE_EXEC : GUARD_GIT_METADATA, NULL);
}

/* Finds the object of a path, or of `directory` if the path is empty, and checks the change. */
static int find_changeable(struct guard *g, int directory, uint64_t address, unsigned flags, const mode_t *mode,
                           struct guard_name *ret)
{
        int r = guard_find(g, directory, address, flags, ret);
        if (r == 0 && ret->object < 0)
                r = -ENOENT;
        if (r == 0 && ret->slash && !S_ISDIR(ret->mode))
                r = -ENOTDIR;
        return r < 0 ? r : check_change(g, ret, mode);
}

static int find_changeable_fd(struct guard *g, int fd, const mode_t *mode, struct guard_name *ret)
{
        int r = guard_find_fd(g, fd, ret);
        return r < 0 ? r : check_change(g, ret, mode);
}

static unsigned at_flags(int flags)
{
        return (flags & AT_SYMLINK_NOFOLLOW ? 0U : GUARD_FOLLOW) | (flags & AT_EMPTY_PATH ? GUARD_EMPTY_PATH : 0U);
}

/* --- modes --- */

/* Set-group-ID only makes new files inherit the group of a directory; a program would run with the group's rights. */
static long change_mode(const struct guard_name *n, mode_t mode)
{
        char path[GUARD_LINK_BYTES];
        if (S_ISLNK(n->mode))
                return -EOPNOTSUPP;
        if ((mode & S_ISGID) && !S_ISDIR(n->mode))
                return -EPERM;
        return chmod(guard_fd_path(n->object, path), mode) < 0 ? -errno : 0;
}

static long change_mode_at(struct guard *g, int directory, uint64_t address, mode_t mode, int flags)
{
        if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_changeable(g, directory, address, at_flags(flags), &mode, &n);
        return r < 0 ? r : change_mode(&n, mode);
}

long guard_chmod(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_mode_at(g, AT_FDCWD, args[0], (mode_t)args[1], 0);
}

long guard_fchmodat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_mode_at(g, (int)args[0], args[1], (mode_t)args[2], 0);
}

long guard_fchmodat2(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_mode_at(g, (int)args[0], args[1], (mode_t)args[2], (int)args[3]);
}

long guard_fchmod(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        CLEANUP_GUARD_NAME struct guard_name n;
        const mode_t mode = (mode_t)args[1];
        int r = find_changeable_fd(g, (int)args[0], &mode, &n);
        return r < 0 ? r : change_mode(&n, mode);
}

/* --- owners --- */

static long change_owner(const struct guard_name *n, uint64_t user, uint64_t group)
{
        return fchownat(n->object, "", (uid_t)user, (gid_t)group, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static long change_owner_at(struct guard *g, int directory, const uint64_t *args, int flags)
{
        if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_changeable(g, directory, args[0], at_flags(flags), NULL, &n);
        return r < 0 ? r : change_owner(&n, args[1], args[2]);
}

long guard_chown(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_owner_at(g, AT_FDCWD, args, 0);
}

long guard_lchown(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_owner_at(g, AT_FDCWD, args, AT_SYMLINK_NOFOLLOW);
}

long guard_fchownat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_owner_at(g, (int)args[0], args + 1, (int)args[4]);
}

long guard_fchown(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_changeable_fd(g, (int)args[0], NULL, &n);
        return r < 0 ? r : change_owner(&n, args[1], args[2]);
}

/* --- times --- */

static long change_times(struct guard *g, int directory, uint64_t address, const struct timespec *times, int flags)
{
        if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = address || directory == AT_FDCWD ? find_changeable(g, directory, address, at_flags(flags), NULL, &n)
                                                 : find_changeable_fd(g, directory, NULL, &n);
        if (r < 0)
                return r;
        return utimensat(n.object, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

long guard_utimensat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        struct timespec times[2];
        int r = args[2] ? guard_read_memory(g, args[2], times, sizeof times) : 0;
        return r < 0 ? r : change_times(g, (int)args[0], args[1], args[2] ? times : NULL, (int)args[3]);
}

static long change_times_by_timeval(struct guard *g, int directory, uint64_t address, uint64_t values)
{
        enum { MICROSECONDS = 1000000 };
        struct timeval given[2];
        struct timespec times[2];
        int r = values ? guard_read_memory(g, values, given, sizeof given) : 0;
        for (size_t i = 0; r == 0 && values && i < ARRAY_SIZE(times); i++) {
                if (given[i].tv_usec < 0 || given[i].tv_usec >= MICROSECONDS)
                        return -EINVAL;
                times[i] = (struct timespec){ given[i].tv_sec, given[i].tv_usec * 1000 };
        }
        return r < 0 ? r : change_times(g, directory, address, values ? times : NULL, 0);
}

long guard_utimes(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_times_by_timeval(g, AT_FDCWD, args[0], args[1]);
}

long guard_futimesat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_times_by_timeval(g, (int)args[0], args[1], args[2]);
}

long guard_utime(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        struct utimbuf given;
        int r = args[1] ? guard_read_memory(g, args[1], &given, sizeof given) : 0;
        if (r < 0)
                return r;
        const struct timespec times[2] = { { .tv_sec = args[1] ? given.actime : 0 },
                                           { .tv_sec = args[1] ? given.modtime : 0 } };
        return change_times(g, AT_FDCWD, args[0], args[1] ? times : NULL, 0);
}

/* --- attributes --- */

static long set_attribute(struct guard *g, const struct guard_name *n, const uint64_t *args)
{
        char path[GUARD_LINK_BYTES], name[XATTR_NAME];
        int r = guard_read_string(g, args[0], name, sizeof name, ERANGE);
        if (r < 0)
                return r;
        if (args[2] > XATTR_VALUE)
                return -E2BIG;
        CLEANUP_FREE char *value = malloc(args[2] ? args[2] : 1);
        if (!value)
                return -ENOMEM;
        r = guard_read_memory(g, args[1], value, args[2]);
        if (r < 0)
                return r;
        return setxattr(guard_fd_path(n->object, path), name, value, args[2], (int)args[3]) < 0 ? -errno : 0;
}

static long remove_attribute(struct guard *g, const struct guard_name *n, const uint64_t *args)
{
        char path[GUARD_LINK_BYTES], name[XATTR_NAME];
        int r = guard_read_string(g, args[0], name, sizeof name, ERANGE);
        if (r < 0)
                return r;
        return removexattr(guard_fd_path(n->object, path), name) < 0 ? -errno : 0;
}

typedef long change_attribute(struct guard *g, const struct guard_name *n, const uint64_t *args);

static long change_attribute_of(struct guard *g, const uint64_t *args, unsigned flags, change_attribute *change)
{
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_changeable(g, AT_FDCWD, args[0], flags, NULL, &n);
        return r < 0 ? r : change(g, &n, args + 1);
}

static long change_attribute_of_fd(struct guard *g, const uint64_t *args, change_attribute *change)
{
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_changeable_fd(g, (int)args[0], NULL, &n);
        return r < 0 ? r : change(g, &n, args + 1);
}

long guard_setxattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of(g, args, GUARD_FOLLOW, set_attribute);
}

long guard_lsetxattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of(g, args, 0, set_attribute);
}

long guard_fsetxattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of_fd(g, args, set_attribute);
}

long guard_removexattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of(g, args, GUARD_FOLLOW, remove_attribute);
}

long guard_lremovexattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of(g, args, 0, remove_attribute);
}

long guard_fremovexattr(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return change_attribute_of_fd(g, args, remove_attribute);
}
