/*
 * Finding places.
 *
 * What it is for: a plan speaks of names, mounts are made of directories. This file follows each rule's path through
 * the symbolic links of this machine and notes the links themselves, so that a box finds /bin -> usr/bin as it is used
 * to; looks patterns up in the directories they can match in; and adds the directories that must stay where they are.
 *
 * How it works: once, before any mount is made. Between now and the mount another box may change the same workspace, so
 * a place is opened again without following any link: root.c and carve.c.
 *
 * A protected path that is a mount point cannot be replaced, but a parent of it could be renamed and another put in its
 * place, so every directory between it and the writable directory around it is pinned: made a mount point too. So is a
 * symbolic link on the way to it.
 *
 * An attacker controls what lies in the workspace from an earlier run: deep or endless trees (walks are counted), and
 * links that lead anywhere. A grant that would go through such a link is refused, as the agent would choose what is
 * granted.
 */
#include "linux/places.h"

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
#include "policy/caps.h"
#include "policy/pattern.h"
#include "policy/rule_index.h"

enum { MOST_LINKS = 40, MOST_WALKED = 200000, MOST_DEPTH = 64 };

struct step {
        const struct rule *rule;
        const char *link, *target;
};

struct finder {
        struct arena *arena;
        const struct plan *plan;
        struct places *out;
        struct error *error;
        size_t walked;
        const struct rule *rule; /* whose path is being followed */
        struct step *steps;      /* links that were followed for grants */
        size_t step_count;
};

static const char stage[] = "find paths";

/* Nothing is there, for us, and so for the box. Any other failure means that we do not know. */
static bool is_out_of_reach(int result)
{
        return result == -ENOENT || result == -ENOTDIR || result == -EACCES || result == -ELOOP;
}

static int add(struct finder *f, enum place_kind kind, const char *path, bool directory, const struct rule *rule)
{
        struct place *slot = arena_array_add(f->arena, &f->out->list, &f->out->count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, stage, "no memory");
        *slot = (struct place){ .kind = kind, .path = path, .is_directory = directory, .rule = rule };
        return 0;
}

/* The writable place around this one, or NULL. */
static const char *writable_around(const struct finder *f, const char *path)
{
        const char *best = NULL;
        for (size_t i = 0; i < f->out->count; i++) {
                const struct place *p = &f->out->list[i];
                if (p->kind == PLACE_WRITE && path_is_beneath(path, p->path) && (!best || strlen(p->path) > strlen(best)))
                        best = p->path;
        }
        return best;
}

static int add_pins(struct finder *f, const char *path, const struct rule *rule)
{
        const char *around = writable_around(f, path);
        if (!around)
                return 0;
        for (size_t i = strlen(path); i-- > strlen(around) + 1;) {
                if (path[i] != '/')
                        continue;
                const char *parent = arena_copy(f->arena, path, i);
                int r = parent ? add(f, PLACE_PIN, parent, true, rule)
                               : error_errno(f->error, ENOMEM, stage, "no memory");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int note_link(struct finder *f, const char *path, const char *target)
{
        bool grant = f->rule->kind <= RULE_PRIVATE;
        if (grant) {
                struct step *step = arena_array_add(f->arena, &f->steps, &f->step_count, sizeof *step);
                if (!step)
                        return error_errno(f->error, ENOMEM, stage, "no memory");
                *step = (struct step){ f->rule, path, target };
        } else if (writable_around(f, path)) {
                int r = add_pins(f, path, f->rule);
                if (r == 0)
                        r = add(f, PLACE_PIN, path, false, f->rule);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < f->out->link_count; i++)
                if (strcmp(f->out->links[i].path, path) == 0)
                        return 0;
        struct place_link *slot = arena_array_add(f->arena, &f->out->links, &f->out->link_count, sizeof *slot);
        if (!slot)
                return error_errno(f->error, ENOMEM, stage, "no memory");
        *slot = (struct place_link){ path, target };
        return 0;
}

/*
 * The path that a link at the end of `prefix` leads to, with `rest` behind it. A `..` in it stays: what stands before it may
 * be a link too, and then the kernel means the directory above that link's target.
 */
static const char *through_link(struct finder *f, const char *prefix, const char *target, const char *rest)
{
        if (*target == '/')
                return arena_format(f->arena, "%s%s", target, rest);
        int parent = (int)(strrchr(prefix, '/') - prefix);
        return arena_format(f->arena, "%.*s/%s%s", parent, prefix, target, rest);
}

/* 0: there, without a link on the way; -ELOOP: links have to be followed. */
static int look_straight(const char *path, struct stat *ret_stat)
{
        CLEANUP_FD int fd = fd_open_straight(AT_FDCWD, path, O_PATH, 0);
        if (fd < 0)
                return fd;
        return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

/* Replaces the path by the one that its first link leads to, and notes the link. Without any it stays as it is. */
static int follow_link(struct finder *f, const char **path)
{
        const char *from = *path;
        for (size_t i = 1; i <= strlen(from); i++) {
                char target[PATH_MAX];
                i += strcspn(from + i, "/");
                char *prefix = arena_copy(f->arena, from, i);
                ssize_t n = prefix ? readlink(prefix, target, sizeof target - 1) : 0;
                if (n < 0 && errno == EINVAL)
                        continue; /* no link */
                if (n < 0)
                        return -errno;
                target[n] = '\0';
                const char *kept = arena_string(f->arena, target);
                const char *behind = prefix && kept ? through_link(f, prefix, kept, from + i) : NULL;
                if (!behind)
                        return error_errno(f->error, ENOMEM, stage, "no memory");
                *path = behind;
                /* Before it there is no link, so that here a `..` can be taken back as text. */
                const char *link = pattern_normalise(f->arena, prefix);
                return link ? note_link(f, link, kept) : error_errno(f->error, ENOMEM, stage, "no memory");
        }
        return 0;
}

/*
 * Follows every link in `path`; the end may be missing (-ENOENT, and then nothing is there to show or to hide). Links
 * that are met are noted.
 */
static int resolve(struct finder *f, const char *path, const char **ret, struct stat *ret_stat)
{
        int r = look_straight(path, ret_stat);
        for (size_t links = 0; r == -ELOOP && links < MOST_LINKS; links++) {
                r = follow_link(f, &path);
                if (r == 0)
                        r = look_straight(path, ret_stat);
        }
        if (r < 0)
                return r;
        *ret = pattern_normalise(f->arena, path); /* there is no link left in it */
        return *ret ? 0 : error_errno(f->error, ENOMEM, stage, "no memory");
}

static int add_denial(struct finder *f, const char *path, const struct rule *rule)
{
        struct stat st;
        const char *real = NULL;
        /* Most of what is denied by default does not exist. */
        if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
                return 0;
        f->rule = rule;
        int r = resolve(f, path, &real, &st);
        if (is_out_of_reach(r))
                return 0;
        if (r < 0)
                return f->error->code ? r : error_errno(f->error, -r, stage, "cannot look at %s", path);
        enum place_kind kind = rule->kind == RULE_DENY_READ ? PLACE_COVER : PLACE_FREEZE;
        if (kind == PLACE_FREEZE && !writable_around(f, real))
                return 0;
        r = add_pins(f, real, rule);
        return r < 0 ? r : add(f, kind, real, S_ISDIR(st.st_mode), rule);
}

/* How many directories deep can a pattern match, below the one that it is looked for in? */
static size_t levels_below(const struct rule *rule)
{
        size_t names = 0;
        for (const char *p = rule->path + rule_anchor_length(rule); *p; p++)
                names += *p == '/';
        return strstr(rule->path, "**") ? SIZE_MAX : names;
}

/* Looks for matches below one directory. Names are joined by hand, because the tree may be deep and hostile. */
static int walk(struct finder *f, const char *directory, const struct rule *rule, unsigned depth)
{
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                int code = errno;
                fd_close(&fd);
                /* What we may not list, the box may not either: it has our rights. */
                return is_out_of_reach(-code) ? 0 : error_errno(f->error, code, stage, "cannot look into %s", directory);
        }
        int r = 0;
        bool deeper = depth + 1 < levels_below(rule);
        errno = 0;
        for (struct dirent *d; r == 0 && (d = readdir(dir)); errno = 0) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                if (++f->walked > MOST_WALKED || depth == MOST_DEPTH) {
                        r = error_set(f->error, E2BIG, stage,
                                      "the pattern %s has to be looked for in too many files below %s", rule->path,
                                      directory);
                        break;
                }
                const char *path = arena_format(f->arena, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, d->d_name);
                if (!path)
                        r = error_errno(f->error, ENOMEM, stage, "no memory");
                else if (pattern_match(rule->path, path))
                        r = add_denial(f, path, rule);
                else if (deeper && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN))
                        r = walk(f, path, rule, depth + 1);
        }
        if (r == 0 && errno)
                r = error_errno(f->error, errno, stage, "cannot look into %s", directory);
        (void)closedir(dir);
        return r;
}

static int find_denials(struct finder *f)
{
        for (size_t i = 0; i < f->plan->rules.count; i++) {
                const struct rule *rule = &f->plan->rules.list[i];
                int r = 0;
                if (rule->kind < RULE_DENY_READ)
                        continue;
                if (!rule->glob) {
                        r = add_denial(f, rule->path, rule);
                } else {
                        size_t n = rule_anchor_length(rule);
                        const char *anchor = n ? arena_copy(f->arena, rule->path, n) : "/";
                        r = anchor ? walk(f, anchor, rule, 0) : -ENOMEM;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The devices of every box are made by root.c, not taken from the rules. */
static bool is_made_anyway(const struct rule *rule)
{
        return (rule->set && strcmp(rule->set, "devices") == 0) || strcmp(rule->path, "/proc") == 0;
}

static int find_grants(struct finder *f)
{
        static const enum place_kind kinds[] = {
                [RULE_READ] = PLACE_READ, [RULE_WRITE] = PLACE_WRITE, [RULE_PRIVATE] = PLACE_PRIVATE,
        };
        for (size_t i = 0; i < f->plan->rules.count; i++) {
                const struct rule *rule = &f->plan->rules.list[i];
                struct stat st = { .st_mode = S_IFDIR };
                const char *real = rule->path;
                if (rule->kind > RULE_PRIVATE || is_made_anyway(rule))
                        continue;
                f->rule = rule;
                int r = rule->kind == RULE_PRIVATE ? 0 : resolve(f, rule->path, &real, &st);
                if (is_out_of_reach(r))
                        continue;
                if (r < 0)
                        return f->error->code ? r : error_errno(f->error, -r, stage, "cannot look at %s", rule->path);
                r = add(f, kinds[rule->kind], real, S_ISDIR(st.st_mode), rule);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Returns whether there was one. */
static bool drop_place_of(struct places *places, const struct rule *rule)
{
        for (size_t i = 0; i < places->count; i++) {
                if (places->list[i].rule == rule) {
                        places->list[i] = places->list[--places->count];
                        return true;
                }
        }
        return false;
}

/*
 * Now that all writable places are known: a grant of the person's through a link in one of them is refused, one of our
 * own is left out. Judged are the links that were followed; to look again would be to look at something else.
 */
static int check_links(struct finder *f)
{
        for (size_t i = 0; i < f->step_count; i++) {
                const struct step *s = &f->steps[i];
                if (writable_around(f, s->link) && drop_place_of(f->out, s->rule) &&
                    strcmp(s->rule->from.name, "default") != 0)
                        return error_set(f->error, EPERM, stage,
                                         "%s is a symbolic link that a program in the box could have made; it leads to %s. "
                                         "To grant that, name it", s->link, s->target);
        }
        return 0;
}

/* Parents first. Of the same place: grants, then pins, then what denies; of two grants the wider last, so that it counts. */
static int compare(const void *a, const void *b)
{
        static const int order[] = {
                [PLACE_PRIVATE] = 0, [PLACE_READ] = 1, [PLACE_WRITE] = 2, [PLACE_PIN] = 3, [PLACE_FREEZE] = 4,
                [PLACE_COVER] = 5,
        };
        const struct place *x = a, *y = b;
        const char *p = x->path, *q = y->path;
        while (*p && *p == *q) {
                p++;
                q++;
        }
        if (*p != *q) {
                /* A slash sorts before everything, so that /a/b comes before /a-b and behind /a. */
                int c = *p == '/' ? 1 : *p ? (unsigned char)*p + 1 : 0, d = *q == '/' ? 1 : *q ? (unsigned char)*q + 1 : 0;
                return c - d;
        }
        return order[x->kind] - order[y->kind];
}

/* One mount for each place: of several the last in order decides, and a denial needs what lies under it. */
static void drop_repeats(struct places *places)
{
        size_t kept = 0;
        for (size_t i = 0; i < places->count; i++) {
                const struct place *p = &places->list[i];
                const struct place *next = i + 1 < places->count ? &places->list[i + 1] : NULL;
                bool same = next && strcmp(next->path, p->path) == 0;
                bool grants = p->kind <= PLACE_PRIVATE;
                if (same && (next->kind == p->kind || (grants && next->kind <= PLACE_PRIVATE)))
                        continue;
                places->list[kept++] = *p;
        }
        places->count = kept;
}

/* What root.c makes of its own there hides a grant of what lies around it. */
static bool is_made_by_root(const char *path)
{
        return path_is_beneath(path, "/dev") || path_is_beneath(path, "/proc");
}

/* A grant inside a grant of the same kind, with nothing else between them, says nothing new. */
static int drop_inner(struct places *places, struct arena *a)
{
        size_t kept = 0, depth = 0;
        const struct place **around = arena_alloc(a, (places->count + 1) * sizeof *around); /* those that we are in */
        if (!around)
                return -ENOMEM;
        for (size_t i = 0; i < places->count; i++) {
                struct place p = places->list[i];
                while (depth && !path_is_beneath(p.path, around[depth - 1]->path))
                        depth--;
                if (depth && p.kind <= PLACE_WRITE && around[depth - 1]->kind == p.kind && !is_made_by_root(p.path))
                        continue;
                places->list[kept] = p;
                if (p.kind != PLACE_PIN)
                        around[depth++] = &places->list[kept];
                kept++;
        }
        places->count = kept;
        return 0;
}

static void mark_covers(struct places *places)
{
        for (size_t i = 0; i < places->count; i++) {
                struct place *p = &places->list[i];
                for (size_t j = i + 1; p->kind == PLACE_COVER && j < places->count &&
                                       path_is_beneath(places->list[j].path, p->path); j++)
                        p->holds_grants |= places->list[j].kind <= PLACE_PRIVATE;
        }
}

int places_find(const struct plan *plan, struct arena *a, struct places *ret, struct error *e)
{
        struct finder f = { .arena = a, .plan = plan, .out = ret, .error = e };
        int r = find_grants(&f);
        if (r == 0)
                r = check_links(&f);
        if (r == 0)
                r = find_denials(&f);
        if (r < 0)
                return r;
        if (ret->count)
                qsort(ret->list, ret->count, sizeof *ret->list, compare);
        drop_repeats(ret);
        if (drop_inner(ret, a) < 0)
                return error_errno(e, ENOMEM, stage, "no memory");
        mark_covers(ret);
        return 0;
}
