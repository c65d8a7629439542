/* Asks the system for what a compilation must know: directories, PATH, names in other scripts. */
#ifndef RINGWALL_BOX_FACTS_H
#define RINGWALL_BOX_FACTS_H

#include "base/error.h"
#include "base/memory.h"
#include "policy/facts.h"

/* Everything but own_files, in the arena. A fact that cannot be had is NULL; only the current directory is a must. */
int facts_gather(struct arena *a, struct facts *ret, struct error *e);

/* $XDG_CONFIG_HOME/ringwall or ~/.config/ringwall; NULL without a home. */
const char *facts_config_dir(struct arena *a, const struct facts *facts);

/* An international name in its ASCII form; see policy/domain.h. */
bool facts_to_ascii(const char *name, char *ret, size_t size);

#endif
