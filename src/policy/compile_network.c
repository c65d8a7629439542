/*
 * What of the network is no host: services of the host's loopback, servers of the box's that the host may reach, and
 * unix sockets. See compile.h.
 */
#include <string.h>

#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/pattern.h"

/* ---- ports ---- */

static void port_add(struct compiler *c, struct ports *ports, const struct setting *s)
{
        uint16_t port = (uint16_t)s->number; /* its key has the bounds of a port */
        if (ports_have(ports, port))
                return;
        if (port_is_of_box(port)) {
                message_error(c->messages, s->from, "let the service listen on another port",
                              "port %u is taken in the box: it serves the box's own network", port);
                c->failed = true;
                return;
        }
        if (ports->count == CAP_PORTS) {
                if (!c->failed)
                        message_error(c->messages, s->from, NULL, "%s has more than %d ports", keys[s->key].path,
                                      CAP_PORTS);
                c->failed = true;
                return;
        }
        struct plan_port *slot = arena_array_add(c->arena, &ports->list, &ports->count, sizeof *slot);
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

/* At 127.0.0.1 and one port in the box there is either a way out or a server. */
static void check_directions(struct compiler *c)
{
        for (size_t i = 0; i < c->plan->published.count; i++) {
                const struct plan_port *p = &c->plan->published.list[i];
                if (!ports_have(&c->plan->local_ports, p->port))
                        continue;
                message_error(c->messages, p->from, "let one of the two listen on another port",
                              "port %u cannot be published: network.allow_local_ports leads it out of the box",
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
        if (p->unix_socket_count == CAP_SOCKETS) {
                if (!c->failed)
                        message_error(c->messages, s->from, NULL, "more than %d unix sockets are named", CAP_SOCKETS);
                c->failed = true;
                return;
        }
        struct plan_socket *slot = arena_array_add(c->arena, &p->unix_sockets, &p->unix_socket_count, sizeof *slot);
        if (slot)
                *slot = (struct plan_socket){ path, compile_source(c, s->from) };
        c->no_memory |= !slot;
}

/* Named and denied in the same place is a contradiction; named inside a denied directory is an exception. */
void compile_check_sockets(struct compiler *c)
{
        for (size_t i = 0; i < c->plan->unix_socket_count; i++) {
                const struct plan_socket *s = &c->plan->unix_sockets[i];
                const struct rule *by = NULL;
                if (rules_decide(&c->plan->rules, s->path, false, &by) || !by ||
                    pattern_depth(by->path, by->glob, s->path) < pattern_depth(s->path, false, s->path))
                        continue;
                CLEANUP_TEXT struct text from = { 0 };
                source_print(by->from, &from);
                message_error(c->messages, s->from, "take it out of one of the two lists",
                              "the unix socket '%.100s' is denied to be read (%s)", s->path,
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
        check_directions(c);
        for (size_t i = 0; i < c->settings->count; i++)
                if (c->settings->list[i].key == KEY_UNIX_SOCKETS && !c->settings->list[i].empty)
                        socket_add(c, &c->settings->list[i]);
        ceiling_cut_sockets(c);
}
