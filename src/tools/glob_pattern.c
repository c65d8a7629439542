/*
 * Patterns of file names; see glob_pattern.h. Most are a literal name or a suffix, which a string comparison matches.
 * Of path patterns, the literal parts at both ends are compared first.
 */
#include "tools/glob_pattern.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "policy/path_pattern.h"

enum { PATTERNS_MAX = 256, BYTES_MAX = 64 << 10 };

static const char special[] = "*?[\\";

/*
 * Uses the matcher of policies, which takes absolute paths. There a trailing ** also matches the directory before it;
 * here it matches only what is below that directory.
 */
bool glob_matches(const char *pattern, const char *path)
{
        char absolute[2][PATH_MAX];
        size_t length = strlen(pattern);
        bool needs_child = length >= 3 && strcmp(pattern + length - 3, "/**") == 0;
        return (size_t)snprintf(absolute[0], PATH_MAX, "/%s%s", pattern, needs_child ? "/*" : "") < PATH_MAX &&
               (size_t)snprintf(absolute[1], PATH_MAX, "/%s", path) < PATH_MAX &&
               path_pattern_match(absolute[0], absolute[1]);
}

struct glob_pattern glob_pattern_compile(const char *pattern, bool is_path)
{
        while (is_path && strncmp(pattern, "**/", 3) == 0 && !strchr(pattern + 3, '/')) {
                pattern += 3; /* the same as a name in any directory */
                is_path = strcmp(pattern, "**") == 0;
        }
        struct glob_pattern w = { .text = pattern, .length = strlen(pattern) };
        size_t literal = strcspn(pattern, special);
        if (is_path) {
                w.kind = WILDCARD_PATH_PATTERN;
                w.start = literal;
                while (w.end < w.length - literal && !strchr(special, pattern[w.length - w.end - 1]) &&
                       pattern[w.length - w.end - 1] != ']' && pattern[w.length - w.end - 1] != '/')
                        w.end++;
                w.end -= w.end && w.end < w.length && pattern[w.length - w.end - 1] == '\\'; /* it escapes */
        } else if (!pattern[literal]) {
                w.kind = GLOB_LITERAL;
        } else if (*pattern == '*' && !pattern[1 + strcspn(pattern + 1, special)]) {
                w.kind = WILDCARD_SUFFIX;
                w.text++;
                w.length--;
        } else {
                w.kind = WILDCARD_NAME_PATTERN;
        }
        return w;
}

static bool ends_with(const char *text, const char *end, size_t length)
{
        size_t n = strlen(text);
        return n >= length && memcmp(text + n - length, end, length) == 0;
}

bool wildcard_matches(const struct glob_pattern *w, const char *path, const char *name)
{
        switch (w->kind) {
        case GLOB_LITERAL:
                return strcmp(name, w->text) == 0;
        case WILDCARD_SUFFIX:
                return ends_with(name, w->text, w->length);
        case WILDCARD_NAME_PATTERN:
                return glob_matches(w->text, name);
        case WILDCARD_PATH_PATTERN:
                return strncmp(path, w->text, w->start) == 0 && ends_with(path, w->text + w->length - w->end, w->end) &&
                       glob_matches(w->text, path);
        }
        return false;
}

bool wildcard_may_match_below(const struct glob_pattern *w, const char *directory)
{
        size_t n = strlen(directory), shorter = n < w->start ? n : w->start;
        if (w->kind != WILDCARD_PATH_PATTERN)
                return true;
        return strncmp(directory, w->text, shorter) == 0 && (n >= w->start || w->text[n] == '/');
}

/* --- filters --- */

/* Adds the pattern once for each alternative in its first braces, and expands the rest recursively. */
static bool add_expanded(struct text *out, size_t *count, const char *pattern)
{
        const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
        if (*count >= PATTERNS_MAX || out->length > BYTES_MAX)
                return false;
        if (!close) {
                text_add_bytes(out, pattern, strlen(pattern) + 1);
                ++*count;
                return true;
        }
        for (const char *p = open + 1, *end; p <= close; p = end + 1) {
                CLEANUP_TEXT struct text one = { 0 };
                end = p + strcspn(p, ",}");
                text_add_bytes(&one, pattern, (size_t)(open - pattern));
                text_add_bytes(&one, p, (size_t)(end - p));
                text_add(&one, close + 1);
                if (one.failed || !add_expanded(out, count, one.data))
                        return false;
        }
        return true;
}

const char *glob_filter_parse(struct glob_filter *w, const char *filter)
{
        struct text texts = { 0 };
        size_t count = 0;
        bool is_expanded = add_expanded(&texts, &count, filter);
        bool failed = texts.failed;
        *w = (struct glob_filter){ .texts = text_take(&texts) };
        if (!is_expanded)
                return "its braces expand to too many patterns";
        if (failed || !w->texts || !(w->list = calloc(count, sizeof *w->list)))
                return "no memory";
        for (const char *p = w->texts; w->count < count; p += strlen(p) + 1) {
                const char *wrong = path_pattern_check(p);
                if (wrong)
                        return wrong;
                w->list[w->count++] = glob_pattern_compile(p + (*p == '/'), strchr(p, '/') != NULL);
        }
        return NULL;
}

void glob_filter_done(struct glob_filter *w)
{
        free(w->list);
        free(w->texts);
        *w = (struct glob_filter){ 0 };
}

bool wildcards_match(const struct glob_filter *w, const char *path, const char *name)
{
        for (size_t i = 0; i < w->count; i++)
                if (wildcard_matches(&w->list[i], path, name))
                        return true;
        return !w->count;
}
