/*
 * The plan: a policy compiled for this machine and this workspace. Immutable; every path absolute and in one spelling,
 * every right explicit, every rule with its source. The walls are built from it, and `policy show` explains it.
 */
#ifndef RINGWALL_POLICY_PLAN_H
#define RINGWALL_POLICY_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/host_pattern.h"
#include "policy/diagnostics.h"

enum level { LEVEL_OFF, LEVEL_STANDARD, LEVEL_STRICT, LEVEL_MAXIMUM };

/* Bits of PLAN_NAMESPACES, in the order of namespace_words. */
enum namespace_bit {
        NAMESPACE_USER = 1 << 0,
        NAMESPACE_PID = 1 << 1,
        NAMESPACE_MOUNT = 1 << 2,
        NAMESPACE_IPC = 1 << 3,
        NAMESPACE_UTS = 1 << 4,
        NAMESPACE_CGROUP = 1 << 5,
        NAMESPACE_NET = 1 << 6,
};

enum plan_live { PLAN_LIVE_OFF, PLAN_LIVE_NEW, PLAN_LIVE_ALL };
enum plan_read { PLAN_READ_LISTED, PLAN_READ_BROAD };
enum plan_workspace { PLAN_WORKSPACE_RW, PLAN_WORKSPACE_RO };

/*
 * The scalars of a plan: numbers, switches, words and sets of words, each stored as one number. There is one for each
 * SCALAR_KEY of keys.inc, and one for each right, which follows from several keys. Of a limit, 0 means no limit.
 */
enum plan_scalar {
#define KEY(id, ...)
#define SCALAR_KEY(id, ...) PLAN_##id,
#include "policy/keys.inc"
        PLAN_ALLOW_EXEC,
        PLAN_ALLOW_FORK,
        PLAN_ALLOW_NETWORK,
        PLAN_SCALAR_COUNT
};

struct plan_value {
        uint64_t value;
        struct source from;
};

/* How a scalar is written. */
enum scalar_format {
        FORMAT_WORD, FORMAT_WORD_SET, FORMAT_BOOL, FORMAT_INTEGER, FORMAT_SECONDS, FORMAT_BYTES, FORMAT_MILLICORES
};

/* From the table of keys: the name of a scalar, whether 0 means no limit, its form, and its words if it has any. */
const char *plan_scalar_name(enum plan_scalar which);
bool plan_scalar_is_limit(enum plan_scalar which);
enum scalar_format plan_scalar_form(enum plan_scalar which, const char *const **ret_words);

/* What a file rule does. The order matters, because code compares kinds by < and >: grants first, then denials. */
enum rule_kind {
        RULE_READ,       /* may be read */
        RULE_WRITE,      /* may be read and written */
        RULE_PRIVATE,    /* an empty, writable directory of the box's own at this path, removed with the box */
        RULE_DENY_READ,  /* may be neither read nor written, unless a deeper rule allows it */
        RULE_DENY_WRITE, /* may not be written, whatever allows it */
        RULE_PROTECT,    /* like RULE_DENY_WRITE, but enforced by the guard alone, without a mount */
        RULE_KIND_COUNT
};

extern const char *const rule_kind_words[];

/* Values of rule.set that code asks for. */
#define SET_WORKSPACE "workspace"  /* the grant of the workspace itself */
#define SET_TOOLCHAIN "toolchain"  /* a directory that PATH needs (defaults.h) */
#define SET_SYSTEM "system"
#define SET_DEVICES "devices"
#define SET_TEMPORARY "temp"
#define SET_GIT "protected: git"
/*
 * The protect rules for the files that ringwall itself trusts: policies, ceilings, its configuration, state and audit
 * trails. No policy releases these rules, and a level that cannot enforce one of them is refused.
 */
#define SET_OWN_FILES "ringwall's own"

struct rule {
        enum rule_kind kind;
        const char *path; /* absolute; a pattern when glob is set */
        bool glob;
        /*
         * What it comes from: a managed set and its group ("sensitive: ssh"), SET_OWN_FILES, or a default:
         * SET_WORKSPACE, SET_TOOLCHAIN, "home", … NULL: a policy or a flag names the path itself.
         */
        const char *set;
        struct source from;
        bool of_ceiling;  /* a ceiling's denial: no grant overrides it, whatever path the grant uses */
};

struct rules {
        struct rule *list;
        size_t count, room; /* room: entries allocated */
};

struct host_rule {
        bool allow;
        struct host_pattern domain;
        const char *set;
        struct source from;
};

struct hosts {
        struct host_rule *list;
        size_t count;
};

struct plan_port {
        uint16_t port;
        struct source from;
};

/* No port is in a list twice, nor in both lists of a plan. */
struct ports {
        struct plan_port *list;
        size_t count;
};

/* Egress listens on these ports at 127.0.0.1 in the box, so no list of a plan may have them. */
enum reserved_port {
        BOX_PORT_TRANSPARENT = 1,  /* nftables redirects the box's TCP connections to it */
        RESERVED_PORT_DNS = 53,
        RESERVED_PORT_SOCKS = 1080,
        RESERVED_PORT_HTTP_PROXY = 3128, /* the proxy for HTTP */
};

struct plan_socket {
        const char *path; /* absolute */
        struct source from;
};

struct plan_env {
        const char *name;  /* or a pattern with *, which passes on all variables whose names match */
        const char *value; /* NULL: passed on from the environment outside */
        struct source from;
};

/* A command that the Bash tool refuses. */
struct plan_denied_command {
        const char *name; /* or a pattern; words after it, such as those of git push, are subcommands */
        const char *set;
        struct source from;
};

/* A secret pattern that a policy adds to those that ringwall knows. */
struct plan_secret_pattern {
        const char *name, *expression;
        struct source from;
};

enum transport { TRANSPORT_STDIO, TRANSPORT_SSE, TRANSPORT_HTTP };

/* An MCP server's own, smaller plan. */
struct plan_server {
        const char *name;
        enum transport transport;
        const char **command; /* arguments; a command line was split at white space */
        size_t command_count;
        const char *url;
        struct plan_env *env;
        size_t env_count;
        bool allow_exec, allow_fork, allow_network;
        struct rules rules;
        struct hosts hosts;
        struct source from;
};

/* Something that a ceiling removed or reduced. */
struct plan_ceiling_cut {
        const char *what;   /* "write /srv (from policy.yaml:4:5)" */
        const char *result; /* "removed", "read-only", "512MiB" */
        struct source by;
};

struct plan {
        struct arena *arena;
        const char *workspace, *home;
        struct plan_value scalar[PLAN_SCALAR_COUNT];
        struct rules rules;
        struct hosts hosts;
        struct hosts private_hosts; /* whose addresses may be private; `hosts` must allow them too */
        struct ports local_ports;   /* of the host's loopback, which the box reaches at the same port of its own */
        struct ports published;     /* of the box's loopback, which the host reaches at the same port of its own */
        struct plan_socket *unix_sockets;
        size_t unix_socket_count;
        struct plan_env *env;
        size_t env_count;
        struct plan_denied_command *denied_commands;
        size_t denied_command_count;
        struct plan_secret_pattern *secrets;
        size_t secret_count;
        struct plan_server *servers;
        size_t server_count;
        struct plan_ceiling_cut *cuts;
        size_t cut_count;
};

void plan_free(struct plan *p);
static inline void plan_free_pointer(struct plan **p)
{
        plan_free(*p);
}
#define CLEANUP_PLAN CLEANUP(plan_free_pointer)

/* Does the rule come from this set (SET_*)? */
bool rule_is_of_set(const struct rule *r, const char *set);

/*
 * The plan's answer for one absolute, normalised path: may it be read (or written)? ret_rule, which may be NULL, gets
 * the rule that decided, or NULL when no rule matches the path, which means no.
 *
 * Reads: of the rules that match the path or a parent, the deepest match decides; deny wins a tie. Writes: what may
 * not be read may not be written; any deny_write or protect that matches forbids; otherwise the deepest of the read,
 * write and private rules decides, so that a read-only place inside a writable one stays read-only.
 */
bool rules_decide(const struct rules *rules, const char *path, bool write, const struct rule **ret_rule);

/*
 * The write rule that grants this path, even if a denial forbids writing to it; NULL when the deepest grant is not a
 * write rule.
 */
const struct rule *rules_find_write_grant(const struct rules *rules, const char *path);

/*
 * Does the plan allow this canonical host name and port? A deny that matches wins, otherwise an allow must match.
 * Without a port, a deny means every port and an allow the default ports of the name that is asked for.
 */
bool hosts_decide(const struct hosts *hosts, const char *name, uint16_t port, const struct host_rule **ret_rule);

/* Is the name allowed on any port? */
bool hosts_allow_any_port(const struct hosts *hosts, const char *name);

/* The first rule that matches the name and the port; a rule without a port matches every port. For private_hosts. */
const struct host_rule *hosts_match(const struct hosts *hosts, const char *name, uint16_t port);

bool ports_contain(const struct ports *ports, uint16_t port);
bool port_is_reserved(uint16_t port);

/* The plan as a JSON object, and back. plan_from_json() refuses anything but a complete, well-formed plan. */
json_t *plan_to_json(const struct plan *p);
int plan_from_json(const json_t *json, struct plan **ret, struct error *e);

/* The hosts that a box of this plan may reach: none where the network is denied, whatever is listed. */
struct hosts plan_reachable_hosts(const struct plan *p);

/* Prints a scalar in its form: "strict", "user, pid", "512MiB", "1h". */
void plan_print_scalar(enum plan_scalar which, uint64_t number, struct text *out);

/* May a box of this plan reach a host or a port, or be reached at one, now or after a live change of its policy? */
bool plan_needs_egress(const struct plan *p);

#endif
