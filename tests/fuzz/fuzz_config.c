/*
 * Changing a client's configuration: JSON if the input starts with a brace, otherwise TOML. After an addition the file
 * has the entry, and everything else is preserved: a JSON file differs in the entry alone, and a TOML file in which no
 * table was replaced starts with its old text. A removal undoes an addition; the same for the client's own tools.
 */
#include <string.h>

#include "cli/client_config.h"
#include "fuzz.h"

static const char section[] = "mcp_servers", name[] = "ringwall";

/* Parses the file and removes the entry, and its section if that is empty then. */
static json_t *without_entry(const char *text)
{
        json_t *file = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        PROMISE(json_is_object(file));
        json_t *entries = json_object_get(file, section);
        json_object_del(entries, name);
        if (json_is_object(entries) && !json_object_size(entries))
                json_object_del(file, section);
        return file;
}

static void check_json(const char *before, const char *after)
{
        if (!before[strspn(before, " \t\r\n")])
                return;
        CLEANUP_JSON json_t *old = without_entry(before);
        CLEANUP_JSON json_t *new = without_entry(after);
        PROMISE(json_equal(old, new));
}

/* What was added is removed, and in JSON nothing else has changed. */
static void check_removal(const struct client_config_format *format, const struct client_entry *entry,
                          const char *before, const struct text *added)
{
        CLEANUP_CONFIG_CHANGE struct edit_result removed = { 0 }, again = { 0 };
        struct error e = { 0 };
        PROMISE(format->remove(entry, added->data, added->length, &removed, &e) == EDIT_REMOVED);
        const char *text = removed.text.data ? removed.text.data : "";
        PROMISE(format->remove(entry, text, removed.text.length, &again, &e) == EDIT_UNCHANGED);
        if (format == &client_config_json)
                check_json(before, text);
}

static void check_switches(const struct client_config_format *format, const char *text, size_t size)
{
        static const char *const names[] = { "a", "shell", NULL };
        const struct client_switches s = { "b", format == &client_config_json ? "deny" : NULL, names };
        CLEANUP_CONFIG_CHANGE struct edit_result off = { 0 }, again = { 0 }, on = { 0 }, query = { 0 };
        struct error e = { 0 };
        int outcome = format->switch_off(&s, text, size, &off, &e);
        if (outcome < 0) {
                PROMISE(e.code == -outcome && *e.text && !off.text.length);
                return;
        }
        PROMISE(!off.text.failed && (outcome == EDIT_ADDED) == (off.present != client_switches_all(&s)));
        const char *now = outcome == EDIT_ADDED ? off.text.data : text;
        size_t length = outcome == EDIT_ADDED ? off.text.length : size;
        PROMISE(format->switch_off(&s, now, length, &again, &e) == EDIT_UNCHANGED);
        PROMISE(format->switch_on(&s, client_switches_all(&s), now, length, &on, &e) == EDIT_REMOVED);
        (void)format->switch_on(&s, 0, on.text.data ? on.text.data : "", on.text.length, &query, &e);
        PROMISE(!query.present);
}

static void check_change(const struct client_config_format *format, const struct client_entry *entry, const char *text,
                         size_t size, bool force)
{
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 }, again = { 0 };
        struct error e = { 0 };
        int outcome = format->set(entry, text, size, force, &change, &e);
        if (outcome < 0) {
                PROMISE(e.code == -outcome && *e.text);
                PROMISE(!change.text.length);
                return;
        }
        PROMISE(!change.text.failed && !(force && outcome == EDIT_CONFLICT));
        if (outcome != EDIT_ADDED && outcome != EDIT_REPLACED)
                return;
        PROMISE(format->set(entry, change.text.data, change.text.length, false, &again, &e) == EDIT_UNCHANGED);
        if (format == &client_config_json)
                check_json(text, change.text.data);
        else if (outcome == EDIT_ADDED)
                PROMISE(strncmp(change.text.data, text, size) == 0);
        check_removal(format, entry, text, &change.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FREE char *text = fuzz_string(data, size);
        CLEANUP_JSON json_t *value = json_pack("{s:s, s:[s,s]}", "command", "/bin/\xc3\xa4\"", "args", "mcp", "a\n\\b");
        PROMISE(text && value);
        const struct client_entry entry = { section, name, value };
        const struct client_config_format *format =
                text[strspn(text, " \t\r\n")] == '{' ? &client_config_json : &client_config_toml;
        check_change(format, &entry, text, size, false);
        check_change(format, &entry, text, size, true);
        check_switches(format, text, size);
        return 0;
}
