/*
 * The MCP clients that `mcp install` knows: the files, format and syntax of each one's configuration, and how its own
 * tools are switched off.
 */
#ifndef RINGWALL_CLI_MCP_CLIENTS_H
#define RINGWALL_CLI_MCP_CLIENTS_H

#include "base/memory.h"
#include "cli/client_config.h"

enum mcp_scope { MCP_SCOPE_USER, MCP_SCOPE_PROJECT, MCP_SCOPES };

/* Which variables a client expands in a command and its arguments. No client has an escape for a literal '$'. */
enum mcp_variables { MCP_VARIABLES_NONE, MCP_VARIABLES_BRACED /* ${NAME} */, MCP_VARIABLES_BARE /* also $NAME */ };

/* The name of a file: of the user's in the directory that the variable names, if it is set; else in the home. */
struct client_location {
        const char *variable, *below_variable, *below_home;
        const char *in_project;
};

struct mcp_client {
        const char *name;  /* on ringwall's command line */
        const char *title; /* in messages */
        const struct client_config_format *format;
        const char *section;
        bool typed; /* an entry needs "type": "stdio" */
        struct client_location file;

        /* The client's own command that adds an entry, or NULL; NAME, COMMAND, ARGS and JSON are placeholders. */
        const char *own_command[MCP_SCOPES];

        enum mcp_variables variables;
        const char *folder; /* the client's variable for the open directory, if it may not be the current one */

        /* The client's own tools, which ringwall does not confine. */
        const struct client_switches *switches;      /* what switches them off; NULL if no file can */
        const struct client_location *switches_file; /* where; NULL: in the file with the entry */
        const char *own_tools;                       /* their names; NULL: those of the switches */
        const char *remaining;                       /* sentences about tools that have no switch, or NULL */
        const char *by_hand;                         /* without switches: what to do instead */
};

/* NULL if there is no client of that name. */
const struct mcp_client *mcp_client_find(const char *name);

/* The absolute path of the user's file; NULL without a home or memory. */
const char *mcp_client_user_file(struct arena *a, const struct client_location *location, const char *home);

/* Would the client expand a variable in this text? */
bool mcp_client_would_expand(const struct mcp_client *client, const char *text);

/* Adds the client's own command as a shell command line; nothing if it has none. */
void mcp_client_add_command(struct text *out, const struct mcp_client *client, enum mcp_scope scope,
                            const struct client_entry *entry);

/* Adds a word for a shell, quoted if necessary. The result never contains a line break. */
void mcp_client_add_word(struct text *out, const char *word);

#endif
