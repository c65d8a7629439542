/*
 * harden: what a process gives up (confine.c), and what it must not hand on. The keeper gives up its privileges here, so
 * whatever needs them comes before. Its memory is shut to the box; the command's own is not, for debuggers work in a box.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/confine.h"
#include "linux/hold.h"

/* In the keeper and not in the command's process: what that executes gets it from us. */
static int deny_new_code(const struct site *site, struct error *e)
{
        int r = site->plan->number[PLAN_MDWE].number ? confine_memory(e) : 0;
        if (r < 0 && site->plan->number[PLAN_BEST_EFFORT].number) {
                site_tell(site, BOX_NOTE, 0, e);
                *e = (struct error){ 0 };
                r = 0;
        }
        return r;
}

static int prepare(struct site *site, struct error *e)
{
        int r = deny_new_code(site, e);
        if (r == 0)
                r = confine_privileges(e);
        if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
                r = error_errno(e, errno, "start", "cannot shut the keeper's memory");
        return r;
}

/* From here on every descriptor but the first three ends with exec, whoever opened it. */
static int apply(struct site *site, struct error *e)
{
        (void)site;
        if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
                return error_errno(e, errno, "start", "cannot close the other descriptors");
        return 0;
}

static void report(const struct standing *s, struct text *out)
{
        text_add(out, "no capabilities, no new privileges, no descriptors but three");
        if (s->plan->number[PLAN_MDWE].number && !s->plan->number[PLAN_BEST_EFFORT].number) /* then a note says if not */
                text_add(out, ", no new code");
}

const struct hold hold_harden = { "harden", prepare, apply, report };
