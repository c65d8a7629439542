/*
 * git_config: calls ringwall's checks of git's files, for tests that compare them with git itself.
 *
 *   git_config list                   parses configurations from standard input, each a line with its length and then
 *                                     as many bytes. Prints for each a line "refused REASON", or a line "parsed N" and
 *                                     N bytes as `git config --list -z` prints them.
 *   git_config judge KIND OLD NEW     may a box replace the file OLD by the file NEW? Prints "ok" or the reason. KIND:
 *                                     repository, worktree, modules, or the git directory of a submodule. OLD need not
 *                                     exist.
 *   git_config todo FILE              is this to-do list of a rebase harmless? Prints "ok" or the reason.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "policy/git_config.h"
#include "policy/git_config_parse.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static void print_entries(const char *text, size_t length)
{
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        CLEANUP_TEXT struct text out = { 0 }, why = { 0 };
        struct git_config config;
        if (!a || !git_config_parse(a, text, length, &config, &why)) {
                printf("refused %s\n", why.data);
                return;
        }
        for (size_t i = 0; i < config.count; i++) {
                const struct git_config_entry *e = &config.entries[i];
                text_format(&out, "%s.%s%s%s", e->base, e->key, e->value ? "\n" : "", e->value ? e->value : "");
                text_add_bytes(&out, "", 1);
        }
        printf("parsed %zu\n", out.length);
        (void)fwrite(out.data, 1, out.length, stdout);
}

static int list_configs(void)
{
        CLEANUP_FREE char *text = malloc(FILE_BYTES_MAX);
        char line[32];
        while (text && fgets(line, sizeof line, stdin)) {
                size_t length = strtoul(line, NULL, 10);
                if (length > FILE_BYTES_MAX || fread(text, 1, length, stdin) != length)
                        return 1;
                /* A copy of exactly this size, so that a sanitizer finds reads beyond its end. */
                CLEANUP_FREE char *copy = malloc(length ? length : 1);
                if (!copy)
                        return 1;
                memcpy(copy, text, length);
                print_entries(copy, length);
        }
        return 0;
}

/* Prints an error and returns false on failure. If the file may be missing and is, *text stays NULL. */
static bool read_text(const char *path, bool may_be_missing, char **text, size_t *length)
{
        struct error e = { 0 };
        int r = fd_read_file(path, FILE_BYTES_MAX, text, length, &e);
        if (r >= 0 || (may_be_missing && r == -ENOENT))
                return true;
        (void)fprintf(stderr, "%s\n", e.text);
        return false;
}

static bool may_change(const char *kind, const char *old, size_t old_length, const char *new, size_t length,
                       struct text *why)
{
        static const char *const kinds[] = { "repository", "worktree", "modules" };
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (strcmp(kind, kinds[i]) == 0)
                        return git_config_may_change((enum git_config_kind)i, old, old_length, new, length, why);
        return git_config_may_change_submodule(kind, old, old_length, new, length, why);
}

int main(int argc, char **argv)
{
        CLEANUP_FREE char *old = NULL, *new = NULL;
        CLEANUP_TEXT struct text why = { 0 };
        size_t old_length = 0, length = 0;
        bool ok;
        if (argc == 2 && strcmp(argv[1], "list") == 0)
                return list_configs();
        if (argc == 5 && strcmp(argv[1], "judge") == 0) {
                if (!read_text(argv[3], true, &old, &old_length) || !read_text(argv[4], false, &new, &length))
                        return 2;
                ok = may_change(argv[2], old, old_length, new, length, &why);
        } else if (argc == 3 && strcmp(argv[1], "todo") == 0) {
                if (!read_text(argv[2], false, &new, &length))
                        return 2;
                ok = git_todo_is_harmless(new, length, &why);
        } else {
                return 2;
        }
        (void)puts(ok ? "ok" : why.data);
        return 0;
}
