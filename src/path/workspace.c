/*
 * Containment; see workspace.h.
 *
 * What it is for: a tool gets a path from an agent, and must not touch anything outside the workspace, whatever the path
 * says and whatever else happens in the workspace at the same time.
 *
 * How it works: the root is a descriptor. A path is cleaned as text first (`a/../b` is `b`; one that climbs over the root
 * is refused). Most paths have no link in them: one openat2 beneath the root that follows none finds the file, and its
 * text is its name. Otherwise, and where there is no openat2, the path is walked name by name with O_NOFOLLOW. Directories
 * on the way stay open, so that `..` in a link's target is the one that we came from, not what stands there by now. A link
 * to an absolute path is followed when that lies in the root.
 *
 * Never is a path checked and then used again: what was found is a descriptor, and what is done with it is done by
 * descriptor and one name without slashes.
 *
 * What an attacker controls: the path; names, links and their exchange at any moment, by a program that works in the same
 * tree. What it must not do: open, make or change anything that does not lie beneath the root.
 *
 * A directory that is moved out of the root while it is held stays held. Whoever may move it there may write there.
 *
 * Needs of the kernel: nothing beyond POSIX; openat2 (5.6) makes it faster.
 */
#include "path/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { MOST_LINKS = 40, MOST_DEPTH = 200, MOST_BYTES = 4096, MOST_SHOWN = 200 };

static const char stage[] = "path";

struct workspace {
        int fd;
        char *root;
        bool walks; /* there is no openat2 */
};

int workspace_open(const char *root, struct workspace **ret, struct error *e)
{
        if (*root != '/')
                return error_set(e, EINVAL, stage, "the workspace root '%s' is not an absolute path", root);
        struct workspace *w = calloc(1, sizeof *w);
        char *real = w ? realpath(root, NULL) : NULL;
        if (!real) {
                int code = w ? errno : ENOMEM;
                free(w);
                return error_errno(e, code, stage, "the workspace root %s cannot be used", root);
        }
        w->root = real;
        w->fd = open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (w->fd < 0) {
                int code = errno;
                workspace_free(w);
                return error_errno(e, code, stage, "the workspace root %s cannot be used", root);
        }
        *ret = w;
        return 0;
}

void workspace_free(struct workspace *w)
{
        if (!w)
                return;
        fd_close(&w->fd);
        free(w->root);
        free(w);
}

const char *workspace_root(const struct workspace *w)
{
        return w->root;
}

void workspace_forget_openat2(struct workspace *w)
{
        w->walks = true;
}

void spot_done(struct spot *s)
{
        fd_close(&s->fd);
        fd_close(&s->parent);
        free(s->name);
        free(s->path);
        *s = SPOT_NONE;
}

/* --- paths as text --- */

/* A path for a message: in so few letters that what is said of it is not cut off. */
static void add_shown(struct text *out, const char *path)
{
        size_t n = strnlen(path, MOST_SHOWN + 1);
        text_add_visible(out, path, n > MOST_SHOWN ? MOST_SHOWN : n);
        text_add(out, n > MOST_SHOWN ? "…" : "");
}

static int outside(const struct workspace *w, const char *path, struct error *e)
{
        CLEANUP_TEXT struct text shown = { 0 };
        add_shown(&shown, path);
        return error_set(e, EXDEV, stage, "path is outside workspace root: %s is not in %s", shown.data ? shown.data : "it",
                         w->root);
}

/* What is left of an absolute path behind the root, or NULL when it does not lie in it. Compares text. */
static const char *behind_root(const struct workspace *w, const char *path)
{
        size_t n = strcmp(w->root, "/") == 0 ? 0 : strlen(w->root);
        return strncmp(path, w->root, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

/* Appends a path without empty names, `.` and `..`, each name with a slash in front. False when it climbs too high. */
static bool add_clean(struct text *out, const char *path)
{
        while (*path) {
                path += strspn(path, "/");
                size_t n = strcspn(path, "/");
                if (n == 2 && path[0] == '.' && path[1] == '.') {
                        if (!out->length)
                                return false;
                        while (out->data[--out->length] != '/')
                                ;
                        out->data[out->length] = '\0';
                } else if (n && !(n == 1 && *path == '.')) {
                        text_add(out, "/");
                        text_add_bytes(out, path, n);
                }
                path += n;
        }
        return true;
}

/* The real name of an absolute path that may lie in the root under another name: by its longest part that exists. */
static char *other_name(const char *path)
{
        char head[MOST_BYTES + 1], real[PATH_MAX];
        (void)snprintf(head, sizeof head, "%s", path);
        while (!realpath(head, real)) {
                char *slash = strrchr(head, '/');
                if (errno != ENOENT || !slash || slash == head)
                        return NULL;
                *slash = '\0';
        }
        struct text whole = { 0 };
        text_add(&whole, strcmp(real, "/") == 0 ? "" : real);
        text_add(&whole, path + strlen(head));
        return text_take(&whole);
}

/* The names from the root on, each with a slash in front; nothing for the root itself. Only text: nothing is believed. */
static int names_of(const struct workspace *w, const char *path, struct text *out, struct error *e)
{
        CLEANUP_TEXT struct text clean = { 0 };
        bool inside = true;
        if (strlen(path) > MOST_BYTES)
                return error_set(e, ENAMETOOLONG, stage, "the path is longer than %d bytes", MOST_BYTES);
        if (*path != '/') {
                inside = add_clean(out, path);
        } else {
                (void)add_clean(&clean, path); /* above / there is / */
                const char *names = behind_root(w, clean.data ? clean.data : "/");
                CLEANUP_FREE char *real = names ? NULL : other_name(clean.data ? clean.data : "/");
                if (!names && real)
                        names = behind_root(w, real);
                inside = names != NULL;
                text_add(out, inside ? names : "");
        }
        if (clean.failed || out->failed)
                return error_errno(e, ENOMEM, stage, "no memory");
        return inside ? 0 : outside(w, path, e);
}

/* --- finding --- */

/* The path so far, as descriptors of its directories and as text. */
struct walk {
        const struct workspace *w;
        const char *asked;        /* for messages */
        int dirs[MOST_DEPTH + 1]; /* dirs[0] is the root's, which is not ours to close */
        size_t depth;
        struct text names;        /* behind the root */
        struct text rest;         /* still to go; nothing when all was found */
        size_t written;           /* of the rest, what the path itself said: what lies before it is a link's target */
        unsigned links;
        struct error *error;
};

static void walk_done(struct walk *k)
{
        while (k->depth)
                fd_close(&k->dirs[k->depth--]);
        text_done(&k->names);
        text_done(&k->rest);
}

static void climb_to(struct walk *k, size_t depth)
{
        while (k->depth > depth) {
                fd_close(&k->dirs[k->depth--]);
                while (k->names.data[--k->names.length] != '/')
                        ;
                k->names.data[k->names.length] = '\0';
        }
}

/* The rest becomes a link's target, with what was left behind it. */
static int take_target(struct walk *k, const char *target, const char *left)
{
        struct text rest = { 0 };
        if (k->links == 1 || strlen(left) < k->written) /* what an outer link's target still has to say is not the path's */
                k->written = strlen(left);
        text_add(&rest, target);
        text_add(&rest, "/");
        text_add(&rest, left);
        text_done(&k->rest);
        k->rest = rest;
        if (rest.failed)
                return error_errno(k->error, ENOMEM, stage, "no memory");
        return rest.length > 2 * MOST_BYTES ? error_set(k->error, ENAMETOOLONG, stage, "the links of %s lead too far", k->asked)
                                            : 0;
}

static int follow(struct walk *k, int link, const char *left)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(link, "", target, sizeof target - 1);
        if (n < 0)
                return error_errno(k->error, errno, stage, "cannot follow a link in %s", k->asked);
        target[n] = '\0';
        if (++k->links > MOST_LINKS)
                return error_set(k->error, ELOOP, stage, "%s has too many links in it", k->asked);
        if (*target != '/')
                return take_target(k, target, left);
        CLEANUP_TEXT struct text names = { 0 };
        int r = names_of(k->w, target, &names, NULL);
        if (r < 0)
                return r == -EXDEV ? outside(k->w, k->asked, k->error) : error_errno(k->error, -r, stage, "cannot follow a link");
        climb_to(k, 0);
        return take_target(k, names.data ? names.data : "", left);
}

/* One name further. Returns 1 when there is nothing: the rest then is what is missing. */
static int step(struct walk *k, struct spot *ret)
{
        const char *name = k->rest.data + strspn(k->rest.data, "/");
        size_t n = strcspn(name, "/");
        char one[NAME_MAX + 1], left[3 * MOST_BYTES];
        if (n > NAME_MAX)
                return error_set(k->error, ENAMETOOLONG, stage, "a name in %s is longer than %d bytes", k->asked, NAME_MAX);
        memcpy(one, name, n);
        one[n] = '\0';
        (void)snprintf(left, sizeof left, "%s", name + n); /* the rest is never longer: take_target() */
        bool up = strcmp(one, "..") == 0;
        if (up && k->depth == 0)
                return outside(k->w, k->asked, k->error);
        if (up)
                climb_to(k, k->depth - 1);
        CLEANUP_FD int fd = n == 0 || up || strcmp(one, ".") == 0
                ? -1 : openat(k->dirs[k->depth], one, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (n == 0 || up || strcmp(one, ".") == 0))
                goto further;
        if (fd < 0 && errno == ENOENT)
                return strlen(name) > k->written && k->links
                        ? error_set(k->error, ENOENT, stage, "a symbolic link in %s leads to nothing", k->asked) : 1;
        if (fd < 0 || fstat(fd, &ret->st) < 0)
                return error_errno(k->error, errno, stage, "cannot look at %s", k->asked);
        if (S_ISLNK(ret->st.st_mode))
                return follow(k, fd, left);
        text_add(&k->names, "/");
        text_add(&k->names, one);
        if (!S_ISDIR(ret->st.st_mode)) {
                if (left[strspn(left, "/")])
                        return error_set(k->error, ENOTDIR, stage, "%s%s is not a directory", k->w->root, k->names.data);
                ret->fd = TAKE_FD(fd);
        } else if (k->depth == MOST_DEPTH) {
                return error_set(k->error, ENAMETOOLONG, stage, "%s lies too deep", k->asked);
        } else {
                k->dirs[++k->depth] = TAKE_FD(fd);
        }
further:
        text_done(&k->rest);
        text_add(&k->rest, left + strspn(left, "/"));
        return k->rest.failed || k->names.failed ? error_errno(k->error, ENOMEM, stage, "no memory") : 0;
}

/* What the walk has come to. */
static int arrive(struct walk *k, bool missing, struct spot *ret)
{
        const char *names = k->names.data ? k->names.data : "";
        struct text name = { 0 }, path = { 0 };
        text_add(&path, strcmp(k->w->root, "/") == 0 && *names ? "" : k->w->root);
        text_add(&path, names);
        size_t parent = k->depth;
        if (missing) {
                const char *rest = k->rest.data + strspn(k->rest.data, "/");
                text_format(&path, "/%s", rest);
                text_add(&name, rest);
        } else if (ret->fd < 0 && k->depth) { /* a directory */
                ret->fd = TAKE_FD(k->dirs[k->depth]);
                parent = k->depth - 1;
                text_add(&name, strrchr(names, '/') + 1);
        } else if (ret->fd < 0) {
                ret->fd = fcntl(k->w->fd, F_DUPFD_CLOEXEC, 0);
                text_add(&name, ".");
        } else {
                text_add(&name, strrchr(names, '/') + 1);
        }
        ret->parent = fcntl(k->dirs[parent], F_DUPFD_CLOEXEC, 0);
        ret->name = text_take(&name);
        ret->path = text_take(&path);
        if (ret->parent < 0 || (!missing && (ret->fd < 0 || fstat(ret->fd, &ret->st) < 0)))
                return error_errno(k->error, errno, stage, "cannot hold %s", k->asked);
        return ret->name && ret->path ? 0 : error_errno(k->error, ENOMEM, stage, "no memory");
}

/* A missing end must be plain names: nothing is there that `..` could lead out of. */
static bool is_plain(const char *rest)
{
        CLEANUP_TEXT struct text clean = { 0 };
        rest += strspn(rest, "/");
        return add_clean(&clean, rest) && clean.data && strcmp(clean.data + 1, rest) == 0;
}

static int walk(const struct workspace *w, const char *asked, const char *names, struct spot *ret, struct error *e)
{
        CLEANUP_TEXT struct text shown = { 0 };
        add_shown(&shown, asked);
        struct walk k = { .w = w, .asked = shown.data ? shown.data : "it", .dirs = { w->fd }, .error = e };
        int r = 0;
        text_add(&k.rest, names + strspn(names, "/"));
        while (r == 0 && !k.rest.failed && k.rest.length && ret->fd < 0)
                r = step(&k, ret);
        if (r == 0 && k.rest.failed)
                r = error_errno(e, ENOMEM, stage, "no memory");
        if (r == 1 && !is_plain(k.rest.data))
                r = error_set(e, ENOENT, stage, "%s leads through a directory that is not there", k.asked);
        if (r >= 0)
                r = arrive(&k, r == 1, ret);
        walk_done(&k);
        return r;
}

/* Without any link in it, a path is found at once. Returns 1 when it has to be walked. */
static int find_straight(const struct workspace *w, const char *names, struct spot *ret)
{
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        const char *slash = strrchr(names, '/');
        if (w->walks || !slash)
                return 1;
        char above[MOST_BYTES + 1];
        if ((size_t)(slash - names) >= sizeof above)
                return 1;
        memcpy(above, names, (size_t)(slash - names));
        above[slash - names] = '\0';
        CLEANUP_FD int parent = *above ? (int)syscall(SYS_openat2, w->fd, above + 1, &how, sizeof how)
                                       : fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
        CLEANUP_FD int fd = parent < 0 ? -1 : openat(parent, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct text path = { 0 };
        text_add(&path, strcmp(w->root, "/") == 0 ? "" : w->root);
        text_add(&path, names);
        if (fd < 0 || fstat(fd, &ret->st) < 0 || S_ISLNK(ret->st.st_mode) || path.failed) {
                text_done(&path);
                return 1;
        }
        ret->name = strdup(slash + 1);
        ret->path = text_take(&path);
        ret->parent = TAKE_FD(parent);
        ret->fd = TAKE_FD(fd);
        return ret->name ? 0 : 1;
}

int workspace_find(const struct workspace *w, const char *path, struct spot *ret, struct error *e)
{
        CLEANUP_TEXT struct text names = { 0 };
        *ret = SPOT_NONE;
        int r = names_of(w, path, &names, e);
        if (r < 0)
                return r;
        r = find_straight(w, names.data ? names.data : "", ret);
        if (r == 1) {
                spot_done(ret);
                r = walk(w, path, names.data ? names.data : "", ret, e);
        }
        if (r < 0)
                spot_done(ret);
        return r;
}

/* --- using what was found --- */

int spot_open(const struct spot *s, int flags, struct error *e)
{
        struct stat now;
        if (s->fd < 0)
                return error_set(e, ENOENT, stage, "no such file: %s", s->path);
        CLEANUP_FD int fd = openat(s->parent, s->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return error_errno(e, errno == ELOOP ? ESTALE : errno, stage, "cannot open %s", s->path);
        if (fstat(fd, &now) < 0)
                return error_errno(e, errno, stage, "cannot look at %s", s->path);
        if (now.st_dev != s->st.st_dev || now.st_ino != s->st.st_ino)
                return error_set(e, ESTALE, stage, "%s was replaced while it was opened", s->path);
        return TAKE_FD(fd);
}

/* The directories on the way that are missing; the spot's name then is one name. */
static int make_parents(struct spot *s, struct error *e)
{
        for (char *slash; (slash = strchr(s->name, '/'));) {
                *slash = '\0';
                if (mkdirat(s->parent, s->name, 0777) < 0 && errno != EEXIST)
                        return error_errno(e, errno, stage, "cannot make the directory %s for %s", s->name, s->path);
                int next = openat(s->parent, s->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return error_errno(e, errno == ELOOP || errno == ENOTDIR ? ESTALE : errno, stage,
                                           "cannot enter the directory %s of %s", s->name, s->path);
                fd_close(&s->parent);
                s->parent = next;
                memmove(s->name, slash + 1, strlen(slash + 1) + 1);
        }
        return 0;
}

int spot_create(struct spot *s, mode_t mode, struct error *e)
{
        if (s->fd >= 0)
                return error_set(e, EEXIST, stage, "%s exists already", s->path);
        int r = make_parents(s, e);
        if (r < 0)
                return r;
        int fd = openat(s->parent, s->name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode);
        return fd < 0 ? error_errno(e, errno, stage, "cannot make %s", s->path) : fd;
}

/* Content, mode and owner; on the disk before it has a name that anybody knows. */
static int fill(int fd, const struct spot *s, const void *data, size_t length, mode_t mode)
{
        int r = fd_write_all(fd, data, length);
        if (r < 0)
                return r;
        if (s->fd >= 0 && (s->st.st_uid != geteuid() || s->st.st_gid != getegid()) &&
            fchown(fd, s->st.st_uid, s->st.st_gid) < 0 && errno != EPERM)
                return -errno;
        if (fchmod(fd, s->fd >= 0 ? s->st.st_mode & 07777 : mode) < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

/* A name beside the file that nobody has; starts with a dot, so that lists pass over it. */
static int temporary_name(const struct spot *s, char *ret, size_t size)
{
        unsigned long long number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return -EIO;
        int n = snprintf(ret, size, ".%.180s.%016llx", s->name, number);
        return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/*
 * Gives the new file its name. What stood there must be what was found: otherwise somebody else was quicker, and their
 * work is put back. Filesystems that cannot exchange names are taken at the word of the last look.
 */
static int swap_in(const struct spot *s, const char *beside)
{
        struct stat old;
        unsigned how = s->fd < 0 ? RENAME_NOREPLACE : RENAME_EXCHANGE;
        if (renameat2(s->parent, beside, s->parent, s->name, how) < 0) {
                if (errno == EINVAL || errno == ENOSYS)
                        return renameat(s->parent, beside, s->parent, s->name) < 0 ? -errno : 0;
                return errno == EEXIST || errno == ENOENT ? -ESTALE : -errno;
        }
        if (s->fd < 0)
                return 0;
        bool same = fstatat(s->parent, beside, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_dev == s->st.st_dev &&
                    old.st_ino == s->st.st_ino && old.st_size == s->st.st_size &&
                    old.st_mtim.tv_sec == s->st.st_mtim.tv_sec && old.st_mtim.tv_nsec == s->st.st_mtim.tv_nsec;
        if (same) {
                (void)unlinkat(s->parent, beside, 0); /* the new one is in its place either way */
                return 0;
        }
        /* What somebody else wrote meanwhile goes back. If it cannot, it stays beside, and is not removed. */
        return renameat2(s->parent, beside, s->parent, s->name, RENAME_EXCHANGE) < 0 ? -ENOTRECOVERABLE : -ESTALE;
}

static int give_name(const struct spot *s, int fd, const char *name)
{
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, self, s->parent, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/*
 * Puts a file that has no name in place. Who is killed before it has one leaves nothing behind; one that replaces another
 * has a name beside it for as long as the exchange takes.
 */
static int put_nameless(const struct spot *s, int fd)
{
        char beside[NAME_MAX + 1];
        if (s->fd < 0) {
                int r = give_name(s, fd, s->name);
                return r == -EEXIST ? -ESTALE : r;
        }
        int r = temporary_name(s, beside, sizeof beside);
        if (r == 0)
                r = give_name(s, fd, beside);
        if (r < 0)
                return r;
        r = swap_in(s, beside);
        if (r < 0 && r != -ENOTRECOVERABLE)
                (void)unlinkat(s->parent, beside, 0);
        return r;
}

/* The same with a name from the start, where a file cannot be without. */
static int put_named(const struct spot *s, const void *data, size_t length, mode_t mode, int *ret)
{
        char beside[NAME_MAX + 1];
        int r = temporary_name(s, beside, sizeof beside);
        if (r < 0)
                return r;
        CLEANUP_FD int fd = openat(s->parent, beside, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = fill(fd, s, data, length, mode);
        if (r == 0)
                r = swap_in(s, beside);
        if (r < 0 && r != -ENOTRECOVERABLE)
                (void)unlinkat(s->parent, beside, 0);
        if (r == 0)
                *ret = TAKE_FD(fd);
        return r;
}

/* Returns the descriptor of the file in its place. */
static int put(const struct spot *s, const void *data, size_t length, mode_t mode)
{
        CLEANUP_FD int fd = openat(s->parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        int r = fd < 0 ? -errno : fill(fd, s, data, length, mode), named = -1;
        if (r == 0)
                r = put_nameless(s, fd);
        if (r == 0)
                return TAKE_FD(fd);
        if (r == -ESTALE || r == -ENOSPC || r == -EDQUOT || r == -EROFS)
                return r;
        r = put_named(s, data, length, mode, &named);
        return r < 0 ? r : named;
}

int spot_replace(struct spot *s, const void *data, size_t length, mode_t mode, struct error *e)
{
        if (s->fd >= 0 && !S_ISREG(s->st.st_mode))
                return error_set(e, S_ISDIR(s->st.st_mode) ? EISDIR : EINVAL, stage, "%s is not a regular file", s->path);
        int r = make_parents(s, e);
        if (r < 0)
                return r;
        CLEANUP_FD int fd = put(s, data, length, mode);
        if (fd < 0)
                return fd == -ESTALE ? error_set(e, ESTALE, stage, "%s changed while it was written", s->path)
                                     : error_errno(e, -fd, stage, "cannot write %s", s->path);
        CLEANUP_FD int directory = openat(s->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory >= 0)
                (void)fsync(directory); /* some filesystems cannot; the content is safe either way */
        fd_close(&s->fd);
        s->fd = TAKE_FD(fd);
        return fstat(s->fd, &s->st) < 0 ? error_errno(e, errno, stage, "cannot look at %s", s->path) : 0;
}
