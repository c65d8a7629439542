/*
 * The option parser and --help. The tables are trusted, the arguments are not: every way to write an option, the
 * message for every mistake, the limits, and arguments that are not safe to print.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

enum { POLICY = 1, LEVEL, ALL, BRIEF, JSON };

static const struct option_row rows[] = {
        { POLICY, 'p', "policy", "FILE", OPTION_FILE, true, "Policy", "Read this policy." },
        { LEVEL, 0, "level", "standard|strict", OPTION_WORDS, false, "Policy", "How strongly to confine." },
        { ALL, 'a', "all", NULL, OPTION_NONE, false, NULL, "Everything." },
        { BRIEF, 'b', "brief", NULL, OPTION_NONE, true, NULL, "Less, each time." },
};
static const struct option_row more_rows[] = {
        { JSON, 0, "json", NULL, OPTION_NONE, false, NULL, "Print JSON." },
};
static const struct options_table table = OPTIONS_TABLE(rows), more_table = OPTIONS_TABLE(more_rows);

static const struct options_verb verb = {
        .path = "test verb",
        .summary = "Test the parser",
        .synopsis = "FILE...",
        .positional = OPTION_FILE,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .tables = { &table, &more_table },
};

enum { ARGUMENTS_MAX = 16 };

struct parsed {
        struct options_result result;
        struct error error;
        int returned;
};

/* Parses the NULL-terminated words as the arguments of "ringwall test verb". */
static struct parsed parse(const struct options_verb *v, const char *const *words)
{
        static char *argv[ARGUMENTS_MAX + 4];
        int argc = 0;
        for (const char *const *program_words = (const char *const[]){ "ringwall", "test", "verb", NULL };
             *program_words; program_words++)
                argv[argc++] = (char *)(uintptr_t)*program_words;
        for (; *words; words++)
                argv[argc++] = (char *)(uintptr_t)*words;
        argv[argc] = NULL;

        struct parsed p = { 0 };
        memset(&p.result, 0xa5, sizeof p.result); /* options_parse() must initialize it */
        p.returned = options_parse(v, argc, argv, 3, &p.result, &p.error);
        return p;
}
#define PARSE(v, ...) parse((v), (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void assert_use(const struct options_result *r, size_t i, int id, const char *value, int index)
{
        assert_true(i < r->use_count);
        assert_int_equal(r->uses[i].row->id, id);
        assert_int_equal(r->uses[i].index, index);
        if (value)
                assert_string_equal(r->uses[i].value, value);
        else
                assert_null(r->uses[i].value);
}

#define ASSERT_REFUSED(message, v, ...)                                   \
        do {                                                              \
                struct parsed p_ = PARSE(v, __VA_ARGS__);                 \
                assert_int_equal(p_.returned, -EINVAL);                   \
                assert_string_equal(p_.error.text, (message));            \
                options_done(&p_.result);                                 \
        } while (0)

/* accepted command lines */

static void test_every_way_to_write_a_value(void **state)
{
        (void)state;
        struct parsed p =
                PARSE(&verb, "--policy", "a", "--policy=b", "-pc", "-p", "d", "--policy=x=y", "--level=strict");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 6);
        assert_use(&p.result, 0, POLICY, "a", 3);
        assert_use(&p.result, 1, POLICY, "b", 5);
        assert_use(&p.result, 2, POLICY, "c", 6);
        assert_use(&p.result, 3, POLICY, "d", 7);
        assert_use(&p.result, 4, POLICY, "x=y", 9);
        assert_use(&p.result, 5, LEVEL, "strict", 10);
        options_done(&p.result);
}

static void test_letters_may_be_bundled_and_the_last_may_take_a_value(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb, "-abbpfile", "-bp", "other");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 6);
        assert_use(&p.result, 0, ALL, NULL, 3);
        assert_use(&p.result, 1, BRIEF, NULL, 3);
        assert_use(&p.result, 2, BRIEF, NULL, 3);
        assert_use(&p.result, 3, POLICY, "file", 3);
        assert_use(&p.result, 4, BRIEF, NULL, 4);
        assert_use(&p.result, 5, POLICY, "other", 4);
        options_done(&p.result);
}

static void test_value_may_look_like_an_option(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb, "--policy", "--json", "-p", "--");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 2);
        assert_use(&p.result, 0, POLICY, "--json", 3);
        assert_use(&p.result, 1, POLICY, "--", 5);
        options_done(&p.result);
}

static void test_positionals_may_be_anywhere_and_two_dashes_end_the_options(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb, "one", "--json", "-", "--", "--all", "--");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 1);
        assert_int_equal(p.result.positional_count, 4);
        assert_string_equal(p.result.positionals[0], "one");
        assert_string_equal(p.result.positionals[1], "-");
        assert_string_equal(p.result.positionals[2], "--all");
        assert_string_equal(p.result.positionals[3], "--");
        assert_null(p.result.positionals[4]);
        options_done(&p.result);
}

static void test_verb_that_stops_at_the_first_positional_does_not_parse_the_options_after_it(void **state)
{
        (void)state;
        struct options_verb run = verb;
        run.stops_at_positional = true;
        struct parsed p = PARSE(&run, "-a", "command", "--json", "--", "--bogus");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 1);
        assert_int_equal(p.result.positional_count, 4);
        assert_string_equal(p.result.positionals[1], "--json");
        assert_string_equal(p.result.positionals[2], "--");
        options_done(&p.result);

        p = PARSE(&run, "-a", "--", "--json", "--", "x");
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.positional_count, 3);
        assert_string_equal(p.result.positionals[0], "--json");
        assert_string_equal(p.result.positionals[1], "--");
        options_done(&p.result);
}

static void test_empty_command_line(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb);
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, 0);
        assert_int_equal(p.result.positional_count, 0);
        assert_null(p.result.positionals[0]);
        assert_false(options_has(&p.result, ALL));
        assert_null(options_value(&p.result, POLICY));
        options_done(&p.result);
        options_done(&p.result); /* a second call is harmless */
}

static void test_options_are_found_by_id(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb, "-pa", "--json", "-pb", "-pc");
        size_t count = 0;
        for (const struct option_occurrence *use = NULL; (use = options_next(&p.result, POLICY, use)); count++)
                assert_int_equal(use->value[0], 'a' + (int)count);
        assert_int_equal(count, 3);
        assert_string_equal(options_value(&p.result, POLICY), "c");
        assert_true(options_has(&p.result, JSON));
        assert_null(options_value(&p.result, JSON));
        options_done(&p.result);
}

static void test_help_ends_the_parsing(void **state)
{
        (void)state;
        struct parsed p = PARSE(&verb, "--json", "--help", "--bogus");
        assert_int_equal(p.returned, OPTIONS_HELP);
        options_done(&p.result);
        p = PARSE(&verb, "-ah");
        assert_int_equal(p.returned, OPTIONS_HELP);
        options_done(&p.result);
        ASSERT_REFUSED("option '--help' takes no value", &verb, "--help=all");
}

/* mistakes */

static void test_mistakes_have_messages(void **state)
{
        (void)state;
        ASSERT_REFUSED("unknown option '--polcy'; did you mean '--policy'?", &verb, "--polcy=x");
        ASSERT_REFUSED("unknown option '--frobnicate'", &verb, "--frobnicate");
        ASSERT_REFUSED("unknown option '-x'", &verb, "-ax");
        ASSERT_REFUSED("option '--policy' needs FILE", &verb, "--policy");
        ASSERT_REFUSED("option '--policy' needs FILE", &verb, "-ap");
        ASSERT_REFUSED("option '--policy' needs FILE, but its value is empty", &verb, "--policy=");
        ASSERT_REFUSED("option '--policy' needs FILE, but its value is empty", &verb, "-p", "");
        ASSERT_REFUSED("option '--json' takes no value", &verb, "--json=yes");
        ASSERT_REFUSED("option '--level' is given twice", &verb, "--level=strict", "--level=strict");
        ASSERT_REFUSED("option '--all' is given twice", &verb, "-aa");
}

static void test_long_names_are_never_abbreviated(void **state)
{
        (void)state;
        ASSERT_REFUSED("unknown option '--polic'; did you mean '--policy'?", &verb, "--polic", "x");
        ASSERT_REFUSED("unknown option '--jsonx'; did you mean '--json'?", &verb, "--jsonx");
        ASSERT_REFUSED("unknown option '--'", &verb, "--=x");
}

static void test_word_must_be_one_of_the_list(void **state)
{
        (void)state;
        ASSERT_REFUSED("option '--level' takes standard|strict, not 'stric'", &verb, "--level=stric");
        ASSERT_REFUSED("option '--level' takes standard|strict, not 'standard|'", &verb, "--level", "standard|");
}

static void test_too_few_and_too_many_positionals(void **state)
{
        (void)state;
        struct options_verb two = verb;
        two.positionals_min = two.positionals_max = 2;
        ASSERT_REFUSED("FILE... is missing", &two, "one");
        ASSERT_REFUSED("unexpected argument 'three'", &two, "one", "two", "three");
}

static void test_hostile_arguments_are_escaped_and_shortened(void **state)
{
        (void)state;
        ASSERT_REFUSED("unknown option '--\\x1b[2J'", &verb, "--\033[2J");
        ASSERT_REFUSED("unknown option '-\\xff'", &verb, "-\xff");
        ASSERT_REFUSED("unknown option '-é'", &verb, "-é");

        char longer[4096];
        memset(longer, '\n', sizeof longer - 1);
        longer[sizeof longer - 1] = '\0';
        longer[0] = longer[1] = '-';
        struct parsed p = PARSE(&verb, longer);
        assert_int_equal(p.returned, -EINVAL);
        assert_null(strchr(p.error.text, '\n'));
        assert_true(strlen(p.error.text) < 120);
        assert_non_null(strstr(p.error.text, "...'"));
        options_done(&p.result);
}

static void test_the_error_may_be_null(void **state)
{
        (void)state;
        char program[] = "ringwall", bogus[] = "--bogus";
        char *argv[] = { program, bogus, NULL };
        struct options_result r;
        assert_int_equal(options_parse(&verb, 2, argv, 1, &r, NULL), -EINVAL);
        options_done(&r);
}

static void test_number_of_options_is_limited(void **state)
{
        (void)state;
        char letters[OPTIONS_OCCURRENCES_MAX + 3] = "-";
        memset(letters + 1, 'b', OPTIONS_OCCURRENCES_MAX);
        struct parsed p = PARSE(&verb, letters);
        assert_int_equal(p.returned, 0);
        assert_int_equal(p.result.use_count, OPTIONS_OCCURRENCES_MAX);
        options_done(&p.result);

        letters[OPTIONS_OCCURRENCES_MAX + 1] = 'b';
        p = PARSE(&verb, letters);
        assert_int_equal(p.returned, -E2BIG);
        options_done(&p.result);
}

static void test_two_hundred_thousand_positionals_are_accepted(void **state)
{
        (void)state;
        enum { MANY = 200000 };
        char word[] = "x";
        char **argv = calloc(MANY + 1, sizeof *argv);
        assert_non_null(argv);
        for (int i = 0; i < MANY; i++)
                argv[i] = word;
        struct options_result r;
        struct error e = { 0 };
        assert_int_equal(options_parse(&verb, MANY, argv, 1, &r, &e), 0);
        assert_int_equal(r.positional_count, MANY - 1);
        assert_null(r.positionals[MANY - 1]);
        options_done(&r);
        free(argv);
}

/* tables and help */

static void test_rows_of_joined_tables_end_with_help(void **state)
{
        (void)state;
        assert_string_equal(options_row_at(&verb, 0)->name, "policy");
        assert_string_equal(options_row_at(&verb, ARRAY_SIZE(rows))->name, "json");
        assert_int_equal(options_row_at(&verb, ARRAY_SIZE(rows) + 1)->id, OPTIONS_HELP_ID);
        assert_null(options_row_at(&verb, ARRAY_SIZE(rows) + 2));
}

static const struct option_row *made_row_at(size_t index)
{
        static const struct option_row made[] = {
                { 50, 0, "first", NULL, OPTION_NONE, false, "Other", "One." },
                { 51, 0, "second", NULL, OPTION_NONE, false, "Policy", "Two." },
        };
        return index < ARRAY_SIZE(made) ? &made[index] : NULL;
}

static void test_rows_of_a_function_are_listed_in_their_group(void **state)
{
        (void)state;
        static const struct options_table made = { .row_at = made_row_at };
        static const struct options_verb both = {
                .path = "x", .summary = "X", .tables = { &table, &made, &more_table },
        };
        assert_string_equal(options_row_at(&both, ARRAY_SIZE(rows))->name, "first");
        assert_string_equal(options_row_at(&both, ARRAY_SIZE(rows) + 1)->name, "second");
        assert_string_equal(options_row_at(&both, ARRAY_SIZE(rows) + 2)->name, "json");
        CLEANUP_TEXT struct text t = { 0 };
        options_add_help(&t, &both, "ringwall", false);
        const char *policy = strstr(t.data, "Policy:"), *other = strstr(t.data, "Other:"),
                   *rest = strstr(t.data, "Options:"), *second = strstr(t.data, "--second");
        assert_true(policy && other && rest && second);
        assert_true(policy < second && second < other && other < rest);
        assert_null(strstr(policy + 1, "Policy:"));
        assert_null(strstr(rest + 1, "Options:"));
}

static void test_words_are_split(void **state)
{
        (void)state;
        struct options_word words[OPTIONS_WORDS_MAX];
        assert_int_equal(options_split_words("one", words), 1);
        assert_int_equal(options_split_words("a|bc|def", words), 3);
        assert_memory_equal(words[1].start, "bc", 2);
        assert_int_equal(words[1].length, 2);
        assert_int_equal(options_split_words("1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18", words), OPTIONS_WORDS_MAX);
}

static void test_layout_of_help(void **state)
{
        (void)state;
        struct options_verb v = verb;
        v.description = (const char *const[]){ "First.", "Second.", NULL };
        v.examples = (const struct options_example[]){ { "ringwall test verb x", "Do it." }, { 0 } };
        CLEANUP_TEXT struct text t = { 0 };
        options_add_help(&t, &v, "ringwall", false);
        assert_string_equal(t.data,
                            "usage: ringwall test verb [OPTION...] FILE...\n"
                            "\n"
                            "Test the parser.\n"
                            "\n"
                            "First.\n"
                            "\n"
                            "Second.\n"
                            "\n"
                            "Policy:\n"
                            "  -p, --policy FILE          Read this policy. May be repeated.\n"
                            "      --level standard|strict\n"
                            "                             How strongly to confine.\n"
                            "\n"
                            "Options:\n"
                            "  -a, --all                  Everything.\n"
                            "  -b, --brief                Less, each time. May be repeated.\n"
                            "      --json                 Print JSON.\n"
                            "  -h, --help                 Show this help.\n"
                            "\n"
                            "Examples:\n"
                            "  ringwall test verb x\n"
                            "      Do it.\n");
}

static void test_help_is_wrapped_at_80_columns(void **state)
{
        (void)state;
        struct options_verb v = verb;
        char fits[] = "a paragraph whose last word ends exactly in that column which is the last: of 80";
        char wraps[] = "a paragraph whose last word ends exactly one column after the last of columns: 80";
        assert_int_equal(strlen(fits), OPTIONS_WIDTH);
        assert_int_equal(strlen(wraps), OPTIONS_WIDTH + 1);
        v.description = (const char *const[]){ fits, wraps, NULL };
        CLEANUP_TEXT struct text t = { 0 };
        options_add_help(&t, &v, "ringwall", false);
        assert_non_null(strstr(t.data, "of 80\n"));
        assert_non_null(strstr(t.data, "columns:\n80\n"));
}

static void test_help_is_styled_only_on_demand(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text plain = { 0 }, styled = { 0 };
        options_add_help(&plain, &verb, "ringwall", false);
        assert_null(strchr(plain.data, '\033'));
        options_add_help(&styled, &verb, "ringwall", true);
        assert_non_null(strstr(styled.data, "\033[1mPolicy:\033[0m\n"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_way_to_write_a_value),
                cmocka_unit_test(test_letters_may_be_bundled_and_the_last_may_take_a_value),
                cmocka_unit_test(test_value_may_look_like_an_option),
                cmocka_unit_test(test_positionals_may_be_anywhere_and_two_dashes_end_the_options),
                cmocka_unit_test(test_verb_that_stops_at_the_first_positional_does_not_parse_the_options_after_it),
                cmocka_unit_test(test_empty_command_line),
                cmocka_unit_test(test_options_are_found_by_id),
                cmocka_unit_test(test_help_ends_the_parsing),
                cmocka_unit_test(test_mistakes_have_messages),
                cmocka_unit_test(test_long_names_are_never_abbreviated),
                cmocka_unit_test(test_word_must_be_one_of_the_list),
                cmocka_unit_test(test_too_few_and_too_many_positionals),
                cmocka_unit_test(test_hostile_arguments_are_escaped_and_shortened),
                cmocka_unit_test(test_the_error_may_be_null),
                cmocka_unit_test(test_number_of_options_is_limited),
                cmocka_unit_test(test_two_hundred_thousand_positionals_are_accepted),
                cmocka_unit_test(test_rows_of_joined_tables_end_with_help),
                cmocka_unit_test(test_rows_of_a_function_are_listed_in_their_group),
                cmocka_unit_test(test_words_are_split),
                cmocka_unit_test(test_layout_of_help),
                cmocka_unit_test(test_help_is_wrapped_at_80_columns),
                cmocka_unit_test(test_help_is_styled_only_on_demand),
        };
        return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
