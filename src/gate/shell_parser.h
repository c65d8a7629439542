/* The parser that shell_grammar.c (grammar) and shell_words.c (words, quotes and expansions) share. */
#ifndef RINGWALL_GATE_SHELL_PARSER_H
#define RINGWALL_GATE_SHELL_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/shell_grammar.h"

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

struct shell_parser {
        struct shell_text text;
        size_t at;
        unsigned depth;
        unsigned substitutions; /* open ones: $( <( and >( */
        size_t lookahead_left;  /* bytes that parser_at_arithmetic() may still look ahead, over the whole line */
        struct here_document pending[HERE_DOCUMENTS_MAX];
        size_t pending_count;
        size_t pending_first; /* earlier ones belong to the command around the current substitution */
        shell_command_callback *visit;
        void *context;
        bool stopped; /* nested too deep, a delimiter is too long, or no memory */
};

/* The words of one command, concatenated. */
struct word_list {
        char *bytes;
        unsigned *origins;
        size_t length, room;
        struct shell_word *list;
        size_t count, list_room;
        size_t start;   /* where the last word begins in `bytes` */
        size_t special; /* index in the last word of the first byte that was quoted or expanded; SIZE_MAX: none */
};

void word_list_done(struct word_list *w);

/* Skips line continuations (backslash, newline) and returns the current byte; PARSER_END at the end or if stopped. */
int parser_current(struct shell_parser *p);
/* Is this the byte after the current one? */
bool parser_next_is(struct shell_parser *p, char byte);
/* Consumes the current byte if it is `byte`. */
bool parser_accept(struct shell_parser *p, char byte);
/* Goes one level deeper; false, and the parser stops, if that is too deep. Call parser_leave() in both cases. */
bool parser_enter(struct shell_parser *p);
void parser_leave(struct shell_parser *p);

/* Skips spaces and tabs, and then a comment if one begins there. */
void parser_skip_blanks(struct shell_parser *p);
/* Skips newlines too, with the here-documents that follow them. */
void parser_skip_space(struct shell_parser *p);

/* Does a word end before this byte? */
bool parser_ends_word(int byte);

/* Appends one word, which may be empty, to `w`. With NULL it skips the word, but visits the commands inside it. */
void parser_parse_word(struct shell_parser *p, struct word_list *w);
/* Removes the last word. */
void word_list_pop(struct word_list *w);
/* The length of NAME=, NAME+= or NAME[…]= at the beginning of the last word, or 0. */
size_t word_list_assignment_length(const struct word_list *w);

/* Skips arithmetic up to its closing brackets, `nesting` of which are open, and visits the commands inside it. */
void parser_parse_arithmetic(struct shell_parser *p, char open, char close, unsigned nesting);
/* After "((": is it arithmetic? If not, each parenthesis opens a group. */
bool parser_at_arithmetic(struct shell_parser *p);
/* Visits the commands in the text of an unquoted here-document, which goes up to `end`. */
void parser_parse_here_text(struct shell_parser *p, size_t end);

enum list_terminator { UNTIL_END, UNTIL_PARENTHESIS, UNTIL_CLAUSE };
enum list_end { ENDING_OF_TEXT, ENDING_PARENTHESIS, ENDING_CLAUSE, ENDING_CASE };

/* Parses commands up to the token that closes the list. */
enum list_end parser_parse_list(struct shell_parser *p, enum list_terminator closer);
/* Parses the commands after $( <( or >(. */
void parser_parse_substitution(struct shell_parser *p);

#endif
