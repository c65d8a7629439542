/*
 * Scrubbing; see scrub.h.
 *
 * Theory of operation. A text is taken in windows, and which they are depends on the text alone, not on the pieces
 * that it comes in; that is why the result does not either. Several whole lines make up a window. They could be
 * scanned one by one with the same result, since nothing that is found goes over the end of a line, but that would be
 * slower. A line longer than WINDOW is taken in windows that overlap: each decides about what begins in its first
 * part, up to its limit, and no expression of the table can match more than the overlap behind it. The next window
 * begins one byte before that limit, so that it sees what stands in front of what it decides about.
 *
 * What goes beyond a window is carried to the next one: a secret that goes on in its alphabet, a block that has not
 * ended. Then the rest is left out, without being held. All that is ever held is one window and the start of a block
 * that cannot be told yet.
 *
 * What others control: the text. Time is linear in it, and memory does not depend on it (checks look at the first
 * bytes of a secret only, and what follows a beginning is gone through once, however many beginnings there are).
 */
#include "gate/scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "gate/scrubber.h"

enum {
        WINDOW = 64 << 10,
        OVERLAP = SHAPE_WIDTH_MOST,
        HOLD = WINDOW + 2 * BLOCK_DECIDES, /* so that a block in a full window can be told */
};

struct window {
        const char *text;  /* what is at hand, */
        size_t available;  /* all of it; */
        size_t length;     /* what the window has of it, */
        size_t limit;      /* and what it decides about */
        bool last;         /* nothing comes behind what is at hand */
};

/* --- blocks --- */

/* Is there a key behind a marker that ends at `at`? 1, 0, or -EAGAIN: more of the text is needed. */
static int is_key(const struct window *w, size_t at)
{
        struct block b;
        block_start(&b);
        while (at < w->available && b.state == BLOCK_OPEN)
                (void)block_take(&b, w->text[at++]);
        if (b.state == BLOCK_OPEN && !w->last)
                return -EAGAIN;
        if (b.state == BLOCK_OPEN)
                (void)block_finish(&b);
        return b.state != BLOCK_NONE;
}

/* Follows the block as far as the window decides. */
static void follow_block(struct scrub_stream *s, const struct window *w)
{
        while (s->in_block && s->block_at < w->limit) {
                enum block_state state = block_take(&s->block, w->text[s->block_at]);
                s->in_block = state == BLOCK_OPEN || state == BLOCK_KEY;
                s->block_at += state != BLOCK_OVER;
        }
        if (s->block_at > s->until)
                s->until = s->block_at;
}

/* --- windows --- */

/* What was open at the end of the last window. */
static void carry_on(struct scrub_stream *s, const struct window *w)
{
        if (s->alphabet != ALPHABET_NONE)
                while (s->until < w->length && alphabet_has(s->alphabet, w->text[s->until]))
                        s->until++;
        if (s->until < w->length)
                s->alphabet = ALPHABET_NONE;
        follow_block(s, w);
}

static void report(struct scrub_stream *s, unsigned shape, struct text *out)
{
        text_format(out, "[REDACTED:%s]", scrubber_name(s->scrubber, shape));
        scrubber_counted(s->scrubber, shape);
}

/* Takes a secret out. `done` is up to where the text was given out or left out. */
static void take_out(struct scrub_stream *s, const struct window *w, const struct hit *hit, size_t *done,
                     struct text *out)
{
        size_t from = hit->from > *done ? hit->from : *done;
        if (hit->from >= s->until) {
                text_add_bytes(out, w->text + *done, from - *done);
                report(s, hit->shape, out);
        }
        if (hit->to > s->until) {
                s->until = hit->to;
                s->alphabet = hit->to == w->length ? hit->alphabet : ALPHABET_NONE;
        }
        const struct shape *shape = scrubber_shape(hit->shape);
        if (shape && shape->end == SHAPE_BLOCK) {
                block_start(&s->block);
                s->in_block = true;
                s->block_at = hit->to;
                follow_block(s, w);
        }
        *done = s->until > *done ? s->until : *done;
}

/* Drops markers with no key behind them, and what the next window decides about. -EAGAIN: see is_key(). */
static int tell_blocks(const struct scrub_stream *s, const struct window *w, size_t *ret_undecided)
{
        struct hit *hits = s->scrubber->hits;
        size_t kept = 0;
        for (size_t i = 0; i < s->scrubber->hit_count; i++) {
                const struct shape *shape = scrubber_shape(hits[i].shape);
                int key = 1;
                if (hits[i].start >= w->limit)
                        continue;
                if (shape && shape->end == SHAPE_BLOCK)
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

/* Gives out what the window decides about. */
static void give_out(struct scrub_stream *s, const struct window *w, struct text *out)
{
        const struct hit *hits = s->scrubber->hits;
        carry_on(s, w);
        size_t done = s->until > s->known ? s->until : s->known;
        for (size_t i = 0; i < s->scrubber->hit_count; i++) {
                const struct shape *shape = scrubber_shape(hits[i].shape);
                if (shape && shape->end == SHAPE_BLOCK && hits[i].from < s->block_at)
                        continue; /* a marker in the block before */
                take_out(s, w, &hits[i], &done, out);
        }
        if (done < w->limit)
                text_add_bytes(out, w->text + done, w->limit - done);
}

/* What is left of the window is now the beginning of the text at hand. */
static void move_on(struct scrub_stream *s, size_t bytes)
{
        s->until = s->until > bytes ? s->until - bytes : 0;
        s->block_at = s->block_at > bytes ? s->block_at - bytes : 0;
}

/* The next window, if there is enough for one. */
static bool next_window(struct window *w)
{
        size_t most = w->available < WINDOW ? w->available : WINDOW;
        const char *newline = most ? memrchr(w->text, '\n', most) : NULL;
        w->length = w->limit = newline ? (size_t)(newline - w->text) + 1 : most;
        if (newline)
                return true;
        if (w->available >= WINDOW)
                w->limit = WINDOW - OVERLAP;
        return w->available >= WINDOW || (w->last && w->available);
}

/* Scans a window, or as many of its lines as can be decided about. Returns how many bytes are done with, or -errno. */
static ssize_t take_window(struct scrub_stream *s, struct window *w, struct text *out)
{
        size_t undecided = 0;
        int r = scrubber_scan(s->scrubber, w->text, w->length);
        if (r == 0)
                r = tell_blocks(s, w, &undecided);
        if (r == -EAGAIN) {
                const char *newline = undecided ? memrchr(w->text, '\n', undecided) : NULL;
                if (!newline)
                        return 0;
                w->length = w->limit = (size_t)(newline - w->text) + 1;
                return take_window(s, w, out);
        }
        if (r < 0)
                return r;
        give_out(s, w, out);
        bool inside = w->limit < w->length;
        size_t bytes = inside ? w->limit - 1 : w->limit;
        s->known = inside;
        move_on(s, bytes);
        return (ssize_t)bytes;
}

/* All windows of the text at hand. Returns how many bytes of it are done with, or -errno. */
static ssize_t take_windows(struct scrub_stream *s, const char *text, size_t length, bool last, struct text *out)
{
        size_t done = 0;
        struct window w = { .last = last };
        for (;;) {
                w.text = text + done;
                w.available = length - done;
                if (!next_window(&w))
                        break;
                ssize_t bytes = take_window(s, &w, out);
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
        free(s->hold);
        *s = (struct scrub_stream){ 0 };
}

static int take_held(struct scrub_stream *s, bool last, struct text *out)
{
        ssize_t done = s->length ? take_windows(s, s->hold, s->length, last, out) : 0;
        if (done <= 0)
                return (int)done;
        s->length -= (size_t)done;
        memmove(s->hold, s->hold + done, s->length);
        return 0;
}

/* Adds to what is held as much as fits; returns how much that was. */
static ssize_t hold_more(struct scrub_stream *s, const char *bytes, size_t length)
{
        if (!s->hold && !(s->hold = malloc(HOLD)))
                return -ENOMEM;
        size_t fits = HOLD - s->length < length ? HOLD - s->length : length;
        memcpy(s->hold + s->length, bytes, fits);
        s->length += fits;
        return (ssize_t)fits;
}

int scrub_stream_feed(struct scrub_stream *s, const char *bytes, size_t length, struct text *out)
{
        while (length) {
                /* With nothing held, what can be decided about at once is not copied first. */
                ssize_t taken = s->length ? 0 : take_windows(s, bytes, length, false, out);
                if (taken < 0)
                        return (int)taken;
                bytes += taken;
                length -= (size_t)taken;
                taken = length ? hold_more(s, bytes, length) : 0;
                if (taken < 0)
                        return (int)taken;
                int r = 0;
                if (s->length >= WINDOW || memchr(bytes, '\n', (size_t)taken))
                        r = take_held(s, false, out);
                if (r < 0)
                        return r;
                bytes += taken;
                length -= (size_t)taken;
        }
        return out->failed ? -ENOMEM : 0;
}

static void forget(struct scrub_stream *s)
{
        *s = (struct scrub_stream){ .scrubber = s->scrubber, .hold = s->hold };
}

int scrub_stream_finish(struct scrub_stream *s, struct text *out)
{
        int r = take_held(s, true, out);
        forget(s);
        return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* --- whole texts --- */

/*
 * What was made of the first `done` bytes goes back to where they were, as far as it fits. Most secrets are longer
 * than what stands for them, so hardly anything is ever left over.
 */
static void put_back(struct text *t, size_t *written, size_t done, struct text *out)
{
        size_t fits = done - *written < out->length ? done - *written : out->length;
        if (out->length - fits > WINDOW)
                return; /* it only gets more: it waits for the end */
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
                ssize_t bytes = take_window(&s, &w, &out);
                if (bytes < 0 || out.failed) {
                        r = bytes < 0 ? (int)bytes : -ENOMEM;
                        break;
                }
                done += (size_t)bytes;
                if (out.length)
                        put_back(t, &written, done, &out);
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
