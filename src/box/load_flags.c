/* Flags to options and to loader items; see load_flags.h. */
#include "box/load_flags.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

/* Flags that do not belong to a key. */
static const struct {
        struct option_row option;
        enum load_item_kind kind;
        enum access access;
} other_flags[] = {
        { { FLAG_ID_POLICY, 'p', "policy", "FILE", OPTION_FILE, true, FLAG_POLICY,
            "Add this policy to the machine's and your own." },
          .kind = LOAD_POLICY },
        { { FLAG_ID_SETTINGS, 0, "settings", "FILE", OPTION_FILE, false, FLAG_POLICY,
            "Add settings in the JSON format of srt." },
          .kind = LOAD_SRT_SETTINGS },
        { { FLAG_ID_CEILING, 0, "ceiling", "FILE", OPTION_FILE, true, FLAG_POLICY,
            "Intersect with this policy: it can only take away." },
          .kind = LOAD_CEILING },
        { { FLAG_ID_RO, 0, "ro", "PATH", OPTION_FILE, true, FLAG_FILES, "Allow reading this. PATH? may be missing." },
          .kind = LOAD_GRANT, .access = ACCESS_READ_ONLY },
        { { FLAG_ID_RW, 0, "rw", "PATH", OPTION_FILE, true, FLAG_FILES,
            "Allow reading and writing this. PATH? may be missing." },
          .kind = LOAD_GRANT, .access = ACCESS_WRITE },
};

/* Flag number `index` of the keys that are for the tools, or of the other keys; NULL after the last. */
static const struct option_row *key_option_at(size_t index, bool for_tools)
{
        for (size_t i = 0; i < KEY_COUNT; i++) {
                const struct option_row *option = &keys[i].flag;
                if (option->name && (strcmp(option->group, FLAG_TOOLS) == 0) == for_tools && index-- == 0)
                        return option;
        }
        return NULL;
}

static const struct option_row *option_at(size_t index)
{
        return index < ARRAY_SIZE(other_flags) ? &other_flags[index].option
                                               : key_option_at(index - ARRAY_SIZE(other_flags), false);
}

static const struct option_row *tool_option_at(size_t index)
{
        return key_option_at(index, true);
}

const struct options_table flags_options = { .row_at = option_at };
const struct options_table flags_tool_options = { .row_at = tool_option_at };

static bool find_item(const char *name, struct load_item *ret)
{
        for (size_t i = 0; i < ARRAY_SIZE(other_flags); i++)
                if (strcmp(other_flags[i].option.name, name) == 0) {
                        *ret = (struct load_item){ .kind = other_flags[i].kind, .access = other_flags[i].access,
                                                   .flag = other_flags[i].option.name };
                        return true;
                }
        for (enum key_id key = 0; key < KEY_COUNT; key++)
                if (keys[key].flag.name && strcmp(keys[key].flag.name, name) == 0) {
                        *ret = (struct load_item){ .kind = LOAD_FLAG, .key = key, .flag = keys[key].flag.name };
                        return true;
                }
        return false;
}

int load_item_from_flag(const char *name, const char *value, struct load_item *ret)
{
        struct load_item item;
        if (!find_item(name, &item))
                return -ENOENT;
        bool is_switch = item.kind == LOAD_FLAG && keys[item.key].kind == VALUE_BOOL;
        if (is_switch != !value)
                return -EINVAL;
        item.value = is_switch ? "true" : value;
        *ret = item;
        return 0;
}
