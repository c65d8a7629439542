/* A transient scope of a systemd manager. Theory of operation: systemd_scope.c. */
#ifndef RINGWALL_LINUX_SYSTEMD_SCOPE_H
#define RINGWALL_LINUX_SYSTEMD_SCOPE_H

#include <stddef.h>

#include "base/error.h"

/*
 * Moves the calling process into a new scope, which systemd delegates to us and removes when it is empty. Runs as: the
 * front, one thread. Afterwards the process is in a child of the scope's cgroup, so that the scope can have other
 * children.
 */
int systemd_scope_enter(struct error *e);

/* The socket of the manager to ask: for root the system's, for other users their own. Opens no file. */
int systemd_find_socket(char *ret_path, size_t size);

/* A path as part of a D-Bus address: bytes with a special meaning become %xx. */
int dbus_escape_path(const char *path, char *ret, size_t size);

#endif
