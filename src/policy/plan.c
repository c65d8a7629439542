/* The plan: its table of numbers, and its decisions; see plan.h. */
#include "policy/plan.h"

#include <string.h>

#include "policy/caps.h"
#include "policy/default_ports.h"
#include "policy/keys.h"
#include "policy/pattern.h"
#include "policy/units.h"

const struct plan_number_row plan_numbers[PLAN_NUMBER_COUNT] = {
        [PLAN_LEVEL] = { "level", FORM_WORD, level_words },
        [PLAN_NAMESPACES] = { "namespaces", FORM_WORDS, namespace_words },
        [PLAN_MODE] = { "mode", FORM_WORD, mode_words },
        [PLAN_BEST_EFFORT] = { "best_effort", FORM_BOOL, NULL },
        [PLAN_READ] = { "read", FORM_WORD, read_words },
        [PLAN_WORKSPACE] = { "workspace_access", FORM_WORD, workspace_words },
        [PLAN_ALLOW_EXEC] = { "allow_exec", FORM_BOOL, NULL },
        [PLAN_ALLOW_FORK] = { "allow_fork", FORM_BOOL, NULL },
        [PLAN_ALLOW_NETWORK] = { "allow_network", FORM_BOOL, NULL },
        [PLAN_PROXY_VARIABLES] = { "proxy_variables", FORM_BOOL, NULL },
        [PLAN_LIVE] = { "live", FORM_WORD, live_words },
        [PLAN_AUDIT] = { "audit", FORM_BOOL, NULL },
        [PLAN_MDWE] = { "mdwe", FORM_BOOL, NULL },
        [PLAN_SNAPSHOT] = { "workspace_snapshot", FORM_BOOL, NULL },
        [PLAN_POOL_SIZE] = { "pool_size", FORM_COUNT, NULL },
        [PLAN_POOL_MAX] = { "pool_max", FORM_COUNT, NULL },
        [PLAN_SESSION_TIMEOUT] = { "session_timeout", FORM_SECONDS, NULL },
        [PLAN_IDLE_TIMEOUT] = { "idle_timeout", FORM_SECONDS, NULL },
        [PLAN_TIMEOUT] = { "timeout", FORM_SECONDS, NULL },
        [PLAN_MEMORY] = { "memory", FORM_BYTES, NULL },
        [PLAN_CPU] = { "cpu", FORM_MILLICORES, NULL },
        [PLAN_PROCESSES] = { "processes", FORM_COUNT, NULL },
};

const char *const rule_kind_words[] = { "read", "write", "private", "deny_read", "deny_write", "protect", NULL };

void plan_free(struct plan *p)
{
        if (p)
                arena_free(p->arena); /* the plan itself lives in it */
}

void plan_print_number(enum plan_number which, uint64_t number, struct text *out)
{
        const struct plan_number_row *row = &plan_numbers[which];
        bool first = true;
        switch (row->form) {
        case FORM_WORD:
                text_add(out, row->words[number]);
                break;
        case FORM_WORDS:
                for (size_t i = 0; row->words[i]; i++)
                        if (number & 1ULL << i) {
                                text_format(out, "%s%s", first ? "" : ", ", row->words[i]);
                                first = false;
                        }
                if (first)
                        text_add(out, "none");
                break;
        case FORM_BOOL:
                text_add(out, number ? "yes" : "no");
                break;
        case FORM_COUNT:
                text_format(out, "%llu", (unsigned long long)number);
                break;
        case FORM_SECONDS:
                units_print_duration(number, out);
                break;
        case FORM_BYTES:
                units_print_size(number, out);
                break;
        case FORM_MILLICORES:
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
                int depth = pattern_depth(r->path, r->glob, path);
                if (depth > best_depth || (depth == best_depth && depth >= 0 && r->kind == RULE_DENY_READ)) {
                        best = r;
                        best_depth = depth;
                }
        }
        *ret_rule = best;
        return best && best->kind != RULE_DENY_READ;
}

/* A draw between grants of the same place goes to the wider one: somebody asked for it. */
static bool decide_write(const struct rules *rules, const char *path, const struct rule **ret_rule)
{
        const struct rule *best = NULL;
        int best_depth = -1;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                int depth = r->kind == RULE_DENY_READ ? -1 : pattern_depth(r->path, r->glob, path);
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

bool rules_decide(const struct rules *rules, const char *path, bool write, const struct rule **ret_rule)
{
        const struct rule *rule = NULL;
        bool yes = strlen(path) <= CAP_TEXT && decide_read(rules, path, &rule);
        if (yes && write)
                yes = decide_write(rules, path, &rule);
        if (ret_rule)
                *ret_rule = rule;
        return yes;
}

bool hosts_decide(const struct hosts *hosts, const char *name, uint16_t port, const struct host_rule **ret_rule)
{
        const struct host_rule *decided = NULL;
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                if (!domain_match(&h->domain, h->allow ? BARE_DEFAULT : BARE_EVERY, name, port))
                        continue;
                if (!h->allow || !decided)
                        decided = h;
                if (!h->allow)
                        break;
        }
        if (ret_rule)
                *ret_rule = decided;
        return decided && decided->allow;
}

/* Is it allowed on a port that this rule brings? */
static bool rule_reaches(const struct hosts *hosts, const struct host_rule *h, const char *name)
{
        if (h->domain.port)
                return hosts_decide(hosts, name, h->domain.port, NULL);
        for (size_t i = 0; i < DEFAULT_PORT_COUNT; i++)
                if (hosts_decide(hosts, name, default_ports[i], NULL))
                        return true;
        return false;
}

bool hosts_know(const struct hosts *hosts, const char *name)
{
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                if (h->allow && domain_match_name(&h->domain, name) && rule_reaches(hosts, h, name))
                        return true;
        }
        return false;
}

const struct host_rule *hosts_find(const struct hosts *hosts, const char *name, uint16_t port)
{
        for (size_t i = 0; i < hosts->count; i++)
                if (domain_match(&hosts->list[i].domain, BARE_EVERY, name, port))
                        return &hosts->list[i];
        return NULL;
}

bool ports_have(const struct ports *ports, uint16_t port)
{
        for (size_t i = 0; i < ports->count; i++)
                if (ports->list[i].port == port)
                        return true;
        return false;
}

bool port_is_of_box(uint16_t port)
{
        return port == BOX_PORT_DIRECT || port == BOX_PORT_DNS || port == BOX_PORT_SOCKS || port == BOX_PORT_HTTP;
}

struct hosts plan_reachable_hosts(const struct plan *p)
{
        return p->number[PLAN_ALLOW_NETWORK].number ? p->hosts : (struct hosts){ 0 };
}

bool plan_reaches_out(const struct plan *p)
{
        for (size_t i = 0; i < p->hosts.count; i++)
                if (p->hosts.list[i].allow)
                        return true;
        return p->local_ports.count || p->published.count || p->number[PLAN_LIVE].number;
}
