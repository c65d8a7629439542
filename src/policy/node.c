/* Code that both parsers share; see node.h. */
#include "policy/node.h"

#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"

bool node_add(struct arena *a, struct node *parent, const char *key, struct source key_place, struct node *item)
{
        size_t count = parent->count;
        if (parent->kind == NODE_MAP) {
                size_t names = count, places = count;
                const char **name = arena_array_push(a, &parent->names, &names, sizeof *name);
                struct source *place = arena_array_push(a, &parent->name_places, &places, sizeof *place);
                if (!name || !place)
                        return false;
                *name = key;
                *place = key_place;
        }
        struct node **slot = arena_array_push(a, &parent->items, &parent->count, sizeof(*slot));
        if (!slot)
                return false;
        *slot = item;
        parent->weight += item->weight;
        return true;
}

const struct node *node_get(const struct node *map, const char *name)
{
        for (size_t i = 0; map && map->kind == NODE_MAP && i < map->count; i++)
                if (strcmp(map->names[i], name) == 0)
                        return map->items[i];
        return NULL;
}

const char *node_describe(const struct node *n, char *buffer, size_t size)
{
        if (n->kind == NODE_LIST)
                return "a list";
        if (n->kind == NODE_MAP)
                return "a map";
        if (n->scalar == SCALAR_NULL)
                return "nothing";
        (void)snprintf(buffer, size, "'%.60s%s'", n->text, strlen(n->text) > 60 ? "…" : "");
        return buffer;
}

struct source node_position(const char *name, const char *text, size_t offset)
{
        struct source from = { .name = name, .line = 1, .column = 1 };
        for (size_t i = 0; i < offset;) {
                if (text[i] == '\n') {
                        from.line++;
                        from.column = 1;
                        i++;
                        continue;
                }
                from.column++;
                i += text_utf8_sequence_length(text + i, offset - i);
        }
        return from;
}

/* Offset of a U+0085, U+2028, U+2029 or a carriage return without a newline; length if there is none. */
static size_t find_odd_break(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                const unsigned char *s = (const unsigned char *)text + i;
                if (*s == '\r' && (i + 1 == length || s[1] != '\n'))
                        return i;
                if (*s == 0xc2 && s[1] == 0x85)
                        return i;
                if (*s == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
                        return i;
        }
        return length;
}

int node_check_text(const char *name, const char *text, size_t length, struct diagnostics *m)
{
        if (length > POLICY_FILE_BYTES_MAX) {
                char hint[80];
                (void)snprintf(hint, sizeof hint, "a policy file may have at most %d bytes", POLICY_FILE_BYTES_MAX);
                diagnostic_error(m, (struct source){ .name = name }, hint, "the file is too large (%zu bytes)", length);
                return 1;
        }
        const char *nul = memchr(text, '\0', length);
        if (nul) {
                diagnostic_error(m, node_position(name, text, (size_t)(nul - text)), "a policy is text in UTF-8",
                                 "the file has a NUL byte");
                return 1;
        }
        size_t valid = text_utf8_valid_length(text, length);
        if (valid < length) {
                diagnostic_error(m, node_position(name, text, valid), "a policy is text in UTF-8",
                                 "byte 0x%02x is not valid UTF-8", (unsigned char)text[valid]);
                return 1;
        }
        size_t odd = find_odd_break(text, length);
        if (odd < length) {
                diagnostic_error(m, node_position(name, text, odd), "end lines with a newline",
                                 "this character ends a line for some programs and not for others");
                return 1;
        }
        return 0;
}
