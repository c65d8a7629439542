/*
 * Path patterns. The input is a pattern and a path, separated by a NUL. Matching is compared with a slow recursive
 * matcher, written from path_pattern.h alone. Normalising a normal path does not change it, and a trailing slash, // or
 * /./ anywhere makes no difference. An escaped literal path matches itself and none of its parents, and unescaping
 * restores it.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

/* Longer texts are matched but not compared, because the slow matcher is exponential. */
enum { COMPARED_LENGTH_MAX = 48, STEPS_MAX = 20000, PARENTS_MAX = 8, ARENA_BYTES = 1 << 22 };

/* ---- the slow matcher ---- */

struct slow {
        size_t steps;
        bool gave_up;
};

static size_t character_size(const char *s)
{
        return text_utf8_sequence_length(s, strlen(s));
}

/* Is the character at s in the class that starts at p? *ret_end is the end of the class. A character beyond ASCII is
   only in negated classes. */
static bool in_class(const char *p, const char *s, const char **ret_end)
{
        bool negated = p[1] == '!' || p[1] == '^', found = false;
        const char *start = p += negated ? 2 : 1;
        unsigned char c = character_size(s) == 1 ? (unsigned char)*s : 0xff;
        while (*p != ']' || p == start) {
                unsigned char bounds[2];
                for (int i = 0; i < 2; i++) {
                        p += *p == '\\';
                        bounds[i] = (unsigned char)*p++;
                        if (i == 0 && (p[0] != '-' || p[1] == ']')) {
                                bounds[1] = bounds[0];
                                break;
                        }
                        p += i == 0;
                }
                found |= c >= bounds[0] && c <= bounds[1];
        }
        *ret_end = p + 1;
        return found != negated;
}

static bool slow_match_name(struct slow *w, const char *p, const char *s)
{
        if (++w->steps > STEPS_MAX) {
                w->gave_up = true;
                return false;
        }
        bool pattern_ends = *p == '\0' || *p == '/', name_ends = *s == '\0' || *s == '/';
        if (pattern_ends)
                return name_ends;
        if (*p == '*')
                return slow_match_name(w, p + 1, s) || (!name_ends && slow_match_name(w, p, s + character_size(s)));
        if (name_ends)
                return false;
        if (*p == '?')
                return slow_match_name(w, p + 1, s + character_size(s));
        if (*p == '[') {
                const char *end = NULL;
                return in_class(p, s, &end) && slow_match_name(w, end, s + character_size(s));
        }
        p += *p == '\\';
        return *p == *s && slow_match_name(w, p + 1, s + 1);
}

/* Matches the names from here on. Both pointers are at a slash or at the end. */
static bool slow_match_names(struct slow *w, const char *p, const char *s)
{
        if (*p == '\0')
                return *s == '\0';
        const char *rest = strchrnul(p + 1, '/'), *below = *s ? strchrnul(s + 1, '/') : NULL;
        if (rest - p == 3 && p[1] == '*' && p[2] == '*')
                return slow_match_names(w, rest, s) || (below && slow_match_names(w, p, below));
        return below && slow_match_name(w, p + 1, s + 1) && slow_match_names(w, rest, below);
}

static bool slow_match(struct slow *w, const char *pattern, const char *path)
{
        return slow_match_names(w, strcmp(pattern, "/") == 0 ? "" : pattern, strcmp(path, "/") == 0 ? "" : path);
}

/* Returns the number of names in the path or, if only a parent matches, in the longest such parent; -1 if none does. */
static int slow_depth(struct slow *w, struct arena *a, const char *pattern, const char *path)
{
        char *parent = arena_strdup(a, path);
        PROMISE(parent);
        for (;;) {
                if (slow_match(w, pattern, *parent ? parent : "/")) {
                        int names = 0;
                        for (const char *p = parent; *p; p++)
                                names += *p == '/' && p[1];
                        return names;
                }
                if (!*parent || strcmp(parent, "/") == 0)
                        return -1;
                *strrchr(parent, '/') = '\0';
        }
}

/* ---- the checks ---- */

static void check_match(struct arena *a, const char *pattern, const char *path)
{
        bool matches = path_pattern_match(pattern, path);
        int depth = path_pattern_match_depth(pattern, true, path);
        PROMISE(!matches || depth >= 0);
        if (strlen(pattern) > COMPARED_LENGTH_MAX || strlen(path) > COMPARED_LENGTH_MAX ||
            text_utf8_valid_length(pattern, strlen(pattern)) < strlen(pattern))
                return;
        struct slow w = { 0 };
        bool expected = slow_match(&w, pattern, path);
        PROMISE(w.gave_up || matches == expected);
        int expected_depth = slow_depth(&w, a, pattern, path);
        PROMISE(w.gave_up || depth == expected_depth);
}

/* Replaces every slash by `slash` and appends one more: the path normalises to the same. */
static void check_other_slashes(struct arena *a, const char *text, const char *slash, const char *normal)
{
        CLEANUP_TEXT struct text other = { 0 };
        for (const char *p = text; *p; p++)
                if (*p == '/')
                        text_add(&other, slash);
                else
                        text_add_bytes(&other, p, 1);
        text_add(&other, slash);
        const char *normal_again = path_normalize(a, other.data);
        PROMISE(normal_again && strcmp(normal_again, normal) == 0);
}

static const char *check_spelling(struct arena *a, const char *text)
{
        const char *normal = path_normalize(a, text);
        if (!normal)
                return NULL;
        PROMISE(*normal == '/');
        PROMISE(!strstr(normal, "//") && !strstr(normal, "/./") && !strstr(normal, "/../"));
        size_t length = strlen(normal);
        PROMISE(length == 1 || normal[length - 1] != '/');
        const char *again = path_normalize(a, normal);
        PROMISE(again && strcmp(normal, again) == 0);
        check_other_slashes(a, text, "//", normal);
        check_other_slashes(a, text, "/./", normal);
        check_other_slashes(a, text, "/././/", normal);
        return normal;
}

static void check_literal(struct arena *a, const char *path)
{
        const char *escaped = path_pattern_escape(a, path), *back = escaped ? path_pattern_unescape(a, escaped) : NULL;
        PROMISE(back && strcmp(back, path) == 0);
        PROMISE(!path_pattern_is_glob(escaped));
        PROMISE(!path_pattern_check(escaped));
        PROMISE(path_pattern_match(escaped, path));
        char *parent = arena_strdup(a, path);
        PROMISE(parent);
        int names = path_pattern_match_depth(path, false, path);
        PROMISE(names >= 0 && path_is_beneath(path, path));
        if (strlen(path) <= POLICY_TEXT_MAX)
                PROMISE(path_pattern_match_depth(escaped, true, path) == names);
        for (int i = 0; i < PARENTS_MAX; i++) {
                char *slash = strrchr(parent, '/');
                if (slash == parent)
                        break;
                *slash = '\0';
                PROMISE(path_is_beneath(path, parent) && !path_is_beneath(parent, path));
                PROMISE(!path_pattern_match(escaped, parent));
                PROMISE(path_pattern_match_depth(parent, false, path) == --names);
        }
        PROMISE(path_is_beneath(path, "/"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        CLEANUP_FREE char *pattern = fuzz_string(data, first);
        CLEANUP_FREE char *path = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        CLEANUP_ARENA struct arena *a = arena_new(ARENA_BYTES);
        PROMISE(a);
        const char *error = path_pattern_check(pattern);
        bool glob = path_pattern_is_glob(pattern);
        const char *normal = *pattern == '/' ? check_spelling(a, pattern) : NULL;
        const char *normal_path = *path == '/' ? check_spelling(a, path) : NULL;
        if (normal_path)
                check_literal(a, normal_path);
        if (error || !normal)
                return 0;
        /* Normalising may drop names (a/..), and must not make a valid pattern invalid. */
        PROMISE(!path_pattern_check(normal));
        PROMISE(glob || !path_pattern_is_glob(normal));
        if (normal_path)
                check_match(a, normal, normal_path);
        return 0;
}
