/* Audit trails; see trail.h. */
#include "box/trail.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/record.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/random.h"
#include "policy/pattern.h"

static const char stage[] = "audit";

static void add(struct trail *t, const char *event, json_t *fields)
{
        if (t->fd < 0 || record_add(t->fd, t->session, event, fields) < 0)
                t->failed = true;
}

/* Makes the directories of the path that are missing, for the user alone. */
static int make_parents(struct arena *a, const char *path)
{
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                char *parent = arena_copy(a, path, (size_t)(slash - path));
                if (!parent)
                        return -ENOMEM;
                if (mkdir(parent, 0700) < 0 && errno != EEXIST && access(parent, X_OK) < 0)
                        return -errno;
        }
        return 0;
}

static const char *default_path(const struct report *r, const char *session, struct error *e)
{
        const char *state = getenv("XDG_STATE_HOME");
        const char *path = state && *state == '/'
                ? arena_format(r->arena, "%s/ringwall/audit/%s.jsonl", state, session)
                : *r->plan->home ? arena_format(r->arena, "%s/.local/state/ringwall/audit/%s.jsonl", r->plan->home, session)
                                 : NULL;
        int made = path ? make_parents(r->arena, path) : -ENOENT;
        if (made < 0)
                error_errno(e, -made, stage, "there is no place for a record; name one with --audit FILE");
        return made < 0 ? NULL : path;
}

/* A record that the box could rewrite is none. */
static int check_place(const struct report *r, const char *path, struct error *e)
{
        char *slash = NULL, *parent = NULL;
        const char *copy = arena_string(r->arena, path);
        if (copy && (slash = strrchr(copy, '/')))
                *slash = '\0';
        parent = realpath(slash ? (*copy ? copy : "/") : ".", NULL);
        const char *real = parent ? arena_format(r->arena, "%s/%s", parent, slash ? slash + 1 : copy) : NULL;
        free(parent);
        if (!real)
                return error_errno(e, errno ? errno : ENOMEM, stage, "cannot keep a record in %s", path);
        const char *normal = pattern_normalise(r->arena, real);
        const struct rule *by = NULL;
        if (normal && rules_decide(&r->plan->rules, normal, true, &by) && (!by || by->kind != RULE_PRIVATE))
                return error_set(e, EPERM, stage, "the box may write %s, so it cannot be the record; choose a file elsewhere",
                                 real);
        return normal ? 0 : -ENOMEM;
}

static json_t *words(const struct report *r)
{
        CLEANUP_JSON json_t *whole = report_to_json(r);
        return whole ? json_incref(json_object_get(whole, "command")) : NULL;
}

static json_t *number(const struct report *r, enum plan_number n)
{
        CLEANUP_TEXT struct text t = { 0 };
        plan_print_number(n, r->plan->number[n].number, &t);
        return json_string(t.data ? t.data : "");
}

int trail_begin(struct trail *t, const char *path, const struct report *r, struct error *e)
{
        *t = (struct trail){ .fd = -1 };
        if (!path && !r->plan->number[PLAN_AUDIT].number)
                return 0;
        int named = random_name(t->session, sizeof t->session);
        if (named < 0)
                return error_errno(e, -named, stage, "cannot get random bytes");
        if (!path)
                path = default_path(r, t->session, e);
        if (!path)
                return -e->code;
        int done = check_place(r, path, e);
        if (done < 0)
                return done;
        t->fd = record_open(path, e);
        if (t->fd < 0)
                return t->fd;
        add(t, "session_start", json_pack("{s:o*, s:s, s:i}", "command", words(r), "workspace", r->plan->workspace, "uid",
                                          (int)geteuid()));
        return t->failed ? error_set(e, EIO, stage, "cannot write the record %s", path) : 0;
}

void trail_started(struct trail *t, const struct report *r)
{
        if (t->fd < 0)
                return;
        if (r->plan->number[PLAN_NAMESPACES].number)
                add(t, "namespace_created", json_pack("{s:o*}", "namespaces", number(r, PLAN_NAMESPACES)));
        add(t, "hardening_applied", json_pack("{s:b, s:b}", "no_new_privs", 1, "capabilities_dropped", 1));
        add(t, "sandbox_applied", json_pack("{s:o*, s:i, s:b, s:I}", "level", number(r, PLAN_LEVEL), "landlock_abi",
                                            r->landlock, "seccomp", 1, "file_rules", (json_int_t)r->plan->rules.count));
        for (size_t i = 0; i < r->note_count; i++)
                add(t, "not_held", json_pack("{s:s}", "what", r->notes[i]));
}

void trail_event(struct trail *t, const char *event, json_t *fields)
{
        if (t->fd >= 0)
                add(t, event, fields);
        else
                json_decref(fields);
}

int trail_end(struct trail *t, const struct report *r)
{
        if (t->fd < 0)
                return 0;
        for (size_t i = 0; i < r->denial_count; i++)
                add(t, "syscall_intercepted", report_denial_to_json(r, &r->denials[i]));
        CLEANUP_JSON json_t *whole = report_to_json(r);
        add(t, "session_end", whole ? json_incref(json_object_get(whole, "end")) : NULL);
        fd_close(&t->fd);
        return t->failed ? -EIO : 0;
}
