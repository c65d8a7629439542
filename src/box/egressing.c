/*
 * Egress from the front's side; see egressing.h.
 *
 * What an attacker controls: through the box, which names are asked for and how often; through egress, should it be taken over,
 * every byte of an event. So an event is checked before it is used, and the number of those that are kept is bounded.
 */
#include "box/egressing.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/helper.h"
#include "base/json.h"
#include "wire/wire.h"

static const char stage[] = "egress";

enum { LAST_WORDS_MS = 2000 };

/* --- starting it --- */

static bool is_printable(const char *text)
{
        while (*text >= ' ' && *text <= '~')
                text++;
        return !*text;
}

/* What the person's environment says of proxies, in either case, as programs read it. */
static int write_proxies(int fd, struct error *e)
{
        static const struct {
                const char *name, *other_case;
        } variables[] = { { "https_proxy", "HTTPS_PROXY" }, { "no_proxy", "NO_PROXY" } };
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(variables); i++) {
                const char *value = getenv(variables[i].name);
                if (!value || !*value)
                        value = getenv(variables[i].other_case);
                if (value && !is_printable(value))
                        return error_set(e, EINVAL, stage, "%s has bytes in it that are no part of a host's name",
                                         variables[i].other_case);
                r = fd_write_all(fd, "", 1);
                if (r == 0 && value)
                        r = fd_write_all(fd, value, strlen(value));
        }
        return r < 0 ? error_errno(e, -r, stage, "cannot write the plan") : 0;
}

/* Of the plan only what egress needs: it does not get to know files, commands or the rest of the environment. */
static int write_order(const struct plan *plan, bool proxies, struct error *e)
{
        struct plan part = { .workspace = "/nowhere", .home = "/nowhere", .hosts = plan_reachable_hosts(plan), .private_hosts = plan->private_hosts,
                             .local_ports = plan->local_ports, .published = plan->published };
        memcpy(part.number, plan->number, sizeof part.number);
        CLEANUP_JSON json_t *json = plan_to_json(&part);
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_FD int fd = memfd_create("plan", MFD_CLOEXEC);
        if (!json || json_write(json, &out, false) < 0)
                return error_errno(e, ENOMEM, stage, "no memory");
        int r = fd < 0 ? -errno : fd_write_all(fd, out.data, out.length);
        if (r < 0)
                return error_errno(e, -r, stage, "cannot write the plan");
        r = proxies ? write_proxies(fd, e) : 0;
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = error_errno(e, errno, stage, "cannot write the plan");
        return r < 0 ? r : TAKE_FD(fd);
}

/* The proxies of a box that has no namespace to have entrances in, on their way to who will serve them. */
static int open_proxies(const struct plan *plan, int egress, struct proxies *ret, struct error *e)
{
        if (plan->number[PLAN_NAMESPACES].number & SPACE_NET)
                return 0;
        int r = proxies_open(ret, e);
        return r < 0 ? r : proxies_hand_over(ret, egress, e);
}

static int start(struct report *r, struct trail *trail, struct egressing *ret, int *ret_socket, struct error *e)
{
        int front[2], keeper[2];
        CLEANUP_FD int order = write_order(r->plan, true, e);
        if (order < 0)
                return order;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, front) < 0)
                return error_errno(e, errno, stage, "cannot make a socket");
        CLEANUP_FD int events = front[0], its_events = front[1];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper) < 0)
                return error_errno(e, errno, stage, "cannot make a socket");
        CLEANUP_FD int for_keeper = keeper[0], its_keeper = keeper[1];
        int done = open_proxies(r->plan, for_keeper, &ret->proxies, e);
        if (done < 0)
                return done;
        const int fds[EGRESS_FDS] = { order, STDERR_FILENO, STDERR_FILENO, its_events, its_keeper };
        int pid = helper_start("ringwall-egress", fds, EGRESS_FDS, e);
        if (pid < 0)
                return pid;
        *ret = (struct egressing){ .pid = pid, .events = TAKE_FD(events), .report = r, .trail = trail, .proxies = ret->proxies };
        *ret_socket = TAKE_FD(for_keeper);
        return 0;
}

int egress_start(struct report *r, struct trail *trail, struct egressing *ret, int *ret_socket, struct error *e)
{
        *ret = EGRESS_NONE;
        int done = start(r, trail, ret, ret_socket, e);
        if (done < 0)
                proxies_close(&ret->proxies);
        return done;
}

/* --- what it says --- */

/* Texts end where they should and have nothing in them that a terminal or a record could be fooled by. */
static bool is_sound(struct egress_event *event)
{
        char *const texts[] = { event->host, event->address, event->other };
        const size_t sizes[] = { sizeof event->host, sizeof event->address, sizeof event->other };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                texts[i][sizes[i] - 1] = '\0';
                if (!is_printable(texts[i]))
                        return false;
        }
        return event->kind <= EGRESS_CHANGED && event->reason < REASON_COUNT && event->way < EGRESS_WAYS;
}

/* Each refusal once, with how often it came. */
static void keep_refusal(struct report *r, const struct egress_event *event)
{
        size_t i = 0;
        while (i < r->refusal_count && !egress_is_same(&r->refusals[i], event))
                i++;
        if (i < r->refusal_count)
                r->refusals[i].count += event->count;
        else if (r->refusal_count == REFUSALS_MOST)
                r->refusals_more = true;
        else {
                struct egress_event *slot = arena_array_add(r->arena, &r->refusals, &r->refusal_count, sizeof *slot);
                if (slot)
                        *slot = *event;
        }
}

static void take_event(struct egressing *g, const struct egress_event *event)
{
        if (event->kind == EGRESS_REFUSED)
                keep_refusal(g->report, event);
        if (event->kind == EGRESS_CHANGED) {
                g->generation = event->generation;
                g->closed = event->count;
        } else if (event->kind == EGRESS_FAILED) {
                struct error e;
                error_set(&e, EPIPE, stage, "the box's connections cannot be carried: %s", event->other);
                report_stop(g->report, END_FAILED, &e);
        } else if (g->trail)
                trail_event(g->trail, event->kind == EGRESS_PASSED ? "network_allowed" : "network_denied",
                            egress_event_to_json(event, report_host_rule(g->report, event)));
}

/* With the box it ends by itself, and well; otherwise it was killed, or failed. */
static void take_end(struct egressing *g)
{
        int status = 0;
        pid_t ended;
        fd_close(&g->events);
        proxies_silence(&g->proxies);
        if (g->pid <= 0)
                return; /* that was before; and 0 would be all of us */
        (void)kill(g->pid, SIGKILL); /* no harm to one that has ended; one that has not is not waited for */
        while ((ended = waitpid(g->pid, &status, 0)) < 0 && errno == EINTR)
                ;
        if (ended == g->pid)
                g->pid = 0;
        if (status && g->report->end == END_NONE)
                report_note(g->report, "the process that carries the box's connections has ended: the box has no network any more");
}

void egress_hear(struct egressing *g)
{
        while (g->events >= 0) {
                struct egress_event event;
                ssize_t n = recv(g->events, &event, sizeof event, MSG_DONTWAIT | MSG_TRUNC);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return;
                bool sound = n == sizeof event && is_sound(&event);
                if (sound)
                        take_event(g, &event);
                if (!sound || event.kind == EGRESS_FAILED)
                        take_end(g);
        }
}

/* --- changing its hosts --- */

static void add_rule(const struct host_rule *rule, struct text *out)
{
        char domain[DOMAIN_TEXT_SIZE];
        domain_print(&rule->domain, domain);
        text_format(out, "%s %s", rule->allow ? "allow" : "deny", domain);
}

/* The rules that `these` have and `those` do not. */
static json_t *rules_missing(const struct hosts *these, const struct hosts *those)
{
        json_t *list = json_array();
        for (size_t i = 0; i < these->count; i++) {
                const struct host_rule *rule = &these->list[i];
                size_t j = 0;
                while (j < those->count && (those->list[j].allow != rule->allow || !domain_equal(&those->list[j].domain, &rule->domain)))
                        j++;
                if (j < those->count)
                        continue;
                CLEANUP_TEXT struct text words = { 0 };
                add_rule(rule, &words);
                json_array_append_new(list, json_string(words.data ? words.data : ""));
        }
        return list;
}

static int await_change(struct egressing *g, uint32_t generation)
{
        for (int64_t until = clock_ms() + LAST_WORDS_MS, now; g->events >= 0 && g->generation != generation;) {
                struct pollfd event = { .fd = g->events, .events = POLLIN };
                if ((now = clock_ms()) >= until)
                        return -ETIMEDOUT;
                if (poll(&event, 1, (int)(until - now)) > 0)
                        egress_hear(g);
        }
        return g->events < 0 ? -EPIPE : 0;
}

/* Returns when its hosts are those of the last change. */
static int tell_change(struct egressing *g, const struct plan *plan, struct error *e)
{
        struct report *r = g->report;
        CLEANUP_FD int order = write_order(plan, false, e);
        if (order < 0)
                return order;
        struct hosts *slot = arena_array_add(r->arena, &r->changes, &r->change_count, sizeof *slot);
        if (!slot)
                return error_errno(e, ENOMEM, stage, "no memory");
        *slot = plan_reachable_hosts(plan);
        const struct egress_change change = { .generation = (uint32_t)r->change_count,
                                              .close = plan->number[PLAN_LIVE].number == PLAN_LIVE_ALL };
        int done = wire_send(g->events, &change, sizeof change, order);
        if (done == 0)
                done = await_change(g, change.generation);
        return done < 0 ? error_errno(e, -done, stage, "the hosts could not be changed, so the box has no network any more") : 0;
}

int egress_change(struct egressing *g, const struct plan *plan, struct error *e)
{
        const struct report *r = g->report;
        if (g->events < 0)
                return error_set(e, ENOTSUP, stage, "the box has no network whose hosts could be changed");
        const struct hosts before = r->change_count ? r->changes[r->change_count - 1] : plan_reachable_hosts(r->plan);
        int done = tell_change(g, plan, e);
        if (done < 0) { /* hosts that were taken away might still be reached */
                take_end(g);
                return done;
        }
        const struct hosts now = r->changes[r->change_count - 1];
        if (g->trail)
                trail_event(g->trail, "network_changed", json_pack("{s:o, s:o, s:I}", "added", rules_missing(&now, &before), "removed",
                                                                   rules_missing(&before, &now), "closed", (json_int_t)g->closed));
        return 0;
}

void egress_end(struct egressing *g)
{
        int64_t now = clock_ms(), until = now + LAST_WORDS_MS;
        for (egress_hear(g); g->events >= 0 && now < until; egress_hear(g), now = clock_ms()) {
                struct pollfd event = { .fd = g->events, .events = POLLIN };
                (void)poll(&event, 1, (int)(until - now));
        }
        fd_close(&g->events);
        if (g->pid > 0) {
                (void)kill(g->pid, SIGKILL);
                while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        proxies_close(&g->proxies);
        *g = EGRESS_NONE;
}

/* --- in words --- */

void egress_explain(const struct egress_event *event, const struct host_rule *rule, struct text *out)
{
        text_add(out, "refused");
        if (event->count > 1)
                text_format(out, " %u times", event->count);
        text_add(out, ": ");
        egress_add_reason(event, out);
        if (rule) {
                text_add(out, ", by ");
                add_rule(rule, out);
                text_add(out, " (");
                source_print(rule->from, out);
                text_add(out, ")");
        }
        egress_add_allowance(event, egress_way_out, out);
}

static void set_text(json_t *o, const char *key, const char *text)
{
        if (text && *text)
                json_object_set_new(o, key, json_string(text));
}

json_t *egress_event_to_json(const struct egress_event *event, const struct host_rule *rule)
{
        CLEANUP_TEXT struct text allowance = { 0 }, words = { 0 }, source = { 0 };
        json_t *o = json_object();
        set_text(o, "host", event->host);
        if (event->port)
                json_object_set_new(o, "port", json_integer(event->port));
        set_text(o, "address", event->address);
        set_text(o, "way", egress_ways[event->way]);
        if (event->proxied)
                json_object_set_new(o, "proxied", json_true());
        if (event->kind == EGRESS_PASSED) {
                json_object_set_new(o, "sent", json_integer((json_int_t)event->sent));
                json_object_set_new(o, "received", json_integer((json_int_t)event->received));
        } else {
                set_text(o, "reason", egress_reasons[event->reason].word);
                set_text(o, "why", egress_reasons[event->reason].why);
                set_text(o, "other", event->other);
                json_object_set_new(o, "count", json_integer(event->count));
                egress_add_allowance(event, "", &allowance);
                set_text(o, "allow", allowance.data);
        }
        if (rule) {
                add_rule(rule, &words);
                source_print(rule->from, &source);
                set_text(o, "rule", words.data);
                set_text(o, "source", source.data);
        }
        return o;
}
