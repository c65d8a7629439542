/*
 * Checks changes of git configurations; see git_config.h.
 *
 * How it works: both texts are parsed as git parses them, and the values of each key are compared as lists. A key whose
 * list did not change is always allowed, because the person set it. For the others, the table below says which keys may
 * change and which values are harmless; a key that is not in the table may not be added, changed or removed. If the
 * values of a key change, all remaining ones must be harmless, because git uses the last value, and removing that one
 * activates the one before. Settings that are not in the table must also keep their order, because an include that
 * moves behind another setting overrides it.
 *
 * What an attacker controls: the new text, and the old one as far as an earlier check allowed it. Both are bounded.
 *
 * What it does not prevent: a remote's URL may be a local path, because `git clone ../other` must work. A push to that
 * path runs the hooks of the repository there.
 */
#include "policy/git_config.h"

#include <stdio.h>
#include <string.h>

#include "policy/git_config_parse.h"
#include "policy/git_names.h"

/* --- the table --- */

enum {
        REPOSITORY = 1 << GIT_CONFIG_REPOSITORY,
        WORKTREE = 1 << GIT_CONFIG_WORKTREE,
        MODULES = 1 << GIT_CONFIG_MODULES,
        OPTIONS = 1 << GIT_CONFIG_OPTIONS,
        SUBMODULE = 1 << 8, /* config of a submodule: the rows of REPOSITORY, and more */
};

/* The values that a row allows; value_checks[] has a function for each. One of them must accept the value. */
enum {
        BOOL = 1 << 0,
        INT = 1 << 1,
        WORD = 1 << 2,         /* one of row.words, which are separated by spaces */
        TEXT = 1 << 3,         /* anything without control characters */
        SIMPLE = 1 << 4,       /* letters, digits and a little punctuation: colours, filters, lists of words */
        URL = 1 << 5,
        REFSPEC = 1 << 6,
        REF = 1 << 7,
        BRANCH = 1 << 8,
        REMOTE = 1 << 9,       /* a remote that has a URL in this file */
        UPSTREAM = 1 << 10,    /* the same, but a branch that has an upstream gets no new remote; or "." */
        MODULE_PATH = 1 << 11,
        VERSION = 1 << 12,     /* of the repository format; may not become 0 again */
        WORK_TREE = 1 << 13,   /* of a submodule */
        LINES = 1 << 14,       /* several lines of TEXT */
};

/* What the middle part of section.subsection.key must be. */
enum subsection { NO_NAME, ANY_NAME, BRANCH_NAME, REMOTE_NAME, MODULE_NAME };

enum {
        SET_ONCE = 1 << 0,       /* may be set if it has no value yet, but not changed or removed */
        CLEAN_SECTION = 1 << 1,  /* only in a section whose old settings are all harmless: it could activate them */
        NOT_REMOVED = 1 << 2,    /* may be changed but not removed */
        NEW_REPOSITORY = 1 << 3, /* only if the person left no configuration: git fetches from the remote on its own */
};

struct row {
        unsigned kinds;
        const char *section;
        enum subsection subsection;
        const char *key; /* NULL: any */
        unsigned values;
        const char *words; /* for WORD */
        unsigned flags;
};

static const struct row rows[] = {
        /* git init, git clone */
        { REPOSITORY, "core", NO_NAME, "repositoryformatversion", VERSION, NULL, NOT_REMOVED },
        { REPOSITORY, "core", NO_NAME, "filemode", BOOL, NULL, 0 },
        { REPOSITORY, "core", NO_NAME, "bare", BOOL, NULL, SET_ONCE },
        { REPOSITORY, "core", NO_NAME, "logallrefupdates", BOOL | WORD, "always", 0 },
        { REPOSITORY, "core", NO_NAME, "ignorecase", BOOL, NULL, SET_ONCE },
        { REPOSITORY, "core", NO_NAME, "precomposeunicode", BOOL, NULL, SET_ONCE },
        { REPOSITORY, "core", NO_NAME, "symlinks", BOOL, NULL, SET_ONCE },
        { REPOSITORY, "extensions", NO_NAME, "objectformat", WORD, "sha1 sha256", SET_ONCE },
        { REPOSITORY, "extensions", NO_NAME, "refstorage", WORD, "files", SET_ONCE },
        { REPOSITORY, "extensions", NO_NAME, "worktreeconfig", WORD, "true", SET_ONCE },
        { REPOSITORY, "extensions", NO_NAME, "relativeworktrees", WORD, "true", SET_ONCE },
        { REPOSITORY, "extensions", NO_NAME, "partialclone", REMOTE, NULL, SET_ONCE | NEW_REPOSITORY },
        { SUBMODULE, "core", NO_NAME, "worktree", WORK_TREE, NULL, 0 },
        /* remotes and branches */
        { REPOSITORY, "remote", REMOTE_NAME, "url", URL, NULL, SET_ONCE | CLEAN_SECTION },
        { REPOSITORY, "remote", REMOTE_NAME, "fetch", REFSPEC, NULL, 0 },
        { REPOSITORY, "remote", REMOTE_NAME, "tagopt", WORD, "--no-tags --tags", 0 },
        { REPOSITORY, "remote", REMOTE_NAME, "prune", BOOL, NULL, 0 },
        { REPOSITORY, "remote", REMOTE_NAME, "promisor", BOOL, NULL, CLEAN_SECTION | NEW_REPOSITORY },
        { REPOSITORY, "remote", REMOTE_NAME, "partialclonefilter", SIMPLE, NULL, 0 },
        { REPOSITORY, "remote", REMOTE_NAME, "followremotehead", WORD, "create always never warn", 0 },
        { REPOSITORY, "branch", BRANCH_NAME, "remote", UPSTREAM, NULL, NOT_REMOVED },
        { REPOSITORY, "branch", BRANCH_NAME, "pushremote", UPSTREAM, NULL, NOT_REMOVED },
        { REPOSITORY, "branch", BRANCH_NAME, "merge", REF, NULL, 0 },
        { REPOSITORY, "branch", BRANCH_NAME, "rebase", BOOL | WORD, "merges", 0 },
        { REPOSITORY, "branch", BRANCH_NAME, "description", LINES, NULL, 0 },
        /* submodules; .gitmodules */
        { REPOSITORY, "submodule", NO_NAME, "active", TEXT, NULL, 0 },
        { REPOSITORY, "submodule", MODULE_NAME, "active", BOOL, NULL, CLEAN_SECTION },
        { REPOSITORY | MODULES, "submodule", MODULE_NAME, "url", URL, NULL, SET_ONCE | CLEAN_SECTION },
        { REPOSITORY | MODULES, "submodule", MODULE_NAME, "update", WORD, "checkout rebase merge none", CLEAN_SECTION },
        { MODULES, "submodule", MODULE_NAME, "path", MODULE_PATH, NULL, 0 },
        { MODULES, "submodule", MODULE_NAME, "branch", BRANCH | WORD, ".", 0 },
        { MODULES, "submodule", MODULE_NAME, "ignore", WORD, "all dirty untracked none", 0 },
        { MODULES, "submodule", MODULE_NAME, "shallow", BOOL, NULL, 0 },
        { MODULES, "submodule", MODULE_NAME, "fetchrecursesubmodules", BOOL | WORD, "on-demand", 0 },
        /* cherry-pick and revert of several commits; not gpg-sign, which runs a program, and no other strategy */
        { OPTIONS, "options", NO_NAME, "no-commit", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "edit", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "allow-empty", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "allow-empty-message", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "drop-redundant-commits", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "keep-redundant-commits", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "signoff", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "record-origin", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "allow-ff", BOOL, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "mainline", INT, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "strategy", WORD, "ort recursive", 0 },
        { OPTIONS, "options", NO_NAME, "strategy-option", SIMPLE, NULL, 0 },
        { OPTIONS, "options", NO_NAME, "default-msg-cleanup", WORD, "strip whitespace verbatim scissors default", 0 },
        /* sparse checkout */
        { REPOSITORY | WORKTREE, "core", NO_NAME, "sparsecheckout", BOOL, NULL, 0 },
        { REPOSITORY | WORKTREE, "core", NO_NAME, "sparsecheckoutcone", BOOL, NULL, 0 },
        { REPOSITORY | WORKTREE, "index", NO_NAME, "sparse", BOOL, NULL, 0 },
        { WORKTREE, "core", NO_NAME, "bare", WORD, "false", SET_ONCE },
        /* what people set for one repository */
        { REPOSITORY, "user", NO_NAME, "name", TEXT, NULL, 0 },
        { REPOSITORY, "user", NO_NAME, "email", TEXT, NULL, 0 },
        { REPOSITORY, "core", NO_NAME, "autocrlf", BOOL | WORD, "input", 0 },
        { REPOSITORY, "core", NO_NAME, "eol", WORD, "lf crlf native", 0 },
        { REPOSITORY, "core", NO_NAME, "safecrlf", BOOL | WORD, "warn", 0 },
        { REPOSITORY, "core", NO_NAME, "whitespace", SIMPLE, NULL, 0 },
        { REPOSITORY, "core", NO_NAME, "quotepath", BOOL, NULL, 0 },
        { REPOSITORY, "core", NO_NAME, "abbrev", INT | WORD, "auto no", 0 },
        { REPOSITORY, "init", NO_NAME, "defaultbranch", BRANCH, NULL, 0 },
        { REPOSITORY, "pull", NO_NAME, "rebase", BOOL | WORD, "merges", 0 },
        { REPOSITORY, "pull", NO_NAME, "ff", BOOL | WORD, "only", 0 },
        { REPOSITORY, "fetch", NO_NAME, "prune", BOOL, NULL, 0 },
        { REPOSITORY, "push", NO_NAME, "default", WORD, "nothing current upstream tracking simple matching", 0 },
        { REPOSITORY, "push", NO_NAME, "autosetupremote", BOOL, NULL, 0 },
        { REPOSITORY, "merge", NO_NAME, "conflictstyle", WORD, "merge diff3 zdiff3", 0 },
        { REPOSITORY, "merge", NO_NAME, "ff", BOOL | WORD, "only", 0 },
        { REPOSITORY, "diff", NO_NAME, "algorithm", WORD, "default myers minimal patience histogram", 0 },
        { REPOSITORY, "diff", NO_NAME, "renames", BOOL | WORD, "copy copies", 0 },
        { REPOSITORY, "color", NO_NAME, NULL, BOOL | WORD, "auto always never", 0 },
        { REPOSITORY, "color", ANY_NAME, NULL, SIMPLE, NULL, 0 },
        { REPOSITORY, "advice", NO_NAME, NULL, BOOL, NULL, 0 },
        { REPOSITORY, "rerere", NO_NAME, "enabled", BOOL, NULL, 0 },
        { REPOSITORY, "log", NO_NAME, "date", SIMPLE, NULL, 0 },
        { REPOSITORY, "core", NO_NAME, "untrackedcache", BOOL | WORD, "keep", 0 },
        { REPOSITORY, "core", NO_NAME, "longpaths", BOOL, NULL, 0 },
        { REPOSITORY, "fetch", NO_NAME, "recursesubmodules", BOOL | WORD, "on-demand", 0 },
        { REPOSITORY, "branch", NO_NAME, "autosetuprebase", WORD, "never local remote always", 0 },
        { REPOSITORY, "http", NO_NAME, "postbuffer", INT, NULL, 0 },
        { REPOSITORY, "gc", NO_NAME, "auto", INT, NULL, 0 },
        { REPOSITORY, "index", NO_NAME, "threads", BOOL | INT, NULL, 0 },
        { REPOSITORY, "index", NO_NAME, "version", INT, NULL, 0 },
        { REPOSITORY, "index", NO_NAME, "skiphash", BOOL, NULL, 0 },
        { REPOSITORY, "index", NO_NAME, "recordendofindexentries", BOOL, NULL, 0 },
        { REPOSITORY, "index", NO_NAME, "recordoffsettable", BOOL, NULL, 0 },
};

/* --- the two configurations --- */

struct sorted_config {
        struct git_config config;
        const struct git_config_entry **sorted; /* by base and key; equal keys in the order of the file */
};

/* The entries of one key: neighbours in `sorted`. */
struct group {
        const struct git_config_entry **entries;
        size_t count;
};

struct check {
        unsigned kind;       /* REPOSITORY and so on */
        const char *git_dir; /* of a submodule, or NULL */
        struct sorted_config old, new;
        struct text *why;
};

/* A key whose values differ. One of the groups may be empty. */
struct change {
        struct check *check;
        const struct row *row; /* NULL: the key is not in the table */
        struct group old, new;
};

static int compare_names(const struct git_config_entry *a, const char *base, const char *key)
{
        int order = a->base == base ? 0 : strcmp(a->base, base);
        return order ? order : strcmp(a->key, key);
}

static int compare_entries(const void *a, const void *b)
{
        const struct git_config_entry *x = *(const struct git_config_entry *const *)a;
        const struct git_config_entry *y = *(const struct git_config_entry *const *)b;
        int order = compare_names(x, y->base, y->key);
        return order ? order : (x > y) - (x < y);
}

static bool sort_config(struct arena *a, struct sorted_config *s)
{
        size_t count = s->config.count;
        s->sorted = arena_alloc(a, (count + 1) * sizeof(struct git_config_entry *));
        if (!s->sorted)
                return false;
        for (size_t i = 0; i < count; i++)
                s->sorted[i] = &s->config.entries[i];
        qsort(s->sorted, count, sizeof(struct git_config_entry *), compare_entries);
        return true;
}

/* The entries of the key that starts at this position in `sorted`. */
static struct group group_at(const struct sorted_config *s, size_t at)
{
        struct group g = { s->sorted + at, 1 };
        while (at + g.count < s->config.count &&
               compare_names(g.entries[g.count], g.entries[0]->base, g.entries[0]->key) == 0)
                g.count++;
        return g;
}

/* The first position in `sorted` that is not before this key. */
static size_t find_position(const struct sorted_config *s, const char *base, const char *key)
{
        size_t low = 0, high = s->config.count;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (compare_names(s->sorted[middle], base, key) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool has_key(const struct sorted_config *s, const char *base, const char *key)
{
        size_t at = find_position(s, base, key);
        return at < s->config.count && compare_names(s->sorted[at], base, key) == 0;
}

static bool has_remote(const struct sorted_config *s, const char *name)
{
        char base[1024];
        int length = snprintf(base, sizeof base, "remote.%s", name);
        return length > 0 && (size_t)length < sizeof base && has_key(s, base, "url");
}

static bool values_are_equal(const struct git_config_entry *a, const struct git_config_entry *b)
{
        if (!a->value || !b->value)
                return a->value == b->value;
        if (a->ambiguous || b->ambiguous)
                return a->raw_length == b->raw_length && memcmp(a->raw, b->raw, a->raw_length) == 0;
        return strcmp(a->value, b->value) == 0;
}

static bool groups_are_equal(const struct group *a, const struct group *b)
{
        bool equal = a->count == b->count;
        for (size_t i = 0; equal && i < a->count; i++)
                equal = values_are_equal(a->entries[i], b->entries[i]);
        return equal;
}

/* --- allowed values --- */

static bool value_is_word(const struct change *c, const char *value)
{
        size_t length = strlen(value);
        for (const char *p = c->row->words; length && p && *p; p += strspn(p, " ")) {
                size_t n = strcspn(p, " ");
                if (n == length && memcmp(p, value, n) == 0)
                        return true;
                p += n;
        }
        return false;
}

static bool value_is_bool(const struct change *c, const char *value)
{
        static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "1", "0" };
        (void)c;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return false;
}

static bool value_is_int(const struct change *c, const char *value)
{
        (void)c;
        value += *value == '-';
        size_t digits = strspn(value, "0123456789");
        if (digits < 1 || digits > 9)
                return false;
        value += digits;
        return !*value || (strchr("kKmMgG", *value) && !value[1]);
}

static bool value_is_text(const struct change *c, const char *value)
{
        (void)c;
        return git_text_is_plain(value);
}

/* Each line by itself may be as long as TEXT may be in all. */
static bool value_is_lines(const struct change *c, const char *value)
{
        enum { LINE_BYTES_MAX = 1024 };
        char line[LINE_BYTES_MAX];
        for (;;) {
                size_t length = strcspn(value, "\n");
                if (length >= sizeof line)
                        return false;
                memcpy(line, value, length);
                line[length] = '\0';
                if (!value_is_text(c, line))
                        return false;
                value += length;
                if (!*value++)
                        return true;
        }
}

static bool value_is_simple(const struct change *c, const char *value)
{
        (void)c;
        for (const char *p = value; *p; p++) {
                bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
                if (!letter && !strchr(" ,=#._:+-", *p))
                        return false;
        }
        return git_text_is_plain(value) && !strstr(value, "::");
}

static bool value_is_url(const struct change *c, const char *value)
{
        (void)c;
        return git_url_is_plain(value);
}

static bool value_is_refspec(const struct change *c, const char *value)
{
        (void)c;
        return git_refspec_is_plain(value);
}

static bool value_is_ref(const struct change *c, const char *value)
{
        (void)c;
        return git_ref_is_plain(value);
}

static bool value_is_branch(const struct change *c, const char *value)
{
        (void)c;
        return git_branch_is_plain(value);
}

/* A remote without a URL in this file could be a path, or a file in .git/remotes. */
static bool value_is_remote(const struct change *c, const char *value)
{
        return git_remote_is_plain(value) && has_remote(&c->check->new, value);
}

static bool value_is_upstream(const struct change *c, const char *value)
{
        const struct sorted_config *old = &c->check->old;
        const char *base = c->new.entries[0]->base;
        if (strcmp(value, ".") == 0)
                return true;
        bool has_upstream = has_key(old, base, "remote") || has_key(old, base, "pushremote");
        return value_is_remote(c, value) && (!has_upstream || has_remote(old, value));
}

static bool value_is_module_path(const struct change *c, const char *value)
{
        (void)c;
        return git_path_is_plain(value);
}

static bool value_is_version(const struct change *c, const char *value)
{
        return strcmp(value, "1") == 0 || (strcmp(value, "0") == 0 && c->old.count == 0);
}

/* Enough "../" to leave every .git directory but not the workspace, and then a plain path. */
static bool value_is_work_tree(const struct change *c, const char *value)
{
        char start[1024];
        const char *git_dir = c->check->git_dir;
        size_t left = git_dir ? strlen(git_dir) : 0;
        if (!left || left >= sizeof start || *git_dir == '/' || strstr(git_dir, ".."))
                return false;
        memcpy(start, git_dir, left + 1);
        for (; left && text_has_prefix(value, "../"); value += 3) {
                while (left && start[left - 1] != '/')
                        left--;
                left -= left > 0;
                start[left] = '\0';
        }
        return git_path_is_plain(value) && (!left || git_path_is_plain(start));
}

static const struct {
        unsigned bit;
        bool (*accepts)(const struct change *c, const char *value);
        const char *wrong; /* the reason if the row allows only this kind; NULL: a general one */
} value_checks[] = {
        { BOOL, value_is_bool, NULL },
        { INT, value_is_int, NULL },
        { WORD, value_is_word, NULL },
        { TEXT, value_is_text, NULL },
        { SIMPLE, value_is_simple, NULL },
        { URL, value_is_url, "only https and ssh URLs and local paths" },
        { REFSPEC, value_is_refspec, "only into refs/remotes and refs/tags" },
        { REF, value_is_ref, NULL },
        { BRANCH, value_is_branch, NULL },
        { REMOTE, value_is_remote, "not a remote of this file" },
        { UPSTREAM, value_is_upstream, "not a remote of this file, or a new remote for a branch that has one" },
        { MODULE_PATH, value_is_module_path, NULL },
        { VERSION, value_is_version, NULL },
        { WORK_TREE, value_is_work_tree, NULL },
        { LINES, value_is_lines, NULL },
};

/* A key without a value means true, so it is allowed only for BOOL. */
static bool value_is_allowed(const struct change *c, const struct git_config_entry *e)
{
        if (!e->value)
                return c->row->values & BOOL;
        for (size_t i = 0; i < ARRAY_SIZE(value_checks); i++)
                if ((c->row->values & value_checks[i].bit) && value_checks[i].accepts(c, e->value))
                        return !e->ambiguous;
        return false;
}

static const char *describe_wrong_value(const struct row *row)
{
        for (size_t i = 0; i < ARRAY_SIZE(value_checks); i++)
                if (row->values == value_checks[i].bit && value_checks[i].wrong)
                        return value_checks[i].wrong;
        return "this value is refused";
}

/* --- the checks --- */

static bool refuse(struct check *check, const struct git_config_entry *e, const char *reason)
{
        enum { SHOWN_MAX = 200 };
        if (!check->why)
                return false;
        text_add_escaped(check->why, e->base, strnlen(e->base, SHOWN_MAX));
        text_add(check->why, strlen(e->base) > SHOWN_MAX ? "[…]." : ".");
        text_add_escaped(check->why, e->key, strnlen(e->key, SHOWN_MAX));
        if (reason)
                text_format(check->why, ": %s", reason);
        return false;
}

/* The subsection of "section.subsection", or NULL. Git also splits at the first dot. */
static const char *subsection_of(const char *base)
{
        const char *dot = strchr(base, '.');
        return dot ? dot + 1 : NULL;
}

static bool row_matches(const struct row *row, unsigned kind, const struct git_config_entry *e)
{
        size_t length = strcspn(e->base, ".");
        unsigned kinds = row->kinds | (row->kinds & REPOSITORY ? (unsigned)SUBMODULE : 0);
        return (kinds & kind) && (row->subsection != NO_NAME) == (e->base[length] == '.') &&
               strlen(row->section) == length && memcmp(row->section, e->base, length) == 0 &&
               (!row->key || strcmp(row->key, e->key) == 0);
}

static const struct row *find_row(unsigned kind, const struct git_config_entry *e)
{
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (row_matches(&rows[i], kind, e))
                        return &rows[i];
        return NULL;
}

static bool subsection_is_allowed(enum subsection wanted, const char *name)
{
        switch (wanted) {
        case NO_NAME:
                return true;
        case ANY_NAME:
                return git_text_is_plain(name);
        case BRANCH_NAME:
                return git_branch_is_plain(name);
        case REMOTE_NAME:
                return git_remote_is_plain(name);
        case MODULE_NAME:
                return git_path_is_plain(name);
        }
        return false;
}

/* Did the person leave only settings in this section that the box could have written too? */
static bool section_is_harmless(const struct change *c, const char *base)
{
        const struct sorted_config *old = &c->check->old;
        for (size_t at = find_position(old, base, ""); at < old->config.count; at++) {
                const struct git_config_entry *e = old->sorted[at];
                if (strcmp(e->base, base) != 0)
                        break;
                struct change there = { .check = c->check, .row = find_row(c->check->kind, e),
                                        .new = { old->sorted + at, 1 } };
                if (!there.row || !value_is_allowed(&there, e))
                        return false;
        }
        return true;
}

static bool check_change(const struct change *c)
{
        struct check *check = c->check;
        const struct git_config_entry *first = c->new.count ? c->new.entries[0] : c->old.entries[0];
        if (!c->new.count && (!c->row || (c->row->flags & NOT_REMOVED)))
                return refuse(check, first, "it may not be removed");
        if (!c->row)
                return refuse(check, first, NULL);
        if (c->old.count && (c->row->flags & SET_ONCE))
                return refuse(check, first,
                              c->row->values == URL ? "an existing address stays" : "it may not be changed");
        if (c->new.count && (c->row->flags & NEW_REPOSITORY) && check->old.config.count)
                return refuse(check, first, "only in a new repository");
        if (c->new.count && !subsection_is_allowed(c->row->subsection, subsection_of(first->base)))
                return refuse(check, first, "the name of the subsection is refused");
        if ((c->row->flags & CLEAN_SECTION) && !section_is_harmless(c, first->base))
                return refuse(check, first, "the section has settings that a box may not change");
        for (size_t i = 0; i < c->new.count; i++)
                if (!value_is_allowed(c, c->new.entries[i]))
                        return refuse(check, first, describe_wrong_value(c->row));
        return true;
}

/* Walks over both sorted configurations in parallel. */
static bool check_all_keys(struct check *check)
{
        const struct sorted_config *old = &check->old, *new = &check->new;
        for (size_t o = 0, n = 0; o < old->config.count || n < new->config.count;) {
                struct change c = { .check = check };
                int order = o == old->config.count ? 1 : -1;
                if (o < old->config.count && n < new->config.count)
                        order = compare_names(old->sorted[o], new->sorted[n]->base, new->sorted[n]->key);
                if (order <= 0)
                        c.old = group_at(old, o);
                if (order >= 0)
                        c.new = group_at(new, n);
                c.row = find_row(check->kind, order < 0 ? old->sorted[o] : new->sorted[n]);
                if (!groups_are_equal(&c.old, &c.new) && !check_change(&c))
                        return false;
                o += c.old.count;
                n += c.new.count;
        }
        return true;
}

/* The next entry from `at` on that is not in the table. */
static const struct git_config_entry *next_unlisted(const struct check *check, const struct sorted_config *s,
                                                    size_t *at)
{
        while (*at < s->config.count) {
                const struct git_config_entry *e = &s->config.entries[(*at)++];
                if (!find_row(check->kind, e))
                        return e;
        }
        return NULL;
}

static bool check_order(struct check *check)
{
        size_t o = 0, n = 0;
        const struct git_config_entry *a, *b;
        while ((a = next_unlisted(check, &check->old, &o)) && (b = next_unlisted(check, &check->new, &n)))
                if (compare_names(a, b->base, b->key) != 0)
                        return refuse(check, b, "its place among other settings changed");
        return true;
}

/*
 * When git before 2.40.1 renames or removes a section, it takes the rest of a line after byte 1024 for a new line
 * (CVE-2023-29007), and so could find a setting inside a comment. So a long line must already be in the old file.
 */
/* Is this a whole line of the text? */
static bool has_line(const char *text, size_t length, const char *line, size_t line_length)
{
        const char *end = text + length;
        for (const char *at = text; at && (at = memmem(at, (size_t)(end - at), line, line_length)); at++)
                if ((at == text || at[-1] == '\n') && (at + line_length == end || at[line_length] == '\n'))
                        return true;
        return false;
}

static bool check_long_lines(struct check *check, const char *old, size_t old_length, const char *text, size_t length)
{
        enum { CONFIG_LINE_MAX = 1000, LONG_LINES_MAX = 16 };
        unsigned number = 1, found = 0;
        for (const char *line = text, *end = text + length; line < end; number++) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));
                size_t n = (size_t)((newline ? newline : end) - line);
                if (n > CONFIG_LINE_MAX && (++found > LONG_LINES_MAX || !has_line(old, old_length, line, n))) {
                        if (check->why)
                                text_format(check->why, "line %u is longer than %d bytes", number, CONFIG_LINE_MAX);
                        return false;
                }
                line = newline ? newline + 1 : end;
        }
        return true;
}

static bool check_texts(struct check *check, const char *old, size_t old_length, const char *text, size_t length)
{
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        text = text ? text : "";
        if (old && old_length == length && (length == 0 || memcmp(old, text, length) == 0))
                return true;
        if (!a || !git_config_parse(a, text, length, &check->new.config, check->why))
                return false;
        if (old && !git_config_parse(a, old, old_length, &check->old.config, NULL)) {
                if (check->why)
                        text_add(check->why, "the present file cannot be parsed, so it may not be replaced");
                return false;
        }
        return check_long_lines(check, old, old_length, text, length) && sort_config(a, &check->old) &&
               sort_config(a, &check->new) && check_all_keys(check) && check_order(check);
}

bool git_config_may_change(enum git_config_kind kind, const char *old, size_t old_length, const char *text,
                           size_t length, struct text *why)
{
        struct check check = { .kind = 1U << kind, .why = why };
        return check_texts(&check, old, old_length, text, length);
}

bool git_config_may_change_submodule(const char *git_dir, const char *old, size_t old_length, const char *text,
                                     size_t length, struct text *why)
{
        struct check check = { .kind = SUBMODULE, .git_dir = git_dir, .why = why };
        return check_texts(&check, old, old_length, text, length);
}
