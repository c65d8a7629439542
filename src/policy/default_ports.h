/* The ports that a host pattern without one stands for, where it allows. A denial without a port means every port. */
#ifndef RINGWALL_POLICY_DEFAULT_PORTS_H
#define RINGWALL_POLICY_DEFAULT_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEFAULT_PORT_COUNT = 3 };

/* Every port that is a default one of some name, the commonest first. */
extern const uint16_t default_ports[DEFAULT_PORT_COUNT];

/* Is it a default port of this canonical name? With NULL: of every name. */
bool port_is_default(const char *name, uint16_t port);

/* The hosts that have 22 among them; NULL ends the list. */
extern const char *const git_hosts[];

#endif
