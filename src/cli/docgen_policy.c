/* The policy's tables as scdoc text; see docgen_policy.h. */
#include "cli/docgen_policy.h"

#include <string.h>

#include "policy/default_ports.h"
#include "policy/keys.h"
#include "policy/managed.h"

static void add_escaped(struct text *t, const char *text)
{
        for (; *text; text++) {
                if (strchr("\\*_#", *text))
                        text_add(t, "\\");
                text_add_bytes(t, text, 1);
        }
}

static void add_key(struct text *t, const struct key *key)
{
        CLEANUP_TEXT struct text value = { 0 };
        text_add(t, "*");
        add_escaped(t, key->path);
        text_add(t, "*\n\t");
        add_escaped(t, key->help);
        key_expected_text(key, &value);
        if (key->kind != VALUE_MAP) {
                text_add(t, key->list ? "\n\n\tA list; each entry is " : "\n\n\tA value: ");
                add_escaped(t, value.data ? value.data : "");
                text_add(t, ".");
        }
        if (key->fallback) {
                text_add(t, "\n\n\tDefault: ");
                add_escaped(t, key->fallback);
                text_add(t, ".");
        }
        if (key->flag.name)
                text_format(t, "\n\n\tFlag: *--%s*.", key->flag.name);
        if (key_is_for_ceilings(key))
                text_add(t, "\n\n\tCan be used in a ceiling.");
        text_add(t, "\n\n");
}

void docgen_add_keys(struct text *t)
{
        for (size_t i = 0; i < KEY_COUNT; i++)
                add_key(t, &keys[i]);
}

static void add_set(struct text *t, const struct managed_set *set)
{
        text_add(t, "## ");
        add_escaped(t, set->name);
        text_add(t, ", edited in ");
        add_escaped(t, keys[set->key].path);
        text_add(t, "\n\n");
        for (size_t i = 0; i < set->count; i++) {
                bool first = i == 0 || strcmp(set->entries[i].group, set->entries[i - 1].group) != 0;
                if (first) {
                        text_add(t, i ? "\n\n*" : "*");
                        add_escaped(t, set->entries[i].group);
                        text_add(t,
                                 managed_is_in_whole_set(set, &set->entries[i]) ? "*" : "*, off until added by name");
                        text_add(t, "\n\t");
                } else {
                        text_add(t, ", ");
                }
                const char *entry = set->entries[i].entry;
                /* In italics, because troff would take a line that begins with a dot for a request. */
                text_add(t, "_");
                add_escaped(t, text_has_prefix(entry, "{writable}/") ? entry + strlen("{writable}/") : entry);
                text_add(t, "_");
        }
        text_add(t, "\n\n");
}

/* The git hosts are not a managed set, because a policy cannot edit their list. */
static void add_git_hosts(struct text *t)
{
        text_add(t, "## git hosts, for which an entry without a port also allows port 22\n\n");
        for (size_t i = 0; git_hosts[i]; i++) {
                text_add(t, i ? ", _" : "_");
                add_escaped(t, git_hosts[i]);
                text_add(t, "_");
        }
        text_add(t, "\n\n");
}

void docgen_add_sets(struct text *t)
{
        add_set(t, &sensitive_set);
        add_set(t, &protected_set);
        add_set(t, &dev_network_set);
        add_set(t, &denied_commands_set);
        add_git_hosts(t);
}
