/* Audit trails; see audit_trail.h. */
#include "box/audit_trail.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit_log.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/random.h"
#include "box/gather_facts.h"
#include "policy/path_pattern.h"

static void add_record(struct audit_trail *t, const char *event, json_t *fields)
{
        if (t->fd < 0 || audit_log_append(t->fd, t->session, event, fields) < 0)
                t->failed = true;
}

/* Makes the missing directories of the path, with access for the user only. */
static int make_parents(struct arena *a, const char *path)
{
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                char *parent = arena_strndup(a, path, (size_t)(slash - path));
                if (!parent)
                        return -ENOMEM;
                if (mkdir(parent, 0700) < 0 && errno != EEXIST && access(parent, X_OK) < 0)
                        return -errno;
        }
        return 0;
}

/* A new file in the user's state directory, named after the run's id. NULL with an error. */
static const char *default_path(const struct report *r, const char *session, struct error *e)
{
        const char *state = facts_state_dir(r->arena, *r->plan->home ? r->plan->home : NULL);
        const char *path = state ? arena_format(r->arena, "%s/audit/%s.jsonl", state, session) : NULL;
        int made = path ? make_parents(r->arena, path) : -ENOENT;
        if (made < 0)
                error_errno(e, -made, "cannot make a file for the audit trail; name one with --audit FILE");
        return made < 0 ? NULL : path;
}

/* Refuses a path that the box may write, because the box could then rewrite its own audit trail. */
static int check_path(const struct report *r, const char *path, struct error *e)
{
        char *copy = arena_strdup(r->arena, path);
        char *slash = copy ? strrchr(copy, '/') : NULL;
        if (!copy)
                return error_errno(e, ENOMEM, "cannot write the audit trail %s", path);
        if (slash)
                *slash = '\0';
        CLEANUP_FREE char *parent = realpath(slash ? (*copy ? copy : "/") : ".", NULL);
        if (!parent)
                return error_errno(e, errno, "cannot write the audit trail %s", path);
        const char *real = arena_format(r->arena, "%s/%s", parent, slash ? slash + 1 : copy);
        const char *normal = real ? path_normalize(r->arena, real) : NULL;
        if (!normal)
                return error_errno(e, ENOMEM, "cannot write the audit trail %s", path);
        const struct rule *rule = NULL;
        if (rules_decide(&r->plan->rules, normal, true, &rule) && (!rule || rule->kind != RULE_PRIVATE))
                return error_set(e, EPERM,
                                 "the box may write %s, so it cannot be the audit trail; choose a file elsewhere",
                                 real);
        return 0;
}

/* Refuses a file with another hard link, by which the box might write it. */
static int check_hard_links(int fd, const char *path, struct error *e)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "cannot stat the audit trail %s", path);
        if (st.st_nlink > 1)
                return error_set(e, EPERM, "the audit trail %s has another name (a hard link), by which a box could "
                                 "write it; choose a new file", path);
        return 0;
}

static json_t *command_to_json(const struct report *r)
{
        CLEANUP_JSON json_t *report = report_to_json(r);
        return report ? json_incref(json_object_get(report, "command")) : NULL;
}

static json_t *scalar_to_json(const struct report *r, enum plan_scalar n)
{
        CLEANUP_TEXT struct text t = { 0 };
        plan_print_scalar(n, r->plan->scalar[n].value, &t);
        return json_string(t.data ? t.data : "");
}

int audit_trail_open(struct audit_trail *t, const char *path, const struct report *r, struct error *e)
{
        *t = (struct audit_trail){ .fd = -1 };
        if (!path && !r->plan->scalar[PLAN_AUDIT].value)
                return 0;
        int named = random_hex(t->session, sizeof t->session);
        if (named < 0)
                return error_errno(e, -named, "cannot get random bytes");
        if (!path)
                path = default_path(r, t->session, e);
        if (!path)
                return -e->code;
        int done = check_path(r, path, e);
        if (done < 0)
                return done;
        CLEANUP_FD int fd = audit_log_open(path, e);
        if (fd < 0)
                return fd;
        done = check_hard_links(fd, path, e);
        if (done < 0)
                return done;
        t->fd = TAKE_FD(fd);
        add_record(t, "session_start",
                   json_pack("{s:o*, s:s, s:i}", "command", command_to_json(r), "workspace", r->plan->workspace, "uid",
                             (int)geteuid()));
        return t->failed ? error_set(e, EIO, "cannot write the audit trail %s", path) : 0;
}

void audit_trail_log_walls(struct audit_trail *t, const struct report *r)
{
        if (t->fd < 0)
                return;
        if (r->plan->scalar[PLAN_NAMESPACES].value)
                add_record(t, "namespace_created",
                           json_pack("{s:o*}", "namespaces", scalar_to_json(r, PLAN_NAMESPACES)));
        add_record(t, "hardening_applied", json_pack("{s:b, s:b}", "no_new_privs", 1, "capabilities_dropped", 1));
        add_record(t, "sandbox_applied",
                   json_pack("{s:o*, s:i, s:b, s:I}", "level", scalar_to_json(r, PLAN_LEVEL), "landlock_abi",
                             r->enforced.landlock_abi, "seccomp", 1, "file_rules", (json_int_t)r->plan->rules.count));
        for (size_t i = 0; i < r->note_count; i++)
                add_record(t, "not_enforced", json_pack("{s:s}", "what", r->notes[i]));
}

void audit_trail_log(struct audit_trail *t, const char *event, json_t *fields)
{
        if (t->fd >= 0)
                add_record(t, event, fields);
        else
                json_decref(fields);
}

int audit_trail_close(struct audit_trail *t, const struct report *r)
{
        if (t->fd < 0)
                return 0;
        for (size_t i = 0; i < r->refused.call_count; i++)
                add_record(t, "syscall_intercepted", refusals_call_to_json(r->plan, &r->refused.calls[i]));
        for (size_t i = 0; i < r->refused.path_count; i++)
                add_record(t, "name_denied", refusals_path_to_json(&r->refused.paths[i]));
        CLEANUP_JSON json_t *report = report_to_json(r);
        add_record(t, "session_end", report ? json_incref(json_object_get(report, "end")) : NULL);
        fd_close(&t->fd);
        return t->failed ? -EIO : 0;
}
