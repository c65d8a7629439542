/*
 * A plan as JSON, and back: `policy show --json` prints it, and helper programs receive it.
 *
 * One table of fields for each struct serves for both directions. Reading checks every entry, then writes the plan
 * again and compares: a field that was skipped or understood differently makes a difference.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/keys.h"
#include "policy/path_pattern.h"
#include "policy/plan.h"

enum { PLAN_FORMAT = 1 };

struct reader;

/* The type of a struct's member, and so of the field in JSON. */
enum field_kind {
        FIELD_TEXT,   /* const char *; NULL if `optional` */
        FIELD_BOOL,   /* bool; if `optional`, false is left out */
        FIELD_WORD,   /* an enum, written as one of `words` */
        FIELD_PORT,   /* uint16_t */
        FIELD_HOST,   /* struct host_pattern */
        FIELD_SOURCE, /* struct source */
        FIELD_TEXTS,  /* const char ** and its size_t count */
        FIELD_LIST,   /* a pointer to structs of `entry`, and its size_t count */
};

struct field {
        const char *name;
        enum field_kind kind;
        bool optional;
        size_t offset, count_offset;
        const char *const *words;
        const struct entry *entry;
        size_t max; /* entries of a list; 0: POLICY_RULES_MAX */
};

/* A struct that a list holds. */
struct entry {
        size_t size;
        const struct field *fields;
        size_t field_count;
        bool (*is_valid)(struct reader *r, const void *entry); /* checks beyond the types of its fields; or NULL */
};

#define FIELDS(array) .fields = (array), .field_count = ARRAY_SIZE(array)
#define MEMBER(type, member) .offset = offsetof(struct type, member)
#define LIST(type, list, count) .kind = FIELD_LIST, .offset = offsetof(struct type, list), \
                                .count_offset = offsetof(struct type, count)

/* --- the structs --- */

static bool rule_is_valid(struct reader *r, const void *entry);
static bool private_host_is_valid(struct reader *r, const void *entry);
static bool port_is_valid(struct reader *r, const void *entry);
static bool socket_is_valid(struct reader *r, const void *entry);
static bool variable_is_valid(struct reader *r, const void *entry);
static bool command_is_valid(struct reader *r, const void *entry);
static bool secret_is_valid(struct reader *r, const void *entry);

static const struct field rule_fields[] = {
        { "kind", FIELD_WORD, MEMBER(rule, kind), .words = rule_kind_words },
        { "path", FIELD_TEXT, MEMBER(rule, path) },
        { "glob", FIELD_BOOL, MEMBER(rule, glob), .optional = true },
        { "set", FIELD_TEXT, MEMBER(rule, set), .optional = true },
        { "of_ceiling", FIELD_BOOL, MEMBER(rule, of_ceiling), .optional = true },
        { "source", FIELD_SOURCE, MEMBER(rule, from) },
};
static const struct entry rule_entry = { sizeof(struct rule), FIELDS(rule_fields), rule_is_valid };

static const struct field host_fields[] = {
        { "allow", FIELD_BOOL, MEMBER(host_rule, allow) },
        { "host", FIELD_HOST, MEMBER(host_rule, domain) },
        { "set", FIELD_TEXT, MEMBER(host_rule, set), .optional = true },
        { "source", FIELD_SOURCE, MEMBER(host_rule, from) },
};
static const struct entry host_entry = { sizeof(struct host_rule), FIELDS(host_fields), NULL };
static const struct entry private_host_entry = { sizeof(struct host_rule), FIELDS(host_fields), private_host_is_valid };

static const struct field port_fields[] = {
        { "port", FIELD_PORT, MEMBER(plan_port, port) },
        { "source", FIELD_SOURCE, MEMBER(plan_port, from) },
};
static const struct entry port_entry = { sizeof(struct plan_port), FIELDS(port_fields), port_is_valid };

static const struct field socket_fields[] = {
        { "path", FIELD_TEXT, MEMBER(plan_socket, path) },
        { "source", FIELD_SOURCE, MEMBER(plan_socket, from) },
};
static const struct entry socket_entry = { sizeof(struct plan_socket), FIELDS(socket_fields), socket_is_valid };

static const struct field variable_fields[] = {
        { "name", FIELD_TEXT, MEMBER(plan_env, name) },
        { "value", FIELD_TEXT, MEMBER(plan_env, value), .optional = true },
        { "source", FIELD_SOURCE, MEMBER(plan_env, from) },
};
static const struct entry variable_entry = { sizeof(struct plan_env), FIELDS(variable_fields), variable_is_valid };

static const struct field command_fields[] = {
        { "name", FIELD_TEXT, MEMBER(plan_denied_command, name) },
        { "set", FIELD_TEXT, MEMBER(plan_denied_command, set), .optional = true },
        { "source", FIELD_SOURCE, MEMBER(plan_denied_command, from) },
};
static const struct entry command_entry = { sizeof(struct plan_denied_command), FIELDS(command_fields),
                                            command_is_valid };

static const struct field secret_fields[] = {
        { "name", FIELD_TEXT, MEMBER(plan_secret_pattern, name) },
        { "expression", FIELD_TEXT, MEMBER(plan_secret_pattern, expression) },
        { "source", FIELD_SOURCE, MEMBER(plan_secret_pattern, from) },
};
static const struct entry secret_entry = { sizeof(struct plan_secret_pattern), FIELDS(secret_fields), secret_is_valid };

static const struct field server_fields[] = {
        { "name", FIELD_TEXT, MEMBER(plan_server, name) },
        { "transport", FIELD_WORD, MEMBER(plan_server, transport), .words = transport_words },
        { "command", FIELD_TEXTS, MEMBER(plan_server, command),
          .count_offset = offsetof(struct plan_server, command_count) },
        { "url", FIELD_TEXT, MEMBER(plan_server, url), .optional = true },
        { "env", LIST(plan_server, env, env_count), .entry = &variable_entry },
        { "allow_exec", FIELD_BOOL, MEMBER(plan_server, allow_exec) },
        { "allow_fork", FIELD_BOOL, MEMBER(plan_server, allow_fork) },
        { "allow_network", FIELD_BOOL, MEMBER(plan_server, allow_network) },
        { "rules", LIST(plan_server, rules.list, rules.count), .entry = &rule_entry },
        { "hosts", LIST(plan_server, hosts.list, hosts.count), .entry = &host_entry },
        { "source", FIELD_SOURCE, MEMBER(plan_server, from) },
};
static const struct entry server_entry = { sizeof(struct plan_server), FIELDS(server_fields), NULL };

static const struct field cut_fields[] = {
        { "what", FIELD_TEXT, MEMBER(plan_ceiling_cut, what) },
        { "result", FIELD_TEXT, MEMBER(plan_ceiling_cut, result) },
        { "by", FIELD_SOURCE, MEMBER(plan_ceiling_cut, by) },
};
static const struct entry cut_entry = { sizeof(struct plan_ceiling_cut), FIELDS(cut_fields), NULL };

/* The plan itself, without its numbers. */
static const struct field plan_fields[] = {
        { "workspace", FIELD_TEXT, MEMBER(plan, workspace) },
        { "home", FIELD_TEXT, MEMBER(plan, home) },
        { "rules", LIST(plan, rules.list, rules.count), .entry = &rule_entry },
        { "hosts", LIST(plan, hosts.list, hosts.count), .entry = &host_entry },
        { "private_hosts", LIST(plan, private_hosts.list, private_hosts.count), .entry = &private_host_entry },
        { "local_ports", LIST(plan, local_ports.list, local_ports.count), .entry = &port_entry,
          .max = POLICY_PORTS_MAX },
        { "published", LIST(plan, published.list, published.count), .entry = &port_entry, .max = POLICY_PORTS_MAX },
        { "unix_sockets", LIST(plan, unix_sockets, unix_socket_count), .entry = &socket_entry,
          .max = POLICY_SOCKETS_MAX },
        { "env", LIST(plan, env, env_count), .entry = &variable_entry },
        { "denied_commands", LIST(plan, denied_commands, denied_command_count), .entry = &command_entry,
          .max = POLICY_COMMANDS_MAX },
        { "secrets", LIST(plan, secrets, secret_count), .entry = &secret_entry, .max = POLICY_SECRETS_MAX },
        { "servers", LIST(plan, servers, server_count), .entry = &server_entry },
        { "cuts", LIST(plan, cuts, cut_count), .entry = &cut_entry },
};
static const struct entry plan_entry = { sizeof(struct plan), FIELDS(plan_fields), NULL };

/* The member at an offset; the table of fields says its type. */
static const void *member_at(const void *base, size_t offset)
{
        return (const char *)base + offset;
}

static const char *text_at(const void *base, const struct field *f)
{
        return *(const char *const *)member_at(base, f->offset);
}

/* The first entry of a list, of whatever type. */
static const void *list_at(const void *base, const struct field *f)
{
        const void *list;
        memcpy(&list, member_at(base, f->offset), sizeof list);
        return list;
}

static size_t count_at(const void *base, const struct field *f)
{
        return *(const size_t *)member_at(base, f->count_offset);
}

_Static_assert(sizeof(enum rule_kind) == sizeof(int) && sizeof(enum transport) == sizeof(int), "FIELD_WORD is an int");

/* --- writing --- */

/* Appends the item. On failure the whole list is dropped: a plan that silently lost a rule would be another plan. */
static void append(json_t **list, json_t *item)
{
        if (json_array_append_new(*list, item) == 0) /* consumes the item even on failure */
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

static json_t *host_to_json(const struct host_pattern *domain)
{
        char name[HOST_PATTERN_TEXT_SIZE];
        host_pattern_print(domain, name);
        return json_string(name);
}

static json_t *scalar_to_json(enum plan_scalar which, uint64_t number)
{
        const char *const *words;
        json_t *list = NULL;
        switch (plan_scalar_form(which, &words)) {
        case FORMAT_WORD:
                return json_string(words[number]);
        case FORMAT_WORD_SET:
                list = json_array();
                for (size_t i = 0; words[i]; i++)
                        if (number & 1ULL << i)
                                append(&list, json_string(words[i]));
                return list;
        case FORMAT_BOOL:
                return json_boolean(number != 0);
        case FORMAT_INTEGER:
        case FORMAT_SECONDS:
        case FORMAT_BYTES:
        case FORMAT_MILLICORES:
                break;
        }
        return json_integer((json_int_t)number);
}

static json_t *entry_to_json(const struct entry *e, const void *base);

static json_t *list_to_json(const struct field *f, const void *base)
{
        json_t *list = json_array();
        const void *entries = list_at(base, f);
        for (size_t i = 0; i < count_at(base, f); i++)
                append(&list, f->kind == FIELD_TEXTS ? json_string(((const char *const *)entries)[i])
                                                     : entry_to_json(f->entry, member_at(entries, i * f->entry->size)));
        return list;
}

static json_t *field_to_json(const struct field *f, const void *base)
{
        const void *at = member_at(base, f->offset);
        switch (f->kind) {
        case FIELD_TEXT:
                return json_string(text_at(base, f));
        case FIELD_BOOL:
                return json_boolean(*(const bool *)at);
        case FIELD_WORD:
                return json_string(f->words[*(const int *)at]);
        case FIELD_PORT:
                return json_integer(*(const uint16_t *)at);
        case FIELD_HOST:
                return host_to_json(at);
        case FIELD_SOURCE:
                return source_to_json(*(const struct source *)at);
        case FIELD_TEXTS:
        case FIELD_LIST:
                break;
        }
        return list_to_json(f, base);
}

static bool is_left_out(const struct field *f, const void *base)
{
        return f->optional && (f->kind == FIELD_TEXT ? !text_at(base, f) : !*(const bool *)member_at(base, f->offset));
}

static json_t *entry_to_json(const struct entry *e, const void *base)
{
        json_t *o = json_object();
        for (size_t i = 0; i < e->field_count; i++)
                if (!is_left_out(&e->fields[i], base))
                        set(&o, e->fields[i].name, field_to_json(&e->fields[i], base));
        return o;
}

json_t *plan_to_json(const struct plan *p)
{
        json_t *o = json_pack("{s:i}", "ringwall_plan", PLAN_FORMAT);
        for (enum plan_scalar n = 0; o && n < PLAN_SCALAR_COUNT; n++)
                set(&o, plan_scalar_name(n),
                    json_pack("{s:o, s:o}", "value", scalar_to_json(n, p->scalar[n].value), "source",
                              source_to_json(p->scalar[n].from)));
        json_t *rest = entry_to_json(&plan_entry, p);
        if (o && json_object_update(o, rest) < 0) {
                json_decref(o);
                o = NULL;
        }
        json_decref(rest);
        return o;
}

/* --- reading --- */

struct reader {
        struct plan *plan;
        struct error *error;
        bool failed;
};

static void refuse(struct reader *r, const char *what)
{
        if (!r->failed)
                error_set(r->error, EINVAL, "not a plan: %s", what);
        r->failed = true;
}

static const char *read_text(struct reader *r, const json_t *json, const char *what)
{
        if (!json_is_string(json)) {
                refuse(r, what);
                return "";
        }
        char *copy = arena_strdup(r->plan->arena, json_string_value(json));
        if (!copy)
                refuse(r, "it is too large");
        return copy ? copy : "";
}

static bool read_bool(struct reader *r, const json_t *json, const char *what)
{
        if (!json_is_boolean(json))
                refuse(r, what);
        return json_is_true(json);
}

static int read_word(struct reader *r, const json_t *json, const char *const *words, const char *what)
{
        int index = json_is_string(json) ? key_word_index(words, json_string_value(json)) : -1;
        if (index < 0)
                refuse(r, what);
        return index < 0 ? 0 : index;
}

static uint16_t read_port(struct reader *r, const json_t *json, const char *what)
{
        json_int_t port = json_integer_value(json);
        if (!json_is_integer(json) || port < 1 || port > UINT16_MAX)
                refuse(r, what);
        return (uint16_t)port;
}

/* Parses "name:line:column", or a name alone, which never ends like that. */
static struct source read_source(struct reader *r, const json_t *json, const char *what)
{
        struct source from = { .name = read_text(r, json, what) };
        char *name = (char *)(uintptr_t)from.name; /* our own copy */
        unsigned long long place[2] = { 0 };
        size_t end = strlen(name);
        for (size_t i = 0; i < 2; i++) {
                size_t start = end;
                while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9')
                        start--;
                if (start == 0 || start == end || name[start - 1] != ':')
                        return from;
                if (!text_parse_unsigned(name + start, end - start, &place[1 - i]) || place[1 - i] == 0 ||
                    place[1 - i] > UINT_MAX)
                        refuse(r, what);
                end = start - 1;
        }
        name[end] = '\0';
        from.line = (unsigned)place[0];
        from.column = (unsigned)place[1];
        return from;
}

static uint64_t read_number(struct reader *r, enum plan_scalar which, const json_t *value)
{
        const char *name = plan_scalar_name(which);
        const char *const *words;
        uint64_t bits = 0;
        size_t i = 0;
        json_t *item = NULL;
        switch (plan_scalar_form(which, &words)) {
        case FORMAT_WORD:
                return (uint64_t)read_word(r, value, words, name);
        case FORMAT_WORD_SET:
                if (!json_is_array(value))
                        refuse(r, name);
                json_array_foreach(value, i, item)
                        bits |= 1ULL << read_word(r, item, words, name);
                return bits;
        case FORMAT_BOOL:
                return read_bool(r, value, name);
        case FORMAT_INTEGER:
        case FORMAT_SECONDS:
        case FORMAT_BYTES:
        case FORMAT_MILLICORES:
                break;
        }
        if (!json_is_integer(value) || json_integer_value(value) < 0)
                refuse(r, name);
        return (uint64_t)json_integer_value(value);
}

static void read_entry(struct reader *r, const struct entry *e, const json_t *json, void *base);

static void read_list(struct reader *r, const struct field *f, const json_t *json, void *base)
{
        void *items = (char *)base + f->offset;
        size_t *count = (size_t *)((char *)base + f->count_offset);
        size_t i = 0, max = f->max ? f->max : POLICY_RULES_MAX;
        json_t *item = NULL;
        if (!json_is_array(json) || json_array_size(json) > max)
                refuse(r, f->name);
        json_array_foreach(json, i, item) {
                if (r->failed)
                        return;
                size_t size = f->kind == FIELD_TEXTS ? sizeof(char *) : f->entry->size;
                void *slot = arena_array_push(r->plan->arena, items, count, size);
                if (!slot)
                        refuse(r, "it is too large");
                else if (f->kind == FIELD_TEXTS)
                        *(const char **)slot = read_text(r, item, f->name);
                else
                        read_entry(r, f->entry, item, slot);
        }
}

static void read_field(struct reader *r, const struct field *f, const json_t *json, void *base)
{
        void *at = (char *)base + f->offset;
        switch (f->kind) {
        case FIELD_TEXT:
                *(const char **)at = read_text(r, json, f->name);
                return;
        case FIELD_BOOL:
                *(bool *)at = read_bool(r, json, f->name);
                return;
        case FIELD_WORD:
                *(int *)at = read_word(r, json, f->words, f->name);
                return;
        case FIELD_PORT:
                *(uint16_t *)at = read_port(r, json, f->name);
                return;
        case FIELD_HOST:
                if (host_pattern_parse(r->plan->arena, read_text(r, json, f->name), NULL, at))
                        refuse(r, f->name);
                return;
        case FIELD_SOURCE:
                *(struct source *)at = read_source(r, json, f->name);
                return;
        case FIELD_TEXTS:
        case FIELD_LIST:
                read_list(r, f, json, base);
                return;
        }
}

static void read_entry(struct reader *r, const struct entry *e, const json_t *json, void *base)
{
        for (size_t i = 0; i < e->field_count && !r->failed; i++) {
                const struct field *f = &e->fields[i];
                const json_t *value = json_object_get(json, f->name);
                if (value || !f->optional)
                        read_field(r, f, value, base);
        }
        if (!r->failed && e->is_valid && !e->is_valid(r, base))
                refuse(r, e->fields[0].name);
}

static bool is_normalised(struct reader *r, const char *path)
{
        const char *normal = *path == '/' ? path_normalize(r->plan->arena, path) : NULL;
        return normal && strcmp(normal, path) == 0 && strlen(path) <= POLICY_TEXT_MAX;
}

static bool rule_is_valid(struct reader *r, const void *entry)
{
        const struct rule *rule = entry;
        bool grants = rule->kind == RULE_READ || rule->kind == RULE_WRITE || rule->kind == RULE_PRIVATE;
        return is_normalised(r, rule->path) && (!rule->glob || (!grants && !path_pattern_check(rule->path)));
}

static bool private_host_is_valid(struct reader *r, const void *entry)
{
        (void)r;
        return ((const struct host_rule *)entry)->allow;
}

/* A port may be in the two lists only once; this entry is already in its list. */
static bool port_is_valid(struct reader *r, const void *entry)
{
        const struct ports *lists[] = { &r->plan->local_ports, &r->plan->published };
        uint16_t port = ((const struct plan_port *)entry)->port;
        size_t found = 0;
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                for (size_t j = 0; j < lists[i]->count; j++)
                        found += lists[i]->list[j].port == port;
        return found == 1 && !port_is_reserved(port);
}

static bool socket_is_valid(struct reader *r, const void *entry)
{
        return is_normalised(r, ((const struct plan_socket *)entry)->path);
}

static bool variable_is_valid(struct reader *r, const void *entry)
{
        const char *name = ((const struct plan_env *)entry)->name;
        struct value unused;
        return !strchr(name, '=') && !key_parse_value(r->plan->arena, &keys[KEY_ENV], name, NULL, &unused);
}

static bool command_is_valid(struct reader *r, const void *entry)
{
        const char *name = ((const struct plan_denied_command *)entry)->name;
        struct value unused;
        return !key_parse_value(r->plan->arena, &keys[KEY_DENIED_COMMANDS], name, NULL, &unused);
}

static bool secret_is_valid(struct reader *r, const void *entry)
{
        (void)r;
        const struct plan_secret_pattern *s = entry;
        return !key_check_secret(s->name, s->expression);
}

static void read_plan(struct reader *r, const json_t *json)
{
        struct plan *plan = r->plan;
        if (json_integer_value(json_object_get(json, "ringwall_plan")) != PLAN_FORMAT)
                refuse(r, "ringwall_plan is not 1");
        for (enum plan_scalar n = 0; n < PLAN_SCALAR_COUNT && !r->failed; n++) {
                const json_t *o = json_object_get(json, plan_scalar_name(n));
                plan->scalar[n].value = read_number(r, n, json_object_get(o, "value"));
                plan->scalar[n].from = read_source(r, json_object_get(o, "source"), plan_scalar_name(n));
        }
        read_entry(r, &plan_entry, json, plan);
        if (!r->failed && (!is_normalised(r, plan->workspace) || !plan->workspace[1]))
                refuse(r, "workspace");
        if (!r->failed && *plan->home && !is_normalised(r, plan->home))
                refuse(r, "home");
}

int plan_from_json(const json_t *json, struct plan **ret, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        struct plan *plan = arena ? ARENA_NEW(arena, struct plan) : NULL;
        if (!plan)
                return error_errno(e, ENOMEM, "cannot read the plan");
        plan->arena = arena;
        struct reader r = { .plan = plan, .error = e };
        read_plan(&r, json);
        if (r.failed)
                return -EINVAL;
        json_t *rewritten = plan_to_json(plan);
        bool same = json_equal(rewritten, json);
        json_decref(rewritten);
        if (!same)
                return error_set(e, EINVAL, "not a plan: it has a field or a value that ringwall never writes");
        arena = NULL;
        *ret = plan;
        return 0;
}
