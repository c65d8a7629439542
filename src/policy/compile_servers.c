/* MCP servers: each gets a plan of its own, with only what it declares. See compile.h. */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/module_rights.h"

static const struct setting *server_last(const struct compiler *c, enum key_id key, const char *server)
{
        for (size_t i = c->settings->count; i-- > 0;)
                if (setting_has_key(&c->settings->list[i], key, server))
                        return &c->settings->list[i];
        return NULL;
}

static unsigned server_rights(const struct compiler *c, const char *server)
{
        unsigned rights = 0;
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (setting_has_key(s, KEY_SERVER_PERMISSIONS, server) && !s->empty)
                        rights |= permissions[s->number].of_server;
        }
        return rights;
}

/* Does the server have the permission that this setting needs? Otherwise warns. */
static bool has_permission(struct compiler *c, const struct setting *s, unsigned rights, enum right right,
                           const char *permission)
{
        if (rights & right)
                return true;
        diagnostic_warning(c->messages, s->from, "add the permission, or remove the entry",
                           "server '%s': this has no effect without the permission %s", s->server, permission);
        return false;
}

static void add_grants(struct compiler *c, const char *server, unsigned rights, struct grants *grants)
{
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                bool write = setting_has_key(s, KEY_SERVER_WRITE, server);
                if ((!write && !setting_has_key(s, KEY_SERVER_READ, server)) || s->empty)
                        continue;
                if (!has_permission(c, s, rights, write ? RIGHT_WRITE : RIGHT_READ, write ? "fs.write" : "fs.read"))
                        continue;
                const char *path = compile_path(c, s, false);
                if (path)
                        grants_add(c, grants, write ? ACCESS_WRITE : ACCESS_READ, path, NULL,
                                   compile_source(c, s->from));
        }
}

static void add_hosts(struct compiler *c, const char *server, unsigned rights, struct hosts *hosts)
{
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (!setting_has_key(s, KEY_SERVER_HOSTS, server) || s->empty)
                        continue;
                if (has_permission(c, s, rights, RIGHT_NETWORK, "net.http"))
                        hosts_add(c, hosts, true, &s->domain, NULL, compile_source(c, s->from));
        }
        /* Hosts that are denied to the agent are denied to its servers too. */
        for (size_t i = 0; i < c->plan->hosts.count; i++)
                if (!c->plan->hosts.list[i].allow)
                        hosts_add(c, hosts, false, &c->plan->hosts.list[i].domain, NULL, c->plan->hosts.list[i].from);
}

static void add_word(struct compiler *c, struct plan_server *server, const char *text)
{
        const char **slot = arena_array_push(c->arena, &server->command, &server->command_count, sizeof(*slot));
        if (slot)
                *slot = arena_strdup(c->arena, text);
        c->no_memory |= !slot || !*slot;
}

/* Splits a command line at white space. No shell runs it, so a command that needs quoting must be a list. */
static void add_command_line(struct compiler *c, struct plan_server *server, const struct setting *s)
{
        if (strpbrk(s->text, "\"'\\$`|&;<>(){}*?[~#")) {
                diagnostic_error(
                        c->messages, s->from, "write it as a list of words: [npx, -y, name]",
                        "server '%s': the command has characters that a shell would interpret, and no shell runs",
                        s->server);
                c->failed = true;
                return;
        }
        for (const char *p = s->text; *p;) {
                p += strspn(p, " \t\n");
                size_t n = strcspn(p, " \t\n");
                const char *word = n ? arena_strndup(c->arena, p, n) : NULL;
                if (word)
                        add_word(c, server, word);
                p += n;
        }
}

/* The command comes from the last file that has one; the args of all files follow it. */
static void add_command(struct compiler *c, struct plan_server *server)
{
        const struct setting *last = server_last(c, KEY_SERVER_COMMAND, server->name);
        for (size_t i = 0; last && i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (!setting_has_key(s, KEY_SERVER_COMMAND, server->name) || s->layer != last->layer || s->empty)
                        continue;
                if (s->literal)
                        add_word(c, server, s->text);
                else
                        add_command_line(c, server, s);
        }
        for (size_t i = 0; i < c->settings->count; i++)
                if (setting_has_key(&c->settings->list[i], KEY_SERVER_ARGS, server->name) &&
                    !c->settings->list[i].empty)
                        add_word(c, server, c->settings->list[i].text);
}

static void add_env(struct compiler *c, struct plan_server *server)
{
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (!setting_has_key(s, KEY_SERVER_ENV, server->name))
                        continue;
                struct value v;
                const char *wrong = key_parse_value(c->arena, &keys[KEY_ENV], s->member, NULL, &v);
                if (wrong || strpbrk(s->member, "=*")) {
                        diagnostic_error(c->messages, s->from, NULL, "server '%s': '%.60s': %s", server->name,
                                         s->member, wrong ? wrong : "a variable's name has no '=' and no '*'");
                        c->failed = true;
                        continue;
                }
                struct plan_env *slot = arena_array_push(c->arena, &server->env, &server->env_count, sizeof *slot);
                if (!slot) {
                        c->no_memory = true;
                        return;
                }
                *slot = (struct plan_env){ arena_strdup(c->arena, s->member), arena_strdup(c->arena, s->text),
                                           compile_source(c, s->from) };
                c->no_memory |= !slot->name || !slot->value;
        }
}

static void check_transport(struct compiler *c, const struct plan_server *server, unsigned rights)
{
        bool stdio = server->transport == TRANSPORT_STDIO;
        const struct transport_need *need = &transport_needs[server->transport];
        if ((stdio && server->command_count == 0 && !c->failed) || (!stdio && !server->url)) {
                diagnostic_error(c->messages, server->from, NULL, "server '%s': a server over %s needs a %s",
                                 server->name, transport_words[server->transport], stdio ? "command" : "url");
                c->failed = true;
        }
        if (!(rights & need->rights)) {
                char hint[64];
                (void)snprintf(hint, sizeof hint, "add %s to its permissions", need->permission);
                diagnostic_warning(c->messages, server->from, hint,
                                   "server '%s' uses %s without the permission %s: %s", server->name,
                                   transport_words[server->transport], need->permission, need->lost);
        }
}

static void warn_if_no_host(struct compiler *c, const struct plan_server *server)
{
        bool has_host = false, needs_host = false;
        for (size_t i = 0; i < server->hosts.count; i++)
                has_host |= server->hosts.list[i].allow;
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (setting_has_key(s, KEY_SERVER_PERMISSIONS, server->name) && !s->empty)
                        needs_host |= text_has_prefix(s->text, "net.") && strcmp(s->text, "net.listen") != 0;
        }
        if (server->allow_network && needs_host && !has_host)
                diagnostic_warning(c->messages, server->from, "add allowed_hosts",
                                   "server '%s' may open sockets but reach no host", server->name);
}

static void compile_server(struct compiler *c, const struct setting *present)
{
        const char *name = present->server;
        struct source from = compile_source(c, present->from);
        if (!server_last(c, KEY_SERVER_SANDBOX, name)) {
                diagnostic_error(
                        c->messages, present->from,
                        "declare what it may do: sandbox: { permissions: [process.exec, fs.read], paths: { read: "
                        "[\"{workspace}\"] } }",
                        "MCP server '%s' has no sandbox block; a server gets nothing that it did not declare", name);
                c->failed = true;
                return;
        }
        struct plan_server *server =
                arena_array_push(c->arena, &c->plan->servers, &c->plan->server_count, sizeof *server);
        if (!server) {
                c->no_memory = true;
                return;
        }
        unsigned rights = server_rights(c, name);
        struct source by = { 0 };
        if (rights & ceiling_denied_rights(c, &by))
                plan_record_ceiling_cut(c, by, "removed", "server %s: rights", name);
        rights &= ~c->denied;
        const struct setting *transport = server_last(c, KEY_SERVER_TRANSPORT, name);
        const struct setting *url = server_last(c, KEY_SERVER_URL, name);
        server->name = arena_strdup(c->arena, name);
        server->from = from;
        server->transport = transport ? (enum transport)transport->number : TRANSPORT_STDIO;
        server->url = url ? arena_strdup(c->arena, url->text) : NULL;
        server->allow_exec = rights & RIGHT_EXEC;
        server->allow_fork = rights & RIGHT_FORK;
        server->allow_network = rights & RIGHT_NETWORK;
        c->no_memory |= !server->name || (url && !server->url);
        if (c->no_memory)
                return;
        add_command(c, server);
        add_env(c, server);
        check_transport(c, server, rights);

        char box_label[128];
        (void)snprintf(box_label, sizeof box_label, "server %s: ", name);
        struct grants grants = { 0 };
        add_grants(c, name, rights, &grants);
        compile_box_rules(c, &grants, box_label, &server->rules);
        add_hosts(c, name, rights, &server->hosts);
        warn_if_no_host(c, server);
        ceiling_cut_hosts(c, &server->hosts, box_label);
}

/* A server that several files name is one server. */
static bool is_first_mention(const struct compiler *c, size_t index)
{
        for (size_t i = 0; i < index; i++)
                if (setting_has_key(&c->settings->list[i], KEY_SERVER, c->settings->list[index].server))
                        return false;
        return true;
}

void compile_servers(struct compiler *c)
{
        for (size_t i = 0; i < c->settings->count; i++) {
                if (c->settings->list[i].key != KEY_SERVER || !is_first_mention(c, i))
                        continue;
                if (c->plan->server_count == POLICY_SERVERS_MAX) {
                        diagnostic_error(c->messages, c->settings->list[i].from, NULL,
                                         "there are more than %d MCP servers", POLICY_SERVERS_MAX);
                        c->failed = true;
                        return;
                }
                compile_server(c, &c->settings->list[i]);
        }
}
