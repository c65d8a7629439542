/* Finds entries of managed sets by name; the sets are in managed_*.c. See managed.h. */
#include "policy/managed.h"

#include <string.h>

#include "base/text.h"

static const struct managed_set *const sets[] = { &sensitive_set, &protected_set, &dev_network_set,
                                                  &denied_commands_set };

const struct managed_set *managed_set_of(enum key_id key)
{
        for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
                if (sets[i]->key == key)
                        return sets[i];
        return NULL;
}

bool managed_is_in_whole_set(const struct managed_set *set, const struct managed_entry *entry)
{
        for (size_t i = 0; set->opt_in_groups && set->opt_in_groups[i]; i++)
                if (strcmp(set->opt_in_groups[i], entry->group) == 0)
                        return false;
        return true;
}

bool managed_entry_matches(const struct managed_set *set, const struct managed_entry *entry, const char *name)
{
        if (strcmp(name, set->name) == 0 || strcmp(name, entry->group) == 0)
                return true;
        const char *own = entry->entry;
        static const char prefix[] = "{writable}/";
        if (text_has_prefix(own, prefix))
                own += sizeof prefix - 1;
        if (text_has_prefix(name, "./"))
                name += 2;
        size_t length = strlen(name);
        while (length > 1 && name[length - 1] == '/')
                length--;
        return strlen(own) == length && strncmp(own, name, length) == 0;
}
