/*
 * The report on a box: what was enforced, what was refused, how it ended. For the user after a failed run, as JSON for
 * programs, and for the audit trail.
 */
#ifndef RINGWALL_BOX_REPORT_H
#define RINGWALL_BOX_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/text.h"
#include "box/refusals.h"
#include "platform/box.h"
#include "platform/limits.h"
#include "platform/platform.h"
#include "policy/plan.h"

enum report_end {
        END_NONE,        /* it still runs, or was never started */
        END_EXITED,      /* `number` is the command's exit status */
        END_SIGNALLED,   /* `number` is the signal that killed the command */
        END_TIMED_OUT,
        END_NOT_STARTED, /* the command could not be executed; `number` is 126 or 127 */
        END_OUT_OF_MEMORY,
        END_FAILED,      /* ringwall itself failed */
};

struct report_ending {
        enum report_end how;
        int number;
        struct error error; /* what failed, or which limit was reached; code 0: nothing */
        int64_t at;         /* by clock_ms() */
};

struct report {
        struct arena *arena;
        const struct plan *plan;
        char *const *command;
        int64_t began; /* by clock_ms() */
        bool started;  /* the command was executed */
        struct enforced_state enforced;
        const char **notes; /* for the user: rules that the box does not enforce, and what failed while it ran */
        size_t note_count;
        struct refusals refused;
        struct resource_usage usage; /* all 0 without a resource group */
        struct report_ending end;
};

void report_init(struct report *r, struct arena *a, const struct plan *plan, char *const *command);

/* Adds a message of the keeper; true when it was the last. */
bool report_add_message(struct report *r, const struct box_message *m);

/* Adds a note: see `notes`. */
void report_add_note(struct report *r, const char *text);

/* Overrides what the keeper's last message said, if one came: END_TIMED_OUT, END_OUT_OF_MEMORY or END_FAILED. */
void report_set_end(struct report *r, enum report_end how, const struct error *e);

/* The exit status of `ringwall run`: the command's own, 128+signal, 124, 125, 126, 127. */
int report_exit_status(const struct report *r);

/*
 * Appends what one wall enforces, in a few words; nothing if the plan asks nothing of it, or the command never started.
 * `index` is that of platform_wall_name().
 */
void report_add_wall(const struct report *r, size_t index, struct text *out);

/* The whole report; NULL without memory. */
json_t *report_to_json(const struct report *r);

#endif
