/*
 * Loads policies; see load_policy.h. A file that exists but cannot be read is an error: otherwise a ceiling could be
 * disabled by making it unreadable.
 */
#include "box/load_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/gather_facts.h"
#include "path/real_path.h"
#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/path_pattern.h"
#include "policy/settings.h"

struct loader {
        struct arena *arena;
        struct diagnostics *messages;
        struct host_facts facts;
        struct settings policy;
        const struct settings **ceilings;
        size_t ceiling_count;
        const char **own_files; /* files that ringwall trusts: no box may write them (policy/host_facts.h) */
        size_t own_file_count;
        const char *user_policy; /* the user's policy.yaml; NULL: it does not exist */
        bool rejected;           /* `messages` has an error, so no plan is returned */
};

enum { OPTIONAL = 1 };

static const char *make_absolute(struct loader *l, const char *path)
{
        return path_normalize(l->arena, *path == '/' ? path : arena_format(l->arena, "%s/%s", l->facts.cwd, path));
}

static const char *directory_of(struct loader *l, const char *path)
{
        const char *full = make_absolute(l, path), *slash = full ? strrchr(full, '/') : NULL;
        return slash ? arena_strndup(l->arena, full, slash == full ? 1 : (size_t)(slash - full)) : NULL;
}

static bool is_own_file(const struct loader *l, const char *path)
{
        for (size_t i = 0; i < l->own_file_count; i++)
                if (strcmp(l->own_files[i], path) == 0)
                        return true;
        return false;
}

static int add_own_path(struct loader *l, const char *path)
{
        if (path && is_own_file(l, path))
                return 0;
        const char **slot = path ? arena_array_push(l->arena, &l->own_files, &l->own_file_count, sizeof(*slot)) : NULL;
        if (!slot)
                return -ENOMEM;
        *slot = path;
        return 0;
}

/* Adds the path as given, its real path, and the symlinks in between: replacing any of them changes what is read. */
static int add_own_file(struct loader *l, const char *path)
{
        struct followed_links links = { 0 };
        const char *named = make_absolute(l, path), *real = NULL;
        if (named && is_own_file(l, named))
                return 0;
        int r = add_own_path(l, named);
        if (r == 0)
                r = real_path(l->arena, named, "", &real, &links);
        if (r < 0 && r != -ELOOP)
                return r;
        r = real ? add_own_path(l, real) : 0;
        for (size_t i = 0; r == 0 && i < links.count; i++)
                r = add_own_path(l, links.paths[i]);
        return r;
}

/*
 * Adds the files and directories that a later run of ringwall would use by default, whether they exist or not: those of
 * this environment, and those of one without the XDG variables.
 */
static int add_own_directories(struct loader *l)
{
        const char *home = l->facts.home, *config = host_facts_config_dir(l->arena, &l->facts);
        const char *const paths[] = {
                "/etc/ringwall",
                config,
                config ? arena_format(l->arena, "%s/policy.yaml", config) : NULL, /* may be a dangling symlink */
                l->facts.user_data,
                l->facts.user_state,
                home ? arena_format(l->arena, "%s/.config/ringwall", home) : NULL,
                home ? arena_format(l->arena, "%s/.config/ringwall/policy.yaml", home) : NULL,
                home ? arena_format(l->arena, "%s/.local/share/ringwall", home) : NULL,
                home ? arena_format(l->arena, "%s/.local/state/ringwall", home) : NULL,
        };
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++)
                if (paths[i])
                        r = add_own_file(l, paths[i]);
        return r;
}

/*
 * A box may be able to write a file by another hard link, although rules protect this path. A file that this user
 * cannot write at all is safe, as in a package store that hard-links identical files.
 */
static bool may_change_by_hard_link(int fd, const char *path)
{
        struct stat st;
        struct statvfs fs;
        if (fstat(fd, &st) < 0 || st.st_nlink < 2)
                return false;
        if (fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
                return false;
        return st.st_uid == geteuid() || access(path, W_OK) == 0;
}

static int read_policy_file(struct loader *l, const char *path, char **ret_text, size_t *ret_length, struct error *e)
{
        CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return error_errno(e, errno, "cannot open %s", path);
        if (may_change_by_hard_link(fd, path)) {
                diagnostic_error(l->messages, (struct source){ .name = path }, "replace it by a copy (cp, then mv)",
                                 "this file has another name (a hard link), by which a box could change it");
                l->rejected = true;
        }
        return fd_read_all(fd, path, POLICY_FILE_BYTES_MAX, ret_text, ret_length, e);
}

/* A file that cannot be opened is reported like any other mistake, with the file's path as the source. */
static int read_text(struct loader *l, const char *path, int flags, char **ret_text, size_t *ret_length)
{
        struct error e = { 0 };
        const char *full = make_absolute(l, path);
        if (full && text_utf8_valid_length(full, strlen(full)) < strlen(full)) {
                diagnostic_error(l->messages, (struct source){ .name = path }, "rename it",
                                 "the path of a policy must be UTF-8");
                l->rejected = true;
                return -EINVAL;
        }
        int r = read_policy_file(l, path, ret_text, ret_length, &e);
        if (r == 0)
                return 0;
        if ((flags & OPTIONAL) && (r == -ENOENT || r == -ENOTDIR))
                return -ENOENT;
        diagnostic_error(l->messages, (struct source){ .name = path },
                         r == -EFBIG ? "split it, or grant directories instead of files" : NULL, "%s", e.text);
        l->rejected = true;
        return r;
}

typedef int reader(struct settings *s, const char *name, const char *text, size_t length, const char *base);

static int read_layer(struct loader *l, struct settings *into, const char *path, int flags, reader *read,
                      const char *base)
{
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        int r = read_text(l, path, flags, &text, &length);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;
        r = read(into, path, text, length, base);
        l->rejected |= r > 0;
        return r < 0 ? r : add_own_file(l, path);
}

static int read_native(struct loader *l, const char *path, int flags)
{
        const char *base = directory_of(l, path);
        return base ? read_layer(l, &l->policy, path, flags, settings_parse_policy, base) : -ENOMEM;
}

static int read_ceiling(struct loader *l, const char *path, int flags)
{
        struct settings *ceiling = ARENA_NEW(l->arena, struct settings);
        const char *base = directory_of(l, path);
        if (!ceiling || !base)
                return -ENOMEM;
        settings_init(ceiling, l->arena, l->messages, l->facts.to_ascii);
        int r = read_layer(l, ceiling, path, flags, settings_parse_policy, base);
        if (r < 0)
                return r;
        if (!ceiling->count)
                return 0; /* no file, no settings, or an error that is reported already */
        l->rejected |= ceiling_check(ceiling) != 0;
        const struct settings **slot = arena_array_push(l->arena, &l->ceilings, &l->ceiling_count, sizeof(*slot));
        if (!slot)
                return -ENOMEM;
        *slot = ceiling;
        return 0;
}

static int read_item(struct loader *l, const struct load_item *item)
{
        const char *cwd = l->facts.cwd;
        const char *from = item->flag ? arena_format(l->arena, "--%s", item->flag) : "";
        int r = 0;
        if (!from)
                return -ENOMEM;
        switch (item->kind) {
        case LOAD_POLICY:
                return read_native(l, item->value, 0);
        case LOAD_SRT_SETTINGS:
                return read_layer(l, &l->policy, item->value, 0, settings_parse_srt, cwd);
        case LOAD_CEILING:
                return read_ceiling(l, item->value, 0);
        case LOAD_FLAG:
                r = settings_add_flag(&l->policy, item->key, item->value, from, cwd);
                break;
        case LOAD_GRANT:
                r = settings_add_grant(&l->policy, item->access, item->value, from, cwd);
                break;
        }
        l->rejected |= r > 0;
        return r < 0 ? r : 0;
}

/* Files come before flags, in whatever order the command line has them. */
static int read_all(struct loader *l, const struct load_request *request)
{
        int r = 0;
        if (!request->ignore_defaults) {
                const char *config = host_facts_config_dir(l->arena, &l->facts);
                const char *user_policy = config ? arena_format(l->arena, "%s/policy.yaml", config) : NULL;
                r = read_native(l, LOAD_SYSTEM_POLICY, OPTIONAL);
                size_t before = l->own_file_count;
                if (r == 0 && user_policy)
                        r = read_native(l, user_policy, OPTIONAL);
                if (l->own_file_count > before)
                        l->user_policy = user_policy;
        }
        if (r == 0)
                r = add_own_directories(l);
        if (r == 0)
                r = read_ceiling(l, LOAD_SYSTEM_CEILING, OPTIONAL);
        for (size_t i = 0; r == 0 && i < request->count; i++)
                if (request->items[i].kind < LOAD_FLAG)
                        r = read_item(l, &request->items[i]);
        l->policy.layer++;
        for (size_t i = 0; r == 0 && i < request->count; i++)
                if (request->items[i].kind >= LOAD_FLAG)
                        r = read_item(l, &request->items[i]);
        return r;
}

static void check_workspace(struct loader *l, const struct plan *plan)
{
        struct stat st;
        struct source from = { .name = "" };
        const struct setting *s = settings_find_last(&l->policy, KEY_WORKDIR);
        if (s)
                from = s->from;
        if (stat(plan->workspace, &st) < 0)
                diagnostic_error(l->messages, from, "create it, or name another directory with --workspace",
                                 "the workspace %s cannot be used: %s", plan->workspace, strerrordesc_np(errno));
        else if (!S_ISDIR(st.st_mode))
                diagnostic_error(l->messages, from, "name a directory with --workspace",
                                 "the workspace %s is not a directory", plan->workspace);
        else
                return;
        l->rejected = true;
}

/*
 * Refuses a user policy that was found by XDG_CONFIG_HOME and lies where the box may write: an earlier box may have set
 * the variable, in a file that the shell reads on entering the workspace. The default path below the home directory is
 * protected instead.
 */
static void check_user_policy(struct loader *l, const struct plan *plan)
{
        const char *home = l->facts.home;
        const char *usual = home ? arena_format(l->arena, "%s/.config/ringwall/policy.yaml", home) : NULL;
        if (!l->user_policy || (usual && strcmp(l->user_policy, usual) == 0))
                return;
        struct followed_links links = { 0 };
        const char *real;
        int followed = real_path(l->arena, l->user_policy, "", &real, &links);
        const struct rule *grant = rules_find_write_grant(&plan->rules, l->user_policy);
        if (!grant && real)
                grant = rules_find_write_grant(&plan->rules, real);
        for (size_t i = 0; !grant && i < links.count; i++)
                grant = rules_find_write_grant(&plan->rules, links.paths[i]);
        l->rejected |= followed < 0 && followed != -ELOOP;
        if (!grant)
                return;
        diagnostic_error(
                l->messages, (struct source){ .name = l->user_policy },
                "unset XDG_CONFIG_HOME, or set it to another directory; a policy there is used only if "
                "--policy names it",
                "this policy was found by XDG_CONFIG_HOME and lies inside %s, which the box may write", grant->path);
        l->rejected = true;
}

static int loader_init(struct loader *l, struct arena *arena, struct diagnostics *m, struct error *e)
{
        *l = (struct loader){ .arena = arena, .messages = m };
        if (!arena)
                return error_errno(e, ENOMEM, "no memory");
        int r = host_facts_gather(arena, &l->facts, e);
        if (r == 0)
                settings_init(&l->policy, arena, m, l->facts.to_ascii);
        return r;
}

static int loader_compile(struct loader *l, struct plan **ret)
{
        const char **terminator = arena_array_push(l->arena, &l->own_files, &l->own_file_count, sizeof(*terminator));
        if (!terminator)
                return -ENOMEM;
        l->facts.own_files = l->own_files;
        return policy_compile(&l->policy, l->ceilings, l->ceiling_count, &l->facts, l->messages, ret);
}

int load_plan(const struct load_request *request, struct diagnostics *m, struct plan **ret, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_PLAN struct plan *plan = NULL;
        struct loader l;
        int r = loader_init(&l, arena, m, e);
        if (r < 0)
                return r;
        r = read_all(&l, request);
        /* Compiles even after a mistake in a file, so that the user sees the other mistakes too. */
        if (r == 0)
                r = loader_compile(&l, &plan);
        if (r < 0)
                return error_errno(e, -r, "the policy cannot be compiled");
        if (r == 0) {
                check_workspace(&l, plan);
                check_user_policy(&l, plan);
        }
        if (r > 0 || l.rejected)
                return 1;
        *ret = TAKE_PTR(plan);
        return 0;
}

/* Appends the item with the file's real path; leaves an optional file out if it does not exist. */
static int add_real_path(struct arena *a, const struct load_item *item, bool optional, struct load_item **list,
                         size_t *count, struct error *e)
{
        CLEANUP_FREE char *real = realpath(item->value, NULL);
        if (!real && optional && (errno == ENOENT || errno == ENOTDIR))
                return 0;
        if (!real)
                return error_errno(e, errno, "cannot find %s", item->value);
        struct load_item *slot = arena_array_push(a, list, count, sizeof *slot);
        const char *value = arena_strdup(a, real);
        if (!slot || !value)
                return error_errno(e, ENOMEM, "no memory");
        *slot = *item;
        slot->value = value;
        return 0;
}

int load_resolve_paths(const struct load_request *request, struct arena *a, struct load_request *ret, struct error *e)
{
        struct load_item *list = NULL;
        size_t count = 0;
        struct host_facts facts;
        int r = request->ignore_defaults ? 0 : host_facts_gather(a, &facts, e);
        const char *config = !request->ignore_defaults && r == 0 ? host_facts_config_dir(a, &facts) : NULL;
        const char *user_policy = config ? arena_format(a, "%s/policy.yaml", config) : NULL;
        const char *const defaults[] = { request->ignore_defaults ? NULL : LOAD_SYSTEM_POLICY, user_policy };
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(defaults); i++)
                if (defaults[i])
                        r = add_real_path(a, &(struct load_item){ .kind = LOAD_POLICY, .value = defaults[i] }, true,
                                          &list, &count, e);
        for (size_t i = 0; r == 0 && i < request->count; i++) {
                const struct load_item *item = &request->items[i];
                if (item->kind < LOAD_FLAG) {
                        r = add_real_path(a, item, false, &list, &count, e);
                        continue;
                }
                struct load_item *slot = arena_array_push(a, &list, &count, sizeof *slot);
                if (!slot)
                        return error_errno(e, ENOMEM, "no memory");
                *slot = *item;
        }
        *ret = (struct load_request){ .items = list, .count = count, .ignore_defaults = true };
        return r;
}

int load_check_file(const char *path, struct diagnostics *m, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_PLAN struct plan *plan = NULL;
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        struct loader l;
        int r = loader_init(&l, arena, m, e);
        if (r < 0)
                return r;
        r = read_text(&l, path, 0, &text, &length);
        if (r < 0 && r != -ENOMEM)
                return 1;
        const char *base = directory_of(&l, path);
        if (r < 0 || !base)
                return error_errno(e, ENOMEM, "no memory");
        reader *read = settings_is_srt(text, length) ? settings_parse_srt : settings_parse_policy;
        r = read(&l.policy, path, text, length, base);
        if (r >= 0) {
                l.rejected |= r > 0;
                r = loader_compile(&l, &plan);
        }
        if (r < 0)
                return error_errno(e, -r, "cannot check %s", path);
        return r > 0 || l.rejected;
}
