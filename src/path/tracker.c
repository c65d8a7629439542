/*
 * The read tracker; see tracker.h.
 *
 * How it works: a table of paths, each with what tells one state of a file from another: device, inode, size, and the times
 * of the last change of content and of anything. The last cannot be set by a program. The table is bounded: who reads
 * more files than it has room for has to read the forgotten ones again, which is a nuisance and no danger.
 */
#include "path/tracker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, REACH = 8 }; /* REACH: slots in which a path can stand, from its own on */

struct seen {
        char *path;
        uint64_t age;
        struct stat st;
};

struct tracker {
        pthread_mutex_t lock;
        uint64_t clock;
        struct seen seen[SLOTS];
};

struct tracker *tracker_new(void)
{
        struct tracker *t = calloc(1, sizeof *t);
        if (t && pthread_mutex_init(&t->lock, NULL) != 0) {
                free(t);
                return NULL;
        }
        return t;
}

void tracker_free(struct tracker *t)
{
        if (!t)
                return;
        for (size_t i = 0; i < SLOTS; i++)
                free(t->seen[i].path);
        (void)pthread_mutex_destroy(&t->lock);
        free(t);
}

static size_t slot_of(const char *path)
{
        uint64_t hash = 14695981039346656037U; /* FNV-1a */
        for (; *path; path++)
                hash = (hash ^ (unsigned char)*path) * 1099511628211U;
        return (size_t)((hash ^ hash >> 32) % SLOTS);
}

/* The path's slot, or, with `make`, an empty one or the oldest of those it could stand in. */
static struct seen *find(struct tracker *t, const char *path, bool make)
{
        size_t start = slot_of(path);
        struct seen *oldest = NULL;
        for (size_t i = 0; i < REACH; i++) {
                struct seen *s = &t->seen[(start + i) % SLOTS];
                if (s->path && strcmp(s->path, path) == 0)
                        return s;
                if (!oldest || s->age < oldest->age) /* an empty one has never been used */
                        oldest = s;
        }
        return make ? oldest : NULL;
}

int tracker_mark(struct tracker *t, const char *path, const struct stat *st)
{
        char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        (void)pthread_mutex_lock(&t->lock);
        struct seen *s = find(t, path, true);
        char *before = s->path;
        *s = (struct seen){ copy, ++t->clock, *st };
        (void)pthread_mutex_unlock(&t->lock);
        free(before);
        return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
        return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

enum tracked tracker_ask(struct tracker *t, const char *path, const struct stat *now)
{
        (void)pthread_mutex_lock(&t->lock);
        const struct seen *s = find(t, path, false);
        enum tracked answer = !s ? TRACKED_NEVER : is_same(&s->st, now) ? TRACKED_SAME : TRACKED_CHANGED;
        (void)pthread_mutex_unlock(&t->lock);
        return answer;
}
