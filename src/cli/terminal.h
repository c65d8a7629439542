/* Relays between the user's terminal and the command's. Theory of operation: terminal.c. */
#ifndef RINGWALL_CLI_TERMINAL_H
#define RINGWALL_CLI_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* The buffer of one direction. */
struct terminal_buffer {
        size_t start, end;
        char data[4096];
};

enum { TERMINAL_EVENTS = 3 };

struct terminal {
        unsigned replaced;   /* bit n: descriptor n is a terminal, so the command's descriptor n is its own terminal */
        int in, out;         /* the user's terminal; -1: none */
        int master;          /* of the command's terminal; -1 before terminal_attach() and after a hangup */
        bool claim_at_start; /* terminal_attach() claims the user's terminal */
        bool claimed;        /* the user's terminal is in raw mode, and input goes to the command */
        bool processed;      /* OPOST of the command's terminal while the user's is claimed: NL becomes CR NL */
        struct terminal_buffer typed, shown; /* bytes for the command, and for the user's terminal */
};

/* Examines the standard descriptors, and changes nothing. Call terminal_done() at the end. */
void terminal_init(struct terminal *t);

/* Takes ownership of the master, and claims the user's terminal if `claim_at_start`. */
void terminal_attach(struct terminal *t, int master);

/* Sets the entries for poll(), with fd -1 for unused ones; then relays what poll() reported. */
void terminal_watch(const struct terminal *t, struct pollfd events[TERMINAL_EVENTS]);
void terminal_relay(struct terminal *t, const struct pollfd events[TERMINAL_EVENTS]);

/* Is our process group in the foreground of the user's terminal, or is that terminal without job control for us? */
bool terminal_in_foreground(const struct terminal *t);

/* Puts the user's terminal into raw mode. False if it is not ours now, or there is none. */
bool terminal_set_raw(struct terminal *t);

/* Restores the modes from before terminal_set_raw(), if the user's terminal is still ours. */
void terminal_restore(struct terminal *t);

/* Gives the command's terminal the size of the user's; the kernel sends the command SIGWINCH. */
void terminal_resize(const struct terminal *t);

/* Hangs up the command's terminal by closing its master, and drops input that was not sent. */
void terminal_hang_up(struct terminal *t);

/* After the command has ended: shows its last output, unless the user's terminal blocks too long, and releases it. */
void terminal_done(struct terminal *t);

#endif
