/* MCP over HTTP ("Streamable HTTP"), on loopback or a unix socket. Theory of operation: serve_http.c. */
#ifndef RINGWALL_MCP_SERVE_HTTP_H
#define RINGWALL_MCP_SERVE_HTTP_H

#include "mcp/server.h"

#define HTTP_PATH "/mcp"

struct http_listener {
        int fd;
        bool local; /* a unix socket: who may connect is known by its uid, and no browser gets here */
};

struct http_setup {
        const struct http_listener *listeners;
        size_t listener_count;
        const char *token; /* that clients must show, but on unix sockets; NULL: none */
};

/* Serves until server_stop(). Returns 0 or -errno with an error. */
int serve_http(struct server *s, const struct http_setup *setup, struct error *e);

#endif
