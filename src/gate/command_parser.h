/* The parser that command_line.c (grammar) and command_words.c (words, quotes and expansions) share. */
#ifndef RINGWALL_GATE_COMMAND_PARSER_H
#define RINGWALL_GATE_COMMAND_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/command_line.h"

enum {
        PARSER_END = -1,         /* parser_current() returns this after the last byte */
        HERE_DOCUMENTS_MAX = 16, /* pending at once; bash accepts no more */
        DELIMITER_MAX = 127,
};

/* A here-document whose lines have not been parsed yet. */
struct here_document {
        char delimiter[DELIMITER_MAX];
        size_t length;
        bool quoted; /* bash expands nothing in it */
        bool tabs;   /* <<-: leading tabs are removed from its lines */
};

struct parser {
        struct shell_text text;
        size_t at;
        unsigned depth;
        unsigned substitutions; /* open ones: $( <( and >( */
        size_t lookahead_left;  /* bytes that parser_at_arithmetic() may still look ahead, over the whole line */
        struct here_document pending[HERE_DOCUMENTS_MAX];
        size_t pending_count;
        size_t pending_first; /* earlier ones belong to the command around the current substitution */
        command_visit *visit;
        void *context;
        bool stopped; /* nested too deep, a delimiter is too long, or no memory */
};

/* The words of one command, concatenated. */
struct words {
        char *bytes;
        unsigned *origins;
        size_t length, room;
        struct shell_word *list;
        size_t count, list_room;
        size_t start;   /* where the last word begins in `bytes` */
        size_t special; /* index in the last word of the first byte that was quoted or expanded; SIZE_MAX: none */
};

void words_done(struct words *w);

/* Skips line continuations (backslash, newline) and returns the current byte; PARSER_END at the end or if stopped. */
int parser_current(struct parser *p);
/* Is this the byte after the current one? */
bool parser_next_is(struct parser *p, char byte);
/* Consumes the current byte if it is `byte`. */
bool parser_take(struct parser *p, char byte);
/* Goes one level deeper; false, and the parser stops, if that is too deep. Call parser_leave() in both cases. */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);

/* Skips spaces and tabs, and then a comment if one begins there. */
void parser_skip_blanks(struct parser *p);
/* Skips newlines too, with the here-documents that follow them. */
void parser_skip_space(struct parser *p);

/* Does a word end before this byte? */
bool parser_ends_word(int byte);

/* Appends one word, which may be empty, to `w`. With NULL it skips the word, but visits the commands inside it. */
void parser_take_word(struct parser *p, struct words *w);
/* Removes the last word. */
void words_drop(struct words *w);
/* The length of NAME=, NAME+= or NAME[…]= at the beginning of the last word, or 0. */
size_t words_assignment(const struct words *w);

/* Skips arithmetic up to its closing brackets, `nesting` of which are open, and visits the commands inside it. */
void parser_take_arithmetic(struct parser *p, char open, char close, unsigned nesting);
/* After "((": is it arithmetic? If not, each parenthesis opens a group. */
bool parser_at_arithmetic(struct parser *p);
/* Visits the commands in the text of an unquoted here-document, which goes up to `end`. */
void parser_take_here_text(struct parser *p, size_t end);

enum closer { UNTIL_END, UNTIL_PARENTHESIS, UNTIL_CLAUSE };
enum ending { ENDING_OF_TEXT, ENDING_PARENTHESIS, ENDING_CLAUSE, ENDING_CASE };

/* Parses commands up to the token that closes the list. */
enum ending parser_take_list(struct parser *p, enum closer closer);
/* Parses the commands after $( <( or >(. */
void parser_take_substitution(struct parser *p);

#endif
