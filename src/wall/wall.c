/*
 * The names of the features and the way a report is filled. Theory of operation: wall.h. Pure data and string work:
 * no system calls, no state, so it builds and tests on any platform.
 */
#include "wall/wall.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static const struct feature_info feature_infos[FEATURE_COUNT] = {
        [FEATURE_CONTAINER] = { "surroundings.container", "inside a container", true },
        [FEATURE_APPARMOR_USERNS] = { "surroundings.apparmor_userns", "AppArmor limits userns", true },
        [FEATURE_USERNS_SYSCTL] = { "surroundings.userns_sysctl", "a sysctl forbids userns", true },
        [FEATURE_FILTERED] = { "surroundings.filtered", "already filtered", true },

        [FEATURE_OPENAT2] = { "calls.openat2", "openat2", false },
        [FEATURE_PIDFD] = { "calls.pidfd", "pidfd", false },
        [FEATURE_CLONE3] = { "calls.clone3", "clone3", false },
        [FEATURE_CLOSE_RANGE] = { "calls.close_range", "close_range", false },

        [FEATURE_LANDLOCK] = { "landlock.enforced", "enforced", false },
        [FEATURE_LANDLOCK_FILES] = { "landlock.files", "files", false },
        [FEATURE_LANDLOCK_REFER] = { "landlock.refer", "move between dirs", false },
        [FEATURE_LANDLOCK_TRUNCATE] = { "landlock.truncate", "truncation", false },
        [FEATURE_LANDLOCK_TCP] = { "landlock.tcp", "TCP by port", false },
        [FEATURE_LANDLOCK_IOCTL_DEV] = { "landlock.ioctl_dev", "ioctl on devices", false },
        [FEATURE_LANDLOCK_SCOPE] = { "landlock.scope", "signals and IPC", false },
        [FEATURE_LANDLOCK_AUDIT] = { "landlock.audit", "audit switches", false },
        [FEATURE_LANDLOCK_TSYNC] = { "landlock.tsync", "all threads at once", false },
        [FEATURE_LANDLOCK_UNIX] = { "landlock.unix", "unix sockets by path", false },
        [FEATURE_LANDLOCK_UDP] = { "landlock.udp", "UDP by port", false },

        [FEATURE_SECCOMP] = { "seccomp.filter", "filter", false },
        [FEATURE_SECCOMP_ACTIONS] = { "seccomp.actions", "actions", false },

        [FEATURE_NO_NEW_PRIVS] = { "harden.no_new_privs", "no_new_privs", false },
        [FEATURE_CAPABILITIES] = { "harden.capabilities", "capabilities emptied", false },
        [FEATURE_MDWE] = { "harden.mdwe", "write xor execute", false },

        [FEATURE_USER] = { "spaces.user", "user namespace", false },
        [FEATURE_PID] = { "spaces.pid", "pid namespace", false },
        [FEATURE_MOUNT] = { "spaces.mount", "mount namespace", false },
        [FEATURE_IPC] = { "spaces.ipc", "ipc namespace", false },
        [FEATURE_UTS] = { "spaces.uts", "uts namespace", false },
        [FEATURE_CGROUP] = { "spaces.cgroup", "cgroup namespace", false },
        [FEATURE_TOGETHER] = { "spaces.together", "all by one clone3", false },
        [FEATURE_ROOT] = { "spaces.root", "new root", false },
        [FEATURE_PROC] = { "spaces.proc", "fresh /proc", false },
        [FEATURE_OVERLAY] = { "spaces.overlay", "overlay", false },

        [FEATURE_CGROUP2] = { "limits.cgroup2", "cgroup v2", false },
        [FEATURE_DELEGATION] = { "limits.delegation", "delegated cgroup", false },
        [FEATURE_INTO_CGROUP] = { "limits.into_cgroup", "born in a cgroup", false },
        [FEATURE_MANAGER] = { "limits.manager", "systemd manager", false },
        [FEATURE_NPROC] = { "limits.nproc", "RLIMIT_NPROC", false },

        [FEATURE_NOTIFY] = { "guard.notify", "notification", false },
        [FEATURE_ADDFD] = { "guard.addfd", "fd into the box", false },
        [FEATURE_WAIT_KILLABLE] = { "guard.wait_killable", "signals wait", false },
        [FEATURE_READ_MEMORY] = { "guard.read_memory", "arguments read", false },

        [FEATURE_NET] = { "net.namespace", "net namespace", false },
        [FEATURE_LOOPBACK] = { "net.loopback", "loopback", false },
        [FEATURE_NFTABLES] = { "net.nftables", "nftables NAT", false },
        [FEATURE_REDIRECT] = { "net.redirect", "TCP caught", false },
};

const struct feature_info *feature_info(enum feature_id id)
{
        return &feature_infos[id];
}

const char *feature_state_name(enum feature_state state)
{
        static const char *const names[] = {
                [FEATURE_UNASKED] = "unasked",
                [FEATURE_NO] = "no",
                [FEATURE_PARTLY] = "partly",
                [FEATURE_YES] = "yes",
        };
        return names[state];
}

/* Copies as much as fits, in whole characters. */
static void copy_cut(char *to, size_t size, const char *from)
{
        static const char mark[] = "…";
        size_t length = strlen(from);
        if (length < size) {
                memcpy(to, from, length + 1);
                return;
        }
        size_t keep = 0;
        for (;;) {
                size_t step = text_utf8_step(from + keep, length - keep);
                if (keep + step + sizeof mark > size)
                        break;
                keep += step;
        }
        memcpy(to, from, keep);
        memcpy(to + keep, mark, sizeof mark);
}

void feature_set(struct probe_report *report, enum feature_id id, enum feature_state state, int error,
                 const char *format, ...)
{
        struct feature *f = &report->features[id];
        char raw[512];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(raw, sizeof raw, format, args);
        va_end(args);

        CLEANUP_TEXT struct text visible = { 0 };
        text_add_visible(&visible, raw, strlen(raw));
        f->state = state;
        f->error = error;
        copy_cut(f->detail, sizeof f->detail, visible.data ? visible.data : "");
}

void wall_probe(const struct wall *walls, size_t count, struct probe_report *report)
{
        *report = (struct probe_report){ 0 };
        for (size_t i = 0; i < count; i++)
                walls[i].probe(report);
}
