/*
 * The walls in the order in which they are applied; see box_setup.h.
 *
 * limits comes first, while /proc is still the machine's and can be written. namespaces makes the root; guard reads
 * files in it; net needs the capabilities, which harden gives up. The terminal is not a wall, but Landlock has to grant
 * it. seccomp is last: the other walls may make calls that it forbids.
 */
#include "linux/box_setup.h"

#include "base/memory.h"
#include "linux/probes.h"
#include "wire/packet.h"

const struct wall_ops *const walls[] = {
        &wall_limits, &wall_namespaces, &wall_guard,    &wall_net,
        &wall_harden, &wall_terminal,   &wall_landlock, &wall_seccomp,
};
const size_t wall_count = ARRAY_SIZE(walls);

void platform_probe(struct probe_report *ret)
{
        *ret = (struct probe_report){ 0 };
        host_probe(ret);
        probe_syscalls(ret);
        for (size_t i = 0; i < wall_count; i++)
                if (walls[i]->probe)
                        walls[i]->probe(ret);
        host_find_remedies(ret);
}

const char *platform_wall_name(size_t index)
{
        return index < wall_count ? walls[index]->name : NULL;
}

void platform_describe_wall(size_t index, const struct enforced_state *state, struct text *out)
{
        if (walls[index]->report)
                walls[index]->report(state, out);
}

bool plan_has_own_network(const struct plan *plan)
{
        return plan->scalar[PLAN_ALLOW_NETWORK].value && (plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_NET);
}

bool plan_has_namespace(const struct plan *plan, uint64_t namespace_bits)
{
        return plan->scalar[PLAN_NAMESPACES].value & namespace_bits;
}

static void post(const struct box_setup *setup, struct box_message m, int fd)
{
        (void)packet_send(setup->to_front, &m, sizeof m, fd);
}

void send_to_front(const struct box_setup *setup, enum box_message_kind kind, int number, const struct error *e)
{
        post(setup, (struct box_message){ .kind = kind, .number = number, .error = e ? *e : (struct error){ 0 } }, -1);
}

void send_fd_to_front(const struct box_setup *setup, enum box_message_kind kind, int fd)
{
        post(setup, (struct box_message){ .kind = kind }, fd);
}
