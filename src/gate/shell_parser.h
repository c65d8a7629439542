/*
 * The parser that shell_grammar.c (grammar), shell_words.c (words, quotes and expansions) and shell_input.c (pipelines,
 * and what a shell in them reads) share.
 */
#ifndef RINGWALL_GATE_SHELL_PARSER_H
#define RINGWALL_GATE_SHELL_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/shell_grammar.h"

enum {
        PARSER_END = -1,         /* parser_current() returns this after the last byte */
        HERE_DOCUMENTS_MAX = 16, /* pending at once; bash accepts no more */
        DELIMITER_MAX = 127,
        INPUT_TEXTS_MAX = 16,    /* here-documents and here-strings of one pipeline; of more, the first are kept */
};

/* A here-document whose lines have not been parsed yet. */
struct here_document {
        char delimiter[DELIMITER_MAX];
        size_t length;
        bool quoted; /* bash expands nothing in it */
        bool tabs;   /* <<-: leading tabs are removed from its lines */
        size_t id;   /* of its text; 0: it is not kept */
        bool is_script; /* a shell reads it */
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

/* The text of a here-document or a here-string, while its pipeline has not ended. */
struct input_text {
        struct word_list text;
        bool is_read;   /* the text is known: a here-document follows its command line */
        bool is_script; /* a shell of the pipeline reads it, and it was walked or will be */
};

/* A line, a substitution, or a compound command. */
struct shell_group {
        size_t first;      /* the number of texts when it began */
        size_t pipeline;   /* … when its current pipeline began */
        bool has_shell;    /* it has a shell that reads its standard input, */
        bool element_has_shell; /* and the pipeline's current command has */
};

struct shell_input {
        struct input_text texts[INPUT_TEXTS_MAX];
        size_t count;
        size_t forgotten; /* texts of earlier pipelines; the id of texts[i] is forgotten + i + 1 */
        struct shell_group groups[COMMAND_DEPTH_MAX + 1];
        size_t group;     /* the innermost */
        size_t base;      /* the innermost that a closing word must not close */
        bool after_pipe;  /* a newline does not end the pipeline */
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
        struct shell_input input;
        shell_command_callback *visit;
        void *context;
        bool stopped; /* nested too deep, a delimiter is too long, or no memory */
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
/* Visits the commands in the text of an unquoted here-document, which goes up to `end`. Appends the text to `w`. */
void parser_parse_here_text(struct shell_parser *p, size_t end, struct word_list *w);
/* Appends the text up to `end` as it is, and goes there. */
void parser_copy_text(struct shell_parser *p, size_t end, struct word_list *w);

/* A pipeline ends before `;`, and goes on after `|`. */
void parser_end_pipeline(struct shell_parser *p);
void parser_continue_pipeline(struct shell_parser *p);
/* A compound command. */
void parser_open_group(struct shell_parser *p);
void parser_close_group(struct shell_parser *p);
/* Begins a group that only parser_leave_group() closes; returns what to give to it. */
size_t parser_enter_group(struct shell_parser *p);
void parser_leave_group(struct shell_parser *p, size_t base);
/* A here-document or here-string begins. Returns its id, or 0 if there are too many; *ret_script: a shell reads it. */
size_t parser_add_input(struct shell_parser *p, bool *ret_script);
/* Is the text with this id needed? */
bool parser_keeps_input(const struct shell_parser *p, size_t id);
/* The text is known. Takes ownership of it, and walks it if a shell reads it. */
void parser_set_input(struct shell_parser *p, size_t id, bool is_script, struct word_list *text);
/* The command that was just visited is a shell that reads its standard input. */
void parser_shell_reads_input(struct shell_parser *p);
void parser_free_input(struct shell_parser *p);

enum list_terminator { UNTIL_END, UNTIL_PARENTHESIS, UNTIL_CLAUSE };
enum list_end { ENDING_OF_TEXT, ENDING_PARENTHESIS, ENDING_CLAUSE, ENDING_CASE };

/* Parses commands up to the token that closes the list. */
enum list_end parser_parse_list(struct shell_parser *p, enum list_terminator closer);
/* Parses the commands after $( <( or >(. */
void parser_parse_substitution(struct shell_parser *p);

#endif
