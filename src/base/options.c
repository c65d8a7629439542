/*
 * Options; see options.h. The parser walks argv once. Every option, long or short, is added by add_occurrence(), which
 * checks what applies to all of them: given once, not empty, one of the words. The arguments are untrusted, so messages
 * show them escaped and shortened.
 */
#include "base/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct option_row help_row = {
        .id = OPTIONS_HELP_ID, .letter = 'h', .name = "help", .help = "Show this help.",
};

static const struct option_row *table_row_at(const struct options_table *table, size_t index)
{
        if (table->row_at)
                return table->row_at(index);
        return index < table->count ? &table->rows[index] : NULL;
}

const struct option_row *options_row_at(const struct options_verb *verb, size_t index)
{
        for (size_t i = 0; i < OPTIONS_TABLES_MAX && verb->tables[i]; i++) {
                const struct options_table *table = verb->tables[i];
                size_t count = 0;
                for (const struct option_row *row; (row = table_row_at(table, count)); count++)
                        if (count == index)
                                return row;
                index -= count;
        }
        return index == 0 ? &help_row : NULL;
}

size_t options_split_words(const char *placeholder, struct options_word words[OPTIONS_WORDS_MAX])
{
        size_t count = 0;
        for (const char *start = placeholder; count < OPTIONS_WORDS_MAX; count++) {
                const char *end = strchrnul(start, '|');
                words[count] = (struct options_word){ start, (size_t)(end - start) };
                if (!*end)
                        return count + 1;
                start = end + 1;
        }
        return count;
}

/* --- parsing --- */

struct parser {
        struct options_result *result;
        struct error *error;
        int next; /* index of the next argument */
};

/* An argument for a message: escaped, and truncated between two characters. */
struct escaped {
        char text[96];
};

static struct escaped escape_argument(const char *argument, size_t length)
{
        enum { SHOWN_MAX = 60 };
        struct escaped s = { .text = "?" };
        CLEANUP_TEXT struct text t = { 0 };
        size_t i = 0;
        while (i < length && t.length < SHOWN_MAX && !t.failed) {
                size_t step = text_utf8_sequence_length(argument + i, length - i);
                text_add_escaped(&t, argument + i, step);
                i += step;
        }
        if (!t.failed)
                (void)snprintf(s.text, sizeof s.text, "%s%s", t.data ? t.data : "", i < length ? "..." : "");
        return s;
}

static const struct option_row *find_row_by_name(const struct options_verb *verb, const char *name, size_t length)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
                        return row;
        return NULL;
}

static const struct option_row *find_row_by_letter(const struct options_verb *verb, char letter)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (row->letter == letter)
                        return row;
        return NULL;
}

static int report_unknown_name(struct parser *p, const char *name, size_t length)
{
        const char *names[OPTIONS_ROWS_MAX];
        const struct option_row *row;
        size_t count = 0;
        for (; count < OPTIONS_ROWS_MAX && (row = options_row_at(p->result->verb, count)); count++)
                names[count] = row->name;

        struct escaped escaped = escape_argument(name, length);
        const char *nearest = text_suggest(escaped.text, names, count);
        if (nearest)
                return error_set(p->error, EINVAL, "unknown option '--%s'; did you mean '--%s'?", escaped.text,
                                 nearest);
        return error_set(p->error, EINVAL, "unknown option '--%s'", escaped.text);
}

static int check_value(struct parser *p, const struct option_row *row, const char *value)
{
        if (!*value)
                return error_set(p->error, EINVAL, "option '--%s' needs %s, but its value is empty", row->name,
                                 row->placeholder);
        if (row->kind != OPTION_WORDS)
                return 0;
        struct options_word words[OPTIONS_WORDS_MAX];
        size_t count = options_split_words(row->placeholder, words);
        for (size_t i = 0; i < count; i++)
                if (strlen(value) == words[i].length && memcmp(value, words[i].start, words[i].length) == 0)
                        return 0;
        return error_set(p->error, EINVAL, "option '--%s' takes %s, not '%s'", row->name, row->placeholder,
                         escape_argument(value, strlen(value)).text);
}

static int add_occurrence(struct parser *p, const struct option_row *row, const char *value, int index)
{
        struct options_result *r = p->result;
        if (row->id == OPTIONS_HELP_ID)
                return OPTIONS_HELP;
        if (!row->repeatable && options_has(r, row->id))
                return error_set(p->error, EINVAL, "option '--%s' is given twice", row->name);
        if (value) {
                int error = check_value(p, row, value);
                if (error < 0)
                        return error;
        }
        if (r->use_count >= OPTIONS_OCCURRENCES_MAX)
                return error_set(p->error, E2BIG, "more than %d options", OPTIONS_OCCURRENCES_MAX);
        struct option_occurrence *use = arena_array_push(r->arena, &r->uses, &r->use_count, sizeof *use);
        if (!use)
                return error_errno(p->error, ENOMEM, "cannot store the options");
        *use = (struct option_occurrence){ .row = row, .value = value, .index = index };
        return 0;
}

/* The argument after an option that needs a value. */
static int take_value(struct parser *p, const struct option_row *row, const char **ret)
{
        if (p->next >= p->result->argc)
                return error_set(p->error, EINVAL, "option '--%s' needs %s", row->name, row->placeholder);
        *ret = p->result->argv[p->next++];
        return 0;
}

/* --name, --name=value, --name value */
static int parse_name(struct parser *p, const char *argument)
{
        const char *name = argument + 2, *end = strchrnul(name, '=');
        const struct option_row *row = find_row_by_name(p->result->verb, name, (size_t)(end - name));
        if (!row)
                return report_unknown_name(p, name, (size_t)(end - name));
        if (!row->placeholder && *end)
                return error_set(p->error, EINVAL, "option '--%s' takes no value", row->name);

        int index = p->next - 1;
        const char *value = *end ? end + 1 : NULL;
        if (row->placeholder && !value) {
                int error = take_value(p, row, &value);
                if (error < 0)
                        return error;
        }
        return add_occurrence(p, row, value, index);
}

/* -a, -ab, -pvalue, -p value */
static int parse_letters(struct parser *p, const char *argument)
{
        int index = p->next - 1;
        for (const char *c = argument + 1; *c; c++) {
                const struct option_row *row = find_row_by_letter(p->result->verb, *c);
                if (!row)
                        return error_set(p->error, EINVAL, "unknown option '-%s'",
                                         escape_argument(c, text_utf8_sequence_length(c, strlen(c))).text);
                const char *value = row->placeholder && c[1] ? c + 1 : NULL;
                int error = row->placeholder && !value ? take_value(p, row, &value) : 0;
                if (error == 0)
                        error = add_occurrence(p, row, value, index);
                if (error != 0 || value)
                        return error;
        }
        return 0;
}

static int add_positional(struct parser *p, char *argument)
{
        struct options_result *r = p->result;
        if (r->positional_count >= r->verb->positionals_max)
                return error_set(p->error, EINVAL, "unexpected argument '%s'",
                                 escape_argument(argument, strlen(argument)).text);
        if (r->positional_count >= OPTIONS_POSITIONALS_MAX)
                return error_set(p->error, E2BIG, "more than %d arguments", OPTIONS_POSITIONALS_MAX);
        r->positionals[r->positional_count++] = argument;
        return 0;
}

static int parse_all(struct parser *p)
{
        const struct options_result *r = p->result;
        bool options_ended = false;
        while (p->next < r->argc) {
                char *argument = r->argv[p->next++];
                int error;
                if (options_ended || argument[0] != '-' || !argument[1]) {
                        options_ended = options_ended || r->verb->stops_at_positional;
                        error = add_positional(p, argument);
                } else if (argument[1] != '-') {
                        error = parse_letters(p, argument);
                } else if (argument[2]) {
                        error = parse_name(p, argument);
                } else {
                        options_ended = true;
                        continue;
                }
                if (error != 0)
                        return error;
        }
        if (r->positional_count < r->verb->positionals_min)
                return error_set(p->error, EINVAL, "%s is missing", r->verb->synopsis);
        return 0;
}

int options_parse(const struct options_verb *verb, int argc, char **argv, int first, struct options_result *result,
                  struct error *e)
{
        *result = (struct options_result){ .verb = verb, .argc = argc, .argv = argv, .first = first };
        size_t slots = (argc > first ? (size_t)(argc - first) : 0) + 1;
        /* Room for both lists. The array of occurrences doubles when it is full: all its copies take twice its size. */
        size_t cap = slots * sizeof(char *) + 2 * OPTIONS_OCCURRENCES_MAX * sizeof(struct option_occurrence) + 4096;
        result->arena = arena_new(cap);
        result->positionals = arena_alloc(result->arena, slots * sizeof(char *));
        if (!result->positionals)
                return error_errno(e, ENOMEM, "cannot store the arguments");
        struct parser parser = { .result = result, .error = e, .next = first };
        return parse_all(&parser);
}

void options_done(struct options_result *result)
{
        arena_free(result->arena);
        *result = (struct options_result){ 0 };
}

/* --- lookup --- */

const struct option_occurrence *options_next(const struct options_result *result, int id,
                                             const struct option_occurrence *after)
{
        size_t i = after ? (size_t)(after - result->uses) + 1 : 0;
        for (; i < result->use_count; i++)
                if (result->uses[i].row->id == id)
                        return &result->uses[i];
        return NULL;
}

bool options_has(const struct options_result *result, int id)
{
        return options_next(result, id, NULL) != NULL;
}

const char *options_value(const struct options_result *result, int id)
{
        const char *value = NULL;
        for (const struct option_occurrence *use = NULL; (use = options_next(result, id, use));)
                value = use->value;
        return value;
}

/* --- help --- */

enum { HELP_COLUMN = 29, EXAMPLE_INDENT = 6 };

/* Adds prose, wrapped: the first line starts at `column`, further lines are indented. Ends with a newline. */
static void add_wrapped(struct text *t, const char *prose, size_t column, size_t indent)
{
        bool line_is_empty = true;
        while (*(prose += strspn(prose, " "))) {
                size_t length = strcspn(prose, " ");
                if (!line_is_empty && column + 1 + length > OPTIONS_WIDTH) {
                        text_format(t, "\n%*s", (int)indent, "");
                        column = indent;
                        line_is_empty = true;
                }
                text_add(t, line_is_empty ? "" : " ");
                text_add_bytes(t, prose, length);
                column += length + !line_is_empty;
                line_is_empty = false;
                prose += length;
        }
        text_add(t, "\n");
}

static void add_heading(struct text *t, const char *heading, bool styled)
{
        text_format(t, "\n%s%s:%s\n", styled ? "\033[1m" : "", heading, styled ? "\033[0m" : "");
}

static void add_row(struct text *t, const struct option_row *row)
{
        size_t start = t->length;
        if (row->letter)
                text_format(t, "  -%c, --%s", row->letter, row->name);
        else
                text_format(t, "      --%s", row->name);
        if (row->placeholder)
                text_format(t, " %s", row->placeholder);
        size_t column = t->length - start;
        if (column + 2 > HELP_COLUMN) {
                text_add(t, "\n");
                column = 0;
        }
        text_format(t, "%*s", (int)(HELP_COLUMN - column), "");

        CLEANUP_TEXT struct text help = { 0 };
        text_format(&help, "%s%s", row->help, row->repeatable ? " May be repeated." : "");
        add_wrapped(t, help.data ? help.data : row->help, HELP_COLUMN, HELP_COLUMN);
}

static bool same_group(const struct option_row *a, const struct option_row *b)
{
        return a->group && b->group ? strcmp(a->group, b->group) == 0 : a->group == b->group;
}

/* Adds the heading of the row at `first` and all rows of its group, unless an earlier row has the same heading. */
static void add_group(struct text *t, const struct options_verb *verb, size_t first, bool styled)
{
        const struct option_row *row = options_row_at(verb, first);
        for (size_t i = 0; i < first; i++)
                if (same_group(options_row_at(verb, i), row))
                        return;
        add_heading(t, row->group ? row->group : "Options", styled);
        const struct option_row *other;
        for (size_t i = first; (other = options_row_at(verb, i)); i++)
                if (same_group(other, row))
                        add_row(t, other);
}

static void add_rows(struct text *t, const struct options_verb *verb, bool styled)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (row->group)
                        add_group(t, verb, i, styled);
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (!row->group)
                        add_group(t, verb, i, styled);
}

void options_add_usage(struct text *t, const struct options_verb *verb, const char *program)
{
        text_format(t, "usage: %s %s [OPTION...]", program, verb->path);
        if (verb->synopsis)
                text_format(t, " %s", verb->synopsis);
}

void options_add_help(struct text *t, const struct options_verb *verb, const char *program, bool styled)
{
        options_add_usage(t, verb, program);
        text_format(t, "\n\n%s.\n", verb->summary);
        for (const char *const *p = verb->description; p && *p; p++) {
                text_add(t, "\n");
                add_wrapped(t, *p, 0, 0);
        }
        add_rows(t, verb, styled);
        if (!verb->examples)
                return;
        add_heading(t, "Examples", styled);
        for (const struct options_example *x = verb->examples; x->command; x++) {
                text_format(t, "  %s\n%*s", x->command, EXAMPLE_INDENT, "");
                add_wrapped(t, x->meaning, EXAMPLE_INDENT, EXAMPLE_INDENT);
        }
}
