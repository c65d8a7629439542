/* What command_line.c (grammar) and command_words.c (words and what is in them) share. */
#ifndef RINGWALL_GATE_COMMAND_PARSER_H
#define RINGWALL_GATE_COMMAND_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/command_line.h"

enum {
        PARSER_END = -1,         /* what parser_current() says behind the last byte */
        HERE_DOCUMENTS_MAX = 16, /* announced at once; bash takes no more */
        DELIMITER_MAX = 127,
};

/* A here-document whose lines have not come yet. */
struct here_document {
        char delimiter[DELIMITER_MAX];
        size_t length;
        bool quoted, tabs; /* nothing in it is expanded; tabs in front of its lines go */
};

struct parser {
        struct shell_text text;
        size_t at;
        unsigned depth;
        unsigned substitutions; /* that are open: $( and <( */
        size_t skims;           /* bytes that may still be looked at twice */
        struct here_document pending[HERE_DOCUMENTS_MAX];
        size_t pending_count, pending_first; /* those before the first belong to the command around a substitution */
        command_visit *visit;
        void *context;
        bool stopped; /* too deep, or no memory */
};

/* The words of one command, one behind the other. */
struct words {
        char *bytes;
        unsigned *origins;
        size_t length, room;
        struct shell_word *list;
        size_t count, list_room;
        size_t start;   /* of the last word, in bytes */
        size_t special; /* the first byte of the last word that was quoted or expanded */
};

void words_done(struct words *w);

/* The next byte; a backslash and a newline in front of it are gone. */
int parser_current(struct parser *p);
/* Is the byte behind it this one? */
bool parser_next_is(struct parser *p, char byte);
/* Passes the byte if it is the next one. */
bool parser_take(struct parser *p, char byte);
/* One level deeper, or stops. Each is followed by parser_leave(). */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);

/* Spaces, tabs, and a comment if one begins here. */
void parser_skip_blanks(struct parser *p);
/* Newlines too, and the here-documents behind them. */
void parser_skip_space(struct parser *p);

/* Does a word end before this byte? */
bool parser_ends_word(int byte);

/* Takes one word, which may be empty, into `w`; with NULL only the commands in it count. */
void parser_take_word(struct parser *p, struct words *w);
/* Takes the last word off again. */
void words_drop(struct words *w);
/* The length of NAME=, NAME+= or NAME[…]= at the beginning of the last word, or 0. */
size_t words_assignment(const struct words *w);

/* What stands between brackets and is no command: arithmetic, a parameter. `nesting` are open already. */
void parser_take_arithmetic(struct parser *p, char open, char close, unsigned nesting);
/* Behind two parentheses: are they arithmetic? Otherwise each of them opens a group. */
bool parser_at_arithmetic(struct parser *p);
/* The text of a here-document, of which bash expands something: up to `end`. */
void parser_take_here_text(struct parser *p, size_t end);

enum closer { UNTIL_END, UNTIL_PARENTHESIS, UNTIL_CLAUSE };
enum ending { ENDING_OF_TEXT, ENDING_PARENTHESIS, ENDING_CLAUSE, ENDING_CASE };

/* Commands up to what closes them. */
enum ending parser_take_list(struct parser *p, enum closer closer);
/* The same behind $( <( and >(. */
void parser_take_substitution(struct parser *p);

#endif
