/* MCP over HTTP ("Streamable HTTP"), on loopback or a unix socket. Theory of operation: serve_http.c. */
#ifndef RINGWALL_MCP_SERVE_HTTP_H
#define RINGWALL_MCP_SERVE_HTTP_H

#include "mcp/server.h"

#define HTTP_PATH "/mcp"

struct http_listener {
        int fd;
        bool local; /* a unix socket: clients are identified by uid, and browsers cannot connect */
};

struct http_config {
        const struct http_listener *listeners;
        size_t listener_count;
        const char *token; /* clients on TCP must send it; NULL: no token is required */
};

/* Serves until server_stop(). Returns 0 or -errno with an error. */
int serve_http(struct server *s, const struct http_config *setup, struct error *e);

#endif
