/*
 * seccomp: the filter that was compiled with ringwall for the plan's rights (filter_install.c), in the command's process
 * alone. Its listener goes to the keeper, which answers and counts what is refused (denials.c).
 */
#include "base/fd.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/hold.h"
#include "wire/wire.h"

static int apply(struct site *site, struct error *e)
{
        int listener = -1;
        int r = filter_install(filter_rights(site->plan), &listener);
        if (r == 0)
                r = wire_send(site->to_keeper, "", 1, listener);
        fd_close(&listener);
        return r < 0 ? error_errno(e, -r, "seccomp", "cannot install the filter") : 0;
}

static void report(const struct standing *s, struct text *out)
{
        static const struct {
                enum plan_number right;
                const char *without;
        } rights[] = {
                { PLAN_ALLOW_EXEC, ", no exec" },
                { PLAN_ALLOW_FORK, ", no fork" },
                { PLAN_ALLOW_NETWORK, ", no network" },
        };
        text_add(out, "allowed calls only");
        for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
                if (!s->plan->number[rights[i].right].number)
                        text_add(out, rights[i].without);
}

const struct hold hold_seccomp = { "seccomp", NULL, apply, report };
