/* The options of `ringwall mcp`. ringwall-mcp parses them; ringwall needs them for help and completions. */
#ifndef RINGWALL_CLI_MCP_OPTIONS_H
#define RINGWALL_CLI_MCP_OPTIONS_H

#include "base/options.h"

enum mcp_option {
        MCP_OPTION_READONLY = 200,
        MCP_OPTION_HTTP,
        MCP_OPTION_TOKEN_FILE,
        MCP_OPTION_PRINT, /* from here on: options of `install` itself, which are not passed on to `ringwall mcp` */
        MCP_OPTION_WRITE,
        MCP_OPTION_SCOPE,
        MCP_OPTION_NAME,
        MCP_OPTION_ONLY,
        MCP_OPTION_FORCE,
};

extern const struct options_verb mcp_usage, mcp_install_usage, mcp_uninstall_usage;

#endif
