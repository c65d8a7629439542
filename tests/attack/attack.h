/*
 * One attack: a function that tries to get out of a box. Each file of attacks ends in a table of them; attacks.c finds
 * an attack by its name.
 *
 * An attack answers 0 when it got what it wanted, -errno when it was stopped, CANNOT_TRY when the machine has nothing to
 * attack. What it got it tells with did(), so that a test can see it was the real thing.
 */
#ifndef RINGWALL_TESTS_ATTACK_H
#define RINGWALL_TESTS_ATTACK_H

#include <stddef.h>
#include <sys/types.h>

enum { CANNOT_TRY = 1 };

struct attack {
        const char *name;
        int arguments;
        int (*run)(char **arguments);
};

extern const struct attack file_attacks[], change_attacks[], process_attacks[], ipc_attacks[], network_attacks[],
        call_attacks[], kernel_attacks[], terminal_attacks[], life_attacks[];

void did(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 0, or -errno for a call that answered -1. */
int outcome(long result);

/* The number in an argument; "parent" is the process that started this one. */
long number(const char *text);

/* Tells what can be read from fd. Takes fd, which may be the -1 of a failed open. */
int take(int fd);

/* Opens path and tells what is in it. */
int read_file(const char *path);

/* Writes a line to fd. Takes fd. */
int scribble(int fd);

/*
 * What needs a privilege is tried with the most that anybody can have: root of a user namespace of its own. In a box
 * this fails, and then the attack goes on without.
 */
void grab_privileges(void);

/* Runs the function in a child: a filter that kills answers "failed: SIGSYS". */
int in_child(int (*run)(char **arguments), char **arguments);

#endif
