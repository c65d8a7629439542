/* A scrubber from within: the compiled database, and what a scan of it found. For scrub.c. */
#ifndef RINGWALL_GATE_SCRUBBER_H
#define RINGWALL_GATE_SCRUBBER_H

#include <hs/hs_runtime.h>

#include "gate/scrub.h"

/* What is secret. */
struct hit {
        size_t from, to;
        size_t start; /* of what belongs to it: what an expression matched, such as a name in front of it */
        unsigned shape;
        enum alphabet alphabet; /* to go on with, if it ended with the text */
};

struct scrubber {
        hs_database_t *database;
        hs_scratch_t *scratch;
        struct hit *hits; /* of the last scan */
        size_t hit_count, hit_size;
        bool failed;      /* there was no memory for one */
        char **extras;    /* the names of what was added */
        size_t extra_count;
        uint64_t *counts, *told; /* of secrets, by shape; what scrubber_tell() said of them */
        bool news;               /* for it */
};

/* Is it the table's? NULL: it was added. */
const struct shape *scrubber_shape(unsigned shape);
void scrubber_counted(struct scrubber *s, unsigned shape);

/*
 * Leaves in `hits` what is secret in the text, in the order of scrub.h; blocks with their opening marker only. The
 * text is made of whole lines, or is a part of one.
 */
int scrubber_scan(struct scrubber *s, const char *text, size_t length);

#endif
