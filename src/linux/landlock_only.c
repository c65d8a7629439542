/*
 * Files by Landlock alone.
 *
 * What it is for: where no namespaces can be made (in most containers, under some distributions' restrictions), the
 * same file rules are enforced as far as Landlock can express them.
 *
 * How it works: Landlock only adds rights, and they apply to everything below a directory. So a denied path inside a
 * readable directory is granted in parts: instead of the directory, each of its entries is granted, except the denied
 * one and the one that leads to it, whose entries are treated the same way. The directory itself cannot be listed then,
 * and files created in it later cannot be read; both err on the safe side. In a writable directory this would not work,
 * because no file could be created in it. There a guard enforces the rules by name (guard.h); where the kernel cannot
 * have a guard, such a plan is refused.
 *
 * A private directory (/tmp, the home) is an empty one elsewhere: TMPDIR and HOME name it, and the host's is not
 * granted. /dev is always granted in parts: the devices that every box has are granted one by one.
 *
 * What mounts enforce and this file does not: names of denied files can be looked up; without a guard, owners can
 * change modes, owners, times and attributes, and protected names can be written. What an attacker controls: entries of
 * directories that it could write in an earlier run. No link is followed.
 */
#include "linux/landlock_only.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/landlock_table.h"
#include "linux/landlock_ruleset.h"
#include "policy/name_rules.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

enum { ENTRIES_MAX = 50000, DEPTH_MAX = 64 };

/* --- what cannot be enforced --- */

static const struct resolved_path *find_outermost_writable(const struct resolved_paths *places, size_t index)
{
        const char *path = places->list[index].path;
        for (size_t i = 0; i < index; i++) /* parents come first */
                if (places->list[i].kind == RESOLVED_WRITABLE && path_is_beneath(path, places->list[i].path))
                        return &places->list[i];
        return NULL;
}

/*
 * Is this path a private directory? Freezing one does nothing here: the real one has another path and stays writable.
 */
static bool is_private_directory(const struct resolved_paths *places, const char *path)
{
        for (size_t i = 0; i < places->count; i++)
                if (places->list[i].kind == RESOLVED_PRIVATE && strcmp(places->list[i].path, path) == 0)
                        return true;
        return false;
}

static bool is_ringwall_file(const struct rule *rule)
{
        return rule_is_of_set(rule, SET_OWN_FILES);
}

/* A box must not create a file that ringwall itself reads later, so such a name counts even if it does not exist. */
static int refuse_ringwall_file(const struct resolved_path *p, const struct plan *plan, struct error *e)
{
        const struct rule *enclosing = rules_find_write_grant(&plan->rules, p->rule->path);
        const char *directory = enclosing ? enclosing->path : "a directory";
        return error_set(e, ENOTSUP, "%s, which ringwall itself reads or writes, lies inside %s, which may be "
                         "written: use --level strict, or grant less than %s", p->rule->path, directory, directory);
}

static bool is_default(const struct rule *rule)
{
        return source_is_default(rule->from);
}

static int refuse_absent(const struct rule *rule, struct error *e)
{
        return error_set(e, ENOTSUP,
                         "the rule '%s %s' covers files that do not exist yet, in a writable directory: "
                         "only --level strict or maximum can enforce that",
                         rule_kind_words[rule->kind], rule->path);
}

/* A pattern also matches names that do not exist yet, wherever the box may write. */
static int check_patterns(const struct plan *plan, const struct resolved_paths *places, struct error *e)
{
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *rule = &plan->rules.list[i];
                size_t n = rule_anchor_length(rule);
                for (size_t j = 0; rule->kind >= RULE_DENY_READ && rule->glob && !is_default(rule) && j < places->count;
                     j++) {
                        const char *path = places->list[j].path;
                        size_t length = strlen(path), shorter = n < length ? n : length;
                        bool overlap = strncmp(rule->path, path, shorter) == 0 &&
                                       (n == length || (n > length ? rule->path[length] : path[n]) == '/');
                        if (places->list[j].kind == RESOLVED_WRITABLE && overlap)
                                return refuse_absent(rule, e);
                }
        }
        return 0;
}

/* A default protection or denial counts only if its path exists, except for ringwall's own files. */
static int check_absent(const struct plan *plan, const struct resolved_paths *places, size_t *unenforced,
                        const struct resolved_path **example, struct error *e)
{
        for (size_t i = 0; i < places->absent_count; i++) {
                const struct resolved_path *p = &places->absent[i];
                bool must_enforce = !plan->scalar[PLAN_BEST_EFFORT].value;
                if (must_enforce && is_ringwall_file(p->rule))
                        return refuse_ringwall_file(p, plan, e);
                if (must_enforce && !is_default(p->rule))
                        return refuse_absent(p->rule, e);
                if (is_default(p->rule) && !is_ringwall_file(p->rule))
                        continue;
                if ((*unenforced)++ == 0)
                        *example = p;
        }
        return plan->scalar[PLAN_BEST_EFFORT].value ? 0 : check_patterns(plan, places, e);
}

/*
 * Can a guard enforce this place inside a writable one? Not a read grant of a managed set, and not a private directory.
 */
static bool guard_enforces(const struct resolved_path *p)
{
        return p->rule->kind == RULE_WRITE || name_rules_can_deny(p->rule);
}

int landlock_only_check(const struct plan *plan, const struct resolved_paths *places, bool guarded,
                        size_t *ret_unenforced, const struct resolved_path **ret_example, struct error *e)
{
        *ret_unenforced = 0;
        if (!landlock_has(FEATURE_LANDLOCK_TRUNCATE) && !plan->scalar[PLAN_BEST_EFFORT].value)
                return error_set(e, ENOTSUP, "this kernel's Landlock cannot keep a box from truncating read-only "
                                 "files; use --level strict, or --best-effort to accept that");
        for (size_t i = 0; i < places->count; i++) {
                const struct resolved_path *p = &places->list[i], *enclosing = find_outermost_writable(places, i);
                if (p->kind == RESOLVED_FROZEN && is_private_directory(places, p->path))
                        enclosing = p;
                if (!enclosing || p->kind == RESOLVED_WRITABLE || p->kind == RESOLVED_PINNED)
                        continue;
                if (guarded && enclosing != p && guard_enforces(p))
                        continue;
                if (is_ringwall_file(p->rule) && !plan->scalar[PLAN_BEST_EFFORT].value)
                        return refuse_ringwall_file(p, plan, e);
                bool is_default_protect = p->rule->kind == RULE_PROTECT && is_default(p->rule);
                if (!is_default_protect && !plan->scalar[PLAN_BEST_EFFORT].value)
                        return error_set(e, ENOTSUP, "the rule '%s %s' is about a path inside %s, which may be "
                                         "written: only --level strict or maximum can enforce that",
                                         rule_kind_words[p->rule->kind], p->rule->path, enclosing->path);
                if ((*ret_unenforced)++ == 0)
                        *ret_example = p;
        }
        return guarded ? 0 : check_absent(plan, places, ret_unenforced, ret_example, e);
}

/* --- granting --- */

struct landlock_builder {
        struct ruleset rules;
        const struct resolved_paths *places;
        size_t entries;
        struct error *error;
};

static bool can_be_skipped(int error)
{
        return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP;
}

/* Is this place excluded from the grant of an enclosing one? A grant inside it has a place of its own. */
static bool is_excluded(const struct resolved_path *p)
{
        return p->kind == RESOLVED_MASKED || p->kind == RESOLVED_PRIVATE;
}

enum grant_scope { GRANT_WHOLE, GRANT_ENTRIES, GRANT_NOTHING };

static enum grant_scope decide(const struct landlock_builder *c, const char *path)
{
        static const char *const excluded[] = { "/dev" };
        for (size_t i = 0; i < ARRAY_SIZE(excluded); i++)
                if (path_is_beneath(path, excluded[i]))
                        return GRANT_NOTHING;
        enum grant_scope v = strcmp(path, "/") == 0 ? GRANT_ENTRIES : GRANT_WHOLE;
        for (size_t i = 0; i < c->places->count; i++) {
                const struct resolved_path *p = &c->places->list[i];
                if (!is_excluded(p))
                        continue;
                if (strcmp(p->path, path) == 0)
                        return GRANT_NOTHING;
                if (path_is_beneath(p->path, path))
                        v = GRANT_ENTRIES;
        }
        return v;
}

static int grant(struct landlock_builder *c, int fd, const char *path, unsigned depth);

static int grant_entries(struct landlock_builder *c, int fd, const char *path, unsigned depth)
{
        int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = list < 0 ? NULL : fdopendir(list);
        if (!dir) {
                fd_close(&list);
                return 0; /* cannot be listed: nothing below it is granted */
        }
        int r = 0;
        for (struct dirent *d; r == 0 && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                char inner[PATH_MAX];
                size_t length = strlen(path), name = strlen(d->d_name);
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || d->d_type == DT_LNK)
                        continue;
                if (++c->entries > ENTRIES_MAX || depth == DEPTH_MAX || length + name + 2 > sizeof inner) {
                        r = error_set(c->error, E2BIG, "a path inside %s is denied, and this directory has too many "
                                      "entries to grant each of the others", path);
                        break;
                }
                length -= path[length - 1] == '/';
                memcpy(inner, path, length);
                inner[length] = '/';
                memcpy(inner + length + 1, d->d_name, name + 1);
                CLEANUP_FD int entry = fd_open_no_symlinks(fd, d->d_name, O_PATH, 0);
                if (entry >= 0)
                        r = grant(c, entry, inner, depth + 1);
                else if (!can_be_skipped(-entry))
                        r = error_errno(c->error, -entry, "cannot open %s", inner);
        }
        (void)closedir(dir);
        return r;
}

/* Grants reading of the path and of everything below that is not denied. */
static int grant(struct landlock_builder *c, int fd, const char *path, unsigned depth)
{
        switch (decide(c, path)) {
        case GRANT_WHOLE:
                return ruleset_allow_path(&c->rules, fd, path, RULESET_READ);
        case GRANT_ENTRIES:
                return grant_entries(c, fd, path, depth);
        case GRANT_NOTHING:
                break;
        }
        return 0;
}

static int grant_place(struct landlock_builder *c, const struct resolved_path *p)
{
        if (p->kind != RESOLVED_READ_ONLY && p->kind != RESOLVED_WRITABLE)
                return 0;
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, p->path, O_PATH, 0);
        if (fd < 0)
                return can_be_skipped(-fd) ? 0 : error_errno(c->error, -fd, "cannot open %s", p->path);
        if (p->kind == RESOLVED_WRITABLE)
                return ruleset_allow_path(&c->rules, fd, p->path, RULESET_WRITE);
        /* A grant inside a denied directory counts; one of exactly the denied path does not. */
        return grant(c, fd, p->path, 0);
}

/* From Landlock ABI 9 on, connecting needs this right; before that only the guard checks it. */
static int grant_socket(struct landlock_builder *c, const char *path)
{
        CLEANUP_FD int fd = places_open_socket(path, c->error);
        return fd < 0 ? fd : ruleset_allow_path(&c->rules, fd, path, RULESET_WRITE);
}

/*
 * Grants what every box has. Of the terminals only its own: a rule for /dev/pts would grant every terminal of the user.
 * So programs in the box cannot create terminals.
 */
static int grant_common(struct landlock_builder *c, const char *scratch, int terminal)
{
        const char *const paths[] = {
                "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", scratch,
        };
        int r = terminal < 0 ? 0 : ruleset_allow_path(&c->rules, terminal, "the terminal", RULESET_WRITE);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++) {
                CLEANUP_FD int fd = paths[i] ? open(paths[i], O_PATH | O_CLOEXEC) : -1;
                if (!paths[i])
                        continue;
                if (fd >= 0)
                        r = ruleset_allow_path(&c->rules, fd, paths[i], RULESET_WRITE);
                else if (!can_be_skipped(errno))
                        r = error_errno(c->error, errno, "cannot open %s", paths[i]);
        }
        CLEANUP_FD int proc = open("/proc", O_PATH | O_CLOEXEC);
        return r < 0 || proc < 0 ? r : ruleset_allow_path(&c->rules, proc, "/proc", RULESET_READ);
}

int landlock_only_build(const struct plan *plan, const struct resolved_paths *places, const char *scratch, int terminal,
                        struct ruleset *ret, struct error *e)
{
        struct landlock_builder c = { .places = places, .error = e };
        int r = ruleset_new(&c.rules, false, e); /* wall_landlock.c may allow some ports */
        if (r == 0)
                r = grant_common(&c, scratch, terminal);
        for (size_t i = 0; r == 0 && i < places->count; i++)
                r = grant_place(&c, &places->list[i]);
        for (size_t i = 0; r == 0 && i < plan->unix_socket_count; i++)
                r = grant_socket(&c, plan->unix_sockets[i].path);
        if (r < 0)
                fd_close(&c.rules.fd);
        *ret = c.rules;
        return r;
}
