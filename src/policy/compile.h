/*
 * Compiles settings and facts into a plan. Callers use policy_compile() and ceiling_check(); the rest is shared by the
 * files of the compiler: scalars (compile.c), file rules (compile_rules.c), hosts (compile_hosts.c), ports and sockets
 * (compile_network.c), the gate (compile_gate.c), servers (compile_servers.c), and limits by ceilings (ceiling.c).
 */
#ifndef RINGWALL_POLICY_COMPILE_H
#define RINGWALL_POLICY_COMPILE_H

#include "policy/expand_path.h"
#include "policy/host_facts.h"
#include "policy/managed.h"
#include "policy/plan.h"
#include "policy/settings.h"

/*
 * Each ceiling is the settings of one ceiling file. Returns 0 and a plan, 1 after errors in `m`, or -ENOMEM. Any of
 * them may add warnings to `m`.
 */
int policy_compile(const struct settings *s, const struct settings *const *ceilings, size_t ceiling_count,
                   const struct host_facts *facts, struct diagnostics *m, struct plan **ret);

/* Reports settings that have no meaning in a ceiling. Returns 0, or 1 after an error message. */
int ceiling_check(const struct settings *ceiling);

struct compiler {
        struct arena *arena; /* of the plan */
        const struct settings *settings;
        const struct settings *const *ceilings;
        size_t ceiling_count;
        const struct host_facts *facts;
        struct diagnostics *messages;
        struct plan *plan;
        struct path_variables names;
        unsigned denied;      /* bits of enum right that no grant gives back */
        size_t rules_in_plan; /* file and host rules of the agent's box and of all servers */
        bool failed, no_memory;
};

struct grant {
        enum access access;
        const char *path;
        const char *set; /* SET_WORKSPACE, SET_TOOLCHAIN, or NULL */
        struct source from;
};

struct grants {
        struct grant *list;
        size_t count;
};

/* Expands the setting's path. On failure returns NULL and sets c->failed (after a message) or c->no_memory. */
const char *compile_path(struct compiler *c, const struct setting *s, bool pattern);

/* The last setting of a key, or NULL. For keys below an MCP server: of any server. */
const struct setting *settings_find_last(const struct settings *s, enum key_id key);
/* Does the setting have this key and belong to this server? `server` NULL: to any server or none. */
bool setting_has_key(const struct setting *s, enum key_id key, const char *server);

/* Copies the source, with its name in the plan's arena. */
struct source compile_source(struct compiler *c, struct source from);
/* The source of rules and values that no policy set. */
static inline struct source default_source(void)
{
        return (struct source){ .name = SOURCE_DEFAULT };
}

/* An entry of a list that policies and a managed set make up together. At least one of the two pointers is set. */
struct entry {
        const struct setting *setting;       /* as written, or the +name that added `managed`; NULL: added by default */
        const struct managed_entry *managed; /* NULL: the setting's own text is the entry */
        bool of_ceiling;                     /* a ceiling lists it */
};
struct entries {
        struct entry *list;
        size_t count;
};
/* The entries of `key` after every +name and -name was applied. `server`: see setting_has_key(). */
struct entries compile_entries(struct compiler *c, enum key_id key, const char *server);
/*
 * Adds the entries of the set that `name` names (NULL: all that managed_is_in_whole_set()), with `setting` as their
 * source. False if the set has none of that name.
 */
bool entries_add_group(struct compiler *c, struct entries *list, const struct managed_set *set,
                       const struct setting *setting, const char *name);
void entries_add(struct compiler *c, struct entries *list, struct entry e);

/*
 * The rules of one box: defaults, then `grants` (after the ceilings cut them), then every denial. `box_label` is put in
 * front of each recorded cut: "" for the agent's box, "server NAME: " for a server's.
 */
void compile_box_rules(struct compiler *c, struct grants *grants, const char *box_label, struct rules *ret);
/* Collects the grants of the agent's own box. */
void compile_grants(struct compiler *c, struct grants *ret);
void grants_add(struct compiler *c, struct grants *g, enum access access, const char *path, const char *set,
                struct source from);

void compile_hosts(struct compiler *c);
void hosts_add(struct compiler *c, struct hosts *hosts, bool allow, const struct host_pattern *d, const char *set,
               struct source from);

/* Adds a +name that is not in the dev-network set: as a host if it can be one, otherwise reports an error. */
void hosts_add_plus_name(struct compiler *c, struct hosts *hosts, const struct setting *s);

/* Local ports, published ports and unix sockets, each limited by the ceilings. */
void compile_network(struct compiler *c);
/* Reports unix sockets that the file rules deny. Call after compile_box_rules(). */
void compile_check_sockets(struct compiler *c);

void compile_servers(struct compiler *c);

/* The commands that the gate refuses and the secrets that it removes from answers. */
void compile_gate(struct compiler *c);

/*
 * The limits of the ceilings; see ceiling.c. ceiling_cut_grants() gets the rules that the box would have without
 * ceilings (`uncut`): a path that replaces a grant which is too wide must be allowed by those too.
 */
void ceiling_cut_scalars(struct compiler *c);
void ceiling_cut_hosts(struct compiler *c, struct hosts *hosts, const char *box_label);
void ceiling_cut_private_hosts(struct compiler *c);
void ceiling_cut_ports(struct compiler *c, enum key_id key, struct ports *ports, const char *what);
void ceiling_cut_sockets(struct compiler *c);
unsigned ceiling_denied_rights(const struct compiler *c, struct source *ret_by);
void ceiling_add_namespaces(struct compiler *c);
void ceiling_cut_grants(struct compiler *c, struct grants *grants, const struct rules *uncut, const char *box_label);
void ceiling_add_entries(struct compiler *c, enum key_id key, struct entries *list);
void ceiling_drop_denied_rules(struct compiler *c, struct rules *rules);
void plan_record_ceiling_cut(struct compiler *c, struct source by, const char *result, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Appends a rule. Reports an error if there are too many rules or the path is too long. */
void rules_add(struct compiler *c, struct rules *rules, struct rule rule);

#endif
