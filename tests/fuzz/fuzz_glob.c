/*
 * Path patterns. The input is a pattern and a path with a NUL between. Matching is compared with a matcher that tries
 * everything by recursion and was written from pattern.h alone. The one spelling of a path is its own spelling, and a
 * trailing slash, // or /./ anywhere does not change it. A literal path that was escaped matches itself and nothing
 * else, and comes back when the escapes are resolved.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "policy/caps.h"
#include "policy/pattern.h"

/* Longer texts are only run, not compared: the slow matcher is exponential. */
enum { COMPARED = 48, MOST_STEPS = 20000, MOST_PARENTS = 8, ARENA = 1 << 22 };

/* ---- the slow matcher ---- */

struct slow {
        size_t steps;
        bool gave_up;
};

static size_t character(const char *s)
{
        return text_utf8_step(s, strlen(s));
}

/* Is c in the class that opens at p? *ret_end is set behind its bracket. Beyond ASCII only negation fits. */
static bool in_class(const char *p, const char *s, const char **ret_end)
{
        bool negated = p[1] == '!' || p[1] == '^', found = false;
        const char *start = p += negated ? 2 : 1;
        unsigned char c = character(s) == 1 ? (unsigned char)*s : 0xff;
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

static bool slow_name(struct slow *w, const char *p, const char *s)
{
        if (++w->steps > MOST_STEPS) {
                w->gave_up = true;
                return false;
        }
        bool pattern_ends = *p == '\0' || *p == '/', name_ends = *s == '\0' || *s == '/';
        if (pattern_ends)
                return name_ends;
        if (*p == '*')
                return slow_name(w, p + 1, s) || (!name_ends && slow_name(w, p, s + character(s)));
        if (name_ends)
                return false;
        if (*p == '?')
                return slow_name(w, p + 1, s + character(s));
        if (*p == '[') {
                const char *end = NULL;
                return in_class(p, s, &end) && slow_name(w, end, s + character(s));
        }
        p += *p == '\\';
        return *p == *s && slow_name(w, p + 1, s + 1);
}

/* Both stand on a slash or at their end. */
static bool slow_names(struct slow *w, const char *p, const char *s)
{
        if (*p == '\0')
                return *s == '\0';
        const char *rest = strchrnul(p + 1, '/'), *below = *s ? strchrnul(s + 1, '/') : NULL;
        if (rest - p == 3 && p[1] == '*' && p[2] == '*')
                return slow_names(w, rest, s) || (below && slow_names(w, p, below));
        return below && slow_name(w, p + 1, s + 1) && slow_names(w, rest, below);
}

static bool slow_match(struct slow *w, const char *pattern, const char *path)
{
        return slow_names(w, strcmp(pattern, "/") == 0 ? "" : pattern, strcmp(path, "/") == 0 ? "" : path);
}

static int slow_depth(struct slow *w, struct arena *a, const char *pattern, const char *path)
{
        char *parent = arena_string(a, path);
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

/* ---- what is promised ---- */

static void check_match(struct arena *a, const char *pattern, const char *path)
{
        bool matches = pattern_match(pattern, path);
        int depth = pattern_depth(pattern, true, path);
        PROMISE(!matches || depth >= 0);
        if (strlen(pattern) > COMPARED || strlen(path) > COMPARED || text_utf8_valid(pattern, strlen(pattern)) < strlen(pattern))
                return;
        struct slow w = { 0 };
        bool expected = slow_match(&w, pattern, path);
        PROMISE(w.gave_up || matches == expected);
        int expected_depth = slow_depth(&w, a, pattern, path);
        PROMISE(w.gave_up || depth == expected_depth);
}

/* The text with every slash written as `slash`, and one more behind it. */
static void check_respelt(struct arena *a, const char *text, const char *slash, const char *normal)
{
        CLEANUP_TEXT struct text other = { 0 };
        for (const char *p = text; *p; p++)
                if (*p == '/')
                        text_add(&other, slash);
                else
                        text_add_bytes(&other, p, 1);
        text_add(&other, slash);
        const char *same = pattern_normalise(a, other.data);
        PROMISE(same && strcmp(same, normal) == 0);
}

static const char *check_spelling(struct arena *a, const char *text)
{
        const char *normal = pattern_normalise(a, text);
        if (!normal)
                return NULL;
        PROMISE(*normal == '/');
        PROMISE(!strstr(normal, "//") && !strstr(normal, "/./") && !strstr(normal, "/../"));
        size_t length = strlen(normal);
        PROMISE(length == 1 || normal[length - 1] != '/');
        const char *again = pattern_normalise(a, normal);
        PROMISE(again && strcmp(normal, again) == 0);
        check_respelt(a, text, "//", normal);
        check_respelt(a, text, "/./", normal);
        check_respelt(a, text, "/././/", normal);
        return normal;
}

static void check_literal(struct arena *a, const char *path)
{
        const char *escaped = pattern_escape(a, path), *back = escaped ? pattern_unescape(a, escaped) : NULL;
        PROMISE(back && strcmp(back, path) == 0);
        PROMISE(!pattern_is_glob(escaped));
        PROMISE(!pattern_check(escaped));
        PROMISE(pattern_match(escaped, path));
        char *parent = arena_string(a, path);
        PROMISE(parent);
        int names = pattern_depth(path, false, path);
        PROMISE(names >= 0 && path_is_beneath(path, path));
        if (strlen(path) <= CAP_TEXT)
                PROMISE(pattern_depth(escaped, true, path) == names);
        for (int i = 0; i < MOST_PARENTS; i++) {
                char *slash = strrchr(parent, '/');
                if (slash == parent)
                        break;
                *slash = '\0';
                PROMISE(path_is_beneath(path, parent) && !path_is_beneath(parent, path));
                PROMISE(!pattern_match(escaped, parent));
                PROMISE(pattern_depth(parent, false, path) == --names);
        }
        PROMISE(path_is_beneath(path, "/"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        CLEANUP_FREE char *pattern = fuzz_string(data, first);
        CLEANUP_FREE char *path = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        CLEANUP_ARENA struct arena *a = arena_new(ARENA);
        PROMISE(a);
        const char *wrong = pattern_check(pattern);
        bool glob = pattern_is_glob(pattern);
        const char *normal = *pattern == '/' ? check_spelling(a, pattern) : NULL;
        const char *where = *path == '/' ? check_spelling(a, path) : NULL;
        if (where)
                check_literal(a, where);
        if (wrong || !normal)
                return 0;
        /* One spelling may drop names (a/..), and must not break what was whole. */
        PROMISE(!pattern_check(normal));
        PROMISE(glob || !pattern_is_glob(normal));
        if (where)
                check_match(a, normal, where);
        return 0;
}
