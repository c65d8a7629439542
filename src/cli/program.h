/*
 * What ringwall and its helpers share: parsing arguments, printing help and errors, and detecting that output could not
 * be written. A verb builds its output as a struct text and ends with `return program_print(&t, 0)`.
 */
#ifndef RINGWALL_CLI_PROGRAM_H
#define RINGWALL_CLI_PROGRAM_H

#include <stdbool.h>

#include "base/exit_status.h"
#include "base/options.h"
#include "base/text.h"

#define PROGRAM_NAME "ringwall"

/*
 * Parses with options_parse(). True: *result is valid. False: the help or an error was printed, and *ret_code is the
 * exit code. Call options_done() in both cases.
 */
bool program_parse(const struct options_verb *usage, int argc, char **argv, int first, struct options_result *result,
                   int *ret_code);

/* Writes t to standard output. Returns code; if that fails, prints an error and returns EXIT_RINGWALL. */
int program_print(const struct text *t, int code);

/* Writes "ringwall PATH: message" to standard error; path is a verb's, or NULL. */
void program_message(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failure. Returns EXIT_RINGWALL. */
int program_error(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a mistake on the command line: adds a line that points to --help. */
int program_usage_error(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes t to standard error, and returns EXIT_RINGWALL whether that worked or not. */
int program_print_error(const struct text *t);

/* True if the descriptor is a terminal and the user did not set NO_COLOR. */
bool program_is_styled(int fd);

/* For the end of main(): flushes stdio. Returns code, or EXIT_RINGWALL if that fails. */
int program_finish(int code);

#endif
