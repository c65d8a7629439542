/* One file for Grep: does something match, how often, and in which lines? Theory of operation: scan.c. */
#ifndef RINGWALL_TOOLS_SCAN_H
#define RINGWALL_TOOLS_SCAN_H

#include "base/text.h"
#include "tools/matcher.h"
#include "tools/walk.h"

enum scan_mode { SCAN_FILES, SCAN_CONTENT, SCAN_COUNT };

struct scan_options {
        const struct matcher *matcher;
        enum scan_mode mode;
        bool multiline;
        size_t before, after; /* lines around a match */
        size_t limit;         /* lines to show of one file */
        const char *top;      /* the directory that the paths begin in */
};

/* What a file gave. */
struct finding {
        char *path;        /* from the start of the search on, for the order */
        struct text text;  /* what is shown of it, in lines */
        struct text marks; /* for each of these lines but the separating ones, one byte of enum scan_mark */
        size_t matches;
        bool more;         /* than the limit */
        bool cut;          /* the file is larger than what of it was searched */
};

enum scan_mark { MARK_MATCH = 'm', MARK_GOES_ON = 'g', MARK_AROUND = 'a' };

void finding_done(struct finding *f);

/* What one thread needs. NULL: no memory. */
struct scanner;
struct scanner *scanner_new(const struct scan_options *options, const atomic_bool *stop);
void scanner_free(struct scanner *s);

/* 1 with a finding, which is the caller's; 0 without; -ETIME when the pattern takes too long, -ECANCELED, -ENOMEM. */
int scan_file(struct scanner *s, const struct walk_file *file, struct finding *ret);

/* For tests: as if the window were this large. */
void scan_set_window(size_t bytes);

#endif
