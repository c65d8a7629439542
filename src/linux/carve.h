/*
 * A plan's files held by Landlock alone, for boxes without a mount namespace. Theory of operation: carve.c.
 */
#ifndef RINGWALL_LINUX_CARVE_H
#define RINGWALL_LINUX_CARVE_H

#include "base/error.h"
#include "linux/places.h"
#include "linux/ruleset.h"
#include "policy/plan.h"

/*
 * Can Landlock hold these places? Returns 0, or -ENOTSUP with an error that names the first rule which it cannot.
 * *ret_unheld counts what is protected by default, or denied in a plan that asks for best effort, and not held;
 * *ret_example is one of them.
 */
int carve_check(const struct plan *plan, const struct places *places, size_t *ret_unheld, const struct place **ret_example,
                struct error *e);

/* The ruleset of these places, the directory `scratch` (NULL: none), and a terminal (-1: none), without any port. ruleset_enforce() takes it. */
int carve_files(const struct places *places, const char *scratch, int terminal, struct ruleset *ret, struct error *e);

#endif
