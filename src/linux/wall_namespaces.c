/*
 * namespaces: the keeper was cloned into its namespaces; here it maps its user id and enters its own root (box_root.c).
 * The person's ids are the same inside, so that new files belong to the person.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/box_setup.h"
#include "linux/landlock_table.h"
#include "linux/probes.h"
#include "linux/box_root.h"

static int write_map(const char *path, const char *text, struct error *e)
{
        CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
        return r < 0 ? error_errno(e, -r, "cannot write %s", path) : 0;
}

static int map_user(uid_t uid, gid_t gid, struct error *e)
{
        char uids[48], gids[48];
        (void)snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
        (void)snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
        int r = write_map("/proc/self/setgroups", "deny", e);
        if (r == 0)
                r = write_map("/proc/self/uid_map", uids, e);
        return r < 0 ? r : write_map("/proc/self/gid_map", gids, e);
}

static int prepare(struct box_setup *setup, struct error *e)
{
        static const char name[] = "ringwall";
        int r = plan_has_namespace(setup->plan, NAMESPACE_USER) ? map_user(setup->uid, setup->gid, e) : 0;
        if (r == 0 && plan_has_namespace(setup->plan, NAMESPACE_UTS) && sethostname(name, strlen(name)) < 0)
                r = error_errno(e, errno, "cannot set the host name");
        if (r == 0)
                r = guard_find_aliases(setup->plan, &setup->aliases, e);
        if (r == 0 && plan_has_namespace(setup->plan, NAMESPACE_MOUNT))
                r = box_root_enter(setup->plan, e);
        return r;
}

/*
 * Before Linux 6.12 Landlock cannot deny the host's abstract unix sockets, which belong to the network namespace. So
 * there a plan without network gets a network namespace of its own, which makes no other difference to the box.
 */
uint64_t box_namespaces(const struct plan *plan, int landlock_abi)
{
        uint64_t namespaces = plan->scalar[PLAN_NAMESPACES].value;
        bool shares_net = (namespaces & NAMESPACE_USER) && !(namespaces & NAMESPACE_NET) &&
                          !plan->scalar[PLAN_ALLOW_NETWORK].value;
        return shares_net && !landlock_abi_has(landlock_abi, FEATURE_LANDLOCK_SCOPE) ? namespaces | NAMESPACE_NET
                                                                                     : namespaces;
}

static void report(const struct enforced_state *s, struct text *out)
{
        uint64_t namespaces = box_namespaces(s->plan, s->landlock_abi);
        if (namespaces)
                plan_print_scalar(PLAN_NAMESPACES, namespaces, out);
}

const struct wall_ops wall_namespaces = { "namespaces", .probe = namespaces_probe, .prepare = prepare,
                                          .report = report };
