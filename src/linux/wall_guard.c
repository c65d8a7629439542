/*
 * guard: rules by name, enforced by processes that perform the calls on names for the box (guard.h). This file decides
 * which calls they have to check. keeper.c forks them.
 *
 * Reads have to be judged where a user other than root can replace a denied name: in directories that the box can
 * write, and in directories of the person that it can read. Elsewhere the covers of box_root.c are enough: only root
 * changes /etc, and a file that root creates there under a denied name is protected by its mode.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/box_setup.h"
#include "linux/case_folding.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/guard.h"
#include "linux/landlock_table.h"
#include "linux/probes.h"
#include "platform/platform.h"
#include "policy/path_pattern.h"

/* Only root can change files in these directories. */
static bool is_system_grant(const struct rule *r)
{
        return rule_is_of_set(r, SET_SYSTEM) || rule_is_of_set(r, SET_DEVICES);
}

static bool is_user_grant(const struct rule *r)
{
        return (r->kind == RULE_READ || r->kind == RULE_WRITE) && !is_system_grant(r);
}

/* Is only another user, such as root, able to create this path? Looks at the first parent that exists. */
static bool only_root_creates(const char *path)
{
        char parent[PATH_MAX];
        struct stat st;
        if (geteuid() == 0 || strlen(path) >= sizeof parent)
                return false;
        memcpy(parent, path, strlen(path) + 1);
        for (char *slash; (slash = strrchr(parent, '/'));) {
                *slash = '\0';
                const char *directory = *parent ? parent : "/";
                if (lstat(directory, &st) == 0)
                        /* Not st_uid == 0: in the box's user namespace root has the overflow uid. */
                        return S_ISDIR(st.st_mode) && st.st_uid != geteuid() && access(directory, W_OK) < 0;
                if (errno != ENOENT || !*parent)
                        return false;
        }
        return false;
}

/* Must a guard judge reads of this denied path, because the box or the person can replace it? */
static bool denial_needs_guard(const struct plan *plan, const struct rule *denial, struct arena *a)
{
        const char *anchor = guard_rule_anchor(a, denial);
        const struct rule *grant = NULL; /* the deepest around the denial */
        for (size_t i = 0; anchor && i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                if (r->kind > RULE_PRIVATE)
                        continue;
                if (denial->glob && is_user_grant(r) && path_is_beneath(r->path, anchor))
                        return true;
                if (path_is_beneath(anchor, r->path) && (!grant || strlen(r->path) >= strlen(grant->path)))
                        grant = r;
        }
        if (!anchor || !grant || grant->kind == RULE_PRIVATE)
                return !anchor;
        return grant->kind == RULE_WRITE || !only_root_creates(denial->path);
}

static bool reads_need_guard(const struct plan *plan, const struct guard_aliases *aliases)
{
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                if (r->kind == RULE_DENY_READ && (!a || denial_needs_guard(plan, r, a)))
                        return true;
        }
        for (size_t i = 0; i < aliases->count; i++) {
                struct rule r = *aliases->list[i].rule;
                r.path = aliases->list[i].path;
                if (!aliases->list[i].is_link && r.kind == RULE_DENY_READ && (!a || denial_needs_guard(plan, &r, a)))
                        return true;
        }
        return false;
}

/*
 * With a mount namespace always: if no guard can run there, prepare() refuses the box, or warns with best_effort.
 * Without one, if a guard can work without namespaces on this machine.
 */
bool platform_enforces_names(const struct plan *plan)
{
        if (plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT)
                return true;
        int yama = guard_yama_scope();
        return filter_can_guard() && landlock_has(FEATURE_LANDLOCK_REFER) &&
               (yama <= YAMA_ANCESTORS || (yama < YAMA_NO_ATTACH && confine_has_ptrace()));
}

/* Which guard a box of this plan needs: enum filter_guard, or FILTER_NO_GUARD. Runs in the box's root. */
static int find_needed_guard(const struct plan *plan, const struct guard_aliases *aliases)
{
        /* Without mounts only the guard protects modes, owners and times of the person's files. */
        bool writes = !(plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT), sees_user_files = writes;
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                writes |= r->kind == RULE_WRITE && !is_system_grant(r);
                sees_user_files |= is_user_grant(r);
        }
        bool reads = reads_need_guard(plan, aliases);
        bool sockets = sees_user_files && !landlock_has(FEATURE_LANDLOCK_UNIX);
        if (!writes && !reads && !sockets)
                return FILTER_NO_GUARD;
        return (reads ? FILTER_GUARD_READS : 0) | (sockets ? FILTER_GUARD_CONNECT : 0) |
               (plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT ? 0 : FILTER_GUARD_NO_NAMESPACES);
}

/* A writable place on a case-insensitive file system, or NULL. */
static const char *find_case_insensitive_grant(const struct plan *plan)
{
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                bool is_device = rule_is_of_set(r, SET_DEVICES);
                if (r->kind == RULE_WRITE && !r->glob && !is_device && directory_folds_case(r->path))
                        return r->path;
        }
        return NULL;
}

/*
 * Without a guard, mounts enforce only deny_read rules and deny_write paths, and only for files that exist now; protect
 * rules and deny_write patterns are not enforced (resolved_paths.c). On a case-insensitive file system a guard does not
 * know which names are equal. So the plan is refused, or with best effort a note is sent. If there are no mounts
 * either, landlock_only_check() refuses such rules one by one.
 */
static int prepare(struct box_setup *setup, struct error *e)
{
        int guard = find_needed_guard(setup->plan, &setup->aliases);
        setup->guard_start.has_ptrace = plan_has_namespace(setup->plan, NAMESPACE_USER) || confine_has_ptrace();
        if (guard == FILTER_NO_GUARD || !platform_enforces_names(setup->plan))
                return 0;
        const char *folding = find_case_insensitive_grant(setup->plan);
        bool memory_unreadable = guard_yama_scope() >= YAMA_NO_ATTACH;
        bool supported = filter_can_guard() && !memory_unreadable;
        if (supported)
                setup->guard = guard;
        if (memory_unreadable)
                error_set(e, ENOTSUP,
                          "rules by name cannot be enforced, because kernel.yama.ptrace_scope lets no process read "
                          "another one's memory: set it to 2 or less, which needs a restart of the machine");
        else if (!supported)
                error_set(e, ENOTSUP,
                          "this kernel cannot enforce rules by name, which needs Linux 5.19 ('ringwall doctor' says "
                          "more): protected names could be written, and denied ones read after they are replaced");
        else if (folding)
                error_set(e, ENOTSUP,
                          "%s is on a case-insensitive file system, where rules by name cannot be enforced: "
                          "work in a copy elsewhere, or accept that with --best-effort",
                          folding);
        else
                return 0;
        if (!setup->plan->scalar[PLAN_BEST_EFFORT].value)
                return -ENOTSUP;
        send_to_front(setup, BOX_SHORTFALL, 1, e);
        *e = (struct error){ 0 };
        return 0;
}

static void report(const struct enforced_state *s, struct text *out)
{
        if (s->guard == FILTER_NO_GUARD)
                return;
        text_add(out, "changes by name");
        if (s->guard & FILTER_GUARD_READS)
                text_add(out, ", reads by name");
        if (s->guard & FILTER_GUARD_CONNECT)
                text_add(out, ", unix sockets by name");
}

const struct wall_ops wall_guard = { "guard", .probe = probe_guard, .prepare = prepare, .report = report };
