/* Reports; see report.h. What an attacker controls: the command's arguments, its exit status, and what was refused. */
#include "box/report.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "platform/platform.h"

void report_init(struct report *r, struct arena *a, const struct plan *plan, char *const *command)
{
        *r = (struct report){
                .arena = a, .plan = plan, .command = command, .began = clock_ms(), .enforced.plan = plan,
        };
}

static void set_end(struct report *r, enum report_end how, int number)
{
        r->end.how = how;
        r->end.number = number;
        r->end.at = clock_ms();
}

void report_add_note(struct report *r, const char *text)
{
        const char *copy = arena_strdup(r->arena, text);
        const char **slot = copy ? arena_array_push(r->arena, &r->notes, &r->note_count, sizeof *slot) : NULL;
        if (slot)
                *slot = copy;
}

bool report_add_message(struct report *r, const struct box_message *m)
{
        switch (m->kind) {
        case BOX_STARTED:
                r->started = true;
                r->enforced.landlock_abi = m->number;
                r->enforced.guard = m->guard;
                return false;
        case BOX_SHORTFALL:
                report_add_note(r, m->error.text);
                return false;
        case BOX_REFUSED_CALL:
                refusals_add_call(&r->refused, &m->call);
                return false;
        case BOX_REFUSED_PATH:
                refusals_add_path(&r->refused, &m->path);
                return false;
        case BOX_EXITED:
                if (WIFSIGNALED(m->number))
                        set_end(r, END_SIGNALLED, WTERMSIG(m->number));
                else
                        set_end(r, END_EXITED, WEXITSTATUS(m->number));
                return true;
        case BOX_FAILED:
                if (!r->end.error.code) /* the first failure is the reason */
                        r->end.error = m->error;
                set_end(r, m->number == EXIT_RINGWALL ? END_FAILED : END_NOT_STARTED, m->number);
                return true;
        case BOX_SIGNAL:
        case BOX_CONTINUE:
        case BOX_TERMINAL:
        case BOX_STOPPED:
                break;
        }
        return false;
}

void report_set_end(struct report *r, enum report_end how, const struct error *e)
{
        if (e)
                r->end.error = *e;
        int status = how == END_TIMED_OUT       ? EXIT_TIMED_OUT
                     : how == END_OUT_OF_MEMORY ? EXIT_SIGNAL + SIGKILL
                                                : EXIT_RINGWALL;
        set_end(r, how, status);
}

int report_exit_status(const struct report *r)
{
        const struct report_ending *end = &r->end;
        if (end->how == END_NONE)
                return EXIT_RINGWALL;
        return end->how == END_SIGNALLED ? EXIT_SIGNAL + end->number : end->number;
}

/* --- JSON --- */

static json_t *scalar_to_json(const struct report *r, enum plan_scalar n)
{
        CLEANUP_TEXT struct text value = { 0 };
        plan_print_scalar(n, r->plan->scalar[n].value, &value);
        return json_string(value.data ? value.data : "");
}

void report_add_wall(const struct report *r, size_t index, struct text *out)
{
        if (r->started)
                platform_describe_wall(index, &r->enforced, out);
}

static json_t *walls_to_json(const struct report *r)
{
        json_t *o = json_object();
        const char *name;
        for (size_t i = 0; (name = platform_wall_name(i)); i++) {
                CLEANUP_TEXT struct text enforced = { 0 };
                report_add_wall(r, i, &enforced);
                if (enforced.length)
                        json_object_set_new(o, name, json_string(enforced.data));
        }
        return o;
}

static json_t *enforced_to_json(const struct report *r)
{
        static const enum plan_scalar shown[] = {
                PLAN_LEVEL, PLAN_NAMESPACES, PLAN_ALLOW_EXEC, PLAN_ALLOW_FORK, PLAN_ALLOW_NETWORK, PLAN_TIMEOUT,
                PLAN_MEMORY, PLAN_CPU, PLAN_PROCESSES,
        };
        json_t *o = json_object();
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
                if (!plan_scalar_is_limit(shown[i]) || r->plan->scalar[shown[i]].value)
                        json_object_set_new(o, plan_scalar_name(shown[i]), scalar_to_json(r, shown[i]));
        json_object_set_new(o, "walls", walls_to_json(r));
        json_object_set_new(o, "landlock_abi", json_integer(r->enforced.landlock_abi));
        json_object_set_new(o, "file_rules", json_integer((json_int_t)r->plan->rules.count));
        return o;
}

static json_t *end_to_json(const struct report *r)
{
        static const char *const names[] = {
                [END_NONE] = "running",         [END_EXITED] = "exited",           [END_SIGNALLED] = "signalled",
                [END_TIMED_OUT] = "timed_out",  [END_NOT_STARTED] = "not_started", [END_FAILED] = "failed",
                [END_OUT_OF_MEMORY] = "out_of_memory",
        };
        json_t *o = json_pack("{s:s, s:i}", "how", names[r->end.how], "status", report_exit_status(r));
        if (r->end.how == END_SIGNALLED)
                json_object_set_new(o, "signal", json_integer(r->end.number));
        if (r->end.error.code)
                json_object_set_new(o, "error", json_string(r->end.error.text));
        json_object_set_new(o, "milliseconds", json_integer(r->end.at - r->began));
        if (r->usage.memory_peak)
                json_object_set_new(o, "memory_peak", json_integer((json_int_t)r->usage.memory_peak));
        if (r->usage.cpu_time)
                json_object_set_new(o, "cpu_microseconds", json_integer((json_int_t)r->usage.cpu_time));
        return o;
}

json_t *report_to_json(const struct report *r)
{
        json_t *command = json_array(), *notes = json_array();
        for (char *const *word = r->command; *word; word++) {
                CLEANUP_TEXT struct text visible = { 0 };
                bool valid = text_utf8_valid_length(*word, strlen(*word)) == strlen(*word);
                if (!valid)
                        text_add_escaped(&visible, *word, strlen(*word));
                json_array_append_new(command, json_string(valid ? *word : visible.data ? visible.data : ""));
        }
        for (size_t i = 0; i < r->note_count; i++)
                json_array_append_new(notes, json_string(r->notes[i]));
        return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "command", command, "workspace", r->plan->workspace,
                         "enforced", enforced_to_json(r), "not_enforced", notes, "denied",
                         refusals_to_json(&r->refused, r->plan), "end", end_to_json(r));
}
