/*
 * The agent's tools: one file each, one table for all. They run inside the box, so the box's walls confine them; the
 * checks here only make answers helpful. Tools are called through tool_call(), which checks the arguments first.
 */
#ifndef RINGWALL_TOOLS_TOOL_H
#define RINGWALL_TOOLS_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "path/read_tracker.h"
#include "path/workspace.h"
#include "policy/plan.h"
#include "tools/job.h"

struct output_scrub_ops;
struct shell_job;

enum {
        BACKGROUND_MAX = 32,
        WORKSPACES_MAX = 16,
        /* Bytes of an answer's text. Some clients cut text from 28,000 characters on, so that models do not see the
           end. */
        TOOL_TEXT_MAX = 25000,
};

/* A directory that tools work in, and its name in calls. */
struct named_workspace {
        const char *name, *path;
};

/* The state that the tools of one session share. */
struct tool_context {
        struct workspace **workspaces;
        const struct named_workspace *names; /* of the workspaces, in the same order */
        size_t workspace_count;
        size_t current;                /* workspace of this call: relative paths start there */
        char *directories[WORKSPACES_MAX]; /* where the last command of each workspace ended; NULL: at its root */
        const struct tool *called;     /* the tool of this call, for messages */
        const struct workspace *outside; /* where other paths are resolved: the box's root; NULL: they are refused */
        struct read_tracker *tracker;
        mode_t new_mode;               /* of new files */
        char *const *environment;      /* of commands */
        int64_t max_seconds;           /* upper limit of every timeout; 0: none */
        const struct plan *plan;       /* of the box, to name the rule that refused an access; NULL: not known */
        to_ascii_function *to_ascii;     /* for host names that are not ASCII; NULL: such names are refused */
        const struct output_scrub_ops *filter; /* for the output of commands; NULL: none */
        struct shell_job *background[BACKGROUND_MAX]; /* background commands; NULL: the slot is free */
};

struct tool_result {
        bool is_error;
        struct text text;       /* what the agent reads */
        json_t *details;        /* the same in fields, for programs; NULL after an error */
        const char *image_type; /* not NULL: `text` is an image of this type, as base64 */
};

enum tool_type { TOOL_STRING, TOOL_INTEGER, TOOL_BOOLEAN, TOOL_LIST };

struct tool_param {
        const char *name;
        enum tool_type type;
        bool required;
        const char *help;
        json_int_t min, max; /* of an integer parameter; both 0: any value */
        const char *const *words; /* of a string parameter that takes only these, NULL at the end; NULL: any string */
        const char *also; /* another name for it, that models know from other clients' tools; NULL: none */
        const struct tool_param *items; /* of a list: the fields of each item, which is an object */
        size_t item_count;
};

struct tool {
        const char *name, *title, *help;
        bool reads_only, destructive, idempotent, open_world;
        bool in_workspace; /* takes the parameter `workspace` when there are several workspaces */
        const struct tool_param *parameters;
        size_t parameter_count;
        /* A tool has either run(), which answers at once, */
        void (*run)(struct tool_context *tools, const json_t *arguments, struct tool_result *answer);
        /*
         * or start() and finish(). start() returns a job, or NULL when the answer is complete; finish() answers when
         * the job is over.
         */
        struct job *(*start)(struct tool_context *tools, const json_t *arguments, struct tool_result *answer);
        void (*finish)(struct job *j, struct tool_result *answer);
};

extern const struct tool tool_read, tool_write, tool_edit, tool_multi_edit, tool_notebook_edit, tool_list, tool_move,
        tool_glob, tool_grep, tool_bash, tool_bash_output, tool_kill_shell, tool_web_fetch;
extern const struct tool *const tool_table[];
extern const size_t tool_count;

const struct tool *tool_find(const char *name);

/* The tool as `tools/list` shows it: name, schemas, annotations. NULL without memory. */
json_t *tool_describe(const struct tool *t, const struct named_workspace *names, size_t count);

/*
 * Checks the arguments against the table and runs the tool. Returns NULL when the answer is complete; otherwise a job,
 * and when that is over the caller gets the answer from tool_finish(). The caller frees the answer with
 * tool_result_done().
 */
struct job *tool_call(struct tool_context *tools, const struct tool *t, const json_t *arguments,
                      struct tool_result *answer);
void tool_finish(const struct tool *t, struct job *j, struct tool_result *answer);
void tool_result_done(struct tool_result *answer);

/* --- for the tools themselves --- */

/* Makes the answer an error with this text alone. */
void tool_fail(struct tool_result *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes the answer this error. If the box denies access to `path`, which is absolute, adds the rule that denies it and
 * what would allow it.
 */
void tool_fail_with_rule(const struct tool_context *tools, struct tool_result *answer, const struct error *e,
                         const char *path, bool write);

/* Adds any bytes; each one that is not valid UTF-8 becomes U+FFFD. Returns true if there was one. */
bool tool_add_utf8(struct text *out, const char *bytes, size_t length);

const char *tool_arg_string(const json_t *arguments, const char *name);
/* Which of these words it is; 0 without the argument, so the first word is the default. */
size_t tool_arg_word(const json_t *arguments, const char *name, const char *const *words);
json_int_t tool_arg_integer(const json_t *arguments, const char *name, json_int_t fallback);
bool tool_arg_bool(const json_t *arguments, const char *name);

/* Resolves a path in the workspaces. Returns the workspace that it is in, or NULL with an error in the answer. */
const struct workspace *tool_resolve_path(const struct tool_context *tools, const char *path, struct held_path *ret,
                                          struct tool_result *answer);

/*
 * Whether a file may be overwritten: it was read in this session and has not changed since. False with an error in the
 * answer.
 */
bool tool_check_read_gate(const struct tool_context *tools, const struct held_path *s, const char *verb,
                          struct tool_result *answer);

/* Takes ownership of the command. Without a free slot, kills it and makes the answer an error. */
void background_shell_add(struct tool_context *tools, struct shell_job *s, const char *command,
                          struct tool_result *answer);
/* For tests. */
void background_shells_free(struct tool_context *tools);

/* The type of a file that is not a regular one: "a fifo", "a socket". */
const char *file_kind_name(mode_t mode);

#endif
