/*
 * The private directories of a box without a mount namespace: one directory in /tmp, removed with everything in it when
 * the box ends.
 */
#ifndef RINGWALL_LINUX_SCRATCH_H
#define RINGWALL_LINUX_SCRATCH_H

#include "base/error.h"

enum { SCRATCH_LENGTH = 40 };

/* A name that nobody can guess. Makes nothing. */
int scratch_name(char ret[SCRATCH_LENGTH], struct error *e);

/* The directory, with "tmp" and "home" in it. Must not use one that exists. */
int scratch_make(const char *name, struct error *e);

/* Whatever is in it, however deep, with modes and names of an enemy's choice. */
void scratch_remove(const char *name);

#endif
