/* The listening sockets of `ringwall mcp --http`, and the token that its clients must send. */
#ifndef RINGWALL_CLI_MCP_LISTEN_H
#define RINGWALL_CLI_MCP_LISTEN_H

#include <stdbool.h>

#include "base/error.h"

enum { MCP_TOKEN_MAX = 256, MCP_URL_MAX = 160 };

struct mcp_listener {
        int fd;
        bool local;             /* a unix socket */
        char url[MCP_URL_MAX]; /* for the clients */
        const char *path;       /* of the unix socket, which is removed at the end; NULL on TCP */
};

/*
 * Listens on ADDRESS:PORT, on PORT of 127.0.0.1, or on unix:PATH. Port 0 chooses a free port. An address that is not
 * loopback is refused. Returns 0 or -errno with an error.
 */
int mcp_listen(const char *address, struct mcp_listener *ret, struct error *e);

/* Closes the socket, and removes a unix socket's file. */
void mcp_listener_close(struct mcp_listener *l);

/* Reads the token from the first line of `file`, which only its owner, the user, may access; NULL: makes a new one. */
int mcp_load_token(const char *file, char ret[MCP_TOKEN_MAX], struct error *e);

#endif
