/* Limits hosts, ports and unix sockets by the ceilings; see ceiling.c. */
#include <stdio.h>

#include "policy/ceiling_parts.h"
#include "policy/path_pattern.h"

/* The hosts in one list of a ceiling, with each +name replaced by the hosts that it names. */
static struct hosts collect_listed_hosts(struct compiler *c, const struct settings *ceiling, enum key_id key)
{
        struct entries entries = { 0 };
        struct hosts hosts = { 0 };
        ceiling_collect_entries(c, ceiling, key, &entries);
        for (size_t i = 0; i < entries.count; i++) {
                const struct entry *e = &entries.list[i];
                struct host_pattern d = e->setting->domain;
                if (e->managed && host_pattern_parse(c->arena, e->managed->entry, NULL, &d))
                        continue; /* a unit test parses every entry of the table */
                if (!e->managed && e->setting->sign == SIGN_PLUS)
                        hosts_add_plus_name(c, &hosts, e->setting);
                else
                        hosts_add(c, &hosts, true, &d, NULL, e->setting->from);
        }
        return hosts;
}

/*
 * Adds to `kept` what the ceiling's hosts leave of one host. True if the whole host is covered; otherwise *ret_narrowed
 * is true if a part of it is.
 */
static bool cut_host(struct compiler *c, const struct hosts *listed, enum portless bare, const struct host_rule *h,
                     struct hosts *kept, bool *ret_narrowed)
{
        *ret_narrowed = false;
        for (size_t i = 0; i < listed->count; i++)
                if (host_pattern_covers(&listed->list[i].domain, &h->domain, bare)) {
                        hosts_add(c, kept, true, &h->domain, h->set, h->from);
                        return true;
                }
        for (size_t i = 0; i < listed->count; i++) {
                struct host_pattern both;
                if (!host_pattern_intersect(&h->domain, &listed->list[i].domain, bare, &both))
                        continue;
                hosts_add(c, kept, true, &both, h->set, h->from);
                *ret_narrowed = true;
        }
        return false;
}

/* Records a cut such as "host a.org (from policy.yaml:4:5)". */
static void record_named_cut(struct compiler *c, struct source by, const char *result, const char *what,
                             const char *name, struct source item_from)
{
        CLEANUP_TEXT struct text from = { 0 };
        source_print(item_from, &from);
        plan_record_ceiling_cut(c, by, result, "%s %s (from %s)", what, name, from.data ? from.data : "");
}

/* If the ceiling has this list, keeps of the allowed hosts only what the list covers. */
static void cut_hosts(struct compiler *c, const struct settings *ceiling, enum key_id key, struct hosts *hosts,
                      const char *what)
{
        const struct setting *limit = settings_find_last(ceiling, key);
        enum portless bare = key == KEY_ALLOW_PRIVATE ? PORTLESS_EVERY : PORTLESS_DEFAULT;
        struct hosts kept = { 0 }, listed = collect_listed_hosts(c, ceiling, key);
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                bool narrowed = false;
                if (!h->allow || !limit) {
                        hosts_add(c, &kept, h->allow, &h->domain, h->set, h->from);
                        continue;
                }
                if (cut_host(c, &listed, bare, h, &kept, &narrowed))
                        continue;
                char name[HOST_PATTERN_TEXT_SIZE];
                host_pattern_print(&h->domain, name);
                record_named_cut(c, limit->from, narrowed ? "narrowed" : "removed", what, name, h->from);
        }
        *hosts = kept;
}

static void add_denied_hosts(struct compiler *c, const struct settings *ceiling, struct hosts *hosts)
{
        for (size_t i = 0; i < ceiling->count; i++)
                if (ceiling->list[i].key == KEY_DENIED_DOMAINS && !ceiling->list[i].empty)
                        hosts_add(c, hosts, false, &ceiling->list[i].domain, NULL,
                                  compile_source(c, ceiling->list[i].from));
}

void ceiling_cut_hosts(struct compiler *c, struct hosts *hosts, const char *box_label)
{
        const char *what = arena_format(c->arena, "%shost", box_label);
        c->no_memory |= !what;
        for (size_t i = 0; what && i < c->ceiling_count; i++) {
                cut_hosts(c, c->ceilings[i], KEY_ALLOWED_DOMAINS, hosts, what);
                add_denied_hosts(c, c->ceilings[i], hosts);
        }
}

void ceiling_cut_private_hosts(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                cut_hosts(c, c->ceilings[i], KEY_ALLOW_PRIVATE, &c->plan->private_hosts, "private host");
}

static bool lists_number(const struct settings *s, enum key_id key, uint64_t number)
{
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == key && !s->list[i].empty && s->list[i].number == number)
                        return true;
        return false;
}

static void cut_ports(struct compiler *c, const struct setting *limit, const struct settings *ceiling,
                      struct ports *ports, const char *what)
{
        size_t kept = 0;
        for (size_t i = 0; i < ports->count; i++) {
                const struct plan_port *p = &ports->list[i];
                char number[8];
                (void)snprintf(number, sizeof number, "%u", p->port);
                if (lists_number(ceiling, limit->key, p->port))
                        ports->list[kept++] = *p;
                else
                        record_named_cut(c, limit->from, "removed", what, number, p->from);
        }
        ports->count = kept;
}

void ceiling_cut_ports(struct compiler *c, enum key_id key, struct ports *ports, const char *what)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *limit = settings_find_last(c->ceilings[i], key);
                if (limit)
                        cut_ports(c, limit, c->ceilings[i], ports, what);
        }
}

/* The ceiling's sockets and directories of sockets. Expands all of them, so that every mistake is reported. */
static struct grants collect_listed_sockets(struct compiler *c, const struct settings *ceiling)
{
        struct grants listed = { 0 };
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                const char *path = s->key == KEY_UNIX_SOCKETS && !s->empty ? compile_path(c, s, false) : NULL;
                if (path)
                        grants_add(c, &listed, ACCESS_WRITE, path, NULL, s->from);
        }
        return listed;
}

static bool lists_socket(const struct grants *listed, const char *path)
{
        for (size_t i = 0; i < listed->count; i++)
                if (path_is_beneath(path, listed->list[i].path))
                        return true;
        return false;
}

/* A ceiling's deny_read also removes sockets: connecting reaches the server behind the socket. */
static void cut_sockets(struct compiler *c, const struct settings *ceiling)
{
        const struct setting *limit = settings_find_last(ceiling, KEY_UNIX_SOCKETS);
        struct grants listed = collect_listed_sockets(c, ceiling);
        struct plan *p = c->plan;
        size_t kept = 0;
        struct ceiling_view view = { 0 };
        if (p->unix_socket_count)
                view = ceiling_view_new(c, ceiling);
        for (size_t i = 0; i < p->unix_socket_count; i++) {
                const struct plan_socket *s = &p->unix_sockets[i];
                const struct rule *denied = ceiling_view_denies(&view, s->path);
                if (denied)
                        record_named_cut(c, denied->from, "removed", "unix socket", s->path, s->from);
                else if (limit && !lists_socket(&listed, s->path))
                        record_named_cut(c, limit->from, "removed", "unix socket", s->path, s->from);
                else
                        p->unix_sockets[kept++] = *s;
        }
        p->unix_socket_count = kept;
}

void ceiling_cut_sockets(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                cut_sockets(c, c->ceilings[i]);
}
