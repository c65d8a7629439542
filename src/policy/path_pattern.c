/* Path patterns; see path_pattern.h. */
#include "policy/path_pattern.h"

#include <string.h>

#include "base/text.h"
#include "policy/input_limits.h"

static const char special[] = "*?[\\";

bool path_pattern_is_glob(const char *text)
{
        while (*(text += strcspn(text, special))) {
                if (*text != '\\')
                        return true;
                text += text[1] ? 2 : 1;
        }
        return false;
}

/* The end of the class that begins at p, after its closing bracket, or NULL. A ] that comes first is ordinary. */
static const char *find_class_end(const char *p)
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

/* One byte or escaped byte of a class; moves *p past it. */
static unsigned char read_class_byte(const char **p)
{
        if (**p == '\\' && (*p)[1])
                ++*p;
        return (unsigned char)*(*p)++;
}

/* Refuses classes that are likely mistakes: one that never matches would make a denial without effect. */
static const char *check_class(const char *p)
{
        const char *end = find_class_end(p);
        if (!end)
                return "a '[' is not closed; write \\[ for the character itself";
        p += p[1] == '!' || p[1] == '^' ? 2 : 1;
        for (end--; p < end;) {
                if (p[0] == '[' && p[1] == ':')
                        return "named classes such as [:alpha:] are not supported; write the characters";
                unsigned char low = read_class_byte(&p), high = low;
                if (p + 1 < end && *p == '-') {
                        p++;
                        high = read_class_byte(&p);
                }
                if (low >= 0x80 || high >= 0x80)
                        return "only ASCII characters can be written inside []; use ? for others";
                if (high < low)
                        return "a range inside [] must go from the lower to the higher character";
        }
        return NULL;
}

/*
 * Characters that a backslash may escape. A dot is not among them: path_normalize() would not recognise an escaped
 * `..`, and removing the escapes later would make it `..` again.
 */
static const char escapable[] = "*?[]\\{}~-!^";

const char *path_pattern_check(const char *text)
{
        for (const char *p = text; *p; p++) {
                if (*p == '\\') {
                        if (!p[1] || !strchr(escapable, p[1]))
                                return "a backslash can only escape one of * ? [ ] { } ~ - ! ^ and itself";
                        p++;
                } else if (*p == '[') {
                        const char *wrong = check_class(p);
                        if (wrong)
                                return wrong;
                        p = find_class_end(p) - 1;
                } else if (p[0] == '*' && p[1] == '*') {
                        bool is_whole_name = (p == text || p[-1] == '/') && (p[2] == '/' || p[2] == '\0');
                        if (!is_whole_name)
                                return "'**' must be a whole name: a/**/b";
                        p++;
                }
        }
        return NULL;
}

char *path_normalize(struct arena *a, const char *text)
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
                        if (++names > PATH_COMPONENTS_MAX)
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

char *path_pattern_unescape(struct arena *a, const char *text)
{
        char *out = arena_strdup(a, text), *to = out;
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

char *path_pattern_escape(struct arena *a, const char *path)
{
        if (!path[strcspn(path, special)])
                return arena_strdup(a, path);
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
static bool match_class(const char *p, unsigned char c)
{
        const char *end = find_class_end(p);
        if (!end)
                return false;
        end--;
        bool negated = p[1] == '!' || p[1] == '^', found = false;
        p += negated ? 2 : 1;
        while (p < end) {
                unsigned char low = read_class_byte(&p), high = low;
                if (p + 1 < end && *p == '-') {
                        p++;
                        high = read_class_byte(&p);
                }
                found |= c >= low && c <= high;
        }
        return found != negated;
}

/* Matches one element of a name's pattern that is not a star; moves both pointers past it. */
static bool match_element(const char **pattern, const char **s, const char *end)
{
        const char *p = *pattern;
        if (*s == end)
                return false;
        size_t step = 1;
        if (*p == '?') {
                step = text_utf8_sequence_length(*s, (size_t)(end - *s));
                p++;
        } else if (*p == '[') {
                step = text_utf8_sequence_length(*s, (size_t)(end - *s));
                const char *end_of_class = find_class_end(p);
                if (!end_of_class || !match_class(p, step == 1 ? (unsigned char)**s : 0xff))
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

/* Matches one name with the pattern of one name: [pattern, pattern_end) and [s, end) contain no slash. */
static bool match_name(const char *pattern, const char *pattern_end, const char *s, const char *end)
{
        const char *star = NULL, *retry = NULL;
        while (s < end || pattern < pattern_end) {
                if (pattern < pattern_end && *pattern == '*') {
                        star = ++pattern;
                        retry = s;
                        continue;
                }
                if (pattern < pattern_end && match_element(&pattern, &s, end))
                        continue;
                if (!star || retry == end)
                        return false;
                pattern = star;
                s = retry += text_utf8_sequence_length(retry, (size_t)(end - retry));
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

/* The names of a pattern, and the positions in it that can match the next name of a path (an NFA). */
struct matcher {
        const char *name[PATH_COMPONENTS_MAX], *end[PATH_COMPONENTS_MAX];
        bool any[PATH_COMPONENTS_MAX];       /* the name is ** */
        bool next[PATH_COMPONENTS_MAX + 1];  /* the last one: the whole pattern has matched */
        size_t count;
};

/* Adds position i, and those after it that a ** reaches by matching no name. */
static void add_position(struct matcher *m, bool *states, size_t i)
{
        for (states[i] = true; i < m->count && m->any[i]; i++)
                states[i + 1] = true;
}

static bool matcher_init(struct matcher *m, const char *pattern)
{
        m->count = 0;
        memset(m->next, 0, sizeof m->next);
        for (const char *p = pattern; *p && p[1];) {
                if (m->count == PATH_COMPONENTS_MAX)
                        return false;
                const char *name = p + 1, *end = name + strcspn(name, "/");
                m->name[m->count] = name;
                m->end[m->count] = end;
                m->any[m->count++] = end - name == 2 && name[0] == '*' && name[1] == '*';
                p = end;
        }
        add_position(m, m->next, 0);
        return true;
}

/* Advances all positions by one name of a path. */
static void matcher_step(struct matcher *m, const char *s, const char *end)
{
        bool after[PATH_COMPONENTS_MAX + 1];
        memset(after, 0, (m->count + 1) * sizeof *after);
        for (size_t i = 0; i < m->count; i++) {
                if (!m->next[i])
                        continue;
                if (m->any[i])
                        add_position(m, after, i);
                else if (match_name(m->name[i], m->end[i], s, end))
                        add_position(m, after, i + 1);
        }
        memcpy(m->next, after, (m->count + 1) * sizeof *after);
}

/* All positions of the pattern are followed at once, so the time is bounded by the product of the two lengths. */
int path_pattern_match_depth(const char *pattern, bool glob, const char *path)
{
        if (!glob)
                return path_is_beneath(path, pattern) ? count_names(pattern) : -1;
        /* Most patterns belong to another directory: comparing their literal start is enough. */
        size_t literal = strcspn(pattern, special);
        while (literal > 0 && pattern[literal - 1] != '/')
                literal--;
        if (literal > 1 && !(strncmp(pattern, path, literal - 1) == 0 && path[literal - 1] == '/') &&
            strlen(path) + 1 != literal)
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

/* Advances a new matcher by all names of a path. False if the pattern has too many names. */
static bool advance_by_path(struct matcher *m, const char *pattern, const char *path)
{
        if (!matcher_init(m, pattern))
                return false;
        for (const char *p = path; *p && p[1];) {
                const char *name = p + 1, *end = name + strcspn(name, "/");
                matcher_step(m, name, end);
                p = end;
        }
        return true;
}

bool pattern_same_below(const char *pattern, bool glob, const char *a, const char *b)
{
        if (!glob) {
                bool below_a = path_is_beneath(pattern, a) && strcmp(pattern, a) != 0;
                bool below_b = path_is_beneath(pattern, b) && strcmp(pattern, b) != 0;
                return (!below_a && !below_b) || strcmp(a, b) == 0;
        }
        struct matcher m, n;
        if (!advance_by_path(&m, pattern, a) || !advance_by_path(&n, pattern, b))
                return false;
        /* The last position, a match of the directory itself, is not compared. */
        return memcmp(m.next, n.next, m.count * sizeof *m.next) == 0;
}

bool path_pattern_match(const char *pattern, const char *path)
{
        return path_pattern_match_depth(pattern, true, path) == count_names(path);
}
