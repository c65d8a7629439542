/* The options of `ringwall mcp`, shared by ringwall (help, completions) and ringwall-mcp, which parses them. */
#ifndef RINGWALL_CLI_MCP_OPTIONS_H
#define RINGWALL_CLI_MCP_OPTIONS_H

#include "base/options.h"
#include "cli/run_options.h"

enum mcp_option {
        MCP_OPTION_READONLY = 200, /* behind those of run_options.h */
        MCP_OPTION_MODE,
        MCP_OPTION_HTTP,
        MCP_OPTION_TOKEN_FILE,
};

extern const struct options_verb mcp_usage;

#endif
