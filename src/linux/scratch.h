/*
 * The private directories of a box without a mount namespace: one directory in /tmp, removed with its content when the
 * box ends. box_scratch_name() chooses its name.
 */
#ifndef RINGWALL_LINUX_SCRATCH_H
#define RINGWALL_LINUX_SCRATCH_H

#include "base/error.h"

/* Makes the directory, with "tmp" and "home" in it. Must not use an existing one. */
int scratch_dir_create(const char *name, struct error *e);

/* Removes the directory with its content. An attacker controls depth, names and modes. */
void scratch_dir_remove(const char *name);

#endif
