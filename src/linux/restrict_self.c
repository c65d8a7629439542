/* A process confines itself, by the walls (box_setup.h) that do not need a keeper; see platform.h. */
#include <dirent.h>
#include <errno.h>

#include "linux/box_setup.h"
#include "linux/landlock_only.h"
#include "linux/resolved_paths.h"
#include "policy/input_limits.h"

static size_t count_threads(void)
{
        size_t count = 0;
        DIR *dir = opendir("/proc/self/task");
        for (struct dirent *d; dir && (d = readdir(dir));) // cppcheck-suppress readdirCalled
                count += *d->d_name != '.';
        if (dir)
                (void)closedir(dir);
        return count;
}

static int confine_self(const struct self_confinement *self, struct error *e)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < wall_count; i++)
                if (walls[i]->confine_self)
                        r = walls[i]->confine_self(self, e);
        return r;
}

/*
 * Refuses what needs a keeper. A network needs one, because without a network namespace the keeper makes the sockets.
 */
static int check_plan(const struct plan *plan, struct error *e)
{
        static const enum plan_scalar unsupported[] = { PLAN_MEMORY,  PLAN_CPU,   PLAN_PROCESSES,
                                                        PLAN_TIMEOUT, PLAN_AUDIT, PLAN_ALLOW_NETWORK };
        if (plan->scalar[PLAN_NAMESPACES].value || plan->scalar[PLAN_LEVEL].value != LEVEL_STANDARD)
                return error_set(e, ENOTSUP, "a process can confine itself only at level standard");
        for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++)
                if (plan->scalar[unsupported[i]].value)
                        return error_set(e, ENOTSUP, "a process that confines itself cannot enforce %s",
                                         plan_scalar_name(unsupported[i]));
        return 0;
}

int platform_restrict_self(const struct plan *plan, struct error *e)
{
        const struct resolved_path *example = NULL;
        struct resolved_paths places = { 0 };
        const struct self_confinement self = { plan, &places };
        size_t unenforced = 0;
        int r = check_plan(plan, e);
        if (r < 0)
                return r;
        if (count_threads() != 1)
                return error_set(e, EBUSY, "a process with more than one thread cannot confine itself");
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        if (!arena)
                return error_errno(e, ENOMEM, "no memory");
        r = resolve_paths(plan, false, arena, &places, e);
        if (r == 0)
                r = landlock_only_check(plan, &places, false, &unenforced, &example, e);
        if (r == 0 && unenforced && !plan->scalar[PLAN_BEST_EFFORT].value)
                r = error_set(e, ENOTSUP, "without namespaces %s cannot be protected", example->path);
        return r < 0 ? r : confine_self(&self, e);
}

int platform_restrict_to_network(struct error *e)
{
        return confine_self(&(struct self_confinement){ 0 }, e);
}
