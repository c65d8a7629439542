/* A running command: its output, its exit status and its timeout. Theory of operation: shell_job.c. */
#ifndef RINGWALL_TOOLS_SHELL_JOB_H
#define RINGWALL_TOOLS_SHELL_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "tools/output_capture.h"
#include "tools/job.h"

enum {
        SHELL_OUTPUT_MAX = 100 << 10,    /* bytes of output that are kept */
        SHELL_BACKGROUND_OUTPUT_MAX = 1 << 20, /* the same for each stream of a background command */
};

struct shell_job {
        struct job job;
        pid_t pid;
        int pidfd;               /* readable when bash has exited */
        int64_t began, deadline; /* by clock_ms() */
        bool ended, timed_out;
        int status;              /* of waitpid() */
        bool background;         /* stdout and stderr are captured separately; otherwise both go to streams[0] */
        struct output_capture streams[2];
        /* Only of background commands (background_shells.c): */
        char id[33];
        char *command;
        char started[32];        /* start time as text */
};

struct shell_job_request {
        const char *command, *directory;
        char *const *environment;
        int64_t timeout_ms;
        bool background;
        const struct output_scrub_ops *filter; /* NULL: none */
};

/* Starts `bash -c COMMAND` in a new session (setsid). Returns NULL with an error on failure. */
struct shell_job *shell_job_start(const struct shell_job_request *request, struct error *e);

/* The command of a job of this kind. */
static inline struct shell_job *shell_job_from(const struct job *j)
{
        return (struct shell_job *)(uintptr_t)j; /* its first member */
}

/* Kills the command and what it started, unless bash has exited. */
void shell_job_free(struct shell_job *s);

/* Reads output, kills the command after its timeout, and reaps bash. Returns true when bash has exited. */
bool shell_job_advance(struct shell_job *s);

/* The exit status as a shell reports it: its own, 128 + the signal, or 124 after a timeout. */
int shell_job_exit_status(const struct shell_job *s);

#endif
