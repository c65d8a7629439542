/*
 * Refuses a plan that Linux, or this kernel, cannot enforce; see platform.h. Other obstacles are found when the box is
 * started.
 */
#include <errno.h>

#include "linux/landlock_table.h"
#include "platform/platform.h"
#include "policy/diagnostics.h"

/* For a box without a network namespace. */
static int check_network_of_host(const struct plan *plan, struct error *e)
{
        const struct source from = plan->scalar[PLAN_ALLOW_NETWORK].from;
        if (plan->published.count)
                return error_not_enforceable(
                        plan->published.list[0].from,
                        "publish is not available at level standard: Landlock cannot restrict the address that a "
                        "program listens on; use --level strict",
                        e);
        if (!plan_needs_egress(plan))
                return error_not_enforceable(from,
                                             "at level standard the network needs an allowed host or a local port; "
                                             "use --allow-domain, or --level strict",
                                             e);
        if (landlock_has(FEATURE_LANDLOCK_TCP))
                return 0;
        CLEANUP_TEXT struct text what = { 0 };
        text_format(&what,
                    "level standard needs Linux %s to allow hosts (Landlock's rules for ports); use --level strict",
                    landlock_release(FEATURE_LANDLOCK_TCP));
        return error_not_enforceable(from, what.data ? what.data : "no memory", e);
}

int platform_check_plan(const struct plan *plan, struct error *e)
{
        const struct plan_value *n = plan->scalar;
        uint64_t namespaces = n[PLAN_NAMESPACES].value;
        if (plan->unix_socket_count && !platform_enforces_names(plan))
                return error_not_enforceable(plan->unix_sockets[0].from,
                                             "without namespaces this kernel cannot deny the other unix sockets "
                                             "of the machine; use --level strict",
                                             e);
        if (!(namespaces & NAMESPACE_PID) != !(namespaces & NAMESPACE_MOUNT))
                return error_not_enforceable(n[PLAN_NAMESPACES].from,
                                             "the namespaces pid and mount only work together, because of /proc", e);
        return n[PLAN_ALLOW_NETWORK].value && !(namespaces & NAMESPACE_NET) ? check_network_of_host(plan, e) : 0;
}
