/*
 * What every fuzz target shares: the entry point that libFuzzer and replay.c call, and PROMISE().
 *
 * A target feeds arbitrary bytes to one parser and then checks what the parser's header promises about the result. A
 * crash is a finding, and so is a broken promise: PROMISE() prints the condition and aborts, so that libFuzzer keeps
 * the input.
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

/* Returns a NUL-terminated copy, in memory of exactly this size, so that a sanitizer finds reads beyond its end. */
char *fuzz_string(const uint8_t *data, size_t size);

/* Checks that a terminal can show the text: UTF-8 without control characters other than newline. */
void promise_printable(const char *text);

#endif
