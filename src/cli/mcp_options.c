/* The options of mcp; see mcp_options.h. */
#include "cli/mcp_options.h"

static const struct option_row rows[] = {
        { MCP_OPTION_READONLY, 0, "readonly", NULL, OPTION_NONE, false, "Tools", "Offer only the tools that read." },
        { MCP_OPTION_MODE, 0, "mode", "accept-edits|auto", OPTION_WORDS, false, "Tools",
          "What the tools may do without asking; so far only auto: everything that the box allows." },
};
static const struct options_table table = OPTIONS_TABLE(rows);

const struct options_verb mcp_usage = {
        .path = "mcp",
        .summary = "Offer an agent its tools, in a box, over MCP",
        .tables = { &table, &run_options_policy },
        .description = (const char *const[]){
                "Speaks the Model Context Protocol on standard input and output, in both of its eras. Every tool runs inside "
                "a box that holds the policy: what a tool can reach is what a program in that box can.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall mcp --workspace ~/project", "What a client's configuration would start." },
                { "ringwall mcp --readonly", "Let an agent look and not touch." },
                { 0 } },
};
