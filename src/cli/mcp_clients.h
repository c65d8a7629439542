/* The MCP clients that people use: where each keeps its configuration, and in which words. */
#ifndef RINGWALL_CLI_MCP_CLIENTS_H
#define RINGWALL_CLI_MCP_CLIENTS_H

#include "base/memory.h"
#include "cli/config_edit.h"

enum mcp_scope { MCP_SCOPE_USER, MCP_SCOPE_PROJECT, MCP_SCOPES };

/* What a client replaces in a command and its arguments. None of them has a way to write such a text. */
enum mcp_variables { MCP_VARIABLES_NONE, MCP_VARIABLES_BRACED /* ${NAME} */, MCP_VARIABLES_BARE /* $NAME, too */ };

struct mcp_client {
        const char *name;  /* on our command line */
        const char *title; /* what people call it */
        const struct config_format *format;
        const char *section;
        bool typed; /* an entry says that it is about standard input and output */

        /* The user's file: below the directory that the variable names, if it is set, else below the home. */
        const char *variable, *below_variable, *below_home;
        const char *in_project;

        /* The client's own command that adds an entry; NAME, COMMAND, ARGS and JSON stand for parts of it. Or NULL. */
        const char *own_command[MCP_SCOPES];

        enum mcp_variables variables;
        const char *folder; /* the variable for the directory that is open, where that need not be the current one */
};

/* NULL when nobody is called that. */
const struct mcp_client *mcp_client_find(const char *name);

/* The file for the user, absolute; NULL without a home or memory. */
const char *mcp_client_user_file(struct arena *a, const struct mcp_client *client, const char *home);

/* Would the client replace a part of this text? */
bool mcp_client_expands(const struct mcp_client *client, const char *text);

/* Adds the client's own command, as a line for a shell; nothing when there is none. */
void mcp_client_add_command(struct text *out, const struct mcp_client *client, enum mcp_scope scope,
                            const struct config_entry *entry);

/* Adds a word for a shell: quoted where it must be, and never more than one line. */
void mcp_client_add_word(struct text *out, const char *word);

#endif
