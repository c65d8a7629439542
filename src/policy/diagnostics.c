/*
 * Messages; see diagnostics.h. They are kept in an arena of their own, in the order in which they were added; printing
 * sorts them by place within each input. A hostile input controls every text here, so all texts are printed through
 * text_add_escaped().
 */
#include "policy/diagnostics.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"

struct input {
        const char *name;
        const char *text;
        size_t length;
};

struct message {
        enum diagnostic_kind kind;
        struct source from;
        const char *text, *hint;
        size_t order;
};

struct diagnostics {
        struct arena *arena;
        struct input *inputs;
        size_t input_count;
        struct message *list;
        size_t count;
        size_t total[3]; /* per kind, including those beyond the cap */
};

struct diagnostics *diagnostics_new(void)
{
        struct diagnostics *m = calloc(1, sizeof *m);
        if (!m)
                return NULL;
        m->arena = arena_new(ARENA_BYTES_MAX);
        if (!m->arena) {
                free(m);
                return NULL;
        }
        return m;
}

void diagnostics_free(struct diagnostics *m)
{
        if (!m)
                return;
        arena_free(m->arena);
        free(m);
}

int diagnostics_add_input(struct diagnostics *m, const char *name, const char *text, size_t length)
{
        struct input input = {
                .name = arena_strdup(m->arena, name),
                .text = arena_strndup(m->arena, text, length),
                .length = length,
        };
        if (!input.name || !input.text)
                return -ENOMEM;
        struct input *slot = arena_array_push(m->arena, &m->inputs, &m->input_count, sizeof *slot);
        if (!slot)
                return -ENOMEM;
        *slot = input;
        return 0;
}

/* Two checks often find the same mistake; the same message about the same place is kept once. */
static bool is_repeated(const struct diagnostics *m, const struct message *new)
{
        for (size_t i = 0; i < m->count; i++) {
                const struct message *old = &m->list[i];
                if (old->kind == new->kind && old->from.line == new->from.line &&
                    old->from.column == new->from.column &&strcmp(old->from.name, new->from.name) == 0 &&
                    strcmp(old->text, new->text) == 0)
                        return true;
        }
        return false;
}

/* A slot for one more message. If the list is full, an error replaces the last message that is not an error. */
static struct message *find_slot(struct diagnostics *m, enum diagnostic_kind kind)
{
        if (m->count < POLICY_MESSAGES_MAX)
                return arena_array_push(m->arena, &m->list, &m->count, sizeof *m->list);
        for (size_t i = m->count; i-- > 0 && kind == DIAGNOSTIC_ERROR;)
                if (m->list[i].kind != DIAGNOSTIC_ERROR)
                        return &m->list[i];
        return NULL;
}

void diagnostic_add(struct diagnostics *m, enum diagnostic_kind kind, struct source from, const char *hint,
                    const char *format, ...)
{
        char text[1024];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        text_remove_invalid_utf8(text);
        struct message new = {
                .kind = kind,
                .from = from,
                .text = arena_strdup(m->arena, text),
                .order = m->total[DIAGNOSTIC_ERROR] + m->total[DIAGNOSTIC_WARNING] + m->total[DIAGNOSTIC_NOTE],
        };
        if (hint) {
                char *copy = arena_strdup(m->arena, hint);
                if (copy)
                        text_remove_invalid_utf8(copy);
                new.hint = copy;
        }
        new.from.name = arena_strdup(m->arena, from.name ? from.name : "");
        if (new.text && new.from.name && is_repeated(m, &new))
                return;
        struct message *slot = new.text && new.from.name ? find_slot(m, kind) : NULL;
        if (slot)
                *slot = new;
        m->total[kind]++;
}

size_t diagnostics_count(const struct diagnostics *m, enum diagnostic_kind kind)
{
        return m->total[kind];
}

bool source_is_default(struct source from)
{
        return !from.line && strcmp(from.name, SOURCE_DEFAULT) == 0;
}

void source_print(struct source from, struct text *out)
{
        text_add_escaped(out, from.name, strlen(from.name));
        if (from.line)
                text_format(out, ":%u:%u", from.line, from.column);
}

int error_not_enforceable(struct source from, const char *what, struct error *e)
{
        CLEANUP_TEXT struct text source = { 0 };
        source_print(from, &source);
        return error_set(e, ENOTSUP, "refused: %s (%s)", what, source.data ? source.data : "");
}

static const struct input *find_input(const struct diagnostics *m, const char *name)
{
        for (size_t i = 0; i < m->input_count; i++)
                if (strcmp(m->inputs[i].name, name) == 0)
                        return &m->inputs[i];
        return NULL;
}

static bool find_line(const struct input *in, unsigned line, const char **ret_start, size_t *ret_length)
{
        const char *p = in->text, *end = in->text + in->length;
        for (unsigned n = 1; n < line; n++) {
                p = memchr(p, '\n', (size_t)(end - p));
                if (!p)
                        return false;
                p++;
        }
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        *ret_start = p;
        *ret_length = (size_t)((stop ? stop : end) - p);
        if (*ret_length && p[*ret_length - 1] == '\r')
                --*ret_length;
        return true;
}

/* Prints the source line and a caret below it. Of a long line, the part around the place is shown. */
static void print_line(const struct diagnostics *m, struct source from, struct text *out)
{
        const struct input *in = from.line ? find_input(m, from.name) : NULL;
        const char *line = NULL;
        size_t length = 0;
        if (!in || !find_line(in, from.line, &line, &length))
                return;
        size_t at = 0;
        for (unsigned column = 1; column < from.column && at < length; column++)
                at += text_utf8_sequence_length(line + at, length - at);
        size_t first = 0;
        if (at > POLICY_LINE_SHOWN_MAX - 20) {
                first = at - 40;
                while (first < at && ((unsigned char)line[first] & 0xc0U) == 0x80)
                        first++;
        }
        size_t shown = length - first > POLICY_LINE_SHOWN_MAX ? POLICY_LINE_SHOWN_MAX : length - first;
        CLEANUP_TEXT struct text visible = { 0 }, before = { 0 };
        text_add_escaped(&visible, line + first, shown);
        text_add_escaped(&before, line + first, at - first);
        size_t width = 0;
        for (size_t i = 0; i < before.length; width++)
                i += text_utf8_sequence_length(before.data + i, before.length - i);
        text_format(out, "%6u | %s%s\n", from.line, visible.data ? visible.data : "",
                    first + shown < length ? "…" : "");
        text_format(out, "       | %*s^\n", (int)width, "");
}

static int compare_places(const void *a, const void *b)
{
        const struct message *x = *(const struct message *const *)a, *y = *(const struct message *const *)b;
        if (strcmp(x->from.name, y->from.name) == 0) {
                if (x->from.line != y->from.line)
                        return x->from.line < y->from.line ? -1 : 1;
                if (x->from.column != y->from.column)
                        return x->from.column < y->from.column ? -1 : 1;
        }
        return x->order < y->order ? -1 : x->order > y->order;
}

/* The messages grouped by input in the order of first mention, by place in each; NULL if out of memory. */
static const struct message **sort_messages(const struct diagnostics *m)
{
        const struct message **all = calloc(m->count + 1, sizeof(*all));
        if (!all)
                return NULL;
        size_t n = 0;
        for (size_t i = 0; i < m->count; i++) {
                size_t start = n;
                for (size_t j = 0; j < n; j++)
                        if (strcmp(all[j]->from.name, m->list[i].from.name) == 0)
                                start = SIZE_MAX;
                if (start == SIZE_MAX)
                        continue;
                for (size_t j = i; j < m->count; j++)
                        if (strcmp(m->list[j].from.name, m->list[i].from.name) == 0)
                                all[n++] = &m->list[j];
                qsort(all + start, n - start, sizeof(*all), compare_places);
        }
        return all;
}

static const struct {
        const char *word, *colour;
} kinds[] = {
        [DIAGNOSTIC_ERROR] = { "error", "\033[1;31m" },
        [DIAGNOSTIC_WARNING] = { "warning", "\033[1;35m" },
        [DIAGNOSTIC_NOTE] = { "note", "\033[1;36m" },
};

void diagnostics_print(const struct diagnostics *m, struct text *out, bool colour)
{
        const struct message **all = sort_messages(m);
        if (!all) {
                out->failed = true;
                return;
        }
        for (size_t i = 0; i < m->count; i++) {
                if (*all[i]->from.name) {
                        source_print(all[i]->from, out);
                        text_add(out, ": ");
                }
                text_format(out, "%s%s:%s ", colour ? kinds[all[i]->kind].colour : "", kinds[all[i]->kind].word,
                            colour ? "\033[0m" : "");
                text_add_escaped(out, all[i]->text, strlen(all[i]->text));
                text_add(out, "\n");
                print_line(m, all[i]->from, out);
                if (all[i]->hint) {
                        text_add(out, "       = ");
                        text_add_escaped(out, all[i]->hint, strlen(all[i]->hint));
                        text_add(out, "\n");
                }
        }
        free(all);
        size_t total = m->total[DIAGNOSTIC_ERROR] + m->total[DIAGNOSTIC_WARNING] + m->total[DIAGNOSTIC_NOTE];
        if (total > m->count)
                text_format(out, "and %zu more\n", total - m->count);
}

json_t *diagnostics_to_json(const struct diagnostics *m)
{
        const struct message **all = sort_messages(m);
        json_t *array = json_array();
        for (size_t i = 0; all && array && i < m->count; i++) {
                const struct message *one = all[i];
                CLEANUP_TEXT struct text name = { 0 };
                text_add_escaped(&name, one->from.name, strlen(one->from.name));
                json_t *o = json_pack("{s:s, s:s, s:s}", "severity", kinds[one->kind].word, "file",
                                      name.data ? name.data : "", "message", one->text);
                if (one->from.line) {
                        json_object_set_new(o, "line", json_integer(one->from.line));
                        json_object_set_new(o, "column", json_integer(one->from.column));
                }
                if (one->hint)
                        json_object_set_new(o, "hint", json_string(one->hint));
                if (json_array_append_new(array, o) < 0) {
                        json_decref(array);
                        array = NULL;
                }
        }
        free(all);
        return array;
}
