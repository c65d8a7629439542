/*
 * The table of features, and the function that fills a report. Theory of operation: wall.h. Makes no system calls and
 * keeps no state, so it builds and runs on any platform.
 */
#include "feature/feature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static const struct feature_info feature_infos[FEATURE_COUNT] = {
        [FEATURE_CONTAINER] = { "host.container", "inside a container", true },
        [FEATURE_APPARMOR_USERNS] = { "host.apparmor_userns", "AppArmor limits userns", true },
        [FEATURE_USERNS_SYSCTL] = { "host.userns_sysctl", "a sysctl forbids userns", true },
        [FEATURE_OUTER_SECCOMP] = { "host.filtered", "under seccomp filters", true },

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

        [FEATURE_USER_NAMESPACE] = { "namespaces.user", "user namespace", false },
        [FEATURE_PID_NAMESPACE] = { "namespaces.pid", "pid namespace", false },
        [FEATURE_MOUNT_NAMESPACE] = { "namespaces.mount", "mount namespace", false },
        [FEATURE_IPC_NAMESPACE] = { "namespaces.ipc", "ipc namespace", false },
        [FEATURE_UTS_NAMESPACE] = { "namespaces.uts", "uts namespace", false },
        [FEATURE_CGROUP_NAMESPACE] = { "namespaces.cgroup", "cgroup namespace", false },
        [FEATURE_NAMESPACES_COMBINED] = { "namespaces.together", "all by one clone3 call", false },
        [FEATURE_PIVOT_ROOT] = { "namespaces.root", "new root", false },
        [FEATURE_MOUNT_PROC] = { "namespaces.proc", "fresh /proc", false },
        [FEATURE_OVERLAY] = { "namespaces.overlay", "overlay", false },

        [FEATURE_CGROUP2] = { "limits.cgroup2", "cgroup v2", false },
        [FEATURE_CGROUP_DELEGATION] = { "limits.delegation", "delegated cgroup", false },
        [FEATURE_CLONE_INTO_CGROUP] = { "limits.into_cgroup", "clone into a cgroup", false },
        [FEATURE_SYSTEMD_SCOPE] = { "limits.manager", "systemd manager", false },
        [FEATURE_NPROC] = { "limits.nproc", "RLIMIT_NPROC", false },

        [FEATURE_NOTIFY] = { "guard.notify", "notification", false },
        [FEATURE_ADDFD] = { "guard.addfd", "put fd into the caller", false },
        [FEATURE_WAIT_KILLABLE] = { "guard.wait_killable", "delay signals", false },
        [FEATURE_VM_READV] = { "guard.read_memory", "read caller's memory", false },

        [FEATURE_NET_NAMESPACE] = { "net.namespace", "net namespace", false },
        [FEATURE_LOOPBACK] = { "net.loopback", "loopback", false },
        [FEATURE_NFTABLES] = { "net.nftables", "nftables NAT", false },
        [FEATURE_TCP_REDIRECT] = { "net.redirect", "TCP redirection", false },
};

const struct feature_info *feature_info(enum feature_id id)
{
        return &feature_infos[id];
}

const char *feature_state_name(enum feature_state state)
{
        static const char *const names[] = {
                [FEATURE_UNKNOWN] = "unasked",
                [FEATURE_NO] = "no",
                [FEATURE_PARTIAL] = "partly",
                [FEATURE_YES] = "yes",
        };
        return names[state];
}

/* Copies as many whole characters as fit, and appends "…" if some did not. */
static void copy_truncated(char *to, size_t size, const char *from)
{
        static const char ellipsis[] = "…";
        size_t length = strlen(from);
        if (length < size) {
                memcpy(to, from, length + 1);
                return;
        }
        size_t kept = 0;
        for (;;) {
                size_t step = text_utf8_sequence_length(from + kept, length - kept);
                if (kept + step + sizeof ellipsis > size)
                        break;
                kept += step;
        }
        memcpy(to, from, kept);
        memcpy(to + kept, ellipsis, sizeof ellipsis);
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
        text_add_escaped(&visible, raw, strlen(raw));
        f->state = state;
        f->error = error;
        copy_truncated(f->detail, sizeof f->detail, visible.data ? visible.data : "");
}
