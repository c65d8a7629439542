/* MCP over standard input and output. Theory of operation: serve_stdio.c. */
#ifndef RINGWALL_MCP_SERVE_STDIO_H
#define RINGWALL_MCP_SERVE_STDIO_H

#include "base/error.h"
#include "mcp/protocol.h"
#include "policy/plan.h"

/* Serves one client until its input ends. Returns 0, or -errno with an error when the tools cannot be started. */
int serve_stdio(const struct mcp *m, const struct plan *plan, struct error *e);

#endif
