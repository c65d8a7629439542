/*
 * Ceilings. The input is a policy and a ceiling with a line of five equals signs between. What the policy compiles to
 * under the ceiling is never more than what it compiles to alone, and keeps what the ceiling says: its denials, the
 * places that may be written, the hosts.
 */
#include <string.h>

#include "fuzz.h"
#include "plans.h"
#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/pattern.h"

static const char separator[] = "\n=====\n";

struct files {
        struct settings policy, ceiling;
        const struct plan *open, *capped;
};

/* ---- never more than without it ---- */

enum order { AT_MOST, AT_LEAST, LIMIT, MORE_BITS };

static const struct {
        enum plan_number number;
        enum order order;
} numbers[] = {
        { PLAN_LEVEL, AT_LEAST },     { PLAN_NAMESPACES, MORE_BITS },   { PLAN_MODE, AT_MOST },
        { PLAN_BEST_EFFORT, AT_MOST }, { PLAN_READ, AT_MOST },          { PLAN_WORKSPACE, AT_LEAST },
        { PLAN_ALLOW_EXEC, AT_MOST }, { PLAN_ALLOW_FORK, AT_MOST },     { PLAN_ALLOW_NETWORK, AT_MOST },
        { PLAN_PROXY_VARIABLES, AT_MOST }, { PLAN_LIVE, AT_MOST }, { PLAN_AUDIT, AT_LEAST },     { PLAN_MDWE, AT_LEAST },
        { PLAN_SESSION_TIMEOUT, AT_MOST }, { PLAN_IDLE_TIMEOUT, AT_MOST },
        { PLAN_POOL_SIZE, AT_MOST },  { PLAN_POOL_MAX, AT_MOST },       { PLAN_TIMEOUT, LIMIT },
        { PLAN_MEMORY, LIMIT },       { PLAN_CPU, LIMIT },              { PLAN_PROCESSES, LIMIT },
};

static bool is_no_more(const struct files *f, enum plan_number number, enum order order)
{
        uint64_t capped = f->capped->number[number].number, open = f->open->number[number].number;
        switch (order) {
        case AT_MOST:
                return capped <= open;
        case AT_LEAST:
                return capped >= open;
        case LIMIT:
                return open == 0 || (capped != 0 && capped <= open);
        case MORE_BITS:
                /* Without sockets there is no need of a network namespace. */
                open &= ~(uint64_t)(f->capped->number[PLAN_ALLOW_NETWORK].number ? 0 : SPACE_NET);
                return (capped & open) == open;
        }
        return false;
}

/* Allowed, and by something real: a private directory holds nothing of the machine's. */
static bool really(const struct rules *rules, const char *path, bool write)
{
        const struct rule *by = NULL;
        return rules_decide(rules, path, write, &by) && by->kind != RULE_PRIVATE;
}

static void check_path(const struct rules *capped, const struct rules *open, const char *path)
{
        for (int write = 0; write < 2; write++)
                if (really(capped, path, write) && !rules_decide(open, path, write, NULL)) {
                        (void)fprintf(stderr, "broken: the ceiling allows to %s %s\n", write ? "write" : "read", path);
                        abort();
                }
}

static void check_files(struct arena *a, const struct rules *capped, const struct rules *open)
{
        const struct rules *both[] = { capped, open };
        for (size_t i = 0; i < ARRAY_SIZE(both); i++)
                for (size_t j = 0; j < both[i]->count; j++) {
                        const char *path = both[i]->list[j].path, *below = arena_format(a, "%s/x", path);
                        if (both[i]->list[j].glob || strcmp(path, "/") == 0 ||
                            (strcmp(both[i]->list[j].from.name, "default") == 0 && j % 16 != 0))
                                continue;
                        PROMISE(below);
                        check_path(capped, open, path);
                        check_path(capped, open, below);
                }
}

static void check_hosts(const struct hosts *capped, const struct hosts *open)
{
        for (size_t i = 0; i < capped->count; i++) {
                const struct domain *d = &capped->list[i].domain;
                uint16_t port = d->port ? d->port : 443;
                char name[CAP_DOMAIN + 8];
                (void)snprintf(name, sizeof name, "%s%s", d->wildcard ? "x." : "", d->name);
                PROMISE(!hosts_decide(capped, name, port, NULL) || hosts_decide(open, name, port, NULL));
        }
}

static bool has_socket(const struct plan *p, const char *path)
{
        for (size_t i = 0; i < p->unix_socket_count; i++)
                if (strcmp(p->unix_sockets[i].path, path) == 0)
                        return true;
        return false;
}

static void check_network(const struct plan *capped, const struct plan *open)
{
        for (size_t i = 0; i < capped->private_hosts.count; i++) {
                bool covered = false;
                for (size_t j = 0; j < open->private_hosts.count; j++)
                        covered |= domain_covers(&open->private_hosts.list[j].domain,
                                                 &capped->private_hosts.list[i].domain, BARE_EVERY);
                PROMISE(covered);
        }
        for (size_t i = 0; i < capped->local_ports.count; i++)
                PROMISE(ports_have(&open->local_ports, capped->local_ports.list[i].port));
        for (size_t i = 0; i < capped->published.count; i++)
                PROMISE(ports_have(&open->published, capped->published.list[i].port));
        for (size_t i = 0; i < capped->unix_socket_count; i++)
                PROMISE(has_socket(open, capped->unix_sockets[i].path));
}

static void check_is_less(struct arena *a, const struct files *f)
{
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                PROMISE(is_no_more(f, numbers[i].number, numbers[i].order));
        check_files(a, &f->capped->rules, &f->open->rules);
        check_hosts(&f->capped->hosts, &f->open->hosts);
        check_network(f->capped, f->open);
        PROMISE(f->capped->server_count == f->open->server_count);
        for (size_t i = 0; i < f->capped->server_count; i++) {
                const struct plan_server *capped = &f->capped->servers[i], *open = &f->open->servers[i];
                check_files(a, &capped->rules, &open->rules);
                check_hosts(&capped->hosts, &open->hosts);
                PROMISE(capped->allow_exec <= open->allow_exec && capped->allow_fork <= open->allow_fork &&
                        capped->allow_network <= open->allow_network);
        }
}

/* ---- and what the ceiling says ---- */

static const char *path_of(struct arena *a, const struct files *f, const struct setting *s)
{
        struct expand_names names = {
                .workspace = f->capped->workspace, .home = fuzz_facts.home, .user_data = fuzz_facts.user_data,
        };
        bool pattern = keys[s->key].kind == VALUE_PATTERN;
        const char *path = expand_path(a, &names, s->base ? s->base : names.workspace, s->text, pattern, s->literal).path;
        if (!path || (pattern && pattern_is_glob(path)))
                return NULL;
        return pattern ? pattern_unescape(a, path) : path;
}

static void check_denials(struct arena *a, const struct files *f, const struct rules *rules)
{
        bool grants = settings_last(&f->ceiling, KEY_ALLOW_PATHS) || settings_last(&f->ceiling, KEY_ALLOW_WRITE);
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                bool read = s->key == KEY_DENY_READ, write = read || s->key == KEY_DENY_WRITE || s->key == KEY_PROTECT;
                bool placed = s->text && (s->key != KEY_PROTECT || strchr("/~{", s->text[0]));
                const char *path = write && placed && !s->empty && s->sign == SIGN_NONE ? path_of(a, f, s) : NULL;
                if (!path)
                        continue;
                PROMISE(!really(rules, path, true));
                PROMISE(!read || !really(rules, path, false));
                for (size_t j = 0; j < rules->count && !grants; j++) {
                        const struct rule *r = &rules->list[j];
                        if (r->glob || !path_is_beneath(r->path, path))
                                continue;
                        PROMISE(!really(rules, r->path, true));
                        PROMISE(!read || !really(rules, r->path, false));
                }
        }
}

static bool ceiling_allows_writing(struct arena *a, const struct files *f, const char *path)
{
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                bool write = s->key == KEY_ALLOW_WRITE || (s->key == KEY_ALLOW_PATHS && s->number == ACCESS_WRITE);
                const char *allowed = write && !s->empty ? path_of(a, f, s) : NULL;
                if (allowed && path_is_beneath(path, allowed))
                        return true;
        }
        return false;
}

static void check_writes(struct arena *a, const struct files *f, const struct rules *rules)
{
        if (!settings_last(&f->ceiling, KEY_ALLOW_WRITE))
                return;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                if (r->kind == RULE_WRITE && !(r->set && strcmp(r->set, "devices") == 0))
                        PROMISE(ceiling_allows_writing(a, f, r->path));
        }
}

static void check_ceiling_hosts(const struct files *f, enum key_id key, const struct hosts *hosts)
{
        enum bare_port bare = key == KEY_ALLOW_PRIVATE ? BARE_EVERY : BARE_DEFAULT;
        bool limited = false, by_name = true;
        for (size_t i = 0; i < f->ceiling.count; i++) {
                limited |= f->ceiling.list[i].key == key;
                by_name &= f->ceiling.list[i].key != key || f->ceiling.list[i].sign == SIGN_NONE;
        }
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                bool covered = !limited || !by_name || !h->allow;
                for (size_t j = 0; j < f->ceiling.count; j++) {
                        const struct setting *s = &f->ceiling.list[j];
                        if (s->key == key && !s->empty && s->sign == SIGN_NONE)
                                covered |= domain_covers(&s->domain, &h->domain, bare);
                }
                PROMISE(covered);
        }
}

static void check_ceiling_ports(const struct files *f, enum key_id key, const struct ports *ports)
{
        for (size_t i = 0; settings_last(&f->ceiling, key) && i < ports->count; i++) {
                bool listed = false;
                for (size_t j = 0; j < f->ceiling.count; j++)
                        listed |= f->ceiling.list[j].key == key && f->ceiling.list[j].number == ports->list[i].port;
                PROMISE(listed);
        }
}

static void check_ceiling_sockets(struct arena *a, const struct files *f)
{
        bool limited = settings_last(&f->ceiling, KEY_UNIX_SOCKETS) != NULL;
        for (size_t i = 0; i < f->capped->unix_socket_count; i++) {
                bool listed = !limited;
                for (size_t j = 0; j < f->ceiling.count; j++) {
                        const struct setting *s = &f->ceiling.list[j];
                        const char *place = s->key == KEY_UNIX_SOCKETS && !s->empty ? path_of(a, f, s) : NULL;
                        listed |= place && path_is_beneath(f->capped->unix_sockets[i].path, place);
                }
                PROMISE(listed);
        }
}

static bool denies_command(const struct plan *p, const char *name)
{
        for (size_t i = 0; i < p->denied_command_count; i++)
                if (strcmp(p->denied_commands[i].name, name) == 0)
                        return true;
        return false;
}

static bool has_secret(const struct plan *p, const char *name, const char *expression)
{
        for (size_t i = 0; i < p->secret_count; i++)
                if (strcmp(p->secrets[i].name, name) == 0 && strcmp(p->secrets[i].expression, expression) == 0)
                        return true;
        return false;
}

/* The gate refuses and redacts what either of the two says. */
static void check_gate(const struct files *f)
{
        for (size_t i = 0; i < f->open->denied_command_count; i++)
                PROMISE(denies_command(f->capped, f->open->denied_commands[i].name));
        for (size_t i = 0; i < f->open->secret_count; i++)
                PROMISE(has_secret(f->capped, f->open->secrets[i].name, f->open->secrets[i].expression));
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                if (s->key == KEY_DENIED_COMMANDS && !s->empty && s->sign == SIGN_NONE)
                        PROMISE(denies_command(f->capped, s->text));
                if (s->key == KEY_SECRET)
                        PROMISE(has_secret(f->capped, s->member, s->text));
        }
}

static void check_is_kept(struct arena *a, const struct files *f)
{
        check_gate(f);
        check_denials(a, f, &f->capped->rules);
        check_writes(a, f, &f->capped->rules);
        check_ceiling_hosts(f, KEY_ALLOWED_DOMAINS, &f->capped->hosts);
        check_ceiling_hosts(f, KEY_ALLOW_PRIVATE, &f->capped->private_hosts);
        check_ceiling_ports(f, KEY_ALLOW_LOCAL_PORTS, &f->capped->local_ports);
        check_ceiling_ports(f, KEY_PUBLISH, &f->capped->published);
        check_ceiling_sockets(a, f);
        for (size_t i = 0; i < f->capped->server_count; i++) {
                check_denials(a, f, &f->capped->servers[i].rules);
                check_writes(a, f, &f->capped->servers[i].rules);
                check_ceiling_hosts(f, KEY_ALLOWED_DOMAINS, &f->capped->servers[i].hosts);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data, *middle = memmem(data, size, separator, sizeof separator - 1);
        if (!middle)
                return 0;
        const char *second = middle + sizeof separator - 1;
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        CLEANUP_MESSAGES struct messages *m = messages_new(), *ignored = messages_new();
        CLEANUP_PLAN struct plan *open = NULL, *capped = NULL;
        struct files f;
        PROMISE(arena && m && ignored);
        settings_init(&f.policy, arena, m, fuzz_facts.to_ascii);
        settings_init(&f.ceiling, arena, m, fuzz_facts.to_ascii);
        int wrong = settings_read_native(&f.policy, "policy.yaml", text, (size_t)(middle - text), "/home/user/project");
        wrong |= settings_read_native(&f.ceiling, "ceiling.yaml", second, (size_t)(text + size - second), "/etc/ringwall");
        wrong |= ceiling_check(&f.ceiling);
        const struct settings *ceilings[] = { &f.ceiling };
        int uncompiled = policy_compile(&f.policy, ceilings, 1, &fuzz_facts, m, &capped);
        PROMISE(uncompiled == 0 || uncompiled == 1);
        messages_check(m, wrong || uncompiled);
        if (capped)
                plan_check(capped);
        if (wrong || uncompiled || policy_compile(&f.policy, NULL, 0, &fuzz_facts, ignored, &open) != 0)
                return 0;
        f.open = open;
        f.capped = capped;
        check_is_less(arena, &f);
        check_is_kept(arena, &f);
        return 0;
}
