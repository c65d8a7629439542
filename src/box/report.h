/*
 * What became of a box: which walls stood, what was refused, how it ended. For a person after a failed run, as JSON for
 * programs, and for the audit trail.
 */
#ifndef RINGWALL_BOX_REPORT_H
#define RINGWALL_BOX_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/text.h"
#include "linux/egress_wire.h"
#include "linux/launch.h"
#include "policy/plan.h"

enum report_end {
        END_NONE,        /* it still runs, or was never started */
        END_EXITED,      /* by itself; number is its exit status */
        END_SIGNALLED,   /* number is the signal */
        END_TIMED_OUT,
        END_NOT_STARTED, /* the command could not be executed; number is 126 or 127 */
        END_OUT_OF_MEMORY,
        END_FAILED,      /* of ringwall's own */
};

enum { REFUSALS_MOST = 64 };

struct report {
        struct arena *arena;
        const struct plan *plan;
        char *const *command;
        bool started;
        int landlock;  /* the ABI */
        bool cgroup;   /* the box had one of its own */
        enum report_end end;
        int number;
        struct error error;
        const char **notes; /* what this box does not hold, though nobody asked for it by name */
        size_t note_count;
        struct denial denials[DENIALS_MAX];
        size_t denial_count;
        bool egress;   /* it may reach hosts */
        struct egress_event *refusals; /* names and connections; see egressing.h */
        size_t refusal_count;
        bool refusals_more; /* than are kept */
        struct hosts *changes; /* the hosts of generation 1 and those behind it */
        size_t change_count;
        uint64_t memory_peak, cpu_time; /* bytes, microseconds; 0 without limits */
        int64_t began, ended; /* milliseconds of a clock that does not jump */
};

void report_begin(struct report *r, struct arena *a, const struct plan *plan, char *const *command);

/* A message of the keeper; true when it was the last. */
bool report_take(struct report *r, const struct box_message *m);

/* The rule that decided it, whichever hosts held at that moment; NULL: none did. */
const struct host_rule *report_host_rule(const struct report *r, const struct egress_event *event);

/* Something that the box does not hold. */
void report_note(struct report *r, const char *text);

/* It ended otherwise: END_TIMED_OUT, END_OUT_OF_MEMORY, or END_FAILED with the error. */
void report_stop(struct report *r, enum report_end how, const struct error *e);

/* The exit status that stands for it: its own, 128+signal, 124, 125, 126, 127. */
int report_status(const struct report *r);

/* One line for each kind of refusal: what was tried, the rule that refused it and its source, the flag that would allow. */
void report_explain_calls(const struct report *r, const char *prefix, struct text *out);
void report_explain_hosts(const struct report *r, const char *prefix, struct text *out);

/* What one wall holds, in a few words; nothing when the plan asks nothing of it. `index` is one of linux/hold.h's. */
void report_wall(const struct report *r, size_t index, struct text *out);

/* One denial, {"call", "count", "what", "rule", "source", "allow"}; NULL without memory. */
json_t *report_denial_to_json(const struct report *r, const struct denial *d);

/* The whole; NULL without memory. */
json_t *report_to_json(const struct report *r);

#endif
