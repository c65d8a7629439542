/* MCP over standard input and output: one JSON object a line, nothing else. */
#ifndef RINGWALL_MCP_SERVE_STDIO_H
#define RINGWALL_MCP_SERVE_STDIO_H

#include "mcp/server.h"

/* Serves one client until it has said all and been answered. Returns 0 or -errno with an error. */
int serve_stdio(struct server *s, struct error *e);

#endif
