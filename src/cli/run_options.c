/* The options for the reports of `run`; see run_options.h. */
#include "cli/run_options.h"

static const char reports[] = "Reports";

static const struct option_row report_rows[] = {
        { RUN_OPTION_AUDIT, 0, "audit", "FILE", OPTION_FILE, false, reports,
          "Append an audit trail to this file, as JSON lines: what was enforced, what was refused, how the command "
          "ended." },
        { RUN_OPTION_JSON_REPORT, 0, "json-report", "FD|FILE", OPTION_FILE, false, reports,
          "Write a report to this descriptor or file, as JSON: what was enforced, what was refused, how it ended." },
        { RUN_OPTION_QUIET, 'q', "quiet", NULL, OPTION_NONE, false, reports, "Print only ringwall's own errors." },
        { RUN_OPTION_VERBOSE, 'v', "verbose", NULL, OPTION_NONE, false, reports,
          "Report what was enforced and refused, even if the command succeeds." },
};

const struct options_table run_options_report = OPTIONS_TABLE(report_rows);
