/*
 * The walls in the order in which they are put up; see hold.h.
 *
 * limits first, while /proc is still the machine's and can be written. spaces makes the box; net needs its capabilities,
 * which harden gives up. The terminal is no wall, but Landlock has to know it. seccomp is last: whatever comes before it
 * may make calls that it forbids.
 */
#include "linux/hold.h"

#include "base/memory.h"
#include "wire/wire.h"

const struct hold *const holds[] = {
        &hold_limits, &hold_spaces, &hold_net, &hold_harden, &hold_terminal, &hold_landlock, &hold_seccomp,
};
const size_t hold_count = ARRAY_SIZE(holds);

bool site_has(const struct plan *plan, uint64_t space)
{
        return plan->number[PLAN_NAMESPACES].number & space;
}

static void tell(const struct site *site, struct box_message m, int fd)
{
        m.error.stage = NULL; /* not valid in another process */
        (void)wire_send(site->control, &m, sizeof m, fd);
}

void site_tell(const struct site *site, enum box_message_kind kind, int number, const struct error *e)
{
        tell(site, (struct box_message){ .kind = kind, .number = number, .error = e ? *e : (struct error){ 0 } }, -1);
}

void site_tell_fd(const struct site *site, enum box_message_kind kind, int fd)
{
        tell(site, (struct box_message){ .kind = kind }, fd);
}
