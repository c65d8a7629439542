/*
 * Regular expressions; see matcher.h.
 *
 * How it works: a text is not searched line by line but as a whole, and lines are looked for only around what was found. If the
 * pattern has a fragment that is quicker to find (fragment.c), the text is searched for that, and only lines with it are
 * tried. A match that goes over the end of its line counts in multiline mode alone: otherwise the line is tried once more by
 * itself.
 *
 * What an attacker controls: the text, and, as the agent, the pattern; together they can make a backtracking matcher
 * run for ever. PCRE2 bounds how often it goes back at one place of the text, but neither the time nor the places, and
 * cannot be interrupted. So the text goes to it in slices, and where a slice took long, or has a very long line in it, the same
 * pattern with callouts is used: slower, but asking at each of its elements whether to go on.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/matcher.h"

#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/fragment.h"

enum {
        MATCH_LIMIT = 5000000,     /* steps of PCRE2's at one place */
        SLICE = 64 << 10,
        SLICE_WITHOUT_JIT = 4 << 10, /* then each call looks at all of its text first */
        LONG_LINE = 8 << 10,
        SLOW_MS = 100,             /* of a slice */
        MOST_MS = 5000,            /* the same, or of a whole text with multiline */
        ASK_THE_CLOCK = 1024,      /* every so many elements */
        JIT_STACK_FIRST = 32 << 10,
        JIT_STACK_MOST = 1 << 20,
};

struct matcher {
        pcre2_code *code;
        pcre2_code *guarded;  /* the same, that asks whether to go on; NULL: need not */
        pcre2_code *fragment; /* NULL: none */
        struct matcher_options options;
        size_t slice;         /* how much of a text is given to PCRE2 at once */
        bool simple;          /* its time is in proportion to the text's length: then all of it is */
        bool by_line;         /* it looks beyond its match, where in line by line there is nothing */
};

struct matcher_hand {
        const struct matcher *matcher;
        const atomic_bool *stop;
        pcre2_match_data *match;
        pcre2_match_context *context;
        pcre2_jit_stack *stack;
        const char *text;
        size_t length, at;
        size_t slice;       /* the end of the one that we are in */
        bool careful;       /* in it */
        bool was_slow;      /* one of this text */
        int64_t began;      /* the slice, by clock_ms() */
        unsigned asked;
};

/* --- the pattern --- */

static pcre2_code *compile(const char *pattern, size_t length, struct matcher_options o, uint32_t more, int *ret_code,
                           PCRE2_SIZE *ret_where)
{
        /* ALT_CIRCUMFLEX: ^ also matches in an empty line that is tried by itself, where the text ends */
        uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX |
                           PCRE2_NEVER_BACKSLASH_C | (o.caseless ? PCRE2_CASELESS : 0) | (o.multiline ? PCRE2_DOTALL : 0) | more;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, length, options, ret_code, ret_where, NULL);
        if (code)
                (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it, it is slower */
        return code;
}

static bool looks_ahead(const char *pattern)
{
        static const char *const signs[] = { "(?=", "(?!", "(*", "\\z", "\\Z" };
        for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
                if (strstr(pattern, signs[i]))
                        return true;
        return false;
}

struct matcher *matcher_new(const char *pattern, struct matcher_options options, char *why, size_t why_size)
{
        int code = 0;
        PCRE2_SIZE where = 0, start = 0, length = 0;
        struct matcher *r = calloc(1, sizeof *r);
        if (!r) {
                (void)snprintf(why, why_size, "no memory");
                return NULL;
        }
        r->options = options;
        r->code = compile(pattern, strlen(pattern), options, 0, &code, &where);
        if (!r->code) {
                char reason[200] = "";
                (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
                (void)snprintf(why, why_size, "the pattern is wrong at its character %zu: %s", where + 1, reason);
                matcher_free(r);
                return NULL;
        }
        size_t jit = 0;
        (void)pcre2_pattern_info(r->code, PCRE2_INFO_JITSIZE, &jit);
        r->slice = jit ? SLICE : SLICE_WITHOUT_JIT;
        r->simple = jit && fragment_is_simple(pattern);
        r->by_line = looks_ahead(pattern);
        if (!r->simple)
                r->guarded = compile(pattern, strlen(pattern), options, PCRE2_AUTO_CALLOUT, &code, &where);
        if (fragment_find(pattern, options.caseless, &start, &length))
                r->fragment = compile(pattern + start, length, options, 0, &code, &where);
        return r;
}

void matcher_free(struct matcher *r)
{
        if (!r)
                return;
        pcre2_code_free(r->code);
        pcre2_code_free(r->guarded);
        pcre2_code_free(r->fragment);
        free(r);
}

/* --- a thread's hand --- */

/* Before an element of the pattern is tried: go on? */
static int ask(pcre2_callout_block *unused, void *data)
{
        (void)unused;
        struct matcher_hand *h = data;
        if (*h->stop)
                return PCRE2_ERROR_CALLOUT;
        bool late = ++h->asked % ASK_THE_CLOCK == 0 && clock_ms() - h->began > MOST_MS;
        return late ? PCRE2_ERROR_MATCHLIMIT : 0;
}

struct matcher_hand *matcher_hand_new(const struct matcher *r, const atomic_bool *stop)
{
        struct matcher_hand *h = calloc(1, sizeof *h);
        if (!h)
                return NULL;
        *h = (struct matcher_hand){
                .matcher = r,
                .stop = stop,
                .match = pcre2_match_data_create_from_pattern(r->code, NULL),
                .context = pcre2_match_context_create(NULL),
                .stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MOST, NULL), /* without one, there is a small one */
        };
        if (!h->match || !h->context) {
                matcher_hand_free(h);
                return NULL;
        }
        (void)pcre2_set_match_limit(h->context, MATCH_LIMIT);
        (void)pcre2_set_callout(h->context, ask, h);
        if (h->stack)
                pcre2_jit_stack_assign(h->context, NULL, h->stack);
        return h;
}

void matcher_hand_free(struct matcher_hand *h)
{
        if (!h)
                return;
        pcre2_match_context_free(h->context);
        pcre2_match_data_free(h->match);
        pcre2_jit_stack_free(h->stack);
        free(h);
}

/* --- searching --- */

/* Where a match in [from, to) begins and ends; 1, 0, or -errno. */
static int match(struct matcher_hand *h, const pcre2_code *code, size_t from, size_t to, const PCRE2_SIZE **ret)
{
        int r = pcre2_match(code, (PCRE2_SPTR)h->text, to, from, 0, h->match, h->context);
        *ret = pcre2_get_ovector_pointer(h->match);
        if (r == PCRE2_ERROR_NOMATCH)
                return 0;
        if (r == PCRE2_ERROR_CALLOUT)
                return -ECANCELED;
        return r < 0 ? -ETIME : 1;
}

static const pcre2_code *whole(const struct matcher_hand *h)
{
        const struct matcher *r = h->matcher;
        return h->careful && r->guarded ? r->guarded : r->code;
}

size_t matcher_line_start(const char *text, size_t at)
{
        const char *p = at ? memrchr(text, '\n', at) : NULL;
        return p ? (size_t)(p - text) + 1 : 0;
}

size_t matcher_line_end(const char *text, size_t length, size_t at)
{
        const char *p = memchr(text + at, '\n', length - at);
        return p ? (size_t)(p - text) + 1 : length;
}

static bool has_long_line(const struct matcher_hand *h, size_t from, size_t to)
{
        while (to - from > LONG_LINE) {
                const char *p = memrchr(h->text + from, '\n', LONG_LINE);
                if (!p)
                        return true;
                from = (size_t)(p - h->text) + 1;
        }
        return false;
}

/* The next slice: whole lines, or the rest when it needs none. */
static void begin_slice(struct matcher_hand *h)
{
        int64_t now = h->matcher->simple ? 0 : clock_ms();
        h->was_slow |= h->slice && now - h->began > SLOW_MS;
        h->began = now;
        if (h->matcher->simple || h->matcher->options.multiline) {
                h->slice = h->length;
                h->careful = h->matcher->options.multiline;
                return;
        }
        size_t size = h->matcher->slice, to = h->length - h->at > size ? matcher_line_start(h->text, h->at + size) : h->length;
        h->slice = to > h->at ? to : matcher_line_end(h->text, h->length, h->at + size);
        h->careful = h->was_slow || has_long_line(h, h->at, h->slice);
}

void matcher_begin(struct matcher_hand *h, const char *text, size_t length, size_t from)
{
        h->text = text;
        h->length = length;
        h->at = from;
        h->slice = 0;
        h->was_slow = false;
}

/*
 * The next line of the slice that may match, and whether it surely does: 1 with it, 0, or -errno. Ours is the first place
 * where the whole or the fragment is found; nothing before it can match.
 */
static int find_line(struct matcher_hand *h, size_t *ret_start, size_t *ret_end, bool *ret_sure)
{
        const struct matcher *r = h->matcher;
        PCRE2_SIZE here[2] = { h->at, h->at };
        const PCRE2_SIZE *place = here;
        int found = 1;
        if (r->fragment || !r->by_line)
                found = match(h, r->fragment ? r->fragment : whole(h), h->at, h->slice, &place);
        if (found <= 0)
                return found;
        *ret_start = matcher_line_start(h->text, place[0]);
        if (*ret_start >= h->slice) /* an empty match behind the last newline is no line */
                return 0;
        *ret_end = matcher_line_end(h->text, h->length, place[0]);
        *ret_sure = !r->fragment && !r->by_line && place[1] <= *ret_end - (h->text[*ret_end - 1] == '\n');
        return 1;
}

/* In the slice, by lines. */
static int next_line(struct matcher_hand *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *unused;
        while (h->at < h->slice) {
                bool sure = false;
                int r = find_line(h, ret_start, ret_end, &sure);
                if (r <= 0)
                        return r;
                h->at = *ret_end;
                if (!sure) /* by itself */
                        r = match(h, whole(h), *ret_start, *ret_end - (h->text[*ret_end - 1] == '\n'), &unused);
                if (r != 0)
                        return r;
                if (*h->stop)
                        return -ECANCELED;
        }
        return 0;
}

/* In the whole text, over lines. */
static int next_lines(struct matcher_hand *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *place;
        int r = match(h, whole(h), h->at, h->length, &place);
        if (r <= 0 || (*ret_start = matcher_line_start(h->text, place[0])) >= h->length)
                return r < 0 ? r : 0;
        *ret_end = matcher_line_end(h->text, h->length, place[0]);
        if (place[1] > *ret_end)
                *ret_end = matcher_line_end(h->text, h->length, place[1] - 1);
        h->at = *ret_end;
        return 1;
}

int matcher_next(struct matcher_hand *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *unused;
        bool multiline = h->matcher->options.multiline;
        int r = 0;
        if (multiline && !h->slice && h->matcher->fragment && (r = match(h, h->matcher->fragment, h->at, h->length, &unused)) <= 0)
                return r;
        r = 0;
        while (r == 0 && h->at < h->length) {
                if (h->at >= h->slice)
                        begin_slice(h);
                r = multiline ? next_lines(h, ret_start, ret_end) : next_line(h, ret_start, ret_end);
                if (r == 0)
                        h->at = h->slice;
                if (*h->stop)
                        r = -ECANCELED;
        }
        return r;
}
