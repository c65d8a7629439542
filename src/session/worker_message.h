/*
 * The messages of a worker as bytes: it writes them in the session's box, the server reads them outside. Theory of
 * operation: worker_message.c.
 */
#ifndef RINGWALL_SESSION_WORKER_MESSAGE_H
#define RINGWALL_SESSION_WORKER_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "tools/tool.h"

enum {
        WORKER_FIELDS_MAX = 16,         /* details of an answer */
        WORKER_SECRETS_MAX = 512,       /* patterns with secrets that were removed */
        WORKER_NAME_MAX = 48,           /* bytes in the name of a field, of a pattern, of an image's type */
        WORKER_TEXT_MAX = 10 << 20,     /* bytes of a string; an image of 5 MiB has 7 MiB as base64 */
};

enum worker_field_type { WORKER_NULL, WORKER_BOOLEAN, WORKER_INTEGER, WORKER_STRING };

struct worker_field {
        char name[WORKER_NAME_MAX + 1];
        enum worker_field_type type;
        int64_t number;     /* of WORKER_BOOLEAN (0 or 1) and WORKER_INTEGER */
        struct text string; /* of WORKER_STRING */
};

/* An answer or a progress report. Its strings are valid UTF-8 without NUL. */
struct worker_message {
        int64_t call;                              /* number of the call */
        bool is_progress;
        int64_t progress;                          /* of a report: grows */
        bool is_error;
        char image_type[WORKER_NAME_MAX + 1];      /* not empty: the text is base64 */
        struct text text;                          /* of an answer or a report */
        struct worker_field fields[WORKER_FIELDS_MAX]; /* the details */
        size_t field_count;
        json_t *secrets;                           /* an object of counts by pattern; NULL: none */
};

/* A call, or the end of one. */
struct worker_call {
        int64_t number;
        bool cancel; /* the rest is not used */
        bool wants_progress;
        struct text tool;
        json_t *arguments;
};

/* In the server: add a call, or that it is cancelled. `arguments` is NULL for none. Return 0, -EFBIG or -ENOMEM. */
int worker_call_write(struct text *out, int64_t number, const char *tool, const json_t *arguments, bool progress);
int worker_call_write_cancel(struct text *out, int64_t number);

/* In the box: reads a call. Returns 0, -EPROTO or -ENOMEM. The caller frees it with worker_call_done() in all cases. */
int worker_call_read(const char *bytes, size_t length, struct worker_call *ret);
void worker_call_done(struct worker_call *c);
#define CLEANUP_WORKER_CALL CLEANUP(worker_call_done)

/* In the box: each adds a message to `out`. Returns 0 or -EINVAL for what the server would refuse, or -ENOMEM. */
int worker_message_write_answer(struct text *out, int64_t call, const struct tool_result *answer,
                                const json_t *secrets);
int worker_message_write_progress(struct text *out, int64_t call, int64_t progress, const struct text *message);

/*
 * In the server: reads a message. Returns 0, -EPROTO for one that is malformed, or -ENOMEM. The caller frees the
 * message with worker_message_done() in all cases.
 */
int worker_message_read(const char *bytes, size_t length, struct worker_message *ret);
void worker_message_done(struct worker_message *m);
#define CLEANUP_WORKER_MESSAGE CLEANUP(worker_message_done)

#endif
