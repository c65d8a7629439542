/* Host rules: allowed, denied, and those that may resolve to private addresses. See compile.h. */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/module_rights.h"

void hosts_add(struct compiler *c, struct hosts *hosts, bool allow, const struct host_pattern *d, const char *set,
               struct source from)
{
        bool box_is_full = hosts->count == POLICY_HOSTS_MAX;
        if (box_is_full || ++c->rules_in_plan > POLICY_RULES_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, from, "a pattern such as *.example.com covers many names",
                                         box_is_full ? "a box has more than %d host rules"
                                                     : "the plan has more than %d rules, servers included",
                                         box_is_full ? POLICY_HOSTS_MAX : POLICY_RULES_MAX);
                c->failed = true;
                return;
        }
        struct host_rule *slot = arena_array_push(c->arena, &hosts->list, &hosts->count, sizeof *slot);
        const char *name = arena_strdup(c->arena, d->name); /* the plan outlives the settings' arena */
        if (slot && name)
                *slot = (struct host_rule){ allow, { name, d->wildcard, d->port }, set, from };
        c->no_memory |= !slot || !name;
}

/* A +name with a dot is a host; one without a dot was meant as a group. */
void hosts_add_plus_name(struct compiler *c, struct hosts *hosts, const struct setting *s)
{
        struct host_pattern d;
        const char *wrong = strchr(s->text, '.') ? host_pattern_parse(c->arena, s->text, c->facts->to_ascii, &d)
                                                 : "'man ringwall-policy' lists the groups";
        if (!wrong) {
                hosts_add(c, hosts, true, &d, NULL, compile_source(c, s->from));
                return;
        }
        diagnostic_error(c->messages, s->from, wrong, "'+%.100s' is neither a host nor a group of the dev-network set",
                         s->text);
        c->failed = true;
}

static void add_managed(struct compiler *c, const struct entry *e)
{
        struct host_pattern d;
        if (host_pattern_parse(c->arena, e->managed->entry, NULL, &d))
                return; /* a unit test parses every entry of the table */
        const char *set = arena_format(c->arena, "%s: %s", dev_network_set.name, e->managed->group);
        c->no_memory |= !set;
        hosts_add(c, &c->plan->hosts, true, &d, set, compile_source(c, e->setting->from));
}

static void add_hosts_of_key(struct compiler *c, struct hosts *hosts, enum key_id key, bool allow)
{
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (s->key == key && !s->empty)
                        hosts_add(c, hosts, allow, &s->domain, NULL, compile_source(c, s->from));
        }
}

/* Do an entry of allow_private and an allowed host overlap? An entry without a port covers every port. */
static bool overlaps(const struct host_pattern *private_entry, const struct host_pattern *allowed)
{
        struct host_pattern same_port = *private_entry, both;
        if (!same_port.port)
                same_port.port = allowed->port;
        return host_pattern_intersect(&same_port, allowed, PORTLESS_DEFAULT, &both);
}

/* Is any part of the pattern allowed, to the agent or to one of its servers? */
static bool is_partly_allowed(const struct compiler *c, const struct host_pattern *d)
{
        for (size_t i = 0; i < c->plan->hosts.count; i++)
                if (c->plan->hosts.list[i].allow && overlaps(d, &c->plan->hosts.list[i].domain))
                        return true;
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                if (s->key == KEY_SERVER_HOSTS && !s->empty && overlaps(d, &s->domain))
                        return true;
        }
        return false;
}

static void compile_private_hosts(struct compiler *c)
{
        struct hosts *private_hosts = &c->plan->private_hosts;
        add_hosts_of_key(c, private_hosts, KEY_ALLOW_PRIVATE, true);
        if (private_hosts->count > POLICY_PRIVATE_HOSTS_MAX) {
                diagnostic_error(c->messages, private_hosts->list[POLICY_PRIVATE_HOSTS_MAX].from,
                                 "a pattern such as *.example.com covers many names",
                                 "network.allow_private has more than %d hosts", POLICY_PRIVATE_HOSTS_MAX);
                c->failed = true;
                return;
        }
        for (size_t i = 0; i < private_hosts->count; i++) {
                const struct host_rule *h = &private_hosts->list[i];
                char name[HOST_PATTERN_TEXT_SIZE];
                host_pattern_print(&h->domain, name);
                if (!is_partly_allowed(c, &h->domain))
                        diagnostic_warning(
                                c->messages, h->from, "add it to network.allowed_domains too",
                                "'%.100s' is in network.allow_private but not allowed, so it cannot be reached", name);
        }
}

void compile_hosts(struct compiler *c)
{
        struct entries allowed = compile_entries(c, KEY_ALLOWED_DOMAINS, NULL);
        for (size_t i = 0; i < allowed.count; i++) {
                const struct entry *e = &allowed.list[i];
                if (e->managed)
                        add_managed(c, e);
                else if (e->setting->sign == SIGN_PLUS)
                        hosts_add_plus_name(c, &c->plan->hosts, e->setting);
                else
                        hosts_add(c, &c->plan->hosts, true, &e->setting->domain, NULL,
                                  compile_source(c, e->setting->from));
        }
        for (size_t i = 0; i < module_row_count; i++) {
                const struct module_rights *row = &module_rows[i];
                const struct setting *module = settings_find_last(c->settings, row->key);
                struct host_pattern d;
                if (module && row->host && !host_pattern_parse(c->arena, row->host, NULL, &d))
                        hosts_add(c, &c->plan->hosts, true, &d, NULL, compile_source(c, module->from));
                if (row->domains != KEY_COUNT)
                        add_hosts_of_key(c, &c->plan->hosts, row->domains, true);
        }
        add_hosts_of_key(c, &c->plan->hosts, KEY_DENIED_DOMAINS, false);
        compile_private_hosts(c);
}
