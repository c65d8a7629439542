/*
 * Files of configuration; see config_file.h. path/workspace.h does the work: a file is found and held, and what is put
 * in its place is complete and on the disk before it has the name. The same goes for the backup: there is never a part
 * of one.
 */
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { BACKUPS_MAX = 1000 };

static const char stage[] = "configuration";

void config_file_done(struct config_file *f)
{
        spot_done(&f->spot);
        workspace_free(f->root);
        free(f->data);
        *f = CONFIG_FILE_NONE;
}

int config_file_read(const char *root, const char *path, size_t cap, struct config_file *ret, struct error *e)
{
        int r = workspace_open(root, &ret->root, e);
        if (r == 0)
                r = workspace_find(ret->root, path, &ret->spot, e);
        if (r == -EXDEV)
                return error_set(e, EXDEV, stage, "%s is a link that leads out of %s; edit by hand what it leads to",
                                 path, root);
        if (r < 0)
                return r;
        if (ret->spot.fd < 0) {
                ret->data = calloc(1, 1);
                return ret->data ? 0 : error_errno(e, ENOMEM, stage, "cannot read %s", path);
        }
        CLEANUP_FD int fd = spot_open(&ret->spot, O_RDONLY, e);
        return fd < 0 ? fd : fd_read_open(fd, ret->spot.path, cap, &ret->data, &ret->length, e);
}

/* A name beside the file that nothing has yet. Older backups are worth more than a short name. */
static int find_backup(const struct config_file *f, struct spot *ret, struct error *e)
{
        for (unsigned i = 0; i < BACKUPS_MAX; i++) {
                CLEANUP_TEXT struct text path = { 0 };
                text_format(&path, "%s.ringwall-backup", f->spot.path);
                if (i)
                        text_format(&path, ".%u", i);
                spot_done(ret);
                int r = path.failed ? -ENOMEM : workspace_find(f->root, path.data, ret, e);
                if (r < 0 && r != -ENOENT) /* a link to nowhere has the name, too */
                        return r == -ENOMEM ? error_errno(e, ENOMEM, stage, "cannot name a backup") : r;
                if (r == 0 && ret->fd < 0)
                        return 0;
        }
        return error_set(e, EEXIST, stage, "%s has %d backups already; remove some", f->spot.path, BACKUPS_MAX);
}

/* The owner is kept where that is allowed, as that of the file itself is. */
static int make_backup(const struct config_file *f, struct spot *ret, struct error *e)
{
        int r = find_backup(f, ret, e);
        if (r == 0)
                r = spot_replace(ret, f->data, f->length, f->spot.st.st_mode & 0777, e);
        if (r == 0 && fchown(ret->fd, f->spot.st.st_uid, f->spot.st.st_gid) < 0 && errno != EPERM)
                r = error_errno(e, errno, stage, "cannot give %s its owner", ret->path);
        return r;
}

/* Is what was read still there? A write can fail at its very end, when the new file has the name already. */
static bool is_unchanged(const struct spot *s)
{
        struct stat now;
        return fstatat(s->parent, s->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == s->st.st_dev &&
               now.st_ino == s->st.st_ino;
}

int config_file_write(struct config_file *f, const struct text *content, mode_t mode, struct text *ret_backup,
                      struct error *e)
{
        CLEANUP_SPOT struct spot backup = SPOT_NONE;
        bool exists = f->spot.fd >= 0;
        if (content->failed)
                return error_errno(e, ENOMEM, stage, "cannot write %s", f->spot.path);
        int r = exists ? make_backup(f, &backup, e) : 0;
        if (r == 0)
                r = spot_replace(&f->spot, content->data, content->length, mode, e);
        if (r < 0) {
                if (backup.fd >= 0 && is_unchanged(&f->spot))
                        (void)unlinkat(backup.parent, backup.name, 0);
                return r;
        }
        if (exists)
                text_add(ret_backup, backup.path);
        return 0;
}
