/*
 * Grep: finds files, lines or counts by a regular expression.
 *
 * How it works: threads walk the tree (tree_walk.c) and search files (grep_file.c). The answer shows the first findings
 * in the order of their paths, so it does not depend on how the threads raced. Only as many findings are kept as can be
 * shown, in a heap whose top is the last path. Once the heap is full, files whose path sorts after the top are not
 * searched; the walk takes directories nearly in order, so that saves most of the work.
 *
 * What an attacker controls: the files and their number and, as the agent, the pattern. Memory, the time for a match,
 * and the answer are bounded.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/grep_file.h"
#include "tools/tool.h"
#include "tools/file_types.h"
#include "tools/tree_walk.h"
#include "tools/glob_pattern.h"

enum {
        CONTEXT_MAX = 100,
        DEFAULT_LIMIT = 250,
        LIMIT_MAX = 100000,
        BYTES_MAX = 16 << 20, /* of findings in memory; the last one may exceed it */
        NOTES_MAX = 500,      /* bytes of the notes at the end of an answer */
        SLOW_MAX = 3,         /* files in which the pattern takes too long, before the search fails */
};

static const char *const mode_words[] = { "files_with_matches", "content", "count", NULL }; /* as in enum grep_mode */

struct search {
        struct regex_matcher *matcher;
        struct grep_options options;
        struct glob_filter names, types;
        char *top;
        atomic_bool more;    /* there is more than can be shown: paths after the last finding are not searched */
        atomic_int error;    /* -errno of a failure */
        atomic_size_t cut;   /* files that were searched only in part */
        atomic_size_t slow;  /* files that were skipped, because the pattern takes too long in them */
        pthread_mutex_t lock; /* protects what follows */
        struct grep_result *findings;
        size_t count, capacity;
        size_t lines, bytes; /* of all findings */
        size_t offset;       /* lines at the start that the answer leaves out; options.limit includes them */
};

/* --- the findings --- */

static void swap(struct grep_result *a, struct grep_result *b)
{
        struct grep_result c = *a;
        *a = *b;
        *b = c;
}

static bool is_later(const struct grep_result *a, const struct grep_result *b)
{
        return strcmp(a->path, b->path) > 0;
}

static void sift_up(struct search *h)
{
        for (size_t i = h->count - 1; i && is_later(&h->findings[i], &h->findings[(i - 1) / 2]); i = (i - 1) / 2)
                swap(&h->findings[i], &h->findings[(i - 1) / 2]);
}

static void sift_down(struct search *h)
{
        for (size_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
                if (child + 1 < h->count && is_later(&h->findings[child + 1], &h->findings[child]))
                        child++;
                if (!is_later(&h->findings[child], &h->findings[i]))
                        return;
                swap(&h->findings[child], &h->findings[i]);
        }
}

/* Drops the last findings while the ones before them reach a limit alone. */
static void drop_worst(struct search *h)
{
        while (h->count) {
                struct grep_result *last = &h->findings[0];
                size_t lines = h->lines - last->marks.length, bytes = h->bytes - last->text.length;
                if (lines < h->options.limit && bytes < BYTES_MAX)
                        return;
                h->more = true;
                h->lines = lines;
                h->bytes = bytes;
                grep_result_done(last);
                *last = h->findings[--h->count];
                sift_down(h);
        }
}

/* Takes ownership of the finding. */
static void add_finding(struct search *h, struct grep_result *f)
{
        (void)pthread_mutex_lock(&h->lock);
        if (h->count == h->capacity) {
                size_t capacity = h->capacity ? h->capacity * 2 : 64;
                struct grep_result *larger = realloc(h->findings, capacity * sizeof *larger);
                h->findings = larger ? larger : h->findings;
                h->capacity = larger ? capacity : h->capacity;
        }
        if (h->count == h->capacity) {
                grep_result_done(f);
                h->error = -ENOMEM;
        } else {
                h->lines += f->marks.length;
                h->bytes += f->text.length;
                h->findings[h->count++] = *f;
                sift_up(h);
                drop_worst(h);
        }
        (void)pthread_mutex_unlock(&h->lock);
}

/* --- callbacks of the walk --- */

static void *local_new(void *data, const atomic_bool *stop)
{
        const struct search *h = data;
        return grep_scanner_new(&h->options, stop);
}

static bool visit(void *data, void *local, const struct walk_file *file)
{
        struct search *h = data;
        struct grep_result f;
        if (file->is_link || !wildcards_match(&h->names, file->path, file->name) ||
            !wildcards_match(&h->types, file->path, file->name))
                return true;
        int r = grep_file(local, file, &f);
        if (r == 1) {
                h->cut += f.cut;
                add_finding(h, &f);
        } else if (r == -ETIME && ++h->slow <= SLOW_MAX) {
                return true;
        } else if (r < 0 && r != -ECANCELED) {
                h->error = r;
        }
        return !h->error;
}

/* Whether the file, or everything below the directory (its path and a slash), sorts after `last`. */
static bool sorts_after(const char *path, bool is_directory, const char *last)
{
        size_t n = strlen(path);
        int order = strncmp(path, last, n);
        return order > 0 || (order == 0 && (is_directory ? (unsigned char)last[n] < '/' : last[n] == '\0'));
}

static bool can_skip(void *data, const char *path, bool is_directory)
{
        struct search *h = data;
        if (!h->more)
                return false;
        (void)pthread_mutex_lock(&h->lock);
        bool skipped = h->count && sorts_after(path, is_directory, h->findings[0].path);
        (void)pthread_mutex_unlock(&h->lock);
        return skipped;
}

static void local_free(void *data, void *local)
{
        (void)data;
        grep_scanner_free(local);
}

static void free_data(void *data)
{
        struct search *h = data;
        for (size_t i = 0; i < h->count; i++)
                grep_result_done(&h->findings[i]);
        free(h->findings);
        glob_filter_done(&h->names);
        glob_filter_done(&h->types);
        regex_matcher_free(h->matcher);
        (void)pthread_mutex_destroy(&h->lock);
        free(h->top);
        free(h);
}

static const struct walk_callbacks visitor = {
        .local_new = local_new, .visit = visit, .can_skip = can_skip, .local_free = local_free, .free_data = free_data,
        .in_order = true, .unit = "files searched",
};

/* --- arguments --- */

static bool parse_filters(struct search *h, const json_t *arguments, struct tool_result *answer)
{
        const char *glob = tool_arg_string(arguments, "glob"), *type = tool_arg_string(arguments, "type");
        CLEANUP_TEXT struct text why = { 0 };
        const char *patterns = type ? file_type_patterns(type, &why) : NULL;
        const char *wrong = glob ? glob_filter_parse(&h->names, glob) : NULL;
        if (wrong)
                tool_fail(answer, "invalid glob: %s", wrong);
        else if (type && !patterns)
                tool_fail(answer, "%s", why.data ? why.data : "no memory");
        else if (type && (wrong = glob_filter_parse(&h->types, patterns)))
                tool_fail(answer, "%s", wrong);
        else
                return true;
        return false;
}

static bool parse_pattern(struct search *h, const json_t *arguments, struct tool_result *answer)
{
        char why[300];
        struct regex_options o = { tool_arg_bool(arguments, "case_insensitive"), h->options.multiline };
        h->matcher = regex_matcher_new(tool_arg_string(arguments, "pattern"), o, why, sizeof why);
        h->options.matcher = h->matcher;
        if (!h->matcher)
                tool_fail(answer, "%s", why);
        return h->matcher;
}

/* Sets the directory that paths are relative to: the start, or the parent of a single file. */
static bool set_top(struct search *h, const struct held_path *from, struct tool_result *answer)
{
        if (from->fd < 0) {
                tool_fail(answer, "no such file or directory: %s", from->path);
                return false;
        }
        const char *slash = strrchr(from->path, '/');
        bool is_directory = S_ISDIR(from->st.st_mode);
        h->top = is_directory ? strdup(from->path) : strndup(from->path, (size_t)(slash - from->path));
        h->options.top = h->top;
        if (!h->top)
                tool_fail(answer, "no memory");
        else if (!is_directory && !S_ISREG(from->st.st_mode))
                tool_fail(answer, "%s is %s and cannot be searched", from->path, file_kind_name(from->st.st_mode));
        else
                return true;
        return false;
}

static struct job *start(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *path = tool_arg_string(arguments, "path");
        json_int_t context = tool_arg_integer(arguments, "context", 0);
        CLEANUP_HELD_PATH struct held_path from = HELD_PATH_NONE;
        struct error e = { 0 };
        const struct workspace *workspace = tool_resolve_path(tools, path ? path : "", &from, answer);
        struct search *h = workspace ? calloc(1, sizeof *h) : NULL;
        if (!h) {
                if (workspace)
                        tool_fail(answer, "no memory");
                return NULL;
        }
        (void)pthread_mutex_init(&h->lock, NULL);
        h->options = (struct grep_options){
                .mode = (enum grep_mode)tool_arg_word(arguments, "output_mode", mode_words),
                .multiline = tool_arg_bool(arguments, "multiline"),
                .without_numbers = json_is_false(json_object_get(arguments, "line_numbers")),
                .before = (size_t)tool_arg_integer(arguments, "before", context),
                .after = (size_t)tool_arg_integer(arguments, "after", context),
        };
        h->offset = (size_t)tool_arg_integer(arguments, "offset", 0);
        h->options.limit = h->offset + (size_t)tool_arg_integer(arguments, "head_limit", DEFAULT_LIMIT);
        if (!set_top(h, &from, answer) || !parse_filters(h, arguments, answer) ||
            !parse_pattern(h, arguments, answer)) {
                free_data(h);
                return NULL;
        }
        struct walk_start where = { workspace, &from, tool_arg_bool(arguments, "ignored") };
        struct job *j = tree_walk_start(&where, &visitor, h, &e);
        if (!j)
                tool_fail_with_rule(tools, answer, &e, from.path, false);
        return j;
}

/* --- the answer --- */

static int compare_findings(const void *a, const void *b)
{
        const struct grep_result *x = a, *y = b;
        return strcmp(x->path, y->path);
}

static bool is_separator(const char *line, const char *end)
{
        return end - line >= 3 && memcmp(line, "--\n", 3) == 0;
}

/* The part of the result that one answer shows. */
struct page {
        struct text *out;
        size_t skip;    /* lines to leave out first */
        size_t left;    /* lines that may still be shown */
        size_t lines, matches; /* shown */
        bool separate;  /* add a separator before the next line */
        bool full;
};

/* Adds one line, with the separator that may stand before it. */
static void add_line(struct page *p, const char *separator, const char *line, const char *end, bool is_match)
{
        if (p->skip) {
                p->skip--;
                return;
        }
        const char *start = p->lines ? separator : line;
        if (!p->left || p->out->length + (size_t)(end - start) > TOOL_TEXT_MAX - NOTES_MAX) {
                p->full = true;
                return;
        }
        if (p->separate)
                text_add(p->out, "--\n");
        p->separate = false;
        text_add_bytes(p->out, start, (size_t)(end - start));
        p->left--;
        p->lines++;
        p->matches += is_match;
}

static void add_lines(struct page *p, const struct grep_result *f)
{
        const char *line = f->text.data, *end = line + f->text.length;
        size_t before = p->lines, matches = p->matches;
        for (size_t i = 0; i < f->marks.length && !p->full; i++) {
                const char *separator = line;
                line += is_separator(line, end) ? 3 : 0;
                const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
                add_line(p, separator, line, next, f->marks.data[i] == LINE_MATCH);
                line = next;
        }
        if (p->lines - before == f->marks.length && !f->more)
                p->matches = matches + f->matches; /* a line can have several */
}

static void add_notes(const struct job *j, size_t next, struct text *out)
{
        const struct search *h = tree_walk_data(j);
        const struct {
                size_t count;
                const char *what;
        } notes[] = {
                { h->cut, "large files were searched only in their first 16 MiB" },
                { h->slow, "files were skipped: the pattern takes too long in them" },
                { tree_walk_unreadable(j), "directories could not be read" },
        };
        if (next)
                text_format(out, "(there is more: continue with offset %zu, or narrow the pattern)\n", next);
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
                if (notes[i].count)
                        text_format(out, "%s(%zu %s)\n", h->count ? "" : "\n", notes[i].count, notes[i].what);
}

static void finish(struct job *j, struct tool_result *answer)
{
        struct search *h = tree_walk_data(j);
        struct page page = { .out = &answer->text, .skip = h->offset, .left = h->options.limit - h->offset };
        bool more = h->more, separated = h->options.mode == GREP_CONTENT && (h->options.before || h->options.after);
        if (tree_walk_failed(j) || h->error == -ENOMEM) {
                tool_fail(answer, "no memory");
                return;
        }
        if (h->error || (h->slow && !h->count)) {
                tool_fail(answer, "the pattern takes too long; make it simpler");
                return;
        }
        if (h->count)
                qsort(h->findings, h->count, sizeof *h->findings, compare_findings);
        for (size_t i = 0; i < h->count; i++) {
                const struct grep_result *f = &h->findings[i];
                page.separate = separated && page.lines;
                add_lines(&page, f);
                more |= f->more;
        }
        more |= page.full;
        if (!h->count)
                text_add(&answer->text, "nothing matches");
        if (h->count && !page.lines) {
                tool_fail(answer, "offset %zu exceeds the %zu lines of the result", h->offset, h->offset - page.skip);
                return;
        }
        add_notes(j, more ? h->offset + page.lines : 0, &answer->text);
        answer->details = json_pack("{s:I, s:I, s:b}", "files", (json_int_t)h->count, "matches",
                                    (json_int_t)page.matches, "more", more);
}

static const struct tool_param parameters[] = {
        { .name = "pattern", .type = TOOL_STRING, .required = true, .help = "A Perl-compatible regular expression." },
        { .name = "path", .type = TOOL_STRING, .help = "The file or directory to search; default: the workspace." },
        { .name = "glob", .type = TOOL_STRING,
          .help = "Only files that match, for example *.c, *.{c,h} or src/**/*.h." },
        { .name = "type", .type = TOOL_STRING,
          .help = "Only files of this type: c, cpp, py, js, ts, rust, go, java, md, json, yaml, sh, …" },
        { .name = "output_mode", .type = TOOL_STRING, .words = mode_words,
          .help = "files_with_matches (the default), content, or count." },
        { .name = "case_insensitive", .type = TOOL_BOOLEAN, .help = "Ignore case.", .also = "-i" },
        { .name = "multiline", .type = TOOL_BOOLEAN, .help = "Let a match span several lines, and . match a newline." },
        { .name = "line_numbers", .type = TOOL_BOOLEAN, .also = "-n",
          .help = "Show the number of each line; content only. Default true." },
        { .name = "context", .type = TOOL_INTEGER, .also = "-C",
          .help = "Lines to show before and after each match; content only.", .min = 0, .max = CONTEXT_MAX },
        { .name = "before", .type = TOOL_INTEGER, .also = "-B",
          .help = "Lines to show before each match; content only.", .min = 0, .max = CONTEXT_MAX },
        { .name = "after", .type = TOOL_INTEGER, .also = "-A",
          .help = "Lines to show after each match; content only.", .min = 0, .max = CONTEXT_MAX },
        { .name = "head_limit", .type = TOOL_INTEGER,
          .help = "How many lines or files to show; default 250.", .min = 1, .max = LIMIT_MAX },
        { .name = "offset", .type = TOOL_INTEGER,
          .help = "How many lines or files of the result to leave out first.", .min = 0, .max = LIMIT_MAX },
        { .name = "ignored", .type = TOOL_BOOLEAN, .help = "Also search files that .gitignore excludes." },
};

const struct tool tool_grep = {
        .name = "Grep",
        .title = "Search in files",
        .help = "Searches files for a regular expression and shows the matching files, the matching lines, or counts, "
                "sorted by path. Binary files are skipped, and symbolic links are not followed.",
        .reads_only = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .start = start,
        .finish = finish,
};
