/*
 * Regular expressions; see regex_matcher.h.
 *
 * How it works: a text is searched as a whole, not line by line, and line ends are looked up only around a match. If
 * the pattern has a fragment that is faster to find (regex_prefilter.c), the text is searched for the fragment, and
 * only lines that contain it are matched. Only in multiline mode may a match cross the end of its line; otherwise that
 * line is matched again by itself.
 *
 * What an attacker controls: the text and, as the agent, the pattern; together they can make a backtracking matcher run
 * forever. PCRE2 limits the backtracking at one start offset, but neither the time nor the number of offsets, and it
 * cannot be interrupted. So the text is matched in slices. After a slow slice, for a slice with a very long line, and
 * in multiline mode, the same pattern with callouts is used: slower, but before each pattern element it checks whether
 * to stop.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/regex_matcher.h"

#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/regex_prefilter.h"

enum {
        MATCH_LIMIT = 5000000,     /* of PCRE2, at one start offset */
        SLICE = 64 << 10,
        SLICE_WITHOUT_JIT = 4 << 10, /* smaller, because each call first scans its whole text */
        LONG_LINE = 8 << 10,
        SLOW_MS = 100,             /* a slice that takes longer is slow */
        MS_MAX = 5000,             /* for one slice, or for the whole text with multiline */
        CALLOUTS_PER_CLOCK = 1024, /* how many callouts there are for each look at the clock */
        JIT_STACK_FIRST = 32 << 10,
        JIT_STACK_MAX = 1 << 20,
};

struct regex_matcher {
        pcre2_code *code;
        pcre2_code *with_callouts; /* the same pattern; NULL: not needed */
        pcre2_code *fragment; /* NULL: none */
        struct regex_options options;
        size_t slice;         /* bytes of the text that PCRE2 gets at once */
        bool simple;          /* takes linear time, so the text need not be sliced */
        bool by_line;         /* it may look past the end of the line, so each line is matched by itself */
};

struct matcher_state {
        const struct regex_matcher *matcher;
        const atomic_bool *stop;
        pcre2_match_data *match;
        pcre2_match_context *context;
        pcre2_jit_stack *stack;
        const char *text;
        size_t length, at;
        size_t slice_end;   /* of the current slice */
        bool use_callouts;  /* in this slice */
        bool was_slow;      /* a slice of this text was slow */
        int64_t began;      /* when the slice was begun, by clock_ms() */
        unsigned callouts;
};

/* --- the pattern --- */

static pcre2_code *compile(const char *pattern, size_t length, struct regex_options o, uint32_t more, int *ret_code,
                           PCRE2_SIZE *ret_where)
{
        /* ALT_CIRCUMFLEX: ^ also matches at the end of the text, so in an empty line that is matched by itself */
        uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX |
                           PCRE2_NEVER_BACKSLASH_C | (o.caseless ? PCRE2_CASELESS : 0) |
                           (o.multiline ? PCRE2_DOTALL : 0) | more;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, length, options, ret_code, ret_where, NULL);
        if (code)
                (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if this fails, matching is only slower */
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

struct regex_matcher *regex_matcher_new(const char *pattern, struct regex_options options, char *why, size_t why_size)
{
        int code = 0;
        PCRE2_SIZE where = 0, start = 0, length = 0;
        struct regex_matcher *r = calloc(1, sizeof *r);
        if (!r) {
                (void)snprintf(why, why_size, "no memory");
                return NULL;
        }
        r->options = options;
        r->code = compile(pattern, strlen(pattern), options, 0, &code, &where);
        if (!r->code) {
                char reason[200] = "";
                (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
                (void)snprintf(why, why_size, "invalid pattern at byte %zu: %s", where + 1, reason);
                regex_matcher_free(r);
                return NULL;
        }
        size_t jit = 0;
        (void)pcre2_pattern_info(r->code, PCRE2_INFO_JITSIZE, &jit);
        r->slice = jit ? SLICE : SLICE_WITHOUT_JIT;
        r->simple = jit && regex_is_linear(pattern);
        r->by_line = looks_ahead(pattern);
        if (!r->simple)
                r->with_callouts = compile(pattern, strlen(pattern), options, PCRE2_AUTO_CALLOUT, &code, &where);
        if (regex_prefilter_find(pattern, options.caseless, &start, &length))
                r->fragment = compile(pattern + start, length, options, 0, &code, &where);
        return r;
}

void regex_matcher_free(struct regex_matcher *r)
{
        if (!r)
                return;
        pcre2_code_free(r->code);
        pcre2_code_free(r->with_callouts);
        pcre2_code_free(r->fragment);
        free(r);
}

/* --- the state of a thread --- */

/* Callout before each element of the pattern. Not 0 stops the match. */
static int check_stop(pcre2_callout_block *unused, void *data)
{
        (void)unused;
        struct matcher_state *h = data;
        if (*h->stop)
                return PCRE2_ERROR_CALLOUT;
        bool late = ++h->callouts % CALLOUTS_PER_CLOCK == 0 && clock_ms() - h->began > MS_MAX;
        return late ? PCRE2_ERROR_MATCHLIMIT : 0;
}

struct matcher_state *matcher_state_new(const struct regex_matcher *r, const atomic_bool *stop)
{
        struct matcher_state *h = calloc(1, sizeof *h);
        if (!h)
                return NULL;
        *h = (struct matcher_state){
                .matcher = r,
                .stop = stop,
                .match = pcre2_match_data_create_from_pattern(r->code, NULL),
                .context = pcre2_match_context_create(NULL),
                /* if this fails, PCRE2 uses a small stack of its own */
                .stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MAX, NULL),
        };
        if (!h->match || !h->context) {
                matcher_state_free(h);
                return NULL;
        }
        (void)pcre2_set_match_limit(h->context, MATCH_LIMIT);
        (void)pcre2_set_callout(h->context, check_stop, h);
        if (h->stack)
                pcre2_jit_stack_assign(h->context, NULL, h->stack);
        return h;
}

void matcher_state_free(struct matcher_state *h)
{
        if (!h)
                return;
        pcre2_match_context_free(h->context);
        pcre2_match_data_free(h->match);
        pcre2_jit_stack_free(h->stack);
        free(h);
}

/* --- searching --- */

/* Matches in [from, to). Returns 1 with the start and end of the match in *ret, 0, or -errno. */
static int match(struct matcher_state *h, const pcre2_code *code, size_t from, size_t to, const PCRE2_SIZE **ret)
{
        int r = pcre2_match(code, (PCRE2_SPTR)h->text, to, from, 0, h->match, h->context);
        *ret = pcre2_get_ovector_pointer(h->match);
        if (r == PCRE2_ERROR_NOMATCH)
                return 0;
        if (r == PCRE2_ERROR_CALLOUT)
                return -ECANCELED;
        return r < 0 ? -ETIME : 1;
}

static const pcre2_code *choose_code(const struct matcher_state *h)
{
        const struct regex_matcher *r = h->matcher;
        return h->use_callouts && r->with_callouts ? r->with_callouts : r->code;
}

size_t line_start_at(const char *text, size_t at)
{
        const char *p = at ? memrchr(text, '\n', at) : NULL;
        return p ? (size_t)(p - text) + 1 : 0;
}

size_t line_end_at(const char *text, size_t length, size_t at)
{
        const char *p = memchr(text + at, '\n', length - at);
        return p ? (size_t)(p - text) + 1 : length;
}

static bool has_long_line(const struct matcher_state *h, size_t from, size_t to)
{
        while (to - from > LONG_LINE) {
                const char *p = memrchr(h->text + from, '\n', LONG_LINE);
                if (!p)
                        return true;
                from = (size_t)(p - h->text) + 1;
        }
        return false;
}

/* Starts the next slice: whole lines, or the rest of the text if it need not be sliced. */
static void begin_slice(struct matcher_state *h)
{
        int64_t now = h->matcher->simple ? 0 : clock_ms();
        h->was_slow |= h->slice_end && now - h->began > SLOW_MS;
        h->began = now;
        if (h->matcher->simple || h->matcher->options.multiline) {
                h->slice_end = h->length;
                h->use_callouts = h->matcher->options.multiline;
                return;
        }
        size_t size = h->matcher->slice,
               to = h->length - h->at > size ? line_start_at(h->text, h->at + size) : h->length;
        h->slice_end = to > h->at ? to : line_end_at(h->text, h->length, h->at + size);
        h->use_callouts = h->was_slow || has_long_line(h, h->at, h->slice_end);
}

void match_begin(struct matcher_state *h, const char *text, size_t length, size_t from)
{
        h->text = text;
        h->length = length;
        h->at = from;
        h->slice_end = 0;
        h->was_slow = false;
}

/*
 * Finds the next line of the slice that may match: the first one in which the pattern or its fragment is found. Returns
 * 1 with the line, 0, or -errno; *ret_sure says that the line does match.
 */
static int find_line(struct matcher_state *h, size_t *ret_start, size_t *ret_end, bool *ret_sure)
{
        const struct regex_matcher *r = h->matcher;
        PCRE2_SIZE here[2] = { h->at, h->at };
        const PCRE2_SIZE *place = here;
        int found = 1;
        if (r->fragment || !r->by_line)
                found = match(h, r->fragment ? r->fragment : choose_code(h), h->at, h->slice_end, &place);
        if (found <= 0)
                return found;
        *ret_start = line_start_at(h->text, place[0]);
        if (*ret_start >= h->slice_end) /* an empty match after the last newline is not in a line */
                return 0;
        *ret_end = line_end_at(h->text, h->length, place[0]);
        *ret_sure = !r->fragment && !r->by_line && place[1] <= *ret_end - (h->text[*ret_end - 1] == '\n');
        return 1;
}

/* Finds the next matching line of the slice. */
static int next_line(struct matcher_state *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *unused;
        while (h->at < h->slice_end) {
                bool sure = false;
                int r = find_line(h, ret_start, ret_end, &sure);
                if (r <= 0)
                        return r;
                h->at = *ret_end;
                if (!sure) /* match the line by itself */
                        r = match(h, choose_code(h), *ret_start, *ret_end - (h->text[*ret_end - 1] == '\n'), &unused);
                if (r != 0)
                        return r;
                if (*h->stop)
                        return -ECANCELED;
        }
        return 0;
}

/* Finds the lines of the next match in the whole text; a match may span several. */
static int next_lines(struct matcher_state *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *place;
        int r = match(h, choose_code(h), h->at, h->length, &place);
        if (r <= 0 || (*ret_start = line_start_at(h->text, place[0])) >= h->length)
                return r < 0 ? r : 0;
        *ret_end = line_end_at(h->text, h->length, place[0]);
        if (place[1] > *ret_end)
                *ret_end = line_end_at(h->text, h->length, place[1] - 1);
        h->at = *ret_end;
        return 1;
}

int match_next(struct matcher_state *h, size_t *ret_start, size_t *ret_end)
{
        const PCRE2_SIZE *unused;
        bool multiline = h->matcher->options.multiline;
        int r = 0;
        if (multiline && !h->slice_end && h->matcher->fragment &&
            (r = match(h, h->matcher->fragment, h->at, h->length, &unused)) <= 0)
                return r;
        r = 0;
        while (r == 0 && h->at < h->length) {
                if (h->at >= h->slice_end)
                        begin_slice(h);
                r = multiline ? next_lines(h, ret_start, ret_end) : next_line(h, ret_start, ret_end);
                if (r == 0)
                        h->at = h->slice_end;
                if (*h->stop)
                        r = -ECANCELED;
        }
        return r;
}
