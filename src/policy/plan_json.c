/*
 * A plan as JSON, and back. The text is what `policy show --json` prints and what a helper program is handed, so both
 * ways go through the same table of numbers, and reading refuses anything that writing would not have written.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/keys.h"
#include "policy/pattern.h"
#include "policy/plan.h"

enum { PLAN_FORMAT = 1 };

/* ---- out ---- */

/* Adds, or gives the whole list up: a plan that lost a rule on the way out would be another plan. */
static void append(json_t **list, json_t *item)
{
        if (json_array_append_new(*list, item) == 0) /* which takes the item in any case */
                return;
        json_decref(*list);
        *list = NULL;
}

static void set(json_t **object, const char *key, json_t *value)
{
        if (json_object_set_new(*object, key, value) == 0)
                return;
        json_decref(*object);
        *object = NULL;
}

static json_t *source_to_json(struct source from)
{
        if (!from.line)
                return json_string(from.name);
        return json_sprintf("%s:%u:%u", from.name, from.line, from.column);
}

static json_t *number_to_json(enum plan_number which, uint64_t number)
{
        const struct plan_number_row *row = &plan_numbers[which];
        json_t *list = NULL;
        switch (row->form) {
        case FORM_WORD:
                return json_string(row->words[number]);
        case FORM_WORDS:
                list = json_array();
                for (size_t i = 0; row->words[i]; i++)
                        if (number & 1ULL << i)
                                append(&list, json_string(row->words[i]));
                return list;
        case FORM_BOOL:
                return json_boolean(number != 0);
        case FORM_COUNT:
        case FORM_SECONDS:
        case FORM_BYTES:
        case FORM_MILLICORES:
                break;
        }
        return json_integer((json_int_t)number);
}

static json_t *rules_to_json(const struct rules *rules)
{
        json_t *list = json_array();
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                json_t *o = json_pack("{s:s, s:s}", "kind", rule_kind_words[r->kind], "path", r->path);
                if (r->glob)
                        set(&o, "glob", json_true());
                if (r->set)
                        set(&o, "set", json_string(r->set));
                set(&o, "source", source_to_json(r->from));
                append(&list, o);
        }
        return list;
}

static json_t *hosts_to_json(const struct hosts *hosts)
{
        json_t *list = json_array();
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                char name[DOMAIN_TEXT_SIZE];
                domain_print(&h->domain, name);
                json_t *o = json_pack("{s:b, s:s}", "allow", h->allow, "host", name);
                if (h->set)
                        set(&o, "set", json_string(h->set));
                set(&o, "source", source_to_json(h->from));
                append(&list, o);
        }
        return list;
}

static json_t *ports_to_json(const struct ports *ports)
{
        json_t *list = json_array();
        for (size_t i = 0; i < ports->count; i++)
                append(&list, json_pack("{s:i, s:o}", "port", (int)ports->list[i].port, "source",
                                        source_to_json(ports->list[i].from)));
        return list;
}

static json_t *sockets_to_json(const struct plan *p)
{
        json_t *list = json_array();
        for (size_t i = 0; i < p->unix_socket_count; i++)
                append(&list, json_pack("{s:s, s:o}", "path", p->unix_sockets[i].path, "source",
                                        source_to_json(p->unix_sockets[i].from)));
        return list;
}

static json_t *env_to_json(const struct plan_env *env, size_t count)
{
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++)
                append(&list, json_pack("{s:s, s:s*, s:o}", "name", env[i].name, "value", env[i].value,
                                                      "source", source_to_json(env[i].from)));
        return list;
}

static json_t *commands_to_json(const struct plan *p)
{
        json_t *list = json_array();
        for (size_t i = 0; i < p->denied_command_count; i++) {
                const struct plan_command *c = &p->denied_commands[i];
                append(&list, json_pack("{s:s, s:s*, s:o}", "name", c->name, "set", c->set, "source",
                                        source_to_json(c->from)));
        }
        return list;
}

static json_t *secrets_to_json(const struct plan *p)
{
        json_t *list = json_array();
        for (size_t i = 0; i < p->secret_count; i++)
                append(&list, json_pack("{s:s, s:s, s:o}", "name", p->secrets[i].name, "expression",
                                        p->secrets[i].expression, "source", source_to_json(p->secrets[i].from)));
        return list;
}

static json_t *server_to_json(const struct plan_server *s)
{
        json_t *command = json_array();
        for (size_t i = 0; i < s->command_count; i++)
                append(&command, json_string(s->command[i]));
        return json_pack("{s:s, s:s, s:o, s:s*, s:o, s:b, s:b, s:b, s:o, s:o, s:o}", "name", s->name, "transport",
                         transport_words[s->transport], "command", command, "url", s->url, "env",
                         env_to_json(s->env, s->env_count), "allow_exec", s->allow_exec, "allow_fork", s->allow_fork,
                         "allow_network", s->allow_network, "rules", rules_to_json(&s->rules), "hosts",
                         hosts_to_json(&s->hosts), "source", source_to_json(s->from));
}

json_t *plan_to_json(const struct plan *p)
{
        json_t *o = json_pack("{s:i, s:s, s:s}", "ringwall_plan", PLAN_FORMAT, "workspace", p->workspace, "home",
                              p->home);
        for (enum plan_number n = 0; o && n < PLAN_NUMBER_COUNT; n++)
                set(&o, plan_numbers[n].name,
                                    json_pack("{s:o, s:o}", "value", number_to_json(n, p->number[n].number), "source",
                                              source_to_json(p->number[n].from)));
        set(&o, "rules", rules_to_json(&p->rules));
        set(&o, "hosts", hosts_to_json(&p->hosts));
        set(&o, "private_hosts", hosts_to_json(&p->private_hosts));
        set(&o, "local_ports", ports_to_json(&p->local_ports));
        set(&o, "published", ports_to_json(&p->published));
        set(&o, "unix_sockets", sockets_to_json(p));
        set(&o, "env", env_to_json(p->env, p->env_count));
        set(&o, "denied_commands", commands_to_json(p));
        set(&o, "secrets", secrets_to_json(p));
        json_t *servers = json_array(), *cuts = json_array();
        for (size_t i = 0; i < p->server_count; i++)
                append(&servers, server_to_json(&p->servers[i]));
        for (size_t i = 0; i < p->cut_count; i++)
                append(&cuts, json_pack("{s:s, s:s, s:o}", "what", p->cuts[i].what, "result",
                                                      p->cuts[i].result, "by", source_to_json(p->cuts[i].by)));
        set(&o, "servers", servers);
        set(&o, "cuts", cuts);
        return o;
}

/* ---- in ---- */

struct in {
        struct plan *plan;
        struct error *error;
        bool failed;
};

static void refuse(struct in *in, const char *what)
{
        if (!in->failed)
                error_set(in->error, EINVAL, "read plan", "not a plan: %s", what);
        in->failed = true;
}

static const char *keep(struct in *in, const char *text)
{
        char *copy = arena_string(in->plan->arena, text);
        if (!copy)
                refuse(in, "it is too large");
        return copy ? copy : "";
}

static const char *string_in(struct in *in, const json_t *o, const char *key, bool required)
{
        const json_t *value = json_object_get(o, key);
        if (!value && !required)
                return NULL;
        if (!json_is_string(value)) {
                refuse(in, key);
                return "";
        }
        return keep(in, json_string_value(value));
}

static bool bool_in(struct in *in, const json_t *o, const char *key, bool required)
{
        const json_t *value = json_object_get(o, key);
        if ((value || required) && !json_is_boolean(value))
                refuse(in, key);
        return json_is_true(value);
}

/* "name:line:column", where a name alone never ends like that. */
static struct source source_in(struct in *in, const json_t *o, const char *key)
{
        struct source from = { .name = string_in(in, o, key, true) };
        char *name = (char *)(uintptr_t)from.name; /* our own copy */
        unsigned long long place[2] = { 0 };
        size_t end = strlen(name);
        for (size_t i = 0; i < 2; i++) {
                size_t start = end;
                while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9')
                        start--;
                if (start == 0 || start == end || name[start - 1] != ':')
                        return from;
                if (!text_to_number(name + start, end - start, &place[1 - i]) || place[1 - i] == 0 ||
                    place[1 - i] > UINT_MAX)
                        refuse(in, key);
                end = start - 1;
        }
        name[end] = '\0';
        from.line = (unsigned)place[0];
        from.column = (unsigned)place[1];
        return from;
}

static int word_in(struct in *in, const json_t *value, const char *const *words, const char *what)
{
        int index = json_is_string(value) ? key_word_index(words, json_string_value(value)) : -1;
        if (index < 0)
                refuse(in, what);
        return index < 0 ? 0 : index;
}

static uint64_t number_in(struct in *in, const struct plan_number_row *row, const json_t *value)
{
        uint64_t bits = 0;
        size_t i = 0;
        json_t *item = NULL;
        switch (row->form) {
        case FORM_WORD:
                return (uint64_t)word_in(in, value, row->words, row->name);
        case FORM_WORDS:
                if (!json_is_array(value))
                        refuse(in, row->name);
                json_array_foreach(value, i, item)
                        bits |= 1ULL << word_in(in, item, row->words, row->name);
                return bits;
        case FORM_BOOL:
                if (!json_is_boolean(value))
                        refuse(in, row->name);
                return json_is_true(value);
        case FORM_COUNT:
        case FORM_SECONDS:
        case FORM_BYTES:
        case FORM_MILLICORES:
                break;
        }
        if (!json_is_integer(value) || json_integer_value(value) < 0)
                refuse(in, row->name);
        return (uint64_t)json_integer_value(value);
}

static bool is_one_spelling(struct in *in, const char *path)
{
        const char *normal = *path == '/' ? pattern_normalise(in->plan->arena, path) : NULL;
        return normal && strcmp(normal, path) == 0 && strlen(path) <= CAP_TEXT;
}

static void *slot_in(struct in *in, void *array, size_t *count, size_t size)
{
        void *slot = *count < CAP_RULES ? arena_array_add(in->plan->arena, array, count, size) : NULL;
        if (!slot)
                refuse(in, "it is too large");
        return slot;
}

static void rules_in(struct in *in, const json_t *list, struct rules *rules)
{
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list))
                refuse(in, "rules");
        json_array_foreach(list, i, o) {
                struct rule *r = slot_in(in, &rules->list, &rules->count, sizeof *r); /* room stays 0: it never grows */
                if (!r || in->failed)
                        return;
                r->kind = (enum rule_kind)word_in(in, json_object_get(o, "kind"), rule_kind_words, "kind");
                r->path = string_in(in, o, "path", true);
                r->glob = bool_in(in, o, "glob", false);
                r->set = string_in(in, o, "set", false);
                r->from = source_in(in, o, "source");
                bool grants = r->kind == RULE_READ || r->kind == RULE_WRITE || r->kind == RULE_PRIVATE;
                if (!is_one_spelling(in, r->path) || (r->glob && (grants || pattern_check(r->path))))
                        refuse(in, "path");
        }
}

static void hosts_in(struct in *in, const json_t *list, struct hosts *hosts)
{
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list))
                refuse(in, "hosts");
        json_array_foreach(list, i, o) {
                struct host_rule *h = slot_in(in, &hosts->list, &hosts->count, sizeof *h);
                if (!h || in->failed)
                        return;
                h->allow = bool_in(in, o, "allow", true);
                h->set = string_in(in, o, "set", false);
                h->from = source_in(in, o, "source");
                const char *name = string_in(in, o, "host", true);
                if (domain_parse(in->plan->arena, name, NULL, &h->domain))
                        refuse(in, "host");
        }
}

static void private_hosts_in(struct in *in, const json_t *list)
{
        struct hosts *hosts = &in->plan->private_hosts;
        hosts_in(in, list, hosts);
        for (size_t i = 0; i < hosts->count && !in->failed; i++)
                if (!hosts->list[i].allow)
                        refuse(in, "private_hosts");
}

/* A port stands in one of the two lists; `other` may have been read before this one or not. */
static void ports_in(struct in *in, const json_t *list, const char *what, const struct ports *other,
                     struct ports *ports)
{
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list) || json_array_size(list) > CAP_PORTS)
                refuse(in, what);
        json_array_foreach(list, i, o) {
                json_int_t port = json_integer_value(json_object_get(o, "port"));
                if (port < 1 || port > UINT16_MAX || port_is_of_box((uint16_t)port) ||
                    ports_have(ports, (uint16_t)port) || ports_have(other, (uint16_t)port))
                        refuse(in, what);
                struct plan_port *p = slot_in(in, &ports->list, &ports->count, sizeof *p);
                if (!p || in->failed)
                        return;
                p->port = (uint16_t)port;
                p->from = source_in(in, o, "source");
        }
}

static void sockets_in(struct in *in, const json_t *list)
{
        struct plan *p = in->plan;
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list) || json_array_size(list) > CAP_SOCKETS)
                refuse(in, "unix_sockets");
        json_array_foreach(list, i, o) {
                struct plan_socket *s = slot_in(in, &p->unix_sockets, &p->unix_socket_count, sizeof *s);
                if (!s || in->failed)
                        return;
                s->path = string_in(in, o, "path", true);
                s->from = source_in(in, o, "source");
                if (!is_one_spelling(in, s->path))
                        refuse(in, "unix_sockets");
        }
}

static void env_in(struct in *in, const json_t *list, struct plan_env **env, size_t *count)
{
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list))
                refuse(in, "env");
        json_array_foreach(list, i, o) {
                struct plan_env *e = slot_in(in, env, count, sizeof *e);
                if (!e || in->failed)
                        return;
                e->name = string_in(in, o, "name", true);
                struct value unused;
                if (strchr(e->name, '=') || key_parse_value(in->plan->arena, &keys[KEY_ENV], e->name, NULL, &unused))
                        refuse(in, "env");
                e->value = string_in(in, o, "value", false);
                e->from = source_in(in, o, "source");
        }
}

static void commands_in(struct in *in, const json_t *list)
{
        struct plan *p = in->plan;
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list) || json_array_size(list) > CAP_COMMANDS)
                refuse(in, "denied_commands");
        json_array_foreach(list, i, o) {
                struct plan_command *c = slot_in(in, &p->denied_commands, &p->denied_command_count, sizeof *c);
                if (!c || in->failed)
                        return;
                c->name = string_in(in, o, "name", true);
                c->set = string_in(in, o, "set", false);
                c->from = source_in(in, o, "source");
                struct value unused;
                if (key_parse_value(p->arena, &keys[KEY_DENIED_COMMANDS], c->name, NULL, &unused))
                        refuse(in, "denied_commands");
        }
}

static void secrets_in(struct in *in, const json_t *list)
{
        struct plan *p = in->plan;
        size_t i = 0;
        json_t *o = NULL;
        if (!json_is_array(list) || json_array_size(list) > CAP_SECRETS)
                refuse(in, "secrets");
        json_array_foreach(list, i, o) {
                struct plan_secret *s = slot_in(in, &p->secrets, &p->secret_count, sizeof *s);
                if (!s || in->failed)
                        return;
                s->name = string_in(in, o, "name", true);
                s->expression = string_in(in, o, "expression", true);
                s->from = source_in(in, o, "source");
                if (key_check_secret(s->name, s->expression))
                        refuse(in, "secrets");
        }
}

static void server_in(struct in *in, const json_t *o, struct plan_server *s)
{
        size_t i = 0;
        json_t *word = NULL;
        s->name = string_in(in, o, "name", true);
        s->transport = (enum transport)word_in(in, json_object_get(o, "transport"), transport_words, "transport");
        json_array_foreach(json_object_get(o, "command"), i, word) {
                const char **slot = slot_in(in, &s->command, &s->command_count, sizeof(*slot));
                if (!slot || !json_is_string(word)) {
                        refuse(in, "command");
                        return;
                }
                *slot = keep(in, json_string_value(word));
        }
        s->url = string_in(in, o, "url", false);
        env_in(in, json_object_get(o, "env"), &s->env, &s->env_count);
        s->allow_exec = bool_in(in, o, "allow_exec", true);
        s->allow_fork = bool_in(in, o, "allow_fork", true);
        s->allow_network = bool_in(in, o, "allow_network", true);
        rules_in(in, json_object_get(o, "rules"), &s->rules);
        hosts_in(in, json_object_get(o, "hosts"), &s->hosts);
        s->from = source_in(in, o, "source");
}

static void lists_in(struct in *in, const json_t *json)
{
        struct plan *p = in->plan;
        size_t i = 0;
        json_t *o = NULL;
        rules_in(in, json_object_get(json, "rules"), &p->rules);
        hosts_in(in, json_object_get(json, "hosts"), &p->hosts);
        private_hosts_in(in, json_object_get(json, "private_hosts"));
        ports_in(in, json_object_get(json, "local_ports"), "local_ports", &p->published, &p->local_ports);
        ports_in(in, json_object_get(json, "published"), "published", &p->local_ports, &p->published);
        sockets_in(in, json_object_get(json, "unix_sockets"));
        env_in(in, json_object_get(json, "env"), &p->env, &p->env_count);
        commands_in(in, json_object_get(json, "denied_commands"));
        secrets_in(in, json_object_get(json, "secrets"));
        if (!json_is_array(json_object_get(json, "servers")) || !json_is_array(json_object_get(json, "cuts")))
                refuse(in, "servers and cuts");
        json_array_foreach(json_object_get(json, "servers"), i, o) {
                struct plan_server *s = slot_in(in, &p->servers, &p->server_count, sizeof *s);
                if (!s || in->failed)
                        return;
                server_in(in, o, s);
        }
        json_array_foreach(json_object_get(json, "cuts"), i, o) {
                struct plan_cut *cut = slot_in(in, &p->cuts, &p->cut_count, sizeof *cut);
                if (!cut || in->failed)
                        return;
                cut->what = string_in(in, o, "what", true);
                cut->result = string_in(in, o, "result", true);
                cut->by = source_in(in, o, "by");
        }
}

int plan_from_json(const json_t *json, struct plan **ret, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        struct plan *plan = arena ? ARENA_NEW(arena, struct plan) : NULL;
        if (!plan)
                return error_errno(e, ENOMEM, "read plan", "no memory");
        plan->arena = arena;
        struct in in = { .plan = plan, .error = e };
        if (json_integer_value(json_object_get(json, "ringwall_plan")) != PLAN_FORMAT)
                refuse(&in, "ringwall_plan is not 1");
        plan->workspace = string_in(&in, json, "workspace", true);
        plan->home = string_in(&in, json, "home", true);
        if (!in.failed && (!is_one_spelling(&in, plan->workspace) || !plan->workspace[1]))
                refuse(&in, "workspace");
        if (!in.failed && *plan->home && !is_one_spelling(&in, plan->home))
                refuse(&in, "home");
        for (enum plan_number n = 0; n < PLAN_NUMBER_COUNT && !in.failed; n++) {
                const json_t *o = json_object_get(json, plan_numbers[n].name);
                if (!json_is_object(o))
                        refuse(&in, plan_numbers[n].name);
                plan->number[n].number = number_in(&in, &plan_numbers[n], json_object_get(o, "value"));
                plan->number[n].from = source_in(&in, o, "source");
        }
        lists_in(&in, json);
        if (in.failed)
                return -EINVAL;
        /* Whatever was passed over or read differently shows when the plan is written again. */
        json_t *again = plan_to_json(plan);
        bool same = json_equal(again, json);
        json_decref(again);
        if (!same)
                return error_set(e, EINVAL, "read plan", "not a plan: it says something that ringwall does not write");
        arena = NULL;
        *ret = plan;
        return 0;
}
