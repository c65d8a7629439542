/*
 * landlock: files once more under the mounts (confine.c), or files alone where there are none (carve.c). The rules are put
 * together in the keeper; the command's process only takes them upon itself.
 *
 * A box without a network namespace may connect to its proxies' ports, and to those of the host that its plan names; that it is the
 * host's loopback that it connects to is the sockets' affair (socket_giver.c).
 *
 * Without a pid namespace it also shuts the keeper, with all that it will start, into a domain whose signals cannot leave
 * it. Then kill(-1) is what it is in a pid namespace: one call that reaches every process of the box, however fast they
 * fork, and nobody else.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "linux/carve.h"
#include "linux/confine.h"
#include "linux/egress_wire.h"
#include "linux/hold.h"
#include "linux/scratch.h"
#include "policy/caps.h"

/* Which places there are, whether Landlock alone can hold them, and the private directory. */
static int prepare_carving(struct site *site, struct error *e)
{
        struct arena *arena = arena_new(CAP_ARENA_BYTES); /* lives as long as the keeper */
        size_t unheld = 0;
        const struct place *example = NULL;
        if (!arena)
                return error_errno(e, ENOMEM, "launch", "no memory");
        int r = places_find(site->plan, arena, &site->places, e);
        if (r == 0)
                r = carve_check(site->plan, &site->places, &unheld, &example, e);
        if (r < 0)
                return r;
        if (unheld) {
                struct error note;
                error_set(&note, ENOTSUP, "landlock", "without namespaces %s is not protected%s; --level strict protects it",
                          example->path, unheld > 1 ? ", nor are others" : "");
                site_tell(site, BOX_NOTE, (int)unheld, &note);
        }
        return scratch_make(site->request->scratch, e);
}

/* Where a box without a network namespace may connect to; bind it may nowhere. */
static int allow_ports(const struct site *site, struct ruleset *rules)
{
        const struct egress_proxies *proxies = site->request->proxies;
        const struct ports *local = &site->plan->local_ports;
        int r = ruleset_allow_port(rules, proxies->http);
        if (r == 0)
                r = ruleset_allow_port(rules, proxies->socks);
        for (size_t i = 0; r == 0 && i < local->count; i++)
                r = ruleset_allow_port(rules, local->list[i].port);
        return r;
}

/* The front, which has our user id, must be out of reach afterwards, or kill(-1) would end all that the person runs. */
static bool scope_signals(void)
{
        pid_t front = getppid();
        return kill(front, 0) == 0 && ruleset_scope_signals() == 0 && kill(front, 0) < 0 && errno == EPERM;
}

static int prepare(struct site *site, struct error *e)
{
        bool mounts = site_has(site->plan, SPACE_MOUNT);
        int r = mounts ? 0 : prepare_carving(site, e);
        if (r < 0)
                return r;
        site->scoped = !site_has(site->plan, SPACE_PID) && scope_signals();
        r = mounts ? confine_files(site->plan, &site->rules, e)
                   : carve_files(&site->places, site->request->scratch, site->pty.slave, &site->rules, e);
        return r == 0 && site->request->proxies ? allow_ports(site, &site->rules) : r;
}

static int apply(struct site *site, struct error *e)
{
        struct ruleset rules = site->rules; /* the keeper closes its own */
        return ruleset_enforce(&rules, e);
}

static void report(const struct standing *s, struct text *out)
{
        text_format(out, "ABI %d%s", s->landlock_abi, site_has(s->plan, SPACE_MOUNT) ? ", under mounts" : "");
}

const struct hold hold_landlock = { "landlock", prepare, apply, report };
