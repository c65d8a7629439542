/*
 * Finding places.
 *
 * What it is for: a plan is about names, mounts are made of files and directories. This file resolves each rule's path
 * through the symbolic links of this machine and records the links, so that /bin -> usr/bin works in the box too; finds
 * the matches of patterns; and adds the directories that must not be renamed.
 *
 * How it works: once, before any mount is made. Another box may change the same workspace before the mount, so
 * box_root.c and landlock_only.c open each place again without following links.
 *
 * A denied path that is a mount point cannot be replaced, but a parent of it could be renamed and another directory put
 * in its place. So every directory between the path and the enclosing writable directory is pinned: made a mount point
 * too. So is a symbolic link on the path.
 *
 * A deny_write forbids writing at and below its path, whatever grants it, so a writable place there becomes read-only
 * (settle_frozen()): with mounts alone the deepest mount would decide. Protect rules and deny_write patterns are left
 * to the guard (is_left_to_guard()): they have places only where there are neither mounts nor a guard.
 *
 * An attacker controls the content of a workspace, from an earlier run of this box or of another:
 * - deep or endless trees: walks are capped;
 * - links to anywhere: a grant through a link that a box could have made is refused, because the agent would choose
 *   what is granted (place_links.c);
 * - modes: a box runs as the person, so it can open a directory again that belongs to the person and cannot be searched
 *   now. A denied path inside it is taken to exist, and the whole directory is denied (deny_unsearchable()).
 */
#include "linux/resolved_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/place_links.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

enum { LINKS_MAX = 40, WALKED_MAX = 200000, DEPTH_MAX = 64 };

/* A symbolic link that was followed to resolve a grant. */
struct followed_link {
        const struct rule *rule;
        const char *link, *target;
        bool may_be_from_box;
};

struct path_resolver {
        struct arena *arena;
        bool guarded;
        const struct plan *plan;
        struct resolved_paths *places;
        struct error *error;
        size_t walked_count;
        const struct rule *rule; /* the rule whose path is being resolved */
        const char *pattern;     /* the pattern that is being searched for */
        struct followed_link *followed;
        size_t followed_count;
        struct resolved_path *ceiling_denials; /* the places that a ceiling denies to read */
        size_t ceiling_denial_count;
};

/* The path does not exist. -EACCES does not say that: its owner may be able to open it again. */
static bool is_absent(int result)
{
        return result == -ENOENT || result == -ENOTDIR || result == -ELOOP;
}

/* Did the person ask for this grant, or is it a default? The workspace is always the person's. */
static bool is_requested(const struct rule *rule)
{
        return !source_is_default(rule->from) || rule_is_of_set(rule, SET_WORKSPACE);
}

static int add_place(struct path_resolver *f, enum resolved_kind kind, const char *path, bool directory,
                     const struct rule *rule)
{
        struct resolved_path *slot = arena_array_push(f->arena, &f->places->list, &f->places->count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, "no memory");
        *slot = (struct resolved_path){ .kind = kind, .path = path, .is_directory = directory, .rule = rule };
        return 0;
}

/* The innermost writable place that contains the path, or NULL. */
static const char *find_innermost_writable(const struct path_resolver *f, const char *path)
{
        const char *best = NULL;
        for (size_t i = 0; i < f->places->count; i++) {
                const struct resolved_path *p = &f->places->list[i];
                if (p->kind == RESOLVED_WRITABLE && path_is_beneath(path, p->path) &&
                    (!best || strlen(p->path) > strlen(best)))
                        best = p->path;
        }
        return best;
}

static int add_pins(struct path_resolver *f, const char *path, const struct rule *rule)
{
        const char *enclosing = find_innermost_writable(f, path);
        if (!enclosing)
                return 0;
        for (size_t i = strlen(path); i-- > strlen(enclosing) + 1;) {
                if (path[i] != '/')
                        continue;
                const char *parent = arena_strndup(f->arena, path, i);
                int r = parent ? add_place(f, RESOLVED_PINNED, parent, true, rule)
                               : error_errno(f->error, ENOMEM, "no memory");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int record_link(struct path_resolver *f, const char *path, const char *target, bool may_be_from_box)
{
        bool grant = f->rule->kind <= RULE_PRIVATE;
        if (grant) {
                struct followed_link *link = arena_array_push(f->arena, &f->followed, &f->followed_count, sizeof *link);
                if (!link)
                        return error_errno(f->error, ENOMEM, "no memory");
                *link = (struct followed_link){ f->rule, path, target, may_be_from_box };
        } else if (find_innermost_writable(f, path)) {
                int r = add_pins(f, path, f->rule);
                if (r == 0)
                        r = add_place(f, RESOLVED_PINNED, path, false, f->rule);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < f->places->link_count; i++)
                if (strcmp(f->places->links[i].path, path) == 0)
                        return 0;
        struct resolved_link *slot =
                arena_array_push(f->arena, &f->places->links, &f->places->link_count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, "no memory");
        *slot = (struct resolved_link){ path, target };
        return 0;
}

/*
 * The path that results when `prefix`, a link to `target`, is followed and `rest` appended. A `..` is not collapsed:
 * the name before it may be a link too, and then the kernel takes the parent of that link's target.
 */
static const char *path_through_link(struct path_resolver *f, const char *prefix, const char *target, const char *rest)
{
        if (*target == '/')
                return arena_format(f->arena, "%s%s", target, rest);
        int parent = (int)(strrchr(prefix, '/') - prefix);
        return arena_format(f->arena, "%.*s/%s%s", parent, prefix, target, rest);
}

/* 0: exists, and no part of the path is a link; -ELOOP: links have to be followed. */
static int stat_without_links(const char *path, struct stat *ret_stat)
{
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, path, O_PATH, 0);
        if (fd < 0)
                return fd;
        return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

/* Follows the first link in the path and records it. A path without links stays as it is. */
static int follow_first_link(struct path_resolver *f, const char **path)
{
        const char *from = *path;
        for (size_t i = 1; i <= strlen(from); i++) {
                char target[PATH_MAX];
                bool may_be_from_box = false;
                i += strcspn(from + i, "/");
                char *prefix = arena_strndup(f->arena, from, i);
                /* The prefix has no link before its last name, so `..` can be collapsed as text. */
                const char *link = prefix ? path_normalize(f->arena, prefix) : NULL;
                int r = link ? place_link_read(link, target, &may_be_from_box) : -ENOMEM;
                if (r == -EINVAL)
                        continue; /* not a link */
                if (r < 0 && r != -ENOMEM)
                        return r;
                const char *kept = link ? arena_strdup(f->arena, target) : NULL;
                const char *followed = kept ? path_through_link(f, prefix, kept, from + i) : NULL;
                if (!followed)
                        return error_errno(f->error, ENOMEM, "no memory");
                *path = followed;
                return record_link(f, link, kept, may_be_from_box);
        }
        return 0;
}

/* Follows every link in `path` and records it. -ENOENT: the path does not exist, so there is nothing to mount. */
static int resolve(struct path_resolver *f, const char *path, const char **ret, struct stat *ret_stat)
{
        int r = stat_without_links(path, ret_stat);
        for (size_t links = 0; r == -ELOOP && links < LINKS_MAX; links++) {
                r = follow_first_link(f, &path);
                if (r == 0)
                        r = stat_without_links(path, ret_stat);
        }
        if (r < 0)
                return r;
        const char *normal = path_normalize(f->arena, path); /* no links are left in it */
        if (!normal)
                return error_errno(f->error, ENOMEM, "no memory");
        *ret = normal;
        return 0;
}

static enum resolved_kind kind_of_denial(const struct rule *rule)
{
        return rule->kind == RULE_DENY_READ ? RESOLVED_MASKED : RESOLVED_FROZEN;
}

static int add_denied_place(struct path_resolver *f, const char *real, bool directory, const struct rule *rule)
{
        int r = add_pins(f, real, rule);
        if (r == 0)
                r = add_place(f, kind_of_denial(rule), real, directory, rule);
        if (r < 0 || rule->kind != RULE_DENY_READ || !rule->of_ceiling)
                return r;
        struct resolved_path *slot =
                arena_array_push(f->arena, &f->ceiling_denials, &f->ceiling_denial_count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, "no memory");
        *slot = f->places->list[f->places->count - 1];
        return 0;
}

/*
 * A parent of `path` cannot be searched. If it belongs to the person, the box could change its mode, so the whole
 * directory is denied. A directory of another user is out of the box's reach too.
 */
static int deny_unsearchable(struct path_resolver *f, const char *path, const struct rule *rule)
{
        struct stat st = { 0 };
        const char *real = path;
        int r = -EACCES;
        for (size_t i = strlen(path); r == -EACCES && i-- > 1;) {
                if (path[i] != '/')
                        continue;
                const char *parent = arena_strndup(f->arena, path, i);
                r = parent ? resolve(f, parent, &real, &st) : error_errno(f->error, ENOMEM, "no memory");
        }
        if (r < 0)
                return f->error->code ? r : 0;
        return st.st_uid == geteuid() ? add_denied_place(f, real, true, rule) : 0;
}

static int record_absent(struct path_resolver *f, const char *path, const struct rule *rule)
{
        if (!find_innermost_writable(f, path))
                return 0;
        struct resolved_path *slot =
                arena_array_push(f->arena, &f->places->absent, &f->places->absent_count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, "no memory");
        *slot = (struct resolved_path){ kind_of_denial(rule), path, .rule = rule };
        return 0;
}

static int add_denial(struct path_resolver *f, const char *path, const struct rule *rule)
{
        struct stat st;
        const char *real = NULL;
        /* Most paths that are denied by default do not exist. */
        if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
                return record_absent(f, path, rule);
        f->rule = rule;
        int r = resolve(f, path, &real, &st);
        if (r == -EACCES)
                return deny_unsearchable(f, path, rule);
        if (is_absent(r))
                return 0;
        if (r < 0)
                return f->error->code ? r : error_errno(f->error, -r, "cannot look at %s", path);
        return add_denied_place(f, real, S_ISDIR(st.st_mode), rule);
}

/* How many levels below its anchor directory can the pattern match? */
static size_t levels_below(const struct rule *rule)
{
        size_t names = 0;
        for (const char *p = rule->path + rule_anchor_length(rule); *p; p++)
                names += *p == '/';
        return strstr(rule->path, "**") ? SIZE_MAX : names;
}

/*
 * A directory that cannot be listed is denied as a whole if the box could open names in it: if the box may search it,
 * or if it belongs to the person, so that the box can change its mode.
 */
static int deny_unlistable(struct path_resolver *f, const char *directory, const struct rule *rule)
{
        struct stat st;
        if (stat(directory, &st) < 0)
                return errno == EACCES ? deny_unsearchable(f, directory, rule) : 0;
        return st.st_uid == geteuid() || access(directory, X_OK) == 0 ? add_denial(f, directory, rule) : 0;
}

/* Is a path below this one granted? Then a denial of this one does not decide about all paths below. */
static bool contains_grant(const struct path_resolver *f, const char *path)
{
        for (size_t i = 0; i < f->places->count; i++)
                if (f->places->list[i].kind <= RESOLVED_PRIVATE && path_is_beneath(f->places->list[i].path, path))
                        return true;
        return false;
}

/* Is every path below this match denied too? With deny_read not if one of them is granted. */
static bool decides_below(const struct path_resolver *f, const char *path, const struct rule *rule)
{
        return rule->kind != RULE_DENY_READ || !contains_grant(f, path);
}

/*
 * Searches the tree below one directory for matches. The tree may be deep and hostile, so entries and depth are capped.
 */
static int walk(struct path_resolver *f, const char *directory, const struct rule *rule, unsigned depth)
{
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                int code = errno;
                fd_close(&fd);
                if (code == EACCES)
                        return deny_unlistable(f, directory, rule);
                return is_absent(-code) ? 0 : error_errno(f->error, code, "cannot list %s", directory);
        }
        int r = 0;
        bool deeper = depth + 1 < levels_below(rule);
        errno = 0;
        for (struct dirent *d; r == 0 && (d = readdir(dir)); errno = 0) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                if (++f->walked_count > WALKED_MAX || depth == DEPTH_MAX) {
                        if (f->guarded)
                                break; /* the guard enforces the rule for the rest */
                        r = error_set(f->error, E2BIG,
                                      "there are too many files to search for the pattern %s below %s", rule->path,
                                      directory);
                        break;
                }
                const char *path =
                        arena_format(f->arena, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, d->d_name);
                if (!path) {
                        r = error_errno(f->error, ENOMEM, "no memory");
                        break;
                }
                bool descend = deeper;
                if (path_pattern_match(f->pattern, path)) {
                        r = add_denial(f, path, rule);
                        descend = deeper && !decides_below(f, path, rule);
                }
                if (r == 0 && descend && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN))
                        r = walk(f, path, rule, depth + 1);
        }
        if (r == 0 && errno)
                r = error_errno(f->error, errno, "cannot list %s", directory);
        (void)closedir(dir);
        return r;
}

/* The pattern may match the anchor itself, because `**` also matches nothing. */
static int find_matches(struct path_resolver *f, const struct rule *rule)
{
        struct stat st;
        size_t n = rule_anchor_length(rule);
        const char *anchor = n ? arena_strndup(f->arena, rule->path, n) : "/", *real = anchor;
        if (!anchor)
                return error_errno(f->error, ENOMEM, "no memory");
        f->rule = rule;
        int r = resolve(f, anchor, &real, &st);
        if (r == -EACCES)
                return deny_unsearchable(f, anchor, rule);
        if (is_absent(r))
                return 0;
        if (r < 0)
                return f->error->code ? r : error_errno(f->error, -r, "cannot look at %s", anchor);
        /* Matched below the real path of the anchor, because grants are stored by their real paths. */
        const char *escaped = strcmp(real, "/") == 0 ? "" : path_pattern_escape(f->arena, real);
        f->pattern = escaped ? arena_format(f->arena, "%s%s", escaped, rule->path + n) : NULL;
        if (!f->pattern)
                return error_errno(f->error, ENOMEM, "no memory");
        bool matches = path_pattern_match(f->pattern, real);
        r = matches ? add_denial(f, real, rule) : 0;
        return r < 0 || (matches && decides_below(f, real, rule)) ? r : walk(f, real, rule, 0);
}

/*
 * The guard (guard.h) enforces protect rules by name; a mount there would block the replacements that it allows. It
 * also enforces deny_write patterns, without a search for present matches.
 */
static bool is_left_to_guard(const struct path_resolver *f, const struct rule *rule)
{
        return f->guarded && (rule->kind == RULE_PROTECT || (rule->kind == RULE_DENY_WRITE && rule->glob));
}

static int find_denials(struct path_resolver *f)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < f->plan->rules.count; i++) {
                const struct rule *rule = &f->plan->rules.list[i];
                if (rule->kind >= RULE_DENY_READ && !is_left_to_guard(f, rule))
                        r = rule->glob ? find_matches(f, rule) : add_denial(f, rule->path, rule);
        }
        return r;
}

/* box_root.c makes the devices and /proc of every box, whatever the rules say. */
static bool is_in_every_box(const struct rule *rule)
{
        return rule_is_of_set(rule, SET_DEVICES) || strcmp(rule->path, "/proc") == 0;
}

static int find_grants(struct path_resolver *f)
{
        static const enum resolved_kind kinds[] = {
                [RULE_READ] = RESOLVED_READ_ONLY, [RULE_WRITE] = RESOLVED_WRITABLE, [RULE_PRIVATE] = RESOLVED_PRIVATE,
        };
        for (size_t i = 0; i < f->plan->rules.count; i++) {
                const struct rule *rule = &f->plan->rules.list[i];
                struct stat st = { .st_mode = S_IFDIR };
                const char *real = rule->path;
                if (rule->kind > RULE_PRIVATE || is_in_every_box(rule))
                        continue;
                f->rule = rule;
                int r = rule->kind == RULE_PRIVATE ? 0 : resolve(f, rule->path, &real, &st);
                if (is_absent(r) || (r == -EACCES && !is_requested(rule)))
                        continue;
                if (r < 0)
                        return f->error->code ? r
                                              : error_errno(f->error, -r, "cannot look at %s, so it cannot be "
                                                            "granted; change its mode or remove the grant", rule->path);
                r = add_place(f, kinds[rule->kind], real, S_ISDIR(st.st_mode), rule);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Removes the place of a rule from the list. False: the rule has no place. */
static bool remove_place_of(struct resolved_paths *places, const struct rule *rule, struct resolved_path *ret)
{
        for (size_t i = 0; i < places->count; i++) {
                if (places->list[i].rule == rule) {
                        *ret = places->list[i];
                        places->list[i] = places->list[--places->count];
                        return true;
                }
        }
        return false;
}

static bool is_suspect(const struct path_resolver *f, const struct followed_link *s)
{
        return s->may_be_from_box || find_innermost_writable(f, s->link);
}

/* Do the other grants, which need no suspicious link, cover this place? */
static bool is_granted_otherwise(const struct path_resolver *f, const struct resolved_path *p)
{
        for (size_t i = 0; i < f->places->count; i++) {
                const struct resolved_path *other = &f->places->list[i];
                bool enough = other->kind == RESOLVED_WRITABLE ||
                              (other->kind == RESOLVED_READ_ONLY && p->kind == RESOLVED_READ_ONLY);
                if (enough && path_is_beneath(p->path, other->path))
                        return true;
        }
        return false;
}

static int record_left_out(struct path_resolver *f, const struct followed_link *s)
{
        struct resolved_paths *out = f->places;
        struct left_out_grant *slot = arena_array_push(f->arena, &out->left_out, &out->left_out_count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, "no memory");
        *slot = (struct left_out_grant){ s->rule, s->link, s->target };
        return 0;
}

/*
 * Runs when all writable places are known. A grant that the person asked for is refused if its path leads through a
 * link that a box could have made; a default one is left out. The links recorded by resolve() are checked: reading them
 * again would be a race. All such grants are removed before the first is checked, so that none justifies another.
 */
static int check_links(struct path_resolver *f)
{
        struct resolved_path *taken = arena_alloc(f->arena, (f->followed_count + 1) * sizeof *taken);
        if (!taken)
                return error_errno(f->error, ENOMEM, "no memory");
        for (size_t i = 0; i < f->followed_count; i++) {
                taken[i].rule = NULL;
                if (is_suspect(f, &f->followed[i]) && !remove_place_of(f->places, f->followed[i].rule, &taken[i]))
                        taken[i].rule = NULL;
        }
        for (size_t i = 0; i < f->followed_count; i++) {
                const struct followed_link *s = &f->followed[i];
                if (!taken[i].rule || is_granted_otherwise(f, &taken[i]))
                        continue;
                if (is_requested(s->rule))
                        return error_set(f->error, EPERM,
                                         "%s is a symbolic link that a program in a box could have made; it leads to "
                                         "%s. To grant %s, name it by its real path", s->link, s->target,
                                         taken[i].path);
                int r = record_left_out(f, s);
                if (r < 0)
                        return r;
        }
        return 0;
}

/*
 * The compiler removed grants inside a ceiling's denials, but it compares only names. Through a link a grant may have
 * another name than the denial. Here both are real paths, so such a grant is found and removed.
 */
static bool is_denied_by_ceiling(const struct path_resolver *f, const struct resolved_path *p)
{
        if (p->kind != RESOLVED_READ_ONLY && p->kind != RESOLVED_WRITABLE)
                return false;
        for (size_t i = 0; i < f->ceiling_denial_count; i++) {
                const struct rule *by = f->ceiling_denials[i].rule;
                if (path_is_beneath(p->path, f->ceiling_denials[i].path) &&
                    path_pattern_match_depth(by->path, by->glob, p->rule->path) < 0)
                        return true;
        }
        return false;
}

static void drop_denied_by_ceiling(struct path_resolver *f)
{
        size_t kept = 0;
        for (size_t i = 0; i < f->places->count; i++)
                if (!is_denied_by_ceiling(f, &f->places->list[i]))
                        f->places->list[kept++] = f->places->list[i];
        f->places->count = kept;
}

/*
 * Parents first. For the same path: grants, then pins, then denials; of two grants the wider last, because the last one
 * counts.
 */
static int compare(const void *a, const void *b)
{
        static const int order[] = {
                [RESOLVED_PRIVATE] = 0, [RESOLVED_READ_ONLY] = 1, [RESOLVED_WRITABLE] = 2,
                [RESOLVED_PINNED] = 3,  [RESOLVED_FROZEN] = 4,    [RESOLVED_MASKED] = 5,
        };
        const struct resolved_path *x = a, *y = b;
        const char *p = x->path, *q = y->path;
        while (*p && *p == *q) {
                p++;
                q++;
        }
        if (*p != *q) {
                /* A slash sorts before all other characters, so that /a/b comes after /a and before /a-b. */
                int c = *p == '/' ? 1
                        : *p      ? (unsigned char)*p + 1
                                  : 0,
                    d = *q == '/' ? 1
                        : *q      ? (unsigned char)*q + 1
                                  : 0;
                return c - d;
        }
        return order[x->kind] - order[y->kind];
}

/* Is this very path frozen? The places are sorted, and `index` is the first with this path. */
static bool is_frozen_itself(const struct resolved_paths *places, size_t index)
{
        const char *path = places->list[index].path;
        for (size_t i = index; i < places->count && strcmp(places->list[i].path, path) == 0; i++)
                if (places->list[i].kind == RESOLVED_FROZEN)
                        return true;
        return false;
}

/*
 * A writable place at or below a frozen one becomes read-only. A private directory is frozen after all other places
 * (`ret_private`), because mount points have to be made in it first. A frozen place that is not in a writable one is
 * dropped.
 */
static int settle_frozen(struct resolved_paths *places, struct arena *a, struct resolved_paths *ret_private)
{
        const char *frozen = NULL, *writable = NULL; /* the outermost that contains this place */
        const char *private = NULL;                  /* the last private directory */
        size_t kept = 0;
        for (size_t i = 0; i < places->count; i++) {
                struct resolved_path p = places->list[i];
                if (frozen && !path_is_beneath(p.path, frozen))
                        frozen = NULL;
                if (writable && !path_is_beneath(p.path, writable))
                        writable = NULL;
                if (!frozen && is_frozen_itself(places, i))
                        frozen = p.path;
                if (frozen && p.kind == RESOLVED_WRITABLE)
                        p.kind = RESOLVED_READ_ONLY;
                if (frozen && p.kind == RESOLVED_PRIVATE) {
                        struct resolved_path *slot =
                                arena_array_push(a, &ret_private->list, &ret_private->count, sizeof *slot);
                        if (!slot)
                                return -ENOMEM;
                        *slot = p;
                        slot->kind = RESOLVED_FROZEN;
                        private = p.path;
                }
                if (!writable && p.kind == RESOLVED_WRITABLE)
                        writable = p.path;
                bool later = private && strcmp(p.path, private) == 0;
                if (p.kind != RESOLVED_FROZEN || (writable && !later))
                        places->list[kept++] = p;
        }
        places->count = kept;
        return 0;
}

static int append(struct resolved_paths *places, struct arena *a, const struct resolved_paths *more)
{
        for (size_t i = 0; i < more->count; i++) {
                struct resolved_path *slot = arena_array_push(a, &places->list, &places->count, sizeof *slot);
                if (!slot)
                        return -ENOMEM;
                *slot = more->list[i];
        }
        return 0;
}

/* One mount per path and kind: the last of several grants counts. A denial keeps the grant under it. */
static void drop_repeats(struct resolved_paths *places)
{
        size_t kept = 0;
        for (size_t i = 0; i < places->count; i++) {
                const struct resolved_path *p = &places->list[i];
                const struct resolved_path *next = i + 1 < places->count ? &places->list[i + 1] : NULL;
                bool same = next && strcmp(next->path, p->path) == 0;
                bool grants = p->kind <= RESOLVED_PRIVATE;
                if (same && (next->kind == p->kind || (grants && next->kind <= RESOLVED_PRIVATE)))
                        continue;
                places->list[kept++] = *p;
        }
        places->count = kept;
}

/* Here box_root.c mounts its own /dev and /proc, which hide the grant of a parent directory. */
static bool is_made_by_root(const char *path)
{
        return path_is_beneath(path, "/dev") || path_is_beneath(path, "/proc");
}

/* Drops a grant directly inside a grant of the same kind, and a denial inside a cover: neither changes anything. */
static int drop_redundant(struct resolved_paths *places, struct arena *a)
{
        size_t kept = 0, depth = 0;
        const struct resolved_path **enclosing = arena_alloc(a, (places->count + 1) * sizeof *enclosing); /* a stack */
        if (!enclosing)
                return -ENOMEM;
        for (size_t i = 0; i < places->count; i++) {
                struct resolved_path p = places->list[i];
                while (depth && !path_is_beneath(p.path, enclosing[depth - 1]->path))
                        depth--;
                if (depth && p.kind <= RESOLVED_WRITABLE && enclosing[depth - 1]->kind == p.kind &&
                    !is_made_by_root(p.path))
                        continue;
                if (depth && p.kind > RESOLVED_PRIVATE && enclosing[depth - 1]->kind == RESOLVED_MASKED)
                        continue;
                places->list[kept] = p;
                if (p.kind != RESOLVED_PINNED)
                        enclosing[depth++] = &places->list[kept];
                kept++;
        }
        places->count = kept;
        return 0;
}

static void mark_masks_with_grants(struct resolved_paths *places)
{
        for (size_t i = 0; i < places->count; i++) {
                struct resolved_path *p = &places->list[i];
                for (size_t j = i + 1; p->kind == RESOLVED_MASKED && j < places->count &&
                                       path_is_beneath(places->list[j].path, p->path); j++)
                        p->holds_grants |= places->list[j].kind <= RESOLVED_PRIVATE;
        }
}

int resolve_paths(const struct plan *plan, bool guarded, struct arena *a, struct resolved_paths *ret, struct error *e)
{
        struct path_resolver f = { .arena = a, .guarded = guarded, .plan = plan, .places = ret, .error = e };
        struct resolved_paths private = { 0 };
        int r = find_grants(&f);
        if (r == 0)
                r = check_links(&f);
        if (r == 0)
                r = find_denials(&f);
        if (r < 0)
                return r;
        drop_denied_by_ceiling(&f);
        if (ret->count)
                qsort(ret->list, ret->count, sizeof *ret->list, compare);
        r = settle_frozen(ret, a, &private);
        drop_repeats(ret);
        if (r < 0 || drop_redundant(ret, a) < 0)
                return error_errno(e, ENOMEM, "no memory");
        mark_masks_with_grants(ret);
        return append(ret, a, &private) < 0 ? error_errno(e, ENOMEM, "no memory") : 0;
}

int platform_find_left_out(const struct plan *plan, struct arena *a, struct left_out_grant **ret, size_t *ret_count,
                           struct error *e)
{
        struct resolved_paths places = { 0 };
        struct path_resolver f = { .arena = a, .plan = plan, .places = &places, .error = e };
        int r = find_grants(&f);
        if (r == 0)
                r = check_links(&f);
        *ret = places.left_out;
        *ret_count = places.left_out_count;
        return r;
}

int places_open_socket(const char *path, struct error *e)
{
        struct stat st;
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, path, O_PATH, 0);
        if (fd < 0)
                return error_errno(e, -fd, "cannot open the unix socket %s", path);
        if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
                return error_set(e, ENOTSOCK, "%s is not a unix socket", path);
        return TAKE_FD(fd);
}
