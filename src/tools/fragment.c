/*
 * Fragments; see fragment.h.
 *
 * How it works: a pattern without alternatives at its top is a sequence of elements, and whatever matches it matches them one
 * behind the other. So each run of them that is not optional must be found where the whole is. One that begins with plain
 * characters PCRE2's JIT looks for with vector instructions, many times faster than it tries the whole at each place:
 * for `\b[a-z]+_[0-9]{3}` that is `_[0-9]{3}`.
 *
 * Nothing is lost by giving up: whatever is not understood ends the search for a fragment.
 */
#include "tools/fragment.h"

#include <string.h>

#include "base/text.h"

enum { MOST_BEHIND = 4 }; /* elements that are no plain characters, at the end of a fragment */

enum kind { PLAIN, SET, GAP, UNKNOWN };

struct element {
        enum kind kind;
        bool optional; /* it may be missing */
        bool repeats;  /* it may come more than once: what follows it has no fixed place */
};

/* Behind a class; NULL when it has no end. */
static const char *skip_class(const char *p)
{
        p++;
        p += *p == '^';
        p += *p == ']';
        for (; *p; p++) {
                if (*p == ']')
                        return p + 1;
                if (p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
                        return NULL; /* classes by name have brackets of their own */
                p += *p == '\\' && p[1];
        }
        return NULL;
}

/* Behind a group; NULL when it has no end, or one in it may have a meaning for what follows. */
static const char *skip_group(const char *p)
{
        size_t depth = 0;
        while (*p) {
                if (*p == '[') {
                        if (!(p = skip_class(p)))
                                return NULL;
                        continue;
                }
                if (p[0] == '(' && (p[1] == '*' || (p[1] == '?' && !strchr(":=!<>|P'", p[2]))))
                        return NULL; /* verbs, comments, settings, conditions */
                if (p[0] == '\\' && !p[1])
                        return NULL;
                depth += *p == '(';
                if (*p == ')' && --depth == 0)
                        return p + 1;
                p += *p == '\\' ? 2 : 1;
        }
        return NULL;
}

static const char *read_escape(const char *p, struct element *ret)
{
        if (!p[1] || (unsigned char)p[1] >= 0x80)
                ret->kind = UNKNOWN;
        else if (strchr("dDwWsShHvV", p[1]))
                ret->kind = SET;
        else if (strchr("bBAzZ", p[1]))
                ret->kind = GAP;
        else if ((p[1] | 0x20) >= 'a' && (p[1] | 0x20) <= 'z')
                ret->kind = UNKNOWN;
        else
                ret->kind = p[1] >= '0' && p[1] <= '9' ? UNKNOWN : PLAIN;
        return p + 2;
}

/* K and S have a third form each beyond ASCII, and characters beyond it may have any. */
static bool has_two_cases(const char *p)
{
        return (unsigned char)*p < 0x80 && !strchr("kKsS", *p);
}

static const char *read_quantifier(const char *p, struct element *ret)
{
        if (*p == '*' || *p == '?' || *p == '+') {
                ret->optional = *p != '+';
                ret->repeats = *p != '?';
                p++;
        } else if (*p == '{') {
                size_t least = strspn(p + 1, "0123456789");
                const char *end = p + 1 + least;
                if (!least)
                        ret->kind = UNKNOWN;
                ret->optional = p[1] == '0';
                ret->repeats = *end == ',';
                end += ret->repeats ? 1 + strspn(end + 1, "0123456789") : 0;
                if (*end != '}')
                        ret->kind = UNKNOWN;
                p = *end ? end + 1 : end;
        } else {
                return p;
        }
        return p + (*p == '?' || *p == '+'); /* lazy, possessive */
}

/* One element with its quantifier. Returns what is behind it. */
static const char *read_element(const char *p, bool caseless, struct element *ret)
{
        const char *behind = p + text_utf8_step(p, strlen(p));
        *ret = (struct element){ .kind = PLAIN };
        if (*p == '\\') {
                behind = read_escape(p, ret);
        } else if (*p == '(' || *p == '[') {
                behind = *p == '(' ? skip_group(p) : skip_class(p);
                ret->kind = !behind ? UNKNOWN : *p == '(' ? GAP : SET;
        } else if (strchr("^$.", *p)) {
                ret->kind = *p == '.' ? SET : GAP;
        } else if (strchr("|)*+?{", *p)) {
                ret->kind = UNKNOWN;
        } else if (*p == '\n' || (caseless && !has_two_cases(p))) {
                ret->kind = GAP;
        }
        return ret->kind == UNKNOWN ? p : read_quantifier(behind, ret);
}

/* Quoting, and a control character that may be a bracket, change how the rest reads, wherever they are. */
static bool reads_oddly(const char *pattern)
{
        return strstr(pattern, "\\Q") || strstr(pattern, "\\E") || strstr(pattern, "\\c");
}

bool fragment_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length)
{
        size_t best = 0, plain = 0, behind = 0; /* plain characters, of the best and of this run; sets behind them */
        const char *start = pattern;
        struct element e;
        *ret_start = *ret_length = 0;
        if (reads_oddly(pattern))
                return false;
        for (const char *p = pattern, *next; *p; p = next) {
                next = read_element(p, caseless, &e);
                if (e.kind == UNKNOWN)
                        return false;
                bool once = !e.optional && !e.repeats;
                if (once && e.kind == PLAIN) {
                        start = plain && !behind ? start : p;
                        plain = behind ? 1 : plain + 1;
                        behind = 0;
                } else if (once && e.kind == SET && plain && behind < MOST_BEHIND) {
                        behind++;
                } else {
                        plain = behind = 0;
                }
                if (plain > best || (plain && start == pattern + *ret_start)) {
                        best = plain;
                        *ret_start = (size_t)(start - pattern);
                        *ret_length = (size_t)(next - start);
                }
        }
        return best && *ret_start;
}

bool fragment_is_simple(const char *pattern)
{
        return !pattern[strcspn(pattern, "*+?{(\\[.")];
}
