/* A command that runs beside the tools: its output as it comes, its end, its time. Theory of operation: shell.c. */
#ifndef RINGWALL_TOOLS_SHELL_H
#define RINGWALL_TOOLS_SHELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "tools/capture.h"
#include "tools/job.h"

enum {
        SHELL_KEPT = 100 << 10,           /* bytes of output, of a command that somebody waits for */
        SHELL_KEPT_BACKGROUND = 1 << 20,  /* of each stream of one that nobody does */
};

struct shell {
        struct job job;
        pid_t pid;
        int pidfd;               /* readable when it has ended */
        int64_t began, deadline; /* of clock_ms() */
        bool ended, timed_out;
        int status;              /* as wait has it */
        bool background;         /* its streams are kept apart; else they are one, in their order */
        struct capture streams[2];
        char id[33];             /* of one in the background: background.c */
        char *command;           /* the same */
        char started[32];        /* the same: the time, for people */
};

struct shell_request {
        const char *command, *directory;
        char *const *environment;
        int64_t timeout_ms;
        bool background;
        const struct capture_filter *filter; /* NULL: none */
};

/* Starts `bash -c COMMAND` in a session of its own. NULL with an error when it cannot. */
struct shell *shell_start(const struct shell_request *request, struct error *e);

/* The command that this job is. */
static inline struct shell *shell_of(const struct job *j)
{
        return (struct shell *)(uintptr_t)j; /* its first member */
}

/* Kills whatever of it still runs, if it has not ended by itself. */
void shell_free(struct shell *s);

/* Reads what came, notices its end, ends it when its time is up. True when all is over. */
bool shell_step(struct shell *s);

/* The exit status that a shell would tell: its own, 128 and the signal, 124 when its time was up. */
int shell_exit_status(const struct shell *s);

#endif
