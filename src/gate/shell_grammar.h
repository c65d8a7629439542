/*
 * Finds the commands of a bash command line. Nothing is run or expanded: the results of expansions (a variable, the
 * output of a command) are unknown.
 */
#ifndef RINGWALL_GATE_SHELL_GRAMMAR_H
#define RINGWALL_GATE_SHELL_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>

enum {
        COMMAND_LINE_MAX = 128 << 10, /* bytes; execve() accepts no longer argument, so bash never gets one */
        COMMAND_DEPTH_MAX = 64,       /* nested substitutions, groups and command lines in arguments */
};

/* Replaces an unknown part, the result of an expansion, in a text. */
#define SHELL_UNKNOWN '\0'

/* Text, and for each byte its offset in the original command line. Without origins the offset is the byte's index. */
struct shell_text {
        const char *bytes;
        const unsigned *origins;
        size_t length;
};

/* A word without its quotes. */
struct shell_word {
        struct shell_text text;
        unsigned at; /* offset of the word in the original command line, quotes included */
};

/* A simple command without its assignments and redirections. */
struct shell_command {
        const struct shell_word *words; /* the first is the command's name; at least one */
        size_t count;
        unsigned depth;
};
/* Returns whether the command is a shell that reads its command lines from standard input. */
typedef bool shell_command_callback(void *context, const struct shell_command *command);

/*
 * Calls `visit` for each simple command, including those in substitutions and here-documents; an inner command comes
 * before the one that contains it. The text of a here-document or here-string is walked too if a shell reads it.
 * `depth` is the depth of the command that has this line as an argument, or 0 for the original line. If the line is
 * nested too deep, too long or has an unclosed construct, the commands up to there are visited. The time is linear in
 * the length.
 */
void shell_walk_commands(struct shell_text line, unsigned depth, shell_command_callback *visit, void *context);

#endif
