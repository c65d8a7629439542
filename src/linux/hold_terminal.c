/* The terminal of the box's own (pty.c), and the other streams of the command. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/hold.h"

static int prepare(struct site *site, struct error *e)
{
        int r = pty_open(&site->pty, site->request->terminals, site->request->foreground, e);
        if (r < 0)
                return r;
        if (site->pty.master >= 0)
                site_tell_fd(site, BOX_TERMINAL, site->pty.master);
        fd_close(&site->pty.master); /* the front's alone, so that the terminal hangs up when it is gone */
        return 0;
}

/* The caller's descriptors as the first three. Above them first, because one may stand where another belongs. */
static int wear_streams(const int streams[3])
{
        int high[3];
        for (int i = 0; i < 3; i++)
                if ((high[i] = fcntl(streams[i], F_DUPFD_CLOEXEC, 3)) < 0)
                        return -errno;
        for (int i = 0; i < 3; i++)
                if (dup2(high[i], i) < 0)
                        return -errno;
        return 0;
}

static int apply(struct site *site, struct error *e)
{
        int r = setpgid(0, 0) < 0 ? -errno : pty_wear(&site->pty, site->request->foreground);
        if (r == 0 && site->request->streams)
                r = wear_streams(site->request->streams);
        return r < 0 ? error_errno(e, -r, "start", "cannot make a process group with its streams") : 0;
}

const struct hold hold_terminal = { "terminal", prepare, apply, NULL };
