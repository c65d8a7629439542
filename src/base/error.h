/*
 * The error object: what failed, at which stage, with which errno. It has a fixed size and belongs to the caller, so
 * it can be filled after fork and without memory. A function that takes one returns -code when it fails and leaves it
 * alone when it succeeds.
 */
#ifndef RINGWALL_BASE_ERROR_H
#define RINGWALL_BASE_ERROR_H

struct error {
        int code;          /* a positive errno value, 0 while nothing failed */
        const char *stage; /* a string constant: which step failed */
        char text[480];    /* one sentence for a person, without a final newline */
};

/* Fills *e (which may be NULL) and returns -code, so that `return error_set(…)` reads as one step. */
int error_set(struct error *e, int code, const char *stage, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* The same, with ": " and the errno's own text behind the sentence. */
int error_errno(struct error *e, int code, const char *stage, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Puts the context "prefix: " in front of a text that is set already; returns -code. */
int error_wrap(struct error *e, const char *prefix);

#endif
