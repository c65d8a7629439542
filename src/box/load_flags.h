/*
 * The flags that make up a policy: those of the table of keys (policy/keys.inc), and a few that do not belong to a key.
 * The command line and libringwall share them.
 */
#ifndef RINGWALL_BOX_LOAD_FLAGS_H
#define RINGWALL_BOX_LOAD_FLAGS_H

#include "base/options.h"
#include "box/load_policy.h"

/* The options that other code looks up by id. A key's option has the id KEY_FLAG_ID + key; the other flags follow. */
enum flag_id {
        FLAG_ID_WORKSPACE = KEY_FLAG_ID + KEY_WORKDIR,
        FLAG_ID_DENY_READ = KEY_FLAG_ID + KEY_DENY_READ,
        FLAG_ID_DENY_WRITE = KEY_FLAG_ID + KEY_DENY_WRITE,
        FLAG_ID_POLICY = KEY_FLAG_ID + KEY_COUNT,
        FLAG_ID_SETTINGS,
        FLAG_ID_CEILING,
        FLAG_ID_RO,
        FLAG_ID_RW,
};

/* All flags as options; those for an agent's tools are in a table of their own. */
extern const struct options_table flags_options;
extern const struct options_table flags_tool_options;

/*
 * Makes an item from a flag, named without its dashes, and its value, which must outlive the item. Returns 0; -ENOENT
 * for an unknown flag; -EINVAL when the value is missing, or the flag takes none.
 */
int load_item_from_flag(const char *name, const char *value, struct load_item *ret);

#endif
