/*
 * Walking a tree; see walk.h. One directory is open for each level, so the depth is bounded; memory does not grow with the
 * number of files. A directory that is exchanged for a link meanwhile is not entered.
 */
#include "tools/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "tools/ignore.h"

enum { MOST_DEPTH = 100 };

struct walking {
        bool with_ignored;
        walk_visit *visit;
        void *data;
        struct text path;
};

static bool walk_directory(struct walking *w, int fd, struct ignore *around, unsigned depth);

static bool walk_entry(struct walking *w, int directory, const struct dirent *d, struct ignore *rules, unsigned depth)
{
        size_t before = w->path.length;
        struct stat st;
        unsigned char type = d->d_type;
        if (type == DT_UNKNOWN && fstatat(directory, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                type = (unsigned char)IFTODT(st.st_mode); /* not every filesystem tells */
        bool is_directory = type == DT_DIR, on = true;
        text_add(&w->path, before ? "/" : "");
        text_add(&w->path, d->d_name);
        if (w->path.failed)
                return false;
        if (w->with_ignored || !ignore_matches(rules, w->path.data, is_directory)) {
                if (is_directory && depth < MOST_DEPTH) {
                        int fd = openat(directory, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                        on = fd < 0 || walk_directory(w, fd, rules, depth + 1);
                } else if (type == DT_REG || type == DT_LNK) {
                        on = w->visit(w->data, directory, d->d_name, w->path.data);
                }
        }
        w->path.length = before;
        if (w->path.data)
                w->path.data[before] = '\0';
        return on;
}

/* Takes the descriptor over. False: the walk is over. */
static bool walk_directory(struct walking *w, int fd, struct ignore *around, unsigned depth)
{
        DIR *dir = fdopendir(fd);
        if (!dir) {
                fd_close(&fd);
                return true;
        }
        struct ignore *rules = w->with_ignored ? around : ignore_enter(around, dirfd(dir), w->path.data ? w->path.data : "");
        bool on = true;
        for (struct dirent *d; on && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                bool hidden = !w->with_ignored && strcmp(d->d_name, ".git") == 0;
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && !hidden)
                        on = walk_entry(w, dirfd(dir), d, rules, depth);
        }
        ignore_leave(rules, around);
        (void)closedir(dir);
        return on;
}

int walk_tree(const struct spot *start, bool with_ignored, walk_visit *visit, void *data, struct error *e)
{
        struct walking w = { .with_ignored = with_ignored, .visit = visit, .data = data };
        int fd = spot_open(start, O_RDONLY | O_DIRECTORY, e);
        if (fd < 0)
                return fd;
        (void)walk_directory(&w, fd, NULL, 0);
        int r = w.path.failed ? error_errno(e, ENOMEM, "walk", "no memory") : 0;
        text_done(&w.path);
        return r;
}
