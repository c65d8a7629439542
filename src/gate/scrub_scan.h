/* The inside of a scrubber, for scrub_stream.c: the compiled database, and the hits of the last scan. */
#ifndef RINGWALL_GATE_SCRUB_SCAN_H
#define RINGWALL_GATE_SCRUB_SCAN_H

#include <hs/hs_runtime.h>

#include "gate/scrub.h"

/* One secret in the scanned text. */
struct secret_match {
        size_t from, to;
        size_t match; /* where the expression's match begins, such as at the name before a value */
        size_t start; /* the smaller of `match` and `from` */
        unsigned pattern;
        enum alphabet alphabet; /* the secret continues in this alphabet, if it reaches the end of the text */
};

struct scrubber {
        hs_database_t *database;
        hs_scratch_t *scratch;
        struct secret_match *hits; /* of the last scan */
        size_t hit_count, hit_size;
        bool failed;      /* a hit was lost for lack of memory */
        char **extras;    /* the names of the policy's patterns */
        size_t extra_count;
        uint64_t *counts,
                *reported; /* removed secrets by pattern; how many of them scrubber_take_counts() has returned */
        bool has_unreported;         /* the two differ */
};

/* The row of the table; NULL for a pattern that a policy added. */
const struct secret_pattern *scrubber_pattern(unsigned pattern);
/* Counts one removed secret. */
void scrubber_add_count(struct scrubber *s, unsigned pattern);

/*
 * Sets `hits` to the secrets in the text, in the order in which they are replaced (scrub.h). The hit of a block covers
 * only its opening marker. The text must consist of whole lines, or be a part of one line.
 */
int scrubber_scan(struct scrubber *s, const char *text, size_t length);

#endif
