/* Real paths; see real_path.h. */
#include "path/real_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct walk {
        char resolved[PATH_MAX];  /* without links, dots and a slash at the end; "" is the root */
        char remaining[PATH_MAX]; /* still to be resolved */
};

static void go_up(struct walk *w)
{
        char *slash = strrchr(w->resolved, '/');
        if (slash)
                *slash = '\0';
}

/* Moves the next name from `remaining` to the end of `resolved`, where `..` removes a name. False if it does not fit.
 */
static bool append_next_name(struct walk *w)
{
        const char *name = w->remaining + strspn(w->remaining, "/");
        size_t n = strcspn(name, "/"), length = strlen(w->resolved);
        if (n > NAME_MAX || length + 1 + n >= sizeof w->resolved)
                return false;
        if (n == 2 && strncmp(name, "..", n) == 0)
                go_up(w);
        else if (n > 1 || *name != '.')
                (void)snprintf(w->resolved + length, sizeof w->resolved - length, "/%.*s", (int)n, name);
        memmove(w->remaining, name + n, strlen(name + n) + 1);
        return true;
}

/* If `resolved` is a link, puts its target in front of `remaining`. False if it does not fit. */
static bool expand_link(struct walk *w, bool *ret_is_link)
{
        char target[PATH_MAX], joined[PATH_MAX];
        ssize_t n = readlink(w->resolved, target, sizeof target - 1);
        *ret_is_link = n > 0;
        if (n <= 0)
                return true;
        target[n] = '\0';
        if (snprintf(joined, sizeof joined, "%s/%s", target, w->remaining) >= (int)sizeof joined)
                return false;
        memcpy(w->remaining, joined, strlen(joined) + 1);
        return true;
}

int real_path(struct arena *a, const char *path, const char *rest, const char **ret, struct followed_links *ret_links)
{
        struct walk w = { .resolved = "" };
        *ret = NULL;
        ret_links->count = 0;
        if (strlen(path) >= sizeof w.remaining)
                return -ENAMETOOLONG;
        memcpy(w.remaining, path, strlen(path) + 1);
        while (w.remaining[strspn(w.remaining, "/")]) {
                bool is_link;
                if (!append_next_name(&w) || !expand_link(&w, &is_link))
                        return -ENAMETOOLONG;
                if (!is_link)
                        continue;
                if (ret_links->count == REAL_PATH_LINKS_MAX)
                        return -ELOOP;
                const char *link = arena_strdup(a, w.resolved);
                if (!link)
                        return -ENOMEM;
                ret_links->paths[ret_links->count++] = link;
                if (*w.remaining == '/')
                        *w.resolved = '\0';
                else
                        go_up(&w);
        }
        *ret = arena_format(a, "%s%s", *w.resolved || *rest ? w.resolved : "/", rest);
        return *ret ? 0 : -ENOMEM;
}
