/*
 * Creates, moves and removes names for the caller; see guard.h.
 *
 * Moving a directory moves every name in it. If a rule could match those names differently at the new path (a denied
 * name becomes free, or a protected name appears), the guard checks each of them, under the exclusive lock.
 */
#include "linux/guard_git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { MOVED_MAX = 50000, MOVED_DEPTH_MAX = 128 };

/* --- one name --- */

/* The error that the caller would get without any rule (-EEXIST, -ENOTDIR, ...); if there is none, `otherwise`. */
static int check_absent(const struct guard_name *n, int otherwise)
{
        struct stat st;
        if (fstatat(n->parent, n->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return -EEXIST;
        return errno == ENOENT ? otherwise : -errno;
}

/* Finds and checks a name to be created. The call that creates it usually detects that it exists already. */
static int find_new_name(struct guard *g, int directory, uint64_t address, enum guard_git_change change,
                     struct guard_name *ret)
{
        guard_lock(g, false);
        int r = guard_find(g, directory, address, GUARD_ENTRY | GUARD_NO_OBJECT, ret);
        if (r < 0)
                return r;
        if (ret->parent < 0)
                return -EEXIST;
        ret->mode = 0;
        r = ret->slash ? check_absent(ret, 0) : 0;
        if (r == 0)
                r = guard_judge_name(g, ret, true);
        if (r == 0)
                r = guard_git_judge(g, ret, change, NULL);
        return r == -EACCES || r == -EROFS ? check_absent(ret, r) : r;
}

static long make_directory(struct guard *g, int directory, uint64_t address, mode_t mode)
{
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_new_name(g, directory, address, GUARD_GIT_CREATE_DIRECTORY, &n);
        if (r == 0)
                r = guard_apply_umask(g);
        if (r < 0)
                return r;
        return mkdirat(n.parent, n.name, mode) < 0 ? -errno : 0;
}

long guard_mkdir(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_directory(g, AT_FDCWD, args[0], (mode_t)args[1]);
}

long guard_mkdirat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_directory(g, (int)args[0], args[1], (mode_t)args[2]);
}

/* The filter refuses device nodes, so they do not get here. */
static long make_node(struct guard *g, int directory, uint64_t address, mode_t mode)
{
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = find_new_name(g, directory, address, GUARD_GIT_CREATE_OTHER, &n);
        if (r == 0 && n.slash)
                r = -ENOENT;
        if (r == 0)
                r = guard_apply_umask(g);
        if (r < 0)
                return r;
        return mknodat(n.parent, n.name, mode, 0) < 0 ? -errno : 0;
}

long guard_mknod(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_node(g, AT_FDCWD, args[0], (mode_t)args[1]);
}

long guard_mknodat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_node(g, (int)args[0], args[1], (mode_t)args[2]);
}

/* Denies a symlink in place of a directory that a rule's path leads through: it would redirect that path. */
static int check_new_symlink(struct guard *g, const struct guard_name *n)
{
        const struct rule *by = name_rules_below(g->rules, n->path);
        return by ? guard_deny(g, by, n->path) : 0;
}

static long make_symlink(struct guard *g, uint64_t target_address, int directory, uint64_t address)
{
        char target[PATH_MAX];
        CLEANUP_GUARD_NAME struct guard_name n = { .parent = -1, .object = -1 };
        int r = guard_read_string(g, target_address, target, sizeof target, ENAMETOOLONG);
        if (r == 0)
                return -ENOENT;
        if (r > 0)
                r = find_new_name(g, directory, address, GUARD_GIT_CREATE_OTHER, &n);
        if (r == 0 && n.slash)
                r = -ENOENT;
        if (r == 0)
                r = check_new_symlink(g, &n);
        if (r == 0)
                r = guard_git_check_link(g, &n, target);
        if (r < 0)
                return r == -EACCES && n.parent >= 0 ? check_absent(&n, r) : r;
        return symlinkat(target, n.parent, n.name) < 0 ? -errno : 0;
}

long guard_symlink(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_symlink(g, args[0], AT_FDCWD, args[1]);
}

long guard_symlinkat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_symlink(g, args[0], (int)args[1], args[2]);
}

/* The error that the caller would get without any rule (-ENOENT, -ENOTDIR); if there is none, `otherwise`. */
static int check_present(const struct guard_name *n, int otherwise)
{
        struct stat st;
        if (fstatat(n->parent, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return n->slash && !S_ISDIR(st.st_mode) ? -ENOTDIR : otherwise;
}

static long remove_name(struct guard *g, int directory, uint64_t address, int flags)
{
        bool is_rmdir = flags & AT_REMOVEDIR;
        if (flags & ~AT_REMOVEDIR)
                return -EINVAL;
        CLEANUP_GUARD_NAME struct guard_name n;
        guard_lock(g, false);
        int r = guard_find(g, directory, address, GUARD_ENTRY | GUARD_NO_OBJECT, &n);
        if (r < 0)
                return r;
        if (n.parent < 0) /* ".", ".." or "/" */
                return !is_rmdir ? -EISDIR : !n.name[0] ? -EBUSY : n.name[1] ? -ENOTEMPTY : -EINVAL;
        n.mode = S_IFREG; /* or an empty directory, which takes no other name with it */
        r = n.slash ? check_present(&n, 0) : 0;
        if (r == 0)
                r = guard_judge_name(g, &n, true);
        if (r == 0)
                r = guard_git_judge(g, &n, GUARD_GIT_REMOVE, NULL);
        if (r < 0)
                return r == -EACCES || r == -EROFS ? check_present(&n, r) : r;
        return unlinkat(n.parent, n.name, flags) < 0 ? -errno : 0;
}

long guard_unlink(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return remove_name(g, AT_FDCWD, args[0], 0);
}

long guard_rmdir(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return remove_name(g, AT_FDCWD, args[0], AT_REMOVEDIR);
}

long guard_unlinkat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return remove_name(g, (int)args[0], args[1], (int)args[2]);
}

/* --- two names --- */

/* A hard link would bypass the rules for the file's first name, so that one must be writable. */
static int check_link_source(struct guard *g, const struct guard_name *source)
{
        struct stat st;
        if (fstat(source->object, &st) == 0 && st.st_nlink == 0)
                return 0; /* it never had a name (O_TMPFILE), or it was removed and the kernel refuses to link it */
        int r = guard_judge_name(g, source, true);
        if (r == -EROFS)
                return -EXDEV; /* as across mounts, so that programs copy instead */
        r = r < 0 ? r : guard_git_judge(g, source, GUARD_GIT_WRITE, NULL);
        return r == GUARD_GIT_KEEP_EMPTY ? -EACCES : r;
}

static long make_link(struct guard *g, int from, uint64_t old, int to, uint64_t new, int flags)
{
        CLEANUP_GUARD_NAME struct guard_name source = { .parent = -1, .object = -1 };
        CLEANUP_GUARD_NAME struct guard_name destination = { .parent = -1, .object = -1 };
        char path[GUARD_LINK_BYTES];
        if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
                return -EINVAL;
        guard_lock(g, false);
        int r = guard_find(g, from, old, (flags & AT_SYMLINK_FOLLOW ? GUARD_FOLLOW : 0) |
                           (flags & AT_EMPTY_PATH ? GUARD_EMPTY_PATH : 0), &source);
        if (r == 0 && source.object < 0)
                r = -ENOENT;
        if (r == 0 && source.slash && !S_ISDIR(source.mode))
                r = -ENOTDIR;
        if (r == 0)
                r = check_link_source(g, &source);
        if (r == 0)
                r = find_new_name(g, to, new, GUARD_GIT_CREATE_OTHER, &destination);
        if (r == 0 && S_ISLNK(source.mode))
                r = check_new_symlink(g, &destination);
        if (r == 0 && S_ISLNK(source.mode))
                r = guard_git_check_link(g, &destination, "");
        if (r == 0 && destination.slash)
                r = -ENOENT;
        if (r < 0)
                return r == -EACCES && destination.parent >= 0 ? check_absent(&destination, r) : r;
        (void)guard_fd_path(source.object, path);
        return linkat(AT_FDCWD, path, destination.parent, destination.name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

long guard_link(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_link(g, AT_FDCWD, args[0], AT_FDCWD, args[1], 0);
}

long guard_linkat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return make_link(g, (int)args[0], args[1], (int)args[2], args[3], (int)args[4]);
}

/* The check of a directory that moves from one path to another. */
struct move {
        struct guard *g;
        char from[PATH_MAX], to[PATH_MAX]; /* of the name that is being checked */
        size_t names;                      /* checked so far */
};

/* Denies the move if a rule denies the name at only one of the two paths. */
static int compare_rules(struct move *m)
{
        static const bool write[] = { false, true };
        for (size_t i = 0; i < ARRAY_SIZE(write); i++) {
                bool before = name_rules_denial(m->g->rules, m->from, write[i]) != NULL;
                bool after = name_rules_denial(m->g->rules, m->to, write[i]) != NULL;
                if (before != after)
                        return guard_judge(m->g, before ? m->from : m->to, write[i]);
        }
        return 0;
}

static int check_directory(struct move *m, int directory, const char *name, unsigned depth);

static int check_name(struct move *m, int directory, const struct dirent *d, unsigned depth)
{
        size_t from = strlen(m->from), to = strlen(m->to), length = strlen(d->d_name);
        if (++m->names > MOVED_MAX || depth > MOVED_DEPTH_MAX)
                return -EXDEV; /* too many to check: programs then copy, name by name */
        if (from + length + 2 > sizeof m->from || to + length + 2 > sizeof m->to)
                return -ENAMETOOLONG;
        (void)snprintf(m->from + from, sizeof m->from - from, "/%s", d->d_name);
        (void)snprintf(m->to + to, sizeof m->to - to, "/%s", d->d_name);
        int r = compare_rules(m);
        if (r == 0 && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
            name_rules_differ_below(m->g->rules, m->from, m->to))
                r = check_directory(m, directory, d->d_name, depth + 1);
        m->from[from] = m->to[to] = '\0';
        return r;
}

static int check_directory(struct move *m, int directory, const char *name, unsigned depth)
{
        int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                int code = errno;
                fd_close(&fd);
                return code == ENOTDIR ? 0 : -code;
        }
        int r = 0;
        for (struct dirent *d; r == 0 && (d = readdir(dir));) // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                        r = check_name(m, dirfd(dir), d, depth);
        (void)closedir(dir);
        return r;
}

static bool rules_may_differ(struct guard *g, const struct guard_name *from, const struct guard_name *to)
{
        return from->object >= 0 && S_ISDIR(from->mode) && name_rules_differ_below(g->rules, from->path, to->path);
}

static int check_move(struct guard *g, const struct guard_name *from, const struct guard_name *to)
{
        struct move m = { .g = g };
        if (!rules_may_differ(g, from, to))
                return 0;
        if (!g->exclusive)
                return GUARD_RETRY_EXCLUSIVE;
        memcpy(m.from, from->path, strlen(from->path) + 1);
        memcpy(m.to, to->path, strlen(to->path) + 1);
        return check_directory(&m, from->parent, from->name, 0);
}

/* Returns the errors of rename(2) first, then checks both names. */
static int check_both_names(struct guard *g, const struct guard_name *from, const struct guard_name *to, unsigned flags)
{
        if (from->parent < 0 || to->parent < 0)
                return from->parent >= 0 && flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
        if (from->object < 0 || (flags & RENAME_EXCHANGE && to->object < 0))
                return -ENOENT;
        if (flags & RENAME_NOREPLACE && to->object >= 0)
                return -EEXIST;
        if (flags & RENAME_EXCHANGE && to->slash && !S_ISDIR(to->mode))
                return -ENOTDIR;
        if (!S_ISDIR(from->mode) && (from->slash || (to->slash && !(flags & RENAME_EXCHANGE))))
                return -ENOTDIR;
        int r = guard_judge_name(g, from, true);
        if (r == 0)
                r = guard_judge_name(g, to, true);
        if (r == 0 && S_ISLNK(from->mode))
                r = check_new_symlink(g, to);
        return r == 0 && (flags & RENAME_EXCHANGE) && to->object >= 0 && S_ISLNK(to->mode) ? check_new_symlink(g, from)
                                                                                           : r;
}

/* Returns 0, -errno, GUARD_RETRY_EXCLUSIVE, or 1: the guard has to replace the source with a copy before the move. */
static int check_rename(struct guard *g, const struct guard_name *from, const struct guard_name *to, unsigned flags)
{
        bool exchange = flags & RENAME_EXCHANGE;
        int r = check_both_names(g, from, to, flags);
        bool directory = from->object >= 0 && (S_ISDIR(from->mode) || (to->object >= 0 && S_ISDIR(to->mode)));
        if (r == 0 && directory && g->protects_git && !g->exclusive)
                return GUARD_RETRY_EXCLUSIVE; /* another guard may be checking a git file in this directory */
        if (r == 0)
                r = check_move(g, from, to);
        if (r == 0 && exchange)
                r = check_move(g, to, from);
        if (r == 0)
                r = guard_git_judge(g, from, GUARD_GIT_REMOVE, NULL);
        if (r == 0 && exchange)
                r = guard_git_judge(g, to, GUARD_GIT_REMOVE, NULL);
        if (r == 0 && exchange && to->object >= 0)
                r = guard_git_judge(g, from, GUARD_GIT_MOVE_HERE, to);
        if (r != 0)
                return r < 0 ? r : -EACCES; /* an exchange cannot move a copy */
        r = guard_git_judge(g, to, GUARD_GIT_MOVE_HERE, from);
        return r == GUARD_GIT_INSTALL && exchange ? -EACCES : r;
}

static long rename_names(struct guard *g, int from, uint64_t old, int to, uint64_t new, unsigned flags)
{
        CLEANUP_GUARD_NAME struct guard_name source = { .parent = -1, .object = -1 };
        CLEANUP_GUARD_NAME struct guard_name destination = { .parent = -1, .object = -1 };
        const unsigned known = RENAME_NOREPLACE | RENAME_EXCHANGE;
        if ((flags & ~known) || (flags & known) == known)
                return -EINVAL; /* RENAME_WHITEOUT would create a device; the other two exclude each other */
        guard_lock(g, false);
        int r = guard_find(g, from, old, GUARD_ENTRY, &source);
        if (r == 0)
                r = guard_find(g, to, new, GUARD_ENTRY, &destination);
        if (r == 0)
                r = check_rename(g, &source, &destination, flags);
        if (r == GUARD_GIT_INSTALL)
                return guard_git_install(g, &source, &destination, flags);
        if (r < 0)
                return r;
        return renameat2(source.parent, source.name, destination.parent, destination.name, flags) < 0 ? -errno : 0;
}

long guard_rename(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return rename_names(g, AT_FDCWD, args[0], AT_FDCWD, args[1], 0);
}

long guard_renameat(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return rename_names(g, (int)args[0], args[1], (int)args[2], args[3], 0);
}

long guard_renameat2(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        return rename_names(g, (int)args[0], args[1], (int)args[2], args[3], (unsigned)args[4]);
}
