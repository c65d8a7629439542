/*
 * Takes secrets out of text: whatever has one of the shapes of shapes.h, or one that a policy added, is replaced by
 * [REDACTED:name]. It helps against accidents and is no boundary: a secret that is reversed, split by spaces or
 * encoded in a way that no shape has goes through.
 *
 * A secret is looked for within a line; only keys in blocks go over several. Two that overlap are one, with the name
 * of the one that begins first, of these the longest, of these the first in the table; so no part of either is left.
 *
 * One thread at a time. A function that fails returns -errno, and then the text that it was given must not be shown.
 */
#ifndef RINGWALL_GATE_SCRUB_H
#define RINGWALL_GATE_SCRUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "gate/block.h"
#include "gate/shapes.h"

struct scrubber;

/* A shape that a policy adds. */
struct scrub_extra {
        const char *name;       /* small letters, digits, dashes */
        const char *expression; /* as in shapes.h; all that it matches is secret */
};

/*
 * A scrubber for the shapes of the table and these. With extras it runs ringwall-shapes, which takes a tenth of a
 * second; without, it takes a fraction of a millisecond. The error names the shape, and says what is wrong with its
 * expression.
 */
int scrubber_new(const struct scrub_extra *extras, size_t count, struct scrubber **ret, struct error *e);
void scrubber_free(struct scrubber *s);
static inline void scrubber_free_pointer(struct scrubber **s)
{
        scrubber_free(*s);
}
#define CLEANUP_SCRUBBER CLEANUP(scrubber_free_pointer)

/* How many secrets of each name were taken out so far. A name that shapes share is counted with the first of them. */
size_t scrubber_shapes(const struct scrubber *s);
const char *scrubber_name(const struct scrubber *s, size_t shape);
uint64_t scrubber_count(const struct scrubber *s, size_t shape);

/* What was taken out since the last time that this was asked: an object of counts by name. NULL for nothing. */
json_t *scrubber_tell(struct scrubber *s);

/* The whole text, in place. When it fails the text is empty. */
int scrub_text(struct scrubber *s, struct text *t);

/*
 * A text that comes in pieces. What comes out, all pieces together, is what scrub_text() makes of it, however it was
 * cut. A line comes out when it has ended, and of a line longer than 64 KiB what can no longer change; a stream holds
 * no more than that.
 */
struct scrub_stream {
        struct scrubber *scrubber;
        char *hold; /* what has not been given out yet */
        size_t length;
        size_t known;            /* bytes of it that were given out: they are what stands in front of the rest */
        size_t until;            /* up to here it is part of a secret that was already reported, */
        enum alphabet alphabet;  /* and further, as long as there is more of this alphabet, */
        bool in_block;           /* or while the block lasts, */
        size_t block_at;         /* which has been followed up to here */
        struct block block;
};

void scrub_stream_init(struct scrub_stream *s, struct scrubber *scrubber);
/* Adds what can be given out to `out`. */
int scrub_stream_feed(struct scrub_stream *s, const char *bytes, size_t length, struct text *out);
/* The rest; another text can follow. */
int scrub_stream_finish(struct scrub_stream *s, struct text *out);
void scrub_stream_done(struct scrub_stream *s);
#define CLEANUP_SCRUB_STREAM CLEANUP(scrub_stream_done)

#endif
