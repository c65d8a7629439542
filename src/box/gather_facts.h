/* Gathers the facts about this machine that a compilation needs: directories, PATH, host names beyond ASCII. */
#ifndef RINGWALL_BOX_GATHER_FACTS_H
#define RINGWALL_BOX_GATHER_FACTS_H

#include "base/error.h"
#include "base/memory.h"
#include "policy/host_facts.h"

/* Fills everything but own_files, in the arena. An unknown fact is NULL; only the current directory is required. */
int host_facts_gather(struct arena *a, struct host_facts *ret, struct error *e);

/* $XDG_CONFIG_HOME/ringwall or ~/.config/ringwall; NULL without either. */
const char *host_facts_config_dir(struct arena *a, const struct host_facts *facts);

/* $XDG_STATE_HOME/ringwall or .local/state/ringwall below `home`; NULL without either. */
const char *facts_state_dir(struct arena *a, const char *home);

/* Converts an internationalised host name to its ASCII form; see policy/host_pattern.h. */
bool host_name_to_ascii(const char *name, char *ret, size_t size);

#endif
