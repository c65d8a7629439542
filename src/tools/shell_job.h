/* A running command: its output, its exit status and its timeout. Theory of operation: shell_job.c. */
#ifndef RINGWALL_TOOLS_SHELL_JOB_H
#define RINGWALL_TOOLS_SHELL_JOB_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "tools/output_capture.h"
#include "tools/job.h"

enum {
        SHELL_OUTPUT_MAX = 22000, /* bytes of output that are kept; with what is added, less than TOOL_TEXT_MAX */
        SHELL_GRACE_MS = 100,     /* after bash has exited, what it started may run for this long */
        SHELL_BACKGROUND_OUTPUT_MAX = 1 << 20, /* the same for each stream of a background command */
};

struct shell_job {
        struct job job;
        pid_t reaper;            /* the parent of bash and of what it started */
        pid_t bash;
        int report;              /* a pipe from the reaper; readable when bash has exited or the reaper was killed */
        int64_t began, deadline; /* by clock_ms() */
        bool exited;             /* bash has exited; what it started gets a moment to exit too */
        bool ended, timed_out;
        int status;              /* of waitpid() */
        bool background;         /* stdout and stderr are captured separately; otherwise both go to streams[0] */
        struct output_capture streams[2];
        int directory_pipe;      /* bash writes its working directory to it when it ends; -1 in the background */
        char directory[PATH_MAX]; /* which bash ended in; "" if that is not known */
        struct text left;        /* the names of processes that were still running when bash exited, and were killed */
        /* For Bash alone: */
        const char *root;        /* of the workspace */
        char **last_directory;   /* where to keep the directory in which bash ended */
        bool lost_directory;     /* the kept directory is gone, so the command started in `root` */
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

/* Kills the command and what it started, unless it has ended. */
void shell_job_free(struct shell_job *s);

/* Reads output, and kills what the command started after its timeout or when bash has exited. True when it is over. */
bool shell_job_advance(struct shell_job *s);

/* Adds a line that names the processes that were killed because they were still running when bash had exited. */
void shell_job_print_left(const struct shell_job *s, struct text *out);

/* The exit status as a shell reports it: its own, 128 + the signal, or 124 after a timeout. */
int shell_job_exit_status(const struct shell_job *s);

#endif
