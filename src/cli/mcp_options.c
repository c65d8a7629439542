/* The options of mcp and mcp install; see mcp_options.h. */
#include "cli/mcp_options.h"

static const struct option_row rows[] = {
        { MCP_OPTION_READONLY, 0, "readonly", NULL, OPTION_NONE, false, "Tools", "Offer only the tools that read." },
        { MCP_OPTION_MODE, 0, "mode", "accept-edits|auto", OPTION_WORDS, false, "Tools",
          "What the tools may do without asking; so far only auto: everything that the box allows." },
};
const struct options_table mcp_options_tools = OPTIONS_TABLE(rows);

static const struct option_row client_rows[] = {
        { MCP_OPTION_HTTP, 0, "http", "ADDRESS:PORT|unix:PATH", OPTION_FREE, true, "Clients",
          "Speak HTTP on this address of loopback, or on this unix socket, instead of standard input and output." },
        { MCP_OPTION_TOKEN_FILE, 0, "token-file", "FILE", OPTION_FILE, false, "Clients",
          "The token that clients over HTTP must show is in this file. Without it, a new one is made and printed." },
};
static const struct options_table clients = OPTIONS_TABLE(client_rows);

const struct options_verb mcp_usage = {
        .path = "mcp",
        .summary = "Offer an agent its tools, in a box, over MCP",
        .tables = { &mcp_options_tools, &clients, &run_options_policy },
        .description = (const char *const[]){
                "Speaks the Model Context Protocol on standard input and output, or over HTTP, in both of its eras. Every tool "
                "runs inside a box that holds the policy: what a tool can reach is what a program in that box can. What reads "
                "the client's messages runs in a box of its own, in which there is nothing.",
                "Over HTTP a client shows a token ('Authorization: Bearer TOKEN'), which keeps other users of the machine out; on a "
                "unix socket its user is enough. Each session has a box of its own.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall mcp --workspace ~/project", "What a client's configuration would start." },
                { "ringwall mcp --readonly", "Let an agent look and not touch." },
                { "ringwall mcp --http 127.0.0.1:8080", "Serve several clients; the token is printed." },
                { 0 } },
};

static const char client[] = "The client's file";

static const struct option_row install_rows[] = {
        { MCP_OPTION_PRINT, 0, "print", NULL, OPTION_NONE, false, client,
          "Print what belongs into the file; the default." },
        { MCP_OPTION_WRITE, 0, "write", NULL, OPTION_NONE, false, client,
          "Put it there, and keep a backup beside the file." },
        { MCP_OPTION_SCOPE, 0, "scope", "user|project", OPTION_WORDS, false, client,
          "For all that you do with the client, which is the default, or only in the current directory." },
        { MCP_OPTION_NAME, 0, "name", "NAME", OPTION_FREE, false, client,
          "What the client calls the server; ringwall by default." },
        { MCP_OPTION_FORCE, 0, "force", NULL, OPTION_NONE, false, client, "Replace another server of that name." },
};
static const struct options_table install_table = OPTIONS_TABLE(install_rows);

const struct options_verb mcp_install_usage = {
        .path = "mcp install",
        .summary = "Connect a client to 'ringwall mcp'",
        .synopsis = "claude|codex|gemini|cursor|vscode",
        .positional = OPTION_WORDS,
        .positionals_min = 1,
        .positionals_max = 1,
        .tables = { &install_table, &mcp_options_tools, &run_options_policy },
        .description = (const char *const[]){
                "Prints the client's configuration for 'ringwall mcp', and on standard error the file that it belongs "
                "to and the client's own command, if it has one. With --write the entry is put into that file, and "
                "nothing else in it changes. The options of 'ringwall mcp' are passed on to it; relative paths are made "
                "absolute.",
                "Without --workspace the tools work in the directory that the client starts them in; cursor and vscode "
                "are told to name the folder that is open.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall mcp install claude", "What to put where for Claude Code." },
                { "ringwall mcp install codex --write --readonly", "Let Codex look and not touch." },
                { "ringwall mcp install vscode --write --scope project", "Only for this folder: .vscode/mcp.json." },
                { 0 } },
};
