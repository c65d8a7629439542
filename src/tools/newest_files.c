/* The newest files; see newest_files.h. */
#include "tools/newest_files.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Newest first, then by name. */
static int compare(const struct newest_file *a, const struct newest_file *b)
{
        if (a->when.tv_sec != b->when.tv_sec)
                return a->when.tv_sec > b->when.tv_sec ? -1 : 1;
        if (a->when.tv_nsec != b->when.tv_nsec)
                return a->when.tv_nsec > b->when.tv_nsec ? -1 : 1;
        return strcmp(a->path, b->path);
}

static int compare_found(const void *a, const void *b)
{
        return compare(a, b);
}

static void swap(struct newest_file *a, struct newest_file *b)
{
        struct newest_file c = *a;
        *a = *b;
        *b = c;
}

/* The oldest is at the top. */
static void sift_down(struct newest_files *h)
{
        for (size_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
                if (child + 1 < h->count && compare(&h->list[child + 1], &h->list[child]) > 0)
                        child++;
                if (compare(&h->list[child], &h->list[i]) <= 0)
                        return;
                swap(&h->list[child], &h->list[i]);
        }
}

static void sift_up(struct newest_files *h)
{
        for (size_t i = h->count - 1; i && compare(&h->list[i], &h->list[(i - 1) / 2]) > 0; i = (i - 1) / 2)
                swap(&h->list[i], &h->list[(i - 1) / 2]);
}

static bool make_room(struct newest_files *h)
{
        if (h->count & (h->count - 1) || h->count == 1) /* the capacity doubles, so the list is full at powers of two */
                return true;
        struct newest_file *larger = realloc(h->list, (h->count ? h->count * 2 : 2) * sizeof *larger);
        h->list = larger ? larger : h->list;
        return larger;
}

void newest_files_add(struct newest_files *h, struct timespec when, const char *path)
{
        struct newest_file new = { when, (char *)(uintptr_t)path }; /* borrowed for the comparison */
        bool full = h->count == h->limit;
        if (full && compare(&new, &h->list[0]) >= 0)
                return;
        new.path = strdup(path);
        if (!new.path || (!full && !make_room(h))) {
                free(new.path);
                h->failed = true;
        } else if (full) {
                char *last = h->list[0].path;
                h->list[0] = new;
                sift_down(h);
                free(last);
        } else {
                h->list[h->count++] = new;
                sift_up(h);
        }
}

void newest_files_done(struct newest_files *h)
{
        for (size_t i = 0; i < h->count; i++)
                free(h->list[i].path);
        free(h->list);
}

void newest_files_sort(struct newest_files *h)
{
        if (h->count)
                qsort(h->list, h->count, sizeof *h->list, compare_found);
}
