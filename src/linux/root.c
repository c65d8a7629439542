/*
 * The root of a box.
 *
 * What it is for: a box sees the files its plan shows it, at the paths they have outside, and nothing else. What is
 * hidden fails with EACCES or does not exist; what is read-only is so by mount, for every program and every user id.
 *
 * How it works: in a mount namespace of the box's own, one tmpfs (`own`) is mounted where only we look. In it are a
 * directory that becomes the new root, the box's private directories, and the covers for what is denied. Each of them
 * is shown in the box by cloning the mount at that directory (open_tree) and moving the clone to its place, so the whole
 * root costs one superblock. Where nothing real lies above it, a private directory is simply one of the new root's: that
 * is writable as a mount, and Landlock says where (confine.c). Granted files are clones of the real mounts, with their attributes set before they can be
 * seen. At the end the new root takes the place of the old one (pivot_root), and the old one, `own`'s other directories
 * included, is detached.
 *
 * What it should do: every place of the plan, or fail. What it must not do: follow a symbolic link inside the new root
 * (openat2 refuses), or leave anything of the old root reachable.
 *
 * What an attacker controls: names and links in the workspace, left there by an earlier run; see places.c.
 *
 * Needs of the kernel: open_tree, move_mount, fsopen (5.2), openat2 (5.6), mount_setattr (5.12), tmpfs, proc and devpts
 * in a user namespace.
 */
#include "linux/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/mounts.h"
#include "linux/places.h"
#include "policy/caps.h"
#include "policy/pattern.h"

/* The one directory that is sure to exist; what lies under it is not needed before the pivot. */
#define OWN_PLACE "/proc"

enum { COVERED_NAMES = 20000 };

static const char stage[] = "make the box's root";

static const uint64_t sealed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

struct root {
        const struct plan *plan;
        struct arena *arena;
        struct error *error;
        int own;        /* the tmpfs */
        int fd;         /* the new root, while it grows */
        const char *parent; /* whose last directory was made for */
        unsigned count; /* of directories made in `own`, for their names */
        bool covers[2]; /* made already: of a file, of a directory */
        size_t filled;  /* names that were covered one by one */
        const struct places *places;
        bool broad;     /* everything is shown, so the new root is a clone of the old one */
        int *seals;     /* mounts that become read-only when everything stands */
        size_t seal_count;
};

static int failed(struct root *r, const char *what, const char *path)
{
        return error_errno(r->error, errno, stage, "cannot %s %s", what, path);
}

/* --- finding and making mount points, never through a link --- */

static int look_up(const struct root *r, const char *path)
{
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, r->fd, path, &how, sizeof how);
}

static int make_parents(struct root *r, const char *path)
{
        size_t length = (size_t)(strrchr(path, '/') - path);
        if (r->parent && strncmp(path, r->parent, length) == 0 && !r->parent[length])
                return 0;
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                char *parent = arena_copy(r->arena, path + 1, (size_t)(slash - path - 1));
                if (!parent)
                        return -ENOMEM;
                if (mkdirat(r->fd, parent, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        r->parent = arena_copy(r->arena, path, length);
        return 0;
}

/* Whoever gets here made the directory above in `own`, so plain names are safe: nobody else has been here. */
static int make_point(struct root *r, const char *path, bool directory)
{
        int e = make_parents(r, path);
        if (e < 0)
                return e;
        if (directory)
                return mkdirat(r->fd, path + 1, 0755) < 0 && errno != EEXIST ? -errno : 0;
        return mknodat(r->fd, path + 1, S_IFREG | 0444, 0) < 0 && errno != EEXIST ? -errno : 0;
}

static int mount_point(struct root *r, const char *path, bool directory)
{
        int fd = look_up(r, path);
        if (fd >= 0 || errno != ENOENT)
                return fd;
        int e = make_point(r, path, directory);
        if (e < 0) {
                errno = -e;
                return -1;
        }
        return look_up(r, path);
}

/* Is the directory above one that we made, in the new root itself? Then nobody else has names or links there. */
static bool is_ours(const struct root *r, const char *path)
{
        if (r->broad)
                return false;
        for (size_t i = 0; i < r->places->count; i++) {
                const struct place *p = &r->places->list[i];
                if (p->kind != PLACE_PRIVATE && strcmp(p->path, path) != 0 && path_is_beneath(path, p->path))
                        return false;
        }
        return true;
}

static int attach_to(struct root *r, int tree, const char *path, bool directory)
{
        int e = make_point(r, path, directory);
        errno = -e;
        return e < 0 || mounts_attach(tree, r->fd, path + 1) < 0 ? failed(r, "mount", path) : 0;
}

static int move_to(struct root *r, int tree, const char *path, bool directory)
{
        if (is_ours(r, path))
                return attach_to(r, tree, path, directory);
        CLEANUP_FD int target = mount_point(r, path, directory);
        if (target < 0)
                return failed(r, "make a place for", path);
        if (mounts_move(tree, target) < 0)
                return failed(r, "mount", path);
        return 0;
}

/* --- what places are made of --- */

static int fill_directory(struct root *r, const char *path, int cover, const char *name);

static int show_real(struct root *r, const struct place *p)
{
        bool device = path_is_beneath(p->path, "/dev");
        CLEANUP_FD int real = fd_open_straight(AT_FDCWD, p->path, O_PATH, 0);
        errno = real < 0 ? -real : 0;
        CLEANUP_FD int tree = real < 0 ? -1 : mounts_clone(real, "");
        if (tree < 0)
                return failed(r, "take", p->path);
        uint64_t attributes = MOUNT_ATTR_NOSUID | (device ? 0 : MOUNT_ATTR_NODEV) |
                              (p->kind == PLACE_READ ? MOUNT_ATTR_RDONLY : 0);
        if (mounts_set(tree, attributes, true) < 0)
                return failed(r, "limit", p->path);
        return move_to(r, tree, p->path, p->is_directory);
}

/* A directory in `own`, shown at `path`. The mount stays open for sealing when ret_fd is not NULL. */
static int show_own(struct root *r, const char *path, mode_t mode, uint64_t attributes, int *ret_fd)
{
        char name[32];
        (void)snprintf(name, sizeof name, "%u", r->count++);
        if (mkdirat(r->own, name, 0700) < 0)
                return failed(r, "make something for", path);
        if (fchmodat(r->own, name, mode, 0) < 0)
                return failed(r, "set the mode of", path);
        CLEANUP_FD int tree = mounts_clone(r->own, name);
        if (tree < 0)
                return failed(r, "take what stands for", path);
        if (mounts_set(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes, false) < 0)
                return failed(r, "limit", path);
        int e = move_to(r, tree, path, true);
        if (e == 0 && ret_fd)
                *ret_fd = TAKE_FD(tree);
        return e;
}

/*
 * A mount of something empty that cannot be opened. All covers show the same file or directory: the first use makes it,
 * mounted on itself with the attributes that its clones get.
 */
static int clone_cover(struct root *r, bool directory)
{
        const char *name = directory ? "no-directory" : "no-file";
        if (r->covers[directory])
                return mounts_clone(r->own, name);
        if (directory ? mkdirat(r->own, name, 0) < 0 : mknodat(r->own, name, S_IFREG, 0) < 0)
                return -1;
        CLEANUP_FD int tree = mounts_clone(r->own, name);
        if (tree < 0 || mounts_set(tree, sealed, false) < 0 || mounts_attach(tree, r->own, name) < 0)
                return -1;
        r->covers[directory] = true;
        return mounts_clone(r->own, name);
}

static int show_private(struct root *r, const struct place *p)
{
        /* What is called temp is for everybody in the box; a home is its user's. */
        bool shared = p->rule->set && strcmp(p->rule->set, "temp") == 0;
        mode_t mode = shared ? 01777 : 0700;
        if (!is_ours(r, p->path))
                return show_own(r, p->path, mode, 0, NULL);
        int e = make_point(r, p->path, true);
        errno = -e;
        return e < 0 || fchmodat(r->fd, p->path + 1, mode, 0) < 0 ? failed(r, "make", p->path) : 0;
}

/* Becomes read-only at the end, because grants inside it still need mount points. */
static int seal_later(struct root *r, int mount)
{
        int *slot = arena_array_add(r->arena, &r->seals, &r->seal_count, sizeof *slot);
        if (!slot) {
                fd_close(&mount);
                return error_errno(r->error, ENOMEM, stage, "no memory");
        }
        *slot = mount;
        return 0;
}

/* Is something granted at this path, or below it? */
static bool leads_to_grant(const struct root *r, const char *path)
{
        for (size_t i = 0; i < r->places->count; i++)
                if (r->places->list[i].kind <= PLACE_PRIVATE && path_is_beneath(r->places->list[i].path, path))
                        return true;
        return false;
}

/*
 * A denied directory with something granted inside has to be passed through, so its other names would be "not found".
 * They are denied: each gets something in its place that cannot be opened. The directory itself cannot be listed.
 */
static int fill_cover(struct root *r, const char *path, int cover)
{
        DIR *dir = opendir(path);
        int e = 0;
        for (struct dirent *d; e == 0 && dir && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                const char *inner = arena_format(r->arena, "%s/%s", path, d->d_name);
                if (!inner || ++r->filled > COVERED_NAMES)
                        e = error_set(r->error, E2BIG, stage, "%s is denied, has something granted inside, and too many "
                                      "names to deny each", path);
                else if (leads_to_grant(r, inner))
                        e = d->d_type == DT_DIR ? fill_directory(r, inner, cover, d->d_name) : 0;
                else if (d->d_type == DT_DIR ? mkdirat(cover, d->d_name, 0) < 0 : mknodat(cover, d->d_name, S_IFREG, 0) < 0)
                        e = failed(r, "cover", inner);
        }
        if (dir)
                (void)closedir(dir);
        return e;
}

static int fill_directory(struct root *r, const char *path, int cover, const char *name)
{
        if (mkdirat(cover, name, 0700) < 0)
                return failed(r, "cover", path);
        CLEANUP_FD int fd = openat(cover, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int e = fd < 0 ? failed(r, "cover", path) : fill_cover(r, path, fd);
        if (e == 0 && fchmod(fd, 0111) < 0)
                e = failed(r, "cover", path);
        return e;
}

static int show_cover(struct root *r, const struct place *p)
{
        if (!p->holds_grants) {
                CLEANUP_FD int cover = clone_cover(r, p->is_directory);
                return cover < 0 ? failed(r, "cover", p->path) : move_to(r, cover, p->path, p->is_directory);
        }
        int mount = -1;
        int e = show_own(r, p->path, 0111, MOUNT_ATTR_NOEXEC, &mount);
        if (e == 0)
                e = fill_cover(r, p->path, mount);
        return e < 0 ? e : seal_later(r, mount);
}

/* What is at this place of the new root, mounts in it included, on top of itself. */
static int mount_again(struct root *r, const struct place *p, uint64_t attributes)
{
        CLEANUP_FD int here = look_up(r, p->path);
        if (here < 0 && errno == ENOENT)
                return 0; /* it lies in something that is not shown */
        CLEANUP_FD int tree = here < 0 ? -1 : mounts_clone(here, "");
        if (tree < 0)
                return failed(r, "pin", p->path);
        if (attributes && mounts_set(tree, attributes, true) < 0)
                return failed(r, "freeze", p->path);
        if (mounts_move(tree, here) < 0)
                return failed(r, "pin", p->path);
        return 0;
}

static int show_place(struct root *r, const struct place *p)
{
        switch (p->kind) {
        case PLACE_READ:
        case PLACE_WRITE:
                return show_real(r, p);
        case PLACE_PRIVATE:
                return show_private(r, p);
        case PLACE_COVER:
                return show_cover(r, p);
        case PLACE_PIN:
                return mount_again(r, p, 0);
        case PLACE_FREEZE:
                return mount_again(r, p, MOUNT_ATTR_RDONLY);
        }
        return 0;
}

/* --- what every box has --- */

static int make_proc(struct root *r)
{
        CLEANUP_FD int proc = mounts_new("proc", NULL, sealed);
        if (proc < 0)
                return failed(r, "mount", "/proc");
        return move_to(r, proc, "/proc", true);
}

/* They tell of the whole machine, and of keys outside. Root outside is the owner of them inside too. */
static int cover_proc(struct root *r)
{
        static const char *const files[] = {
                "proc/keys", "proc/key-users", /* the rest is closed to everybody but root by its modes */
                "proc/kcore", "proc/timer_list", "proc/sched_debug",
                "proc/latency_stats", "proc/kpagecount", "proc/kpageflags", "proc/kpagecgroup", "proc/kmsg",
                "proc/sysrq-trigger", "proc/slabinfo", "proc/vmallocinfo", "proc/kallsyms",
        };
        size_t count = geteuid() == 0 ? ARRAY_SIZE(files) : 2;
        for (size_t i = 0; i < count; i++) {
                CLEANUP_FD int cover = clone_cover(r, false);
                if (cover < 0 || (mounts_attach(cover, r->fd, files[i]) < 0 && errno != ENOENT))
                        return failed(r, "cover", files[i]);
        }
        return 0;
}

static int make_devices(struct root *r)
{
        static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
        static const struct {
                const char *name, *target;
        } links[] = {
                { "dev/ptmx", "pts/ptmx" },         { "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" },
                { "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
        };
        int dev = -1;
        int e = r->broad ? show_own(r, "/dev", 0755, MOUNT_ATTR_NOEXEC, &dev) : 0;
        if (e == 0 && r->broad)
                e = seal_later(r, dev);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(nodes); i++) {
                char path[32];
                (void)snprintf(path, sizeof path, "/dev/%s", nodes[i]);
                CLEANUP_FD int node = mounts_clone(AT_FDCWD, path);
                /* Read-only is the node, not the device: root's owner, mode and times of it stay as they are. */
                if (node < 0 || mounts_set(node, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false) < 0)
                        return failed(r, "take", path);
                e = move_to(r, node, path, false);
        }
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(links); i++)
                if (symlinkat(links[i].target, r->fd, links[i].name) < 0)
                        e = failed(r, "make", links[i].name);
        if (e < 0)
                return e;
        static const char *const options[] = { "newinstance", "", "ptmxmode", "0666", "mode", "0620", NULL };
        CLEANUP_FD int pts = mounts_new("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        return pts < 0 ? failed(r, "mount", "/dev/pts") : move_to(r, pts, "/dev/pts", true);
}

/* A file of ours in place of what is there, a link too, which can be mounted on as it is. */
static int show_text(struct root *r, const char *path, const char *text)
{
        char name[32];
        (void)snprintf(name, sizeof name, "%u", r->count++);
        CLEANUP_FD int fd = openat(r->own, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
                return failed(r, "write what stands for", path);
        CLEANUP_FD int tree = mounts_clone(r->own, name);
        if (tree < 0 || mounts_set(tree, sealed, false) < 0)
                return failed(r, "limit", path);
        return move_to(r, tree, path, false);
}

/*
 * Names are asked for at our own entrance (hold_net.c), whatever the machine's files say. Where it has none, and none can be made
 * because /etc is the real one, programs ask 127.0.0.1 by themselves, which is right.
 */
static int make_resolver(struct root *r)
{
        static const struct {
                const char *path, *text;
        } files[] = {
                { "/etc/resolv.conf", "nameserver 127.0.0.1\n" },
                { "/etc/hosts", "127.0.0.1 localhost ringwall\n::1 localhost ip6-localhost\n" },
        };
        int e = 0;
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(files); i++) {
                CLEANUP_FD int there = look_up(r, files[i].path);
                if (there >= 0 || errno != ENOENT || is_ours(r, files[i].path))
                        e = show_text(r, files[i].path, files[i].text);
        }
        return e;
}

/* A socket of the host's at its own path. What is connected to is the socket, whatever the mount allows. */
static int show_socket(struct root *r, const char *path)
{
        struct stat st;
        CLEANUP_FD int real = fd_open_straight(AT_FDCWD, path, O_PATH, 0);
        if (real < 0)
                return error_errno(r->error, -real, stage, "cannot take the unix socket %s", path);
        if (fstat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
                return error_set(r->error, ENOTSOCK, stage, "%s is no unix socket", path);
        CLEANUP_FD int tree = mounts_clone(real, "");
        if (tree < 0 || mounts_set(tree, sealed, false) < 0)
                return failed(r, "take", path);
        return move_to(r, tree, path, false);
}

/* Links that exist already came with a mount; where the directory above is read-only there is nothing to add. */
static int make_links(struct root *r, const struct places *places)
{
        for (size_t i = 0; i < places->link_count; i++) {
                const struct place_link *link = &places->links[i];
                int e = make_parents(r, link->path);
                if (e == 0 && symlinkat(link->target, r->fd, link->path + 1) < 0)
                        e = -errno;
                if (e < 0 && e != -EEXIST && e != -EROFS && e != -EACCES && e != -ENOTDIR) {
                        errno = -e;
                        return failed(r, "make the link", link->path);
                }
        }
        return 0;
}

/* --- the whole --- */

/* The rule that shows everything, if the plan has it. */
static const struct place *broad_place(const struct places *places)
{
        return places->count && strcmp(places->list[0].path, "/") == 0 && places->list[0].kind <= PLACE_WRITE
                ? &places->list[0] : NULL;
}

static int start_root(struct root *r, const struct place *broad)
{
        static const char *const options[] = { "mode", "0755", NULL };
        CLEANUP_FD int own = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        CLEANUP_FD int place = open(OWN_PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (own < 0 || place < 0 || mounts_move(own, place) < 0)
                return failed(r, "mount", "a tmpfs");
        if (mkdirat(own, "root", 0755) < 0)
                return failed(r, "make", "a directory in a tmpfs");
        CLEANUP_FD int tree = broad ? mounts_clone(AT_FDCWD, "/") : mounts_clone(own, "root");
        CLEANUP_FD int point = openat(own, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        if (broad && broad->kind == PLACE_READ)
                attributes |= MOUNT_ATTR_RDONLY;
        if (tree < 0 || point < 0 || mounts_set(tree, attributes, broad != NULL) < 0 || mounts_move(tree, point) < 0)
                return failed(r, "make", "the new root");
        r->own = TAKE_FD(own);
        r->fd = TAKE_FD(tree);
        return 0;
}

static int seal(struct root *r)
{
        for (size_t i = 0; i < r->seal_count; i++)
                if (mounts_set(r->seals[i], MOUNT_ATTR_RDONLY, false) < 0)
                        return failed(r, "seal", "a mount of the box's own");
        return 0;
}

static int pivot(struct root *r)
{
        /* The new root on top of the old one, then the old one away from under it: no directory is needed for it. */
        if (fchdir(r->fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
                return failed(r, "enter", "the new root");
        if (mounts_detach_here() < 0 || chdir("/") < 0)
                return failed(r, "leave", "the old root");
        return 0;
}

static int build(struct root *r, const struct places *places)
{
        const struct place *broad = broad_place(places);
        r->broad = broad != NULL;
        int e = start_root(r, broad);
        if (e == 0)
                e = make_proc(r);
        if (e == 0)
                e = cover_proc(r);
        if (e == 0)
                e = make_devices(r);
        for (size_t i = broad ? 1 : 0; e == 0 && i < places->count; i++)
                e = show_place(r, &places->list[i]);
        for (size_t i = 0; e == 0 && i < r->plan->unix_socket_count; i++)
                e = show_socket(r, r->plan->unix_sockets[i].path);
        if (e == 0)
                e = make_links(r, places);
        if (e == 0 && plan_reaches_out(r->plan))
                e = make_resolver(r);
        if (e == 0)
                e = seal(r);
        return e < 0 ? e : pivot(r);
}

int root_enter(const struct plan *plan, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        if (!arena)
                return error_errno(e, ENOMEM, stage, "no memory");
        struct places places = { 0 };
        int result = places_find(plan, arena, &places, e);
        if (result < 0)
                return result;
        struct root r = { .plan = plan, .arena = arena, .error = e, .own = -1, .fd = -1, .places = &places };
        if (mounts_make_private() < 0)
                return failed(&r, "make private", "the mounts");
        result = build(&r, &places);
        for (size_t i = 0; i < r.seal_count; i++)
                fd_close(&r.seals[i]);
        fd_close(&r.own);
        fd_close(&r.fd);
        return result;
}
