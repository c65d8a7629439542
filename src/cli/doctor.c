/*
 * ringwall-doctor: reports what this machine can enforce.
 *
 * What it is for: the verb `ringwall doctor`. It is a separate program (docs/decisions/doctor-is-a-helper.md), because
 * its probes fork often and try calls that can get a process killed, and because `ringwall` must stay small.
 *
 * How it works: probes every feature (platform_probe), evaluates every level (level_evaluate), and prints both results,
 * for the user or as JSON. Child processes do the probing, and leave nothing behind (linux/probe_child.h).
 *
 * What it trusts: the texts of reports are safe to print (feature_set). The environment only decides about colour, and
 * where a systemd manager is searched for.
 *
 * Exit status: 0 if some level can be enforced, 1 if none can, 125 if ringwall itself fails.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "box/diagnosis.h"
#include "cli/doctor_options.h"
#include "cli/program.h"
#include "policy/keys.h"
#include "feature/feature.h"

enum { NO_LEVEL_WORKS = 1 };

/* --- for the user --- */

enum {
        MARK_WIDTH = 8, /* "unasked" and a space */
        LABEL_WIDTH = 24,
        LEVEL_WIDTH = 10,
        WIDTH_MIN = 60,
        WIDTH_MAX = 100,
};

struct page {
        struct text text;
        size_t width;
        bool styled;
};

static void add_styled(struct page *p, const char *style, const char *words)
{
        if (p->styled && style)
                text_format(&p->text, "\033[%sm%s\033[0m", style, words);
        else
                text_add(&p->text, words);
}

static void add_spaces(struct page *p, size_t count)
{
        text_format(&p->text, "%*s", (int)count, "");
}

static size_t count_columns(const char *words, size_t length)
{
        size_t columns = 0;
        for (size_t at = 0; at < length; at += text_utf8_sequence_length(words + at, length - at))
                columns++;
        return columns;
}

/* Adds words from `column` on, wrapped and indented to that column, and ends the line. */
static void add_wrapped(struct page *p, size_t column, const char *words)
{
        size_t at = column;
        while (*words) {
                size_t length = strcspn(words, " ");
                size_t columns = count_columns(words, length);
                if (at > column && at + 1 + columns > p->width) {
                        text_add(&p->text, "\n");
                        add_spaces(p, column);
                        at = column;
                } else if (at > column) {
                        text_add(&p->text, " ");
                        at++;
                }
                text_add_bytes(&p->text, words, length);
                at += columns;
                words += length;
                words += strspn(words, " ");
        }
        text_add(&p->text, "\n");
}

static const char *state_style(enum feature_state state)
{
        static const char *const styles[] = {
                [FEATURE_UNKNOWN] = "33",
                [FEATURE_NO] = "31",
                [FEATURE_PARTIAL] = "33",
                [FEATURE_YES] = "32",
        };
        return styles[state];
}

/* Does the feature have the same detail as the one before it in its group? Then it is not printed again. */
static bool is_repeated(const struct probe_report *report, enum feature_id id)
{
        const struct feature *f = &report->features[id];
        if (id == 0 || f->state == FEATURE_YES || !f->detail[0])
                return false;
        const char *key = feature_info(id)->key;
        return strncmp(key, feature_info(id - 1)->key, strcspn(key, ".") + 1) == 0 &&
               strcmp(f->detail, report->features[id - 1].detail) == 0;
}

static void add_feature(struct page *p, enum feature_id id, const struct probe_report *report)
{
        const struct feature_info *info = feature_info(id);
        const struct feature *f = &report->features[id];
        const char *mark = feature_state_name(f->state);
        text_add(&p->text, "  ");
        add_styled(p, info->is_fact ? NULL : state_style(f->state), mark);
        add_spaces(p, MARK_WIDTH - strlen(mark));
        if (f->detail[0]) {
                text_format(&p->text, "%-*s", LABEL_WIDTH, info->label);
                add_wrapped(p, 2 + MARK_WIDTH + LABEL_WIDTH, is_repeated(report, id) ? "as above" : f->detail);
        } else {
                text_format(&p->text, "%s\n", info->label);
        }
}

static void add_features(struct page *p, const struct probe_report *report)
{
        const char *group = "";
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++) {
                const char *key = feature_info(id)->key;
                size_t length = strcspn(key, ".");
                if (strncmp(group, key, length + 1) != 0) {
                        char heading[32];
                        (void)snprintf(heading, sizeof heading, "%.*s", (int)length, key);
                        text_add(&p->text, "\n");
                        add_styled(p, "1", heading);
                        text_add(&p->text, "\n");
                        group = key;
                }
                add_feature(p, id, report);
        }
}

/* Several features often fail for one reason, namespaces for example. Then only the first is printed. */
static bool is_repeated_reason(const struct probe_report *report, const struct level_requirement *const *unmet,
                               size_t which)
{
        const char *detail = report->features[unmet[which]->any_of[0]].detail;
        for (size_t i = 0; i < which; i++)
                if (strcmp(detail, report->features[unmet[i]->any_of[0]].detail) == 0)
                        return true;
        return false;
}

static void add_unmet(struct page *p, const struct level_requirement *need)
{
        char line[160];
        (void)snprintf(line, sizeof line, "%s (%s)", need->consequence, feature_info(need->any_of[0])->key);
        add_spaces(p, 2 + LEVEL_WIDTH + 2);
        add_wrapped(p, 2 + LEVEL_WIDTH + 2, line);
}

static void add_reasons(struct page *p, const struct level_result *result, const struct probe_report *report)
{
        size_t omitted = 0;
        for (size_t i = 0; i < result->missing_count; i++) {
                if (is_repeated_reason(report, result->missing, i))
                        omitted++;
                else
                        add_unmet(p, result->missing[i]);
        }
        if (omitted)
                text_format(&p->text, "%*sand %zu more, for the same reasons\n", 2 + LEVEL_WIDTH + 2, "", omitted);
        /* The shortfalls of a level that does not work are not printed. */
        for (size_t i = 0; !result->missing_count && i < result->shortfall_count; i++)
                add_unmet(p, result->shortfalls[i]);
}

static void add_level(struct page *p, enum level level, const struct diagnosis *d)
{
        static const struct {
                const char *style, *words;
        } verdicts[] = {
                [VERDICT_WORKS] = { "32", "works" },
                [VERDICT_SHORTFALLS] = { "33", "works, with shortfalls:" },
                [VERDICT_REFUSED] = { "31", "does not work here:" },
        };
        const struct level_result *result = &d->levels[level];
        text_format(&p->text, "  %-*s", LEVEL_WIDTH, level_words[level]);
        add_styled(p, verdicts[result->verdict].style, verdicts[result->verdict].words);
        text_add(&p->text, "\n");
        add_reasons(p, result, &d->report);
        if (result->remark) {
                add_spaces(p, 2 + LEVEL_WIDTH);
                add_styled(p, "1", "note: ");
                add_wrapped(p, 2 + LEVEL_WIDTH + strlen("note: "), result->remark);
        }
        if (result->help) {
                add_spaces(p, 2 + LEVEL_WIDTH);
                add_styled(p, "1", "try: ");
                text_format(&p->text, "%s\n", result->help); /* unwrapped, so that it can be copied */
        }
}

static size_t terminal_width(void)
{
        struct winsize size;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
                return OPTIONS_WIDTH;
        return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

static int print_page(const struct diagnosis *d, int code)
{
        struct page p = { .width = terminal_width(), .styled = program_is_styled(STDOUT_FILENO) };
        text_format(&p.text, "%s %s on %s, ", d->kernel.sysname, d->kernel.release, d->kernel.machine);
        if (d->uid == 0)
                text_add(&p.text, "as root\n");
        else
                text_format(&p.text, "as user %u\n", d->uid);
        add_features(&p, &d->report);
        text_add(&p.text, "\n");
        add_styled(&p, "1", "levels");
        text_add(&p.text, "\n");
        for (enum level level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                add_level(&p, level, d);
        code = program_print(&p.text, code);
        text_done(&p.text);
        return code;
}

/* --- for a program --- */

static int print_json(const struct diagnosis *d, int code)
{
        CLEANUP_JSON json_t *value = diagnosis_to_json(d);
        CLEANUP_TEXT struct text t = { 0 };
        if (!value || json_write(value, &t, true) < 0)
                return program_error(doctor_usage.path, "out of memory");
        text_add(&t, "\n");
        return program_print(&t, code);
}

int main(int argc, char **argv)
{
        CLEANUP_OPTIONS struct options_result options;
        int code;
        if (!program_parse(&doctor_usage, argc, argv, 1, &options, &code))
                return code;
        struct diagnosis d;
        diagnosis_run(&d);
        code = NO_LEVEL_WORKS;
        for (enum level level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                code = d.levels[level].verdict == VERDICT_REFUSED ? code : 0;
        return options_has(&options, DOCTOR_OPTION_JSON) ? print_json(&d, code) : print_page(&d, code);
}
