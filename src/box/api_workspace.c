/* libringwall's workspaces: resolves paths beneath a directory, without a box. See path/workspace.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "path/workspace.h"
#include "ringwall/ringwall.h"

struct ringwall_workspace {
        struct workspace *inner;
        struct error error; /* of the last call */
};

int ringwall_workspace_open(const char *root, struct ringwall_workspace **ret)
{
        struct ringwall_workspace *w = calloc(1, sizeof *w);
        if (!w)
                return -ENOMEM;
        int r = workspace_open(root, &w->inner, &w->error);
        if (r < 0) {
                free(w);
                return r;
        }
        *ret = w;
        return 0;
}

void ringwall_workspace_free(struct ringwall_workspace *w)
{
        if (w)
                workspace_free(w->inner);
        free(w);
}

const char *ringwall_workspace_root(const struct ringwall_workspace *w)
{
        return workspace_root(w->inner);
}

const char *ringwall_workspace_message(const struct ringwall_workspace *w)
{
        return w->error.text;
}

static int find(struct ringwall_workspace *w, const char *path, struct held_path *ret)
{
        w->error = (struct error){ 0 };
        return workspace_resolve(w->inner, path, ret, &w->error);
}

int ringwall_workspace_resolve(struct ringwall_workspace *w, const char *path, char **ret)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        int r = find(w, path, &s);
        if (r == 0)
                *ret = TAKE_PTR(s.path);
        return r;
}

int ringwall_workspace_open_file(struct ringwall_workspace *w, const char *path, int flags)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        int r = find(w, path, &s);
        if (r < 0)
                return r;
        if (flags & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY)
                return error_set(&w->error, EINVAL,
                                 "this function opens existing files; to create one, use ringwall_workspace_create or "
                                 "_replace");
        return held_path_open(&s, flags, &w->error);
}

int ringwall_workspace_create(struct ringwall_workspace *w, const char *path, unsigned mode)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        int r = find(w, path, &s);
        return r < 0 ? r : held_path_create(&s, (mode_t)mode, &w->error);
}

int ringwall_workspace_replace(struct ringwall_workspace *w, const char *path, const void *data, size_t length,
                               unsigned mode)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        int r = find(w, path, &s);
        return r < 0 ? r : held_path_replace(&s, data, length, (mode_t)mode, &w->error);
}
