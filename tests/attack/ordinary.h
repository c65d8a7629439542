/* Prints one line for each check: "name: result". The lines must not differ from run to run. */
#ifndef RINGWALL_TESTS_ORDINARY_H
#define RINGWALL_TESTS_ORDINARY_H

/* Prints the name of the error if the result is negative, otherwise the result. */
void print_result(const char *check, long result);

/* Prints the name of the error if the result is negative, otherwise "ok". */
void print_outcome(const char *check, long result);

void print_text(const char *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The checks of ordinary_files.c: results of single calls on files. */
void check_files(void);

#endif
