/*
 * An attack is a function that tries to get out of a box. Each attack_*.c ends with a table of its attacks; attacks.c
 * finds an attack by its name.
 *
 * An attack returns 0 when it succeeded, -errno when it was stopped, and CANNOT_TRY when this machine lacks what it
 * needs. It prints what it read or found with report_success(), so that a test can check that it really succeeded.
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
        call_attacks[], kernel_attacks[], terminal_attacks[], life_attacks[], name_attacks[], held_name_attacks[],
        name_race_attacks[];

/* Prints "did: " and the text. */
void report_success(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns -errno if the result of a system call is negative, otherwise 0. */
int outcome(long result);

/* Parses a number; "parent" is the pid of the parent process. */
long parse_number(const char *text);

/* Reads from fd, reports the text and closes fd. fd may be -1 from a failed open(): returns -errno. */
int read_and_report(int fd);

/* Opens path and reports its content. */
int read_file(const char *path);

/* Writes a line to fd and closes it. fd may be -1, as above. */
int write_line(int fd);

/*
 * Enters new namespaces and becomes root of the user namespace, for attacks that need a privilege. In a box this fails;
 * the attack then continues without the privilege.
 */
void enter_user_namespace(void);

/* Runs the attack in a child and exits with its status. If a signal kills the child, prints "failed: SIGNAL". */
int run_in_child(int (*run)(char **arguments), char **arguments);

#endif
