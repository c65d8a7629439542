/*
 * Finds fragments of patterns; see regex_prefilter.h.
 *
 * How it works: a pattern without alternatives at its top level is a sequence of elements, and a match contains a match
 * of each, in order. So a run of elements that are not optional must occur in every match. If the run begins with
 * literal characters, PCRE2's JIT searches for it with vector instructions, many times faster than it tries the whole
 * pattern at each offset: for `\b[a-z]+_[0-9]{3}` that run is `_[0-9]{3}`.
 *
 * A fragment only saves time, so an element that is not understood ends the search for one.
 */
#include "tools/regex_prefilter.h"

#include <string.h>

#include "base/text.h"

enum { SETS_MAX = 4 }; /* at the end of a fragment */

enum kind {
        LITERAL, /* one given character */
        SET,     /* one character of several */
        BARRIER, /* understood, but no part of a fragment: anchors, groups */
        UNKNOWN,
};

struct element {
        enum kind kind;
        bool optional; /* it may match nothing */
        bool repeats;  /* how often varies, so what follows has no fixed offset */
};

/* Returns the end of a class; NULL when it has none, or contains a named class. */
static const char *skip_class(const char *p)
{
        p++;
        p += *p == '^';
        p += *p == ']';
        for (; *p; p++) {
                if (*p == ']')
                        return p + 1;
                if (p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
                        return NULL; /* [:alpha:] has brackets of its own */
                p += *p == '\\' && p[1];
        }
        return NULL;
}

/* Returns the end of a group; NULL when it has none, or when something in it may change what follows. */
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
                        return NULL; /* verbs, comments, option settings, conditions */
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
                ret->kind = BARRIER;
        else if ((p[1] | 0x20) >= 'a' && (p[1] | 0x20) <= 'z')
                ret->kind = UNKNOWN;
        else
                ret->kind = p[1] >= '0' && p[1] <= '9' ? UNKNOWN : LITERAL;
        return p + 2;
}

/* K and S have a third case form outside ASCII, and other characters outside ASCII may have any number. */
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

/* Reads one element with its quantifier. Returns its end. */
static const char *read_element(const char *p, bool caseless, struct element *ret)
{
        const char *end = p + text_utf8_sequence_length(p, strlen(p));
        *ret = (struct element){ .kind = LITERAL };
        if (*p == '\\') {
                end = read_escape(p, ret);
        } else if (*p == '(' || *p == '[') {
                end = *p == '(' ? skip_group(p) : skip_class(p);
                ret->kind = !end ? UNKNOWN : *p == '(' ? BARRIER : SET;
        } else if (strchr("^$.", *p)) {
                ret->kind = *p == '.' ? SET : BARRIER;
        } else if (strchr("|)*+?{", *p)) {
                ret->kind = UNKNOWN;
        } else if (*p == '\n' || (caseless && !has_two_cases(p))) {
                ret->kind = BARRIER;
        }
        return ret->kind == UNKNOWN ? p : read_quantifier(end, ret);
}

/* Quoting, and \c, whose argument may be a bracket, change how the rest of a pattern is parsed. */
static bool changes_parsing(const char *pattern)
{
        return strstr(pattern, "\\Q") || strstr(pattern, "\\E") || strstr(pattern, "\\c");
}

bool regex_prefilter_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length)
{
        size_t best = 0, literals = 0, sets = 0; /* literals of the best run and of this one, and the sets after them */
        const char *start = pattern;
        struct element e;
        *ret_start = *ret_length = 0;
        if (changes_parsing(pattern))
                return false;
        for (const char *p = pattern, *next; *p; p = next) {
                next = read_element(p, caseless, &e);
                if (e.kind == UNKNOWN)
                        return false;
                bool is_fixed = !e.optional && !e.repeats;
                if (is_fixed && e.kind == LITERAL) {
                        start = literals && !sets ? start : p;
                        literals = sets ? 1 : literals + 1;
                        sets = 0;
                } else if (is_fixed && e.kind == SET && literals && sets < SETS_MAX) {
                        sets++;
                } else {
                        literals = sets = 0;
                }
                if (literals > best || (literals && start == pattern + *ret_start)) {
                        best = literals;
                        *ret_start = (size_t)(start - pattern);
                        *ret_length = (size_t)(next - start);
                }
        }
        return best && *ret_start;
}

bool regex_is_linear(const char *pattern)
{
        return !pattern[strcspn(pattern, "*+?{(\\[.")];
}
