/*
 * The commands of a bash command line. Nothing is run or expanded: what only bash can know (a variable, the output of a
 * command, a pattern) is left open.
 */
#ifndef RINGWALL_GATE_COMMAND_LINE_H
#define RINGWALL_GATE_COMMAND_LINE_H

#include <stddef.h>

enum {
        COMMAND_LINE_MAX = 128 << 10, /* bytes; the kernel takes no longer argument, so bash never gets one */
        COMMAND_DEPTH_MAX = 64,       /* substitutions, groups and lines within one another */
};

/* Stands in a text for what is not known. */
#define SHELL_UNKNOWN '\0'

/* A text, and where each byte of it stands in the line that was written: without origins, at its index. */
struct shell_text {
        const char *bytes;
        const unsigned *origins;
        size_t length;
};

/* A word without its quotes. */
struct shell_word {
        struct shell_text text;
        unsigned at; /* where it begins as it was written, its quotes included */
};

/* A simple command without its assignments and redirections. */
struct shell_command {
        const struct shell_word *words; /* the first is what is called; at least one */
        size_t count;
        unsigned depth;
};
typedef void command_visit(void *context, const struct shell_command *command);

/*
 * Calls `visit` for each simple command, those in substitutions and here-documents included, an inner one before the
 * one that it is part of. `depth` is that of the command which has this line as an argument, 0 for the line itself.
 * What is too deep, too long or never closed is followed as far as it goes. Takes time in proportion to the length.
 */
void command_line_walk(struct shell_text line, unsigned depth, command_visit *visit, void *context);

#endif
