/*
 * Scrubbing; see scrub.h.
 *
 * Theory of operation. A text is scanned in windows, and the result must not depend on how the text was split into
 * pieces. A window usually is several whole lines: no match crosses the end of a line, so it does not matter how lines
 * are grouped. A line longer than WINDOW is scanned in overlapping windows, whose positions depend on that line alone.
 * Each decides about the secrets that begin before its limit, and no expression of the table can match more than the
 * overlap after the limit. The next window begins CONTEXT bytes before that limit, because checks look at the bytes
 * before a secret; the secrets that begin in these bytes were decided about.
 *
 * State is carried from one window to the next: a secret that continues in its alphabet, a block that has not ended.
 * Their remainder is dropped as it arrives and is not buffered. The buffer holds at most one window and the start of a
 * block that cannot be decided yet.
 *
 * An attacker controls the text. Time is linear in its length and the buffer is bounded: checks look only at the first
 * bytes of a secret, and the characters that continue it are scanned once, however many matches begin before them.
 */
#include "gate/scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "gate/scrub_scan.h"
#include "gate/secret_assignment.h"

enum {
        WINDOW = 64 << 10,
        OVERLAP = PATTERN_WIDTH_MAX,
        CONTEXT = SETTING_NAME_MAX + SETTING_BEFORE_MAX,
        HELD_MAX = WINDOW + 2 * BLOCK_DECISION_MAX, /* enough to decide about a block that opens in a full window */
};

struct window {
        const char *text;
        size_t available;  /* bytes of the text that have arrived */
        size_t length;     /* bytes in the window */
        size_t limit;      /* the window decides about secrets that begin before this */
        bool last;         /* the text ends after the available bytes */
};

/* --- blocks --- */

/* Does a key follow the marker that ends at `at`? 1, 0, or -EAGAIN: more of the text is needed. */
static int is_key(const struct window *w, size_t at)
{
        struct pem_block b;
        pem_block_init(&b);
        while (at < w->available && b.state == PEM_UNDECIDED)
                (void)pem_block_feed(&b, w->text[at++]);
        if (b.state == PEM_UNDECIDED && !w->last)
                return -EAGAIN;
        if (b.state == PEM_UNDECIDED)
                (void)pem_block_finish(&b);
        return b.state != PEM_NO_KEY;
}

/* Parses the open block up to the window's limit. */
static void follow_block(struct scrub_stream *s, const struct window *w)
{
        while (s->in_block && s->block_at < w->limit) {
                enum pem_state state = pem_block_feed(&s->block, w->text[s->block_at]);
                s->in_block = state == PEM_UNDECIDED || state == PEM_IN_KEY;
                s->block_at += state != PEM_ENDED_BEFORE;
        }
        if (s->block_at > s->secret_end)
                s->secret_end = s->block_at;
}

/* --- windows --- */

/* Continues the secret or block that was open at the end of the previous window. */
static void continue_open(struct scrub_stream *s, const struct window *w)
{
        if (s->alphabet != ALPHABET_NONE)
                while (s->secret_end < w->length && alphabet_contains(s->alphabet, w->text[s->secret_end]))
                        s->secret_end++;
        if (s->secret_end < w->length)
                s->alphabet = ALPHABET_NONE;
        follow_block(s, w);
}

static void write_replacement(struct scrub_stream *s, unsigned pattern, struct text *out)
{
        text_format(out, "[REDACTED:%s]", scrubber_name(s->scrubber, pattern));
        scrubber_add_count(s->scrubber, pattern);
}

/* Replaces a secret. The text before `*done` has been output or dropped. */
static void redact(struct scrub_stream *s, const struct window *w, const struct secret_match *hit, size_t *done,
                   struct text *out)
{
        size_t from = hit->from > *done ? hit->from : *done;
        if (hit->from >= s->secret_end) {
                text_add_bytes(out, w->text + *done, from - *done);
                write_replacement(s, hit->pattern, out);
        }
        if (hit->to > s->secret_end) {
                s->secret_end = hit->to;
                s->alphabet = hit->to == w->length ? hit->alphabet : ALPHABET_NONE;
        }
        const struct secret_pattern *pattern = scrubber_pattern(hit->pattern);
        if (pattern && pattern->end == SECRET_END_PEM_BLOCK) {
                pem_block_init(&s->block);
                s->in_block = true;
                s->block_at = hit->to;
                follow_block(s, w);
        }
        *done = s->secret_end > *done ? s->secret_end : *done;
}

/* Drops markers that no key follows, and hits that another window decides about. -EAGAIN: see is_key(). */
static int filter_hits(const struct scrub_stream *s, const struct window *w, size_t *ret_undecided)
{
        struct secret_match *hits = s->scrubber->hits;
        size_t kept = 0;
        for (size_t i = 0; i < s->scrubber->hit_count; i++) {
                const struct secret_pattern *pattern = scrubber_pattern(hits[i].pattern);
                int key = 1;
                if (hits[i].start >= w->limit || hits[i].match < s->context)
                        continue;
                if (pattern && pattern->end == SECRET_END_PEM_BLOCK)
                        key = is_key(w, hits[i].to);
                if (key < 0) {
                        *ret_undecided = hits[i].from;
                        return key;
                }
                if (key)
                        hits[kept++] = hits[i];
        }
        s->scrubber->hit_count = kept;
        return 0;
}

/* Outputs the window up to its limit, with the secrets replaced. */
static void output_window(struct scrub_stream *s, const struct window *w, struct text *out)
{
        const struct secret_match *hits = s->scrubber->hits;
        continue_open(s, w);
        size_t done = s->secret_end > s->context ? s->secret_end : s->context;
        for (size_t i = 0; i < s->scrubber->hit_count; i++) {
                const struct secret_pattern *pattern = scrubber_pattern(hits[i].pattern);
                if (pattern && pattern->end == SECRET_END_PEM_BLOCK && hits[i].from < s->block_at)
                        continue; /* a marker inside the previous block */
                redact(s, w, &hits[i], &done, out);
        }
        if (done < w->limit)
                text_add_bytes(out, w->text + done, w->limit - done);
}

/* The first `bytes` of the text are done with: adjusts the positions to the new start. */
static void shift_positions(struct scrub_stream *s, size_t bytes)
{
        s->secret_end = s->secret_end > bytes ? s->secret_end - bytes : 0;
        s->block_at = s->block_at > bytes ? s->block_at - bytes : 0;
}

/* Sets the next window. False if too little of the text has arrived. */
static bool next_window(struct window *w)
{
        size_t longest = w->available < WINDOW ? w->available : WINDOW;
        const char *newline = longest ? memrchr(w->text, '\n', longest) : NULL;
        w->length = w->limit = newline ? (size_t)(newline - w->text) + 1 : longest;
        if (newline)
                return true;
        if (w->available >= WINDOW)
                w->limit = WINDOW - OVERLAP;
        return w->available >= WINDOW || (w->last && w->available);
}

/* Scrubs a window, or as many of its lines as can be decided. Returns how many bytes are done with, or -errno. */
static ssize_t scrub_window(struct scrub_stream *s, struct window *w, struct text *out)
{
        size_t undecided = 0;
        int r = scrubber_scan(s->scrubber, w->text, w->length);
        if (r == 0)
                r = filter_hits(s, w, &undecided);
        if (r == -EAGAIN) {
                const char *newline = undecided ? memrchr(w->text, '\n', undecided) : NULL;
                if (!newline)
                        return 0;
                w->length = w->limit = (size_t)(newline - w->text) + 1;
                return scrub_window(s, w, out);
        }
        if (r < 0)
                return r;
        output_window(s, w, out);
        bool in_line = w->limit < w->length;
        s->context = in_line ? CONTEXT : 0;
        size_t bytes = w->limit - s->context;
        shift_positions(s, bytes);
        return (ssize_t)bytes;
}

/* Scrubs as many windows as have arrived. Returns how many bytes are done with, or -errno. */
static ssize_t scrub_windows(struct scrub_stream *s, const char *text, size_t length, bool last, struct text *out)
{
        size_t done = 0;
        struct window w = { .last = last };
        for (;;) {
                w.text = text + done;
                w.available = length - done;
                if (!next_window(&w))
                        break;
                ssize_t bytes = scrub_window(s, &w, out);
                if (bytes < 0)
                        return bytes;
                if (bytes == 0)
                        break;
                done += (size_t)bytes;
        }
        return (ssize_t)done;
}

/* --- streams --- */

void scrub_stream_init(struct scrub_stream *s, struct scrubber *scrubber)
{
        *s = (struct scrub_stream){ .scrubber = scrubber };
}

void scrub_stream_done(struct scrub_stream *s)
{
        free(s->held);
        *s = (struct scrub_stream){ 0 };
}

static int scrub_held(struct scrub_stream *s, bool last, struct text *out)
{
        ssize_t done = s->length ? scrub_windows(s, s->held, s->length, last, out) : 0;
        if (done <= 0)
                return (int)done;
        s->length -= (size_t)done;
        memmove(s->held, s->held + done, s->length);
        return 0;
}

/* Appends as many bytes as fit to the buffer; returns how many. */
static ssize_t buffer_more(struct scrub_stream *s, const char *bytes, size_t length)
{
        if (!s->held && !(s->held = malloc(HELD_MAX)))
                return -ENOMEM;
        size_t fits = HELD_MAX - s->length < length ? HELD_MAX - s->length : length;
        memcpy(s->held + s->length, bytes, fits);
        s->length += fits;
        return (ssize_t)fits;
}

int scrub_stream_feed(struct scrub_stream *s, const char *bytes, size_t length, struct text *out)
{
        while (length) {
                /* With an empty buffer, windows that are complete are scrubbed in place, without a copy. */
                ssize_t taken = s->length ? 0 : scrub_windows(s, bytes, length, false, out);
                if (taken < 0)
                        return (int)taken;
                bytes += taken;
                length -= (size_t)taken;
                taken = length ? buffer_more(s, bytes, length) : 0;
                if (taken < 0)
                        return (int)taken;
                int r = 0;
                if (s->length >= WINDOW || memchr(bytes, '\n', (size_t)taken))
                        r = scrub_held(s, false, out);
                if (r < 0)
                        return r;
                bytes += taken;
                length -= (size_t)taken;
        }
        return out->failed ? -ENOMEM : 0;
}

static void reset(struct scrub_stream *s)
{
        *s = (struct scrub_stream){ .scrubber = s->scrubber, .held = s->held };
}

int scrub_stream_finish(struct scrub_stream *s, struct text *out)
{
        int r = scrub_held(s, true, out);
        reset(s);
        return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* --- whole texts --- */

/*
 * Moves the output for the first `done` bytes of the text back into their place, as far as it fits. Most secrets are
 * longer than their replacement, so hardly anything remains in `out`.
 */
static void copy_back(struct text *t, size_t *written, size_t done, struct text *out)
{
        size_t fits = done - *written < out->length ? done - *written : out->length;
        if (out->length - fits > WINDOW)
                return; /* the output is longer than the input: scrub_text() appends it at the end */
        memcpy(t->data + *written, out->data, fits);
        *written += fits;
        out->length -= fits;
        memmove(out->data, out->data + fits, out->length);
}

int scrub_text(struct scrubber *scrubber, struct text *t)
{
        CLEANUP_TEXT struct text out = { 0 };
        struct scrub_stream s = { .scrubber = scrubber };
        size_t done = 0, written = 0;
        int r = t->failed ? -ENOMEM : 0;
        if (r == 0 && !t->length)
                return 0;
        for (struct window w = { .last = true }; r == 0;) {
                w.text = t->data + done;
                w.available = t->length - done;
                if (!next_window(&w))
                        break;
                ssize_t bytes = scrub_window(&s, &w, &out);
                if (bytes < 0 || out.failed) {
                        r = bytes < 0 ? (int)bytes : -ENOMEM;
                        break;
                }
                done += (size_t)bytes;
                if (out.length)
                        copy_back(t, &written, done, &out);
        }
        if (r == 0) {
                t->length = written;
                text_add_bytes(t, out.data, out.length);
                r = t->failed ? -ENOMEM : 0;
        }
        if (r < 0)
                text_done(t);
        return r;
}
