/* A running fetch, as a job. Theory of operation: web_fetch_job.c. */
#ifndef RINGWALL_TOOLS_WEB_FETCH_JOB_H
#define RINGWALL_TOOLS_WEB_FETCH_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/host_pattern.h"
#include "policy/url_filter.h"
#include "tools/job.h"
#include "tools/web_fetch_report.h"

struct web_fetch_job {
        struct job job;
        pid_t pid;               /* of the fetch process */
        int pipe;                /* to read the report from; -1: the fetch is over */
        int64_t began, deadline; /* by clock_ms() */
        bool timed_out;
        int status;              /* of waitpid() */
        struct text report;      /* as far as it has arrived */
        struct url url;          /* as requested by the client */
        enum web_format format;  /* how to show the answer, */
        struct web_part part;    /* and which part of it */
        const struct plan *plan; /* of the box; NULL: not known */
};

/* Starts a fetch. Returns NULL with an error on failure: EPERM where the box may not start processes. */
struct web_fetch_job *web_fetch_job_start(const struct url *url, to_ascii_function *to_ascii, int64_t timeout_ms,
                                          struct error *e);

/* The fetch of a job of this kind. */
static inline struct web_fetch_job *web_fetch_job_from(const struct job *j)
{
        return (struct web_fetch_job *)(uintptr_t)j; /* its first member */
}

/* Parses the report of a fetch that is over; false when there is no valid one. *ret points into the fetch. */
bool web_fetch_job_report(const struct web_fetch_job *f, struct web_report *ret);

#endif
