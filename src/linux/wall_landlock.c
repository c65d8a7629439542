/*
 * landlock: with mounts it enforces a second time where the box may write (confine.c); without mounts it enforces the
 * file rules itself, together with the guard (landlock_only.c). The keeper builds the ruleset. The command's process
 * enforces it on itself or, with mounts and a guard, inherits it from the keeper (enforce_in_keeper()).
 *
 * A box without a network namespace may connect to the ports of its proxies, and to the ports of the host that its plan
 * names. Its sockets ensure that only the host's loopback is reached (socket_server.c).
 *
 * Without a pid namespace the keeper, with all that it will start, also enters a domain whose signals cannot leave it.
 * Then kill(-1) does what it does in a pid namespace: one call reaches every process of the box, however fast they
 * fork, and no other process.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "linux/box_setup.h"
#include "linux/landlock_only.h"
#include "linux/confine.h"
#include "wire/egress_protocol.h"
#include "linux/filter_install.h"
#include "linux/probes.h"
#include "linux/scratch.h"
#include "policy/input_limits.h"

/* Finds the places, checks that Landlock alone can enforce them, and makes the private directory. */
static int prepare_landlock_only(struct box_setup *setup, struct error *e)
{
        struct arena *arena = arena_new(ARENA_BYTES_MAX); /* never freed: used as long as the keeper runs */
        size_t unenforced = 0;
        const struct resolved_path *example = NULL;
        bool guarded = setup->guard != FILTER_NO_GUARD;
        if (!arena)
                return error_errno(e, ENOMEM, "no memory");
        int r = resolve_paths(setup->plan, guarded, arena, &setup->places, e);
        if (r == 0)
                r = landlock_only_check(setup->plan, &setup->places, guarded, &unenforced, &example, e);
        if (r < 0)
                return r;
        if (unenforced) {
                struct error note;
                error_set(&note, ENOTSUP, "without namespaces %s is not protected%s; --level strict protects it",
                          example->path, unenforced > 1 ? ", nor are others" : "");
                send_to_front(setup, BOX_SHORTFALL, (int)unenforced, &note);
        }
        return scratch_dir_create(setup->request->scratch, e);
}

/* Allows the ports that a box without a network namespace may connect to. It may not bind any. */
static int allow_ports(const struct box_setup *setup, struct ruleset *rules)
{
        const struct proxy_endpoints *proxies = setup->request->proxies;
        const struct ports *local = &setup->plan->local_ports;
        int r = ruleset_allow_connect(rules, proxies->http);
        if (r == 0)
                r = ruleset_allow_connect(rules, proxies->socks);
        for (size_t i = 0; r == 0 && i < local->count; i++)
                r = ruleset_allow_connect(rules, local->list[i].port);
        return r;
}

/*
 * The keeper must not be able to signal the front, which has the same user id, any more: otherwise kill(-1) would kill
 * all processes of the person.
 */
static bool scope_signals(void)
{
        pid_t front = getppid();
        return kill(front, 0) == 0 && ruleset_scope_signals() == 0 && kill(front, 0) < 0 && errno == EPERM;
}

/*
 * A process can read the memory of another only in its own Landlock domain or in a nested one. So with a guard the
 * keeper enforces the ruleset on itself, the guard inherits it, and the command enters a nested domain, which its
 * signals cannot leave. Without namespaces the keeper stays outside, where it can remove the scratch directory; there
 * the command's process enforces the ruleset, forks the guard, and then enters the nested domain.
 */
static int enforce_in_keeper(struct box_setup *setup, struct error *e)
{
        int r = ruleset_enforce(&setup->rules, e);
        return r < 0 ? r : ruleset_begin_scopes(&setup->rules, e);
}

static int prepare(struct box_setup *setup, struct error *e)
{
        bool mounts = plan_has_namespace(setup->plan, NAMESPACE_MOUNT);
        int r = mounts ? 0 : prepare_landlock_only(setup, e);
        if (r < 0)
                return r;
        setup->signals_scoped = !plan_has_namespace(setup->plan, NAMESPACE_PID) && scope_signals();
        r = mounts ? landlock_under_mounts_build(setup->plan, &setup->rules, e)
                   : landlock_only_build(setup->plan, &setup->places, setup->request->scratch, setup->pty.slave,
                                         &setup->rules, e);
        if (r == 0 && setup->request->proxies)
                r = allow_ports(setup, &setup->rules);
        return r == 0 && mounts && setup->guard != FILTER_NO_GUARD ? enforce_in_keeper(setup, e) : r;
}

static int fork_guard_and_nest(const struct box_setup *setup, struct error *e)
{
        struct ruleset scopes = { .fd = -1 };
        int r = guard_fork_before_listener(&setup->guard_start);
        if (r < 0)
                return error_errno(e, -r, "cannot start the guard");
        r = setup->guard_start.has_ptrace ? confine_capabilities(false, e) : 0;
        if (r == 0)
                r = ruleset_begin_scopes(&scopes, e);
        return r < 0 || scopes.fd < 0 ? r : ruleset_enforce(&scopes, e);
}

static int apply(struct box_setup *setup, struct error *e)
{
        struct ruleset rules = setup->rules; /* a copy: the keeper closes the original */
        bool guarded = setup->guard != FILTER_NO_GUARD;
        int r = rules.fd < 0 && guarded ? 0 : ruleset_enforce(&rules, e);
        return r == 0 && guarded && !plan_has_namespace(setup->plan, NAMESPACE_MOUNT) ? fork_guard_and_nest(setup, e)
                                                                                      : r;
}

/* Private directories are not granted: no process would remove them. */
static int confine_self(const struct self_confinement *self, struct error *e)
{
        struct ruleset rules = { .fd = -1 };
        int r = self->plan ? landlock_only_build(self->plan, self->places, NULL, -1, &rules, e)
                           : ruleset_new(&rules, true, e);
        return r < 0 ? r : ruleset_enforce(&rules, e);
}

static void report(const struct enforced_state *s, struct text *out)
{
        text_format(out, "ABI %d%s", s->landlock_abi,
                    plan_has_namespace(s->plan, NAMESPACE_MOUNT) ? ", under mounts" : "");
}

const struct wall_ops wall_landlock = {
        "landlock",     .probe = probe_landlock,      .prepare = prepare,
        .apply = apply, .confine_self = confine_self, .report = report,
};
