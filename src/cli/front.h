/*
 * What every program of the family does the same way: parse its arguments, print help, complain, and notice that
 * nobody could read the output. A verb builds its output as a struct text and ends with `return front_print(&t, 0)`.
 */
#ifndef RINGWALL_CLI_FRONT_H
#define RINGWALL_CLI_FRONT_H

#include <stdbool.h>

#include "base/options.h"
#include "base/text.h"

/* The exit code of every failure of our own, so that `run` can leave the others to its command. */
enum { FRONT_FAILED = 125 };

#define FRONT_PROGRAM "ringwall"

/*
 * Parses with options_parse. True: *result is good, go on. False: --help or a mistake was answered already, and
 * *ret_code is the exit code. options_done is due after both.
 */
bool front_parse(const struct options_verb *usage, int argc, char **argv, int first, struct options_result *result,
                 int *ret_code);

/* Writes t to standard output. Returns code, or FRONT_FAILED with a complaint when it could not be written. */
int front_print(const struct text *t, int code);

/* Writes "ringwall PATH: sentence" to standard error; path is a verb's, or NULL. Returns FRONT_FAILED. */
int front_complain(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a mistake on the command line: a second line says where the help is. */
int front_refuse(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes t to standard error, and returns FRONT_FAILED whether that worked or not. */
int front_print_error(const struct text *t);

/* May output to this descriptor be styled: a terminal, and the user did not set NO_COLOR. */
bool front_is_styled(int fd);

/* For the end of main: whatever stdio still holds is written, and a failure of that turns code into FRONT_FAILED. */
int front_finish(int code);

#endif
