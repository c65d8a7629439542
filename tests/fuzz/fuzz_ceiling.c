/*
 * Ceilings. The input is a policy and a ceiling, separated by a line of five equals signs. The plan under the ceiling
 * allows nothing that the plan without it denies, and nothing that the ceiling denies: paths, writes, hosts.
 */
#include <string.h>

#include "fuzz.h"
#include "plan_checks.h"
#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/path_pattern.h"

static const char separator[] = "\n=====\n";

struct files {
        struct settings policy, ceiling;
        const struct plan *uncapped, *capped;
};

/* ---- the ceiling allows nothing new ---- */

/* How a number under a ceiling compares with the number without it. */
enum order {
        AT_MOST,
        AT_LEAST,
        LIMIT,    /* at most, where 0 is unlimited */
        MORE_BITS /* all bits of the other, or more */
};

static const struct {
        enum plan_scalar number;
        enum order order;
} numbers[] = {
        { PLAN_LEVEL, AT_LEAST },        { PLAN_NAMESPACES, MORE_BITS },
        { PLAN_MODE, AT_MOST },          { PLAN_BEST_EFFORT, AT_MOST },
        { PLAN_READ, AT_MOST },          { PLAN_WORKSPACE, AT_LEAST },
        { PLAN_ALLOW_EXEC, AT_MOST },    { PLAN_ALLOW_FORK, AT_MOST },
        { PLAN_ALLOW_NETWORK, AT_MOST }, { PLAN_PROXY_VARIABLES, AT_MOST },
        { PLAN_LIVE, AT_MOST },          { PLAN_AUDIT, AT_LEAST },
        { PLAN_MDWE, AT_LEAST },         { PLAN_SESSION_TIMEOUT, AT_MOST },
        { PLAN_IDLE_TIMEOUT, AT_MOST },  { PLAN_POOL_SIZE, AT_MOST },
        { PLAN_POOL_MAX, AT_MOST },      { PLAN_TIMEOUT, LIMIT },
        { PLAN_MEMORY, LIMIT },          { PLAN_CPU, LIMIT },
        { PLAN_PROCESSES, LIMIT },
};

/* Does a raised level give the box a network of its own, which its programs may use? */
static bool gets_own_loopback(const struct files *f)
{
        uint64_t uncapped = f->uncapped->scalar[PLAN_NAMESPACES].value;
        return !(uncapped & NAMESPACE_NET) && (f->capped->scalar[PLAN_NAMESPACES].value & NAMESPACE_NET);
}

static bool compares_as(const struct files *f, enum plan_scalar number, enum order order)
{
        uint64_t capped = f->capped->scalar[number].value, uncapped = f->uncapped->scalar[number].value;
        if (number == PLAN_ALLOW_NETWORK && gets_own_loopback(f))
                return true; /* check_network() compares the hosts and ports that it can reach */
        switch (order) {
        case AT_MOST:
                return capped <= uncapped;
        case AT_LEAST:
                return capped >= uncapped;
        case LIMIT:
                return uncapped == 0 || (capped != 0 && capped <= uncapped);
        case MORE_BITS:
                /* A plan without network needs no network namespace. */
                uncapped &= ~(uint64_t)(f->capped->scalar[PLAN_ALLOW_NETWORK].value ? 0 : NAMESPACE_NET);
                return (capped & uncapped) == uncapped;
        }
        return false;
}

/* Is the path allowed, other than by a private directory, which has no files of this machine? */
static bool allows_real_file(const struct rules *rules, const char *path, bool write)
{
        const struct rule *by = NULL;
        return rules_decide(rules, path, write, &by) && by->kind != RULE_PRIVATE;
}

static void check_path(const struct rules *capped, const struct rules *uncapped, const char *path)
{
        for (int write = 0; write < 2; write++)
                if (allows_real_file(capped, path, write) && !rules_decide(uncapped, path, write, NULL)) {
                        (void)fprintf(stderr, "broken: the ceiling adds permission to %s %s\n",
                                      write ? "write" : "read", path);
                        abort();
                }
}

static void check_files(struct arena *a, const struct rules *capped, const struct rules *uncapped)
{
        const struct rules *both[] = { capped, uncapped };
        for (size_t i = 0; i < ARRAY_SIZE(both); i++)
                for (size_t j = 0; j < both[i]->count; j++) {
                        const char *path = both[i]->list[j].path, *below = arena_format(a, "%s/x", path);
                        /* For speed, only one in 16 of the default rules is tested. */
                        if (both[i]->list[j].glob || strcmp(path, "/") == 0 ||
                            (strcmp(both[i]->list[j].from.name, "default") == 0 && j % 16 != 0))
                                continue;
                        PROMISE(below);
                        check_path(capped, uncapped, path);
                        check_path(capped, uncapped, below);
                }
}

static void check_hosts(const struct hosts *capped, const struct hosts *uncapped)
{
        for (size_t i = 0; i < capped->count; i++) {
                const struct host_pattern *d = &capped->list[i].domain;
                uint16_t port = d->port ? d->port : 443;
                char name[DOMAIN_MAX + 8];
                (void)snprintf(name, sizeof name, "%s%s", d->wildcard ? "x." : "", d->name);
                PROMISE(!hosts_decide(capped, name, port, NULL) || hosts_decide(uncapped, name, port, NULL));
        }
}

static bool allows_socket(const struct plan *p, const char *path)
{
        for (size_t i = 0; i < p->unix_socket_count; i++)
                if (strcmp(p->unix_sockets[i].path, path) == 0)
                        return true;
        return false;
}

static void check_network(const struct plan *capped, const struct plan *uncapped)
{
        for (size_t i = 0; i < capped->private_hosts.count; i++) {
                bool covered = false;
                for (size_t j = 0; j < uncapped->private_hosts.count; j++)
                        covered |= host_pattern_covers(&uncapped->private_hosts.list[j].domain,
                                                       &capped->private_hosts.list[i].domain, PORTLESS_EVERY);
                PROMISE(covered);
        }
        for (size_t i = 0; i < capped->local_ports.count; i++)
                PROMISE(ports_contain(&uncapped->local_ports, capped->local_ports.list[i].port));
        for (size_t i = 0; i < capped->published.count; i++)
                PROMISE(ports_contain(&uncapped->published, capped->published.list[i].port));
        for (size_t i = 0; i < capped->unix_socket_count; i++)
                PROMISE(allows_socket(uncapped, capped->unix_sockets[i].path));
}

static void check_adds_nothing(struct arena *a, const struct files *f)
{
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                PROMISE(compares_as(f, numbers[i].number, numbers[i].order));
        check_files(a, &f->capped->rules, &f->uncapped->rules);
        check_hosts(&f->capped->hosts, &f->uncapped->hosts);
        check_network(f->capped, f->uncapped);
        PROMISE(f->capped->server_count == f->uncapped->server_count);
        for (size_t i = 0; i < f->capped->server_count; i++) {
                const struct plan_server *capped = &f->capped->servers[i], *uncapped = &f->uncapped->servers[i];
                check_files(a, &capped->rules, &uncapped->rules);
                check_hosts(&capped->hosts, &uncapped->hosts);
                PROMISE(capped->allow_exec <= uncapped->allow_exec && capped->allow_fork <= uncapped->allow_fork &&
                        capped->allow_network <= uncapped->allow_network);
        }
}

/* ---- the ceiling is enforced ---- */

static const char *expand_setting(struct arena *a, const struct files *f, const struct setting *s)
{
        struct path_variables names = {
                .workspace = f->capped->workspace, .home = fuzz_facts.home, .user_data = fuzz_facts.user_data,
                .user_state = fuzz_facts.user_state,
        };
        bool pattern = keys[s->key].kind == VALUE_PATTERN;
        const char *path =
                expand_path(a, &names, s->base ? s->base : names.workspace, s->text, pattern, s->literal).path;
        if (!path || (pattern && path_pattern_is_glob(path)))
                return NULL;
        return pattern ? path_pattern_unescape(a, path) : path;
}

/*
 * Paths that the ceiling denies are denied in the plan. Paths below them too, unless the ceiling also has grants: a
 * narrower grant of its own may allow them.
 */
static void check_denials(struct arena *a, const struct files *f, const struct rules *rules)
{
        bool grants =
                settings_find_last(&f->ceiling, KEY_ALLOW_PATHS) || settings_find_last(&f->ceiling, KEY_ALLOW_WRITE);
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                bool read = s->key == KEY_DENY_READ, write = read || s->key == KEY_DENY_WRITE || s->key == KEY_PROTECT;
                bool has_path = s->text && (s->key != KEY_PROTECT || strchr("/~{", s->text[0]));
                const char *path =
                        write && has_path && !s->empty && s->sign == SIGN_NONE ? expand_setting(a, f, s) : NULL;
                if (!path)
                        continue;
                PROMISE(!allows_real_file(rules, path, true));
                PROMISE(!read || !allows_real_file(rules, path, false));
                for (size_t j = 0; j < rules->count && !grants; j++) {
                        const struct rule *r = &rules->list[j];
                        if (r->glob || !path_is_beneath(r->path, path))
                                continue;
                        PROMISE(!allows_real_file(rules, r->path, true));
                        PROMISE(!read || !allows_real_file(rules, r->path, false));
                }
        }
}

static bool ceiling_allows_writing(struct arena *a, const struct files *f, const char *path)
{
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                bool write = s->key == KEY_ALLOW_WRITE || (s->key == KEY_ALLOW_PATHS && s->number == ACCESS_WRITE);
                const char *allowed = write && !s->empty ? expand_setting(a, f, s) : NULL;
                if (allowed && path_is_beneath(path, allowed))
                        return true;
        }
        return false;
}

static void check_writes(struct arena *a, const struct files *f, const struct rules *rules)
{
        if (!settings_find_last(&f->ceiling, KEY_ALLOW_WRITE))
                return;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                if (r->kind == RULE_WRITE && !(r->set && strcmp(r->set, "devices") == 0))
                        PROMISE(ceiling_allows_writing(a, f, r->path));
        }
}

/* If the ceiling lists hosts, they cover those of the plan. A list with +name is not checked: the name may be a set. */
static void check_ceiling_hosts(const struct files *f, enum key_id key, const struct hosts *hosts)
{
        enum portless portless = key == KEY_ALLOW_PRIVATE ? PORTLESS_EVERY : PORTLESS_DEFAULT;
        bool limited = false, all_named = true;
        for (size_t i = 0; i < f->ceiling.count; i++) {
                limited |= f->ceiling.list[i].key == key;
                all_named &= f->ceiling.list[i].key != key || f->ceiling.list[i].sign == SIGN_NONE;
        }
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                bool covered = !limited || !all_named || !h->allow;
                for (size_t j = 0; j < f->ceiling.count; j++) {
                        const struct setting *s = &f->ceiling.list[j];
                        if (s->key == key && !s->empty && s->sign == SIGN_NONE)
                                covered |= host_pattern_covers(&s->domain, &h->domain, portless);
                }
                PROMISE(covered);
        }
}

static void check_ceiling_ports(const struct files *f, enum key_id key, const struct ports *ports)
{
        for (size_t i = 0; settings_find_last(&f->ceiling, key) && i < ports->count; i++) {
                bool listed = false;
                for (size_t j = 0; j < f->ceiling.count; j++)
                        listed |= f->ceiling.list[j].key == key && f->ceiling.list[j].number == ports->list[i].port;
                PROMISE(listed);
        }
}

static void check_ceiling_sockets(struct arena *a, const struct files *f)
{
        bool limited = settings_find_last(&f->ceiling, KEY_UNIX_SOCKETS) != NULL;
        for (size_t i = 0; i < f->capped->unix_socket_count; i++) {
                bool listed = !limited;
                for (size_t j = 0; j < f->ceiling.count; j++) {
                        const struct setting *s = &f->ceiling.list[j];
                        const char *allowed = s->key == KEY_UNIX_SOCKETS && !s->empty ? expand_setting(a, f, s) : NULL;
                        listed |= allowed && path_is_beneath(f->capped->unix_sockets[i].path, allowed);
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

/* The gate enforces the denied commands and secrets of policy and ceiling. */
static void check_gate(const struct files *f)
{
        for (size_t i = 0; i < f->uncapped->denied_command_count; i++)
                PROMISE(denies_command(f->capped, f->uncapped->denied_commands[i].name));
        for (size_t i = 0; i < f->uncapped->secret_count; i++)
                PROMISE(has_secret(f->capped, f->uncapped->secrets[i].name, f->uncapped->secrets[i].expression));
        for (size_t i = 0; i < f->ceiling.count; i++) {
                const struct setting *s = &f->ceiling.list[i];
                if (s->key == KEY_DENIED_COMMANDS && !s->empty && s->sign == SIGN_NONE)
                        PROMISE(denies_command(f->capped, s->text));
                if (s->key == KEY_SECRET)
                        PROMISE(has_secret(f->capped, s->member, s->text));
        }
}

static void check_is_enforced(struct arena *a, const struct files *f)
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
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new(), *ignored = diagnostics_new();
        CLEANUP_PLAN struct plan *uncapped = NULL, *capped = NULL;
        struct files f;
        PROMISE(arena && m && ignored);
        settings_init(&f.policy, arena, m, fuzz_facts.to_ascii);
        settings_init(&f.ceiling, arena, m, fuzz_facts.to_ascii);
        int read_failed =
                settings_parse_policy(&f.policy, "policy.yaml", text, (size_t)(middle - text), "/home/user/project");
        read_failed |= settings_parse_policy(&f.ceiling, "ceiling.yaml", second, (size_t)(text + size - second),
                                             "/etc/ringwall");
        read_failed |= ceiling_check(&f.ceiling);
        const struct settings *ceilings[] = { &f.ceiling };
        int compile_failed = policy_compile(&f.policy, ceilings, 1, &fuzz_facts, m, &capped);
        PROMISE(compile_failed == 0 || compile_failed == 1);
        diagnostics_check(m, read_failed || compile_failed);
        if (capped)
                plan_check(capped);
        if (read_failed || compile_failed || policy_compile(&f.policy, NULL, 0, &fuzz_facts, ignored, &uncapped) != 0)
                return 0;
        f.uncapped = uncapped;
        f.capped = capped;
        check_adds_nothing(arena, &f);
        check_is_enforced(arena, &f);
        return 0;
}
