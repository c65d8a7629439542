/* The ports that an allowed host without a port has. A denied host without a port is denied on every port. */
#ifndef RINGWALL_POLICY_DEFAULT_PORTS_H
#define RINGWALL_POLICY_DEFAULT_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEFAULT_PORT_COUNT = 3 };

/* Every port that is a default port of some host, the most common first. */
extern const uint16_t default_ports[DEFAULT_PORT_COUNT];

/* Is it a default port of this canonical name? NULL: of every name? */
bool port_is_default(const char *name, uint16_t port);

/* The hosts that have 22 as a default port; NULL-terminated. */
extern const char *const git_hosts[];

#endif
