/*
 * The root directory of a box: a tree of mounts that shows the files of its plan.
 *
 * What it is for: a box sees the files that its plan shows, at the paths they have outside, and nothing else. A hidden
 * file fails with EACCES or does not exist; a read-only file is on a read-only mount, for every program and every user
 * id.
 *
 * How it works: in the box's own mount namespace, one tmpfs (`tmpfs`) is mounted where only the keeper sees it. It
 * holds the directory that becomes the new root, the box's private directories, and the masks of denied paths. Each of
 * them is mounted in the box by cloning the mount at that directory (open_tree) and moving the clone to its path, so
 * one superblock is enough for them all. A private directory whose parents are all made here is simply a directory of
 * the new root. The new root is mounted writable; Landlock limits where the box writes (confine.c). Granted files are
 * clones of the real mounts; the attributes of a clone are set before it is attached. At the end the new root replaces
 * the old one (pivot_root), and the old one is detached, with the other directories of `tmpfs`.
 *
 * What it should do: mount every place of the plan (resolved_paths.h), or fail. What it must not do: follow a symbolic
 * link inside the new root (openat2 refuses), or leave any part of the old root reachable.
 *
 * What an attacker controls: names and links in the workspace, created in an earlier run; see resolved_paths.c.
 *
 * Needs of the kernel: open_tree, move_mount, fsopen (5.2), openat2 (5.6), mount_setattr (5.12), tmpfs, proc and devpts
 * in a user namespace.
 */
#include "linux/box_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/box_setup.h"
#include "linux/mount_api.h"
#include "linux/resolved_paths.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

/* Hidden by `tmpfs` until the pivot: it exists on every machine, and this file reads nothing in it. */
#define TMPFS_POINT "/proc"

enum { MASKED_NAMES_MAX = 20000 };

static const uint64_t locked_attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

struct root_builder {
        const struct plan *plan;
        struct arena *arena;
        struct error *error;
        int tmpfs;
        int new_root;
        const char *last_parent; /* the last path that make_parents() made */
        unsigned made_count;     /* files and directories made in `tmpfs`; numbers their names */
        bool mask_made[2];       /* the mask of files, and of directories */
        size_t masked_names;     /* entries of denied directories that were masked one by one */
        const struct resolved_paths *places;
        bool shows_all;          /* the plan grants /, so the new root is a clone of the old one */
        int *read_only_later;    /* mounts that become read-only when the root is complete */
        size_t read_only_later_count;
};

static int set_error(struct root_builder *r, const char *verb, const char *path)
{
        return error_errno(r->error, errno, "cannot %s %s", verb, path);
}

/* --- finding and making mount points, never through a link --- */

static int open_in_root(const struct root_builder *r, const char *path)
{
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, r->new_root, path, &how, sizeof how);
}

static int make_parents(struct root_builder *r, const char *path)
{
        size_t length = (size_t)(strrchr(path, '/') - path);
        if (r->last_parent && strncmp(path, r->last_parent, length) == 0 && !r->last_parent[length])
                return 0;
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                char *parent = arena_strndup(r->arena, path + 1, (size_t)(slash - path - 1));
                if (!parent)
                        return -ENOMEM;
                if (mkdirat(r->new_root, parent, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        r->last_parent = arena_strndup(r->arena, path, length);
        return 0;
}

/*
 * Makes a mount point and its parents by plain paths, which is safe in directories that the keeper made in `tmpfs`:
 * they contain no links.
 */
static int make_mount_point(struct root_builder *r, const char *path, bool directory)
{
        int e = make_parents(r, path);
        if (e < 0)
                return e;
        if (directory)
                return mkdirat(r->new_root, path + 1, 0755) < 0 && errno != EEXIST ? -errno : 0;
        return mknodat(r->new_root, path + 1, S_IFREG | 0444, 0) < 0 && errno != EEXIST ? -errno : 0;
}

/* Is the deepest existing parent in `tmpfs`? In a granted directory a mount point would stay after the box has ended.
 */
static bool may_make_mount_point(const struct root_builder *r, const char *path)
{
        char parent[PATH_MAX];
        struct stat tmpfs, found;
        if (strlen(path) >= sizeof parent || fstat(r->tmpfs, &tmpfs) < 0)
                return false;
        memcpy(parent, path, strlen(path) + 1);
        for (char *slash; (slash = strrchr(parent, '/'));) {
                *slash = '\0';
                CLEANUP_FD int fd = open_in_root(r, *parent ? parent : "/");
                if (fd >= 0)
                        return fstat(fd, &found) == 0 && found.st_dev == tmpfs.st_dev;
                if (errno != ENOENT)
                        return false;
        }
        return false;
}

/* Makes the mount point if it does not exist. Fails with ENOENT if it must not be made: may_make_mount_point(). */
static int open_mount_point(struct root_builder *r, const char *path, bool directory)
{
        int fd = open_in_root(r, path);
        if (fd >= 0 || errno != ENOENT)
                return fd;
        if (!may_make_mount_point(r, path)) {
                errno = ENOENT;
                return -1;
        }
        int e = make_mount_point(r, path, directory);
        if (e < 0) {
                errno = -e;
                return -1;
        }
        return open_in_root(r, path);
}

/*
 * Is the parent a directory that the keeper made in the new root? Then no other process has put names or links there.
 */
static bool is_in_made_directory(const struct root_builder *r, const char *path)
{
        if (r->shows_all)
                return false;
        for (size_t i = 0; i < r->places->count; i++) {
                const struct resolved_path *p = &r->places->list[i];
                if (p->kind != RESOLVED_PRIVATE && strcmp(p->path, path) != 0 && path_is_beneath(path, p->path))
                        return false;
        }
        return true;
}

/* In directories that the keeper made. */
static int mount_by_name(struct root_builder *r, int tree, const char *path, bool directory)
{
        int e = make_mount_point(r, path, directory);
        errno = -e;
        return e < 0 || mount_attach_at(tree, r->new_root, path + 1) < 0 ? set_error(r, "mount", path) : 0;
}

static int mount_at(struct root_builder *r, int tree, const char *path, bool directory)
{
        if (is_in_made_directory(r, path))
                return mount_by_name(r, tree, path, directory);
        CLEANUP_FD int target = open_mount_point(r, path, directory);
        if (target < 0)
                return set_error(r, "make a mount point for", path);
        if (mount_attach_fd(tree, target) < 0)
                return set_error(r, "mount", path);
        return 0;
}

/* --- mounting the places --- */

static int mask_subdirectory(struct root_builder *r, const char *path, int mask, const char *name);

static int mount_real(struct root_builder *r, const struct resolved_path *p)
{
        bool device = path_is_beneath(p->path, "/dev");
        CLEANUP_FD int real = fd_open_no_symlinks(AT_FDCWD, p->path, O_PATH, 0);
        errno = real < 0 ? -real : 0;
        CLEANUP_FD int tree = real < 0 ? -1 : mount_clone_tree(real, "");
        if (tree < 0)
                return set_error(r, "clone the mount of", p->path);
        uint64_t attributes = MOUNT_ATTR_NOSUID | (device ? 0 : MOUNT_ATTR_NODEV) |
                              (p->kind == RESOLVED_READ_ONLY ? MOUNT_ATTR_RDONLY : 0);
        if (mount_set_attributes(tree, attributes, true) < 0)
                return set_error(r, "set the mount attributes of", p->path);
        return mount_at(r, tree, p->path, p->is_directory);
}

/* Makes a directory in `tmpfs` and mounts it at `path`. If ret_fd is not NULL, the mount stays open for
 * remount_later(). */
static int mount_own_directory(struct root_builder *r, const char *path, mode_t mode, uint64_t attributes, int *ret_fd)
{
        char name[32];
        (void)snprintf(name, sizeof name, "%u", r->made_count++);
        if (mkdirat(r->tmpfs, name, 0700) < 0)
                return set_error(r, "make a directory to mount at", path);
        if (fchmodat(r->tmpfs, name, mode, 0) < 0)
                return set_error(r, "set the mode of", path);
        CLEANUP_FD int tree = mount_clone_tree(r->tmpfs, name);
        if (tree < 0)
                return set_error(r, "clone a directory to mount at", path);
        if (mount_set_attributes(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes, false) < 0)
                return set_error(r, "set the mount attributes of", path);
        int e = mount_at(r, tree, path, true);
        if (e == 0 && ret_fd)
                *ret_fd = TAKE_FD(tree);
        return e;
}

/*
 * A detached mount of an empty object that cannot be opened. All masks clone the same file or directory: the first use
 * makes it, bind-mounted on itself with the attributes that its clones inherit.
 */
static int clone_mask(struct root_builder *r, bool directory)
{
        const char *name = directory ? "no-directory" : "no-file";
        if (r->mask_made[directory])
                return mount_clone_tree(r->tmpfs, name);
        if (directory ? mkdirat(r->tmpfs, name, 0) < 0 : mknodat(r->tmpfs, name, S_IFREG, 0) < 0)
                return -1;
        CLEANUP_FD int tree = mount_clone_tree(r->tmpfs, name);
        if (tree < 0 || mount_set_attributes(tree, locked_attributes, false) < 0 ||
            mount_attach_at(tree, r->tmpfs, name) < 0)
                return -1;
        r->mask_made[directory] = true;
        return mount_clone_tree(r->tmpfs, name);
}

static int mount_private(struct root_builder *r, const struct resolved_path *p)
{
        /* Every user in the box may write to /tmp; a home belongs to its user. */
        bool shared = rule_is_of_set(p->rule, SET_TEMPORARY);
        mode_t mode = shared ? 01777 : 0700;
        if (!is_in_made_directory(r, p->path)) {
                CLEANUP_FD int existing = open_in_root(r, p->path);
                if (existing < 0 && errno == ENOENT && !may_make_mount_point(r, p->path))
                        return 0; /* a granted directory does not have it: there is nothing to hide */
                return mount_own_directory(r, p->path, mode, 0, NULL);
        }
        int e = make_mount_point(r, p->path, true);
        errno = -e;
        return e < 0 || fchmodat(r->new_root, p->path + 1, mode, 0) < 0 ? set_error(r, "make", p->path) : 0;
}

/* Takes the descriptor. The mount becomes read-only at the end, because grants inside it still need mount points. */
static int remount_later(struct root_builder *r, int mount)
{
        int *slot = arena_array_push(r->arena, &r->read_only_later, &r->read_only_later_count, sizeof *slot);
        if (!slot) {
                fd_close(&mount);
                return error_errno(r->error, ENOMEM, "no memory");
        }
        *slot = mount;
        return 0;
}

/* Is something granted at this path, or below it? */
static bool leads_to_grant(const struct root_builder *r, const char *path)
{
        for (size_t i = 0; i < r->places->count; i++)
                if (r->places->list[i].kind <= RESOLVED_PRIVATE && path_is_beneath(r->places->list[i].path, path))
                        return true;
        return false;
}

/*
 * A denied directory with a grant inside has to stay searchable, so its other entries would fail with ENOENT. They have
 * to fail with EACCES: each is replaced by an empty object that cannot be opened. The directory itself cannot be
 * listed.
 */
static int mask_entries(struct root_builder *r, const char *path, int mask)
{
        DIR *dir = opendir(path);
        int e = 0;
        for (struct dirent *d; e == 0 && dir && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                const char *inner = arena_format(r->arena, "%s/%s", path, d->d_name);
                if (!inner)
                        e = error_errno(r->error, ENOMEM, "cannot deny the entries of %s", path);
                else if (++r->masked_names > MASKED_NAMES_MAX)
                        e = error_set(r->error, E2BIG, "%s is denied but has a grant inside, and it has too many "
                                      "entries to deny each of the others", path);
                else if (leads_to_grant(r, inner))
                        e = d->d_type == DT_DIR ? mask_subdirectory(r, inner, mask, d->d_name) : 0;
                else if (d->d_type == DT_DIR ? mkdirat(mask, d->d_name, 0) < 0
                                             : mknodat(mask, d->d_name, S_IFREG, 0) < 0)
                        e = set_error(r, "mask", inner);
        }
        if (dir)
                (void)closedir(dir);
        return e;
}

static int mask_subdirectory(struct root_builder *r, const char *path, int mask, const char *name)
{
        if (mkdirat(mask, name, 0700) < 0)
                return set_error(r, "mask", path);
        CLEANUP_FD int fd = openat(mask, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int e = fd < 0 ? set_error(r, "mask", path) : mask_entries(r, path, fd);
        if (e == 0 && fchmod(fd, 0111) < 0)
                e = set_error(r, "mask", path);
        return e;
}

static int mount_mask(struct root_builder *r, const struct resolved_path *p)
{
        if (!p->holds_grants) {
                CLEANUP_FD int mask = clone_mask(r, p->is_directory);
                return mask < 0 ? set_error(r, "mask", p->path) : mount_at(r, mask, p->path, p->is_directory);
        }
        int mount = -1;
        int e = mount_own_directory(r, p->path, 0111, MOUNT_ATTR_NOEXEC, &mount);
        if (e == 0)
                e = mask_entries(r, p->path, mount);
        return e < 0 ? e : remount_later(r, mount);
}

/* Bind-mounts a place of the new root, with the mounts inside it, on itself. */
static int mount_on_itself(struct root_builder *r, const struct resolved_path *p, uint64_t attributes)
{
        CLEANUP_FD int here = open_in_root(r, p->path);
        if (here < 0 && errno == ENOENT)
                return 0; /* the path is in a directory that the box does not see */
        CLEANUP_FD int tree = here < 0 ? -1 : mount_clone_tree(here, "");
        if (tree < 0)
                return set_error(r, "bind-mount", p->path);
        if (attributes && mount_set_attributes(tree, attributes, true) < 0)
                return set_error(r, "set the mount attributes of", p->path);
        if (mount_attach_fd(tree, here) < 0)
                return set_error(r, "bind-mount", p->path);
        return 0;
}

static int mount_place(struct root_builder *r, const struct resolved_path *p)
{
        switch (p->kind) {
        case RESOLVED_READ_ONLY:
        case RESOLVED_WRITABLE:
                return mount_real(r, p);
        case RESOLVED_PRIVATE:
                return mount_private(r, p);
        case RESOLVED_MASKED:
                return mount_mask(r, p);
        case RESOLVED_PINNED:
                return mount_on_itself(r, p, 0);
        case RESOLVED_FROZEN:
                return mount_on_itself(r, p, MOUNT_ATTR_RDONLY);
        }
        return 0;
}

/* --- what every box has --- */

static int make_proc(struct root_builder *r)
{
        CLEANUP_FD int proc = mount_new_fs("proc", NULL, locked_attributes);
        if (proc < 0)
                return set_error(r, "mount", "/proc");
        return mount_at(r, proc, "/proc", true);
}

/*
 * Masks files that show the state of the whole machine, and the user's keys. Outside, most of them are readable for
 * root only, but a box that root starts has the same user id.
 */
static int mask_proc(struct root_builder *r)
{
        static const char *const files[] = {
                "proc/keys", "proc/key-users", /* only root may read the rest */
                "proc/kcore", "proc/timer_list", "proc/sched_debug",
                "proc/latency_stats", "proc/kpagecount", "proc/kpageflags", "proc/kpagecgroup", "proc/kmsg",
                "proc/sysrq-trigger", "proc/slabinfo", "proc/vmallocinfo", "proc/kallsyms",
        };
        size_t count = geteuid() == 0 ? ARRAY_SIZE(files) : 2;
        for (size_t i = 0; i < count; i++) {
                CLEANUP_FD int mask = clone_mask(r, false);
                if (mask < 0 || (mount_attach_at(mask, r->new_root, files[i]) < 0 && errno != ENOENT))
                        return set_error(r, "mask", files[i]);
        }
        return 0;
}

static int make_devices(struct root_builder *r)
{
        static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
        static const struct {
                const char *name, *target;
        } links[] = {
                { "dev/ptmx", "pts/ptmx" },          { "dev/fd", "/proc/self/fd" },
                { "dev/stdin", "/proc/self/fd/0" },  { "dev/stdout", "/proc/self/fd/1" },
                { "dev/stderr", "/proc/self/fd/2" },
        };
        int dev = -1;
        int e = r->shows_all ? mount_own_directory(r, "/dev", 0755, MOUNT_ATTR_NOEXEC, &dev) : 0;
        if (e == 0 && r->shows_all)
                e = remount_later(r, dev);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(nodes); i++) {
                char path[32];
                (void)snprintf(path, sizeof path, "/dev/%s", nodes[i]);
                CLEANUP_FD int node = mount_clone_tree(AT_FDCWD, path);
                /* The node becomes read-only, not the device: the box cannot change its owner, mode or times. */
                if (node < 0 ||
                    mount_set_attributes(node, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false) < 0)
                        return set_error(r, "clone the mount of", path);
                e = mount_at(r, node, path, false);
        }
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(links); i++)
                if (symlinkat(links[i].target, r->new_root, links[i].name) < 0)
                        e = set_error(r, "make", links[i].name);
        if (e < 0)
                return e;
        static const char *const options[] = { "newinstance", "", "ptmxmode", "0666", "mode", "0620", NULL };
        CLEANUP_FD int pts = mount_new_fs("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        return pts < 0 ? set_error(r, "mount", "/dev/pts") : mount_at(r, pts, "/dev/pts", true);
}

/* Mounts a new file with this text at the path. A symbolic link there is mounted over, not followed. */
static int mount_text(struct root_builder *r, const char *path, const char *text)
{
        char name[32];
        (void)snprintf(name, sizeof name, "%u", r->made_count++);
        CLEANUP_FD int fd = openat(r->tmpfs, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
                return set_error(r, "write the box's own", path);
        CLEANUP_FD int tree = mount_clone_tree(r->tmpfs, name);
        if (tree < 0 || mount_set_attributes(tree, locked_attributes, false) < 0)
                return set_error(r, "set the mount attributes of", path);
        return mount_at(r, tree, path, false);
}

/*
 * Programs resolve host names at egress's listener (wall_net.c), whatever the machine's files say. Where a file is
 * missing and cannot be made because /etc is the real one, resolvers ask 127.0.0.1 by default, which is that listener.
 *
 * Without egress they ask an address that no machine has (RFC 5737): it has no route, so they fail at once, and the
 * keeper can report it (net_count_unroutable()).
 */
static int make_resolver(struct root_builder *r)
{
        const struct {
                const char *path, *text;
        } files[] = {
                { "/etc/resolv.conf", plan_needs_egress(r->plan) ? "nameserver 127.0.0.1\n"
                                                                : "# This box can reach no host.\n"
                                                                  "nameserver 192.0.2.1\n"
                                                                  "options timeout:1 attempts:1\n" },
                { "/etc/hosts", "127.0.0.1 localhost ringwall\n::1 localhost ip6-localhost\n" },
        };
        int e = 0;
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(files); i++) {
                CLEANUP_FD int existing = open_in_root(r, files[i].path);
                if (existing >= 0 || errno != ENOENT || is_in_made_directory(r, files[i].path))
                        e = mount_text(r, files[i].path, files[i].text);
        }
        return e;
}

/* Mounts a socket of the host at its own path. A read-only mount does not prevent connecting. */
static int mount_socket(struct root_builder *r, const char *path)
{
        CLEANUP_FD int real = places_open_socket(path, r->error);
        if (real < 0)
                return real;
        CLEANUP_FD int tree = mount_clone_tree(real, "");
        if (tree < 0 || mount_set_attributes(tree, locked_attributes, false) < 0)
                return set_error(r, "clone the mount of", path);
        return mount_at(r, tree, path, false);
}

/* Ignores a link that exists already, because it came with a mount, and one whose parent is read-only. */
static int make_links(struct root_builder *r, const struct resolved_paths *places)
{
        for (size_t i = 0; i < places->link_count; i++) {
                const struct resolved_link *link = &places->links[i];
                int e = make_parents(r, link->path);
                if (e == 0 && symlinkat(link->target, r->new_root, link->path + 1) < 0)
                        e = -errno;
                if (e < 0 && e != -EEXIST && e != -EROFS && e != -EACCES && e != -ENOTDIR) {
                        errno = -e;
                        return set_error(r, "make the symbolic link", link->path);
                }
        }
        return 0;
}

/* --- the whole root --- */

/* The grant of /, or NULL. */
static const struct resolved_path *find_root_grant(const struct resolved_paths *places)
{
        return places->count && strcmp(places->list[0].path, "/") == 0 && places->list[0].kind <= RESOLVED_WRITABLE
                ? &places->list[0] : NULL;
}

static int start_root(struct root_builder *r, const struct resolved_path *root_grant)
{
        static const char *const options[] = { "mode", "0755", NULL };
        CLEANUP_FD int tmpfs = mount_new_fs("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        CLEANUP_FD int mount_point = open(TMPFS_POINT, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (tmpfs < 0 || mount_point < 0 || mount_attach_fd(tmpfs, mount_point) < 0)
                return set_error(r, "mount", "a tmpfs");
        if (mkdirat(tmpfs, "root", 0755) < 0)
                return set_error(r, "make", "a directory in a tmpfs");
        CLEANUP_FD int tree = root_grant ? mount_clone_tree(AT_FDCWD, "/") : mount_clone_tree(tmpfs, "root");
        CLEANUP_FD int root_point = openat(tmpfs, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        if (root_grant && root_grant->kind == RESOLVED_READ_ONLY)
                attributes |= MOUNT_ATTR_RDONLY;
        if (tree < 0 || root_point < 0 || mount_set_attributes(tree, attributes, root_grant != NULL) < 0 ||
            mount_attach_fd(tree, root_point) < 0)
                return set_error(r, "make", "the new root");
        r->tmpfs = TAKE_FD(tmpfs);
        r->new_root = TAKE_FD(tree);
        return 0;
}

static int remount_read_only(struct root_builder *r)
{
        for (size_t i = 0; i < r->read_only_later_count; i++)
                if (mount_set_attributes(r->read_only_later[i], MOUNT_ATTR_RDONLY, false) < 0)
                        return set_error(r, "set the attributes of", "a mount of the box");
        return 0;
}

static int pivot(struct root_builder *r)
{
        /* pivot_root(".", ".") mounts the old root on top of the new one, so it needs no directory; there it is
           detached. */
        if (fchdir(r->new_root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
                return set_error(r, "enter", "the new root");
        if (mount_detach_cwd() < 0 || chdir("/") < 0)
                return set_error(r, "leave", "the old root");
        return 0;
}

static int build(struct root_builder *r, const struct resolved_paths *places)
{
        const struct resolved_path *root_grant = find_root_grant(places);
        r->shows_all = root_grant != NULL;
        int e = start_root(r, root_grant);
        if (e == 0)
                e = make_proc(r);
        if (e == 0)
                e = mask_proc(r);
        if (e == 0)
                e = make_devices(r);
        for (size_t i = root_grant ? 1 : 0; e == 0 && i < places->count; i++)
                e = mount_place(r, &places->list[i]);
        for (size_t i = 0; e == 0 && i < r->plan->unix_socket_count; i++)
                e = mount_socket(r, r->plan->unix_sockets[i].path);
        if (e == 0)
                e = make_links(r, places);
        if (e == 0 && plan_has_own_network(r->plan))
                e = make_resolver(r);
        if (e == 0)
                e = remount_read_only(r);
        return e < 0 ? e : pivot(r);
}

int box_root_enter(const struct plan *plan, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        if (!arena)
                return error_errno(e, ENOMEM, "no memory");
        struct resolved_paths places = { 0 };
        int result = resolve_paths(plan, true, arena, &places, e);
        if (result < 0)
                return result;
        struct root_builder r = {
                .plan = plan, .arena = arena, .error = e, .tmpfs = -1, .new_root = -1, .places = &places
        };
        if (mount_make_all_private() < 0)
                return set_error(&r, "stop the propagation of", "the mounts");
        result = build(&r, &places);
        for (size_t i = 0; i < r.read_only_later_count; i++)
                fd_close(&r.read_only_later[i]);
        fd_close(&r.tmpfs);
        fd_close(&r.new_root);
        return result;
}
