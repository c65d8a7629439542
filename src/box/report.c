/* Reports; see report.h. What an attacker controls: which calls are refused and how often, the command's exit status. */
#include "box/report.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "box/egressing.h"
#include "linux/filter_install.h"
#include "linux/hold.h"

enum { STATUS_TIMED_OUT = 124, STATUS_FAILED = 125, STATUS_SIGNAL = 128, STATUS_KILLED = STATUS_SIGNAL + SIGKILL };

void report_begin(struct report *r, struct arena *a, const struct plan *plan, char *const *command)
{
        *r = (struct report){ .arena = a, .plan = plan, .command = command, .began = clock_ms() };
}

static void end(struct report *r, enum report_end how, int number)
{
        r->end = how;
        r->number = number;
        r->ended = clock_ms();
}

void report_note(struct report *r, const char *text)
{
        const char *copy = arena_string(r->arena, text);
        const char **slot = copy ? arena_array_add(r->arena, &r->notes, &r->note_count, sizeof *slot) : NULL;
        if (slot)
                *slot = copy;
}

bool report_take(struct report *r, const struct box_message *m)
{
        switch (m->kind) {
        case BOX_STARTED:
                r->started = true;
                r->landlock = m->number;
                return false;
        case BOX_NOTE:
                report_note(r, m->error.text);
                return false;
        case BOX_DENIED:
                if (r->denial_count < DENIALS_MAX)
                        r->denials[r->denial_count++] = m->denial;
                return false;
        case BOX_EXITED:
                if (WIFSIGNALED(m->number))
                        end(r, END_SIGNALLED, WTERMSIG(m->number));
                else
                        end(r, END_EXITED, WEXITSTATUS(m->number));
                return true;
        case BOX_FAILED:
                if (!r->error.code) /* what failed first is the reason */
                        r->error = m->error;
                end(r, m->number == STATUS_FAILED ? END_FAILED : END_NOT_STARTED, m->number);
                return true;
        case BOX_SIGNAL:
        case BOX_CONTINUE:
        case BOX_TERMINAL:
        case BOX_STOPPED:
                break;
        }
        return false;
}

void report_stop(struct report *r, enum report_end how, const struct error *e)
{
        if (e)
                r->error = *e;
        end(r, how, how == END_TIMED_OUT ? STATUS_TIMED_OUT : how == END_OUT_OF_MEMORY ? STATUS_KILLED : STATUS_FAILED);
}

int report_status(const struct report *r)
{
        return r->end == END_NONE ? STATUS_FAILED : r->end == END_SIGNALLED ? STATUS_SIGNAL + r->number : r->number;
}

/* --- refusals --- */

/* For each group of calls that the filter tells of: what a person would call it, and what decides about it. */
static const struct explanation {
        const char *group;
        const char *what;
        enum plan_number rule; /* PLAN_NUMBER_COUNT: no rule can allow it */
        const char *allow;
} explanations[] = {
        { "families", "a network socket", PLAN_ALLOW_NETWORK, "--allow-domain HOST" },
        { "pairs", "a pair of sockets", PLAN_NUMBER_COUNT, NULL },
        { "ipc", "System V or POSIX IPC", PLAN_NAMESPACES, "--level strict" },
        { "scheduling", "the priority of another process", PLAN_NAMESPACES, "--level strict" },
        { "exec", "starting a program", PLAN_ALLOW_EXEC, "the capability process.exec in a policy" },
        { "fork", "starting a process", PLAN_ALLOW_FORK, "the capability process.* in a policy" },
        { "listed", "a process with namespaces, limits or a layout of its own", PLAN_NUMBER_COUNT, NULL },
        { "spaces", "mounting, or entering a namespace", PLAN_NUMBER_COUNT, NULL },
        { "neighbours", "looking into another process", PLAN_NUMBER_COUNT, NULL },
        { "machine", "changing the machine", PLAN_NUMBER_COUNT, NULL },
        { "files", "typing into a terminal, or another of its controls", PLAN_NUMBER_COUNT, NULL },
};
static const struct explanation local_socket = { NULL, "a unix socket", PLAN_NAMESPACES, "--level strict" };
static const struct explanation past_the_proxy = {
        NULL, "looking a name up, or another way to the network than the proxy of http_proxy", PLAN_NAMESPACES, "--level strict"
};
static const struct explanation new_process = { NULL, "starting a process", PLAN_ALLOW_FORK,
                                                "the capability process.* in a policy" };
static const struct explanation unknown = { NULL, "several other calls", PLAN_NUMBER_COUNT, NULL };

static const struct explanation *explain(const struct report *r, const struct denial *d)
{
        const struct filter_told *told = filter_find_told(d->number);
        if (!told)
                return &unknown;
        if (strncmp(told->call, "socket", strlen("socket")) == 0 && d->family == AF_UNIX)
                return &local_socket;
        if (strcmp(told->group, "families") == 0 && r->plan->number[PLAN_ALLOW_NETWORK].number)
                return &past_the_proxy;
        if (strcmp(told->call, "clone") == 0 && !r->plan->number[PLAN_ALLOW_FORK].number)
                return &new_process;
        for (size_t i = 0; i < ARRAY_SIZE(explanations); i++)
                if (strcmp(explanations[i].group, told->group) == 0)
                        return &explanations[i];
        return &unknown;
}

static const char *call_name(const struct denial *d)
{
        const struct filter_told *told = filter_find_told(d->number);
        return told ? told->call : "others";
}

void report_explain_calls(const struct report *r, const char *prefix, struct text *out)
{
        for (size_t i = 0; i < r->denial_count; i++) {
                const struct denial *d = &r->denials[i];
                const struct explanation *x = explain(r, d);
                text_format(out, "%srefused", prefix);
                if (d->count > 1)
                        text_format(out, " %u times", d->count);
                text_format(out, ": %s (%s)", x->what, call_name(d));
                if (x->rule != PLAN_NUMBER_COUNT) {
                        text_format(out, ", by %s (", plan_numbers[x->rule].name);
                        source_print(r->plan->number[x->rule].from, out);
                        text_add(out, ")");
                }
                if (x->allow)
                        text_format(out, "; to allow it: %s", x->allow);
                text_add(out, "\n");
        }
}

const struct host_rule *report_host_rule(const struct report *r, const struct egress_event *event)
{
        if (event->rule < 0 || event->generation > r->change_count)
                return NULL;
        const struct hosts *hosts = event->generation ? &r->changes[event->generation - 1] : &r->plan->hosts;
        return (size_t)event->rule < hosts->count ? &hosts->list[event->rule] : NULL;
}

void report_explain_hosts(const struct report *r, const char *prefix, struct text *out)
{
        for (size_t i = 0; i < r->refusal_count; i++) {
                text_add(out, prefix);
                egress_explain(&r->refusals[i], report_host_rule(r, &r->refusals[i]), out);
                text_add(out, "\n");
        }
        if (r->refusals_more)
                text_format(out, "%srefused: other hosts\n", prefix);
}

/* --- JSON --- */

json_t *report_denial_to_json(const struct report *r, const struct denial *d)
{
        const struct explanation *x = explain(r, d);
        json_t *o = json_pack("{s:s, s:I, s:s}", "call", call_name(d), "count", (json_int_t)d->count, "what", x->what);
        if (o && x->rule != PLAN_NUMBER_COUNT) {
                CLEANUP_TEXT struct text source = { 0 };
                source_print(r->plan->number[x->rule].from, &source);
                json_object_set_new(o, "rule", json_string(plan_numbers[x->rule].name));
                json_object_set_new(o, "source", json_string(source.data ? source.data : ""));
        }
        if (o && x->allow)
                json_object_set_new(o, "allow", json_string(x->allow));
        return o;
}

static json_t *number_to_json(const struct report *r, enum plan_number n)
{
        CLEANUP_TEXT struct text words = { 0 };
        plan_print_number(n, r->plan->number[n].number, &words);
        return json_string(words.data ? words.data : "");
}

void report_wall(const struct report *r, size_t index, struct text *out)
{
        struct standing s = { r->plan, r->landlock, r->cgroup, r->egress };
        if (r->started && holds[index]->report)
                holds[index]->report(&s, out);
}

static json_t *walls_to_json(const struct report *r)
{
        json_t *o = json_object();
        for (size_t i = 0; i < hold_count; i++) {
                CLEANUP_TEXT struct text held = { 0 };
                report_wall(r, i, &held);
                if (held.length)
                        json_object_set_new(o, holds[i]->name, json_string(held.data));
        }
        return o;
}

static json_t *enforced_to_json(const struct report *r)
{
        static const enum plan_number shown[] = {
                PLAN_LEVEL, PLAN_NAMESPACES, PLAN_ALLOW_EXEC, PLAN_ALLOW_FORK, PLAN_ALLOW_NETWORK, PLAN_TIMEOUT,
                PLAN_MEMORY, PLAN_CPU, PLAN_PROCESSES,
        };
        json_t *o = json_object();
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
                if (shown[i] < PLAN_TIMEOUT || r->plan->number[shown[i]].number) /* no limit, nothing to enforce */
                        json_object_set_new(o, plan_numbers[shown[i]].name, number_to_json(r, shown[i]));
        json_object_set_new(o, "walls", walls_to_json(r));
        json_object_set_new(o, "landlock_abi", json_integer(r->landlock));
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
        json_t *o = json_pack("{s:s, s:i}", "how", names[r->end], "status", report_status(r));
        if (r->end == END_SIGNALLED)
                json_object_set_new(o, "signal", json_integer(r->number));
        if (r->error.code)
                json_object_set_new(o, "error", json_string(r->error.text));
        json_object_set_new(o, "milliseconds", json_integer(r->ended - r->began));
        if (r->memory_peak)
                json_object_set_new(o, "memory_peak", json_integer((json_int_t)r->memory_peak));
        if (r->cpu_time)
                json_object_set_new(o, "cpu_microseconds", json_integer((json_int_t)r->cpu_time));
        return o;
}

json_t *report_to_json(const struct report *r)
{
        json_t *command = json_array(), *notes = json_array(), *denied = json_array();
        for (char *const *word = r->command; *word; word++) {
                CLEANUP_TEXT struct text visible = { 0 };
                bool valid = text_utf8_valid(*word, strlen(*word)) == strlen(*word);
                if (!valid)
                        text_add_visible(&visible, *word, strlen(*word));
                json_array_append_new(command, json_string(valid ? *word : visible.data ? visible.data : ""));
        }
        for (size_t i = 0; i < r->note_count; i++)
                json_array_append_new(notes, json_string(r->notes[i]));
        for (size_t i = 0; i < r->denial_count; i++)
                json_array_append_new(denied, report_denial_to_json(r, &r->denials[i]));
        for (size_t i = 0; i < r->refusal_count; i++)
                json_array_append_new(denied, egress_event_to_json(&r->refusals[i], report_host_rule(r, &r->refusals[i])));
        return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "command", command, "workspace", r->plan->workspace, "enforced",
                         enforced_to_json(r), "not_held", notes, "denied", denied, "end", end_to_json(r));
}
