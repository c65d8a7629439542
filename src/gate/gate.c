/* The gate; see gate.h. */
#include "gate/gate.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "gate/denylist.h"
#include "policy/url_filter.h"

/* --- before a call --- */

static bool refuse_command(const struct gate *g, const char *command, struct text *ret_why)
{
        struct denied_call found;
        if (!denylist_check(command, g->plan->denied_commands, g->plan->denied_command_count, &found))
                return false;
        denylist_explain(&found, ret_why);
        return true;
}

static bool refuse_url(const struct gate *g, const char *text, struct text *ret_why)
{
        struct error e = { 0 };
        struct url url;
        if (url_parse(text, g->to_ascii, &url, &e) == 0)
                return false;
        text_add(ret_why, e.text);
        return true;
}

bool gate_check_call(const struct gate *g, const char *tool, const json_t *arguments, struct text *ret_why)
{
        static const struct {
                const char *tool, *parameter;
                bool (*refuse)(const struct gate *g, const char *value, struct text *ret_why);
        } checks[] = {
                { "Bash", "command", refuse_command },
                { "WebFetch", "url", refuse_url },
        };
        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                const char *value = json_string_value(json_object_get(arguments, checks[i].parameter));
                if (value && strcmp(checks[i].tool, tool) == 0 && checks[i].refuse(g, value, ret_why))
                        return true;
        }
        return false;
}

/* --- after a call --- */

static bool scrub_string(const struct gate *g, json_t *string)
{
        CLEANUP_TEXT struct text text = { 0 };
        text_add_bytes(&text, json_string_value(string), json_string_length(string));
        return !text.failed && scrub_text(g->scrubber, &text) == 0 &&
               json_string_setn(string, text.data ? text.data : "", text.length) == 0;
}

/* The recursion is bounded: answers of the tools are parsed with JSON_DEPTH_MAX. */
static bool scrub_value(const struct gate *g, json_t *value)
{
        const char *type = json_string_value(json_object_get(value, "type")), *key;
        bool is_image = type && strcmp(type, "image") == 0;
        json_t *part;
        size_t i;
        bool ok = !json_is_string(value) || scrub_string(g, value);
        json_object_foreach(value, key, part) ok =
                ok && ((is_image && strcmp(key, "data") == 0) || strcmp(key, "type") == 0 || scrub_value(g, part));
        json_array_foreach (value, i, part)
                ok = ok && scrub_value(g, part);
        return ok;
}

json_t *gate_scrub_result(const struct gate *g, json_t *value, bool *ret_failed)
{
        *ret_failed = !scrub_value(g, value);
        return scrubber_take_counts(g->scrubber);
}
