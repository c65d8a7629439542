/*
 * JSON with limits. A parsed value is written and parsed again as the same value, in both layouts; the depth that is
 * checked before parsing is the depth of the value; an error has a position inside the text and a printable message.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

enum { DEPTH_MAX = 64 };

static size_t depth_of(const json_t *value)
{
        size_t deepest = 0, i = 0;
        const char *key = NULL;
        json_t *member = NULL;
        if (!json_is_object(value) && !json_is_array(value))
                return 0;
        json_object_foreach((json_t *)(uintptr_t)value, key, member) {
                size_t depth = depth_of(member);
                deepest = depth > deepest ? depth : deepest;
        }
        json_array_foreach(value, i, member) {
                size_t depth = depth_of(member);
                deepest = depth > deepest ? depth : deepest;
        }
        return deepest + 1;
}

static void check_depth(const char *text, size_t size, const json_t *value)
{
        size_t depth = depth_of(value);
        PROMISE(depth <= DEPTH_MAX);
        CLEANUP_JSON json_t *parsed = NULL, *too_deep = NULL;
        PROMISE(json_parse_bounded(text, size, size, depth, &parsed, NULL, NULL, NULL) == 0);
        if (depth > 0)
                PROMISE(json_parse_bounded(text, size, size, depth - 1, &too_deep, NULL, NULL, NULL) == -ELOOP);
        if (size > 0)
                PROMISE(json_parse_bounded(text, size, size - 1, depth, &too_deep, NULL, NULL, NULL) == -EFBIG);
        PROMISE(!too_deep);
}

static void check_written(const json_t *value, bool pretty)
{
        CLEANUP_TEXT struct text first = { 0 }, second = { 0 };
        CLEANUP_JSON json_t *back = NULL;
        PROMISE(json_write(value, &first, pretty) == 0);
        PROMISE(pretty || !memchr(first.data, '\n', first.length));
        PROMISE(json_parse_bounded(first.data, first.length, first.length, DEPTH_MAX, &back, NULL, NULL, NULL) == 0);
        PROMISE(json_equal(value, back));
        PROMISE(json_write(back, &second, pretty) == 0);
        PROMISE(strcmp(first.data, second.data) == 0);
}

static void check_error(const char *text, size_t size, int returned, const struct error *e, unsigned line,
                        unsigned column)
{
        unsigned lines = 1;
        for (size_t i = 0; i < size; i++)
                lines += text[i] == '\n';
        PROMISE(returned == -EINVAL || returned == -ELOOP);
        PROMISE(e->code == -returned && *e->text);
        promise_printable(e->text);
        PROMISE(!strchr(e->text, '\n'));
        PROMISE(line >= 1 && line <= lines);
        PROMISE(column >= 1 && column <= size + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        CLEANUP_JSON json_t *value = NULL;
        struct error e = { 0 };
        unsigned line = 0, column = 0;
        int r = json_parse_bounded(text, size, size, DEPTH_MAX, &value, &e, &line, &column);
        if (r) {
                PROMISE(!value);
                check_error(text, size, r, &e, line, column);
                return 0;
        }
        PROMISE(value && line == 0 && column == 0 && e.code == 0);
        check_depth(text, size, value);
        check_written(value, false);
        check_written(value, true);
        return 0;
}
