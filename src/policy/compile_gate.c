/*
 * The gate's part of a plan: denied commands, and secrets beyond those that ringwall knows. Ceilings add to both. See
 * compile.h.
 */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"

/* ---- denied commands ---- */

static bool is_denied(const struct plan *p, const char *name)
{
        for (size_t i = 0; i < p->denied_command_count; i++)
                if (strcmp(p->denied_commands[i].name, name) == 0)
                        return true;
        return false;
}

static void deny_command(struct compiler *c, const char *name, const char *set, struct source from)
{
        struct plan *p = c->plan;
        if (is_denied(p, name))
                return;
        if (p->denied_command_count == POLICY_COMMANDS_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, from, "a pattern such as mkfs.* covers many names",
                                         "more than %d commands are denied", POLICY_COMMANDS_MAX);
                c->failed = true;
                return;
        }
        struct plan_denied_command *slot =
                arena_array_push(c->arena, &p->denied_commands, &p->denied_command_count, sizeof *slot);
        const char *copy = arena_strdup(c->arena, name);
        if (slot)
                *slot = (struct plan_denied_command){ copy, set, from };
        c->no_memory |= !slot || !copy;
}

static void deny_managed(struct compiler *c, const struct entry *e)
{
        const char *set = arena_format(c->arena, "%s: %s", denied_commands_set.name, e->managed->group);
        c->no_memory |= !set;
        deny_command(c, e->managed->entry, set, e->setting ? compile_source(c, e->setting->from) : default_source());
}

/* Checks the name here, because the reader does not check a +name, which may be a group. */
static void deny_as_written(struct compiler *c, const struct setting *s)
{
        struct value unused;
        const char *wrong = key_parse_value(c->arena, &keys[KEY_DENIED_COMMANDS], s->text, NULL, &unused);
        if (wrong) {
                diagnostic_error(c->messages, s->from, wrong, "'%.100s' is not a command name", s->text);
                c->failed = true;
                return;
        }
        deny_command(c, s->text, NULL, compile_source(c, s->from));
}

static void compile_denied_commands(struct compiler *c)
{
        struct entries denied = compile_entries(c, KEY_DENIED_COMMANDS, NULL);
        ceiling_add_entries(c, KEY_DENIED_COMMANDS, &denied);
        for (size_t i = 0; i < denied.count && !c->no_memory; i++) {
                if (denied.list[i].managed)
                        deny_managed(c, &denied.list[i]);
                else
                        deny_as_written(c, denied.list[i].setting);
        }
}

/* ---- secrets ---- */

/* A later policy file replaces an earlier secret of the same name. A ceiling's is added and replaces none. */
static struct plan_secret_pattern *find_secret_slot(struct compiler *c, const struct setting *s, bool replaces)
{
        struct plan *p = c->plan;
        for (size_t i = 0; replaces && i < p->secret_count; i++)
                if (strcmp(p->secrets[i].name, s->member) == 0)
                        return &p->secrets[i];
        if (p->secret_count < POLICY_SECRETS_MAX)
                return arena_array_push(c->arena, &p->secrets, &p->secret_count, sizeof *p->secrets);
        if (!c->failed)
                diagnostic_error(c->messages, s->from, "one expression can have alternatives: a|b",
                                 "there are more than %d secrets", POLICY_SECRETS_MAX);
        c->failed = true;
        return NULL;
}

static void add_secret(struct compiler *c, const struct setting *s, bool replaces)
{
        const char *wrong = key_check_secret(s->member, s->text);
        if (wrong) {
                diagnostic_error(c->messages, s->from, "write gate: { secrets: { our-token: \"tok_[0-9a-f]{32}\" } }",
                                 "secret '%.60s': %s", s->member, wrong);
                c->failed = true;
                return;
        }
        struct plan_secret_pattern *slot = find_secret_slot(c, s, replaces);
        if (slot)
                *slot = (struct plan_secret_pattern){ arena_strdup(c->arena, s->member),
                                                      arena_strdup(c->arena, s->text), compile_source(c, s->from) };
        c->no_memory |= !c->failed && (!slot || !slot->name || !slot->expression);
}

static void add_secrets(struct compiler *c, const struct settings *settings, bool replaces)
{
        for (size_t i = 0; i < settings->count; i++)
                if (settings->list[i].key == KEY_SECRET)
                        add_secret(c, &settings->list[i], replaces);
}

void compile_gate(struct compiler *c)
{
        compile_denied_commands(c);
        add_secrets(c, c->settings, true);
        for (size_t i = 0; i < c->ceiling_count; i++)
                add_secrets(c, c->ceilings[i], false);
}
