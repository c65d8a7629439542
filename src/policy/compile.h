/*
 * Settings and facts to a plan. policy_compile() is the entrance; the rest is what its parts share, one file each:
 * numbers (compile.c), file rules (compile_rules.c), hosts (compile_hosts.c), ports and sockets (compile_network.c),
 * the gate (compile_gate.c), servers (compile_servers.c), and the intersection with ceilings (ceiling.c).
 */
#ifndef RINGWALL_POLICY_COMPILE_H
#define RINGWALL_POLICY_COMPILE_H

#include "policy/expand.h"
#include "policy/facts.h"
#include "policy/managed.h"
#include "policy/plan.h"
#include "policy/settings.h"

/*
 * Compiles. Each ceiling is the settings of one ceiling file. Returns 0 with a plan, 1 when messages has errors, or
 * -ENOMEM. Warnings may be there in any case.
 */
int policy_compile(const struct settings *s, const struct settings *const *ceilings, size_t ceiling_count,
                   const struct facts *facts, struct messages *m, struct plan **ret);

/* Settings that have no meaning in a ceiling are errors. Returns 0 or 1. */
int ceiling_check(const struct settings *ceiling);

struct compiler {
        struct arena *arena; /* the plan's */
        const struct settings *settings;
        const struct settings *const *ceilings;
        size_t ceiling_count;
        const struct facts *facts;
        struct messages *messages;
        struct plan *plan;
        struct expand_names names;
        unsigned denied;      /* rights that nothing grants back (enum right) */
        size_t rules_in_plan; /* of all boxes */
        bool failed, no_memory;
};

/* A path that is granted. */
struct grant {
        enum access access;
        const char *path;
        const char *set;
        struct source from;
};

struct grants {
        struct grant *list;
        size_t count;
};

/* Expands the setting's path. NULL after a message or without memory, which the compiler remembers. */
const char *compile_path(struct compiler *c, const struct setting *s, bool pattern);

/* The last setting of a key that is not part of a server, or NULL. */
const struct setting *settings_last(const struct settings *s, enum key_id key);
bool setting_is(const struct setting *s, enum key_id key, const char *server);

/* A copy of the source whose name lives in the plan. */
struct source compile_source(struct compiler *c, struct source from);
/* The source of what ringwall itself decided. */
static inline struct source compile_default(void)
{
        return (struct source){ .name = "default" };
}

/* An entry of a list that a managed set may take part in. */
struct entry {
        const struct setting *setting; /* NULL for one of the set */
        const struct managed_entry *managed;
};
struct entries {
        struct entry *list;
        size_t count;
};
/* The list of `key` after all its + and -. */
struct entries compile_entries(struct compiler *c, enum key_id key, const char *server);
/* Adds what `name` means in the set; false when it means nothing there. */
bool entries_add_named(struct compiler *c, struct entries *list, const struct managed_set *set,
                       const struct setting *setting, const char *name);
void entries_add(struct compiler *c, struct entries *list, struct entry e);

/* The rules of one box: defaults, then these grants, cut by the ceilings, then every denial. */
void compile_box_rules(struct compiler *c, struct grants *grants, const char *whose, struct rules *ret);
/* The grants of the agent's own box. */
void compile_grants(struct compiler *c, struct grants *ret);
void grants_add(struct compiler *c, struct grants *g, enum access access, const char *path, const char *set,
                struct source from);
/* The set of the workspace's own grant. */
#define GRANT_WORKSPACE "workspace"

void compile_hosts(struct compiler *c);
void hosts_add(struct compiler *c, struct hosts *hosts, bool allow, const struct domain *d, const char *set,
               struct source from);

/* A + that names nothing of the dev-network set: a host, or a mistake. */
void hosts_add_signed(struct compiler *c, struct hosts *hosts, const struct setting *s);

/* Ports of both directions, and unix sockets; each cut by the ceilings. */
void compile_network(struct compiler *c);
/* Once the rules are known: none of them denies a socket that is named. */
void compile_check_sockets(struct compiler *c);

void compile_servers(struct compiler *c);

/* What the gate refuses and what it takes out of answers. */
void compile_gate(struct compiler *c);

/*
 * Intersections, in the order in which the compiler asks for them. Grants are cut with the rules in hand that the box
 * would have had: what takes the place of a grant that is too wide must be allowed by those too.
 */
void ceiling_cut_numbers(struct compiler *c);
void ceiling_cut_hosts(struct compiler *c, struct hosts *hosts, const char *whose);
void ceiling_cut_private_hosts(struct compiler *c);
void ceiling_cut_ports(struct compiler *c, enum key_id key, struct ports *ports, const char *what);
void ceiling_cut_sockets(struct compiler *c);
unsigned ceiling_denied_rights(const struct compiler *c, struct source *ret_by);
void ceiling_add_namespaces(struct compiler *c);
void ceiling_cut_grants(struct compiler *c, struct grants *grants, const struct rules *uncut, const char *whose);
void ceiling_add_entries(struct compiler *c, enum key_id key, struct entries *list);
void ceiling_drop_denied(struct compiler *c, struct rules *rules);
void plan_add_cut(struct compiler *c, struct source by, const char *result, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Where compile_rules puts a rule. */
void rules_add(struct compiler *c, struct rules *rules, struct rule rule);

#endif
