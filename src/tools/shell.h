/* A command that runs beside the tools: its output as it comes, its end, its time. Theory of operation: shell.c. */
#ifndef RINGWALL_TOOLS_SHELL_H
#define RINGWALL_TOOLS_SHELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "tools/job.h"

enum { SHELL_HEAD = 50 << 10, SHELL_TAIL = 50 << 10 };

struct shell {
        struct job job;
        pid_t pid;
        int pidfd;           /* readable when it has ended */
        int output;          /* of both streams, in their order */
        int64_t began, deadline; /* of clock_ms() */
        bool ended, timed_out;
        int status;          /* as wait has it */
        struct text head;    /* the first bytes */
        char *tail;          /* a ring of the last */
        size_t tail_start, tail_length;
        uint64_t bytes;      /* in all */
        uint64_t told;       /* of them, to who asks again and again: background.c */
        char id[33];         /* the same; "" for a command that somebody waits for */
};

/* Starts `bash -c COMMAND` in a session of its own. NULL with an error when it cannot. */
struct shell *shell_start(const char *command, const char *directory, char *const *environment, int64_t timeout_ms,
                          struct error *e);

/* The command that this job is. */
static inline struct shell *shell_of(const struct job *j)
{
        return (struct shell *)(uintptr_t)j; /* its first member */
}

/* Kills whatever of it still runs, if it has not ended by itself. */
void shell_free(struct shell *s);

/* Reads what came, notices its end, ends it when its time is up. True when all is over. */
bool shell_step(struct shell *s);

/* Its output from a byte on: all of it, or what is left of its head and its tail and how much is missing between them. */
void shell_print(const struct shell *s, uint64_t from, struct text *out);

/* The exit status that a shell would tell: its own, 128 and the signal, 124 when its time was up. */
int shell_exit_status(const struct shell *s);

#endif
