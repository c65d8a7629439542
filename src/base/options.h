/*
 * Command-line options. An option is declared once, as a row of a table: the parser and --help here, and the manual
 * page and the shell completions (src/cli/docgen.c) are all made from the tables of a verb.
 *
 * The syntax is GNU's: --name=value, --name value, -pvalue, -p value, bundled flags (-ab), "--" ends the options, and a
 * lone "-" is a positional. Long names match exactly: a new option could change what an abbreviation means.
 *
 * Nothing here prints, exits or keeps state. Values stay where they are, in argv.
 */
#ifndef RINGWALL_BASE_OPTIONS_H
#define RINGWALL_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

enum {
        OPTIONS_TABLES_MAX = 5,            /* tables of one verb, and the NULL after them */
        OPTIONS_ROWS_MAX = 128,            /* rows of all tables of one verb */
        OPTIONS_WORDS_MAX = 16,            /* words of one OPTION_WORDS row */
        OPTIONS_OCCURRENCES_MAX = 4096,    /* options on one command line */
        OPTIONS_POSITIONALS_MAX = 1 << 20, /* positionals on one command line; exec itself allows less */
        OPTIONS_WIDTH = 80,                /* columns of --help */
};

/* The kind of an argument, for shell completion. The parser checks only OPTION_WORDS. */
enum option_kind {
        OPTION_NONE,  /* a flag; for positionals: there are none */
        OPTION_FREE,  /* any text */
        OPTION_FILE,  /* a path */
        OPTION_DIR,   /* the path of a directory */
        OPTION_WORDS, /* one of the words in the placeholder: "standard|strict" */
        OPTION_VERB,  /* the name of a verb (positionals of `help`) */
};

struct option_row {
        int id;                  /* > 0, unique within a verb: what options_has() and the like take */
        char letter;             /* 'p' for -p, or 0 */
        const char *name;        /* "policy" for --policy */
        const char *placeholder; /* "FILE"; NULL for a flag */
        enum option_kind kind;   /* OPTION_NONE exactly when there is no placeholder */
        bool repeatable;
        const char *group;       /* heading in --help; NULL for "Options", which comes last */
        const char *help;        /* sentences, which --help wraps */
};

struct options_table {
        const struct option_row *rows;
        size_t count;
        const struct option_row *(*row_at)(size_t index); /* instead of both: a row, or NULL after the last */
};
#define OPTIONS_TABLE(array) { .rows = (array), .count = ARRAY_SIZE(array) }

struct options_example {
        const char *command, *meaning;
};

/* The id of -h, --help, which every verb has without a row in its tables. */
enum { OPTIONS_HELP_ID = -1 };

struct options_verb {
        const char *path;                                       /* words after the program's name: "policy check" */
        const char *summary;                                    /* one line, no full stop */
        const char *synopsis;                                   /* positionals: "FILE...", or NULL */
        enum option_kind positional;                            /* their kind */
        size_t positionals_min, positionals_max;
        bool stops_at_positional;                               /* options end at the first positional */
        const struct options_table *tables[OPTIONS_TABLES_MAX]; /* NULL after the last */
        const char *const *description;                         /* paragraphs, NULL after the last; or NULL */
        const struct options_example *examples;                 /* the last has no command; or NULL */
};

/* The rows of all tables of the verb by index, --help last; NULL after the end. */
const struct option_row *options_row_at(const struct options_verb *verb, size_t index);

/* One option as it was given. */
struct option_occurrence {
        const struct option_row *row;
        const char *value; /* NULL for a flag; points into argv */
        int index;         /* of the argument in argv that named the option */
};

struct options_result {
        const struct options_verb *verb;
        char **argv; /* this and the next two as given to options_parse() */
        int argc, first;
        const struct option_occurrence *uses; /* in the order of the command line */
        size_t use_count;
        char **positionals; /* NULL-terminated, so that a command can be executed from it */
        size_t positional_count;
        struct arena *arena; /* owns both lists */
};

/* options_parse() found --help and stopped there: the caller prints the help and exits with success. */
enum { OPTIONS_HELP = 1 };

/*
 * Parses argv[first…argc). Returns 0, OPTIONS_HELP, or -errno with an error: -EINVAL for the user's first mistake,
 * -E2BIG beyond a cap, -ENOMEM. *result needs no initialization and must be given to options_done(), after a failure
 * too.
 */
int options_parse(const struct options_verb *verb, int argc, char **argv, int first, struct options_result *result,
                  struct error *e);
void options_done(struct options_result *result);
#define CLEANUP_OPTIONS CLEANUP(options_done)

/* Was the option given? */
bool options_has(const struct options_result *result, int id);
/* The option's value, the last one if it was repeated; NULL if the option was not given. */
const char *options_value(const struct options_result *result, int id);

/*
 * The next use of the option after `after` (NULL: from the start), or NULL:
 *     for (const struct option_occurrence *u = NULL; (u = options_next(result, id, u));) …
 */
const struct option_occurrence *options_next(const struct options_result *result, int id,
                                             const struct option_occurrence *after);

/*
 * Splits "standard|strict": returns how many words there are and stores the start and length of each; words beyond
 * OPTIONS_WORDS_MAX are left out.
 */
struct options_word {
        const char *start;
        size_t length;
};
size_t options_split_words(const char *placeholder, struct options_word words[OPTIONS_WORDS_MAX]);

/* Adds the text of --help, at most OPTIONS_WIDTH columns wide; `styled` makes headings bold, for a terminal. */
void options_add_help(struct text *t, const struct options_verb *verb, const char *program, bool styled);

/* Adds "usage: …" alone, without a newline. */
void options_add_usage(struct text *t, const struct options_verb *verb, const char *program);

#endif
