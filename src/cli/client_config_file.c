/*
 * Configuration files; see client_config_file.h. path/workspace.h does the work: it finds a file and keeps it open, and
 * writes a new file completely to disk before renaming it to the old name. The backup is written in the same way,
 * so it is never incomplete.
 */
#include "cli/client_config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { BACKUPS_MAX = 1000 };

void client_config_file_done(struct client_config_file *f)
{
        held_path_done(&f->held);
        workspace_free(f->root);
        free(f->path);
        free(f->data);
        *f = CONFIG_FILE_NONE;
}

int client_config_file_read(const char *root, const char *path, size_t bytes_max, struct client_config_file *ret,
                            struct error *e)
{
        ret->path = strdup(path);
        int r = ret->path ? workspace_open(root, &ret->root, e) : error_errno(e, ENOMEM, "cannot read %s", path);
        if (r == 0)
                r = workspace_resolve(ret->root, path, &ret->held, e);
        if (r == -EXDEV)
                return error_set(e, EXDEV, "%s is a symbolic link that leads out of %s; edit its target by hand",
                                 path, root);
        if (r < 0)
                return r;
        if (ret->held.fd < 0) {
                ret->data = calloc(1, 1);
                return ret->data ? 0 : error_errno(e, ENOMEM, "cannot read %s", path);
        }
        CLEANUP_FD int fd = held_path_open(&ret->held, O_RDONLY, e);
        return fd < 0 ? fd : fd_read_all(fd, ret->held.path, bytes_max, &ret->data, &ret->length, e);
}

/* Resolves the name of a backup. Fails with -ENOENT if it is a dangling symlink, so that it is in use. */
static int resolve_backup(const struct client_config_file *f, unsigned number, struct held_path *ret, struct error *e)
{
        CLEANUP_TEXT struct text path = { 0 };
        text_format(&path, "%s.ringwall-backup", f->held.path);
        if (number)
                text_format(&path, ".%u", number);
        held_path_done(ret);
        if (path.failed)
                return error_errno(e, ENOMEM, "cannot name a backup");
        return workspace_resolve(f->root, path.data, ret, e);
}

/* Finds an unused name beside the file. Older backups are never overwritten. */
static int find_backup(const struct client_config_file *f, struct held_path *ret, struct error *e)
{
        for (unsigned i = 0; i < BACKUPS_MAX; i++) {
                int r = resolve_backup(f, i, ret, e);
                if (r < 0 && r != -ENOENT)
                        return r;
                if (r == 0 && ret->fd < 0)
                        return 0;
        }
        return error_set(e, EEXIST, "%s already has %d backups; remove some", f->held.path, BACKUPS_MAX);
}

/* The backup gets the file's owner if that is permitted, as the replaced file does. */
static int make_backup(const struct client_config_file *f, struct held_path *ret, struct error *e)
{
        int r = find_backup(f, ret, e);
        if (r == 0)
                r = held_path_replace(ret, f->data, f->length, f->held.st.st_mode & 0777, e);
        if (r == 0 && fchown(ret->fd, f->held.st.st_uid, f->held.st.st_gid) < 0 && errno != EPERM)
                r = error_errno(e, errno, "cannot set the owner of %s", ret->path);
        return r;
}

/* Is the file that was read still in place? A replacement can fail even after the rename. */
static bool is_unchanged(const struct held_path *s)
{
        struct stat now;
        return fstatat(s->parent, s->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == s->st.st_dev &&
               now.st_ino == s->st.st_ino;
}

int client_config_file_write(struct client_config_file *f, const struct text *content, mode_t mode,
                             struct text *ret_backup, struct error *e)
{
        CLEANUP_HELD_PATH struct held_path backup = HELD_PATH_NONE;
        bool exists = f->held.fd >= 0;
        if (content->failed)
                return error_errno(e, ENOMEM, "cannot write %s", f->held.path);
        int r = exists ? make_backup(f, &backup, e) : 0;
        if (r == 0)
                r = held_path_replace(&f->held, content->data ? content->data : "", content->length, mode, e);
        if (r < 0) {
                if (backup.fd >= 0 && is_unchanged(&f->held))
                        (void)unlinkat(backup.parent, backup.name, 0);
                return r;
        }
        if (exists)
                text_add(ret_backup, backup.path);
        return 0;
}

/* Did a symlink lead to the file? */
static bool is_linked(const struct client_config_file *f)
{
        struct stat st;
        return lstat(f->path, &st) < 0 || !S_ISREG(st.st_mode);
}

static int unlink_file(const struct client_config_file *f, struct error *e)
{
        struct stat now;
        const struct stat *then = &f->held.st;
        if (!is_unchanged(&f->held) || fstatat(f->held.parent, f->held.name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
            now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
                return error_set(e, ESTALE, "%s was not removed: another process changed it", f->held.path);
        if (unlinkat(f->held.parent, f->held.name, 0) < 0)
                return error_errno(e, errno, "cannot remove %s", f->held.path);
        return 0;
}

int client_config_file_remove(struct client_config_file *f, const struct text *content, struct text *ret_backup,
                              struct error *e)
{
        CLEANUP_HELD_PATH struct held_path backup = HELD_PATH_NONE;
        if (is_linked(f))
                return client_config_file_write(f, content, 0, ret_backup, e);
        CLEANUP_FD int writable = held_path_open(&f->held, O_WRONLY, e); /* a read-only file is kept */
        int r = writable < 0 ? writable : make_backup(f, &backup, e);
        if (r == 0)
                r = unlink_file(f, e);
        if (r == 0)
                text_add(ret_backup, backup.path);
        else if (backup.fd >= 0 && is_unchanged(&f->held))
                (void)unlinkat(backup.parent, backup.name, 0);
        return r;
}

unsigned client_config_file_count_backups(const struct client_config_file *f)
{
        CLEANUP_HELD_PATH struct held_path held = HELD_PATH_NONE;
        unsigned count = 0;
        struct error e;
        for (; count < BACKUPS_MAX; count++) {
                int r = resolve_backup(f, count, &held, &e);
                if (r == 0 && held.fd < 0)
                        break;
        }
        return count;
}

int client_config_file_read_backup(const struct client_config_file *f, unsigned number, size_t bytes_max,
                                   char **ret_data, size_t *ret_length, struct error *e)
{
        CLEANUP_HELD_PATH struct held_path held = HELD_PATH_NONE;
        int r = resolve_backup(f, number, &held, e);
        if (r < 0)
                return r;
        if (held.fd < 0)
                return error_set(e, ENOENT, "%s does not exist", held.path);
        CLEANUP_FD int fd = held_path_open(&held, O_RDONLY, e);
        return fd < 0 ? fd : fd_read_all(fd, held.path, bytes_max, ret_data, ret_length, e);
}
