/*
 * Removes secrets from text: every match of a pattern, from the table of secret_patterns.h or from the policy, is
 * replaced by [REDACTED:name]. This protects against accidents and is not a security boundary: a secret that is
 * reversed, split by spaces or encoded in a way that no pattern covers passes.
 *
 * Secrets are searched within a line; only keys in blocks span several lines. Secrets that overlap are replaced as one,
 * so no part of either is left. The name is that of the secret that begins first; of several, the longest; of several,
 * the first in the table.
 *
 * Not thread-safe. A function that fails returns -errno; then the caller must not show the text that it passed in.
 */
#ifndef RINGWALL_GATE_SCRUB_H
#define RINGWALL_GATE_SCRUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "gate/pem_block.h"
#include "gate/secret_patterns.h"

struct scrubber;

/* A pattern that a policy adds. */
struct scrub_extra_pattern {
        const char *name;       /* lower-case letters, digits, dashes */
        const char *expression; /* as in secret_patterns.h; the whole match is secret */
};

/*
 * Makes a scrubber for the patterns of the table and the extras. With extras it runs ringwall-secret-patterns, which
 * takes a tenth of a second; without, it takes a fraction of a millisecond. The error names the pattern and what is
 * wrong with it.
 */
int scrubber_new(const struct scrub_extra_pattern *extras, size_t count, struct scrubber **ret, struct error *e);
void scrubber_free(struct scrubber *s);
static inline void scrubber_free_pointer(struct scrubber **s)
{
        scrubber_free(*s);
}
#define CLEANUP_SCRUBBER CLEANUP(scrubber_free_pointer)

/* How many secrets were removed so far, by pattern. Patterns that share a name are counted under the first of them. */
size_t scrubber_pattern_count(const struct scrubber *s);
const char *scrubber_name(const struct scrubber *s, size_t pattern);
/* For tests. */
uint64_t scrubber_hits(const struct scrubber *s, size_t pattern);

/* Counts by name of the secrets removed since the previous call, as a JSON object. NULL if there were none. */
json_t *scrubber_take_counts(struct scrubber *s);

/* Scrubs a whole text in place. On failure the text is empty. */
int scrub_text(struct scrubber *s, struct text *t);

/*
 * Scrubs a text that arrives in pieces. The concatenated output equals that of scrub_text(), wherever the pieces were
 * split. A line is output when its end has arrived. Of a line longer than 64 KiB, the part that can no longer change is
 * output earlier, so the buffer stays bounded.
 */
struct scrub_stream {
        struct scrubber *scrubber;
        char *held; /* input that has not been output yet */
        size_t length;
        size_t context;         /* bytes at its start that were output already; a check may need the bytes before */
        size_t secret_end;      /* up to here the input is part of a secret that was already replaced; */
        enum alphabet alphabet; /* the secret continues as long as characters of this alphabet follow, */
        bool in_block;          /* or until the block ends, */
        size_t block_at;        /* which has been parsed up to here */
        struct pem_block block;
};

void scrub_stream_init(struct scrub_stream *s, struct scrubber *scrubber);
/* Takes a piece, and appends to `out` what is final. */
int scrub_stream_feed(struct scrub_stream *s, const char *bytes, size_t length, struct text *out);
/* Ends the text, and appends the rest to `out`. The stream can then be fed another text. */
int scrub_stream_finish(struct scrub_stream *s, struct text *out);
void scrub_stream_done(struct scrub_stream *s);
#define CLEANUP_SCRUB_STREAM CLEANUP(scrub_stream_done)

#endif
