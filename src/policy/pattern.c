/* Path patterns; see pattern.h. Matching is iterative with one level of backtracking per star, never exponential. */
#include "policy/pattern.h"

#include <string.h>

#include "base/text.h"
#include "policy/caps.h"

bool pattern_is_glob(const char *text)
{
        for (; *text; text++) {
                if (*text == '\\' && text[1])
                        text++;
                else if (strchr("*?[", *text))
                        return true;
        }
        return false;
}

/* The end of the class that opens at p (behind its bracket), or NULL. A bracket that comes first is ordinary. */
static const char *class_end(const char *p)
{
        p++;
        if (*p == '!' || *p == '^')
                p++;
        if (*p == ']')
                p++;
        for (; *p && *p != '/'; p++) {
                if (*p == '\\' && p[1])
                        p++;
                else if (*p == ']')
                        return p + 1;
        }
        return NULL;
}

const char *pattern_check(const char *text)
{
        for (const char *p = text; *p; p++) {
                if (*p == '\\') {
                        if (!p[1] || p[1] == '/')
                                return "a backslash at the end of a name escapes nothing";
                        p++;
                } else if (*p == '[') {
                        p = class_end(p);
                        if (!p)
                                return "a '[' is not closed; write \\[ for the character itself";
                        p--;
                } else if (p[0] == '*' && p[1] == '*') {
                        bool whole = (p == text || p[-1] == '/') && (p[2] == '/' || p[2] == '\0');
                        if (!whole)
                                return "'**' must be a whole name: a/**/b";
                        p++;
                }
        }
        return NULL;
}

char *pattern_normalise(struct arena *a, const char *text)
{
        size_t length = strlen(text);
        char *out = arena_alloc(a, length + 2);
        if (!out)
                return NULL;
        size_t used = 0, names = 0;
        for (const char *p = text; *p;) {
                p += strspn(p, "/");
                size_t n = strcspn(p, "/");
                if (n == 0)
                        break;
                if (n == 2 && p[0] == '.' && p[1] == '.') {
                        while (used > 0 && out[--used] != '/')
                                ;
                        names -= names > 0;
                } else if (!(n == 1 && *p == '.')) {
                        if (++names > CAP_COMPONENTS)
                                return NULL;
                        out[used++] = '/';
                        memcpy(out + used, p, n);
                        used += n;
                }
                p += n;
        }
        if (used == 0)
                out[used++] = '/';
        out[used] = '\0';
        return out;
}

char *pattern_unescape(struct arena *a, const char *text)
{
        char *out = arena_string(a, text), *to = out;
        if (!out)
                return NULL;
        for (; *text; text++) {
                if (*text == '\\' && text[1])
                        text++;
                *to++ = *text;
        }
        *to = '\0';
        return out;
}

char *pattern_escape(struct arena *a, const char *path)
{
        char *out = arena_alloc(a, strlen(path) * 2 + 1), *to = out;
        if (!out)
                return NULL;
        for (; *path; path++) {
                if (strchr("*?[\\", *path))
                        *to++ = '\\';
                *to++ = *path;
        }
        return out;
}

/* One byte or escaped byte of a class; moves *p behind it. */
static unsigned char class_byte(const char **p)
{
        if (**p == '\\' && (*p)[1])
                ++*p;
        return (unsigned char)*(*p)++;
}

/* Classes compare bytes; a character beyond ASCII belongs to a class only by negation. */
static bool class_match(const char *p, unsigned char c)
{
        const char *end = class_end(p) - 1;
        bool negated = p[1] == '!' || p[1] == '^', found = false;
        p += negated ? 2 : 1;
        while (p < end) {
                unsigned char low = class_byte(&p), high = low;
                if (p + 1 < end && *p == '-') {
                        p++;
                        high = class_byte(&p);
                }
                found |= c >= low && c <= high;
        }
        return found != negated;
}

/* Matches one element of a name's pattern that is not a star; moves both behind it. */
static bool element_match(const char **pattern, const char **s, const char *end)
{
        const char *p = *pattern;
        if (*s == end)
                return false;
        size_t step = 1;
        if (*p == '?') {
                step = text_utf8_step(*s, (size_t)(end - *s));
                p++;
        } else if (*p == '[') {
                step = text_utf8_step(*s, (size_t)(end - *s));
                if (!class_match(p, step == 1 ? (unsigned char)**s : 0xff))
                        return false;
                p = class_end(p);
        } else {
                if (*p == '\\' && p[1])
                        p++;
                if (*p != **s)
                        return false;
                p++;
        }
        *pattern = p;
        *s += step;
        return true;
}

/* One name against one name's pattern: [pattern, pattern_end) and [s, end) hold no slash. */
static bool name_match(const char *pattern, const char *pattern_end, const char *s, const char *end)
{
        const char *star = NULL, *retry = NULL;
        while (s < end || pattern < pattern_end) {
                if (pattern < pattern_end && *pattern == '*') {
                        star = ++pattern;
                        retry = s;
                        continue;
                }
                if (pattern < pattern_end && element_match(&pattern, &s, end))
                        continue;
                if (!star || retry == end)
                        return false;
                pattern = star;
                s = retry += text_utf8_step(retry, (size_t)(end - retry));
        }
        return true;
}

/* Moves behind the name at p (which stands on a slash) and tells where it lies. */
static const char *next_name(const char *p, const char **ret_start)
{
        *ret_start = p + 1;
        return p + 1 + strcspn(p + 1, "/");
}

/* A slash inside a class cannot occur: pattern_check refuses it, so names split at slashes. */
bool pattern_match(const char *pattern, const char *path)
{
        if (strcmp(pattern, "/") == 0)
                pattern = "";
        if (strcmp(path, "/") == 0)
                path = "";
        const char *star = NULL, *retry = NULL;
        while (*path || *pattern) {
                const char *name = NULL, *s = NULL;
                if (*pattern) {
                        const char *pattern_end = next_name(pattern, &name);
                        if (pattern_end - name == 2 && name[0] == '*' && name[1] == '*') {
                                pattern = star = pattern_end;
                                retry = path;
                                continue;
                        }
                        const char *end = *path ? next_name(path, &s) : NULL;
                        if (end && name_match(name, pattern_end, s, end)) {
                                pattern = pattern_end;
                                path = end;
                                continue;
                        }
                }
                if (!star || !*retry)
                        return false;
                pattern = star;
                path = retry = next_name(retry, &s);
        }
        return true;
}

static int count_names(const char *path)
{
        int n = 0;
        for (; *path; path++)
                n += path[0] == '/' && path[1] != '\0';
        return n;
}

bool path_is_beneath(const char *path, const char *parent)
{
        size_t n = strlen(parent);
        if (n == 1)
                return true;
        return strncmp(path, parent, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

int pattern_depth(const char *pattern, bool glob, const char *path)
{
        if (!glob)
                return path_is_beneath(path, pattern) ? count_names(pattern) : -1;
        /* Most patterns belong to another directory: their literal start tells without matching. */
        size_t fixed = strcspn(pattern, "*?[\\");
        while (fixed > 0 && pattern[fixed - 1] != '/')
                fixed--;
        if (fixed > 1 && !(strncmp(pattern, path, fixed - 1) == 0 && path[fixed - 1] == '/') &&
            strlen(path) + 1 != fixed)
                return -1;
        char prefix[CAP_TEXT + 1];
        size_t length = strlen(path);
        if (length > CAP_TEXT)
                return -1;
        memcpy(prefix, path, length + 1);
        for (;;) {
                if (pattern_match(pattern, *prefix ? prefix : "/"))
                        return count_names(prefix);
                char *slash = strrchr(prefix, '/');
                if (!slash || !*prefix)
                        return -1;
                *slash = '\0';
        }
}
