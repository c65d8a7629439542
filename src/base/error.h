/*
 * The error object: what failed, with which errno. It has a fixed size and belongs to the caller, so that it can be
 * filled after fork and when memory has run out. A function that takes one returns -code when it fails, and does not
 * touch it when it succeeds.
 */
#ifndef RINGWALL_BASE_ERROR_H
#define RINGWALL_BASE_ERROR_H

struct error {
        int code;       /* a positive errno value, 0 while nothing failed */
        char text[480]; /* one sentence for the user, without a final newline */
};

/* Fills *e (which may be NULL) and returns -code, so that `return error_set(…)` reads as one step. */
int error_set(struct error *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the description of the errno appended. */
int error_errno(struct error *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts the context "prefix: " in front of a text that is set already. Returns -code, or 0 if e is NULL. */
int error_wrap(struct error *e, const char *prefix);

#endif
