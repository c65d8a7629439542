/*
 * The compiler's frame: numbers, workspace, environment, and the order in which the parts run. It goes on after an
 * error wherever the rest can still be checked, so that a person sees all of them at once.
 */
#include "policy/compile.h"

#include <errno.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/defaults.h"
#include "policy/modules.h"
#include "policy/pattern.h"

const struct setting *settings_last(const struct settings *s, enum key_id key)
{
        for (size_t i = s->count; i-- > 0;)
                if (s->list[i].key == key)
                        return &s->list[i];
        return NULL;
}

bool setting_is(const struct setting *s, enum key_id key, const char *server)
{
        if (s->key != key)
                return false;
        return server ? s->server && strcmp(s->server, server) == 0 : true;
}

struct source compile_source(struct compiler *c, struct source from)
{
        /* Rules come in runs from one file; share its name with the rule before. */
        struct plan *p = c->plan;
        if (p->rules.count) {
                struct source last = p->rules.list[p->rules.count - 1].from;
                if (last.name && strcmp(last.name, from.name) == 0)
                        return (struct source){ last.name, from.line, from.column };
        }
        const char *name = arena_string(c->arena, from.name);
        c->no_memory |= !name;
        return (struct source){ name ? name : "", from.line, from.column };
}

const char *compile_path(struct compiler *c, const struct setting *s, bool pattern)
{
        const char *base = s->base ? s->base : c->names.workspace;
        struct expanded e = expand_path(c->arena, &c->names, base, s->text, pattern, s->literal);
        if (e.path)
                return e.path;
        if (!e.wrong) {
                c->no_memory = true;
                return NULL;
        }
        message_error(c->messages, s->from, e.hint, "'%.100s': %s", s->text, e.wrong);
        c->failed = true;
        return NULL;
}

/* How each number of the plan comes about. */
struct number_row {
        enum plan_number number;
        enum key_id key;
        uint64_t fallback;
};

static const struct number_row number_rows[] = {
        { PLAN_LEVEL, KEY_LEVEL, LEVEL_STRICT },
        { PLAN_MODE, KEY_MODE, 0 },
        { PLAN_BEST_EFFORT, KEY_BEST_EFFORT, 0 },
        { PLAN_READ, KEY_READ, PLAN_READ_LISTED },
        { PLAN_WORKSPACE, KEY_WORKSPACE, PLAN_WORKSPACE_RW },
        { PLAN_PROXY_VARIABLES, KEY_PROXY_VARIABLES, 0 },
        { PLAN_LIVE, KEY_LIVE, PLAN_LIVE_OFF },
        { PLAN_AUDIT, KEY_AUDIT, 0 },
        { PLAN_MDWE, KEY_MDWE, 0 },
        { PLAN_SNAPSHOT, KEY_SNAPSHOT, 0 },
        { PLAN_POOL_SIZE, KEY_POOL_SIZE, 2 },
        { PLAN_POOL_MAX, KEY_POOL_MAX, 8 },
        { PLAN_SESSION_TIMEOUT, KEY_SESSION_TIMEOUT, 3600 },
        { PLAN_IDLE_TIMEOUT, KEY_IDLE_TIMEOUT, 300 },
        { PLAN_TIMEOUT, KEY_TIMEOUT, 0 },
        { PLAN_MEMORY, KEY_MEMORY, 0 },
        { PLAN_CPU, KEY_CPU, 0 },
        { PLAN_PROCESSES, KEY_PROCESSES, 0 },
};

enum { PROCESSES_IN_A_BLOCK = 10 };

static void compile_numbers(struct compiler *c)
{
        for (size_t i = 0; i < ARRAY_SIZE(number_rows); i++) {
                const struct number_row *row = &number_rows[i];
                const struct setting *s = settings_last(c->settings, row->key);
                struct plan_value *v = &c->plan->number[row->number];
                v->number = s ? s->number : row->fallback;
                v->from = s ? compile_source(c, s->from) : compile_default();
        }
        const struct setting *block = settings_last(c->settings, KEY_RESOURCES);
        struct plan_value *processes = &c->plan->number[PLAN_PROCESSES];
        if (block && processes->number == 0)
                *processes = (struct plan_value){ PROCESSES_IN_A_BLOCK, compile_source(c, block->from) };
}

static void grant_right(struct compiler *c, unsigned rights, enum right right, enum plan_number number,
                        struct source from)
{
        struct plan_value *v = &c->plan->number[number];
        if ((rights & right) && !v->number)
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
                enum plan_number number;
        } rows[] = {
                { RIGHT_EXEC, PLAN_ALLOW_EXEC },
                { RIGHT_FORK, PLAN_ALLOW_FORK },
                { RIGHT_NETWORK, PLAN_ALLOW_NETWORK },
        };
        c->denied |= rights;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rights & rows[i].right)
                        c->plan->number[rows[i].number] = (struct plan_value){ 0, compile_source(c, by) };
        if (rights & RIGHT_WRITE)
                c->plan->number[PLAN_WORKSPACE] = (struct plan_value){ PLAN_WORKSPACE_RO, compile_source(c, by) };
}

/* What needs the network: the first host that is allowed, or port of either list, or those to come. NULL when nothing does. */
static const struct source *network_needed_by(const struct plan *plan)
{
        for (size_t i = 0; i < plan->hosts.count; i++)
                if (plan->hosts.list[i].allow)
                        return &plan->hosts.list[i].from;
        if (plan->local_ports.count)
                return &plan->local_ports.list[0].from;
        if (plan->published.count)
                return &plan->published.list[0].from;
        return plan->number[PLAN_LIVE].number ? &plan->number[PLAN_LIVE].from : NULL;
}

/* Without a block of modules a box is for running commands; with one, each right must be somebody's. */
static void compile_rights(struct compiler *c)
{
        const struct settings *s = c->settings;
        bool modules = settings_last(s, KEY_MODULES) != NULL;
        if (!modules)
                grant_rights(c, RIGHT_EXEC | RIGHT_FORK, compile_default());
        for (size_t i = 0; i < module_row_count; i++) {
                const struct setting *module = settings_last(s, module_rows[i].key);
                if (module)
                        grant_rights(c, module_rows[i].rights, module->from);
        }
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == KEY_GRANT && !s->list[i].empty)
                        grant_rights(c, permissions[s->list[i].number].granted, s->list[i].from);
        const struct source *need = network_needed_by(c->plan);
        if (need)
                grant_rights(c, RIGHT_NETWORK, *need);
        for (enum plan_number n = PLAN_ALLOW_EXEC; n <= PLAN_ALLOW_NETWORK; n++)
                if (!c->plan->number[n].from.name)
                        c->plan->number[n].from = compile_default();
}

static void compile_denied_rights(struct compiler *c)
{
        const struct settings *s = c->settings;
        for (size_t i = 0; i < s->count; i++) {
                if (s->list[i].key != KEY_DENY || s->list[i].empty)
                        continue;
                unsigned rights = permissions[s->list[i].number].granted;
                if (rights & RIGHT_READ) {
                        message_error(c->messages, s->list[i].from, "name the paths in filesystem.deny_read",
                                      "'%s' cannot be denied as a whole", s->list[i].text);
                        c->failed = true;
                        continue;
                }
                if ((rights & RIGHT_NETWORK) && network_needed_by(c->plan))
                        message_warning(c->messages, s->list[i].from, "take the hosts and ports out or take this out",
                                        "the network is denied, so the hosts and ports that are allowed stay out of "
                                        "reach");
                deny_rights(c, rights, s->list[i].from);
        }
        struct source by = { 0 };
        unsigned cut = ceiling_denied_rights(c, &by);
        if (cut) {
                deny_rights(c, cut, by);
                plan_add_cut(c, by, "removed", "rights to%s%s%s%s", cut & RIGHT_EXEC ? " exec" : "",
                             cut & RIGHT_FORK ? " fork" : "", cut & RIGHT_NETWORK ? " network" : "",
                             cut & RIGHT_WRITE ? " write" : "");
        }
}

static const unsigned level_spaces[] = {
        [LEVEL_OFF] = 0,
        [LEVEL_STANDARD] = 0,
        [LEVEL_STRICT] = SPACE_USER | SPACE_PID | SPACE_MOUNT | SPACE_IPC | SPACE_UTS | SPACE_CGROUP,
        [LEVEL_MAXIMUM] = SPACE_USER | SPACE_PID | SPACE_MOUNT | SPACE_IPC | SPACE_UTS | SPACE_CGROUP | SPACE_NET,
};

static void check_chosen_spaces(struct compiler *c, const struct setting *last, uint64_t chosen)
{
        uint64_t level = c->plan->number[PLAN_LEVEL].number;
        const char *wrong = NULL, *hint = NULL;
        if (level < LEVEL_STRICT && chosen) {
                wrong = "namespaces belong to the levels strict and maximum";
                hint = "raise security.sandbox.level, or leave the list out";
        } else if (chosen && !(chosen & SPACE_USER)) {
                wrong = "without the user namespace no other can be made without root";
                hint = "add user to the list";
        } else if (level == LEVEL_MAXIMUM && !(chosen & SPACE_NET)) {
                wrong = "level maximum always has a network namespace";
                hint = "add net to the list, or use level strict";
        } else if (level == LEVEL_STRICT && !(chosen & SPACE_NET) && c->plan->number[PLAN_ALLOW_NETWORK].number) {
                wrong = "the network that is allowed can only be kept apart in a network namespace";
                hint = "add net to the list, or leave the list out";
        }
        if (wrong) {
                message_error(c->messages, last->from, hint, "%s", wrong);
                c->failed = true;
                return;
        }
        uint64_t missing = level_spaces[level] & ~chosen;
        if (!missing)
                return;
        CLEANUP_TEXT struct text names = { 0 };
        plan_print_number(PLAN_NAMESPACES, missing, &names);
        message_warning(c->messages, last->from, "leave the list out to have all of the level's own",
                        "the list leaves out what level %s has: %s", level_words[level], names.data ? names.data : "");
}

/* The last file that has the list says all of it. */
static uint64_t chosen_spaces(const struct settings *s, const struct setting *last)
{
        uint64_t chosen = 0;
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == KEY_NAMESPACES && s->list[i].layer == last->layer && !s->list[i].empty)
                        chosen |= 1ULL << s->list[i].number;
        return chosen;
}

static void compile_namespaces(struct compiler *c)
{
        const struct setting *last = settings_last(c->settings, KEY_NAMESPACES);
        const struct setting *own_level = settings_last(c->settings, KEY_LEVEL);
        struct plan_value *v = &c->plan->number[PLAN_NAMESPACES];
        struct plan_value level = c->plan->number[PLAN_LEVEL];
        bool raised = level.number != (own_level ? own_level->number : LEVEL_STRICT);
        if (last && raised) {
                /* The list was written for a lower level than the ceiling's: it gets what that level has. */
                *v = (struct plan_value){ chosen_spaces(c->settings, last) | level_spaces[level.number], level.from };
                plan_add_cut(c, level.from, "with all of the level's own", "namespaces");
                return;
        }
        if (last) {
                *v = (struct plan_value){ chosen_spaces(c->settings, last), compile_source(c, last->from) };
                check_chosen_spaces(c, last, v->number);
                return;
        }
        *v = (struct plan_value){ level_spaces[level.number], level.from };
        const struct source *need = network_needed_by(c->plan);
        struct plan_value network = c->plan->number[PLAN_ALLOW_NETWORK];
        if (level.number == LEVEL_STRICT && network.number) /* whose sockets then reach the allowed hosts, or none */
                *v = (struct plan_value){ v->number | SPACE_NET, need ? *need : network.from };
}

static void check_numbers(struct compiler *c)
{
        const struct plan_value *n = c->plan->number;
        if (n[PLAN_POOL_SIZE].number > n[PLAN_POOL_MAX].number) {
                bool by_size = strcmp(n[PLAN_POOL_SIZE].from.name, "default") != 0;
                message_error(c->messages, n[by_size ? PLAN_POOL_SIZE : PLAN_POOL_MAX].from,
                              "pool_max counts warm boxes and busy ones", "pool_size %llu is larger than pool_max %llu",
                              (unsigned long long)n[PLAN_POOL_SIZE].number, (unsigned long long)n[PLAN_POOL_MAX].number);
                c->failed = true;
        }
        if (n[PLAN_SNAPSHOT].number && n[PLAN_LEVEL].number != LEVEL_MAXIMUM) {
                message_error(c->messages, n[PLAN_SNAPSHOT].from, "set security.sandbox.level to maximum",
                              "workspace_snapshot needs level maximum, not %s", level_words[n[PLAN_LEVEL].number]);
                c->failed = true;
        }
}

/* The workspace: the last workdir or flag, else the current directory. */
static void compile_workspace(struct compiler *c)
{
        const struct setting *s = settings_last(c->settings, KEY_WORKDIR);
        c->names = (struct expand_names){ .home = c->facts->home, .user_data = c->facts->user_data };
        /* Inside the workdir itself {workspace} has no value yet; a relative one starts from its own base. */
        const char *path = s ? compile_path(c, s, false) : arena_string(c->arena, c->facts->cwd);
        struct source from = s ? s->from : (struct source){ .name = "" };
        if (!path) {
                c->names.workspace = "/nowhere";
                c->no_memory |= !s;
                return;
        }
        if (*path != '/' || text_utf8_valid(path, strlen(path)) < strlen(path)) {
                message_error(c->messages, from, "choose another with --workspace",
                              "the workspace must be an absolute path in UTF-8");
                c->failed = true;
        }
        path = pattern_normalise(c->arena, path);
        if (path && strcmp(path, "/") == 0) {
                message_error(c->messages, from, "choose a directory with --workspace",
                              "the workspace cannot be the root directory");
                c->failed = true;
        }
        if (path && c->facts->home && strcmp(path, c->facts->home) == 0)
                message_warning(c->messages, from, "run in a project's directory, or name one with --workspace",
                                "the workspace is the whole home directory");
        c->no_memory |= !path;
        c->names.workspace = c->plan->workspace = path ? path : "/nowhere";
}

static void env_add(struct compiler *c, const char *text, struct source from)
{
        size_t n = strcspn(text, "=");
        struct plan_env new = {
                .name = arena_copy(c->arena, text, n),
                .value = text[n] ? arena_string(c->arena, text + n + 1) : NULL,
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
        if (c->plan->env_count == CAP_ENV) {
                if (!c->failed)
                        message_error(c->messages, from, NULL, "more than %d variables are named", CAP_ENV);
                c->failed = true;
                return;
        }
        struct plan_env *slot = arena_array_add(c->arena, &c->plan->env, &c->plan->env_count, sizeof *slot);
        if (slot)
                *slot = new;
        c->no_memory |= !slot;
}

static void compile_env(struct compiler *c)
{
        for (size_t i = 0; default_env[i]; i++)
                env_add(c, default_env[i], compile_default());
        for (size_t i = 0; i < c->settings->count; i++)
                if (c->settings->list[i].key == KEY_ENV && !c->settings->list[i].empty)
                        env_add(c, c->settings->list[i].text, compile_source(c, c->settings->list[i].from));
}

static void compile_all(struct compiler *c)
{
        struct grants grants = { 0 };
        compile_workspace(c);
        compile_numbers(c);
        ceiling_cut_numbers(c);
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
                   const struct facts *facts, struct messages *m, struct plan **ret)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        struct plan *plan = arena ? ARENA_NEW(arena, struct plan) : NULL;
        if (!plan)
                return -ENOMEM;
        plan->arena = arena;
        plan->home = facts->home ? arena_string(arena, facts->home) : "";
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
                message_error(m, (struct source){ .name = "" }, "grant and deny fewer, wider paths",
                              "the plan would take more than %d MiB of memory", CAP_ARENA_BYTES >> 20);
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
