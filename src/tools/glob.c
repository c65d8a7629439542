/*
 * Glob: finds files by a name pattern, newest first. Each thread keeps only as many files as can be shown
 * (newest_files.c), so memory does not grow with the tree. At the end the threads' results are merged.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/newest_files.h"
#include "tools/tool.h"
#include "tools/tree_walk.h"
#include "tools/glob_pattern.h"

enum { DEFAULT_LIMIT = 100, LIMIT_MAX = 10000, NOTES_MAX = 500 };

struct search {
        struct glob_filter wanted;
        char *top; /* path of the directory that is searched */
        pthread_mutex_t lock;
        struct newest_files newest; /* merged from all threads; protected by the lock */
        size_t offset; /* files at the start that the answer leaves out; newest.limit includes them */
};

/* --- callbacks of the walk --- */

static void *local_new(void *data, const atomic_bool *stop)
{
        (void)stop;
        const struct search *s = data;
        struct newest_files *n = calloc(1, sizeof *n);
        if (n)
                n->limit = s->newest.limit;
        return n;
}

static bool visit(void *data, void *local, const struct walk_file *file)
{
        const struct search *s = data;
        struct newest_files *n = local;
        struct stat st;
        if (!wildcards_match(&s->wanted, file->path, file->name))
                return true;
        n->seen++;
        if (fstatat(file->directory, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                newest_files_add(n, st.st_mtim, file->path);
        return !n->failed;
}

static bool can_skip(void *data, const char *path, bool is_directory)
{
        const struct search *s = data;
        for (size_t i = 0; is_directory && i < s->wanted.count; i++)
                if (wildcard_may_match_below(&s->wanted.list[i], path))
                        return false;
        return is_directory;
}

static void local_free(void *data, void *local)
{
        struct search *s = data;
        struct newest_files *n = local;
        (void)pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < n->count; i++)
                newest_files_add(&s->newest, n->list[i].when, n->list[i].path);
        s->newest.seen += n->seen;
        s->newest.failed |= n->failed;
        (void)pthread_mutex_unlock(&s->lock);
        newest_files_done(n);
        free(n);
}

static void free_data(void *data)
{
        struct search *s = data;
        newest_files_done(&s->newest);
        glob_filter_done(&s->wanted);
        (void)pthread_mutex_destroy(&s->lock);
        free(s->top);
        free(s);
}

static const struct walk_callbacks visitor = {
        .local_new = local_new,
        .visit = visit,
        .can_skip = can_skip,
        .local_free = local_free,
        .free_data = free_data,
        .unit = "files seen",
};

/* --- the tool --- */

static struct search *prepare(const json_t *arguments, const struct held_path *start, struct tool_result *answer)
{
        const char *pattern = tool_arg_string(arguments, "pattern");
        struct search *s = calloc(1, sizeof *s);
        if (!s) {
                tool_fail(answer, "no memory");
                return NULL;
        }
        (void)pthread_mutex_init(&s->lock, NULL);
        s->offset = (size_t)tool_arg_integer(arguments, "offset", 0);
        s->newest.limit = s->offset + (size_t)tool_arg_integer(arguments, "limit", DEFAULT_LIMIT);
        s->top = strdup(start->path);
        /* Make an absolute pattern relative to the directory. */
        size_t n = strlen(start->path);
        if (strncmp(pattern, start->path, n) == 0 && pattern[n] == '/')
                pattern += n + 1;
        const char *wrong = glob_filter_parse(&s->wanted, pattern);
        if (wrong || !s->top) {
                tool_fail(answer, wrong ? "invalid pattern: %s" : "no memory", wrong);
                free_data(s);
                return NULL;
        }
        return s;
}

static struct job *start(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *path = tool_arg_string(arguments, "path");
        CLEANUP_HELD_PATH struct held_path from = HELD_PATH_NONE;
        struct error e = { 0 };
        const struct workspace *workspace = tool_resolve_path(tools, path ? path : "", &from, answer);
        if (!workspace)
                return NULL;
        if (from.fd < 0 || !S_ISDIR(from.st.st_mode)) {
                tool_fail(answer, from.fd < 0 ? "no such directory: %s" : "%s is not a directory", from.path);
                return NULL;
        }
        struct search *s = prepare(arguments, &from, answer);
        if (!s)
                return NULL;
        struct walk_start where = { workspace, &from, tool_arg_bool(arguments, "ignored") };
        struct job *j = tree_walk_start(&where, &visitor, s, &e);
        if (!j)
                tool_fail_with_rule(tools, answer, &e, from.path, false);
        return j;
}

static void finish(struct job *j, struct tool_result *answer)
{
        struct search *s = tree_walk_data(j);
        struct newest_files *n = &s->newest;
        struct text *out = &answer->text;
        if (tree_walk_failed(j) || n->failed) {
                tool_fail(answer, "no memory");
                return;
        }
        newest_files_sort(n);
        size_t next = s->offset;
        for (; next < n->count && out->length < TOOL_TEXT_MAX - NOTES_MAX - PATH_MAX; next++) {
                text_format(out, "%s/", strcmp(s->top, "/") == 0 ? "" : s->top);
                text_add_escaped(out, n->list[next].path, strlen(n->list[next].path)); /* may contain a newline */
                text_add(out, "\n");
        }
        if (!n->count)
                text_add(out, "no file matches");
        if (n->count && s->offset >= n->count) {
                tool_fail(answer, "offset %zu exceeds the %zu files that match", s->offset, n->seen);
                return;
        }
        if (n->seen > next)
                text_format(out, "(%zu more match: continue with offset %zu, or narrow the pattern)\n", n->seen - next,
                            next);
        if (tree_walk_unreadable(j))
                text_format(out, "%s(%zu directories could not be read)\n", n->count ? "" : "\n",
                            tree_walk_unreadable(j));
        answer->details = json_pack("{s:I, s:I}", "matched", (json_int_t)n->seen, "shown",
                                    (json_int_t)(next - s->offset));
}

static const struct tool_param parameters[] = {
        { .name = "pattern", .type = TOOL_STRING, .required = true,
          .help = "For example *.c, *.{c,h} or src/**/*.h. Without a slash it matches file names in any directory." },
        { .name = "path", .type = TOOL_STRING, .help = "The directory to search; default: the workspace." },
        { .name = "limit", .type = TOOL_INTEGER,
          .help = "How many files to show; default 100.", .min = 1, .max = LIMIT_MAX },
        { .name = "offset", .type = TOOL_INTEGER,
          .help = "How many files of the result to leave out first.", .min = 0, .max = LIMIT_MAX },
        { .name = "ignored", .type = TOOL_BOOLEAN, .help = "Include files that .gitignore excludes." },
};

const struct tool tool_glob = {
        .name = "Glob",
        .title = "Find files",
        .help = "Finds files by a name pattern, newest first. Symbolic links to directories are not followed.",
        .reads_only = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .start = start,
        .finish = finish,
};
