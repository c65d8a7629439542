/*
 * Asking the kernel one question, in a child of its own.
 *
 * What it is for: a question such as "can I make a user namespace?" can only be asked by doing it, and doing it changes
 * the process for good; an outer seccomp filter may even answer by killing. So every question runs in a forked child.
 *
 * How it works: the child runs one function and writes a fixed-size answer (which step failed, errno, a word of detail)
 * into a pipe in one piece. The parent waits for the answer or the end of the child, whichever comes first.
 *
 * What it trusts: the children run only our own code, with no input but the kernel's answers.
 *
 * Nothing stays behind: a child dies with its parent (PR_SET_PDEATHSIG), after ASK_SECONDS at the latest, and is always
 * reaped; its namespaces and mounts go with it.
 *
 * Needs of the kernel: fork, pipe2, prctl. The caller must have one thread and must not ignore SIGCHLD.
 */
#ifndef RINGWALL_LINUX_ASK_H
#define RINGWALL_LINUX_ASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wall/wall.h"

enum { ASK_SECONDS = 10 };

struct answer {
        int result;     /* what the function returned */
        int error;      /* positive errno of the step that failed; 0 if none did */
        char stage[48]; /* that step, as a verb: it is read behind "cannot" */
        char text[176]; /* what to tell a person, when the step and the error do not say it best */
        uint64_t value; /* for questions whose answer is a number */
};

/* What a question returns besides 0 (yes) and -errno (no). */
enum { ANSWER_PARTLY = 1 };

/* Runs in the child. Returns 0, ANSWER_PARTLY or -errno; stage and text say more. */
typedef int ask_function(unsigned long argument, struct answer *answer);

struct question {
        enum feature_id feature;
        ask_function *ask;
        unsigned long argument;
};

/* In the child: notes the step and errno; returns -errno, so that `return ask_failed(a, …)` reads as one step. */
int ask_failed(struct answer *answer, const char *stage);
/* The same with an error code of the caller's: EPROTO when a call succeeded and then did not do what it is for. */
int ask_failed_with(struct answer *answer, int error, const char *stage);
/* In the child: the sentence a person reads. */
void ask_say(struct answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs one question; FEATURE_UNASKED when no child could be had. */
enum feature_state ask(ask_function *function, unsigned long argument, struct answer *ret);

/* The same, and enters the answer into the report. */
void ask_feature(struct probe_report *report, const struct question *question);
void ask_all(struct probe_report *report, const struct question *questions, size_t count);

/* Enters an answer that was had by ask(). */
void ask_enter(struct probe_report *report, enum feature_id id, enum feature_state state, const struct answer *answer);

/* First thing in any forked child: die when the parent does, whether that happened already or not. */
void ask_die_with_parent(pid_t parent);

/*
 * Runs function(context) in a forked grandchild and waits. Its result is 0 or a small positive errno; this returns 0 or
 * -errno, -EINTR when the grandchild was killed.
 */
int ask_in_fork(int (*function)(void *context), void *context);

/* Waits for a child of ours: its exit status taken as a positive errno, negated; -EINTR when it was killed. */
int ask_wait(pid_t pid);

#endif
