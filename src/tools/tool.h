/*
 * The agent's tools: one file each, one table for all. They run inside the box, so what they can reach is what the box
 * can; what they add is a helpful answer. Called through toolbox_call(), which checks the arguments first.
 */
#ifndef RINGWALL_TOOLS_TOOL_H
#define RINGWALL_TOOLS_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "path/tracker.h"
#include "path/workspace.h"
#include "policy/plan.h"
#include "tools/job.h"

struct capture_filter;
struct shell;

enum { BACKGROUND_MOST = 32, WORKSPACES_MOST = 16 };

/* A directory that tools work in, and what calls name it by. */
struct workspace_name {
        const char *name, *path;
};

/* What the tools of one session share. */
struct toolbox {
        struct workspace **workspaces;
        const struct workspace_name *names; /* of each */
        size_t workspace_count;
        size_t current;                /* the one that the call is about: relative paths belong to it */
        struct tracker *tracker;
        mode_t new_mode;               /* of files that are made */
        char *const *environment;      /* of commands */
        int64_t most_seconds;          /* that a command may take; 0: as long as it was asked for */
        const struct plan *plan;       /* of the box, to say which rule refused something; NULL: nobody knows */
        domain_to_ascii *to_ascii;     /* for hosts in other scripts; NULL: there are none */
        const struct capture_filter *filter; /* of what commands write; NULL: none */
        struct shell *background[BACKGROUND_MOST]; /* commands that nobody waits for; NULL: free */
};

struct tool_answer {
        bool is_error;
        struct text text;       /* what the agent reads */
        json_t *structured;     /* the same for programs, as the tool's results say; NULL after an error */
        const char *image_type; /* with it, text is not text but the image, as base64 */
};

enum tool_type { TOOL_STRING, TOOL_INTEGER, TOOL_BOOLEAN };

/* A parameter, or a part of the structured result. */
struct tool_field {
        const char *name;
        enum tool_type type;
        bool required;
        const char *help;
        json_int_t least, most; /* of an integer parameter; both 0: any */
};

struct tool {
        const char *name, *title, *help;
        bool reads_only, destructive, idempotent, open_world;
        bool in_workspace; /* where there are several, a call can name one */
        const struct tool_field *parameters;
        size_t parameter_count;
        const struct tool_field *results;
        size_t result_count;
        /* Either it answers at once, */
        void (*run)(struct toolbox *box, const json_t *arguments, struct tool_answer *answer);
        /* or it starts something that takes its time, and answers when that has ended. NULL: the answer says why not. */
        struct job *(*start)(struct toolbox *box, const json_t *arguments, struct tool_answer *answer);
        void (*finish)(struct job *j, struct tool_answer *answer);
};

extern const struct tool tool_read, tool_write, tool_edit, tool_glob, tool_grep, tool_bash, tool_bash_output,
        tool_kill_shell, tool_web_fetch;
extern const struct tool *const tools[];
extern const size_t tool_count;

const struct tool *tool_find(const char *name);

/* What a client is told of it, where there are these workspaces: name, schemas, annotations. NULL without memory. */
json_t *tool_describe(const struct tool *t, const struct workspace_name *names, size_t count);

/*
 * Checks the arguments against the table and runs it. Returns NULL when the answer is there, else what has to end first:
 * then toolbox_finish(). The answer is the caller's to end with tool_answer_done().
 */
struct job *toolbox_call(struct toolbox *box, const struct tool *t, const json_t *arguments, struct tool_answer *answer);
void toolbox_finish(const struct tool *t, struct job *j, struct tool_answer *answer);
void tool_answer_done(struct tool_answer *answer);

/* --- for the tools themselves --- */

/* Makes it an error, with this sentence alone. */
void tool_fail(struct tool_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes it this error, and says which rule of the box is behind it and what would allow it, if one is. `path` is absolute. */
void toolbox_fail(const struct toolbox *box, struct tool_answer *answer, const struct error *e, const char *path, bool write);

/* Adds bytes that may be anything: what is not UTF-8 becomes U+FFFD. True when something was not. */
bool tool_add_utf8(struct text *out, const char *bytes, size_t length);

const char *tool_string(const json_t *arguments, const char *name);
json_int_t tool_integer(const json_t *arguments, const char *name, json_int_t fallback);
bool tool_flag(const json_t *arguments, const char *name);

/* Finds a path in one of the workspaces, and says which; NULL when the answer says why not. */
const struct workspace *toolbox_find(const struct toolbox *box, const char *path, struct spot *ret, struct tool_answer *answer);

/* Whether a file may be overwritten: it was read, and is as it was then. False when the answer says why not. */
bool toolbox_may_change(const struct toolbox *box, const struct spot *s, const char *verb, struct tool_answer *answer);

/* Takes the command over, or ends it; the answer says which. */
void background_add(struct toolbox *box, struct shell *s, const char *command, struct tool_answer *answer);
void background_free(struct toolbox *box);

/* "a fifo", "a socket"; what a file is when it is no regular one. */
const char *tool_kind_of(mode_t mode);

#endif
