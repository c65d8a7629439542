/* The options of doctor; see doctor_options.h. */
#include "cli/doctor_options.h"

static const struct option_row rows[] = {
        { .id = DOCTOR_OPTION_JSON, .name = "json", .help = "Print JSON, for programs." },
};
static const struct options_table table = OPTIONS_TABLE(rows);

const struct options_verb doctor_usage = {
        .path = "doctor",
        .summary = "Tell what this machine can enforce",
        .tables = { &table },
        .description = (const char *const[]){
                "Tries each wall on the kernel that is running, and says which levels can be held, what is missing "
                "for the others, and what would help. The exit status is 0 when at least 'standard' can be held, and "
                "1 when no level can.",
                NULL },
        .examples = (const struct options_example[]){
                { "ringwall doctor", "Look before the first policy is written." },
                { "ringwall doctor --json", "Let a program read the answer." },
                { 0 } },
};
