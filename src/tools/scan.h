/* Searches one file for Grep: whether it matches, how often, and in which lines. Theory of operation: scan.c. */
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
        size_t before, after; /* context lines of a match */
        size_t limit;         /* lines to show of one file */
        const char *top;      /* the directory that paths are relative to */
};

/* The result for one file. */
struct finding {
        char *path;        /* relative to the start of the search; findings are sorted by it */
        struct text text;  /* the lines to show */
        struct text marks; /* one byte of enum scan_mark for each of these lines, but not for separators */
        size_t matches;
        bool more;         /* there are more lines than the limit */
        bool cut;          /* only the beginning of the file was searched */
};

enum scan_mark { MARK_MATCH = 'm', MARK_CONTINUED = 'g', MARK_CONTEXT = 'a' };

void finding_done(struct finding *f);

/* The search state of one thread. NULL without memory. */
struct scanner;
struct scanner *scanner_new(const struct scan_options *options, const atomic_bool *stop);
void scanner_free(struct scanner *s);

/* Returns 1 with a finding, which the caller owns; 0; -ETIME when the pattern takes too long; -ECANCELED; -ENOMEM. */
int scan_file(struct scanner *s, const struct walk_file *file, struct finding *ret);

/* For tests: sets the size of the window. */
void scan_set_window(size_t bytes);

#endif
