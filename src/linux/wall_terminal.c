/* The box's own terminal (pty.c), and the other streams of the command. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/box_setup.h"

static int prepare(struct box_setup *setup, struct error *e)
{
        int r = pty_open(&setup->pty, setup->request->terminals, setup->request->foreground, e);
        if (r < 0)
                return r;
        if (setup->pty.master >= 0)
                send_fd_to_front(setup, BOX_TERMINAL, setup->pty.master);
        fd_close(&setup->pty.master); /* only the front keeps it, so that the terminal hangs up when the front exits */
        return 0;
}

/* Makes the caller's descriptors 0, 1 and 2. Duplicates them above 2 first, because one may have another's number. */
static int apply_streams(const int streams[3])
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

static int apply(struct box_setup *setup, struct error *e)
{
        int r = setpgid(0, 0) < 0 ? -errno : pty_attach(&setup->pty, setup->request->foreground);
        if (r == 0 && setup->request->streams)
                r = apply_streams(setup->request->streams);
        return r < 0 ? error_errno(e, -r, "cannot set up the process group and the streams of the command") : 0;
}

const struct wall_ops wall_terminal = { "terminal", .prepare = prepare, .apply = apply };
