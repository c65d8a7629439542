/*
 * Grep: lines that match, by PCRE2 with its JIT.
 *
 * How it works: each file is read into one buffer, up to a bound, and searched as a whole; lines are looked for only around
 * what was found. A match that goes over the end of its line counts in multiline mode alone: otherwise the line is tried
 * once more by itself. What was found is kept file by file and printed in the order of the paths.
 *
 * What an attacker controls: the files and their number, and, as the agent, the pattern. Memory, the time that a match may
 * take, and the answer have bounds.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "policy/pattern.h"
#include "tools/ignore.h"
#include "tools/tool.h"
#include "tools/walk.h"

enum {
        MOST_OF_A_FILE = 32 << 20,
        FIRST_LOOK = 8 << 10, /* in which a NUL makes a file binary */
        MOST_OF_A_LINE = 2000,
        MOST_CONTEXT = 100,
        DEFAULT_LIMIT = 250,
        MOST_LIMIT = 100000,
        MATCH_LIMIT = 5000000, /* steps of PCRE2's for one match */
};

enum mode { MODE_FILES, MODE_CONTENT, MODE_COUNT };

static const char *const mode_words[] = { "files_with_matches", "content", "count" };

/* What one file gave. */
struct block {
        char *path;
        struct text text;
};

struct hunt {
        pcre2_code *code;
        pcre2_match_data *match;
        pcre2_match_context *context;
        enum mode mode;
        bool multiline;
        const char *glob;
        const char *top; /* the directory that is searched */
        size_t before, after, limit;
        char *buffer;
        struct block *blocks;
        size_t block_count, entries, matches;
        bool cut;        /* there was more than the limit */
        const char *wrong;
};

/* --- one file --- */

/* The file in the buffer, and where we are in it. */
struct scan {
        struct hunt *h;
        const char *text;
        size_t length;
        size_t line;       /* the number of the line that starts at `counted`, from 1 */
        size_t counted;
        size_t shown_to;   /* everything before this was printed */
        size_t found;
        struct block block;
};

static size_t line_start(const struct scan *s, size_t at)
{
        const char *p = at ? memrchr(s->text, '\n', at) : NULL;
        return p ? (size_t)(p - s->text) + 1 : 0;
}

/* Behind its newline, or the end. */
static size_t line_end(const struct scan *s, size_t at)
{
        const char *p = memchr(s->text + at, '\n', s->length - at);
        return p ? (size_t)(p - s->text) + 1 : s->length;
}

static size_t number_of(struct scan *s, size_t start)
{
        for (const char *p = s->text + s->counted; (p = memchr(p, '\n', (size_t)(s->text + start - p)));) {
                s->line++;
                p++;
                s->counted = (size_t)(p - s->text);
        }
        return s->line;
}

static void print_line(struct scan *s, size_t start, size_t end, char mark)
{
        size_t n = end - start - (end > start && s->text[end - 1] == '\n');
        n -= n && s->text[start + n - 1] == '\r';
        text_add_visible(&s->block.text, s->block.path, strlen(s->block.path));
        text_format(&s->block.text, "%c%zu%c", mark, number_of(s, start), mark);
        (void)tool_add_utf8(&s->block.text, s->text + start, n < MOST_OF_A_LINE ? n : MOST_OF_A_LINE);
        text_add(&s->block.text, n > MOST_OF_A_LINE ? "…\n" : "\n");
        s->shown_to = end;
        s->h->entries++;
}

/* The lines of a match, with those around them that were not shown yet. */
static void print_match(struct scan *s, size_t start, size_t end)
{
        size_t from = start;
        for (size_t i = 0; i < s->h->before && from > s->shown_to; i++)
                from = line_start(s, from - 1);
        if (from < s->shown_to)
                from = s->shown_to;
        if (s->shown_to && from > s->shown_to && (s->h->before || s->h->after))
                text_add(&s->block.text, "--\n");
        for (size_t at = from, next; at < end; at = next) {
                next = line_end(s, at);
                print_line(s, at, next, at < start ? '-' : ':');
        }
}

static void print_after(struct scan *s, size_t to)
{
        for (size_t i = 0, at = s->shown_to, next; i < s->h->after && at && at < to; i++, at = next) {
                next = line_end(s, at);
                print_line(s, at, next, '-');
        }
}

/* The next match from here on: 1 with the lines that it touches, 0 without, -1 when it takes too long. */
static int next_match(struct scan *s, size_t from, size_t *ret_start, size_t *ret_end)
{
        struct hunt *h = s->h;
        while (from < s->length) {
                int r = pcre2_match(h->code, (PCRE2_SPTR)s->text, s->length, from, 0, h->match, h->context);
                if (r == PCRE2_ERROR_NOMATCH)
                        return 0;
                if (r < 0)
                        return -1;
                const PCRE2_SIZE *place = pcre2_get_ovector_pointer(h->match);
                size_t start = line_start(s, place[0]), end = line_end(s, place[0]);
                if (start >= s->length) /* an empty match behind the last newline is no line */
                        return 0;
                if (h->multiline && place[1] > end)
                        end = line_end(s, place[1] - 1);
                *ret_start = start;
                *ret_end = end;
                size_t newline = end - (s->text[end - 1] == '\n');
                if (h->multiline || place[1] <= newline)
                        return 1;
                r = pcre2_match(h->code, (PCRE2_SPTR)s->text + start, newline - start, 0, 0, h->match, h->context);
                if (r >= 0)
                        return 1;
                from = end;
        }
        return 0;
}

static void search(struct scan *s)
{
        struct hunt *h = s->h;
        size_t start = 0, end = 0;
        int r;
        while ((r = next_match(s, end, &start, &end)) == 1) {
                s->found++;
                h->matches++;
                if (h->mode == MODE_FILES)
                        break;
                if (h->mode != MODE_CONTENT)
                        continue;
                if (h->entries >= h->limit) {
                        h->cut = true;
                        break;
                }
                print_after(s, start);
                print_match(s, start, end);
        }
        if (r == 0 && h->mode == MODE_CONTENT)
                print_after(s, s->length);
        if (r < 0)
                h->wrong = "the pattern takes too long; make it simpler";
}

static bool add_block(struct hunt *h, struct scan *s)
{
        if (h->mode != MODE_CONTENT && h->entries++ >= h->limit) {
                h->cut = true;
                return false;
        }
        if (h->mode != MODE_CONTENT)
                text_add_visible(&s->block.text, s->block.path, strlen(s->block.path));
        if (h->mode == MODE_COUNT)
                text_format(&s->block.text, ":%zu", s->found);
        if (h->mode != MODE_CONTENT)
                text_add(&s->block.text, "\n");
        struct block *larger = realloc(h->blocks, (h->block_count + 1) * sizeof *larger);
        if (!larger || s->block.text.failed) {
                h->wrong = "no memory";
                h->blocks = larger ? larger : h->blocks;
                return false;
        }
        h->blocks = larger;
        h->blocks[h->block_count++] = s->block;
        return true;
}

/* Takes the path over. */
static bool search_text(struct hunt *h, size_t length, char *path)
{
        struct scan s = { .h = h, .text = h->buffer, .length = length, .line = 1, .block.path = path };
        if (!path) {
                h->wrong = "no memory";
                return false;
        }
        bool binary = memchr(s.text, '\0', length < FIRST_LOOK ? length : FIRST_LOOK) != NULL;
        if (!binary)
                search(&s);
        bool kept = s.found && !h->wrong && add_block(h, &s);
        if (!kept) {
                text_done(&s.block.text);
                free(path);
        }
        return !h->wrong && !h->cut;
}

static bool search_file(struct hunt *h, int directory, const char *name, char *path)
{
        struct stat st;
        size_t length = 0;
        CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
                for (ssize_t n; length < MOST_OF_A_FILE && (n = read(fd, h->buffer + length, MOST_OF_A_FILE - length)) > 0;)
                        length += (size_t)n;
        if (length)
                return search_text(h, length, path);
        free(path);
        return true;
}

static bool visit(void *data, int directory, const char *name, const char *path)
{
        struct hunt *h = data;
        struct text whole = { 0 };
        if (h->glob && !glob_matches(h->glob, strchr(h->glob, '/') ? path : name))
                return true;
        text_add(&whole, strcmp(h->top, "/") == 0 ? "" : h->top);
        text_add(&whole, "/");
        text_add(&whole, path);
        return search_file(h, directory, name, text_take(&whole));
}

/* --- the tool --- */

static bool compile(struct hunt *h, const json_t *arguments, struct tool_answer *answer)
{
        int code = 0;
        PCRE2_SIZE where = 0;
        const char *pattern = tool_string(arguments, "pattern");
        uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                           (tool_flag(arguments, "case_insensitive") ? PCRE2_CASELESS : 0) |
                           (h->multiline ? PCRE2_DOTALL : 0);
        h->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code, &where, NULL);
        if (!h->code) {
                char why[200] = "";
                (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
                tool_fail(answer, "the pattern is wrong at its character %zu: %s", where + 1, why);
                return false;
        }
        (void)pcre2_jit_compile(h->code, PCRE2_JIT_COMPLETE); /* without it, it is slower */
        h->match = pcre2_match_data_create_from_pattern(h->code, NULL);
        h->context = pcre2_match_context_create(NULL);
        h->buffer = malloc(MOST_OF_A_FILE);
        if (!h->match || !h->context || !h->buffer) {
                tool_fail(answer, "no memory");
                return false;
        }
        (void)pcre2_set_match_limit(h->context, MATCH_LIMIT);
        return true;
}

static int compare_blocks(const void *a, const void *b)
{
        const struct block *x = a, *y = b;
        return strcmp(x->path, y->path);
}

static void print(struct hunt *h, struct tool_answer *answer)
{
        if (h->block_count)
                qsort(h->blocks, h->block_count, sizeof *h->blocks, compare_blocks);
        for (size_t i = 0; i < h->block_count; i++) {
                bool context = h->mode == MODE_CONTENT && (h->before || h->after);
                text_add(&answer->text, i && context ? "--\n" : "");
                text_add_bytes(&answer->text, h->blocks[i].text.data, h->blocks[i].text.length);
        }
        if (!h->block_count)
                text_add(&answer->text, "nothing matches");
        if (h->cut)
                text_add(&answer->text, "(there is more; narrow the pattern or raise head_limit)\n");
        answer->structured = json_pack("{s:I, s:I, s:b}", "files", (json_int_t)h->block_count, "matches", (json_int_t)h->matches,
                                       "more", h->cut);
}

static bool take_mode(struct hunt *h, const json_t *arguments, struct tool_answer *answer)
{
        const char *word = tool_string(arguments, "output_mode");
        for (size_t i = 0; word && i < ARRAY_SIZE(mode_words); i++) {
                if (strcmp(mode_words[i], word) == 0) {
                        h->mode = (enum mode)i;
                        return true;
                }
        }
        if (word)
                tool_fail(answer, "output_mode is one of files_with_matches, content, count");
        return !word;
}

static void look(struct hunt *h, const struct spot *start, bool with_ignored, struct tool_answer *answer)
{
        struct error e = { 0 };
        int r = 0;
        if (S_ISDIR(start->st.st_mode))
                r = walk_tree(start, with_ignored, visit, h, &e);
        else
                (void)search_file(h, start->parent, start->name, strdup(start->path));
        if (r < 0 || h->wrong)
                tool_fail(answer, "%s", r < 0 ? e.text : h->wrong);
        else
                print(h, answer);
}

static void run(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *path = tool_string(arguments, "path");
        size_t around = (size_t)tool_integer(arguments, "context", 0);
        CLEANUP_SPOT struct spot start = SPOT_NONE;
        struct hunt h = {
                .multiline = tool_flag(arguments, "multiline"),
                .glob = tool_string(arguments, "glob"),
                .before = (size_t)tool_integer(arguments, "before", (json_int_t)around),
                .after = (size_t)tool_integer(arguments, "after", (json_int_t)around),
                .limit = (size_t)tool_integer(arguments, "head_limit", DEFAULT_LIMIT),
        };
        if (!toolbox_find(box, path ? path : "", &start, answer) || !take_mode(&h, arguments, answer))
                return;
        h.top = start.path;
        const char *wrong = h.glob ? pattern_check(h.glob) : NULL;
        if (wrong)
                tool_fail(answer, "glob is wrong: %s", wrong);
        else if (start.fd < 0)
                tool_fail(answer, "no such file or directory: %s", start.path);
        else if (compile(&h, arguments, answer))
                look(&h, &start, tool_flag(arguments, "ignored"), answer);
        for (size_t i = 0; i < h.block_count; i++) {
                text_done(&h.blocks[i].text);
                free(h.blocks[i].path);
        }
        free(h.blocks);
        free(h.buffer);
        pcre2_match_context_free(h.context);
        pcre2_match_data_free(h.match);
        pcre2_code_free(h.code);
}

static const struct tool_field parameters[] = {
        { "pattern", TOOL_STRING, true, "A Perl-compatible regular expression.", 0, 0 },
        { "path", TOOL_STRING, false, "A file or a directory; the workspace if it is left out.", 0, 0 },
        { "glob", TOOL_STRING, false, "Only files with such names, as in *.c or src/**/*.h.", 0, 0 },
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
        { "files", TOOL_INTEGER, true, "In how many files something was found.", 0, 0 },
        { "matches", TOOL_INTEGER, true, "How many matches were counted; one for each file with files_with_matches.", 0, 0 },
        { "more", TOOL_BOOLEAN, true, "Whether there was more than was asked for.", 0, 0 },
};

const struct tool tool_grep = {
        .name = "Grep",
        .title = "Search in files",
        .help = "Searches files for a regular expression: which files, which lines, or how many. Binary files are passed over, and "
                "links to directories are not followed.",
        .reads_only = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .run = run,
};
