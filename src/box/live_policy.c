/*
 * Watches a policy's files; see live_policy.h.
 *
 * How it works: inotify watches the directories, because editors replace a file instead of writing it. After any event
 * for one of the names, all files are read and compiled again, as at the start.
 *
 * What an attacker controls: nothing; otherwise the box could loosen its own policy. The box must not be able to write
 * any of the files, by any path. In a writable directory the plan's rules protect them. If names cannot be enforced
 * there, or another mount or a hard link may lead to a file, watching it is refused. A file that did not exist at the
 * start is not watched, because it was not protected. Paths are resolved once, so that no symbolic link can redirect
 * them later.
 */
#include "box/live_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "platform/platform.h"
#include "policy/path_pattern.h"

static const char *base_name(const char *path)
{
        return strrchr(path, '/') + 1; /* the path is absolute */
}

static int watch_directory_of(const struct live_policy *l, struct arena *a, const char *path, struct error *e)
{
        size_t length = (size_t)(base_name(path) - path);
        const char *directory = arena_strndup(a, path, length > 1 ? length - 1 : 1);
        if (!directory)
                return error_errno(e, ENOMEM, "no memory");
        if (inotify_add_watch(l->changes, directory, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) < 0)
                return error_errno(e, errno, "cannot watch %s", directory);
        return 0;
}

/* The path of a rule; for a pattern, the deepest directory before its first wildcard. */
static const char *root_of(struct arena *a, const struct rule *rule)
{
        size_t length = rule->glob ? strcspn(rule->path, "*?[{") : strlen(rule->path);
        while (rule->glob && length > 1 && rule->path[length - 1] != '/')
                length--;
        return arena_strndup(a, rule->path, length > 1 && rule->path[length - 1] == '/' ? length - 1 : length);
}

/*
 * Could the box write the file inside this writable directory, although the rules protect it? By the file's own path,
 * if rules about names cannot be enforced; or by another path, through another mount.
 */
static bool may_write_below(const struct plan *plan, const char *path, const char *root)
{
        CLEANUP_FREE char *real = realpath(root, NULL);
        if (!real) /* a directory that does not exist is harmless */
                return errno != ENOENT && errno != ENOTDIR;
        return (!platform_enforces_names(plan) && path_is_beneath(path, real)) || platform_may_alias(real, path);
}

static bool may_write(const struct plan *plan, struct arena *a, const char *path)
{
        const struct rule *rule = NULL;
        /* A private directory of the box is not the directory of the same name outside. */
        if (rules_decide(&plan->rules, path, true, &rule) && rule->kind != RULE_PRIVATE)
                return true;
        for (size_t i = 0; i < plan->rules.count; i++) {
                if (plan->rules.list[i].kind != RULE_WRITE)
                        continue;
                const char *root = root_of(a, &plan->rules.list[i]);
                if (!root || may_write_below(plan, path, root))
                        return true;
        }
        return false;
}

/* The box might write the file by another hard link, which can be anywhere. */
static bool has_hard_links(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 && st.st_nlink > 1;
}

int live_policy_open(struct live_policy *ret, struct arena *a, const struct load_request *request,
                     const struct plan *plan, struct error *e)
{
        *ret = LIVE_POLICY_NONE;
        if (plan->scalar[PLAN_LIVE].value == PLAN_LIVE_OFF)
                return 0;
        struct live_policy l = LIVE_POLICY_NONE;
        int r = load_resolve_paths(request, a, &l.request, e);
        if (r < 0)
                return r;
        l.changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (l.changes < 0)
                return error_errno(e, errno, "cannot watch the policy's files");
        for (size_t i = 0; r == 0 && i < l.request.count; i++) {
                const struct load_item *item = &l.request.items[i];
                if (item->kind >= LOAD_FLAG)
                        continue;
                if (may_write(plan, a, item->value))
                        r = error_set(e, EPERM,
                                      "cannot follow %s: the box might be able to write it; move it out of the "
                                      "writable directories, or turn network.live off",
                                      item->value);
                else if (has_hard_links(item->value))
                        r = error_set(e, EPERM,
                                      "cannot follow %s: it has another name (a hard link); make a copy of it "
                                      "and use that",
                                      item->value);
                else
                        r = watch_directory_of(&l, a, item->value, e);
        }
        if (r < 0)
                live_policy_close(&l);
        else
                *ret = l;
        return r;
}

static bool is_watched(const struct live_policy *l, const char *name)
{
        for (size_t i = 0; i < l->request.count; i++)
                if (l->request.items[i].kind < LOAD_FLAG && strcmp(base_name(l->request.items[i].value), name) == 0)
                        return true;
        return false;
}

/* Reads all pending events. True: one is about a watched file, or the queue overflowed. */
static bool has_changed(const struct live_policy *l)
{
        _Alignas(struct inotify_event) char buffer[4096];
        bool changed = false;
        for (ssize_t n; (n = read(l->changes, buffer, sizeof buffer)) > 0;) {
                for (ssize_t at = 0; at < n;) {
                        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
                        changed |= event->mask & IN_Q_OVERFLOW || (event->len && is_watched(l, event->name));
                        at += (ssize_t)(sizeof *event + event->len);
                }
        }
        return changed;
}

int live_policy_reload(struct live_policy *l, struct plan **ret, struct text *reason)
{
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        struct error e = { 0 };
        if (!has_changed(l))
                return 0;
        for (size_t i = 0; i < l->request.count; i++) {
                if (l->request.items[i].kind < LOAD_FLAG && has_hard_links(l->request.items[i].value)) {
                        text_format(reason,
                                    "%s has another name now (a hard link): the hosts stay as they were",
                                    l->request.items[i].value);
                        return -EPERM;
                }
        }
        int r = m ? load_plan(&l->request, m, ret, &e) : error_errno(&e, ENOMEM, "no memory");
        if (r == 0)
                return 1;
        text_add(reason, "the policy has changed and cannot be used: the hosts stay as they were\n");
        if (r > 0)
                diagnostics_print(m, reason, false);
        else
                text_add(reason, e.text);
        return r > 0 ? -EBADMSG : r;
}

void live_policy_close(struct live_policy *l)
{
        fd_close(&l->changes);
}
