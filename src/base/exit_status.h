/* The exit statuses of ringwall's programs that are not the command's own; env(1) and timeout(1) use the same. */
#ifndef RINGWALL_BASE_EXIT_STATUS_H
#define RINGWALL_BASE_EXIT_STATUS_H

enum {
        EXIT_TIMED_OUT = 124,
        EXIT_RINGWALL = 125, /* ringwall refused or failed */
        EXIT_CANNOT_EXECUTE = 126,
        EXIT_NOT_FOUND = 127,
        EXIT_SIGNAL = 128, /* plus the number of the signal that killed the command */
};

#endif
