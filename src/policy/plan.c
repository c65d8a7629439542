/* The plan: its table of scalars, and its decisions; see plan.h. */
#include "policy/plan.h"

#include <string.h>

#include "policy/input_limits.h"
#include "policy/default_ports.h"
#include "policy/keys.h"
#include "policy/path_pattern.h"
#include "policy/units.h"

/* Scalars without a key of their own: they follow from other keys. */
static const struct {
        enum plan_scalar scalar;
        const char *name;
} rights[] = {
        { PLAN_ALLOW_EXEC, "allow_exec" },
        { PLAN_ALLOW_FORK, "allow_fork" },
        { PLAN_ALLOW_NETWORK, "allow_network" },
};

static const struct key *key_of(enum plan_scalar which)
{
        for (size_t i = 0; i < KEY_COUNT; i++)
                if (keys[i].name && keys[i].scalar == which)
                        return &keys[i];
        return NULL;
}

const char *plan_scalar_name(enum plan_scalar which)
{
        const struct key *key = key_of(which);
        for (size_t i = 0; !key && i < ARRAY_SIZE(rights); i++)
                if (rights[i].scalar == which)
                        return rights[i].name;
        return key ? key->name : "";
}

bool plan_scalar_is_limit(enum plan_scalar which)
{
        const struct key *key = key_of(which);
        return key && key->ceiling == CEILING_LIMIT;
}

enum scalar_format plan_scalar_form(enum plan_scalar which, const char *const **ret_words)
{
        static const enum scalar_format forms[] = {
                [VALUE_WORD] = FORMAT_WORD,        [VALUE_BOOL] = FORMAT_BOOL,   [VALUE_NUMBER] = FORMAT_INTEGER,
                [VALUE_SIZE] = FORMAT_BYTES,       [VALUE_CPU] = FORMAT_MILLICORES,
                [VALUE_DURATION] = FORMAT_SECONDS,
        };
        const struct key *key = key_of(which);
        *ret_words = key ? key->words : NULL;
        return !key ? FORMAT_BOOL : key->list ? FORMAT_WORD_SET : forms[key->kind];
}

const char *const rule_kind_words[] = { "read", "write", "private", "deny_read", "deny_write", "protect", NULL };

void plan_free(struct plan *p)
{
        if (p)
                arena_free(p->arena); /* the plan itself lives in it */
}

void plan_print_scalar(enum plan_scalar which, uint64_t number, struct text *out)
{
        const char *const *words;
        bool first = true;
        switch (plan_scalar_form(which, &words)) {
        case FORMAT_WORD:
                text_add(out, words[number]);
                break;
        case FORMAT_WORD_SET:
                for (size_t i = 0; words[i]; i++)
                        if (number & 1ULL << i) {
                                text_format(out, "%s%s", first ? "" : ", ", words[i]);
                                first = false;
                        }
                if (first)
                        text_add(out, "none");
                break;
        case FORMAT_BOOL:
                text_add(out, number ? "yes" : "no");
                break;
        case FORMAT_INTEGER:
                text_format(out, "%llu", (unsigned long long)number);
                break;
        case FORMAT_SECONDS:
                units_print_duration(number, out);
                break;
        case FORMAT_BYTES:
                units_print_size(number, out);
                break;
        case FORMAT_MILLICORES:
                units_print_cpu(number, out);
                break;
        }
}

static bool kind_allows_read(enum rule_kind kind)
{
        return kind == RULE_READ || kind == RULE_WRITE || kind == RULE_PRIVATE;
}

static bool decide_read(const struct rules *rules, const char *path, const struct rule **ret_rule)
{
        const struct rule *best = NULL;
        int best_depth = -1;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                if (!kind_allows_read(r->kind) && r->kind != RULE_DENY_READ)
                        continue;
                int depth = path_pattern_match_depth(r->path, r->glob, path);
                if (depth > best_depth || (depth == best_depth && depth >= 0 && r->kind == RULE_DENY_READ)) {
                        best = r;
                        best_depth = depth;
                }
        }
        *ret_rule = best;
        return best && best->kind != RULE_DENY_READ;
}

/* Of two grants with the same depth a write rule wins: a policy asked for it. */
static bool decide_write(const struct rules *rules, const char *path, const struct rule **ret_rule)
{
        const struct rule *best = NULL;
        int best_depth = -1;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                int depth = r->kind == RULE_DENY_READ ? -1 : path_pattern_match_depth(r->path, r->glob, path);
                if (depth < 0)
                        continue;
                if (r->kind == RULE_DENY_WRITE || r->kind == RULE_PROTECT) {
                        *ret_rule = r;
                        return false;
                }
                if (depth > best_depth || (depth == best_depth && r->kind == RULE_WRITE)) {
                        best = r;
                        best_depth = depth;
                }
        }
        *ret_rule = best;
        return best && best->kind != RULE_READ;
}

bool rule_is_of_set(const struct rule *r, const char *set)
{
        return r->set && strcmp(r->set, set) == 0;
}

bool rules_decide(const struct rules *rules, const char *path, bool write, const struct rule **ret_rule)
{
        const struct rule *rule = NULL;
        bool allowed = strlen(path) <= POLICY_TEXT_MAX && decide_read(rules, path, &rule);
        if (allowed && write)
                allowed = decide_write(rules, path, &rule);
        if (ret_rule)
                *ret_rule = rule;
        return allowed;
}

const struct rule *rules_find_write_grant(const struct rules *rules, const char *path)
{
        const struct rule *best = NULL;
        int best_depth = -1;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                int depth = kind_allows_read(r->kind) ? path_pattern_match_depth(r->path, r->glob, path) : -1;
                if (depth > best_depth || (depth >= 0 && depth == best_depth && r->kind == RULE_WRITE)) {
                        best = r;
                        best_depth = depth;
                }
        }
        return best && best->kind == RULE_WRITE ? best : NULL;
}

bool hosts_decide(const struct hosts *hosts, const char *name, uint16_t port, const struct host_rule **ret_rule)
{
        const struct host_rule *decisive = NULL;
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                if (!host_pattern_match(&h->domain, h->allow ? PORTLESS_DEFAULT : PORTLESS_EVERY, name, port))
                        continue;
                if (!h->allow || !decisive)
                        decisive = h;
                if (!h->allow)
                        break;
        }
        if (ret_rule)
                *ret_rule = decisive;
        return decisive && decisive->allow;
}

/* Is the name allowed on this rule's port, or on a default port if the rule has none? */
static bool rule_reaches(const struct hosts *hosts, const struct host_rule *h, const char *name)
{
        if (h->domain.port)
                return hosts_decide(hosts, name, h->domain.port, NULL);
        for (size_t i = 0; i < DEFAULT_PORT_COUNT; i++)
                if (hosts_decide(hosts, name, default_ports[i], NULL))
                        return true;
        return false;
}

bool hosts_allow_any_port(const struct hosts *hosts, const char *name)
{
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                if (h->allow && host_pattern_match_name(&h->domain, name) && rule_reaches(hosts, h, name))
                        return true;
        }
        return false;
}

const struct host_rule *hosts_match(const struct hosts *hosts, const char *name, uint16_t port)
{
        for (size_t i = 0; i < hosts->count; i++)
                if (host_pattern_match(&hosts->list[i].domain, PORTLESS_EVERY, name, port))
                        return &hosts->list[i];
        return NULL;
}

bool ports_contain(const struct ports *ports, uint16_t port)
{
        for (size_t i = 0; i < ports->count; i++)
                if (ports->list[i].port == port)
                        return true;
        return false;
}

bool port_is_reserved(uint16_t port)
{
        return port == BOX_PORT_TRANSPARENT || port == RESERVED_PORT_DNS || port == RESERVED_PORT_SOCKS ||
               port == RESERVED_PORT_HTTP_PROXY;
}

struct hosts plan_reachable_hosts(const struct plan *p)
{
        return p->scalar[PLAN_ALLOW_NETWORK].value ? p->hosts : (struct hosts){ 0 };
}

bool plan_needs_egress(const struct plan *p)
{
        for (size_t i = 0; i < p->hosts.count; i++)
                if (p->hosts.list[i].allow)
                        return true;
        return p->local_ports.count || p->published.count || p->scalar[PLAN_LIVE].value;
}
