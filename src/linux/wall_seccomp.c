/*
 * seccomp: the filter that was compiled with ringwall for the plan's rights (filter_install.c), installed only in the
 * command's process. Its listener is sent to the keeper, which passes it to the guard or the socket server if the box
 * has one, and otherwise answers and counts the refused calls itself (refused_calls.c).
 */
#include "base/fd.h"
#include "linux/box_setup.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/landlock_table.h"
#include "linux/probes.h"
#include "wire/packet.h"

unsigned filter_rights_from_plan(const struct plan *plan, int guard)
{
        const struct plan_value *n = plan->scalar;
        bool mounts = n[PLAN_NAMESPACES].value & NAMESPACE_MOUNT;
        bool guards_connect = guard != FILTER_NO_GUARD && (guard & FILTER_GUARD_CONNECT);
        return (n[PLAN_ALLOW_EXEC].value ? FILTER_EXEC : 0U) | (n[PLAN_ALLOW_FORK].value ? FILTER_FORK : 0U) |
               (!n[PLAN_ALLOW_NETWORK].value ? 0U
                : plan_has_own_network(plan) ? FILTER_NETWORK
                                             : FILTER_SOCKET_SERVER) |
               (n[PLAN_NAMESPACES].value & NAMESPACE_IPC ? FILTER_IPC : 0U) |
               (n[PLAN_NAMESPACES].value & NAMESPACE_PID ? FILTER_PRIORITIES : 0U) |
               (mounts || guards_connect || landlock_has(FEATURE_LANDLOCK_UNIX) ? FILTER_UNIX : 0U);
}

static int apply(struct box_setup *setup, struct error *e)
{
        int listener = -1;
        int r = filter_install(filter_rights_from_plan(setup->plan, setup->guard), setup->guard, &listener);
        if (r == 0)
                r = packet_send(setup->to_keeper, "", 1, listener);
        fd_close(&listener);
        return r < 0 ? error_errno(e, -r, "cannot install the filter") : 0;
}

/* There is no listener, so calls that the filter would notify fail with ENOSYS. */
static int confine_self(const struct self_confinement *self, struct error *e)
{
        unsigned rights = self->plan ? filter_rights_from_plan(self->plan, FILTER_NO_GUARD) : FILTER_NETWORK;
        int r = filter_install(rights, FILTER_NO_GUARD, NULL);
        return r < 0 ? error_errno(e, -r, "cannot install the filter") : 0;
}

static void report(const struct enforced_state *s, struct text *out)
{
        static const struct {
                enum plan_scalar right;
                const char *without;
        } rights[] = {
                { PLAN_ALLOW_EXEC, ", no exec" },
                { PLAN_ALLOW_FORK, ", no fork" },
                { PLAN_ALLOW_NETWORK, ", no network" },
        };
        text_add(out, "allowed calls only");
        for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
                if (!s->plan->scalar[rights[i].right].value)
                        text_add(out, rights[i].without);
}

const struct wall_ops wall_seccomp = {
        "seccomp", .probe = probe_seccomp, .apply = apply, .confine_self = confine_self, .report = report,
};
