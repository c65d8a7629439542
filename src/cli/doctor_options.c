/* The options of doctor; see doctor_options.h. */
#include "cli/doctor_options.h"

static const struct option_row rows[] = {
        { .id = DOCTOR_OPTION_JSON, .name = "json", .help = "Print JSON instead of text." },
};
static const struct options_table table = OPTIONS_TABLE(rows);

const struct options_verb doctor_usage = {
        .path = "doctor",
        .summary = "Report what this machine can enforce",
        .tables = { &table },
        .description = (const char *const[]){
                "Tests each wall on the running kernel, and reports which levels can be enforced, what is missing for "
                "the others, and what would help. The exit status is 0 if at least one level can be enforced, and 1 "
                "if none can.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall doctor", "Check the machine before writing a policy." },
                { "ringwall doctor --json", "Print the result for a program." },
                { 0 } },
};
