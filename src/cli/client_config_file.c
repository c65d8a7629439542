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
        free(f->data);
        *f = CONFIG_FILE_NONE;
}

int client_config_file_read(const char *root, const char *path, size_t bytes_max, struct client_config_file *ret,
                            struct error *e)
{
        int r = workspace_open(root, &ret->root, e);
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

/* Finds an unused name beside the file. Older backups are never overwritten. */
static int find_backup(const struct client_config_file *f, struct held_path *ret, struct error *e)
{
        for (unsigned i = 0; i < BACKUPS_MAX; i++) {
                CLEANUP_TEXT struct text path = { 0 };
                text_format(&path, "%s.ringwall-backup", f->held.path);
                if (i)
                        text_format(&path, ".%u", i);
                held_path_done(ret);
                int r = path.failed ? -ENOMEM : workspace_resolve(f->root, path.data, ret, e);
                if (r < 0 && r != -ENOENT) /* -ENOENT: the name is a dangling symlink, so it is in use */
                        return r == -ENOMEM ? error_errno(e, ENOMEM, "cannot name a backup") : r;
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
                r = held_path_replace(&f->held, content->data, content->length, mode, e);
        if (r < 0) {
                if (backup.fd >= 0 && is_unchanged(&f->held))
                        (void)unlinkat(backup.parent, backup.name, 0);
                return r;
        }
        if (exists)
                text_add(ret_backup, backup.path);
        return 0;
}
