/* The options of mcp; see mcp_options.h. */
#include "cli/mcp_options.h"

static const struct option_row rows[] = {
        { MCP_OPTION_READONLY, 0, "readonly", NULL, OPTION_NONE, false, "Tools", "Offer only the tools that read." },
        { MCP_OPTION_MODE, 0, "mode", "accept-edits|auto", OPTION_WORDS, false, "Tools",
          "What the tools may do without asking; so far only auto: everything that the box allows." },
        { MCP_OPTION_HTTP, 0, "http", "ADDRESS:PORT|unix:PATH", OPTION_FREE, true, "Clients",
          "Speak HTTP on this address of loopback, or on this unix socket, instead of standard input and output." },
        { MCP_OPTION_TOKEN_FILE, 0, "token-file", "FILE", OPTION_FILE, false, "Clients",
          "The token that clients over HTTP must show is in this file. Without it, a new one is made and printed." },
};
static const struct options_table table = OPTIONS_TABLE(rows);

const struct options_verb mcp_usage = {
        .path = "mcp",
        .summary = "Offer an agent its tools, in a box, over MCP",
        .tables = { &table, &run_options_policy },
        .description = (const char *const[]){
                "Speaks the Model Context Protocol on standard input and output, or over HTTP, in both of its eras. Every tool "
                "runs inside a box that holds the policy: what a tool can reach is what a program in that box can. What reads "
                "the client's messages runs in a box of its own, in which there is nothing.",
                "Over HTTP a client shows a token ('Authorization: Bearer TOKEN'), which keeps other users of the machine out; on a "
                "unix socket its user is enough. Each session has a box of its own.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall mcp --workspace ~/project", "What a client's configuration would start." },
                { "ringwall mcp --readonly", "Let an agent look and not touch." },
                { "ringwall mcp --http 127.0.0.1:8080", "Serve several clients; the token is printed." },
                { 0 } },
};
