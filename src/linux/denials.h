/*
 * System calls that the filter refused and told of: answered, and counted for the report. Runs in the keeper. No
 * answer lets a call happen, except the one exec that starts the command. A box without a network namespace gets its sockets
 * as answers (socket_giver.c), from a process of its own: giving one waits until the caller has run, and the box decides when.
 */
#ifndef RINGWALL_LINUX_DENIALS_H
#define RINGWALL_LINUX_DENIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DENIALS_MAX = 32 };

struct denial {
        int number;      /* of the call; -1: all that had no room */
        uint32_t family; /* of socket and socketpair: their first argument */
        unsigned count;
};

struct denials {
        int listener; /* -1: nothing is told */
        unsigned rights; /* of the filter */
        struct denials_told {
                struct denial list[DENIALS_MAX];
                size_t count;
        } *told; /* whoever answers writes it */
};

/* The next call goes on. Returns 0 or -errno. */
int denials_let_pass(const struct denials *d);

/* Begins; with `shared` another process can answer. Returns 0 or -errno. */
int denials_begin(struct denials *ret, unsigned rights, bool shared);

/* Answers calls that wait, without waiting for more; some may be left for the next time. Closes the listener when nobody is left to tell. */
void denials_answer(struct denials *d);

#endif
