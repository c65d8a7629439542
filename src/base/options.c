/*
 * Options; see options.h. The parser walks argv once. Every option, long or short, ends in use_add, where the rules
 * that hold for all of them are: given once, not empty, one of the words. The arguments may come from anywhere, so a
 * message shows them escaped and shortened.
 */
#include "base/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char stage[] = "options";

static const struct option_row help_row = {
        .id = OPTIONS_HELP_ID, .letter = 'h', .name = "help", .help = "Show this help.",
};

const struct option_row *options_row_at(const struct options_verb *verb, size_t index)
{
        for (size_t i = 0; i < OPTIONS_TABLES_MAX && verb->tables[i]; i++) {
                if (index < verb->tables[i]->count)
                        return &verb->tables[i]->rows[index];
                index -= verb->tables[i]->count;
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
        int next; /* index of the argument that comes next */
};

/* An argument made fit for a message: escaped, and cut between two characters. */
struct shown {
        char text[96];
};

static struct shown show(const char *argument, size_t length)
{
        enum { LONGEST = 60 };
        struct shown s = { .text = "?" };
        CLEANUP_TEXT struct text t = { 0 };
        size_t i = 0;
        while (i < length && t.length < LONGEST && !t.failed) {
                size_t step = text_utf8_step(argument + i, length - i);
                text_add_visible(&t, argument + i, step);
                i += step;
        }
        if (!t.failed)
                (void)snprintf(s.text, sizeof s.text, "%s%s", t.data ? t.data : "", i < length ? "..." : "");
        return s;
}

static const struct option_row *row_by_name(const struct options_verb *verb, const char *name, size_t length)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
                        return row;
        return NULL;
}

static const struct option_row *row_by_letter(const struct options_verb *verb, char letter)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                if (row->letter == letter)
                        return row;
        return NULL;
}

static int unknown_name(struct parser *p, const char *name, size_t length)
{
        const char *names[OPTIONS_ROWS_MAX];
        const struct option_row *row;
        size_t count = 0;
        for (; count < OPTIONS_ROWS_MAX && (row = options_row_at(p->result->verb, count)); count++)
                names[count] = row->name;

        struct shown shown = show(name, length);
        const char *nearest = text_nearest(shown.text, names, count);
        if (nearest)
                return error_set(p->error, EINVAL, stage, "unknown option '--%s'; did you mean '--%s'?", shown.text,
                                 nearest);
        return error_set(p->error, EINVAL, stage, "unknown option '--%s'", shown.text);
}

static int check_value(struct parser *p, const struct option_row *row, const char *value)
{
        if (!*value)
                return error_set(p->error, EINVAL, stage, "option '--%s' needs %s, but its value is empty", row->name,
                                 row->placeholder);
        if (row->kind != OPTION_WORDS)
                return 0;
        struct options_word words[OPTIONS_WORDS_MAX];
        size_t count = options_split_words(row->placeholder, words);
        for (size_t i = 0; i < count; i++)
                if (strlen(value) == words[i].length && memcmp(value, words[i].start, words[i].length) == 0)
                        return 0;
        return error_set(p->error, EINVAL, stage, "option '--%s' takes %s, not '%s'", row->name, row->placeholder,
                         show(value, strlen(value)).text);
}

static int use_add(struct parser *p, const struct option_row *row, const char *value, int index)
{
        struct options_result *r = p->result;
        if (row->id == OPTIONS_HELP_ID)
                return OPTIONS_HELP;
        if (!row->repeatable && options_has(r, row->id))
                return error_set(p->error, EINVAL, stage, "option '--%s' is given twice", row->name);
        if (value) {
                int error = check_value(p, row, value);
                if (error < 0)
                        return error;
        }
        if (r->use_count >= OPTIONS_USES_MAX)
                return error_set(p->error, E2BIG, stage, "more than %d options", OPTIONS_USES_MAX);
        struct option_use *use = arena_array_add(r->arena, &r->uses, &r->use_count, sizeof *use);
        if (!use)
                return error_errno(p->error, ENOMEM, stage, "cannot store the options");
        *use = (struct option_use){ .row = row, .value = value, .index = index };
        return 0;
}

/* The argument behind an option that needs one. */
static int take_value(struct parser *p, const struct option_row *row, const char **ret)
{
        if (p->next >= p->result->argc)
                return error_set(p->error, EINVAL, stage, "option '--%s' needs %s", row->name, row->placeholder);
        *ret = p->result->argv[p->next++];
        return 0;
}

/* --name, --name=value, --name value */
static int parse_name(struct parser *p, const char *argument)
{
        const char *name = argument + 2, *end = strchrnul(name, '=');
        const struct option_row *row = row_by_name(p->result->verb, name, (size_t)(end - name));
        if (!row)
                return unknown_name(p, name, (size_t)(end - name));
        if (!row->placeholder && *end)
                return error_set(p->error, EINVAL, stage, "option '--%s' takes no value", row->name);

        int index = p->next - 1;
        const char *value = *end ? end + 1 : NULL;
        if (row->placeholder && !value) {
                int error = take_value(p, row, &value);
                if (error < 0)
                        return error;
        }
        return use_add(p, row, value, index);
}

/* -a, -ab, -pvalue, -p value */
static int parse_letters(struct parser *p, const char *argument)
{
        int index = p->next - 1;
        for (const char *c = argument + 1; *c; c++) {
                const struct option_row *row = row_by_letter(p->result->verb, *c);
                if (!row)
                        return error_set(p->error, EINVAL, stage, "unknown option '-%s'",
                                         show(c, text_utf8_step(c, strlen(c))).text);
                const char *value = row->placeholder && c[1] ? c + 1 : NULL;
                int error = row->placeholder && !value ? take_value(p, row, &value) : 0;
                if (error == 0)
                        error = use_add(p, row, value, index);
                if (error != 0 || value)
                        return error;
        }
        return 0;
}

static int positional_add(struct parser *p, char *argument)
{
        struct options_result *r = p->result;
        if (r->positional_count >= r->verb->positionals_max)
                return error_set(p->error, EINVAL, stage, "unexpected argument '%s'",
                                 show(argument, strlen(argument)).text);
        if (r->positional_count >= OPTIONS_POSITIONALS_MAX)
                return error_set(p->error, E2BIG, stage, "more than %d arguments", OPTIONS_POSITIONALS_MAX);
        r->positionals[r->positional_count++] = argument;
        return 0;
}

static int parse_all(struct parser *p)
{
        const struct options_result *r = p->result;
        bool ended = false;
        while (p->next < r->argc) {
                char *argument = r->argv[p->next++];
                int error;
                if (ended || argument[0] != '-' || !argument[1]) {
                        ended = ended || r->verb->stops;
                        error = positional_add(p, argument);
                } else if (argument[1] != '-') {
                        error = parse_letters(p, argument);
                } else if (argument[2]) {
                        error = parse_name(p, argument);
                } else {
                        ended = true;
                        continue;
                }
                if (error != 0)
                        return error;
        }
        if (r->positional_count < r->verb->positionals_min)
                return error_set(p->error, EINVAL, stage, "%s is missing", r->verb->synopsis);
        return 0;
}

int options_parse(const struct options_verb *verb, int argc, char **argv, int first, struct options_result *result,
                  struct error *e)
{
        *result = (struct options_result){ .verb = verb, .argc = argc, .argv = argv, .first = first };
        size_t slots = (argc > first ? (size_t)(argc - first) : 0) + 1;
        /* Both lists: one of fixed size, one that doubles, whose last copy is as large as all the earlier ones. */
        size_t cap = slots * sizeof(char *) + 2 * OPTIONS_USES_MAX * sizeof(struct option_use) + 4096;
        result->arena = arena_new(cap);
        result->positionals = arena_alloc(result->arena, slots * sizeof(char *));
        if (!result->positionals)
                return error_errno(e, ENOMEM, stage, "cannot store the arguments");
        struct parser parser = { .result = result, .error = e, .next = first };
        return parse_all(&parser);
}

void options_done(struct options_result *result)
{
        arena_free(result->arena);
        *result = (struct options_result){ 0 };
}

/* --- asking --- */

const struct option_use *options_next(const struct options_result *result, int id, const struct option_use *after)
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
        for (const struct option_use *use = NULL; (use = options_next(result, id, use));)
                value = use->value;
        return value;
}

/* --- help --- */

enum { HELP_COLUMN = 29, EXAMPLE_INDENT = 6 };

/* Adds the words of prose from the given column on, each new line indented, and ends the last line. */
static void add_wrapped(struct text *t, const char *prose, size_t column, size_t indent)
{
        bool fresh = true;
        while (*(prose += strspn(prose, " "))) {
                size_t length = strcspn(prose, " ");
                if (!fresh && column + 1 + length > OPTIONS_WIDTH) {
                        text_format(t, "\n%*s", (int)indent, "");
                        column = indent;
                        fresh = true;
                }
                text_add(t, fresh ? "" : " ");
                text_add_bytes(t, prose, length);
                column += length + !fresh;
                fresh = false;
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

static void add_rows(struct text *t, const struct options_verb *verb, bool styled)
{
        const char *group = NULL;
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++) {
                const char *heading = row->group ? row->group : "Options";
                if (!group || strcmp(group, heading) != 0)
                        add_heading(t, heading, styled);
                group = heading;
                add_row(t, row);
        }
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
