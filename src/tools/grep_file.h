/* Searches one file for Grep: whether it matches, how often, and in which lines. Theory of operation: grep_file.c. */
#ifndef RINGWALL_TOOLS_GREP_FILE_H
#define RINGWALL_TOOLS_GREP_FILE_H

#include "base/text.h"
#include "tools/regex_matcher.h"
#include "tools/tree_walk.h"

enum grep_mode { GREP_FILES, GREP_CONTENT, GREP_COUNT };

struct grep_options {
        const struct regex_matcher *matcher;
        enum grep_mode mode;
        bool multiline, without_numbers;
        size_t before, after; /* context lines of a match */
        size_t limit;         /* lines to show of one file */
        const char *top;      /* the directory that paths are relative to */
};

/* The result for one file. */
struct grep_result {
        char *path;        /* relative to the start of the search; findings are sorted by it */
        struct text text;  /* the lines to show */
        struct text marks; /* one byte of enum grep_line_kind for each of these lines, but not for separators */
        size_t matches;
        bool more;         /* there are more lines than the limit */
        bool cut;          /* only the beginning of the file was searched */
};

enum grep_line_kind { LINE_MATCH = 'm', MARK_CONTINUED = 'g', MARK_CONTEXT = 'a' };

void grep_result_done(struct grep_result *f);

/* The search state of one thread. NULL without memory. */
struct grep_scanner;
struct grep_scanner *grep_scanner_new(const struct grep_options *options, const atomic_bool *stop);
void grep_scanner_free(struct grep_scanner *s);

/* Returns 1 with a finding, which the caller owns; 0; -ETIME when the pattern takes too long; -ECANCELED; -ENOMEM. */
int grep_file(struct grep_scanner *s, const struct walk_file *file, struct grep_result *ret);

/* For tests: sets the size of the window. */
void grep_set_window(size_t bytes);

#endif
