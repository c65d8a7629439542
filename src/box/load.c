/*
 * Loading; see load.h. A layer that exists and cannot be read stops everything: a ceiling that is skipped because of
 * its mode bits would be no ceiling.
 */
#include "box/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "box/facts.h"
#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/pattern.h"
#include "policy/settings.h"

struct loader {
        struct arena *arena;
        struct messages *messages;
        struct facts facts;
        struct settings policy;
        const struct settings **ceilings;
        size_t ceiling_count;
        const char **own_files;
        size_t own_file_count;
        bool rejected;
};

enum { OPTIONAL = 1 };

static const char *absolute(struct loader *l, const char *path)
{
        return pattern_normalise(l->arena, *path == '/' ? path : arena_format(l->arena, "%s/%s", l->facts.cwd, path));
}

static const char *directory_of(struct loader *l, const char *path)
{
        const char *full = absolute(l, path), *slash = full ? strrchr(full, '/') : NULL;
        return slash ? arena_copy(l->arena, full, slash == full ? 1 : (size_t)(slash - full)) : NULL;
}

/* Both spellings of a policy's place: as named and as the kernel knows it, so that a link to it protects it too. */
static int remember_file(struct loader *l, const char *path)
{
        CLEANUP_FREE char *real = realpath(path, NULL);
        const char *spellings[] = { absolute(l, path), real ? arena_string(l->arena, real) : NULL };
        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
                const char **slot = spellings[i] ? arena_array_add(l->arena, &l->own_files, &l->own_file_count,
                                                                   sizeof(*slot))
                                                 : NULL;
                if (slot)
                        *slot = spellings[i];
        }
        return spellings[0] ? 0 : -ENOMEM;
}

/* What cannot be opened is reported like any other mistake, at the flag or the place that names it. */
static int read_text(struct loader *l, const char *path, int flags, char **ret_text, size_t *ret_length)
{
        struct error e = { 0 };
        const char *full = absolute(l, path);
        if (full && text_utf8_valid(full, strlen(full)) < strlen(full)) {
                message_error(l->messages, (struct source){ .name = path }, "rename it",
                              "a policy's name must be UTF-8, like the plan that names it");
                l->rejected = true;
                return -EINVAL;
        }
        int r = fd_read_file(path, CAP_FILE_BYTES, ret_text, ret_length, &e);
        if (r == 0)
                return 0;
        if ((flags & OPTIONAL) && (r == -ENOENT || r == -ENOTDIR))
                return -ENOENT;
        message_error(l->messages, (struct source){ .name = path },
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
        return r < 0 ? r : remember_file(l, path);
}

static int read_native(struct loader *l, const char *path, int flags)
{
        const char *base = directory_of(l, path);
        return base ? read_layer(l, &l->policy, path, flags, settings_read_native, base) : -ENOMEM;
}

static int read_ceiling(struct loader *l, const char *path, int flags)
{
        struct settings *ceiling = ARENA_NEW(l->arena, struct settings);
        const char *base = directory_of(l, path);
        if (!ceiling || !base)
                return -ENOMEM;
        settings_init(ceiling, l->arena, l->messages, l->facts.to_ascii);
        int r = read_layer(l, ceiling, path, flags, settings_read_native, base);
        if (r < 0)
                return r;
        if (!ceiling->count)
                return 0; /* it is not there, or says nothing */
        l->rejected |= ceiling_check(ceiling) != 0;
        const struct settings **slot = arena_array_add(l->arena, &l->ceilings, &l->ceiling_count, sizeof(*slot));
        if (!slot)
                return -ENOMEM;
        *slot = ceiling;
        return 0;
}

static int read_item(struct loader *l, const struct load_item *item)
{
        const char *cwd = l->facts.cwd;
        int r = 0;
        switch (item->kind) {
        case LOAD_POLICY:
                return read_native(l, item->value, 0);
        case LOAD_SETTINGS:
                return read_layer(l, &l->policy, item->value, 0, settings_read_srt, cwd);
        case LOAD_CEILING:
                return read_ceiling(l, item->value, 0);
        case LOAD_FLAG:
                r = settings_add_flag(&l->policy, item->key, item->value, item->flag, cwd);
                break;
        case LOAD_GRANT:
                r = settings_add_grant(&l->policy, item->access, item->value, item->flag, cwd);
                break;
        }
        l->rejected |= r > 0;
        return r < 0 ? r : 0;
}

/* Files come before flags, whatever the order on the command line. */
static int read_all(struct loader *l, const struct load_request *request)
{
        int r = 0;
        if (!request->alone) {
                const char *config = facts_config_dir(l->arena, &l->facts);
                const char *own = config ? arena_format(l->arena, "%s/policy.yaml", config) : NULL;
                r = read_native(l, LOAD_SYSTEM_POLICY, OPTIONAL);
                if (r == 0 && own)
                        r = read_native(l, own, OPTIONAL);
                /* Also when it is not there yet: the next run would read what this one plants. */
                if (r == 0 && own)
                        r = remember_file(l, own);
        }
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
        const struct setting *s = settings_last(&l->policy, KEY_WORKDIR);
        if (s)
                from = s->from;
        if (stat(plan->workspace, &st) < 0)
                message_error(l->messages, from, "make it, or name another with --workspace",
                              "the workspace %s cannot be used: %s", plan->workspace, strerrordesc_np(errno));
        else if (!S_ISDIR(st.st_mode))
                message_error(l->messages, from, "name a directory with --workspace",
                              "the workspace %s is not a directory", plan->workspace);
        else
                return;
        l->rejected = true;
}

static int loader_init(struct loader *l, struct arena *arena, struct messages *m, struct error *e)
{
        *l = (struct loader){ .arena = arena, .messages = m };
        if (!arena)
                return error_errno(e, ENOMEM, "load policy", "no memory");
        int r = facts_gather(arena, &l->facts, e);
        if (r == 0)
                settings_init(&l->policy, arena, m, l->facts.to_ascii);
        return r;
}

static int loader_compile(struct loader *l, struct plan **ret)
{
        const char **end = arena_array_add(l->arena, &l->own_files, &l->own_file_count, sizeof(*end));
        if (!end)
                return -ENOMEM;
        l->facts.own_files = l->own_files;
        return policy_compile(&l->policy, l->ceilings, l->ceiling_count, &l->facts, l->messages, ret);
}

int load_plan(const struct load_request *request, struct messages *m, struct plan **ret, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        CLEANUP_PLAN struct plan *plan = NULL;
        struct loader l;
        int r = loader_init(&l, arena, m, e);
        if (r < 0)
                return r;
        r = read_all(&l, request);
        /* Compile what could be read even after a mistake: the rest may have more to say. */
        if (r == 0)
                r = loader_compile(&l, &plan);
        if (r < 0)
                return error_errno(e, -r, "load policy", "the policy cannot be compiled");
        if (r == 0)
                check_workspace(&l, plan);
        if (r > 0 || l.rejected)
                return 1;
        *ret = TAKE_PTR(plan);
        return 0;
}

/* One that is not there is left out if nobody named it. */
static int pin_file(struct arena *a, const struct load_item *item, bool optional, struct load_item **list, size_t *count,
                    struct error *e)
{
        CLEANUP_FREE char *real = realpath(item->value, NULL);
        if (!real && optional && (errno == ENOENT || errno == ENOTDIR))
                return 0;
        if (!real)
                return error_errno(e, errno, "load policy", "%s cannot be found", item->value);
        struct load_item *slot = arena_array_add(a, list, count, sizeof *slot);
        const char *value = arena_string(a, real);
        if (!slot || !value)
                return error_errno(e, ENOMEM, "load policy", "no memory");
        *slot = *item;
        slot->value = value;
        return 0;
}

int load_pin(const struct load_request *request, struct arena *a, struct load_request *ret, struct error *e)
{
        struct load_item *list = NULL;
        size_t count = 0;
        struct facts facts;
        int r = request->alone ? 0 : facts_gather(a, &facts, e);
        const char *config = !request->alone && r == 0 ? facts_config_dir(a, &facts) : NULL;
        const char *own = config ? arena_format(a, "%s/policy.yaml", config) : NULL;
        const char *const found[] = { request->alone ? NULL : LOAD_SYSTEM_POLICY, own };
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(found); i++)
                if (found[i])
                        r = pin_file(a, &(struct load_item){ .kind = LOAD_POLICY, .value = found[i] }, true, &list, &count, e);
        for (size_t i = 0; r == 0 && i < request->count; i++) {
                const struct load_item *item = &request->items[i];
                if (item->kind < LOAD_FLAG) {
                        r = pin_file(a, item, false, &list, &count, e);
                        continue;
                }
                struct load_item *slot = arena_array_add(a, &list, &count, sizeof *slot);
                if (!slot)
                        return error_errno(e, ENOMEM, "load policy", "no memory");
                *slot = *item;
        }
        *ret = (struct load_request){ .items = list, .count = count, .alone = true };
        return r;
}

int load_check_file(const char *path, struct messages *m, struct error *e)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
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
                return error_errno(e, ENOMEM, "check policy", "no memory");
        reader *read = settings_is_srt(text, length) ? settings_read_srt : settings_read_native;
        r = read(&l.policy, path, text, length, base);
        if (r >= 0) {
                l.rejected |= r > 0;
                r = loader_compile(&l, &plan);
        }
        if (r < 0)
                return error_errno(e, -r, "check policy", "%s cannot be checked", path);
        return r > 0 || l.rejected;
}
