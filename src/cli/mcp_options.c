/* The options of mcp, mcp install and mcp uninstall; see mcp_options.h. */
#include "cli/mcp_options.h"

#include "box/load_flags.h"

static const struct option_row tool_rows[] = {
        { MCP_OPTION_READONLY, 0, "readonly", NULL, OPTION_NONE, false, FLAG_TOOLS, "Offer only the tools that read." },
};
static const struct options_table tools = OPTIONS_TABLE(tool_rows);

static const char clients[] = "Clients";

static const struct option_row client_rows[] = {
        { MCP_OPTION_HTTP, 0, "http", "ADDRESS:PORT|unix:PATH", OPTION_FREE, true, clients,
          "Serve HTTP on this loopback address or unix socket, instead of standard input and output." },
        { MCP_OPTION_TOKEN_FILE, 0, "token-file", "FILE", OPTION_FILE, false, clients,
          "Read from this file the token that HTTP clients must send. Without this option, a new token is made and "
          "printed." },
};
static const struct options_table client_table = OPTIONS_TABLE(client_rows);

static const char *const mcp_description[] = {
        "Serves the Model Context Protocol (versions 2026-07-28, and 2025-11-25 or earlier) on standard input and "
        "output, or over HTTP. Every tool runs inside a box that enforces the policy, so a tool can do no more than a "
        "program in that box. The server that parses the client's messages runs in another box, without files, "
        "network or programs.",
        "Over HTTP a client must send a token ('Authorization: Bearer TOKEN'), which keeps out other users of the "
        "machine; on a unix socket the client must run as the same user instead. Each session has its own box.",
        NULL
};

static const struct options_example mcp_examples[] = {
        { "ringwall mcp --workspace ~/project", "Serve one client, which starts this command." },
        { "ringwall mcp --readonly", "Let an agent read files, but not change them." },
        { "ringwall mcp --http 127.0.0.1:8080", "Serve several clients; the token is printed." },
        { 0 },
};

const struct options_verb mcp_usage = {
        .path = "mcp",
        .summary = "Serve tools to an agent over MCP, from inside a box",
        .tables = { &tools, &flags_tool_options, &client_table, &flags_options },
        .description = mcp_description,
        .examples = mcp_examples,
};

static const char file[] = "The client's file";

static const struct option_row install_rows[] = {
        { MCP_OPTION_PRINT, 0, "print", NULL, OPTION_NONE, false, file,
          "Print the entry for the file, and change nothing; the default." },
        { MCP_OPTION_WRITE, 0, "write", NULL, OPTION_NONE, false, file,
          "Add the entry to the file, and keep a backup beside it." },
        { MCP_OPTION_SCOPE, 0, "scope", "user|project", OPTION_WORDS, false, file,
          "Configure the client for your user, which is the default, or only for the current directory." },
        { MCP_OPTION_NAME, 0, "name", "NAME", OPTION_FREE, false, file,
          "The server's name in the client's configuration; ringwall by default." },
        { MCP_OPTION_ONLY, 0, "only", NULL, OPTION_NONE, false, file,
          "Also switch off the client's own tools, which ringwall does not confine." },
        { MCP_OPTION_FORCE, 0, "force", NULL, OPTION_NONE, false, file, "Replace another server of that name." },
};
static const struct options_table install_table = OPTIONS_TABLE(install_rows);

static const char *const install_description[] = {
        "Prints the client's configuration entry for 'ringwall mcp'. Prints on standard error the file that it belongs "
        "in, and the client's own command for adding it, if there is one. With --write the entry is added to that "
        "file, and the rest of the file does not change. The options of 'ringwall mcp' become part of the entry; "
        "relative paths are made absolute.",
        "The client keeps its own tools, such as Bash and Edit, which no box confines. Which they are is printed. With "
        "--only they are switched off in the client's settings, so that the agent has only the tools of 'ringwall "
        "mcp'. Cursor and VS Code have no such settings in a file: for them --only is refused, and the error says what "
        "to do by hand.",
        "Without --workspace the tools work in the directory in which the client starts the server; for cursor and "
        "vscode, in the folder that is open.",
        NULL
};

static const struct options_example install_examples[] = {
        { "ringwall mcp install claude", "Print the entry for Claude Code." },
        { "ringwall mcp install claude --only --write", "Give Claude Code no tools but those of ringwall." },
        { "ringwall mcp install codex --write --readonly", "Let Codex read files, but not change them." },
        { "ringwall mcp install vscode --write --scope project", "Only for this folder: .vscode/mcp.json." },
        { 0 },
};

const struct options_verb mcp_install_usage = {
        .path = "mcp install",
        .summary = "Connect a client to 'ringwall mcp'",
        .synopsis = "claude|codex|gemini|cursor|vscode",
        .positional = OPTION_WORDS,
        .positionals_min = 1,
        .positionals_max = 1,
        .tables = { &install_table, &tools, &flags_tool_options, &flags_options },
        .description = install_description,
        .examples = install_examples,
};

static const struct option_row uninstall_rows[] = {
        { MCP_OPTION_PRINT, 0, "print", NULL, OPTION_NONE, false, file,
          "Print what would be removed, and change nothing; the default." },
        { MCP_OPTION_WRITE, 0, "write", NULL, OPTION_NONE, false, file,
          "Remove it from the file, and keep a backup beside it." },
        { MCP_OPTION_SCOPE, 0, "scope", "user|project", OPTION_WORDS, false, file,
          "Change your user's configuration, which is the default, or that of the current directory." },
        { MCP_OPTION_NAME, 0, "name", "NAME", OPTION_FREE, false, file,
          "The server's name in the client's configuration; ringwall by default." },
        { MCP_OPTION_FORCE, 0, "force", NULL, OPTION_NONE, false, file,
          "Remove the server of that name even if it does not start ringwall." },
};
static const struct options_table uninstall_table = OPTIONS_TABLE(uninstall_rows);

static const char *const uninstall_description[] = {
        "Prints what 'ringwall mcp install' has put into the client's files. With --write it is removed: the server, "
        "and what --only has added to switch off the client's own tools. The rest of the files does not change. A "
        "file in which nothing is left is removed. Without a server of that name the exit status is 0 too.",
        "The client's own tools are switched on if all are off that --only switches off. Those that were off before "
        "--only, which the backups tell, stay off.",
        NULL
};

static const struct options_example uninstall_examples[] = {
        { "ringwall mcp uninstall claude", "Print what would be removed." },
        { "ringwall mcp uninstall codex --write", "Undo 'ringwall mcp install codex --write'." },
        { 0 },
};

const struct options_verb mcp_uninstall_usage = {
        .path = "mcp uninstall",
        .summary = "Remove 'ringwall mcp' from a client",
        .synopsis = "claude|codex|gemini|cursor|vscode",
        .positional = OPTION_WORDS,
        .positionals_min = 1,
        .positionals_max = 1,
        .tables = { &uninstall_table },
        .description = uninstall_description,
        .examples = uninstall_examples,
};
