/*
 * Glob: files by a pattern of their names, the newest first. Each thread keeps only as many as are shown (newest.c), so a
 * tree of any size takes the same memory; at the end what they kept is put together.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/newest.h"
#include "tools/tool.h"
#include "tools/walk.h"
#include "tools/wildcard.h"

enum { DEFAULT_LIMIT = 100, MOST_LIMIT = 10000 };

struct search {
        struct wildcards wanted;
        char *top; /* the directory that is searched */
        pthread_mutex_t lock;
        struct newest newest; /* of what all threads found; under the lock */
};

/* --- what the walk asks for --- */

static void *hire(void *data, const atomic_bool *stop)
{
        (void)stop;
        const struct search *s = data;
        struct newest *n = calloc(1, sizeof *n);
        if (n)
                n->limit = s->newest.limit;
        return n;
}

static bool visit(void *data, void *hand, const struct walk_file *file)
{
        const struct search *s = data;
        struct newest *n = hand;
        struct stat st;
        if (!wildcards_fit(&s->wanted, file->path, file->name))
                return true;
        n->seen++;
        if (fstatat(file->directory, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                newest_add(n, st.st_mtim, file->path);
        return !n->failed;
}

static bool skips(void *data, const char *path, bool is_directory)
{
        const struct search *s = data;
        for (size_t i = 0; is_directory && i < s->wanted.count; i++)
                if (wildcard_may_fit_below(&s->wanted.list[i], path))
                        return false;
        return is_directory;
}

static void dismiss(void *data, void *hand)
{
        struct search *s = data;
        struct newest *n = hand;
        (void)pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < n->count; i++)
                newest_add(&s->newest, n->list[i].when, n->list[i].path);
        s->newest.seen += n->seen;
        s->newest.failed |= n->failed;
        (void)pthread_mutex_unlock(&s->lock);
        newest_done(n);
        free(n);
}

static void ended(void *data)
{
        struct search *s = data;
        newest_done(&s->newest);
        wildcards_done(&s->wanted);
        (void)pthread_mutex_destroy(&s->lock);
        free(s->top);
        free(s);
}

static const struct walk_visitor visitor = {
        .hire = hire, .visit = visit, .skips = skips, .dismiss = dismiss, .ended = ended, .counts = "files seen",
};

/* --- the tool --- */

static struct search *prepare(const json_t *arguments, const struct spot *start, struct tool_answer *answer)
{
        const char *pattern = tool_string(arguments, "pattern");
        struct search *s = calloc(1, sizeof *s);
        if (!s) {
                tool_fail(answer, "no memory");
                return NULL;
        }
        (void)pthread_mutex_init(&s->lock, NULL);
        s->newest.limit = (size_t)tool_integer(arguments, "limit", DEFAULT_LIMIT);
        s->top = strdup(start->path);
        /* An absolute pattern that begins with the directory means what is behind it. */
        size_t n = strlen(start->path);
        if (strncmp(pattern, start->path, n) == 0 && pattern[n] == '/')
                pattern += n + 1;
        const char *wrong = wildcards_read(&s->wanted, pattern);
        if (wrong || !s->top) {
                tool_fail(answer, wrong ? "the pattern is wrong: %s" : "no memory", wrong);
                ended(s);
                return NULL;
        }
        return s;
}

static struct job *start(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *path = tool_string(arguments, "path");
        CLEANUP_SPOT struct spot from = SPOT_NONE;
        struct error e = { 0 };
        const struct workspace *workspace = toolbox_find(box, path ? path : "", &from, answer);
        if (!workspace)
                return NULL;
        if (from.fd < 0 || !S_ISDIR(from.st.st_mode)) {
                tool_fail(answer, from.fd < 0 ? "no such directory: %s" : "%s is not a directory", from.path);
                return NULL;
        }
        struct search *s = prepare(arguments, &from, answer);
        if (!s)
                return NULL;
        struct walk_start where = { workspace, &from, tool_flag(arguments, "ignored") };
        struct job *j = walk_new(&where, &visitor, s, &e);
        if (!j)
                toolbox_fail(box, answer, &e, from.path, false);
        return j;
}

static void finish(struct job *j, struct tool_answer *answer)
{
        struct search *s = walk_data(j);
        struct newest *n = &s->newest;
        struct text *out = &answer->text;
        if (walk_failed(j) || n->failed) {
                tool_fail(answer, "no memory");
                return;
        }
        newest_sort(n);
        for (size_t i = 0; i < n->count; i++) {
                text_format(out, "%s/", strcmp(s->top, "/") == 0 ? "" : s->top);
                text_add_visible(out, n->list[i].path, strlen(n->list[i].path)); /* a name can have a newline in it */
                text_add(out, "\n");
        }
        if (!n->count)
                text_add(out, "no file matches");
        if (n->seen > n->count)
                text_format(out, "(%zu more match; narrow the pattern or raise the limit)\n", n->seen - n->count);
        if (walk_unreadable(j))
                text_format(out, "%s(%zu directories could not be read)\n", n->count ? "" : "\n", walk_unreadable(j));
        answer->structured = json_pack("{s:I, s:I}", "matched", (json_int_t)n->seen, "shown", (json_int_t)n->count);
}

static const struct tool_field parameters[] = {
        { "pattern", TOOL_STRING, true, "As in *.c, *.{c,h} or src/**/*.h. Without a slash it is a pattern of names, anywhere.", 0, 0 },
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
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .start = start,
        .finish = finish,
};
