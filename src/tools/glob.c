/*
 * Glob: files by a pattern of their names, the newest first. Only as many as are shown are kept, in a heap whose top is the
 * one to go next, so a tree of any size takes the same memory.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "policy/pattern.h"
#include "tools/ignore.h"
#include "tools/tool.h"
#include "tools/walk.h"

enum { DEFAULT_LIMIT = 100, MOST_LIMIT = 10000 };

struct found {
        struct timespec when;
        char *path;
};

struct search {
        const char *pattern;
        bool basename; /* a pattern without a slash is one of names, anywhere */
        struct found *heap;
        size_t count, limit;
        size_t matched;
        bool failed;
};

/* Newest first, then by name. */
static int compare(const struct found *a, const struct found *b)
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

static void swap(struct found *a, struct found *b)
{
        struct found c = *a;
        *a = *b;
        *b = c;
}

/* The last in order is at the top. */
static void sift_down(struct search *s)
{
        for (size_t i = 0, child; (child = 2 * i + 1) < s->count; i = child) {
                if (child + 1 < s->count && compare(&s->heap[child + 1], &s->heap[child]) > 0)
                        child++;
                if (compare(&s->heap[child], &s->heap[i]) <= 0)
                        return;
                swap(&s->heap[child], &s->heap[i]);
        }
}

static void sift_up(struct search *s)
{
        for (size_t i = s->count - 1; i && compare(&s->heap[i], &s->heap[(i - 1) / 2]) > 0; i = (i - 1) / 2)
                swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static void keep(struct search *s, struct timespec when, const char *path)
{
        struct found new = { when, strdup(path) };
        if (!new.path) {
                s->failed = true;
        } else if (s->count < s->limit) {
                s->heap[s->count++] = new;
                sift_up(s);
        } else if (compare(&new, &s->heap[0]) < 0) {
                struct found last = s->heap[0];
                s->heap[0] = new;
                sift_down(s);
                free(last.path);
        } else {
                free(new.path);
        }
}

static bool visit(void *data, int directory, const char *name, const char *path)
{
        struct search *s = data;
        struct stat st;
        if (glob_matches(s->pattern, s->basename ? name : path)) {
                s->matched++;
                if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        keep(s, st.st_mtim, path);
        }
        return !s->failed;
}

static void print(const struct search *s, const char *top, struct tool_answer *answer)
{
        for (size_t i = 0; i < s->count; i++) {
                text_format(&answer->text, "%s/", strcmp(top, "/") == 0 ? "" : top);
                text_add_visible(&answer->text, s->heap[i].path, strlen(s->heap[i].path)); /* a name can have a newline in it */
                text_add(&answer->text, "\n");
        }
        if (!s->count)
                text_add(&answer->text, "no file matches");
        if (s->matched > s->count)
                text_format(&answer->text, "(%zu more match; narrow the pattern or raise the limit)\n", s->matched - s->count);
        answer->structured = json_pack("{s:I, s:I}", "matched", (json_int_t)s->matched, "shown", (json_int_t)s->count);
}

static void run(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *path = tool_string(arguments, "path");
        size_t limit = (size_t)tool_integer(arguments, "limit", DEFAULT_LIMIT);
        CLEANUP_SPOT struct spot start = SPOT_NONE;
        struct error e = { 0 };
        struct search s = { .pattern = tool_string(arguments, "pattern"), .limit = limit };
        if (!toolbox_find(box, path ? path : "", &start, answer))
                return;
        if (start.fd < 0 || !S_ISDIR(start.st.st_mode)) {
                tool_fail(answer, start.fd < 0 ? "no such directory: %s" : "%s is not a directory", start.path);
                return;
        }
        /* An absolute pattern that begins with the directory means what is behind it. */
        size_t n = strlen(start.path);
        if (strncmp(s.pattern, start.path, n) == 0 && s.pattern[n] == '/')
                s.pattern += n + 1;
        s.basename = !strchr(s.pattern, '/');
        const char *wrong = pattern_check(s.pattern);
        if (wrong) {
                tool_fail(answer, "the pattern is wrong: %s", wrong);
                return;
        }
        s.heap = calloc(limit, sizeof *s.heap);
        if (!s.heap || walk_tree(&start, tool_flag(arguments, "ignored"), visit, &s, &e) < 0 || s.failed) {
                tool_fail(answer, "%s", e.code ? e.text : "no memory");
        } else {
                qsort(s.heap, s.count, sizeof *s.heap, compare_found);
                print(&s, start.path, answer);
        }
        for (size_t i = 0; i < s.count; i++)
                free(s.heap[i].path);
        free(s.heap);
}

static const struct tool_field parameters[] = {
        { "pattern", TOOL_STRING, true, "As in *.c or src/**/*.h. Without a slash it is a pattern of names, anywhere.", 0, 0 },
        { "path", TOOL_STRING, false, "Where to look; the workspace if it is left out.", 0, 0 },
        { "limit", TOOL_INTEGER, false, "How many to show; 100 if it is left out.", 1, MOST_LIMIT },
        { "ignored", TOOL_BOOLEAN, false, "Also what .gitignore leaves out.", 0, 0 },
};

static const struct tool_field results[] = {
        { "matched", TOOL_INTEGER, true, "How many files match.", 0, 0 },
        { "shown", TOOL_INTEGER, true, "How many of them are shown.", 0, 0 },
};

const struct tool tool_glob = {
        .name = "Glob",
        .title = "Find files",
        .help = "Finds files by a pattern of their names, the newest first. Links to directories are not followed.",
        .reads_only = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .run = run,
};
