/* The table of verbs, and lookups in it; see verbs.h. */
#include "cli/verbs.h"

#include <string.h>

#include "box/load_flags.h"
#include "cli/doctor_options.h"
#include "cli/mcp_options.h"
#include "cli/program.h"
#include "cli/run_options.h"

/* --- the table --- */

static const struct option_row json_rows[] = {
        { .id = VERB_OPTION_JSON, .name = "json", .help = "Print JSON instead of text." },
};
static const struct options_table json_table = OPTIONS_TABLE(json_rows);

static const char *const run_description[] = {
        "The command and every process it starts can use only the files that the policy grants. They have no "
        "capabilities, cannot see other processes, and have no network unless the policy allows one. They all end when "
        "the command ends. 'ringwall policy show' with the same flags shows what the command may do. If this machine "
        "cannot enforce a rule, ringwall refuses to run the command.",
        "The exit status is that of the command; 128 + N if signal N killed it; 124 if it ran out of time; 125 if "
        "ringwall refused or failed; 126 if the command cannot be executed; 127 if it is not found.",
        NULL
};

static const struct options_example run_examples[] = {
        { "ringwall run -- npm test", "Run the tests of the project in this directory." },
        { "ringwall run --rw ../data make", "Run make, which may also write to ../data." },
        { 0 },
};

static const struct options_verb run = {
        .path = "run",
        .summary = "Run a command in a box",
        .synopsis = "[--] COMMAND [ARG...]",
        .positional = OPTION_FILE,
        .positionals_min = 1,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .stops_at_positional = true,
        .tables = { &flags_options, &run_options_report },
        .description = run_description,
        .examples = run_examples,
};

static const char *const policy_check_description[] = {
        "Reports every mistake in every FILE with its line and column, what was expected there, and the nearest known "
        "key. Nothing is run. The exit status is 0 if no file has a mistake.",
        NULL
};

static const struct options_example policy_check_examples[] = {
        { "ringwall policy check policy.yaml", "Check one file." },
        { "ringwall policy check --json *.yaml", "Check several files, with output for a program." },
        { 0 },
};

static const struct options_verb policy_check = {
        .path = "policy check",
        .summary = "Check policy files for mistakes",
        .synopsis = "FILE...",
        .positional = OPTION_FILE,
        .positionals_min = 1,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .tables = { &json_table },
        .description = policy_check_description,
        .examples = policy_check_examples,
};

static const char *const policy_show_description[] = {
        "The built-in defaults, /etc/ringwall/policy.yaml, your own ~/.config/ringwall/policy.yaml, the --policy files "
        "and the flags are combined in this order, and each overrides the ones before it. The result is then limited "
        "by /etc/ringwall/ceiling.yaml and every --ceiling. Nothing is run.",
        NULL
};

static const struct options_example policy_show_examples[] = {
        { "ringwall policy show", "Show what applies without any flags." },
        { "ringwall policy show --level strict --rw build", "Show what applies with these flags." },
        { 0 },
};

static const struct options_verb policy_show = {
        .path = "policy show",
        .summary = "Show the policy that results from files and flags",
        .tables = { &flags_options, &json_table },
        .description = policy_show_description,
        .examples = policy_show_examples,
};

static const char *const policy_schema_description[] = {
        "Editors use the schema to complete keys and to mark mistakes in a policy.",
        NULL
};

static const struct options_example policy_schema_examples[] = {
        { "ringwall policy schema > policy.schema.json", "Save it for an editor." },
        { 0 },
};

static const struct options_verb policy_schema = {
        .path = "policy schema",
        .summary = "Print the JSON Schema of policy files",
        .description = policy_schema_description,
        .examples = policy_schema_examples,
};

static const struct options_example help_examples[] = {
        { "ringwall help policy check", "The same as 'ringwall policy check --help'." },
        { 0 },
};

static const struct options_verb help = {
        .path = "help",
        .summary = "Explain ringwall or a verb",
        .synopsis = "[VERB...]",
        .positional = OPTION_VERB,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .examples = help_examples,
};

static const struct options_verb version = {
        .path = "version",
        .summary = "Print the version",
};

const struct verb verbs[] = {
        { .usage = &run, .run = verb_run },
        { .usage = &policy_check, .run = verb_policy_check },
        { .usage = &policy_show, .run = verb_policy_show },
        { .usage = &policy_schema, .run = verb_policy_schema },
        { .usage = &mcp_install_usage, .run = verb_mcp_install }, /* must come before mcp, its first word */
        { .usage = &mcp_uninstall_usage, .run = verb_mcp_uninstall },
        { .usage = &mcp_usage, .helper = "ringwall-mcp" },
        { .usage = &doctor_usage, .helper = "ringwall-doctor" },
        { .usage = &help, .run = verb_help },
        { .usage = &version, .run = verb_version },
};
const size_t verbs_count = ARRAY_SIZE(verbs);

const struct verb_group verb_groups[] = {
        { "policy", "Check, show and describe policies" },
};
const size_t verb_groups_count = ARRAY_SIZE(verb_groups);

/* --- looking up --- */

/* If the words begin with the path, the number of words in the path; else 0. */
static int match_path(const char *path, const char *const *words, int count)
{
        for (int i = 0; i < count; i++) {
                size_t length = strcspn(path, " ");
                if (strlen(words[i]) != length || memcmp(words[i], path, length) != 0)
                        return 0;
                if (!path[length])
                        return i + 1;
                path += length + 1;
        }
        return 0;
}

struct verb_match verbs_find(const char *const *words, int count)
{
        for (size_t i = 0; i < verbs_count; i++) {
                int used = match_path(verbs[i].usage->path, words, count);
                if (used)
                        return (struct verb_match){ .verb = &verbs[i], .words = used };
        }
        for (size_t i = 0; i < verb_groups_count; i++)
                if (match_path(verb_groups[i].name, words, count))
                        return (struct verb_match){ .group = &verb_groups[i], .words = 1 };
        return (struct verb_match){ 0 };
}

int verbs_report_unknown(const char *const *words, int count)
{
        const char *known[ARRAY_SIZE(verbs) + ARRAY_SIZE(verb_groups)];
        size_t n = 0;
        for (size_t i = 0; i < verbs_count; i++)
                known[n++] = verbs[i].usage->path;
        for (size_t i = 0; i < verb_groups_count; i++)
                known[n++] = verb_groups[i].name;

        /* The known words and the first unknown one. */
        struct verb_match match = verbs_find(words, count);
        CLEANUP_TEXT struct text given = { 0 };
        for (int i = 0; i < count && i <= match.words; i++) {
                text_add(&given, i ? " " : "");
                text_add_escaped(&given, words[i], strnlen(words[i], 60));
        }
        const char *word = given.data ? given.data : "?";
        const char *nearest = text_suggest(word, known, n);
        const char *where = match.group ? match.group->name : NULL;
        if (nearest)
                return program_usage_error(where, "unknown verb '%s'; did you mean '%s'?", word, nearest);
        return program_usage_error(where, "unknown verb '%s'", word);
}

/* --- the short help --- */

static bool is_in_group(const struct verb *v, const struct verb_group *group)
{
        size_t length = strlen(group->name);
        return strncmp(v->usage->path, group->name, length) == 0 && v->usage->path[length] == ' ';
}

static void add_about(struct text *t)
{
        text_add(t, "usage: ringwall VERB [OPTION...] [ARGUMENT...]\n"
                    "\n"
                    "ringwall confines AI agents and the programs they start: the files they may\n"
                    "touch, the hosts they may reach, the system calls they may make and the\n"
                    "resources they may use. The kernel enforces it, without root.\n");
}

void verbs_add_help(struct text *t, const struct verb_group *only, bool styled)
{
        if (only)
                text_format(t, "usage: ringwall %s VERB [OPTION...] [ARGUMENT...]\n\n%s.\n", only->name, only->summary);
        else
                add_about(t);
        text_format(t, "\n%sVerbs:%s\n", styled ? "\033[1m" : "", styled ? "\033[0m" : "");
        for (size_t i = 0; i < verbs_count; i++)
                if (!only || is_in_group(&verbs[i], only))
                        text_format(t, "  %-16s  %s\n", verbs[i].usage->path, verbs[i].usage->summary);
        text_add(t, "\n'ringwall help VERB' explains a verb. ");
        text_add(t, only ? "See also ringwall(1), ringwall-policy(5).\n"
                         : "Start with 'ringwall doctor': it reports\n"
                           "what this machine can enforce. See also ringwall(1), ringwall-policy(5).\n");
}
