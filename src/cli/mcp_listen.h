/* Where `ringwall mcp --http` listens, and the token that its clients show. */
#ifndef RINGWALL_CLI_MCP_LISTEN_H
#define RINGWALL_CLI_MCP_LISTEN_H

#include <stdbool.h>

#include "base/error.h"

enum { MCP_TOKEN_MOST = 256, MCP_URL_MOST = 160 };

struct mcp_listening {
        int fd;
        bool local;             /* a unix socket */
        char url[MCP_URL_MOST]; /* where clients find it */
        const char *path;       /* of the unix socket, to be removed at the end */
};

/*
 * Listens on ADDRESS:PORT of loopback (a port alone, or 0 for any, will do) or unix:PATH. Returns 0 or -errno with an
 * error; another address is refused.
 */
int mcp_listen(const char *address, struct mcp_listening *ret, struct error *e);

/* Closes it, and removes a unix socket. */
void mcp_listen_end(struct mcp_listening *l);

/* The token in the file's first line, which only its owner may read; or a new one when `file` is NULL. */
int mcp_token(const char *file, char ret[MCP_TOKEN_MOST], struct error *e);

#endif
