/*
 * Finds out about the host (container, LSM, sysctls, seccomp filters), to explain why the kernel refuses a feature.
 *
 * What it is for: EPERM from unshare() can come from AppArmor, a sysctl, or a container's filter, and each has its own
 * remedy. The other probes decide whether a level works; this file only chooses the advice.
 *
 * How it works: reads facts from /proc and looks for the marker files and variables of container engines. Remedies are
 * a table: the first row that names the missing feature and whose condition holds gives the advice.
 *
 * What it trusts: markers in the image and the environment can be forged, and forged markers can make us recommend
 * weakening this machine or container. Advice is constant: no text from outside becomes part of a command.
 *
 * Needs of the kernel: /proc.
 */
#include "linux/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

static bool read_text(const char *path, char **ret, size_t *ret_length)
{
        return fd_read_file(path, FILE_BYTES_MAX, ret, ret_length, NULL) == 0;
}

/* False when the file cannot be read or does not contain a number. */
static bool read_number(const char *path, unsigned long long *ret)
{
        CLEANUP_FREE char *text = NULL;
        size_t length;
        if (!read_text(path, &text, &length))
                return false;
        return text_parse_unsigned(text, strcspn(text, "\n"), ret);
}

/*
 * The value of `container=` in pid 1's environment, as systemd-nspawn, lxc and podman set it. Often only root can
 * read it.
 */
static bool read_container_of_pid1(char *ret, size_t size)
{
        CLEANUP_FREE char *environment = NULL;
        size_t length;
        if (!read_text("/proc/1/environ", &environment, &length))
                return false;
        for (size_t at = 0; at < length; at += strlen(environment + at) + 1) {
                if (!text_has_prefix(environment + at, "container="))
                        continue;
                (void)snprintf(ret, size, "%s", environment + at + strlen("container="));
                return ret[0] != '\0';
        }
        return false;
}

/* systemd writes the name of the engine into a file. */
static bool read_container_of_systemd(char *ret, size_t size)
{
        CLEANUP_FREE char *text = NULL;
        size_t length;
        if (!read_text("/run/systemd/container", &text, &length))
                return false;
        text[strcspn(text, "\n")] = '\0';
        (void)snprintf(ret, size, "%s", *text ? text : "unknown engine");
        return true;
}

static void probe_container(struct probe_report *report)
{
        static const struct {
                const char *path, *name;
        } markers[] = {
                { "/run/.containerenv", "podman" },
                { "/.dockerenv", "docker" },
                { "/var/run/secrets/kubernetes.io", "kubernetes" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
                if (access(markers[i].path, F_OK) == 0) {
                        feature_set(report, FEATURE_CONTAINER, FEATURE_YES, 0, "%s: %s exists", markers[i].name,
                                    markers[i].path);
                        return;
                }
        }
        char name[64];
        const char *own = getenv("container");
        if (read_container_of_systemd(name, sizeof name))
                feature_set(report, FEATURE_CONTAINER, FEATURE_YES, 0, "%s: named in /run/systemd/container", name);
        else if (read_container_of_pid1(name, sizeof name))
                feature_set(report, FEATURE_CONTAINER, FEATURE_YES, 0, "%s: container= in process 1's environment",
                            name);
        else if (own && own[0])
                feature_set(report, FEATURE_CONTAINER, FEATURE_YES, 0, "%.60s: container= in the environment", own);
        else
                feature_set(report, FEATURE_CONTAINER, FEATURE_NO, 0, "no sign of a container");
}

static void probe_apparmor(struct probe_report *report)
{
        unsigned long long value;
        if (!read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &value))
                feature_set(report, FEATURE_APPARMOR_USERNS, FEATURE_NO, 0,
                            "cannot read the setting, or this kernel lacks it");
        else
                feature_set(report, FEATURE_APPARMOR_USERNS, value ? FEATURE_YES : FEATURE_NO, 0,
                            "kernel.apparmor_restrict_unprivileged_userns = %llu", value);
}

/* Debian's own switch, and the maximum that every kernel has. */
enum userns_sysctl { UNPRIVILEGED_CLONE, MAXIMUM };

static const struct {
        const char *path, *name;
} userns_sysctls[] = {
        [UNPRIVILEGED_CLONE] = { "/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone" },
        [MAXIMUM] = { "/proc/sys/user/max_user_namespaces", "user.max_user_namespaces" },
};

static bool sysctl_is_zero(enum userns_sysctl which)
{
        unsigned long long value;
        return read_number(userns_sysctls[which].path, &value) && value == 0;
}

/* YES: one of them is 0 and forbids user namespaces. */
static void probe_sysctls(struct probe_report *report)
{
        for (enum userns_sysctl i = 0; i < ARRAY_SIZE(userns_sysctls); i++) {
                if (sysctl_is_zero(i)) {
                        feature_set(report, FEATURE_USERNS_SYSCTL, FEATURE_YES, 0, "%s = 0", userns_sysctls[i].name);
                        return;
                }
        }
        unsigned long long value = 0;
        if (read_number(userns_sysctls[MAXIMUM].path, &value))
                feature_set(report, FEATURE_USERNS_SYSCTL, FEATURE_NO, 0, "user.max_user_namespaces = %llu", value);
        else
                feature_set(report, FEATURE_USERNS_SYSCTL, FEATURE_NO, 0,
                            "cannot read the setting, or this kernel lacks it");
}

static unsigned long long status_number(const char *status, const char *name)
{
        const char *line = strstr(status, name);
        if (!line)
                return 0;
        line += strlen(name);
        unsigned long long value = 0;
        (void)text_parse_unsigned(line, strcspn(line, "\n"), &value);
        return value;
}

static void probe_filtered(struct probe_report *report)
{
        CLEANUP_FREE char *status = NULL;
        size_t length;
        if (!read_text("/proc/self/status", &status, &length)) {
                feature_set(report, FEATURE_OUTER_SECCOMP, FEATURE_UNKNOWN, EIO, "cannot read /proc/self/status");
                return;
        }
        unsigned long long mode = status_number(status, "\nSeccomp:\t");
        unsigned long long filters = status_number(status, "\nSeccomp_filters:\t");
        unsigned long long no_new_privs = status_number(status, "\nNoNewPrivs:\t");
        feature_set(report, FEATURE_OUTER_SECCOMP, mode ? FEATURE_YES : FEATURE_NO, 0,
                    "%llu seccomp filter%s, no_new_privs %s", filters, filters == 1 ? "" : "s",
                    no_new_privs ? "set" : "not set");
}

void host_probe(struct probe_report *report)
{
        probe_container(report);
        probe_apparmor(report);
        probe_sysctls(report);
        probe_filtered(report);
}

/* Does a remedy apply, given the feature that is missing? */
typedef bool remedy_condition(const struct probe_report *r, const struct feature *f);

static bool container_is(const struct probe_report *r, const char *name)
{
        return r->features[FEATURE_CONTAINER].state == FEATURE_YES &&
               text_has_prefix(r->features[FEATURE_CONTAINER].detail, name);
}

static bool kernel_is_at_least(unsigned long long major, unsigned long long minor)
{
        struct utsname kernel;
        static const char digits[] = "0123456789";
        unsigned long long numbers[2] = { 0, 0 };
        if (uname(&kernel) < 0)
                return false;
        const char *at = kernel.release;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                if (!text_parse_unsigned(at, strspn(at, digits), &numbers[i]))
                        return false;
                at += strspn(at, digits);
                at += *at == '.';
        }
        return numbers[0] > major || (numbers[0] == major && numbers[1] >= minor);
}

/* Should the running kernel have the system calls that the probe of this feature makes? */
static bool kernel_should_have(enum feature_id id)
{
        static const struct {
                enum feature_id feature;
                unsigned char major, minor;
        } rows[] = {
                { FEATURE_OPENAT2, 5, 6 },
                { FEATURE_PIDFD, 5, 4 },
                { FEATURE_CLONE3, 5, 3 },
                { FEATURE_CLOSE_RANGE, 5, 9 },
                { FEATURE_LANDLOCK, 5, 13 },
                { FEATURE_NAMESPACES_COMBINED, 5, 3 },
                { FEATURE_PIVOT_ROOT, 5, 12 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].feature == id)
                        return kernel_is_at_least(rows[i].major, rows[i].minor);
        return true;
}

/*
 * A container's filter fails calls with EPERM, or with ENOSYS if it does not know them; AppArmor fails with EACCES. A
 * kernel that is too old fails with ENOSYS too, and then no option of the container helps.
 */
static bool container_may_refuse(const struct probe_report *r, const struct feature *f)
{
        return f->error == EPERM || f->error == EACCES ||
               (f->error == ENOSYS && kernel_should_have((enum feature_id)(f - r->features)));
}

static bool refused_in_docker(const struct probe_report *r, const struct feature *f)
{
        return container_is(r, "docker") && container_may_refuse(r, f);
}

static bool refused_in_podman(const struct probe_report *r, const struct feature *f)
{
        return container_is(r, "podman") && container_may_refuse(r, f);
}

static bool restricted_by_apparmor(const struct probe_report *r, const struct feature *f)
{
        (void)f;
        return r->features[FEATURE_APPARMOR_USERNS].state == FEATURE_YES && geteuid() != 0;
}

static bool unprivileged_clone_is_off(const struct probe_report *r, const struct feature *f)
{
        (void)r, (void)f;
        return sysctl_is_zero(UNPRIVILEGED_CLONE);
}

static bool maximum_is_zero(const struct probe_report *r, const struct feature *f)
{
        (void)r, (void)f;
        return sysctl_is_zero(MAXIMUM);
}

static bool module_missing(const struct probe_report *r, const struct feature *f)
{
        (void)r;
        return f->error == ENODEV || f->error == EPROTONOSUPPORT || f->error == EOPNOTSUPP || f->error == ENOENT;
}

static bool disabled_at_boot(const struct probe_report *r, const struct feature *f)
{
        (void)r;
        return f->error == EOPNOTSUPP;
}

/* A controller that is mounted in a cgroup v1 hierarchy is missing in v2. */
static bool used_by_v1(const struct probe_report *r, const struct feature *f)
{
        (void)f;
        return r->features[FEATURE_CGROUP2].state == FEATURE_PARTIAL && access("/sys/fs/cgroup/memory", F_OK) == 0;
}

static bool user_under_systemd(const struct probe_report *r, const struct feature *f)
{
        (void)r, (void)f;
        return geteuid() != 0 && access("/run/systemd/system", F_OK) == 0;
}

#define ALLOW_CLONE "sudo sysctl -w kernel.unprivileged_userns_clone=1"
#define RAISE_MAXIMUM "sudo sysctl -w user.max_user_namespaces=15000"
#define ALLOW_APPARMOR "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
#define UNCONFINED_DOCKER "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …"
#define UNCONFINED_PODMAN "podman run --security-opt seccomp=unconfined …"

/* The first row that applies wins, so certain causes come before likely ones. */
static const struct remedy {
        enum feature_id first, last; /* a range, in the order of enum feature_id */
        remedy_condition *applies;
        const char *advice;
} remedies[] = {
        { FEATURE_USER_NAMESPACE, FEATURE_OVERLAY, unprivileged_clone_is_off, ALLOW_CLONE },
        { FEATURE_USER_NAMESPACE, FEATURE_OVERLAY, maximum_is_zero, RAISE_MAXIMUM },
        { FEATURE_USER_NAMESPACE, FEATURE_OVERLAY, restricted_by_apparmor, ALLOW_APPARMOR },
        { FEATURE_NET_NAMESPACE, FEATURE_TCP_REDIRECT, unprivileged_clone_is_off, ALLOW_CLONE },
        { FEATURE_NET_NAMESPACE, FEATURE_TCP_REDIRECT, maximum_is_zero, RAISE_MAXIMUM },
        { FEATURE_NET_NAMESPACE, FEATURE_TCP_REDIRECT, restricted_by_apparmor, ALLOW_APPARMOR },
        { FEATURE_OVERLAY, FEATURE_OVERLAY, module_missing, "sudo modprobe overlay" },
        { FEATURE_NFTABLES, FEATURE_TCP_REDIRECT, module_missing,
          "sudo modprobe -a nf_tables nft_chain_nat nft_redir" },
        { FEATURE_LANDLOCK, FEATURE_LANDLOCK, disabled_at_boot,
          "boot with lsm=landlock, followed by the list in /sys/kernel/security/lsm" },
        { FEATURE_MOUNT_PROC, FEATURE_MOUNT_PROC, refused_in_docker,
          "docker run --security-opt systempaths=unconfined …" },
        { FEATURE_MOUNT_PROC, FEATURE_MOUNT_PROC, refused_in_podman, "podman run --security-opt unmask=ALL …" },
        { FEATURE_OPENAT2, FEATURE_OVERLAY, refused_in_docker, UNCONFINED_DOCKER },
        { FEATURE_NOTIFY, FEATURE_TCP_REDIRECT, refused_in_docker, UNCONFINED_DOCKER },
        { FEATURE_OPENAT2, FEATURE_OVERLAY, refused_in_podman, UNCONFINED_PODMAN },
        { FEATURE_NOTIFY, FEATURE_TCP_REDIRECT, refused_in_podman, UNCONFINED_PODMAN },
        { FEATURE_CGROUP2, FEATURE_CGROUP_DELEGATION, used_by_v1,
          "boot with cgroup_no_v1=all, so that cgroup v2 gets the controllers" },
        { FEATURE_CGROUP_DELEGATION, FEATURE_CGROUP_DELEGATION, user_under_systemd, "loginctl enable-linger" },
        { FEATURE_SYSTEMD_SCOPE, FEATURE_SYSTEMD_SCOPE, user_under_systemd, "loginctl enable-linger" },
};

static const char *find_remedy(const struct probe_report *report, enum feature_id id)
{
        for (size_t i = 0; i < ARRAY_SIZE(remedies); i++) {
                const struct remedy *m = &remedies[i];
                if (id >= m->first && id <= m->last && m->applies(report, &report->features[id]))
                        return m->advice;
        }
        return NULL;
}

void host_find_remedies(struct probe_report *report)
{
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++) {
                struct feature *f = &report->features[id];
                if (!feature_info(id)->is_fact && f->state != FEATURE_YES)
                        f->help = find_remedy(report, id);
        }
}
