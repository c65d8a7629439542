/* The person's terminal and the command's, and the bytes between them. Theory of operation: terminal.c. */
#ifndef RINGWALL_CLI_TERMINAL_H
#define RINGWALL_CLI_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes on their way in one direction. */
struct terminal_pump {
        size_t start, end;
        char data[4096];
};

enum { TERMINAL_EVENTS = 3 };

struct terminal {
        unsigned replaced; /* bit n: our descriptor n is a terminal, so the command gets its own in that place */
        int in, out;       /* the person's terminal; -1 when there is none */
        int master;        /* the command's; -1 until it has one, and after it was hung up */
        bool eager;        /* to be claimed from the start */
        bool claimed;      /* the person's is raw, and what is typed goes to the command */
        bool processed;    /* the command's ends lines with CR NL while it is claimed */
        struct terminal_pump typed, shown;
};

/* Looks at the standard descriptors and changes nothing. terminal_done() is due. */
void terminal_find(struct terminal *t);

/* Takes the master, and claims the person's terminal if that is due from the start. */
void terminal_attach(struct terminal *t, int master);

/* What to wait for, and what to do about what came. Of entries without use, fd is -1. */
void terminal_watch(const struct terminal *t, struct pollfd events[TERMINAL_EVENTS]);
void terminal_relay(struct terminal *t, const struct pollfd events[TERMINAL_EVENTS]);

/* Is it our turn: no other process group has the terminal? */
bool terminal_is_ours(const struct terminal *t);

/* Raw from now on, or again. False when it is not our turn, or there is none. */
bool terminal_claim(struct terminal *t);

/* As it was before it was claimed. */
void terminal_release(struct terminal *t);

/* The command's terminal gets the size of the person's; the kernel tells the command. */
void terminal_resize(const struct terminal *t);

/* For the command it is as if the line had been cut. */
void terminal_hang_up(struct terminal *t);

/* After the command ended: shows what it wrote last, as long as the person's terminal takes it, and releases it. */
void terminal_done(struct terminal *t);

#endif
