/*
 * What every fuzz target shares: the entrance that libFuzzer and replay.c call, and how a broken promise is reported.
 *
 * A target feeds arbitrary bytes to one parser and then checks what the parser's header promises about the result. A
 * crash is a finding, and so is a promise that does not hold: PROMISE ends the program, with the input at hand.
 */
#ifndef RINGWALL_FUZZ_FUZZ_H
#define RINGWALL_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(condition)                                                                                            \
        do {                                                                                                          \
                if (!(condition)) {                                                                                   \
                        (void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                 \
                        abort();                                                                                      \
                }                                                                                                     \
        } while (0)

/* The bytes as a string of its own, so that a read beyond it is seen; it ends at the first NUL for its reader. */
char *fuzz_string(const uint8_t *data, size_t size);

/* Fit for a terminal: UTF-8 without control characters other than a newline. */
void promise_printable(const char *text);

#endif
