/*
 * Ports of the host's loopback that a box may reach, ports of the box that are published on the host, and unix sockets.
 * See compile.h.
 */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/path_pattern.h"

/* ---- ports ---- */

static void port_add(struct compiler *c, struct ports *ports, const struct setting *s)
{
        uint16_t port = (uint16_t)s->number; /* the table of keys bounds it to 1 … 65535 */
        if (ports_contain(ports, port))
                return;
        if (port_is_reserved(port)) {
                diagnostic_error(c->messages, s->from, "let the service listen on another port",
                                 "port %u is taken in the box: ringwall itself listens on it", port);
                c->failed = true;
                return;
        }
        if (ports->count == POLICY_PORTS_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, s->from, NULL, "%s has more than %d ports", keys[s->key].path,
                                         POLICY_PORTS_MAX);
                c->failed = true;
                return;
        }
        struct plan_port *slot = arena_array_push(c->arena, &ports->list, &ports->count, sizeof *slot);
        if (slot)
                *slot = (struct plan_port){ port, compile_source(c, s->from) };
        c->no_memory |= !slot;
}

static void add_ports(struct compiler *c, enum key_id key, struct ports *ports)
{
        for (size_t i = 0; i < c->settings->count; i++)
                if (c->settings->list[i].key == key && !c->settings->list[i].empty)
                        port_add(c, ports, &c->settings->list[i]);
}

/* A port of the box's 127.0.0.1 either leads to the host or belongs to a server in the box, not both. */
static void check_port_conflicts(struct compiler *c)
{
        for (size_t i = 0; i < c->plan->published.count; i++) {
                const struct plan_port *p = &c->plan->published.list[i];
                if (!ports_contain(&c->plan->local_ports, p->port))
                        continue;
                diagnostic_error(c->messages, p->from, "let one of the two listen on another port",
                                 "port %u cannot be published: network.allow_local_ports forwards it to the host",
                                 p->port);
                c->failed = true;
        }
}

/* ---- unix sockets ---- */

static bool has_socket(const struct plan *p, const char *path)
{
        for (size_t i = 0; i < p->unix_socket_count; i++)
                if (strcmp(p->unix_sockets[i].path, path) == 0)
                        return true;
        return false;
}

static void socket_add(struct compiler *c, const struct setting *s)
{
        struct plan *p = c->plan;
        const char *path = compile_path(c, s, false);
        if (!path || has_socket(p, path))
                return;
        if (p->unix_socket_count == POLICY_SOCKETS_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, s->from, NULL, "more than %d unix sockets are named",
                                         POLICY_SOCKETS_MAX);
                c->failed = true;
                return;
        }
        struct plan_socket *slot = arena_array_push(c->arena, &p->unix_sockets, &p->unix_socket_count, sizeof *slot);
        if (slot)
                *slot = (struct plan_socket){ path, compile_source(c, s->from) };
        c->no_memory |= !slot;
}

/* A socket inside a denied directory is an exception to the denial; a denial of the socket's own path is an error. */
void compile_check_sockets(struct compiler *c)
{
        for (size_t i = 0; i < c->plan->unix_socket_count; i++) {
                const struct plan_socket *s = &c->plan->unix_sockets[i];
                const struct rule *by = NULL;
                if (rules_decide(&c->plan->rules, s->path, false, &by) || !by ||
                    path_pattern_match_depth(by->path, by->glob, s->path) <
                            path_pattern_match_depth(s->path, false, s->path))
                        continue;
                CLEANUP_TEXT struct text from = { 0 };
                source_print(by->from, &from);
                diagnostic_error(c->messages, s->from, "remove it from one of the two lists",
                                 "the unix socket '%.100s' is denied by deny_read (%s)", s->path,
                                 from.data ? from.data : "");
                c->failed = true;
        }
}

void compile_network(struct compiler *c)
{
        struct plan *p = c->plan;
        add_ports(c, KEY_ALLOW_LOCAL_PORTS, &p->local_ports);
        add_ports(c, KEY_PUBLISH, &p->published);
        ceiling_cut_ports(c, KEY_ALLOW_LOCAL_PORTS, &p->local_ports, "local port");
        ceiling_cut_ports(c, KEY_PUBLISH, &p->published, "published port");
        check_port_conflicts(c);
        for (size_t i = 0; i < c->settings->count; i++)
                if (c->settings->list[i].key == KEY_UNIX_SOCKETS && !c->settings->list[i].empty)
                        socket_add(c, &c->settings->list[i]);
        ceiling_cut_sockets(c);
}
