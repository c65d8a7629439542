/*
 * Grep: files, lines or counts by a regular expression.
 *
 * How it works: threads go through the tree (walk.c), and each searches files (scan.c). What is shown is the beginning of all
 * findings in the order of their paths, so it is the same however the threads raced. Only as many findings are kept as
 * can still be shown, in a heap whose top is the last of them. As soon as it is known that there are more, whatever comes
 * behind the last in order is not searched any more; the walk takes directories nearly in order, so that comes early.
 *
 * What an attacker controls: the files and their number, and, as the agent, the pattern. Memory, the time that a match may
 * take, and the answer have bounds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/scan.h"
#include "tools/tool.h"
#include "tools/types.h"
#include "tools/walk.h"
#include "tools/wildcard.h"

enum {
        MOST_CONTEXT = 100,
        DEFAULT_LIMIT = 250,
        MOST_LIMIT = 100000,
        MOST_BYTES = 16 << 20, /* of findings that are kept; the last may go beyond */
        MOST_SLOW = 3,         /* files in which the pattern takes too long */
};

static const char *const mode_words[] = { "files_with_matches", "content", "count" }; /* as in enum scan_mode */

struct hunt {
        struct matcher *matcher;
        struct scan_options options;
        struct wildcards names, types;
        char *top;
        atomic_bool more;    /* than can be shown: then the last of the findings is where the search ends */
        atomic_int wrong;    /* -errno of the first that failed */
        atomic_size_t cut;   /* files that were not searched to their end */
        atomic_size_t slow;  /* files that were passed over, because the pattern takes too long in them */
        pthread_mutex_t lock; /* of what follows */
        struct finding *findings;
        size_t count, room;
        size_t lines, bytes; /* of them */
};

/* --- the findings --- */

static void swap(struct finding *a, struct finding *b)
{
        struct finding c = *a;
        *a = *b;
        *b = c;
}

static bool is_later(const struct finding *a, const struct finding *b)
{
        return strcmp(a->path, b->path) > 0;
}

static void sift_up(struct hunt *h)
{
        for (size_t i = h->count - 1; i && is_later(&h->findings[i], &h->findings[(i - 1) / 2]); i = (i - 1) / 2)
                swap(&h->findings[i], &h->findings[(i - 1) / 2]);
}

static void sift_down(struct hunt *h)
{
        for (size_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
                if (child + 1 < h->count && is_later(&h->findings[child + 1], &h->findings[child]))
                        child++;
                if (!is_later(&h->findings[child], &h->findings[i]))
                        return;
                swap(&h->findings[child], &h->findings[i]);
        }
}

/* Lets go of the last findings, as long as those before them are all that can be shown. */
static void drop_last(struct hunt *h)
{
        while (h->count) {
                struct finding *last = &h->findings[0];
                size_t lines = h->lines - last->marks.length, bytes = h->bytes - last->text.length;
                if (lines < h->options.limit && bytes < MOST_BYTES)
                        return;
                h->more = true;
                h->lines = lines;
                h->bytes = bytes;
                finding_done(last);
                *last = h->findings[--h->count];
                sift_down(h);
        }
}

/* Takes it over. */
static void keep(struct hunt *h, struct finding *f)
{
        (void)pthread_mutex_lock(&h->lock);
        if (h->count == h->room) {
                size_t room = h->room ? h->room * 2 : 64;
                struct finding *larger = realloc(h->findings, room * sizeof *larger);
                h->findings = larger ? larger : h->findings;
                h->room = larger ? room : h->room;
        }
        if (h->count == h->room) {
                finding_done(f);
                h->wrong = -ENOMEM;
        } else {
                h->lines += f->marks.length;
                h->bytes += f->text.length;
                h->findings[h->count++] = *f;
                sift_up(h);
                drop_last(h);
        }
        (void)pthread_mutex_unlock(&h->lock);
}

/* --- what the walk asks for --- */

static void *hire(void *data, const atomic_bool *stop)
{
        const struct hunt *h = data;
        return scanner_new(&h->options, stop);
}

static bool visit(void *data, void *hand, const struct walk_file *file)
{
        struct hunt *h = data;
        struct finding f;
        if (file->is_link || !wildcards_fit(&h->names, file->path, file->name) ||
            !wildcards_fit(&h->types, file->path, file->name))
                return true;
        int r = scan_file(hand, file, &f);
        if (r == 1) {
                h->cut += f.cut;
                keep(h, &f);
        } else if (r == -ETIME && ++h->slow <= MOST_SLOW) {
                return true;
        } else if (r < 0 && r != -ECANCELED) {
                h->wrong = r;
        }
        return !h->wrong;
}

/* What is below a directory comes behind its own path with a slash. */
static bool is_behind(const char *path, bool is_directory, const char *last)
{
        size_t n = strlen(path);
        int order = strncmp(path, last, n);
        return order > 0 || (order == 0 && (is_directory ? (unsigned char)last[n] < '/' : last[n] == '\0'));
}

static bool skips(void *data, const char *path, bool is_directory)
{
        struct hunt *h = data;
        if (!h->more)
                return false;
        (void)pthread_mutex_lock(&h->lock);
        bool skipped = h->count && is_behind(path, is_directory, h->findings[0].path);
        (void)pthread_mutex_unlock(&h->lock);
        return skipped;
}

static void dismiss(void *data, void *hand)
{
        (void)data;
        scanner_free(hand);
}

static void ended(void *data)
{
        struct hunt *h = data;
        for (size_t i = 0; i < h->count; i++)
                finding_done(&h->findings[i]);
        free(h->findings);
        wildcards_done(&h->names);
        wildcards_done(&h->types);
        matcher_free(h->matcher);
        (void)pthread_mutex_destroy(&h->lock);
        free(h->top);
        free(h);
}

static const struct walk_visitor visitor = {
        .hire = hire, .visit = visit, .skips = skips, .dismiss = dismiss, .ended = ended,
        .in_order = true, .counts = "files searched",
};

/* --- the question --- */

static bool take_mode(struct hunt *h, const json_t *arguments, struct tool_answer *answer)
{
        const char *word = tool_string(arguments, "output_mode");
        for (size_t i = 0; word && i < ARRAY_SIZE(mode_words); i++) {
                if (strcmp(mode_words[i], word) == 0) {
                        h->options.mode = (enum scan_mode)i;
                        return true;
                }
        }
        if (word)
                tool_fail(answer, "output_mode is one of files_with_matches, content, count");
        return !word;
}

static bool take_filters(struct hunt *h, const json_t *arguments, struct tool_answer *answer)
{
        const char *glob = tool_string(arguments, "glob"), *type = tool_string(arguments, "type");
        CLEANUP_TEXT struct text why = { 0 };
        const char *patterns = type ? types_find(type, &why) : NULL;
        const char *wrong = glob ? wildcards_read(&h->names, glob) : NULL;
        if (wrong)
                tool_fail(answer, "glob is wrong: %s", wrong);
        else if (type && !patterns)
                tool_fail(answer, "%s", why.data ? why.data : "no memory");
        else if (type && (wrong = wildcards_read(&h->types, patterns)))
                tool_fail(answer, "%s", wrong);
        else
                return true;
        return false;
}

static bool take_pattern(struct hunt *h, const json_t *arguments, struct tool_answer *answer)
{
        char why[300];
        struct matcher_options o = { tool_flag(arguments, "case_insensitive"), h->options.multiline };
        h->matcher = matcher_new(tool_string(arguments, "pattern"), o, why, sizeof why);
        h->options.matcher = h->matcher;
        if (!h->matcher)
                tool_fail(answer, "%s", why);
        return h->matcher;
}

/* The directory that the paths begin in: of one file, the one that it is in. */
static bool take_top(struct hunt *h, const struct spot *from, struct tool_answer *answer)
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
                tool_fail(answer, "%s is %s and cannot be searched", from->path, tool_kind_of(from->st.st_mode));
        else
                return true;
        return false;
}

static struct job *start(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *path = tool_string(arguments, "path");
        json_int_t around = tool_integer(arguments, "context", 0);
        CLEANUP_SPOT struct spot from = SPOT_NONE;
        struct error e = { 0 };
        const struct workspace *workspace = toolbox_find(box, path ? path : "", &from, answer);
        struct hunt *h = workspace ? calloc(1, sizeof *h) : NULL;
        if (!h) {
                if (workspace)
                        tool_fail(answer, "no memory");
                return NULL;
        }
        (void)pthread_mutex_init(&h->lock, NULL);
        h->options = (struct scan_options){
                .multiline = tool_flag(arguments, "multiline"),
                .before = (size_t)tool_integer(arguments, "before", around),
                .after = (size_t)tool_integer(arguments, "after", around),
                .limit = (size_t)tool_integer(arguments, "head_limit", DEFAULT_LIMIT),
        };
        if (!take_mode(h, arguments, answer) || !take_top(h, &from, answer) || !take_filters(h, arguments, answer) ||
            !take_pattern(h, arguments, answer)) {
                ended(h);
                return NULL;
        }
        struct walk_start where = { workspace, &from, tool_flag(arguments, "ignored") };
        struct job *j = walk_new(&where, &visitor, h, &e);
        if (!j)
                toolbox_fail(box, answer, &e, from.path, false);
        return j;
}

/* --- the answer --- */

static int compare_findings(const void *a, const void *b)
{
        const struct finding *x = a, *y = b;
        return strcmp(x->path, y->path);
}

static bool is_separator(const char *line, const char *end)
{
        return end - line >= 3 && memcmp(line, "--\n", 3) == 0;
}

/* The first lines of a finding, no more than `most`. Returns how many matches they are. */
static size_t add_lines(struct text *out, const struct finding *f, size_t most)
{
        const char *line = f->text.data, *end = line + f->text.length;
        size_t matches = 0, lines = f->marks.length < most ? f->marks.length : most;
        if (lines == f->marks.length && !f->more)
                matches = f->matches;
        else
                for (size_t i = 0; i < lines; i++)
                        matches += f->marks.data[i] == MARK_MATCH;
        for (size_t i = 0; i < lines; i++) {
                line += is_separator(line, end) ? 3 : 0;
                line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
        }
        text_add_bytes(out, f->text.data, (size_t)(line - f->text.data));
        return matches;
}

static void add_notes(const struct job *j, bool more, struct text *out)
{
        const struct hunt *h = walk_data(j);
        const struct {
                size_t count;
                const char *what;
        } notes[] = {
                { h->cut, "large files were searched only in their first 16 MiB" },
                { h->slow, "files were passed over: the pattern takes too long in them" },
                { walk_unreadable(j), "directories could not be read" },
        };
        if (more)
                text_add(out, "(there is more; narrow the pattern or raise head_limit)\n");
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
                if (notes[i].count)
                        text_format(out, "%s(%zu %s)\n", h->count ? "" : "\n", notes[i].count, notes[i].what);
}

static void finish(struct job *j, struct tool_answer *answer)
{
        struct hunt *h = walk_data(j);
        size_t left = h->options.limit, matches = 0;
        bool more = h->more, separated = h->options.mode == SCAN_CONTENT && (h->options.before || h->options.after);
        if (walk_failed(j) || h->wrong == -ENOMEM) {
                tool_fail(answer, "no memory");
                return;
        }
        if (h->wrong || (h->slow && !h->count)) {
                tool_fail(answer, "the pattern takes too long; make it simpler");
                return;
        }
        if (h->count)
                qsort(h->findings, h->count, sizeof *h->findings, compare_findings);
        for (size_t i = 0; i < h->count; i++) {
                const struct finding *f = &h->findings[i];
                text_add(&answer->text, i && separated ? "--\n" : "");
                matches += add_lines(&answer->text, f, left);
                more |= f->more || f->marks.length > left;
                left -= f->marks.length < left ? f->marks.length : left;
        }
        if (!h->count)
                text_add(&answer->text, "nothing matches");
        add_notes(j, more, &answer->text);
        answer->structured = json_pack("{s:I, s:I, s:b}", "files", (json_int_t)h->count, "matches", (json_int_t)matches, "more",
                                       more);
}

static const struct tool_field parameters[] = {
        { "pattern", TOOL_STRING, true, "A Perl-compatible regular expression.", 0, 0 },
        { "path", TOOL_STRING, false, "A file or a directory; the workspace if it is left out.", 0, 0 },
        { "glob", TOOL_STRING, false, "Only files with such names, as in *.c, *.{c,h} or src/**/*.h.", 0, 0 },
        { "type", TOOL_STRING, false, "Only files of this kind: c, cpp, py, js, ts, rust, go, java, md, json, yaml, sh, …", 0, 0 },
        { "output_mode", TOOL_STRING, false, "files_with_matches (if it is left out), content, or count.", 0, 0 },
        { "case_insensitive", TOOL_BOOLEAN, false, "Take upper and lower case for the same.", 0, 0 },
        { "multiline", TOOL_BOOLEAN, false, "Let a match go over several lines, and . match a newline.", 0, 0 },
        { "context", TOOL_INTEGER, false, "Lines to show around each match, in content.", 0, MOST_CONTEXT },
        { "before", TOOL_INTEGER, false, "Lines to show before each match.", 0, MOST_CONTEXT },
        { "after", TOOL_INTEGER, false, "Lines to show behind each match.", 0, MOST_CONTEXT },
        { "head_limit", TOOL_INTEGER, false, "How many lines or files to show; 250 if it is left out.", 1, MOST_LIMIT },
        { "ignored", TOOL_BOOLEAN, false, "Also in what .gitignore leaves out.", 0, 0 },
};

static const struct tool_field results[] = {
        { "files", TOOL_INTEGER, true, "In how many files something was found, of those that are shown.", 0, 0 },
        { "matches", TOOL_INTEGER, true, "How many matches were counted in them; one for each file with files_with_matches.", 0, 0 },
        { "more", TOOL_BOOLEAN, true, "Whether there was more than was asked for.", 0, 0 },
};

const struct tool tool_grep = {
        .name = "Grep",
        .title = "Search in files",
        .help = "Searches files for a regular expression: which files, which lines, or how many. Binary files are passed over, and "
                "links are not followed. What is shown is in the order of the paths.",
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
