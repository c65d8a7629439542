/*
 * The read tracker; see read_tracker.h.
 *
 * How it works: a hash table of paths, each with the file's struct stat. Two states of a file differ in device, inode,
 * size, mtime or ctime; no program can set the ctime. The table is bounded: an agent that reads more files than fit has
 * to read the forgotten ones again, which is inconvenient but safe.
 */
#include "path/read_tracker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, PROBES = 8 }; /* PROBES: slots that a path may take, from its hash on */

struct seen {
        char *path;
        uint64_t recorded_at; /* value of the clock; 0 in an empty slot */
        struct stat st;
};

struct read_tracker {
        pthread_mutex_t lock;
        uint64_t clock; /* counts calls of read_tracker_record() */
        struct seen seen[SLOTS];
};

struct read_tracker *read_tracker_new(void)
{
        struct read_tracker *t = calloc(1, sizeof *t);
        if (t && pthread_mutex_init(&t->lock, NULL) != 0) {
                free(t);
                return NULL;
        }
        return t;
}

void read_tracker_free(struct read_tracker *t)
{
        if (!t)
                return;
        for (size_t i = 0; i < SLOTS; i++)
                free(t->seen[i].path);
        (void)pthread_mutex_destroy(&t->lock);
        free(t);
}

static size_t hash_to_slot(const char *path)
{
        uint64_t hash = 14695981039346656037U; /* FNV-1a */
        for (; *path; path++)
                hash = (hash ^ (unsigned char)*path) * 1099511628211U;
        return (size_t)((hash ^ hash >> 32) % SLOTS);
}

/* The slot of the path. If it has none: NULL, or with `or_replace` an empty or else the oldest slot it may take. */
static struct seen *find(struct read_tracker *t, const char *path, bool or_replace)
{
        size_t start = hash_to_slot(path);
        struct seen *oldest = NULL;
        for (size_t i = 0; i < PROBES; i++) {
                struct seen *s = &t->seen[(start + i) % SLOTS];
                if (s->path && strcmp(s->path, path) == 0)
                        return s;
                if (!oldest || s->recorded_at < oldest->recorded_at)
                        oldest = s;
        }
        return or_replace ? oldest : NULL;
}

int read_tracker_record(struct read_tracker *t, const char *path, const struct stat *st)
{
        char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        (void)pthread_mutex_lock(&t->lock);
        struct seen *s = find(t, path, true);
        char *replaced = s->path;
        *s = (struct seen){ copy, ++t->clock, *st };
        (void)pthread_mutex_unlock(&t->lock);
        free(replaced);
        return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
        return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_state(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

enum read_state tracker_check(struct read_tracker *t, const char *path, const struct stat *now)
{
        (void)pthread_mutex_lock(&t->lock);
        const struct seen *s = find(t, path, false);
        enum read_state answer = !s                           ? READ_STATE_UNREAD
                                 : is_same_state(&s->st, now) ? READ_STATE_CURRENT
                                                              : READ_STATE_STALE;
        (void)pthread_mutex_unlock(&t->lock);
        return answer;
}
