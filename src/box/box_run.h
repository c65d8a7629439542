/*
 * The life of one box, from its request to its report: starts it, receives its messages, enforces its time limit, ends
 * it and records it. `ringwall run`, libringwall and boxed services (src/session) use it, each in its own event loop.
 *
 *   box_run_begin(), box_run_start(); then until `over`: poll() with box_run_fill_pollfds(), box_run_receive(),
 *   box_run_check_time(); then box_run_finish(). The report can be read as long as the arena exists.
 */
#ifndef RINGWALL_BOX_BOX_RUN_H
#define RINGWALL_BOX_BOX_RUN_H

#include <poll.h>

#include "box/report.h"
#include "box/start.h"
#include "box/audit_trail.h"

struct box_run {
        struct report report;
        struct audit_trail trail;
        struct running_box running; /* valid while `alive` */
        bool alive;       /* the box was started, and box_run_finish() has not ended it yet */
        bool over;        /* the keeper has sent its last message, the box failed, or the grace period has expired */
        bool timed_out;   /* the time limit has expired, and the command was sent SIGTERM */
        int64_t deadline; /* by clock_ms(); once `timed_out`, the end of the grace period; -1: no time limit */
};
#define BOX_RUN_NONE ((struct box_run){ .trail.fd = -1, .deadline = -1 })

/*
 * Begins the report and the audit trail. `audit` is the `path` of audit_trail_open(). Returns 0 or -errno with an
 * error, which is in the report too. The caller must call box_run_finish() in either case.
 */
int box_run_begin(struct box_run *run, struct arena *a, const struct plan *plan, char *const *command,
                  const char *audit, struct error *e);

/* Starts the box by start_box(), and its time limit. Returns 0 or -errno with an error, which is in the report too. */
int box_run_start(struct box_run *run, struct launch_request *request, struct error *e);

/* Ends the run because ringwall itself failed: the report gets END_FAILED and the error. */
void box_run_fail(struct box_run *run, const struct error *e);

/* The descriptors to poll before box_run_receive(): the keeper's and egress's; -1 for one that sends nothing more. */
enum { BOX_RUN_FDS = 2 };
void box_run_fill_pollfds(const struct box_run *run, struct pollfd ret[BOX_RUN_FDS]);

/*
 * Receives all pending events of egress and one message of the keeper, without blocking, and adds them to the report
 * and the audit trail. True: *ret is the keeper's message; the caller handles BOX_TERMINAL and BOX_STOPPED;
 * *ret_fd is the descriptor that came with it, which the caller closes, or -1.
 */
bool box_run_receive(struct box_run *run, struct box_message *ret, int *ret_fd);

/* Sends a message to the keeper. Returns 0 or -errno: -ESRCH when no box is running. */
int box_run_send(const struct box_run *run, enum box_message_kind kind, int number);

/* The timeout for poll(), in milliseconds. */
int box_run_wait_ms(const struct box_run *run);

/* Enforces the time limit: the command gets SIGTERM when it expires, and the run is `over` after a grace period. */
void box_run_check_time(struct box_run *run);

/*
 * Terminates every process of the box, and completes the report and the audit trail. `leaving`: the calling process is
 * about to exit, so it need not wait for a keeper that has sent its last message. Returns 0, or -EIO when the trail
 * could not be written.
 */
int box_run_finish(struct box_run *run, bool leaving);

#endif
