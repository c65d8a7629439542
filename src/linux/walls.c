/*
 * The table of Linux's walls; see wall/wall.h for what a wall is and each wall's own file for how it works. The
 * first, the second and the last entry are no walls but belong to every asking: what stands around, what all lean on,
 * what would help.
 */
#include "linux/linux.h"

#include "base/memory.h"
#include "linux/probes.h"

const struct wall linux_walls[] = {
        { "surroundings", surroundings_probe },
        { "calls", calls_probe },
        { "landlock", landlock_probe },
        { "seccomp", seccomp_probe },
        { "harden", harden_probe },
        { "spaces", spaces_probe },
        { "limits", limits_probe },
        { "guard", guard_probe },
        { "net", net_probe },
        { "remedies", surroundings_remedy },
};
const size_t linux_wall_count = ARRAY_SIZE(linux_walls);
