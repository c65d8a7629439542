/*
 * The plan: a policy compiled for this machine and this workspace. Immutable; every path absolute and in one spelling,
 * every right explicit, every rule with its source. Walls are built from it, explanations are read from it.
 */
#ifndef RINGWALL_POLICY_PLAN_H
#define RINGWALL_POLICY_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/domain.h"
#include "policy/messages.h"

enum level { LEVEL_OFF, LEVEL_STANDARD, LEVEL_STRICT, LEVEL_MAXIMUM };

/* Bits of PLAN_NAMESPACES, in the order of namespace_words. */
enum space {
        SPACE_USER = 1 << 0,
        SPACE_PID = 1 << 1,
        SPACE_MOUNT = 1 << 2,
        SPACE_IPC = 1 << 3,
        SPACE_UTS = 1 << 4,
        SPACE_CGROUP = 1 << 5,
        SPACE_NET = 1 << 6,
};

enum plan_live { PLAN_LIVE_OFF, PLAN_LIVE_NEW, PLAN_LIVE_ALL };
enum plan_read { PLAN_READ_LISTED, PLAN_READ_BROAD };
enum plan_workspace { PLAN_WORKSPACE_RW, PLAN_WORKSPACE_RO };

/* Values that are one number each; plan_numbers[] describes them. 0 is "no limit" where that makes sense. */
enum plan_number {
        PLAN_LEVEL,
        PLAN_NAMESPACES,
        PLAN_MODE,
        PLAN_BEST_EFFORT,
        PLAN_READ,
        PLAN_WORKSPACE,
        PLAN_ALLOW_EXEC,
        PLAN_ALLOW_FORK,
        PLAN_ALLOW_NETWORK,
        PLAN_PROXY_VARIABLES,
        PLAN_LIVE,
        PLAN_AUDIT,
        PLAN_MDWE,
        PLAN_SNAPSHOT,
        PLAN_POOL_SIZE,
        PLAN_POOL_MAX,
        PLAN_SESSION_TIMEOUT,
        PLAN_IDLE_TIMEOUT,
        PLAN_TIMEOUT,
        PLAN_MEMORY,
        PLAN_CPU,
        PLAN_PROCESSES,
        PLAN_NUMBER_COUNT
};

struct plan_value {
        uint64_t number;
        struct source from;
};

/* How a number is written. */
enum number_form { FORM_WORD, FORM_WORDS, FORM_BOOL, FORM_COUNT, FORM_SECONDS, FORM_BYTES, FORM_MILLICORES };

struct plan_number_row {
        const char *name;
        enum number_form form;
        const char *const *words; /* FORM_WORD, FORM_WORDS */
};

extern const struct plan_number_row plan_numbers[PLAN_NUMBER_COUNT];

/* What a file rule does. */
enum rule_kind {
        RULE_READ,       /* may be read */
        RULE_WRITE,      /* may be read and written */
        RULE_PRIVATE,    /* an empty directory of the box's own in this place, writable, gone with the box */
        RULE_DENY_READ,  /* may be neither read nor written, unless a deeper RULE_READ or RULE_WRITE says so */
        RULE_DENY_WRITE, /* may not be written, whatever allows it */
        RULE_PROTECT,    /* the same, and its names may not be made, replaced or moved either */
        RULE_KIND_COUNT
};

extern const char *const rule_kind_words[];

struct rule {
        enum rule_kind kind;
        const char *path; /* absolute; a pattern when glob is set */
        bool glob;
        const char *set;  /* the managed set and group that it comes from ("sensitive: ssh"), or NULL */
        struct source from;
};

struct rules {
        struct rule *list;
        size_t count, room;
};

struct host_rule {
        bool allow;
        struct domain domain;
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

/* No port stands in a list twice, nor in both lists of a plan. */
struct ports {
        struct plan_port *list;
        size_t count;
};

/* The box's own: egress listens on them at 127.0.0.1, so no list of a plan has them. */
enum box_port {
        BOX_PORT_DIRECT = 1,  /* what TCP connections of the box are led to */
        BOX_PORT_DNS = 53,
        BOX_PORT_SOCKS = 1080,
        BOX_PORT_HTTP = 3128, /* the proxy for HTTP */
};

struct plan_socket {
        const char *path; /* absolute */
        struct source from;
};

struct plan_env {
        const char *name;
        const char *value; /* NULL: passed on from outside */
        struct source from;
};

/* A command that the Bash tool refuses. */
struct plan_command {
        const char *name; /* or a pattern */
        const char *set;
        struct source from;
};

/* A shape of secrets beyond those that ringwall knows. */
struct plan_secret {
        const char *name, *expression;
        struct source from;
};

enum transport { TRANSPORT_STDIO, TRANSPORT_SSE, TRANSPORT_HTTP };

/* An MCP server's own, smaller plan. */
struct plan_server {
        const char *name;
        enum transport transport;
        const char **command; /* words; a command line of the person's is one word for a shell */
        size_t command_count;
        const char *url;
        struct plan_env *env;
        size_t env_count;
        bool allow_exec, allow_fork, allow_network;
        struct rules rules;
        struct hosts hosts;
        struct source from;
};

/* Something that a ceiling took away. */
struct plan_cut {
        const char *what;   /* "write /srv (from policy.yaml:4:5)" */
        const char *result; /* "removed", "read-only", "512MiB" */
        struct source by;
};

struct plan {
        struct arena *arena;
        const char *workspace, *home;
        struct plan_value number[PLAN_NUMBER_COUNT];
        struct rules rules;
        struct hosts hosts;
        struct hosts private_hosts; /* whose addresses may be private; each allows, and nothing by itself */
        struct ports local_ports;   /* of the host's loopback, reached at the same port of the box's */
        struct ports published;     /* the other way round */
        struct plan_socket *unix_sockets;
        size_t unix_socket_count;
        struct plan_env *env;
        size_t env_count;
        struct plan_command *denied_commands;
        size_t denied_command_count;
        struct plan_secret *secrets;
        size_t secret_count;
        struct plan_server *servers;
        size_t server_count;
        struct plan_cut *cuts;
        size_t cut_count;
};

void plan_free(struct plan *p);
static inline void plan_free_pointer(struct plan **p)
{
        plan_free(*p);
}
#define CLEANUP_PLAN CLEANUP(plan_free_pointer)

/*
 * The plan's answer for one absolute, normalised path: may it be read (or written)? ret_rule, which may be NULL, gets
 * the rule that decided, or NULL when no rule speaks of the path, which means no.
 *
 * Reads: of the rules that match the path or a parent, the deepest match decides; deny wins a draw. Writes: what may
 * not be read may not be written; any deny_write or protect that matches forbids; otherwise the deepest of the read,
 * write and private rules decides, so that a read-only place inside a writable one stays read-only.
 */
bool rules_decide(const struct rules *rules, const char *path, bool write, const struct rule **ret_rule);

/*
 * The same for a canonical host name: a deny that matches wins, otherwise an allow must match. Without a port, a deny
 * means every port and an allow the default ports of the name that is asked for.
 */
bool hosts_decide(const struct hosts *hosts, const char *name, uint16_t port, const struct host_rule **ret_rule);

/* Is there a port on which the name is allowed? */
bool hosts_know(const struct hosts *hosts, const char *name);

/* The first rule that has the name and the port; without a port a rule has every one. For private_hosts. */
const struct host_rule *hosts_find(const struct hosts *hosts, const char *name, uint16_t port);

bool ports_have(const struct ports *ports, uint16_t port);
bool port_is_of_box(uint16_t port);

/* The plan as a JSON object, and back. The way back refuses what is not a whole, well-formed plan. */
json_t *plan_to_json(const struct plan *p);
int plan_from_json(const json_t *json, struct plan **ret, struct error *e);

/* The hosts that a box of this plan may reach: none where the network is denied, whatever is listed. */
struct hosts plan_reachable_hosts(const struct plan *p);

/* A number as its row says: "strict", "user, pid", "512MiB", "1h". */
void plan_print_number(enum plan_number which, uint64_t number, struct text *out);

/* Is there a host or a port that a box of this plan may reach, or be reached by, or could there be one later? */
bool plan_reaches_out(const struct plan *p);

#endif
