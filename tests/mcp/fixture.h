/*
 * A server with the fixtures that the MCP conformance suite expects, built on ringwall's own HTTP transport, protocol
 * and sessions, which are what the suite tests here. Its tools, prompts and resources exist only for the suite. It has
 * no box, because it runs no program, and no token, because the suite cannot send one. Never installed.
 */
#ifndef RINGWALL_TESTS_MCP_FIXTURE_H
#define RINGWALL_TESTS_MCP_FIXTURE_H

#include "mcp/server.h"

enum { RESOURCE_NOT_FOUND = -32002 }; /* the error code of the legacy era */

/* A picture of one pixel, and an empty sound. */
#define IMAGE "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define SOUND "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

/* --- fixture_catalog.c --- */

struct fixture_tool {
        const char *name;
        const char *result;               /* a constant result; NULL: */
        void (*call)(struct pending_request *x); /* makes the result */
        const char *schema;               /* NULL: it takes no arguments */
};

/* Parses JSON that has ' in place of ". Aborts if it is not valid. */
json_t *parse_quoted(const char *text);

/* A string argument of the call; "" if there is none. */
const char *argument(const struct pending_request *x, const char *name);

void answer_text(struct pending_request *x, const char *text);

void list_tools(struct pending_request *x);
void call_tool(struct pending_request *x);
void list_prompts(struct pending_request *x);
void get_prompt(struct pending_request *x);
void list_resources(struct pending_request *x);
void list_templates(struct pending_request *x);
void read_resource(struct pending_request *x);

/* --- fixture_deferred.c: replies that come later, need an answer of the client, or never come --- */

void reply_after_logging(struct pending_request *x);
void reply_after_progress(struct pending_request *x);
void reply_after_reconnection(struct pending_request *x);

void ask_sampling(struct pending_request *x);
void ask_elicitation(struct pending_request *x);
void ask_defaults(struct pending_request *x);
void ask_choices(struct pending_request *x);
void on_client_answer(struct session *s, const struct mcp_message *response);

void log_if_requested(struct pending_request *x);
void subscribe_to_changes(struct pending_request *x);
void announce_changed_tools(struct pending_request *x);
void announce_changed_prompts(struct pending_request *x);

void free_pending(struct pending_request *x);

/* --- fixture_input.c: results that ask the client for input, which comes with its next request --- */

/*
 * Returns the client's input, which the caller owns, if it is complete. Otherwise replies to the request, with a result
 * that asks for the missing input or with an error, and returns NULL.
 */
json_t *require_input(struct pending_request *x);

/* For tools whose result is just the client's input. */
void answer_input(struct pending_request *x);

/* Makes the key of the MAC that protects request states. */
bool make_state_key(void);

#endif
