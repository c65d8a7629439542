/*
 * Asks the kernel one question, in a forked child.
 *
 * What it is for: a question such as "can I make a user namespace?" can only be answered by trying. The attempt changes
 * the process for good, and an outer seccomp filter may even kill it. So every question runs in a child.
 *
 * How it works: the child runs one function and writes a fixed-size answer (the step that failed, errno, a line for the
 * user) to a pipe in one write. The parent waits for the answer or the child's exit, whichever comes first.
 *
 * What it trusts: the children run only our own code, and read nothing but the kernel's answers.
 *
 * Nothing is left behind: a child is killed when its parent dies (PR_SET_PDEATHSIG) or after PROBE_TIMEOUT_SECONDS, and
 * is always reaped. The kernel removes its namespaces and mounts.
 *
 * Needs of the kernel: fork, pipe2, prctl. The caller must have one thread and must not ignore SIGCHLD.
 */
#ifndef RINGWALL_LINUX_PROBE_CHILD_H
#define RINGWALL_LINUX_PROBE_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "feature/feature.h"

enum { PROBE_TIMEOUT_SECONDS = 10 };

struct probe_answer {
        int result;     /* the function's return value */
        int error;      /* positive errno of the step that failed; 0 if every step succeeded */
        char stage[48]; /* the step that failed, as a verb phrase that follows "cannot" */
        char text[176]; /* a line for the user, where it says more than the step and its errno */
        uint64_t value; /* for questions whose answer is a number */
};

/* A question returns 0 (yes), -errno (no) or this. */
enum { PROBE_PARTIAL = 1 };

/* Runs in the child. Returns 0, PROBE_PARTIAL or -errno, and fills stage and text. */
typedef int probe_function(unsigned long argument, struct probe_answer *answer);

struct probe_question {
        enum feature_id feature;
        probe_function *ask;
        unsigned long argument;
};

/* In the child: stores the step and errno. Returns -errno, so that `return probe_fail(a, …)` reads as one step. */
int probe_fail(struct probe_answer *answer, const char *stage);
/* The same with the caller's own error code. EPROTO: the calls succeeded, but without the effect that they promise. */
int probe_fail_with(struct probe_answer *answer, int error, const char *stage);
/* In the child: sets answer->text. */
void probe_describe(struct probe_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs one question. FEATURE_UNKNOWN: the child could not be started, or did not answer in time. */
enum feature_state probe_in_child(probe_function *function, unsigned long argument, struct probe_answer *ret);

/* The same, and stores the answer in the report. */
void probe_feature(struct probe_report *report, const struct probe_question *question);
void probe_features(struct probe_report *report, const struct probe_question *questions, size_t count);

/* Stores an answer of probe_in_child() in the report. */
void probe_record(struct probe_report *report, enum feature_id id, enum feature_state state,
                  const struct probe_answer *answer);

/* The first call in any forked child: it is killed when its parent dies, and exits if the parent is dead already. */
void probe_die_with_parent(pid_t parent);

/*
 * Runs function(context), which returns 0 or a small positive errno, in one more forked child and waits for it. Returns
 * 0 or -errno; -EINTR when that child was killed.
 */
int probe_in_grandchild(int (*function)(void *context), void *context);

/* Reaps a child whose exit status is 0 or a positive errno. Returns 0 or -errno; -EINTR when the child was killed. */
int probe_wait_child(pid_t pid);

#endif
