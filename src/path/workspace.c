/*
 * Containment; see workspace.h.
 *
 * What it is for: a tool gets a path from an agent, and must not touch anything outside the workspace, whatever the
 * path says and whatever other programs do in the workspace at the same time.
 *
 * How it works: the root is a descriptor. A path is first normalised as text (`a/../b` is `b`; a path that climbs above
 * the root is rejected). Most paths have no link in them: one openat2 beneath the root, without following links, opens
 * the file's directory, and the normalised text is the file's path. Otherwise, and where openat2 is missing, the path
 * is walked name by name with O_NOFOLLOW. Directories on the way stay open, so that `..` in a link's target is the
 * directory that we came through, even if it was moved since. A link to an absolute path is followed if that path lies
 * in the root.
 *
 * No path is checked and then used (TOCTOU): the result is a descriptor, and every later operation uses that
 * descriptor, or its parent's and one name without slashes.
 *
 * What an attacker controls: the path; and names and links, which a program in the same tree may swap at any moment.
 * This file must not open, create or change anything that is not beneath the root.
 *
 * A directory that is moved out of the root after we have opened it is still used. This gives an attacker nothing: a
 * process that can move it there can write there anyway.
 *
 * Needs of the kernel: O_PATH. openat2 (5.6), O_TMPFILE and renameat2 are used where they exist.
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
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { LINKS_MAX = 40, DEPTH_MAX = 200, BYTES_MAX = 4096, SHOWN_MAX = 200, ATTRIBUTES_MAX = 4096 };

struct workspace {
        int fd;
        char *root;
        bool no_openat2;
};

int workspace_open(const char *root, struct workspace **ret, struct error *e)
{
        if (*root != '/')
                return error_set(e, EINVAL, "the workspace root '%s' is not an absolute path", root);
        struct workspace *w = calloc(1, sizeof *w);
        char *real = w ? realpath(root, NULL) : NULL;
        if (!real) {
                int code = w ? errno : ENOMEM;
                free(w);
                return error_errno(e, code, "the workspace root %s cannot be used", root);
        }
        w->root = real;
        w->fd = open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (w->fd < 0) {
                int code = errno;
                workspace_free(w);
                return error_errno(e, code, "the workspace root %s cannot be used", root);
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

void workspace_disable_openat2(struct workspace *w)
{
        w->no_openat2 = true;
}

void held_path_done(struct held_path *s)
{
        fd_close(&s->fd);
        fd_close(&s->parent);
        free(s->name);
        free(s->path);
        *s = HELD_PATH_NONE;
}

/* --- paths as text --- */

/* Adds a path for a message: escaped, and shortened so that the rest of the message fits. */
static void add_shortened(struct text *out, const char *path)
{
        size_t n = strnlen(path, SHOWN_MAX + 1);
        text_add_escaped(out, path, n > SHOWN_MAX ? SHOWN_MAX : n);
        text_add(out, n > SHOWN_MAX ? "…" : "");
}

static int fail_outside(const struct workspace *w, const char *path, struct error *e)
{
        CLEANUP_TEXT struct text shown = { 0 };
        add_shortened(&shown, path);
        return error_set(e, EXDEV, "path is outside workspace root: %s is not in %s", shown.data ? shown.data : "it",
                         w->root);
}

/* The part of an absolute path after the root, or NULL when it does not lie in the root. Compares text only. */
static const char *strip_root(const struct workspace *w, const char *path)
{
        size_t n = strcmp(w->root, "/") == 0 ? 0 : strlen(w->root);
        return strncmp(path, w->root, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

/* Appends a path without empty names, `.` and `..`, a slash before each name. False if `..` climbs above the start. */
static bool add_normalised(struct text *out, const char *path)
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

/* Resolves the longest existing part of an absolute path, which may lead into the root through links. */
static char *resolve_existing_part(const char *path)
{
        char head[BYTES_MAX + 1], real[PATH_MAX];
        (void)snprintf(head, sizeof head, "%s", path);
        while (!realpath(head, real)) {
                char *slash = strrchr(head, '/');
                if (errno != ENOENT || !slash || slash == head)
                        return NULL;
                *slash = '\0';
        }
        struct text joined = { 0 };
        text_add(&joined, strcmp(real, "/") == 0 ? "" : real);
        text_add(&joined, path + strlen(head));
        return text_take(&joined);
}

/*
 * The names of a path below the root, a slash before each; "" for the root. This is not a check: the caller still opens
 * the path beneath the root.
 */
static int names_below_root(const struct workspace *w, const char *path, struct text *out, struct error *e)
{
        CLEANUP_TEXT struct text clean = { 0 };
        bool inside = true;
        if (strlen(path) > BYTES_MAX)
                return error_set(e, ENAMETOOLONG, "the path is longer than %d bytes", BYTES_MAX);
        if (*path != '/') {
                inside = add_normalised(out, path);
        } else {
                (void)add_normalised(&clean, path); /* `..` above / is / */
                const char *names = strip_root(w, clean.data ? clean.data : "/");
                CLEANUP_FREE char *real = names ? NULL : resolve_existing_part(clean.data ? clean.data : "/");
                if (!names && real)
                        names = strip_root(w, real);
                inside = names != NULL;
                text_add(out, inside ? names : "");
        }
        if (clean.failed || out->failed)
                return error_errno(e, ENOMEM, "cannot resolve the path");
        return inside ? 0 : fail_outside(w, path, e);
}

/* --- finding --- */

/* The walk along a path: what was resolved so far, as descriptors of its directories and as text. */
struct walk {
        const struct workspace *w;
        const char *shown;        /* the path for messages, escaped and shortened */
        int dirs[DEPTH_MAX + 1];  /* dirs[0] belongs to the workspace, so it is not closed here */
        size_t depth;
        struct text names;        /* below the root, resolved */
        struct text rest;         /* still to be resolved; "" at the end */
        size_t from_path;         /* bytes at the end of `rest` that are the path's own, not a link's target */
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

/* Replaces the rest by a link's target followed by `left`. */
static int prepend_target(struct walk *k, const char *target, const char *left)
{
        struct text rest = { 0 };
        /* what remains of an outer link's target does not count as the path's own */
        if (k->links == 1 || strlen(left) < k->from_path)
                k->from_path = strlen(left);
        text_add(&rest, target);
        text_add(&rest, "/");
        text_add(&rest, left);
        text_done(&k->rest);
        k->rest = rest;
        if (rest.failed)
                return error_errno(k->error, ENOMEM, "cannot resolve the path");
        return rest.length > 2 * BYTES_MAX
                       ? error_set(k->error, ENAMETOOLONG, "the symbolic links in %s make a path that is too long",
                                   k->shown)
                       : 0;
}

static int follow_link(struct walk *k, int link, const char *left)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(link, "", target, sizeof target - 1);
        if (n < 0)
                return error_errno(k->error, errno, "cannot read a symbolic link in %s", k->shown);
        target[n] = '\0';
        if (++k->links > LINKS_MAX)
                return error_set(k->error, ELOOP, "%s has too many symbolic links", k->shown);
        if (*target != '/')
                return prepend_target(k, target, left);
        CLEANUP_TEXT struct text names = { 0 };
        int r = names_below_root(k->w, target, &names, NULL);
        if (r < 0)
                return r == -EXDEV ? fail_outside(k->w, k->shown, k->error)
                                   : error_errno(k->error, -r, "cannot follow a symbolic link");
        climb_to(k, 0);
        return prepend_target(k, names.data ? names.data : "", left);
}

/* Resolves the next name. Returns 1 when it does not exist: `rest` then holds the missing part of the path. */
static int walk_step(struct walk *k, struct held_path *ret)
{
        const char *name = k->rest.data + strspn(k->rest.data, "/");
        size_t n = strcspn(name, "/");
        char one[NAME_MAX + 1], left[3 * BYTES_MAX];
        if (n > NAME_MAX)
                return error_set(k->error, ENAMETOOLONG, "a name in %s is longer than %d bytes", k->shown, NAME_MAX);
        memcpy(one, name, n);
        one[n] = '\0';
        (void)snprintf(left, sizeof left, "%s", name + n); /* the rest is never longer: prepend_target() */
        bool up = strcmp(one, "..") == 0;
        if (up && k->depth == 0)
                return fail_outside(k->w, k->shown, k->error);
        if (up)
                climb_to(k, k->depth - 1);
        CLEANUP_FD int fd = n == 0 || up || strcmp(one, ".") == 0
                ? -1 : openat(k->dirs[k->depth], one, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (n == 0 || up || strcmp(one, ".") == 0))
                goto advance;
        if (fd < 0 && errno == ENOENT)
                return strlen(name) > k->from_path && k->links
                        ? error_set(k->error, ENOENT, "a symbolic link in %s points to a file that does not exist",
                                    k->shown)
                        : 1;
        if (fd < 0 || fstat(fd, &ret->st) < 0)
                return error_errno(k->error, errno, "cannot open %s", k->shown);
        if (S_ISLNK(ret->st.st_mode))
                return follow_link(k, fd, left);
        text_add(&k->names, "/");
        text_add(&k->names, one);
        if (!S_ISDIR(ret->st.st_mode)) {
                if (left[strspn(left, "/")])
                        return error_set(k->error, ENOTDIR, "%s%s is not a directory", k->w->root, k->names.data);
                ret->fd = TAKE_FD(fd);
        } else if (k->depth == DEPTH_MAX) {
                return error_set(k->error, ENAMETOOLONG, "%s is nested too deeply", k->shown);
        } else {
                k->dirs[++k->depth] = TAKE_FD(fd);
        }
advance:
        text_done(&k->rest);
        text_add(&k->rest, left + strspn(left, "/"));
        return k->rest.failed || k->names.failed ? error_errno(k->error, ENOMEM, "cannot resolve the path") : 0;
}

/* Fills the result from the end of the walk. */
static int finish_walk(struct walk *k, bool missing, struct held_path *ret)
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
        } else if (ret->fd < 0) { /* the root */
                ret->fd = fcntl(k->w->fd, F_DUPFD_CLOEXEC, 0);
                text_add(&name, ".");
        } else { /* a file */
                text_add(&name, strrchr(names, '/') + 1);
        }
        ret->parent = fcntl(k->dirs[parent], F_DUPFD_CLOEXEC, 0);
        ret->name = text_take(&name);
        ret->path = text_take(&path);
        if (ret->parent < 0 || (!missing && (ret->fd < 0 || fstat(ret->fd, &ret->st) < 0)))
                return error_errno(k->error, errno, "cannot open %s", k->shown);
        return ret->name && ret->path ? 0 : error_errno(k->error, ENOMEM, "cannot resolve the path");
}

/* The missing part of a path must not have `..`, because there is no directory that it could leave, nor `.`. */
static bool has_only_names(const char *rest)
{
        CLEANUP_TEXT struct text clean = { 0 };
        rest += strspn(rest, "/");
        return add_normalised(&clean, rest) && clean.data && strcmp(clean.data + 1, rest) == 0;
}

static int walk_path(const struct workspace *w, const char *path, const char *names, struct held_path *ret,
                     struct error *e)
{
        CLEANUP_TEXT struct text shown = { 0 };
        add_shortened(&shown, path);
        struct walk k = { .w = w, .shown = shown.data ? shown.data : "it", .dirs = { w->fd }, .error = e };
        int r = 0;
        text_add(&k.rest, names + strspn(names, "/"));
        while (r == 0 && !k.rest.failed && k.rest.length && ret->fd < 0)
                r = walk_step(&k, ret);
        if (r == 0 && k.rest.failed)
                r = error_errno(e, ENOMEM, "cannot resolve the path");
        if (r == 1 && !has_only_names(k.rest.data))
                r = error_set(e, ENOENT, "%s goes through a directory that does not exist", k.shown);
        if (r >= 0)
                r = finish_walk(&k, r == 1, ret);
        walk_done(&k);
        return r;
}

/* Opens a path without links, its directory by openat2. Returns 1 when the path has to be walked. */
static int find_without_links(const struct workspace *w, const char *names, struct held_path *ret)
{
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        const char *slash = strrchr(names, '/');
        if (w->no_openat2 || !slash)
                return 1;
        char above[BYTES_MAX + 1];
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

int workspace_resolve(const struct workspace *w, const char *path, struct held_path *ret, struct error *e)
{
        CLEANUP_TEXT struct text names = { 0 };
        *ret = HELD_PATH_NONE;
        int r = names_below_root(w, path, &names, e);
        if (r < 0)
                return r;
        r = find_without_links(w, names.data ? names.data : "", ret);
        if (r == 1) {
                held_path_done(ret);
                r = walk_path(w, path, names.data ? names.data : "", ret, e);
        }
        if (r < 0)
                held_path_done(ret);
        return r;
}

/* --- using the result --- */

int held_path_open(const struct held_path *s, int flags, struct error *e)
{
        struct stat now;
        if (s->fd < 0)
                return error_set(e, ENOENT, "no such file: %s", s->path);
        CLEANUP_FD int fd = openat(s->parent, s->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return error_errno(e, errno == ELOOP ? ESTALE : errno, "cannot open %s", s->path);
        if (fstat(fd, &now) < 0)
                return error_errno(e, errno, "cannot stat %s", s->path);
        if (now.st_dev != s->st.st_dev || now.st_ino != s->st.st_ino)
                return error_set(e, ESTALE, "%s was replaced while it was opened", s->path);
        return TAKE_FD(fd);
}

/* Creates the missing directories on the way; afterwards s->name is one name. */
static int make_parents(struct held_path *s, struct error *e)
{
        for (char *slash; (slash = strchr(s->name, '/'));) {
                *slash = '\0';
                if (mkdirat(s->parent, s->name, 0777) < 0 && errno != EEXIST)
                        return error_errno(e, errno, "cannot create the directory %s for %s", s->name, s->path);
                int next = openat(s->parent, s->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return error_errno(e, errno == ELOOP || errno == ENOTDIR ? ESTALE : errno,
                                           "cannot open the directory %s of %s", s->name, s->path);
                fd_close(&s->parent);
                s->parent = next;
                memmove(s->name, slash + 1, strlen(slash + 1) + 1);
        }
        return 0;
}

int held_path_create(struct held_path *s, mode_t mode, struct error *e)
{
        if (s->fd >= 0)
                return error_set(e, EEXIST, "%s exists already", s->path);
        int r = make_parents(s, e);
        if (r < 0)
                return r;
        int fd = openat(s->parent, s->name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode);
        return fd < 0 ? error_errno(e, errno, "cannot create %s", s->path) : fd;
}

int held_path_move_here(struct held_path *to, const struct held_path *from, const char *name, struct error *e)
{
        if (to->fd >= 0)
                return error_set(e, EEXIST, "%s exists already", to->path);
        int r = make_parents(to, e);
        if (r < 0)
                return r;
        if (renameat2(from->fd, name, to->parent, to->name, RENAME_NOREPLACE) < 0)
                return errno == EXDEV
                               ? error_set(e, EXDEV, "%s is on another file system: move it there with Bash and mv",
                                           to->path)
                               : error_errno(e, errno, "cannot move %s/%s to %s", from->path, name, to->path);
        to->fd = openat(to->parent, to->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return to->fd < 0 || fstat(to->fd, &to->st) < 0 ? error_errno(e, errno, "cannot open %s", to->path) : 0;
}

struct new_content {
        const void *data;
        size_t length;
        mode_t mode;         /* of a new file */
        int old;             /* the file to replace, open for writing; -1: none */
        struct stat written; /* the file once it had the content, before others could find it */
};

/* The access control list and the attributes of programs; the kernel keeps the others. */
static bool is_copied_attribute(const char *name)
{
        return strncmp(name, "user.", 5) == 0 || strcmp(name, "system.posix_acl_access") == 0;
}

static bool copy_attributes(int from, int to)
{
        char names[ATTRIBUTES_MAX], value[ATTRIBUTES_MAX];
        ssize_t length = flistxattr(from, names, sizeof names);
        for (const char *name = names; length > 0 && name < names + length; name += strlen(name) + 1) {
                ssize_t n = is_copied_attribute(name) ? fgetxattr(from, name, value, sizeof value) : 0;
                if (is_copied_attribute(name) && (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0))
                        return false;
        }
        return length >= 0 || errno != ERANGE;
}

/* Gives the new file the old one's owner, mode and attributes. False if we may not. `old` is open for writing. */
static bool copy_metadata(int fd, const struct held_path *s, int old)
{
        return ((s->st.st_uid == geteuid() && s->st.st_gid == getegid()) ||
                fchown(fd, s->st.st_uid, s->st.st_gid) == 0) &&
               fchmod(fd, s->st.st_mode & 07777) == 0 && copy_attributes(old, fd);
}

/*
 * Writes the content and the metadata, and syncs them to disk before the file gets its final name. `old`: the file to
 * replace, open for writing, or -1. Returns 1 if the new file cannot be like the old one.
 */
static int write_new_file(int fd, const struct held_path *s, struct new_content *c)
{
        if (c->old >= 0 && !copy_metadata(fd, s, c->old))
                return 1;
        int r = fd_write_all(fd, c->data, c->length);
        if (r < 0)
                return r;
        return (c->old < 0 && fchmod(fd, c->mode) < 0) || fsync(fd) < 0 || fstat(fd, &c->written) < 0 ? -errno : 0;
}

/* A random name in the same directory; starts with a dot, so that listings hide it. */
static int make_temporary_name(const struct held_path *s, char *ret, size_t size)
{
        unsigned long long number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return -EIO;
        int n = snprintf(ret, size, ".%.180s.%016llx", s->name, number);
        return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static bool is_unchanged(const struct stat *now, const struct stat *before)
{
        return now->st_dev == before->st_dev && now->st_ino == before->st_ino && now->st_size == before->st_size &&
               now->st_mtim.tv_sec == before->st_mtim.tv_sec && now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/*
 * Renames the new file into place, by exchange with the old one. If the old one is not the file that was found, another
 * process wrote it meanwhile, and it is put back. A file system without RENAME_EXCHANGE gets a plain rename, without
 * this check.
 */
static int rename_into_place(const struct held_path *s, const char *temporary)
{
        struct stat old;
        unsigned flags = s->fd < 0 ? RENAME_NOREPLACE : RENAME_EXCHANGE;
        if (renameat2(s->parent, temporary, s->parent, s->name, flags) < 0) {
                if (errno == EINVAL || errno == ENOSYS)
                        return renameat(s->parent, temporary, s->parent, s->name) < 0 ? -errno : 0;
                return errno == EEXIST || errno == ENOENT ? -ESTALE : -errno;
        }
        if (s->fd < 0)
                return 0;
        bool same = fstatat(s->parent, temporary, &old, AT_SYMLINK_NOFOLLOW) == 0 && is_unchanged(&old, &s->st);
        if (same) {
                (void)unlinkat(s->parent, temporary, 0); /* the new file is in place, even if this fails */
                return 0;
        }
        /* Puts the other process's file back. If that fails, it keeps the temporary name and is not removed. */
        return renameat2(s->parent, temporary, s->parent, s->name, RENAME_EXCHANGE) < 0 ? -ENOTRECOVERABLE : -ESTALE;
}

static int link_as(const struct held_path *s, int fd, const char *name)
{
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, self, s->parent, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/*
 * Links an O_TMPFILE file into place. If we are killed before, no file is left behind. To replace another file it needs
 * a temporary name during the exchange.
 */
static int place_unnamed(const struct held_path *s, int fd)
{
        char temporary[NAME_MAX + 1];
        if (s->fd < 0) {
                int r = link_as(s, fd, s->name);
                return r == -EEXIST ? -ESTALE : r;
        }
        int r = make_temporary_name(s, temporary, sizeof temporary);
        if (r == 0)
                r = link_as(s, fd, temporary);
        if (r < 0)
                return r;
        r = rename_into_place(s, temporary);
        if (r < 0 && r != -ENOTRECOVERABLE)
                (void)unlinkat(s->parent, temporary, 0);
        return r;
}

/* Writes the file under a temporary name and renames it into place, for file systems without O_TMPFILE. */
static int place_named(const struct held_path *s, struct new_content *c, int *ret)
{
        char temporary[NAME_MAX + 1];
        int r = make_temporary_name(s, temporary, sizeof temporary);
        if (r < 0)
                return r;
        CLEANUP_FD int fd = openat(s->parent, temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = write_new_file(fd, s, c);
        if (r == 0)
                r = rename_into_place(s, temporary);
        if (r != 0 && r != -ENOTRECOVERABLE)
                (void)unlinkat(s->parent, temporary, 0);
        if (r == 0)
                *ret = TAKE_FD(fd);
        return r;
}

/*
 * Writes the file itself, as a shell does: for a file that a new one cannot replace with the same owner and access. It
 * is not atomic.
 */
static int write_in_place(const struct held_path *s, struct new_content *c)
{
        struct stat now;
        if (fstat(c->old, &now) < 0)
                return -errno;
        if (!is_unchanged(&now, &s->st))
                return -ESTALE;
        if (ftruncate(c->old, 0) < 0)
                return -errno;
        int r = fd_write_all(c->old, c->data, c->length);
        return r < 0 ? r : fstat(c->old, &c->written) < 0 || fsync(c->old) < 0 ? -errno : 0;
}

/* The file may be writable although its directory is not: by their modes, by a rule for it alone, as a mount point. */
static bool is_refused_by_directory(int r)
{
        return r == -EACCES || r == -EPERM || r == -EROFS || r == -EBUSY || r == -EXDEV;
}

/*
 * Writes the new file and puts it in place. Returns the file's descriptor or -errno.
 */
static int write_and_place(const struct held_path *s, struct new_content *c)
{
        CLEANUP_FD int fd = openat(s->parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        int r = fd < 0 ? -errno : write_new_file(fd, s, c), named = -1;
        if (r == 0)
                r = place_unnamed(s, fd);
        if (r == 0)
                return TAKE_FD(fd);
        if (r == -ESTALE || r == -ENOTRECOVERABLE || r == -ENOSPC || r == -EDQUOT)
                return r;
        if (r < 0 && !is_refused_by_directory(r))
                r = place_named(s, c, &named);
        if (r == 1 || (c->old >= 0 && is_refused_by_directory(r))) {
                r = write_in_place(s, c);
                named = r < 0 ? -1 : fcntl(c->old, F_DUPFD_CLOEXEC, 0);
        }
        return r < 0 ? r : named < 0 ? -errno : named;
}

int held_path_replace(struct held_path *s, const void *data, size_t length, mode_t mode, struct error *e)
{
        if (s->fd >= 0 && !S_ISREG(s->st.st_mode))
                return error_set(e, S_ISDIR(s->st.st_mode) ? EISDIR : EINVAL, "%s is not a regular file", s->path);
        CLEANUP_FD int old = s->fd >= 0 ? held_path_open(s, O_WRONLY, e) : -1; /* the kernel decides who may write */
        if (s->fd >= 0 && old < 0)
                return old == -ESTALE ? error_set(e, ESTALE, "%s was not written: another process changed it", s->path)
                                      : error_errno(e, -old, "cannot write %s", s->path);
        int r = make_parents(s, e);
        if (r < 0)
                return r;
        struct new_content content = { data, length, mode, old, { 0 } };
        CLEANUP_FD int fd = write_and_place(s, &content);
        if (fd == -ESTALE)
                return error_set(e, ESTALE, "%s was not written: another process changed it", s->path);
        if (fd == -ENOTRECOVERABLE)
                return error_set(e, ENOTRECOVERABLE,
                                 "%s was written, but another process wrote it at the same time; that version is in a "
                                 "file beside it whose name begins with '.%.100s.'", s->path, s->name);
        if (fd < 0)
                return error_errno(e, -fd, "cannot write %s", s->path);
        CLEANUP_FD int directory = openat(s->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory >= 0)
                (void)fsync(directory); /* some file systems cannot; the content itself is synced already */
        fd_close(&s->fd);
        s->fd = TAKE_FD(fd);
        if (fstat(s->fd, &s->st) < 0)
                return error_errno(e, errno, "cannot stat %s", s->path);
        if (!is_unchanged(&s->st, &content.written)) /* another process has changed it since, so it counts as unknown */
                s->st = content.written;
        return 0;
}
