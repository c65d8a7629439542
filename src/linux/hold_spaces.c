/*
 * spaces: the keeper was cloned into its namespaces; here it becomes somebody in them and gets a root of its own (root.c).
 * The person keeps their own ids inside, so that files belong to who they should.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/hold.h"
#include "linux/root.h"

static int write_map(const char *path, const char *text, struct error *e)
{
        CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
        return r < 0 ? error_errno(e, -r, "user namespace", "cannot write %s", path) : 0;
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

static int prepare(struct site *site, struct error *e)
{
        static const char name[] = "ringwall";
        int r = site_has(site->plan, SPACE_USER) ? map_user(site->uid, site->gid, e) : 0;
        if (r == 0 && site_has(site->plan, SPACE_UTS) && sethostname(name, strlen(name)) < 0)
                r = error_errno(e, errno, "uts namespace", "cannot set the host name");
        if (r == 0 && site_has(site->plan, SPACE_MOUNT))
                r = root_enter(site->plan, e);
        return r;
}

/*
 * On kernels before 6.12: abstract unix sockets belong to a network namespace, and there Landlock cannot keep the host's
 * apart. A plan without network does not notice.
 */
uint64_t hold_spaces_of(const struct plan *plan, int landlock_abi)
{
        uint64_t spaces = plan->number[PLAN_NAMESPACES].number;
        bool shares = (spaces & SPACE_USER) && !(spaces & SPACE_NET) && !plan->number[PLAN_ALLOW_NETWORK].number;
        return shares && landlock_abi < 6 ? spaces | SPACE_NET : spaces;
}

static void report(const struct standing *s, struct text *out)
{
        uint64_t spaces = hold_spaces_of(s->plan, s->landlock_abi);
        if (spaces)
                plan_print_number(PLAN_NAMESPACES, spaces, out);
}

const struct hold hold_spaces = { "spaces", prepare, NULL, report };
