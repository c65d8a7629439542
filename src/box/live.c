/*
 * Following a policy's files; see live.h.
 *
 * How it works: inotify on the directories, because editors put a new file in the place of the old one. Whatever has happened to one of the
 * names, all files are read again and compiled as they were at the start.
 *
 * What an attacker controls: nothing of this, or the box could loosen its own policy. The box may write to none of the files, by none of
 * their names: in a writable directory mounts protect them, and where there are none, or where there may be another way to a file, it
 * is refused. None is followed that was not there at the start, since what does not exist cannot be protected; and names are
 * spelt without links, so that none of them leads elsewhere later.
 */
#include "box/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/mountinfo.h"
#include "policy/pattern.h"

static const char stage[] = "live policy";

static const char *base_name(const char *path)
{
        return strrchr(path, '/') + 1; /* it is absolute */
}

static int watch(const struct live *l, struct arena *a, const char *path, struct error *e)
{
        size_t length = (size_t)(base_name(path) - path);
        const char *directory = arena_copy(a, path, length > 1 ? length - 1 : 1);
        if (!directory)
                return error_errno(e, ENOMEM, stage, "no memory");
        if (inotify_add_watch(l->changes, directory, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) < 0)
                return error_errno(e, errno, stage, "cannot watch %s", directory);
        return 0;
}

/* The directory that a rule begins in: what it names, or what is before the first part of its pattern. */
static const char *root_of(struct arena *a, const struct rule *rule)
{
        size_t length = rule->glob ? strcspn(rule->path, "*?[{") : strlen(rule->path);
        while (rule->glob && length > 1 && rule->path[length - 1] != '/')
                length--;
        return arena_copy(a, rule->path, length > 1 && rule->path[length - 1] == '/' ? length - 1 : length);
}

static uint64_t mount_of(const char *path)
{
        struct statx x;
        bool known = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 && x.stx_mask & STATX_MNT_ID;
        return known ? x.stx_mnt_id : 0;
}

/*
 * Is there another mount of the file's file system at the writable directory, or in it? It may show the same file. Also when nobody can
 * tell.
 */
static bool may_show(const char *mountinfo, const char *path, const char *root)
{
        uint64_t of_file = mount_of(path), of_root = mount_of(root);
        char device[sizeof "4294967295:4294967295"] = "";
        struct mount *m = malloc(sizeof *m); /* large */
        const char *text = mountinfo;
        bool shown = !m || !of_file || !of_root;
        while (!shown && mountinfo_next(&text, m))
                if (m->id == of_file)
                        (void)snprintf(device, sizeof device, "%s", m->device);
        for (text = mountinfo; !shown && mountinfo_next(&text, m);)
                shown = m->id != of_file && strcmp(m->device, device) == 0 && (m->id == of_root || path_is_beneath(m->point, root));
        free(m);
        return shown || !*device;
}

/*
 * Could the box write the file, though the rules protect it? By its own path where there are no mounts that do; or by another path.
 */
static bool may_write_in(const struct plan *plan, const char *mountinfo, const char *path, const char *root)
{
        CLEANUP_FREE char *real = realpath(root, NULL);
        if (!real) /* nobody can write in what does not exist */
                return errno != ENOENT && errno != ENOTDIR;
        bool held = plan->number[PLAN_NAMESPACES].number & SPACE_MOUNT;
        return (!held && path_is_beneath(path, real)) || may_show(mountinfo, path, real);
}

static bool may_write(const struct plan *plan, struct arena *a, const char *path)
{
        CLEANUP_FREE char *mountinfo = NULL;
        const struct rule *rule = NULL;
        /* A directory of the box's own is another than the one with that name outside. */
        if (rules_decide(&plan->rules, path, true, &rule) && rule->kind != RULE_PRIVATE)
                return true;
        if (mountinfo_read(&mountinfo) < 0)
                return true;
        for (size_t i = 0; i < plan->rules.count; i++) {
                if (plan->rules.list[i].kind != RULE_WRITE)
                        continue;
                const char *root = root_of(a, &plan->rules.list[i]);
                if (!root || may_write_in(plan, mountinfo, path, root))
                        return true;
        }
        return false;
}

/* By another name it could be written too, wherever that is. */
static bool has_other_names(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 && st.st_nlink > 1;
}

int live_begin(struct live *ret, struct arena *a, const struct load_request *request, const struct plan *plan, struct error *e)
{
        *ret = LIVE_NONE;
        if (plan->number[PLAN_LIVE].number == PLAN_LIVE_OFF)
                return 0;
        struct live l = LIVE_NONE;
        int r = load_pin(request, a, &l.request, e);
        if (r < 0)
                return r;
        l.changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (l.changes < 0)
                return error_errno(e, errno, stage, "cannot watch files");
        for (size_t i = 0; r == 0 && i < l.request.count; i++) {
                const struct load_item *item = &l.request.items[i];
                if (item->kind >= LOAD_FLAG)
                        continue;
                if (may_write(plan, a, item->value))
                        r = error_set(e, EPERM, stage, "%s lies where the box might write it, so it cannot be followed; put it elsewhere",
                                      item->value);
                else if (has_other_names(item->value))
                        r = error_set(e, EPERM, stage, "%s has another name (a hard link), so it cannot be followed", item->value);
                else
                        r = watch(&l, a, item->value, e);
        }
        if (r < 0)
                live_end(&l);
        else
                *ret = l;
        return r;
}

static bool is_followed(const struct live *l, const char *name)
{
        for (size_t i = 0; i < l->request.count; i++)
                if (l->request.items[i].kind < LOAD_FLAG && strcmp(base_name(l->request.items[i].value), name) == 0)
                        return true;
        return false;
}

/* Reads what has happened. True: something to one of the files, or so much that nobody can tell. */
static bool has_changed(const struct live *l)
{
        _Alignas(struct inotify_event) char buffer[4096];
        bool changed = false;
        for (ssize_t n; (n = read(l->changes, buffer, sizeof buffer)) > 0;) {
                for (ssize_t at = 0; at < n;) {
                        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
                        changed |= event->mask & IN_Q_OVERFLOW || (event->len && is_followed(l, event->name));
                        at += (ssize_t)(sizeof *event + event->len);
                }
        }
        return changed;
}

int live_read(struct live *l, struct plan **ret, struct text *complaint)
{
        CLEANUP_MESSAGES struct messages *m = messages_new();
        struct error e = { 0 };
        if (!has_changed(l))
                return 0;
        for (size_t i = 0; i < l->request.count; i++) {
                if (l->request.items[i].kind < LOAD_FLAG && has_other_names(l->request.items[i].value)) {
                        text_format(complaint, "%s has another name now (a hard link): the hosts stay those that they were",
                                    l->request.items[i].value);
                        return -EPERM;
                }
        }
        int r = m ? load_plan(&l->request, m, ret, &e) : error_errno(&e, ENOMEM, stage, "no memory");
        if (r == 0)
                return 1;
        text_add(complaint, "the policy has changed and cannot be used: the hosts stay those that they were\n");
        if (r > 0)
                messages_print(m, complaint, false);
        else
                text_add(complaint, e.text);
        return r > 0 ? -EBADMSG : r;
}

void live_end(struct live *l)
{
        fd_close(&l->changes);
}
