/*
 * Command lines. The input is NUL-terminated arguments. The result points into the arguments, in their order; written
 * as --name=value it parses to the same result; an error is one printable line.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "fuzz.h"

enum { FILE_ID = 1, LEVEL, ALL, BRIEF, JSON, ENV, ARGUMENTS_MAX = 300 };

static const struct option_row rows[] = {
        { FILE_ID, 'p', "policy", "FILE", OPTION_FILE, true, "Policy", "Read this policy." },
        { LEVEL, 'l', "level", "off|standard|strict", OPTION_WORDS, false, "Policy", "How strongly to confine." },
        { ALL, 'a', "all", NULL, OPTION_NONE, false, NULL, "Everything." },
        { BRIEF, 'b', "brief", NULL, OPTION_NONE, true, NULL, "Less, each time." },
};
static const struct option_row more_rows[] = {
        { JSON, 0, "json", NULL, OPTION_NONE, false, NULL, "Print JSON." },
        { ENV, 'e', "env", "NAME[=VALUE]", OPTION_FREE, true, NULL, "Set this variable." },
};
static const struct options_table table = OPTIONS_TABLE(rows), more_table = OPTIONS_TABLE(more_rows);

static const struct options_verb verbs[] = {
        { .path = "show",
          .summary = "Any arguments",
          .synopsis = "[FILE...]",
          .positional = OPTION_FILE,
          .positionals_max = OPTIONS_POSITIONALS_MAX,
          .tables = { &table, &more_table } },
        { .path = "run",
          .summary = "Stops at the command",
          .synopsis = "COMMAND...",
          .positional = OPTION_FREE,
          .positionals_min = 1,
          .positionals_max = OPTIONS_POSITIONALS_MAX,
          .stops_at_positional = true,
          .tables = { &table, &more_table } },
        { .path = "none", .summary = "No arguments", .tables = { &table } },
};

static bool points_into(const char *value, const char *argument)
{
        return value >= argument && value <= argument + strlen(argument);
}

static void check_uses(const struct options_result *r, char **argv, int argc)
{
        for (size_t i = 0; i < r->use_count; i++) {
                const struct option_occurrence *u = &r->uses[i];
                PROMISE(u->index >= 0 && u->index < argc && argv[u->index][0] == '-');
                PROMISE(i == 0 || u->index >= u[-1].index);
                PROMISE(!u->value == !u->row->placeholder);
                PROMISE(!u->value || *u->value);
                PROMISE(!u->value || points_into(u->value, argv[u->index]) ||
                        (u->index + 1 < argc && u->value == argv[u->index + 1]));
                for (size_t j = 0; j < i; j++)
                        PROMISE(u->row->repeatable || r->uses[j].row->id != u->row->id);
                PROMISE(options_has(r, u->row->id));
        }
        int next = 0;
        for (size_t i = 0; i < r->positional_count; i++) {
                while (next < argc && argv[next] != r->positionals[i])
                        next++;
                PROMISE(next < argc);
                next++;
        }
        PROMISE(!r->positionals[r->positional_count]);
        PROMISE(r->positional_count >= r->verb->positionals_min && r->positional_count <= r->verb->positionals_max);
}

/* Writes the result as --name=value for each option, --, and the positionals, and checks that it parses to the same. */
static void check_again(const struct options_result *r)
{
        CLEANUP_ARENA struct arena *a = arena_new(1 << 24);
        char **argv = arena_alloc(a, (r->use_count + r->positional_count + 2) * sizeof(*argv));
        int argc = 0;
        PROMISE(argv);
        for (size_t i = 0; i < r->use_count; i++) {
                const struct option_occurrence *u = &r->uses[i];
                argv[argc++] = arena_format(a, "--%s%s%s", u->row->name, u->value ? "=" : "", u->value ? u->value : "");
        }
        argv[argc++] = arena_strdup(a, "--");
        for (size_t i = 0; i < r->positional_count; i++)
                argv[argc++] = r->positionals[i];
        CLEANUP_OPTIONS struct options_result again;
        PROMISE(options_parse(r->verb, argc, argv, 0, &again, NULL) == 0);
        PROMISE(again.use_count == r->use_count && again.positional_count == r->positional_count);
        for (size_t i = 0; i < r->use_count; i++) {
                PROMISE(again.uses[i].row == r->uses[i].row);
                PROMISE(!r->uses[i].value || strcmp(again.uses[i].value, r->uses[i].value) == 0);
        }
        for (size_t i = 0; i < r->positional_count; i++)
                PROMISE(again.positionals[i] == r->positionals[i]);
}

static void check_verb(const struct options_verb *verb, char **argv, int argc)
{
        CLEANUP_OPTIONS struct options_result r;
        struct error e = { 0 };
        int returned = options_parse(verb, argc, argv, 0, &r, &e);
        if (returned == 0) {
                PROMISE(e.code == 0);
                check_uses(&r, argv, argc);
                check_again(&r);
        } else if (returned != OPTIONS_HELP) {
                PROMISE((returned == -EINVAL || returned == -E2BIG) && e.code == -returned);
                PROMISE(*e.text && !strchr(e.text, '\n'));
                promise_printable(e.text);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FREE char *text = fuzz_string(data, size);
        char *argv[ARGUMENTS_MAX + 1];
        int argc = 0;
        for (char *p = text; p < text + size && argc < ARGUMENTS_MAX; p += strlen(p) + 1)
                argv[argc++] = p;
        argv[argc] = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                check_verb(&verbs[i], argv, argc);
        return 0;
}
