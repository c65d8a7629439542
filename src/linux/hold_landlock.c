/*
 * landlock: files once more under the mounts (confine.c), or files alone where there are none (carve.c). The rules are put
 * together in the keeper; the command's process only takes them upon itself.
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
        return mounts ? confine_files(site->plan, &site->rules, e)
                      : carve_files(site->plan, &site->places, site->request->scratch, site->pty.slave, &site->rules, e);
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
