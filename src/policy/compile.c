/*
 * Compiles numbers, rights, namespaces, workspace and environment, and calls the other parts of the compiler in order.
 * It continues after an error as long as the rest can still be checked, so that a person sees all errors at once.
 */
#include "policy/compile.h"

#include <errno.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/defaults.h"
#include "policy/module_rights.h"
#include "policy/path_pattern.h"

const struct setting *settings_find_last(const struct settings *s, enum key_id key)
{
        for (size_t i = s->count; i-- > 0;)
                if (s->list[i].key == key)
                        return &s->list[i];
        return NULL;
}

bool setting_has_key(const struct setting *s, enum key_id key, const char *server)
{
        if (s->key != key)
                return false;
        return server ? s->server && strcmp(s->server, server) == 0 : true;
}

struct source compile_source(struct compiler *c, struct source from)
{
        /* Consecutive rules often come from one file: share the name with the previous rule. */
        struct plan *p = c->plan;
        if (p->rules.count) {
                struct source last = p->rules.list[p->rules.count - 1].from;
                if (last.name && strcmp(last.name, from.name) == 0)
                        return (struct source){ last.name, from.line, from.column };
        }
        const char *name = arena_strdup(c->arena, from.name);
        c->no_memory |= !name;
        return (struct source){ name ? name : "", from.line, from.column };
}

const char *compile_path(struct compiler *c, const struct setting *s, bool pattern)
{
        const char *base = s->base ? s->base : c->names.workspace;
        struct expanded_path e = expand_path(c->arena, &c->names, base, s->text, pattern, s->literal);
        if (e.path)
                return e.path;
        if (!e.wrong) {
                c->no_memory = true;
                return NULL;
        }
        diagnostic_error(c->messages, s->from, e.hint, "'%.100s': %s", s->text, e.wrong);
        c->failed = true;
        return NULL;
}

/* The limit on processes where a policy has a `resources` block that does not set one. */
enum { RESOURCES_BLOCK_PROCESSES = 10 };

static void compile_numbers(struct compiler *c)
{
        for (enum key_id key = 0; key < KEY_COUNT; key++) {
                if (!key_has_single_value(&keys[key]))
                        continue;
                const struct setting *s = settings_find_last(c->settings, key);
                struct plan_value *v = &c->plan->scalar[keys[key].scalar];
                v->value = s ? s->number : key_default_scalar(&keys[key]);
                v->from = s ? compile_source(c, s->from) : default_source();
        }
        const struct setting *block = settings_find_last(c->settings, KEY_RESOURCES);
        struct plan_value *processes = &c->plan->scalar[PLAN_PROCESSES];
        if (block && processes->value == 0)
                *processes = (struct plan_value){ RESOURCES_BLOCK_PROCESSES, compile_source(c, block->from) };
}

static void grant_right(struct compiler *c, unsigned rights, enum right right, enum plan_scalar number,
                        struct source from)
{
        struct plan_value *v = &c->plan->scalar[number];
        if ((rights & right) && !v->value)
                *v = (struct plan_value){ 1, compile_source(c, from) };
}

static void grant_rights(struct compiler *c, unsigned rights, struct source from)
{
        grant_right(c, rights, RIGHT_EXEC, PLAN_ALLOW_EXEC, from);
        grant_right(c, rights, RIGHT_FORK, PLAN_ALLOW_FORK, from);
        grant_right(c, rights, RIGHT_NETWORK, PLAN_ALLOW_NETWORK, from);
}

static void deny_rights(struct compiler *c, unsigned rights, struct source by)
{
        static const struct {
                enum right right;
                enum plan_scalar number;
        } rows[] = {
                { RIGHT_EXEC, PLAN_ALLOW_EXEC },
                { RIGHT_FORK, PLAN_ALLOW_FORK },
                { RIGHT_NETWORK, PLAN_ALLOW_NETWORK },
        };
        c->denied |= rights;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rights & rows[i].right)
                        c->plan->scalar[rows[i].number] = (struct plan_value){ 0, compile_source(c, by) };
        if (rights & RIGHT_WRITE)
                c->plan->scalar[PLAN_WORKSPACE] = (struct plan_value){ PLAN_WORKSPACE_RO, compile_source(c, by) };
}

/* The setting that needs the network: the first allowed host, local or published port, or a live policy. NULL: none. */
static const struct source *network_needed_by(const struct plan *plan)
{
        for (size_t i = 0; i < plan->hosts.count; i++)
                if (plan->hosts.list[i].allow)
                        return &plan->hosts.list[i].from;
        if (plan->local_ports.count)
                return &plan->local_ports.list[0].from;
        if (plan->published.count)
                return &plan->published.list[0].from;
        return plan->scalar[PLAN_LIVE].value ? &plan->scalar[PLAN_LIVE].from : NULL;
}

static const unsigned level_namespaces[] = {
        [LEVEL_OFF] = 0,
        [LEVEL_STANDARD] = 0,
        [LEVEL_STRICT] = NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_MOUNT | NAMESPACE_IPC | NAMESPACE_UTS |
                         NAMESPACE_CGROUP | NAMESPACE_NET,
        [LEVEL_MAXIMUM] = NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_MOUNT | NAMESPACE_IPC | NAMESPACE_UTS |
                          NAMESPACE_CGROUP | NAMESPACE_NET,
};

/* Only the last file that has the list counts. */
static uint64_t collect_chosen_namespaces(const struct settings *s, const struct setting *last)
{
        uint64_t chosen = 0;
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == KEY_NAMESPACES && s->list[i].layer == last->layer && !s->list[i].empty)
                        chosen |= 1ULL << s->list[i].number;
        return chosen;
}

/* A ceiling that raises the level adds the namespaces of that level to the list of a policy. */
static bool is_level_raised(const struct compiler *c)
{
        const struct setting *own = settings_find_last(c->settings, KEY_LEVEL);
        return c->plan->scalar[PLAN_LEVEL].value != (own ? own->number : LEVEL_STRICT);
}

static uint64_t find_namespaces(const struct compiler *c)
{
        const struct setting *list = settings_find_last(c->settings, KEY_NAMESPACES);
        uint64_t of_level = level_namespaces[c->plan->scalar[PLAN_LEVEL].value];
        uint64_t chosen = list ? collect_chosen_namespaces(c->settings, list) : of_level;
        return is_level_raised(c) ? chosen | of_level : chosen;
}

/*
 * Without a `modules` block a box may exec, fork and use its own loopback; with one, only if a module or a permission
 * grants it.
 */
static void compile_rights(struct compiler *c)
{
        const struct settings *s = c->settings;
        bool modules = settings_find_last(s, KEY_MODULES) != NULL;
        if (!modules)
                grant_rights(c, RIGHT_EXEC | RIGHT_FORK, default_source());
        if (!modules && (find_namespaces(c) & NAMESPACE_NET))
                grant_rights(c, RIGHT_NETWORK, default_source());
        for (size_t i = 0; i < module_row_count; i++) {
                const struct setting *module = settings_find_last(s, module_rows[i].key);
                if (module)
                        grant_rights(c, module_rows[i].rights, module->from);
        }
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == KEY_GRANT && !s->list[i].empty)
                        grant_rights(c, permissions[s->list[i].number].granted, s->list[i].from);
        const struct source *need = network_needed_by(c->plan);
        if (need)
                grant_rights(c, RIGHT_NETWORK, *need);
        for (enum plan_scalar n = PLAN_ALLOW_EXEC; n <= PLAN_ALLOW_NETWORK; n++)
                if (!c->plan->scalar[n].from.name)
                        c->plan->scalar[n].from = default_source();
}

static void compile_denied_rights(struct compiler *c)
{
        const struct settings *s = c->settings;
        for (size_t i = 0; i < s->count; i++) {
                if (s->list[i].key != KEY_DENY || s->list[i].empty)
                        continue;
                unsigned rights = permissions[s->list[i].number].granted;
                if (rights & RIGHT_READ) {
                        diagnostic_error(c->messages, s->list[i].from, "name the paths in filesystem.deny_read",
                                         "'%s' cannot be denied as a whole", s->list[i].text);
                        c->failed = true;
                        continue;
                }
                if ((rights & RIGHT_NETWORK) && network_needed_by(c->plan))
                        diagnostic_warning(c->messages, s->list[i].from, "remove the hosts and ports, or this denial",
                                           "the network is denied, so the allowed hosts and ports cannot be reached");
                deny_rights(c, rights, s->list[i].from);
        }
        struct source by = { 0 };
        unsigned cut = ceiling_denied_rights(c, &by);
        if (cut) {
                deny_rights(c, cut, by);
                plan_record_ceiling_cut(c, by, "removed", "rights to%s%s%s%s", cut & RIGHT_EXEC ? " exec" : "",
                                        cut & RIGHT_FORK ? " fork" : "", cut & RIGHT_NETWORK ? " network" : "",
                                        cut & RIGHT_WRITE ? " write" : "");
        }
}

static void check_chosen_namespaces(struct compiler *c, const struct setting *last, uint64_t chosen)
{
        uint64_t level = c->plan->scalar[PLAN_LEVEL].value;
        const char *wrong = NULL, *hint = NULL;
        if (level < LEVEL_STRICT && chosen) {
                wrong = "namespaces can be listed only at the levels strict and maximum";
                hint = "raise security.sandbox.level, or remove the list";
        } else if (chosen && !(chosen & NAMESPACE_USER)) {
                wrong = "without a user namespace no other namespace can be created (except by root)";
                hint = "add user to the list";
        } else if (level == LEVEL_MAXIMUM && !(chosen & NAMESPACE_NET)) {
                wrong = "level maximum always has a network namespace";
                hint = "add net to the list, or use level strict";
        } else if (level == LEVEL_STRICT && !(chosen & NAMESPACE_NET) && c->plan->scalar[PLAN_ALLOW_NETWORK].value) {
                wrong = "a box that may use the network needs a network namespace at level strict";
                hint = "add net to the list, or remove the list";
        }
        if (wrong) {
                diagnostic_error(c->messages, last->from, hint, "%s", wrong);
                c->failed = true;
                return;
        }
        uint64_t missing = level_namespaces[level] & ~chosen;
        if (!missing)
                return;
        CLEANUP_TEXT struct text names = { 0 };
        plan_print_scalar(PLAN_NAMESPACES, missing, &names);
        diagnostic_warning(c->messages, last->from, "remove the list to get all namespaces of the level",
                           "the list lacks namespaces that level %s has: %s", level_words[level],
                           names.data ? names.data : "");
}

static void compile_namespaces(struct compiler *c)
{
        const struct setting *list = settings_find_last(c->settings, KEY_NAMESPACES);
        struct source of_level = c->plan->scalar[PLAN_LEVEL].from;
        uint64_t namespaces = find_namespaces(c);
        if (list && !is_level_raised(c)) {
                c->plan->scalar[PLAN_NAMESPACES] =
                        (struct plan_value){ namespaces, compile_source(c, list->from) };
                check_chosen_namespaces(c, list, namespaces);
                return;
        }
        c->plan->scalar[PLAN_NAMESPACES] = (struct plan_value){ namespaces, of_level };
        if (list)
                plan_record_ceiling_cut(c, of_level, "with all namespaces of the level", "namespaces");
}

static void check_numbers(struct compiler *c)
{
        const struct plan_value *n = c->plan->scalar;
        if (n[PLAN_POOL_SIZE].value > n[PLAN_POOL_MAX].value) {
                bool by_size = !source_is_default(n[PLAN_POOL_SIZE].from);
                diagnostic_error(c->messages, n[by_size ? PLAN_POOL_SIZE : PLAN_POOL_MAX].from,
                                 "pool_max counts warm and busy boxes", "pool_size %llu is larger than pool_max %llu",
                                 (unsigned long long)n[PLAN_POOL_SIZE].value,
                                 (unsigned long long)n[PLAN_POOL_MAX].value);
                c->failed = true;
        }
        if (n[PLAN_SNAPSHOT].value && n[PLAN_LEVEL].value != LEVEL_MAXIMUM) {
                diagnostic_error(c->messages, n[PLAN_SNAPSHOT].from, "set security.sandbox.level to maximum",
                                 "workspace_snapshot needs level maximum, not %s", level_words[n[PLAN_LEVEL].value]);
                c->failed = true;
        }
}

/* The workspace is the last workdir of a file or flag, or the current directory. */
static void compile_workspace(struct compiler *c)
{
        const struct setting *s = settings_find_last(c->settings, KEY_WORKDIR);
        c->names = (struct path_variables){ .home = c->facts->home, .user_data = c->facts->user_data,
                                            .user_state = c->facts->user_state };
        /* {workspace} has no value here yet. A relative workdir starts from the setting's base. */
        const char *path = s ? compile_path(c, s, false) : arena_strdup(c->arena, c->facts->cwd);
        struct source from = s ? s->from : (struct source){ .name = "" };
        if (!path) {
                c->names.workspace = "/nowhere";
                c->no_memory |= !s;
                return;
        }
        if (*path != '/' || text_utf8_valid_length(path, strlen(path)) < strlen(path)) {
                diagnostic_error(c->messages, from, "choose another with --workspace",
                                 "the workspace must be an absolute path in UTF-8");
                c->failed = true;
        }
        path = path_normalize(c->arena, path);
        if (path && strcmp(path, "/") == 0) {
                diagnostic_error(c->messages, from, "choose a directory with --workspace",
                                 "the workspace cannot be the root directory");
                c->failed = true;
        }
        if (path && c->facts->home && strcmp(path, c->facts->home) == 0)
                diagnostic_warning(c->messages, from, "run in a project's directory, or name one with --workspace",
                                   "the workspace is the whole home directory");
        c->no_memory |= !path;
        c->names.workspace = c->plan->workspace = path ? path : "/nowhere";
}

static void env_add(struct compiler *c, const char *text, struct source from)
{
        size_t n = strcspn(text, "=");
        struct plan_env new = {
                .name = arena_strndup(c->arena, text, n),
                .value = text[n] ? arena_strdup(c->arena, text + n + 1) : NULL,
                .from = from,
        };
        if (!new.name || (text[n] && !new.value)) {
                c->no_memory = true;
                return;
        }
        for (size_t i = 0; i < c->plan->env_count; i++)
                if (strcmp(c->plan->env[i].name, new.name) == 0) {
                        c->plan->env[i] = new;
                        return;
                }
        if (c->plan->env_count == POLICY_ENV_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, from, NULL, "more than %d variables are named", POLICY_ENV_MAX);
                c->failed = true;
                return;
        }
        struct plan_env *slot = arena_array_push(c->arena, &c->plan->env, &c->plan->env_count, sizeof *slot);
        if (slot)
                *slot = new;
        c->no_memory |= !slot;
}

static void compile_env(struct compiler *c)
{
        for (size_t i = 0; default_env[i]; i++)
                env_add(c, default_env[i], default_source());
        for (size_t i = 0; i < c->settings->count; i++)
                if (c->settings->list[i].key == KEY_ENV && !c->settings->list[i].empty)
                        env_add(c, c->settings->list[i].text, compile_source(c, c->settings->list[i].from));
}

static void compile_all(struct compiler *c)
{
        struct grants grants = { 0 };
        compile_workspace(c);
        compile_numbers(c);
        ceiling_cut_scalars(c);
        compile_hosts(c);
        ceiling_cut_hosts(c, &c->plan->hosts, "");
        ceiling_cut_private_hosts(c);
        compile_network(c);
        compile_rights(c);
        compile_denied_rights(c);
        compile_namespaces(c);
        ceiling_add_namespaces(c);
        check_numbers(c);
        compile_env(c);
        compile_gate(c);
        compile_grants(c, &grants);
        compile_box_rules(c, &grants, "", &c->plan->rules);
        compile_check_sockets(c);
        compile_servers(c);
}

int policy_compile(const struct settings *s, const struct settings *const *ceilings, size_t ceiling_count,
                   const struct host_facts *facts, struct diagnostics *m, struct plan **ret)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        struct plan *plan = arena ? ARENA_NEW(arena, struct plan) : NULL;
        if (!plan)
                return -ENOMEM;
        plan->arena = arena;
        plan->home = facts->home ? arena_strdup(arena, facts->home) : "";
        struct compiler c = {
                .arena = arena,
                .settings = s,
                .ceilings = ceilings,
                .ceiling_count = ceiling_count,
                .facts = facts,
                .messages = m,
                .plan = plan,
        };
        compile_all(&c);
        if (arena_is_full(arena)) {
                diagnostic_error(m, (struct source){ .name = "" }, "grant and deny fewer, wider paths",
                                 "the plan would take more than %d MiB of memory", ARENA_BYTES_MAX >> 20);
                return 1;
        }
        if (c.no_memory || !plan->home)
                return -ENOMEM;
        if (c.failed)
                return 1;
        arena = NULL;
        *ret = plan;
        return 0;
}
