/*
 * harden: privileges that a process gives up (confine.c), and descriptors that it must not pass on. The keeper gives up
 * its privileges here, so walls that need them come before. The box cannot read the keeper's memory; it can read the
 * command's, because debuggers must work in a box.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/box_setup.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/probes.h"

/* In the keeper: the command's process inherits it, and keeps it across exec. */
static int apply_mdwe(const struct box_setup *setup, struct error *e)
{
        int r = setup->plan->scalar[PLAN_MDWE].value ? enable_mdwe(e) : 0;
        if (r < 0 && setup->plan->scalar[PLAN_BEST_EFFORT].value) {
                send_to_front(setup, BOX_SHORTFALL, 0, e);
                *e = (struct error){ 0 };
                r = 0;
        }
        return r;
}

static int prepare(struct box_setup *setup, struct error *e)
{
        int r = apply_mdwe(setup, e);
        if (r == 0)
                r = drop_privileges(setup->guard != FILTER_NO_GUARD && setup->guard_start.has_ptrace, e);
        if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
                r = error_errno(e, errno, "cannot make the keeper's memory unreadable");
        return r;
}

/* From here on every descriptor except the first three is closed by exec. */
static int apply(struct box_setup *setup, struct error *e)
{
        /* CAP_SYS_PTRACE, which the keeper keeps for the guard. Without namespaces this process has yet to fork the
           guard, so it keeps it as well. */
        bool has_capability = setup->guard != FILTER_NO_GUARD && plan_has_namespace(setup->plan, NAMESPACE_MOUNT);
        int r = has_capability ? confine_capabilities(false, e) : 0;
        if (r < 0)
                return r;
        /* The kernel writes core files into the working directory, past every rule by name. */
        const struct rlimit none = { 0, 0 };
        if (setrlimit(RLIMIT_CORE, &none) < 0)
                return error_errno(e, errno, "cannot forbid core dumps");
        if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
                return error_errno(e, errno, "cannot mark the other descriptors close-on-exec");
        return 0;
}

static int confine_self(const struct self_confinement *self, struct error *e)
{
        int r = self->plan && self->plan->scalar[PLAN_MDWE].value ? enable_mdwe(e) : 0;
        return r < 0 ? r : drop_privileges(false, e);
}

static void report(const struct enforced_state *s, struct text *out)
{
        text_add(out, "no capabilities, no new privileges, no descriptors except the first three");
        /* with best effort a note says if it is not enforced */
        if (s->plan->scalar[PLAN_MDWE].value && !s->plan->scalar[PLAN_BEST_EFFORT].value)
                text_add(out, ", no new code");
}

const struct wall_ops wall_harden = {
        "harden",       .probe = probe_harden,        .prepare = prepare,
        .apply = apply, .confine_self = confine_self, .report = report,
};
