/*
 * A server with what the MCP conformance suite asks for, on ringwall's own carrier, protocol and sessions: what is tested is
 * those. Its tools, prompts and resources are the suite's and exist nowhere else; it has no box, because nothing of it runs
 * anything, and no token, because the suite cannot show one. Never installed.
 */
#ifndef RINGWALL_TESTS_MCP_FIXTURE_H
#define RINGWALL_TESTS_MCP_FIXTURE_H

#include "mcp/server.h"

enum { RESOURCE_NOT_FOUND = -32002 }; /* what the legacy era says of one */

/* A picture of one pixel, and no sound at all. */
#define IMAGE "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define SOUND "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

/* --- fixture_offers.c --- */

struct fixture_tool {
        const char *name;
        const char *result;             /* what it always answers; or: */
        void (*call)(struct exchange *x);
        const char *schema;             /* NULL: it takes nothing */
};

/* JSON that is written with ' in place of ". */
json_t *quoted(const char *text);

/* An argument of the call that is a string; "" when there is none. */
const char *argument(const struct exchange *x, const char *name);

void answer_text(struct exchange *x, const char *text);

void list_tools(struct exchange *x);
void call_tool(struct exchange *x);
void list_prompts(struct exchange *x);
void get_prompt(struct exchange *x);
void list_resources(struct exchange *x);
void list_templates(struct exchange *x);
void read_resource(struct exchange *x);

/* --- fixture_plays.c: answers that take their time, ask the client something, or never come --- */

void play_logging(struct exchange *x);
void play_progress(struct exchange *x);
void play_reconnection(struct exchange *x);

void ask_sampling(struct exchange *x);
void ask_elicitation(struct exchange *x);
void ask_defaults(struct exchange *x);
void ask_choices(struct exchange *x);
void hear_answer(struct session *s, const struct mcp_message *response);

void log_when_asked(struct exchange *x);
void listen_for_changes(struct exchange *x);
void change_tools(struct exchange *x);
void change_prompts(struct exchange *x);

void end_play(struct exchange *x);

/* --- fixture_input.c: results that ask for input, and what comes back with the next request --- */

/* What completes the request, which the caller owns; or NULL, and it is answered: with what is still wanted, or an error. */
json_t *need_input(struct exchange *x);

/* The tools whose whole answer is what they were told. */
void answer_input(struct exchange *x);

/* Makes the key that states are sealed with. */
bool prepare_seal(void);

#endif
