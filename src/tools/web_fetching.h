/* A fetch that is under way, as a job. Theory of operation: web_fetching.c. */
#ifndef RINGWALL_TOOLS_WEB_FETCHING_H
#define RINGWALL_TOOLS_WEB_FETCHING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/domain.h"
#include "policy/url.h"
#include "tools/job.h"
#include "tools/web_report.h"

struct web_fetching {
        struct job job;
        pid_t pid;               /* of the process that fetches */
        int pipe;                /* to read from; -1: it has ended */
        int64_t began, deadline; /* of clock_ms() */
        bool timed_out;
        int status;              /* as wait has it */
        struct text said;        /* its report, as far as it has come */
        struct url url;          /* that was asked for */
        enum web_format format;  /* of the tool's: how to show it, */
        size_t most;             /* and how much of it */
        const struct plan *plan; /* of the box; NULL: nobody knows */
};

/* Starts it. NULL with an error when it cannot: EPERM where the box may start no process. */
struct web_fetching *web_fetching_start(const struct url *url, domain_to_ascii *to_ascii, int64_t timeout_ms, struct error *e);

/* The fetch that this job is. */
static inline struct web_fetching *web_fetching_of(const struct job *j)
{
        return (struct web_fetching *)(uintptr_t)j; /* its first member */
}

/* What came of one that is over; false when that is no report. What it points to is the fetch's. */
bool web_fetching_report(const struct web_fetching *f, struct web_report *ret);

#endif
