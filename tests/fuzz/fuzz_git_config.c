/*
 * Changes of git configurations. The input is a byte that selects the kind, then the old and the new text, separated by
 * a NUL. A change that is accepted changes no key that makes git run a program, trust a host or follow a path; the
 * lists of such keys below are independent of the code. A change to the same text is always accepted, and the reason
 * for a refusal is printable.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "policy/git_config.h"
#include "policy/git_config_parse.h"

/* Sections in which nothing may change, and keys that may not change in any section but advice and color. */
static const char *const sections[] = {
        "alias", "browser", "credential", "difftool", "filter", "gpg", "http", "include", "includeif", "interactive",
        "man", "mergetool", "pager", "protocol", "receive", "safe", "sendemail", "sequence", "trailer", "uploadpack",
        "url",
};
static const char *const keys[] = {
        "fsmonitor", "hookspath", "sshcommand", "editor", "pager", "askpass", "gitproxy", "attributesfile",
        "excludesfile", "alternaterefscommand", "external", "command", "textconv", "driver", "receivepack", "vcs",
        "proxy", "pushurl", "mirror", "signingkey", "template", "helper", "insteadof", "program",
};

static bool is_dangerous(const struct git_config_entry *e)
{
        size_t length = strcspn(e->base, ".");
        for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
                if (strlen(sections[i]) == length && strncmp(e->base, sections[i], length) == 0)
                        return true;
        /* These sections only affect output. */
        if (text_has_prefix(e->base, "advice") || text_has_prefix(e->base, "color"))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (strcmp(e->key, keys[i]) == 0)
                        return true;
        return false;
}

static const struct git_config_entry *next_dangerous(const struct git_config *config, size_t *at)
{
        while (*at < config->count)
                if (is_dangerous(&config->entries[(*at)++]))
                        return &config->entries[*at - 1];
        return NULL;
}

static bool entries_are_equal(const struct git_config_entry *x, const struct git_config_entry *y)
{
        return strcmp(x->base, y->base) == 0 && strcmp(x->key, y->key) == 0 && !x->value == !y->value &&
               (!x->value || strcmp(x->value, y->value) == 0);
}

/* A value that git would run as a command, in a URL or in submodule.X.update, must have been there before. */
static void check_value(const struct git_config *before, const struct git_config_entry *e)
{
        static const char *const text_keys[] = { "name", "email", "description", "active" };
        bool harmless = !e->value || (!text_has_prefix(e->value, "ext::") && *e->value != '!');
        for (size_t i = 0; !harmless && i < ARRAY_SIZE(text_keys); i++)
                harmless = strcmp(e->key, text_keys[i]) == 0;
        for (size_t i = 0; !harmless && i < before->count; i++)
                harmless = entries_are_equal(&before->entries[i], e);
        PROMISE(harmless);
}

static void check_accepted(struct arena *a, const char *old, size_t old_length, const char *text, size_t length)
{
        struct git_config before = { 0 }, after = { 0 };
        size_t old_at = 0, new_at = 0;
        const struct git_config_entry *x, *y;
        if (old_length == length && memcmp(old, text, length) == 0)
                return;
        PROMISE(git_config_parse(a, text, length, &after, NULL));
        PROMISE(git_config_parse(a, old, old_length, &before, NULL));
        do {
                x = next_dangerous(&before, &old_at);
                y = next_dangerous(&after, &new_at);
                PROMISE(!x == !y);
                PROMISE(!x || entries_are_equal(x, y));
        } while (x);
        for (size_t i = 0; i < after.count; i++)
                check_value(&before, &after.entries[i]);
}

static void check_todo(const char *text, size_t length)
{
        if (!git_todo_is_harmless(text, length, NULL))
                return;
        PROMISE(!memchr(text, '\0', length));
        PROMISE(!memmem(text, length, "\nexec ", 6) && !memmem(text, length, "\nx ", 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (!size)
                return 0;
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        CLEANUP_TEXT struct text why = { 0 };
        PROMISE(a);
        unsigned kind = *data++ % 4;
        size--;
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t old_length = nul ? (size_t)(nul - data) : 0, start = nul ? old_length + 1 : 0, length = size - start;
        CLEANUP_FREE char *old = fuzz_string(data, old_length), *text = malloc(length ? length : 1);
        PROMISE(text);
        memcpy(text, data + start, length);
        bool accepted =
                kind == 3 ? git_config_may_change_submodule(".git/modules/x", old, old_length, text, length, &why)
                          : git_config_may_change((enum git_config_kind)kind, old, old_length, text, length, &why);
        if (accepted)
                check_accepted(a, old, old_length, text, length);
        else
                promise_printable(why.data);
        if (kind < 3)
                PROMISE(git_config_may_change((enum git_config_kind)kind, text, length, text, length, NULL));
        check_todo(text, length);
        return 0;
}
