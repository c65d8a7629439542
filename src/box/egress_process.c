/*
 * Egress as the front sees it; see egress_process.h.
 *
 * What an attacker controls: through the box, which names are asked for and how often; through a compromised egress,
 * every byte of an event. So every event is validated, a malformed one terminates egress, and the number of events that
 * are kept is capped.
 */
#include "box/egress_process.h"

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
#include "box/egress_event.h"
#include "wire/packet.h"

enum { EGRESS_TIMEOUT_MS = 2000 };

/* --- starting egress --- */

static bool is_printable(const char *text)
{
        while (*text >= ' ' && *text <= '~')
                text++;
        return !*text;
}

/*
 * Writes the proxy variables of the user's environment, each preceded by a NUL, as egress_protocol.h says. Like other
 * programs, accepts their names in lower or upper case.
 */
static int write_proxy_variables(int fd, struct error *e)
{
        static const struct {
                const char *name, *upper_case;
        } variables[] = { { "https_proxy", "HTTPS_PROXY" }, { "no_proxy", "NO_PROXY" } };
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(variables); i++) {
                const char *value = getenv(variables[i].name);
                if (!value || !*value)
                        value = getenv(variables[i].upper_case);
                if (value && !is_printable(value))
                        return error_set(e, EINVAL, "the variable %s contains bytes that are not printable ASCII",
                                         variables[i].upper_case);
                r = fd_write_all(fd, "", 1);
                if (r == 0 && value)
                        r = fd_write_all(fd, value, strlen(value));
        }
        return r < 0 ? error_errno(e, -r, "cannot write the plan for egress") : 0;
}

/* Writes only the part of the plan that egress needs: it must not learn about files, commands or the environment. */
static int write_plan(const struct plan *plan, bool with_proxy_variables, struct error *e)
{
        struct plan part = { .workspace = "/nowhere",
                             .home = "/nowhere",
                             .hosts = plan_reachable_hosts(plan),
                             .private_hosts = plan->private_hosts,
                             .local_ports = plan->local_ports,
                             .published = plan->published };
        memcpy(part.scalar, plan->scalar, sizeof part.scalar);
        CLEANUP_JSON json_t *json = plan_to_json(&part);
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_FD int fd = memfd_create("plan", MFD_CLOEXEC);
        if (!json || json_write(json, &out, false) < 0)
                return error_errno(e, ENOMEM, "no memory");
        int r = fd < 0 ? -errno : fd_write_all(fd, out.data, out.length);
        if (r < 0)
                return error_errno(e, -r, "cannot write the plan for egress");
        r = with_proxy_variables ? write_proxy_variables(fd, e) : 0;
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = error_errno(e, errno, "cannot write the plan for egress");
        return r < 0 ? r : TAKE_FD(fd);
}

/* Without a network namespace a box has no listeners: opens proxies on the host's loopback and sends them to egress. */
static int open_proxies(const struct plan *plan, int egress, struct loopback_proxies *ret, struct error *e)
{
        if (plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_NET)
                return 0;
        int r = loopback_proxies_open(ret, e);
        return r < 0 ? r : loopback_proxies_send(ret, egress, e);
}

static int start_process(struct report *r, struct audit_trail *trail, struct egress_process *ret, int *ret_socket,
                         struct error *e)
{
        int front[2], keeper[2];
        CLEANUP_FD int plan_fd = write_plan(r->plan, true, e);
        if (plan_fd < 0)
                return plan_fd;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, front) < 0)
                return error_errno(e, errno, "cannot make a socket");
        CLEANUP_FD int events = front[0], to_front = front[1];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper) < 0)
                return error_errno(e, errno, "cannot make a socket");
        CLEANUP_FD int to_egress = keeper[0], to_keeper = keeper[1];
        int done = open_proxies(r->plan, to_egress, &ret->proxies, e);
        if (done < 0)
                return done;
        /* descriptors 0 to 4 of egress; its standard output goes to our standard error */
        const int fds[EGRESS_FDS] = { plan_fd, STDERR_FILENO, STDERR_FILENO, to_front, to_keeper };
        int pid = helper_spawn("ringwall-egress", fds, EGRESS_FDS, e);
        if (pid < 0)
                return pid;
        *ret = (struct egress_process){
                .pid = pid, .events = TAKE_FD(events), .report = r, .trail = trail, .proxies = ret->proxies
        };
        *ret_socket = TAKE_FD(to_egress);
        return 0;
}

int egress_process_start(struct report *r, struct audit_trail *trail, struct egress_process *ret, int *ret_socket,
                         struct error *e)
{
        *ret = EGRESS_PROCESS_NONE;
        int done = start_process(r, trail, ret, ret_socket, e);
        if (done < 0)
                loopback_proxies_close(&ret->proxies);
        return done;
}

/* --- its events --- */

/* Terminates the strings, and checks that they cannot inject control characters into a terminal or a record. */
static bool is_valid(struct egress_event *event)
{
        char *const texts[] = { event->host, event->address, event->other };
        const size_t sizes[] = { sizeof event->host, sizeof event->address, sizeof event->other };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                texts[i][sizes[i] - 1] = '\0';
                if (!is_printable(texts[i]))
                        return false;
        }
        return event->kind <= EGRESS_EVENT_HOSTS_CHANGED && event->reason < REASON_COUNT &&
               event->listener < EGRESS_LISTENER_COUNT;
}

static void handle_event(struct egress_process *g, const struct egress_event *event)
{
        struct report *r = g->report;
        if (event->kind == EGRESS_EVENT_DENIED)
                refusals_add_host(&r->refused, r->arena, event);
        if (event->kind == EGRESS_EVENT_HOSTS_CHANGED) {
                g->generation = event->generation;
                g->closed = event->count;
        } else if (event->kind == EGRESS_EVENT_FAILED) {
                struct error e;
                error_set(&e, EPIPE, "the network of the box failed: %s", event->other);
                report_set_end(r, END_FAILED, &e);
        } else if (g->trail)
                audit_trail_log(g->trail, event->kind == EGRESS_EVENT_CLOSED ? "network_allowed" : "network_denied",
                                egress_event_to_json(event, refusals_host_rule(&r->refused, r->plan, event)));
}

/* Kills and reaps egress. Unless it had exited because the box ended (status 0), the report gets a note. */
static void stop_egress(struct egress_process *g)
{
        int status = 0;
        pid_t reaped;
        fd_close(&g->events);
        loopback_proxies_stop(&g->proxies);
        if (g->pid <= 0)
                return; /* reaped already; kill(0) would signal our own process group */
        (void)kill(g->pid, SIGKILL); /* has no effect on a zombie, and waitpid() cannot hang on a live process */
        while ((reaped = waitpid(g->pid, &status, 0)) < 0 && errno == EINTR)
                ;
        if (reaped == g->pid)
                g->pid = 0;
        if (status && g->report->end.how == END_NONE)
                report_add_note(g->report, "egress exited: the box has no network from now on");
}

void egress_receive(struct egress_process *g)
{
        while (g->events >= 0) {
                struct egress_event event;
                ssize_t n = recv(g->events, &event, sizeof event, MSG_DONTWAIT | MSG_TRUNC);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return;
                bool valid = n == sizeof event && is_valid(&event);
                if (valid)
                        handle_event(g, &event);
                if (!valid || event.kind == EGRESS_EVENT_FAILED)
                        stop_egress(g);
        }
}

/* --- changing its hosts --- */

/* The rules of `hosts` that `others` does not have. */
static json_t *rules_only_in(const struct hosts *hosts, const struct hosts *others)
{
        json_t *list = json_array();
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *rule = &hosts->list[i];
                size_t j = 0;
                while (j < others->count && (others->list[j].allow != rule->allow ||
                                             !host_pattern_equal(&others->list[j].domain, &rule->domain)))
                        j++;
                if (j < others->count)
                        continue;
                CLEANUP_TEXT struct text rule_text = { 0 };
                egress_add_rule(rule, &rule_text);
                json_array_append_new(list, json_string(rule_text.data ? rule_text.data : ""));
        }
        return list;
}

static int wait_for_change(struct egress_process *g, uint32_t generation)
{
        for (int64_t until = clock_ms() + EGRESS_TIMEOUT_MS, now; g->events >= 0 && g->generation != generation;) {
                struct pollfd event = { .fd = g->events, .events = POLLIN };
                if ((now = clock_ms()) >= until)
                        return -ETIMEDOUT;
                if (poll(&event, 1, (int)(until - now)) > 0)
                        egress_receive(g);
        }
        return g->events < 0 ? -EPIPE : 0;
}

/* Sends the plan's hosts to egress. Returns when egress has confirmed that they are in force. */
static int send_change(struct egress_process *g, const struct plan *plan, struct error *e)
{
        struct report *r = g->report;
        CLEANUP_FD int plan_fd = write_plan(plan, false, e);
        if (plan_fd < 0)
                return plan_fd;
        struct hosts *slot = arena_array_push(r->arena, &r->refused.changes, &r->refused.change_count, sizeof *slot);
        if (!slot)
                return error_errno(e, ENOMEM, "no memory");
        *slot = plan_reachable_hosts(plan);
        const struct egress_hosts_update change = { .generation = (uint32_t)r->refused.change_count,
                                                    .close = plan->scalar[PLAN_LIVE].value == PLAN_LIVE_ALL };
        int done = packet_send(g->events, &change, sizeof change, plan_fd);
        if (done == 0)
                done = wait_for_change(g, change.generation);
        return done < 0 ? error_errno(e, -done, "the hosts could not be changed, so the box has no network any more")
                        : 0;
}

int egress_set_hosts(struct egress_process *g, const struct plan *plan, struct error *e)
{
        const struct report *r = g->report;
        const struct refusals *refused = &r->refused;
        if (g->events < 0)
                return error_set(e, ENOTSUP, "the hosts cannot be changed: the box has no network");
        const struct hosts before = refused->change_count ? refused->changes[refused->change_count - 1]
                                                          : plan_reachable_hosts(r->plan);
        int done = send_change(g, plan, e);
        if (done < 0) { /* otherwise the box could still reach hosts that were removed */
                stop_egress(g);
                return done;
        }
        const struct hosts now = refused->changes[refused->change_count - 1];
        if (g->trail)
                audit_trail_log(g->trail, "network_changed",
                                json_pack("{s:o, s:o, s:I}", "added", rules_only_in(&now, &before), "removed",
                                          rules_only_in(&before, &now), "closed", (json_int_t)g->closed));
        return 0;
}

void egress_process_stop(struct egress_process *g)
{
        int64_t now = clock_ms(), until = now + EGRESS_TIMEOUT_MS;
        for (egress_receive(g); g->events >= 0 && now < until; egress_receive(g), now = clock_ms()) {
                struct pollfd event = { .fd = g->events, .events = POLLIN };
                (void)poll(&event, 1, (int)(until - now));
        }
        fd_close(&g->events);
        if (g->pid > 0) {
                (void)kill(g->pid, SIGKILL);
                while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        loopback_proxies_close(&g->proxies);
        *g = EGRESS_PROCESS_NONE;
}
