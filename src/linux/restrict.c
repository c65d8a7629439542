/*
 * Restricting oneself; see restrict.h.
 *
 * The same steps as between fork and exec of a command (launch.c), without a keeper: nobody listens to the filter, so
 * what it would tell of fails with ENOSYS, and private directories are not granted instead of being elsewhere.
 */
#include "linux/restrict.h"

#include <dirent.h>
#include <errno.h>

#include "linux/carve.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/places.h"
#include "linux/ruleset.h"
#include "policy/caps.h"

static const char stage[] = "restrict";

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

int restrict_self(const struct plan *plan, struct error *e)
{
        const struct place *example = NULL;
        struct places places = { 0 };
        struct ruleset rules = { .fd = -1 };
        size_t unheld = 0;
        if (plan->number[PLAN_NAMESPACES].number || plan->number[PLAN_LEVEL].number != LEVEL_STANDARD)
                return error_set(e, ENOTSUP, stage, "a process can only take level standard upon itself");
        /* Of the last: its sockets would be the keeper's to make. */
        static const enum plan_number others[] = { PLAN_MEMORY, PLAN_CPU, PLAN_PROCESSES, PLAN_TIMEOUT, PLAN_AUDIT, PLAN_ALLOW_NETWORK };
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (plan->number[others[i]].number)
                        return error_set(e, ENOTSUP, stage, "a process cannot hold %s for itself",
                                         plan_numbers[others[i]].name);
        if (count_threads() != 1)
                return error_set(e, EBUSY, stage, "a process with several threads cannot be confined as a whole");
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        if (!arena)
                return error_errno(e, ENOMEM, stage, "no memory");
        int r = places_find(plan, arena, &places, e);
        if (r == 0)
                r = carve_check(plan, &places, &unheld, &example, e);
        if (r == 0 && unheld && !plan->number[PLAN_BEST_EFFORT].number)
                r = error_set(e, ENOTSUP, stage, "%s is protected, and cannot be without namespaces", example->path);
        if (r == 0 && plan->number[PLAN_MDWE].number)
                r = confine_memory(e);
        if (r == 0)
                r = confine_privileges(e);
        if (r == 0)
                r = carve_files(&places, NULL, -1, &rules, e);
        if (r == 0)
                r = ruleset_enforce(&rules, e);
        if (r < 0)
                return r;
        r = filter_install(filter_rights(plan), NULL);
        return r < 0 ? error_errno(e, -r, "seccomp", "cannot install the filter") : 0;
}
