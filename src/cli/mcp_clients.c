/* The table of clients, made from their documentation; see mcp_clients.h. */
#include "cli/mcp_clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct mcp_client clients[] = {
        {
                .name = "claude",
                .title = "Claude Code",
                .format = &client_config_json,
                .section = "mcpServers",
                .typed = true,
                .variable = "CLAUDE_CONFIG_DIR",
                .below_variable = ".claude.json",
                .below_home = ".claude.json",
                .in_project = ".mcp.json",
                .own_command = { "claude mcp add --scope user NAME -- COMMAND ARGS",
                                 "claude mcp add --scope project NAME -- COMMAND ARGS" },
                .variables = MCP_VARIABLES_BRACED,
        },
        {
                .name = "codex",
                .title = "Codex",
                .format = &client_config_toml,
                .section = "mcp_servers",
                .variable = "CODEX_HOME",
                .below_variable = "config.toml",
                .below_home = ".codex/config.toml",
                .in_project = ".codex/config.toml",
                .own_command = { "codex mcp add NAME -- COMMAND ARGS", NULL },
        },
        {
                .name = "gemini",
                .title = "Gemini CLI",
                .format = &client_config_json,
                .section = "mcpServers",
                .variable = "GEMINI_CLI_HOME",
                .below_variable = ".gemini/settings.json",
                .below_home = ".gemini/settings.json",
                .in_project = ".gemini/settings.json",
                .own_command = { "gemini mcp add --scope user NAME COMMAND -- ARGS",
                                 "gemini mcp add --scope project NAME COMMAND -- ARGS" },
                .variables = MCP_VARIABLES_BARE,
        },
        {
                .name = "cursor",
                .title = "Cursor",
                .format = &client_config_json,
                .section = "mcpServers",
                .typed = true,
                .below_home = ".cursor/mcp.json",
                .in_project = ".cursor/mcp.json",
                .variables = MCP_VARIABLES_BRACED,
                .folder = "${workspaceFolder}",
        },
        {
                .name = "vscode",
                .title = "VS Code",
                .format = &client_config_json,
                .section = "servers",
                .typed = true,
                .variable = "XDG_CONFIG_HOME",
                .below_variable = "Code/User/mcp.json",
                .below_home = ".config/Code/User/mcp.json",
                .in_project = ".vscode/mcp.json",
                .own_command = { "code --add-mcp JSON", NULL },
                .variables = MCP_VARIABLES_BRACED,
                .folder = "${workspaceFolder}",
        },
};

const struct mcp_client *mcp_client_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
                if (strcmp(clients[i].name, name) == 0)
                        return &clients[i];
        return NULL;
}

const char *mcp_client_user_file(struct arena *a, const struct mcp_client *client, const char *home)
{
        const char *folder = client->variable ? secure_getenv(client->variable) : NULL;
        if (folder && *folder == '/')
                return arena_format(a, "%s/%s", folder, client->below_variable);
        return home ? arena_format(a, "%s/%s", home, client->below_home) : NULL;
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
