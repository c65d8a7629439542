/*
 * Files by Landlock alone.
 *
 * What it is for: where no namespace can be made (in most containers, under some distributions' restrictions) the same
 * file rules still hold as far as Landlock can say them.
 *
 * How it works: Landlock only adds rights, and they go down into everything below. So something denied inside a readable
 * directory is carved out: instead of the directory, each of its entries is granted, except the one that is denied or
 * that leads to it, in which the same is done again. The directory itself cannot be listed then, and what is made in it
 * later is not seen; both are on the safe side. In a writable directory that would end all work, because no file could be
 * made in it: such a plan is refused.
 *
 * A directory of the box's own (/tmp, the home) is an empty one elsewhere: TMPDIR and HOME lead there, and the host's is
 * not granted. /dev is always carved: the devices that every box has are granted one by one.
 *
 * What is not held here and is under mounts: modes, owners, times and attributes can be changed by their owner; the names
 * of files can be asked for; protected names. What an attacker controls: entries of directories that it could write, in
 * an earlier run. No link is followed.
 */
#include "linux/carve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/ruleset.h"
#include "policy/pattern.h"

enum { MOST_ENTRIES = 50000, MOST_DEPTH = 64 };

static const char stage[] = "landlock";

/* --- what cannot be held --- */

static const struct place *writable_around(const struct places *places, size_t index)
{
        const char *path = places->list[index].path;
        for (size_t i = 0; i < index; i++) /* parents come first */
                if (places->list[i].kind == PLACE_WRITE && path_is_beneath(path, places->list[i].path))
                        return &places->list[i];
        return NULL;
}

int carve_check(const struct plan *plan, const struct places *places, size_t *ret_unheld, const struct place **ret_example,
                struct error *e)
{
        *ret_unheld = 0;
        if (ruleset_abi() < 3 && !plan->number[PLAN_BEST_EFFORT].number)
                return error_set(e, ENOTSUP, stage, "this kernel's Landlock lets files be emptied that may only be read; "
                                 "use --level strict, or --best-effort to accept that");
        for (size_t i = 0; i < places->count; i++) {
                const struct place *p = &places->list[i], *around = writable_around(places, i);
                if (!around || p->kind == PLACE_WRITE || p->kind == PLACE_PIN)
                        continue;
                bool unasked = p->rule->kind == RULE_PROTECT && strcmp(p->rule->from.name, "default") == 0;
                if (!unasked && !plan->number[PLAN_BEST_EFFORT].number)
                        return error_set(e, ENOTSUP, stage, "the rule '%s %s' lies inside %s, which may be written: only "
                                         "--level strict or maximum can hold that", rule_kind_words[p->rule->kind],
                                         p->rule->path, around->path);
                if ((*ret_unheld)++ == 0)
                        *ret_example = p;
        }
        return 0;
}

/* --- granting --- */

struct carving {
        struct ruleset rules;
        const struct places *places;
        size_t entries;
        struct error *error;
};

static bool is_gone(int error)
{
        return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP;
}

/* Is this left out of what lies around it? A grant inside it has a place of its own. */
static bool is_left_out(const struct place *p)
{
        return p->kind == PLACE_COVER || p->kind == PLACE_PRIVATE;
}

enum verdict { WHOLE, IN_PARTS, NOT };

static enum verdict judge(const struct carving *c, const char *path)
{
        static const char *const always[] = { "/dev" };
        for (size_t i = 0; i < ARRAY_SIZE(always); i++)
                if (path_is_beneath(path, always[i]))
                        return NOT;
        enum verdict v = strcmp(path, "/") == 0 ? IN_PARTS : WHOLE;
        for (size_t i = 0; i < c->places->count; i++) {
                const struct place *p = &c->places->list[i];
                if (!is_left_out(p))
                        continue;
                if (strcmp(p->path, path) == 0)
                        return NOT;
                if (path_is_beneath(p->path, path))
                        v = IN_PARTS;
        }
        return v;
}

static int grant(struct carving *c, int fd, const char *path, unsigned depth);

static int grant_entries(struct carving *c, int fd, const char *path, unsigned depth)
{
        int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = list < 0 ? NULL : fdopendir(list);
        if (!dir) {
                fd_close(&list);
                return 0; /* not ours to list: nothing below is granted */
        }
        int r = 0;
        for (struct dirent *d; r == 0 && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                char inner[PATH_MAX];
                size_t length = strlen(path), name = strlen(d->d_name);
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || d->d_type == DT_LNK)
                        continue;
                if (++c->entries > MOST_ENTRIES || depth == MOST_DEPTH || length + name + 2 > sizeof inner) {
                        r = error_set(c->error, E2BIG, stage, "something inside %s is denied, and it has too many entries to "
                                      "grant each of the others", path);
                        break;
                }
                length -= path[length - 1] == '/';
                memcpy(inner, path, length);
                inner[length] = '/';
                memcpy(inner + length + 1, d->d_name, name + 1);
                CLEANUP_FD int entry = fd_open_straight(fd, d->d_name, O_PATH, 0);
                if (entry >= 0)
                        r = grant(c, entry, inner, depth + 1);
                else if (!is_gone(-entry))
                        r = error_errno(c->error, -entry, stage, "cannot open %s", inner);
        }
        (void)closedir(dir);
        return r;
}

/* Reading, of all that is not denied below. */
static int grant(struct carving *c, int fd, const char *path, unsigned depth)
{
        switch (judge(c, path)) {
        case WHOLE:
                return ruleset_allow(&c->rules, fd, path, RULESET_READ);
        case IN_PARTS:
                return grant_entries(c, fd, path, depth);
        case NOT:
                break;
        }
        return 0;
}

static int grant_place(struct carving *c, const struct place *p)
{
        if (p->kind != PLACE_READ && p->kind != PLACE_WRITE)
                return 0;
        CLEANUP_FD int fd = fd_open_straight(AT_FDCWD, p->path, O_PATH, 0);
        if (fd < 0)
                return is_gone(-fd) ? 0 : error_errno(c->error, -fd, stage, "cannot open %s", p->path);
        if (p->kind == PLACE_WRITE)
                return ruleset_allow(&c->rules, fd, p->path, RULESET_WRITE);
        /* A grant of its own counts, though it lies in what is denied. */
        bool denied = judge(c, p->path) == NOT && !path_is_beneath(p->path, "/dev");
        return denied ? ruleset_allow(&c->rules, fd, p->path, RULESET_READ) : grant(c, fd, p->path, 0);
}

/*
 * What every box has. Of the terminals, its own: a rule for /dev/pts would open all that the user has, so programs can
 * make none.
 */
static int grant_common(struct carving *c, const char *scratch, int terminal)
{
        const char *const paths[] = {
                "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", scratch,
        };
        int r = terminal < 0 ? 0 : ruleset_allow(&c->rules, terminal, "the terminal", RULESET_WRITE);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++) {
                CLEANUP_FD int fd = paths[i] ? open(paths[i], O_PATH | O_CLOEXEC) : -1;
                if (!paths[i])
                        continue;
                if (fd >= 0)
                        r = ruleset_allow(&c->rules, fd, paths[i], RULESET_WRITE);
                else if (!is_gone(errno))
                        r = error_errno(c->error, errno, stage, "cannot open %s", paths[i]);
        }
        CLEANUP_FD int proc = open("/proc", O_PATH | O_CLOEXEC);
        return r < 0 || proc < 0 ? r : ruleset_allow(&c->rules, proc, "/proc", RULESET_READ);
}

int carve_files(const struct places *places, const char *scratch, int terminal, struct ruleset *ret, struct error *e)
{
        struct carving c = { .places = places, .error = e };
        int r = ruleset_begin(&c.rules, false, e); /* of the ports a box may have some: hold_landlock.c */
        if (r == 0)
                r = grant_common(&c, scratch, terminal);
        for (size_t i = 0; r == 0 && i < places->count; i++)
                r = grant_place(&c, &places->list[i]);
        if (r < 0)
                fd_close(&c.rules.fd);
        *ret = c.rules;
        return r;
}
