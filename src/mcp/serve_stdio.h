/* MCP over standard input and output: one JSON object per line. */
#ifndef RINGWALL_MCP_SERVE_STDIO_H
#define RINGWALL_MCP_SERVE_STDIO_H

#include "mcp/server.h"

/* Serves one client until EOF, and then briefly waits for pending calls. Returns 0 or -errno with an error. */
int serve_stdio(struct server *s, struct error *e);

#endif
