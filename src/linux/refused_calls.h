/*
 * Answers the system calls that the filter refuses with a notification, and counts them and the names that the guard
 * denied, for the report. Runs in the keeper, the guard or the socket server. No answer lets a call continue, except
 * for the exec that starts the command. In a box without a network namespace, socket() is answered with a socket
 * (socket_server.c), by a separate process: ADDFD blocks until the target runs, and a hostile box can delay that.
 */
#ifndef RINGWALL_LINUX_REFUSED_CALLS_H
#define RINGWALL_LINUX_REFUSED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/box.h"

struct seccomp_notif;

struct refused_calls {
        int listener; /* -1: there are no notifications to answer */
        unsigned rights; /* of the filter: enum filter_right */
        struct refused_log {
                struct refused_call calls[REFUSED_CALLS_MAX];
                size_t call_count;
                struct refused_path paths[REFUSED_PATHS_MAX];
                size_t path_count;
        } * log; /* counts for the report, written by the process that answers; may be shared memory */
};

/* Receives one notification and lets its call continue: the exec of the command. Returns 0 or -errno. */
int refused_calls_let_exec_continue(const struct refused_calls *d);

/* With `shared` the counts are in shared memory, so that another process can answer. Returns 0 or -errno. */
int refused_calls_init(struct refused_calls *ret, unsigned rights, bool shared);

/*
 * Answers pending calls without blocking, up to a limit. Closes the listener when no process uses the filter any more,
 * or when it fails.
 */
void refused_calls_answer(struct refused_calls *d);

/* Counts a call, if the filter refuses it. Must not run in two processes at once. */
void refused_calls_count(struct refused_calls *d, const struct seccomp_notif *request);

/* Answers one call. Closes the listener when that fails, so that no caller waits for ever. */
void refused_calls_answer_one(struct refused_calls *d, const struct seccomp_notif *request);

/* Counts a path that the guard denied by this rule. Must not run in two processes at once. */
void refused_calls_note_path(struct refused_calls *d, const char *path, const char *rule);

#endif
