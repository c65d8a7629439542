/* The parameters of tools: their schema for clients, and the check of a call's arguments against the tables. */
#ifndef RINGWALL_TOOLS_TOOL_ARGUMENTS_H
#define RINGWALL_TOOLS_TOOL_ARGUMENTS_H

#include "tools/tool.h"

struct tool_fields {
        const struct tool_param *list;
        size_t count;
        const struct tool_param *more; /* one more field; NULL: none */
};

/* The schema of an object with these fields. NULL without memory. */
json_t *tool_fields_describe(const struct tool_fields *fields);

/* The schema of one field. NULL without memory. */
json_t *tool_field_describe(const struct tool_param *f);

/*
 * Checks an object against its fields. Returns it under the names that the tables have, without null values: a new
 * reference, or NULL with an error in the answer. `owner` is what errors call it: "Read", "edit 2 of MultiEdit".
 */
json_t *tool_fields_take(const struct tool_fields *fields, const char *owner, const json_t *object,
                         struct tool_result *answer);

#endif
