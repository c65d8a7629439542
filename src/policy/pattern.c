/* Path patterns; see pattern.h. */
#include "policy/pattern.h"

#include <string.h>

#include "base/text.h"
#include "policy/caps.h"

static const char special[] = "*?[\\";

bool pattern_is_glob(const char *text)
{
        while (*(text += strcspn(text, special))) {
                if (*text != '\\')
                        return true;
                text += text[1] ? 2 : 1;
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
                if (*p == '\\' && p[1] && p[1] != '/')
                        p++;
                else if (*p == ']')
                        return p + 1;
        }
        return NULL;
}

/* One byte or escaped byte of a class; moves *p behind it. */
static unsigned char class_byte(const char **p)
{
        if (**p == '\\' && (*p)[1])
                ++*p;
        return (unsigned char)*(*p)++;
}

/* A class that can never match would be a denial that denies nothing, so what is not meant is refused. */
static const char *class_check(const char *p)
{
        const char *end = class_end(p);
        if (!end)
                return "a '[' is not closed; write \\[ for the character itself";
        p += p[1] == '!' || p[1] == '^' ? 2 : 1;
        for (end--; p < end;) {
                if (p[0] == '[' && p[1] == ':')
                        return "classes by name such as [:alpha:] are not known; write the characters";
                unsigned char low = class_byte(&p), high = low;
                if (p + 1 < end && *p == '-') {
                        p++;
                        high = class_byte(&p);
                }
                if (low >= 0x80 || high >= 0x80)
                        return "inside [] only ASCII characters can be told apart; use ? for others";
                if (high < low)
                        return "a range inside [] goes from the lower to the higher character";
        }
        return NULL;
}

/* What a backslash may stand before. A dot is not among them: an escaped `..` would be a name that is taken back later. */
static const char escapable[] = "*?[]\\{}~-!^";

const char *pattern_check(const char *text)
{
        for (const char *p = text; *p; p++) {
                if (*p == '\\') {
                        if (!p[1] || !strchr(escapable, p[1]))
                                return "a backslash stands only before one of * ? [ ] { } ~ - ! ^ and itself";
                        p++;
                } else if (*p == '[') {
                        const char *wrong = class_check(p);
                        if (wrong)
                                return wrong;
                        p = class_end(p) - 1;
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
        if (!out || !strchr(text, '\\'))
                return out;
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
        if (!path[strcspn(path, special)])
                return arena_string(a, path);
        char *out = arena_alloc(a, strlen(path) * 2 + 1), *to = out;
        if (!out)
                return NULL;
        for (; *path; path++) {
                if (strchr(special, *path))
                        *to++ = '\\';
                *to++ = *path;
        }
        return out;
}

/* Classes compare bytes; a character beyond ASCII belongs to a class only by negation. */
static bool class_match(const char *p, unsigned char c)
{
        const char *end = class_end(p);
        if (!end)
                return false;
        end--;
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
                const char *end_of_class = class_end(p);
                if (!end_of_class || !class_match(p, step == 1 ? (unsigned char)**s : 0xff))
                        return false;
                p = end_of_class;
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

/* The names of a pattern, and which of them could come next. */
struct matcher {
        const char *name[CAP_COMPONENTS], *end[CAP_COMPONENTS];
        bool any[CAP_COMPONENTS];       /* the name is ** */
        bool next[CAP_COMPONENTS + 1];  /* the last: the whole pattern has matched */
        size_t count;
};

static void reach(struct matcher *m, bool *states, size_t i)
{
        /* A ** may stand for no name at all. */
        for (states[i] = true; i < m->count && m->any[i]; i++)
                states[i + 1] = true;
}

static bool matcher_init(struct matcher *m, const char *pattern)
{
        m->count = 0;
        memset(m->next, 0, sizeof m->next);
        for (const char *p = pattern; *p && p[1];) {
                if (m->count == CAP_COMPONENTS)
                        return false;
                const char *name = p + 1, *end = name + strcspn(name, "/");
                m->name[m->count] = name;
                m->end[m->count] = end;
                m->any[m->count++] = end - name == 2 && name[0] == '*' && name[1] == '*';
                p = end;
        }
        reach(m, m->next, 0);
        return true;
}

/* Takes one name of a path. */
static void matcher_step(struct matcher *m, const char *s, const char *end)
{
        bool after[CAP_COMPONENTS + 1];
        memset(after, 0, (m->count + 1) * sizeof *after);
        for (size_t i = 0; i < m->count; i++) {
                if (!m->next[i])
                        continue;
                if (m->any[i])
                        reach(m, after, i);
                else if (name_match(m->name[i], m->end[i], s, end))
                        reach(m, after, i + 1);
        }
        memcpy(m->next, after, (m->count + 1) * sizeof *after);
}

/* All positions of the pattern are followed at once, so the time is bounded by the product of the two lengths. */
int pattern_depth(const char *pattern, bool glob, const char *path)
{
        if (!glob)
                return path_is_beneath(path, pattern) ? count_names(pattern) : -1;
        /* Most patterns belong to another directory: their literal start tells without matching. */
        size_t fixed = strcspn(pattern, special);
        while (fixed > 0 && pattern[fixed - 1] != '/')
                fixed--;
        if (fixed > 1 && !(strncmp(pattern, path, fixed - 1) == 0 && path[fixed - 1] == '/') &&
            strlen(path) + 1 != fixed)
                return -1;
        struct matcher m;
        if (!matcher_init(&m, pattern))
                return -1;
        int depth = 0, deepest = m.next[m.count] ? 0 : -1;
        for (const char *p = path; *p && p[1];) {
                const char *name = p + 1, *end = name + strcspn(name, "/");
                matcher_step(&m, name, end);
                depth++;
                if (m.next[m.count])
                        deepest = depth;
                p = end;
        }
        return deepest;
}

bool pattern_match(const char *pattern, const char *path)
{
        return pattern_depth(pattern, true, path) == count_names(path);
}
