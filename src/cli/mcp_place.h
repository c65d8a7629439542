/*
 * What `mcp install` and `mcp uninstall` share: which client's files are meant, their content, and messages about them.
 *
 * For the user's files every symlink is followed. In a project an agent may have created one, so there a symlink must
 * not lead out of the project.
 */
#ifndef RINGWALL_CLI_MCP_PLACE_H
#define RINGWALL_CLI_MCP_PLACE_H

#include "base/options.h"
#include "cli/client_config_file.h"
#include "cli/mcp_clients.h"
#include "policy/host_facts.h"

/* One of the client's files: that with the entry, that with the switches of its own tools, or both in one. */
struct client_file {
        const char *path; /* NULL if there is no such file */
        bool has_entry, has_switches;
        struct client_config_file content;
        struct edit_result entry, switches; /* the second starts from the result of the first */
        int entry_outcome, switches_outcome; /* enum edit_outcome */
        const struct text *changed;         /* the new text; NULL if nothing changes */
        struct text backup;                 /* its path, once it was made */
};
enum { CLIENT_FILES_MAX = 2 };

struct mcp_place {
        const char *verb;
        const struct options_result *options;
        const struct mcp_client *client;
        enum mcp_scope scope;
        const char *name; /* of the entry */
        const char *root; /* a directory that symlinks must not lead out of */
        struct client_file files[CLIENT_FILES_MAX]; /* the first has the entry */
        struct host_facts facts;
        struct arena *arena;
};
#define MCP_PLACE_NONE                                                                                                 \
        ((struct mcp_place){ .files = { { .content = CONFIG_FILE_NONE }, { .content = CONFIG_FILE_NONE } } })

/* Finds the client, its files, and the name, by the options. Returns 0, or an exit status after a message. */
int mcp_place_find(const char *verb, const struct options_result *options, struct mcp_place *ret);
void mcp_place_done(struct mcp_place *p);

/* Makes untrusted text safe to print in a message. */
const char *mcp_printable(struct mcp_place *p, const char *text);

/* The path of a file for a message, after it was read: with all symlinks resolved. */
const char *mcp_file_path(struct mcp_place *p, const struct client_file *f);

/* The file that has the switches; NULL if the client has none. */
struct client_file *mcp_switches_file(struct mcp_place *p);

/* Adds the names in this set, separated by commas. */
void mcp_add_names(struct text *out, const struct client_switches *s, uint32_t which);

/* Adds lines of untrusted text, each made safe to print. */
void mcp_add_lines(struct text *out, const struct text *lines);

/* Reads the file. Returns 0, or an exit status after a message. */
int mcp_read_file(struct mcp_place *p, struct client_file *f);

/* Writes the changed text, and notes the path of the backup. Returns 0, or an exit status after a message. */
int mcp_write_file(struct mcp_place *p, struct client_file *f);

/*
 * Reports that a file cannot be edited, with the position if there is one. `by_hand` is what to do instead. Returns an
 * exit status.
 */
int mcp_refuse_edit(struct mcp_place *p, const struct client_file *f, const struct edit_result *c,
                    const struct error *e, const struct text *by_hand);

#endif
