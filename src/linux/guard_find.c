/*
 * Resolves a path of the caller to a parent, a name and an object; see guard.h.
 *
 * How it works: most paths have no symlinks in their directories, and one openat2() opens the parent. Otherwise the
 * path is walked name by name, and each symlink is checked by its own name, because a denied name may be a symlink to a
 * file that is not denied. The path that is checked at the end is the one that the kernel reports for the directory at
 * that moment (/proc/self/fd), not the caller's spelling.
 *
 * /proc/self and /proc/thread-self must resolve to the caller, not to the guard, so their targets are built from the
 * caller's ids. The kernel follows the magic links of /proc (cwd, root, fd/N), but only for the caller's own process.
 */
#include "linux/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { LINKS_MAX = 40, REMOVED = 1, LINK = 2 };

void guard_name_close(struct guard_name *n)
{
        fd_close(&n->parent);
        fd_close(&n->object);
}

const char *guard_fd_path(int fd, char ret[GUARD_LINK_BYTES])
{
        (void)snprintf(ret, GUARD_LINK_BYTES, "/proc/self/fd/%d", fd);
        return ret;
}

int guard_deny(struct guard *g, const struct rule *by, const char *path)
{
        g->denied_by = by;
        memcpy(g->denied_path, path, strlen(path) + 1);
        return -EACCES;
}

int guard_judge(struct guard *g, const char *path, bool write)
{
        if (!*path) /* such as a pipe */
                return 0;
        const struct rule *by = name_rules_denial(g->rules, path, write);
        if (!by)
                return 0;
        if (by->kind == RULE_READ) /* as on a read-only mount */
                return -EROFS;
        return guard_deny(g, by, path);
}

bool guard_is_granted(struct guard *g, const char *path, bool write)
{
        return g->own_mounts || !*path || name_rules_allow(g->rules, path, write);
}

int guard_judge_name(struct guard *g, const struct guard_name *n, bool write)
{
        int r = guard_judge(g, n->path, write);
        if (r < 0 || guard_is_granted(g, n->path, write))
                return r;
        /* Landlock alone decides about character devices, and about files without a name, such as a memfd. */
        struct stat st;
        bool exists = n->object >= 0 && fstat(n->object, &st) == 0;
        return exists && (S_ISCHR(st.st_mode) || st.st_nlink == 0) ? 0 : -EACCES;
}

static bool resolves_to(const char *path, const struct stat *wanted)
{
        struct stat found;
        return stat(path, &found) == 0 && stat_same(&found, wanted);
}

/*
 * A process outside may have moved the object since it was found, perhaps out of the box's root; then the path that the
 * kernel reports is not the one that was asked for. 0: the path resolves to the object now; -EAGAIN: it does not.
 */
static int confirm_path(int fd, const char *path)
{
        struct stat held;
        if (fstat(fd, &held) < 0)
                return -errno;
        return resolves_to(path, &held) ? 0 : -EAGAIN;
}

/*
 * Reads the path of an open object, "" if it has none. REMOVED: the file was removed, and this was its last path.
 * -ENOENT: a removed directory. -EACCES: outside the box's root.
 */
static int read_fd_path(const struct guard *g, int fd, char ret[PATH_MAX])
{
        static const char gone[] = " (deleted)";
        char name[16];
        struct stat st;
        (void)snprintf(name, sizeof name, "%d", fd);
        ssize_t n = readlinkat(g->self_fds, name, ret, PATH_MAX - 1);
        if (n < 0)
                return -errno;
        if (n == PATH_MAX - 1)
                return -ENAMETOOLONG;
        ret[n] = '\0';
        if (*ret != '/') { /* "pipe:[1]", or "(unreachable)/..." for a directory outside the box's root */
                bool outside = *ret == '(';
                *ret = '\0';
                return outside ? -EACCES : 0;
        }
        /* A process outside moved it out of its bind mount: the kernel then reports "/". */
        if (n == 1 && confirm_path(fd, "/") < 0)
                return -EACCES;
        size_t length = (size_t)n, suffix = strlen(gone);
        bool marked = length > suffix && strcmp(ret + length - suffix, gone) == 0;
        if (marked && confirm_path(fd, ret) < 0 && fstat(fd, &st) == 0) { /* the mark is not a part of its name */
                /* A removed file can still be opened through its descriptor, so its last path is checked. */
                ret[length - suffix] = '\0';
                return S_ISDIR(st.st_mode) ? -ENOENT : REMOVED;
        }
        return 0;
}

static int open_beneath(int base, const char *path, int flags, uint64_t resolve)
{
        struct open_how how = { .flags = (unsigned)(flags | O_PATH | O_CLOEXEC),
                                .resolve = resolve | RESOLVE_NO_MAGICLINKS };
        int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof how);
        return fd < 0 ? -errno : fd;
}

/* --- name by name --- */

struct walk {
        struct guard *g;
        int at;                    /* the object reached so far, O_PATH */
        unsigned links;
        char rest[2 * PATH_MAX];   /* what is left of the path */
};

bool guard_is_on_proc(int fd)
{
        struct statfs fs;
        return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* The current path of a directory. The result of the last call is cached, and not verified again. */
static int directory_path(struct guard *g, int fd, char ret[PATH_MAX])
{
        struct stat st;
        int r = read_fd_path(g, fd, ret);
        if (r < 0)
                return r;
        if (fstat(fd, &st) < 0)
                return -errno;
        bool known = g->last_directory.inode == st.st_ino && g->last_directory.device == st.st_dev &&
                     strcmp(g->last_directory.path, ret) == 0;
        if (known)
                return 0;
        if (!resolves_to(ret, &st))
                return -EAGAIN;
        g->last_directory.device = st.st_dev;
        g->last_directory.inode = st.st_ino;
        memcpy(g->last_directory.path, ret, strlen(ret) + 1);
        return 0;
}

/* The current path of a name in a directory. */
static int entry_path(struct guard *g, int directory, const char *name, char ret[PATH_MAX])
{
        int r = directory_path(g, directory, ret);
        if (r < 0)
                return r;
        size_t length = strlen(ret), more = strlen(name);
        length -= length == 1; /* "/" */
        if (length + 1 + more >= PATH_MAX)
                return -ENAMETOOLONG;
        ret[length] = '/';
        memcpy(ret + length + 1, name, more + 1);
        return 0;
}

/* Puts a symlink's target in front of the rest of the path. */
static int splice_target(struct walk *w, const char *target)
{
        char rest[sizeof w->rest];
        if ((size_t)snprintf(rest, sizeof rest, "%s/%s", target, w->rest) >= sizeof rest)
                return -ENAMETOOLONG;
        memcpy(w->rest, rest, strlen(rest) + 1);
        if (*target != '/')
                return 0;
        fd_close(&w->at);
        w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return w->at < 0 ? -errno : 0;
}

/* Follows a symlink of /proc: "self" by the caller's ids, a magic link to its object, any other by its target. */
static int follow_proc(struct walk *w, const char *name, const char *path)
{
        char text[48];
        pid_t tgid = 0;
        bool self = strcmp(path, "/proc/self") == 0;
        if (self || strcmp(path, "/proc/thread-self") == 0) {
                int r = guard_caller_tgid(w->g, &tgid);
                if (r < 0)
                        return r;
                (void)snprintf(text, sizeof text, self ? "%d" : "%d/task/%d", (int)tgid, (int)w->g->caller->tid);
                return splice_target(w, text);
        }
        CLEANUP_FD int opened = open_beneath(w->at, name, 0, 0);
        if (opened != -ELOOP) { /* an ordinary symlink, such as /proc/mounts */
                char target[PATH_MAX];
                ssize_t n = readlinkat(w->at, name, target, sizeof target - 1);
                if (n < 0)
                        return -errno;
                target[n] = '\0';
                return splice_target(w, target);
        }
        if (!guard_may_see_proc(w->g, path))
                return -EACCES;
        int object = openat(w->at, name, O_PATH | O_CLOEXEC);
        if (object < 0)
                return -errno;
        fd_close(&w->at);
        w->at = object;
        return 0;
}

static int follow(struct walk *w, int link, const char *name)
{
        char path[PATH_MAX], target[PATH_MAX];
        if (++w->links > LINKS_MAX)
                return -ELOOP;
        int r = entry_path(w->g, w->at, name, path);
        if (r == 0)
                r = guard_judge(w->g, path, false);
        if (r < 0)
                return r;
        if (guard_is_on_proc(link))
                return follow_proc(w, name, path);
        ssize_t n = readlinkat(link, "", target, sizeof target - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        return n == 0 ? -ENOENT : splice_target(w, target);
}

/* Removes the next name from the rest of the path. False at the end, or on error. */
static bool next_name(struct walk *w, char name[NAME_MAX + 1], int *ret_error)
{
        const char *p = w->rest + strspn(w->rest, "/");
        size_t n = strcspn(p, "/");
        *ret_error = n > NAME_MAX ? -ENAMETOOLONG : 0;
        if (n == 0 || *ret_error)
                return false;
        memcpy(name, p, n);
        name[n] = '\0';
        memmove(w->rest, p + n, strlen(p + n) + 1);
        return true;
}

static int step(struct walk *w, const char *name)
{
        struct stat st;
        CLEANUP_FD int next = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 || fstat(next, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return follow(w, next, name);
        fd_close(&w->at);
        w->at = TAKE_FD(next);
        return 0;
}

/* Follows the whole path, a symlink at its end included. Returns an O_PATH descriptor or -errno. */
static int walk(struct guard *g, int base, const char *path, unsigned *links)
{
        char name[NAME_MAX + 1];
        int r = 0;
        struct walk w = { .g = g, .links = *links };
        if (strlen(path) >= sizeof w.rest)
                return -ENAMETOOLONG;
        memcpy(w.rest, path, strlen(path) + 1);
        w.at = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : fcntl(base, F_DUPFD_CLOEXEC, 0);
        if (w.at < 0)
                return -errno;
        while (r == 0 && next_name(&w, name, &r))
                r = step(&w, name);
        *links = w.links;
        if (r < 0)
                fd_close(&w.at);
        return r < 0 ? r : w.at;
}

/* --- the whole path --- */

/* Opens the directory in front of the last name. */
static int find_parent(struct guard *g, int base, const char *text, size_t length, unsigned *links)
{
        char path[PATH_MAX];
        memcpy(path, text, length);
        path[length] = '\0';
        int fd = open_beneath(base, path, O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        if (fd != -ELOOP)
                return fd;
        fd = walk(g, base, path, links);
        struct stat st;
        if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))) {
                fd_close(&fd);
                return -ENOTDIR;
        }
        return fd;
}

/* Finds the last name of "a/b/name///". Returns its length, which is 0 for "/". */
static size_t split_last_name(const char *text, size_t *ret_start, bool *ret_slash)
{
        size_t end = strlen(text), total = end;
        while (end > 0 && text[end - 1] == '/')
                end--;
        size_t start = end;
        while (start > 0 && text[start - 1] != '/')
                start--;
        *ret_start = start;
        *ret_slash = end < total;
        return end - start;
}

static bool is_dots(const char *name, size_t length)
{
        return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

/*
 * A removed file can be opened through an O_PATH descriptor, and opening that one was not checked. So the box must be
 * allowed to read the file's last path, which it is not if a process outside moved the file away before removing it. A
 * memfd has no path.
 */
static int check_removed(struct guard *g, const struct stat *removed, const char *path)
{
        char parent[PATH_MAX], unnamed[32];
        struct stat st;
        if (strncmp(path, "/memfd:", strlen("/memfd:")) == 0)
                return REMOVED;
        memcpy(parent, path, strlen(path) + 1);
        /* The kernel's name for an O_TMPFILE file, which never had one: its directory is checked instead. */
        (void)snprintf(unnamed, sizeof unnamed, "/#%llu", (unsigned long long)removed->st_ino);
        bool named = !text_ends(path, unnamed);
        do {
                *strrchr(parent, '/') = '\0';
        } while (*parent && lstat(parent, &st) < 0 && errno == ENOENT);
        bool same_device = *parent && lstat(parent, &st) == 0 && st.st_dev == removed->st_dev;
        return same_device && name_rules_allow(g->rules, named ? path : parent, false) ? REMOVED : -EACCES;
}

/* Fills in an object without a parent, from a path like "/" or "a/..", a magic link or a descriptor. */
static int fill_object(struct guard *g, int object, struct guard_name *ret)
{
        struct stat st;
        ret->object = object;
        if (object < 0)
                return object;
        if (fstat(object, &st) < 0)
                return -errno;
        ret->mode = st.st_mode;
        int r = read_fd_path(g, object, ret->path);
        if (r == REMOVED)
                return check_removed(g, &st, ret->path);
        return r == 0 && *ret->path && !S_ISLNK(st.st_mode) ? confirm_path(object, ret->path) : r;
}

/*
 * Resolves the parent, which may be the base itself, and looks up the last name. LINK: that is a symlink which has to
 * be followed.
 */
static int find_once(struct guard *g, int *base, const char *text, unsigned flags, unsigned *links,
                     struct guard_name *ret)
{
        size_t start;
        size_t length = split_last_name(text, &start, &ret->slash);
        if (length == 0 || is_dots(text + start, length)) {
                memcpy(ret->name, text + start, length);
                ret->name[length] = '\0';
                return fill_object(g, walk(g, *base < 0 ? AT_FDCWD : *base, text, links), ret);
        }
        if (length > NAME_MAX)
                return -ENAMETOOLONG;
        memcpy(ret->name, text + start, length);
        ret->name[length] = '\0';
        ret->parent = start == 0 ? TAKE_FD(*base) : find_parent(g, *base < 0 ? AT_FDCWD : *base, text, start, links);
        if (ret->parent < 0)
                return ret->parent;
        int r = entry_path(g, ret->parent, ret->name, ret->path);
        if (r < 0)
                return r;
        if (flags & GUARD_NO_OBJECT)
                return 0;
        struct stat st;
        ret->object = openat(ret->parent, ret->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (ret->object < 0)
                return errno == ENOENT ? 0 : -errno;
        if (fstat(ret->object, &st) < 0)
                return -errno;
        ret->mode = st.st_mode;
        bool follow = (flags & GUARD_FOLLOW) || ret->slash;
        return S_ISLNK(st.st_mode) && follow && !((flags & GUARD_ENTRY) && ret->slash) ? LINK : 0;
}

static int find_text(struct guard *g, int directory, const char *text, unsigned flags, struct guard_name *ret)
{
        char path[PATH_MAX], target[PATH_MAX];
        unsigned links = 0;
        ret->parent = ret->object = -1;
        ret->path[0] = ret->name[0] = '\0';
        if (!*text)
                return -ENOENT;
        CLEANUP_FD int base = *text == '/' ? -1 : guard_open_base(g, directory);
        if (base < 0 && *text != '/')
                return base;
        memcpy(path, text, strlen(text) + 1);
        for (;;) {
                int r = find_once(g, &base, path, flags, &links, ret);
                if (r <= 0 || r == REMOVED)
                        return r;
                r = guard_judge(g, ret->path, false);
                if (r < 0)
                        return r;
                if (++links > LINKS_MAX)
                        return -ELOOP;
                bool slash = ret->slash;
                if (guard_is_on_proc(ret->object)) { /* perhaps a magic link, whose object may have no name */
                        int object = walk(g, ret->parent, ret->name, &links);
                        guard_name_close(ret);
                        ret->name[0] = '\0';
                        return fill_object(g, object, ret);
                }
                ssize_t n = readlinkat(ret->object, "", target, sizeof target - 2);
                if (n <= 0)
                        return n < 0 ? -errno : -ENOENT;
                target[n] = slash ? '/' : '\0';
                target[n + slash] = '\0';
                fd_close(&base);
                base = TAKE_FD(ret->parent); /* a relative target starts at the symlink's directory */
                guard_name_close(ret);
                memcpy(path, target, strlen(target) + 1);
        }
}

/* Retries while objects move during the search. An object that still has no confirmed path is denied. */
int guard_find_text(struct guard *g, int directory, const char *text, unsigned flags, struct guard_name *ret)
{
        enum { ROUNDS_MAX = 16 };
        int r = -EAGAIN;
        for (unsigned round = 0; r == -EAGAIN && round < ROUNDS_MAX; round++) {
                if (round)
                        guard_name_close(ret);
                r = find_text(g, directory, text, flags, ret);
        }
        return r == -EAGAIN ? -EACCES : r > 0 ? 0 : r;
}

/* --- plain paths --- */

static bool is_plain(const char *text)
{
        for (;;) {
                size_t n = strcspn(text, "/");
                if (n == 0 || n > NAME_MAX || is_dots(text, n))
                        return false;
                if (!text[n])
                        return true;
                text += n + 1;
        }
}

static int plain_path(struct guard *g, int directory, const char *text, char ret[PATH_MAX])
{
        bool absolute = *text == '/';
        const char *names = text + (absolute ? 1 : text_has_prefix(text, "./") ? 2 : 0);
        if (!is_plain(names))
                return -EAGAIN;
        if (absolute && !guard_caller_is_waiting(g))
                return -ESRCH;
        int r = absolute ? 0 : guard_base_path(g, directory, ret);
        if (r < 0)
                return r;
        size_t length = absolute || !ret[1] ? 0 : strlen(ret), more = strlen(names);
        if (length + 1 + more >= PATH_MAX)
                return -EAGAIN;
        ret[length] = '/';
        memcpy(ret + length + 1, names, more + 1);
        return 0;
}

int guard_find_plain(struct guard *g, int directory, uint64_t address, char ret[PATH_MAX])
{
        char text[PATH_MAX];
        int n = guard_read_string(g, address, text, sizeof text, ENAMETOOLONG);
        return n < 0 ? n : plain_path(g, directory, text, ret);
}

static int read_mode(struct guard_name *n)
{
        struct stat st;
        if (fstat(n->object, &st) < 0)
                return -errno;
        n->mode = st.st_mode;
        return 0;
}

static int open_plain(struct guard_name *n)
{
        n->object = fd_open_no_symlinks(AT_FDCWD, n->path, O_PATH, 0);
        return n->object < 0 ? n->object : read_mode(n);
}

int guard_find_object(struct guard *g, int directory, uint64_t address, struct guard_name *ret)
{
        ret->parent = ret->object = -1;
        ret->slash = false;
        ret->name[0] = '\0';
        int r = guard_find_plain(g, directory, address, ret->path);
        if (r == 0)
                r = open_plain(ret);
        return r == -ELOOP ? -EAGAIN : r;
}

/* Opens the directory of a plain path, and splits off the last name. */
static int open_plain_parent(struct guard_name *n)
{
        char *slash = strrchr(n->path, '/');
        memcpy(n->name, slash + 1, strlen(slash + 1) + 1);
        *slash = '\0';
        n->parent = fd_open_no_symlinks(AT_FDCWD, *n->path ? n->path : "/", O_PATH | O_DIRECTORY, 0);
        *slash = '/';
        return n->parent < 0 ? n->parent : 0;
}

/* The fast way, for plain paths without symlinks, as most are. -EAGAIN: the path has to be walked. */
static int find_fast(struct guard *g, int directory, const char *text, unsigned flags, struct guard_name *ret)
{
        ret->slash = false;
        ret->name[0] = '\0';
        int r = plain_path(g, directory, text, ret->path);
        if (r < 0)
                return r == -ESRCH ? r : -EAGAIN;
        if (!(flags & (GUARD_ENTRY | GUARD_NO_OBJECT)))
                return open_plain(ret) < 0 ? -EAGAIN : 0;
        if (open_plain_parent(ret) < 0)
                return -EAGAIN;
        if (flags & GUARD_NO_OBJECT)
                return 0;
        ret->object = openat(ret->parent, ret->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (ret->object < 0)
                return errno == ENOENT ? 0 : -EAGAIN;
        r = read_mode(ret);
        return r == 0 && S_ISLNK(ret->mode) && (flags & GUARD_FOLLOW) ? -EAGAIN : r;
}

int guard_find(struct guard *g, int directory, uint64_t address, unsigned flags, struct guard_name *ret)
{
        char text[PATH_MAX];
        ret->parent = ret->object = -1;
        int n = guard_read_string(g, address, text, sizeof text, ENAMETOOLONG);
        if (n < 0)
                return n;
        int r = find_fast(g, directory, text, flags, ret);
        if (r != -EAGAIN)
                return r;
        guard_name_close(ret);
        /* With a relative path, guard_open_base() notices when the caller has exited. */
        if (*text == '/' && !guard_caller_is_waiting(g))
                return -ESRCH;
        if (n == 0 && (flags & GUARD_EMPTY_PATH) && directory != AT_FDCWD)
                return guard_find_fd(g, directory, ret);
        if (n == 0 && (flags & GUARD_EMPTY_PATH))
                return guard_find_text(g, directory, ".", flags, ret);
        return guard_find_text(g, directory, text, flags, ret);
}

int guard_find_fd(struct guard *g, int fd, struct guard_name *ret)
{
        ret->parent = ret->object = -1;
        ret->slash = false;
        ret->name[0] = ret->path[0] = '\0';
        int r = fill_object(g, guard_reopen_caller_fd(g, fd), ret);
        return r == -EAGAIN ? -EACCES : r > 0 ? 0 : r;
}
