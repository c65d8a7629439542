/* The rights that an application's modules and permissions need: exec, fork, sockets, files, hosts. */
#ifndef RINGWALL_POLICY_MODULE_RIGHTS_H
#define RINGWALL_POLICY_MODULE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/keys.h"

/* Rights, as bits. */
enum right {
        RIGHT_READ = 1 << 0,
        RIGHT_WRITE = 1 << 1,
        RIGHT_EXEC = 1 << 2,
        RIGHT_FORK = 1 << 3,
        RIGHT_NETWORK = 1 << 4,
};

/*
 * The permissions: the word, its rights in tools.capabilities, its rights for an MCP server. They differ in
 * spawn_daemon: a server needs exec too in order to start a daemon; an application may only fork.
 */
#define PERMISSIONS(ROW)                                                                                              \
        ROW("fs.read", RIGHT_READ, RIGHT_READ)                                                                        \
        ROW("fs.list", RIGHT_READ, RIGHT_READ)                                                                        \
        ROW("fs.write", RIGHT_WRITE, RIGHT_WRITE)                                                                     \
        ROW("fs.delete", RIGHT_WRITE, RIGHT_WRITE)                                                                    \
        ROW("fs.*", RIGHT_READ | RIGHT_WRITE, RIGHT_READ | RIGHT_WRITE)                                               \
        ROW("process.exec", RIGHT_EXEC | RIGHT_FORK, RIGHT_EXEC | RIGHT_FORK)                                         \
        ROW("process.spawn_daemon", RIGHT_FORK, RIGHT_EXEC | RIGHT_FORK)                                              \
        ROW("process.*", RIGHT_EXEC | RIGHT_FORK, RIGHT_EXEC | RIGHT_FORK)                                            \
        ROW("net.http", RIGHT_NETWORK, RIGHT_NETWORK)                                                                 \
        ROW("net.socket", RIGHT_NETWORK, RIGHT_NETWORK)                                                               \
        ROW("net.listen", RIGHT_NETWORK, RIGHT_NETWORK)                                                               \
        ROW("net.*", RIGHT_NETWORK, RIGHT_NETWORK)

/* Rights of a permission, by its index in permission_words. */
struct permission {
        unsigned granted, of_server;
};
extern const struct permission permissions[];

struct module_rights {
        enum key_id key;      /* the module's own key */
        unsigned rights;
        enum key_id domains;  /* its allowed_domains, or KEY_COUNT */
        const char *host;     /* a host that it always needs, or NULL */
};

extern const struct module_rights module_rows[];
extern const size_t module_row_count;

/* By enum transport: the rights that a server needs to work at all, and the permission that gives them. */
struct transport_need {
        unsigned rights;
        const char *permission;
        const char *lost; /* what does not work without it */
};
extern const struct transport_need transport_needs[];

#endif
