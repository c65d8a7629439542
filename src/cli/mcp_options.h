/* The options of `ringwall mcp`, shared by ringwall (help, completions, install) and ringwall-mcp, which parses them. */
#ifndef RINGWALL_CLI_MCP_OPTIONS_H
#define RINGWALL_CLI_MCP_OPTIONS_H

#include "base/options.h"
#include "cli/run_options.h"

enum mcp_option {
        MCP_OPTION_READONLY = 200, /* behind those of run_options.h */
        MCP_OPTION_MODE,
        MCP_OPTION_HTTP,
        MCP_OPTION_TOKEN_FILE,
        MCP_OPTION_PRINT, /* from here on those of install itself, which are not passed on */
        MCP_OPTION_WRITE,
        MCP_OPTION_SCOPE,
        MCP_OPTION_NAME,
        MCP_OPTION_FORCE,
};

extern const struct options_verb mcp_usage, mcp_install_usage;

/* What the tools may do; `mcp install` passes it on. */
extern const struct options_table mcp_options_tools;

#endif
