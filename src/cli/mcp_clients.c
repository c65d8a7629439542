/* The table of clients, made from their documentation; see mcp_clients.h. */
#include "cli/mcp_clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/*
 * Tools that read or change files, start programs, or reach hosts. Claude Code warns of names that it does not know, so
 * those of older versions are not here.
 */
static const char *const claude_tools[] = { "Bash", "PowerShell", "Monitor", "Read", "Edit", "Write", "NotebookEdit",
                                            "Glob", "Grep", "LSP", "EnterWorktree", "ExitWorktree", "WebFetch",
                                            "WebSearch", NULL };
static const struct client_switches claude_switches = { "permissions", "deny", claude_tools };
static const struct client_location claude_settings = { "CLAUDE_CONFIG_DIR", "settings.json", ".claude/settings.json",
                                                        ".claude/settings.json" };

static const char *const codex_features[] = { "shell_tool", "unified_exec", "view_image", NULL };
static const struct client_switches codex_switches = { "features", NULL, codex_features };

static const char *const gemini_tools[] = { "run_shell_command", "list_background_processes", "read_background_output",
                                            "read_file", "read_many_files", "write_file", "replace", "glob",
                                            "grep_search", "list_directory", "web_fetch", "google_web_search", NULL };
static const struct client_switches gemini_switches = { "tools", "exclude", gemini_tools };

static const struct mcp_client clients[] = {
        {
                .name = "claude",
                .title = "Claude Code",
                .format = &client_config_json,
                .section = "mcpServers",
                .typed = true,
                .file = { "CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json", ".mcp.json" },
                .own_command = { "claude mcp add --scope user NAME -- COMMAND ARGS",
                                 "claude mcp add --scope project NAME -- COMMAND ARGS" },
                .variables = MCP_VARIABLES_BRACED,
                .switches = &claude_switches,
                .switches_file = &claude_settings,
        },
        {
                .name = "codex",
                .title = "Codex",
                .format = &client_config_toml,
                .section = "mcp_servers",
                .file = { "CODEX_HOME", "config.toml", ".codex/config.toml", ".codex/config.toml" },
                .own_command = { "codex mcp add NAME -- COMMAND ARGS", NULL },
                .own_tools = "exec_command, write_stdin, view_image",
                .switches = &codex_switches,
                .remaining = "Codex also keeps apply_patch, which edits files, and web_search: no feature switches "
                             "them off. In the same file, sandbox_mode = \"read-only\" makes it ask before each edit, "
                             "and web_search = \"disabled\" ends the search.",
        },
        {
                .name = "gemini",
                .title = "Gemini CLI",
                .format = &client_config_json,
                .section = "mcpServers",
                .file = { "GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json",
                          ".gemini/settings.json" },
                .own_command = { "gemini mcp add --scope user NAME COMMAND -- ARGS",
                                 "gemini mcp add --scope project NAME COMMAND -- ARGS" },
                .variables = MCP_VARIABLES_BARE,
                .switches = &gemini_switches,
        },
        {
                .name = "cursor",
                .title = "Cursor",
                .format = &client_config_json,
                .section = "mcpServers",
                .typed = true,
                .file = { NULL, NULL, ".cursor/mcp.json", ".cursor/mcp.json" },
                .variables = MCP_VARIABLES_BRACED,
                .folder = "${workspaceFolder}",
                .own_tools = "commands in its terminal, editing, reading and searching files, the web",
                .by_hand = "in Cursor Settings, Agents, choose the run mode that asks, and refuse its calls",
        },
        {
                .name = "vscode",
                .title = "VS Code",
                .format = &client_config_json,
                .section = "servers",
                .typed = true,
                .file = { "XDG_CONFIG_HOME", "Code/User/mcp.json", ".config/Code/User/mcp.json", ".vscode/mcp.json" },
                .own_command = { "code --add-mcp JSON", NULL },
                .variables = MCP_VARIABLES_BRACED,
                .folder = "${workspaceFolder}",
                .own_tools = "edit, execute, read, search, web",
                .by_hand = "in the Chat view choose Configure Tools, and leave only ringwall's selected",
        },
};

const struct mcp_client *mcp_client_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
                if (strcmp(clients[i].name, name) == 0)
                        return &clients[i];
        return NULL;
}

const char *mcp_client_user_file(struct arena *a, const struct client_location *location, const char *home)
{
        const char *folder = location->variable ? secure_getenv(location->variable) : NULL;
        if (folder && *folder == '/')
                return arena_format(a, "%s/%s", folder, location->below_variable);
        return home ? arena_format(a, "%s/%s", home, location->below_home) : NULL;
}

static bool is_name_character(char c)
{
        return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool mcp_client_would_expand(const struct mcp_client *client, const char *text)
{
        if (client->variables == MCP_VARIABLES_NONE)
                return false;
        for (const char *dollar = text; (dollar = strchr(dollar, '$')); dollar++)
                if (dollar[1] == '{' || (client->variables == MCP_VARIABLES_BARE && is_name_character(dollar[1])))
                        return true;
        return false;
}

/* --- shell command lines --- */

void mcp_client_add_word(struct text *out, const char *word)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
        if (*word && !word[strspn(word, plain)]) {
                text_add(out, word);
                return;
        }
        /* bash, zsh and ksh support $'…', where \x takes at most two digits, so a digit may follow. */
        bool control = false;
        for (const unsigned char *c = (const unsigned char *)word; *c; c++)
                control |= *c < ' ' || *c == 0x7f;
        text_add(out, control ? "$'" : "'");
        for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
                if (*c < ' ' || *c == 0x7f)
                        text_format(out, "\\x%02x", *c);
                else if (control && (*c == '\'' || *c == '\\'))
                        text_format(out, "\\%c", *c);
                else if (*c == '\'')
                        text_add(out, "'\\''");
                else
                        text_add_bytes(out, (const char *)c, 1);
        }
        text_add(out, "'");
}

static void add_json(struct text *out, const struct client_entry *entry)
{
        CLEANUP_TEXT struct text written = { 0 };
        CLEANUP_JSON json_t *all = json_pack("{s:s}", "name", entry->name);
        out->failed |= !all || json_object_update(all, entry->value) < 0 || json_write(all, &written, false) < 0;
        if (written.data)
                mcp_client_add_word(out, written.data);
}

static void add_template_word(struct text *out, const char *word, const struct client_entry *entry)
{
        const json_t *args = json_object_get(entry->value, "args");
        if (strcmp(word, "NAME") == 0)
                mcp_client_add_word(out, entry->name);
        else if (strcmp(word, "COMMAND") == 0)
                mcp_client_add_word(out, json_string_value(json_object_get(entry->value, "command")));
        else if (strcmp(word, "JSON") == 0)
                add_json(out, entry);
        else if (strcmp(word, "ARGS") != 0)
                text_add(out, word);
        else
                for (size_t i = 0; i < json_array_size(args); i++) {
                        text_add(out, i ? " " : "");
                        mcp_client_add_word(out, json_string_value(json_array_get(args, i)));
                }
}

void mcp_client_add_command(struct text *out, const struct mcp_client *client, enum mcp_scope scope,
                            const struct client_entry *entry)
{
        const char *space = "";
        for (const char *p = client->own_command[scope]; p && *p; p += strspn(p, " ")) {
                char word[32] = "";
                size_t length = strcspn(p, " ");
                memcpy(word, p, length < sizeof word ? length : sizeof word - 1);
                text_add(out, space);
                add_template_word(out, word, entry);
                space = " ";
                p += length;
        }
}
