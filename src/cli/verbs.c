/* The table of verbs, and what is looked up in it; see verbs.h. */
#include "cli/verbs.h"

#include <string.h>

#include "cli/doctor_options.h"
#include "cli/mcp_options.h"
#include "cli/front.h"
#include "cli/run_options.h"

/* --- the table --- */

static const struct option_row json_rows[] = {
        { .id = VERB_OPTION_JSON, .name = "json", .help = "Print JSON, for programs." },
};
static const struct options_table json_table = OPTIONS_TABLE(json_rows);

static const struct options_verb run = {
        .path = "run",
        .summary = "Run a command in a box",
        .synopsis = "[--] COMMAND [ARG...]",
        .positional = OPTION_FILE,
        .positionals_min = 1,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .stops = true,
        .tables = { &run_options_policy, &run_options_report },
        .description = (const char *const[]){
                "The command and everything it starts see the files of the policy and nothing else, have no capability, "
                "no network and no other process in sight, and end when the command ends. 'ringwall policy show' with "
                "the same flags shows what it may do. A rule that cannot be held refuses to run.",
                "The exit status is the command's own; 128 + N when signal N ended it; 124 when it ran out of time; 125 "
                "when ringwall refused or failed; 126 when the command cannot be executed, 127 when it is not found.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall run -- npm test", "Run the tests of the project in this directory." },
                { "ringwall run --rw ../data make", "The same, with another directory to write in." },
                { 0 } },
};

static const struct options_verb policy_check = {
        .path = "policy check",
        .summary = "Check policy files for mistakes",
        .synopsis = "FILE...",
        .positional = OPTION_FILE,
        .positionals_min = 1,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .tables = { &json_table },
        .description = (const char *const[]){
                "Every mistake in every FILE is reported with its line and column, what was expected there, and the "
                "nearest known key. Nothing is run. The exit status is 0 when there is none.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall policy check policy.yaml", "Check one file." },
                { "ringwall policy check --json *.yaml", "Check several, and let a program read the answer." },
                { 0 } },
};

static const struct options_verb policy_show = {
        .path = "policy show",
        .summary = "Show the policy that files and flags add up to",
        .tables = { &run_options_policy, &json_table },
        .description = (const char *const[]){
                "The built-in defaults, /etc/ringwall/policy.yaml, your own ~/.config/ringwall/policy.yaml, the "
                "--policy files and the flags are put together in this order, each overriding the ones before; then "
                "the result is intersected with /etc/ringwall/ceiling.yaml and every --ceiling, which can only take "
                "away. Nothing is run.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall policy show", "What holds on this machine without any flag." },
                { "ringwall policy show --level strict --rw build", "What these flags would change." },
                { 0 } },
};

static const struct options_verb policy_schema = {
        .path = "policy schema",
        .summary = "Print the JSON Schema of policy files",
        .description = (const char *const[]){
                "Editors use it to complete keys and to mark mistakes while a policy is written.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall policy schema > policy.schema.json", "Store it for an editor." },
                { 0 } },
};

static const struct options_verb help = {
        .path = "help",
        .summary = "Explain ringwall or a verb",
        .synopsis = "[VERB...]",
        .positional = OPTION_VERB,
        .positionals_max = OPTIONS_POSITIONALS_MAX,
        .examples = (const struct options_example[]){
                { "ringwall help policy check", "The same as 'ringwall policy check --help'." },
                { 0 } },
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
        { .usage = &mcp_install_usage, .run = verb_mcp_install }, /* before mcp, which is its first word */
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

/* How many words of the command line spell the path, or 0. */
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

int verbs_refuse(const char *const *words, int count)
{
        const char *known[ARRAY_SIZE(verbs) + ARRAY_SIZE(verb_groups)];
        size_t n = 0;
        for (size_t i = 0; i < verbs_count; i++)
                known[n++] = verbs[i].usage->path;
        for (size_t i = 0; i < verb_groups_count; i++)
                known[n++] = verb_groups[i].name;

        /* The words that were understood, and the one that was not. */
        struct verb_match match = verbs_find(words, count);
        CLEANUP_TEXT struct text asked = { 0 };
        for (int i = 0; i < count && i <= match.words; i++) {
                text_add(&asked, i ? " " : "");
                text_add_visible(&asked, words[i], strnlen(words[i], 60));
        }
        const char *word = asked.data ? asked.data : "?";
        const char *nearest = text_nearest(word, known, n);
        const char *where = match.group ? match.group->name : NULL;
        if (nearest)
                return front_refuse(where, "unknown verb '%s'; did you mean '%s'?", word, nearest);
        return front_refuse(where, "unknown verb '%s'", word);
}

/* --- the short help --- */

static bool belongs(const struct verb *v, const struct verb_group *group)
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
                    "resources they may burn. The kernel enforces it, without root.\n");
}

void verbs_add_help(struct text *t, const struct verb_group *only, bool styled)
{
        if (only)
                text_format(t, "usage: ringwall %s VERB [OPTION...] [ARGUMENT...]\n\n%s.\n", only->name, only->summary);
        else
                add_about(t);
        text_format(t, "\n%sVerbs:%s\n", styled ? "\033[1m" : "", styled ? "\033[0m" : "");
        for (size_t i = 0; i < verbs_count; i++)
                if (!only || belongs(&verbs[i], only))
                        text_format(t, "  %-16s  %s\n", verbs[i].usage->path, verbs[i].usage->summary);
        text_add(t, "\n'ringwall help VERB' explains a verb. ");
        text_add(t, only ? "See also ringwall(1), ringwall-policy(5).\n"
                         : "Start with 'ringwall doctor': it tells\n"
                           "what this machine can enforce. See also ringwall(1), ringwall-policy(5).\n");
}
