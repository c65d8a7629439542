/*
 * List: shows what a directory contains, sorted by name.
 *
 * What an attacker controls: names and their number. Memory and the answer are bounded; links are not followed.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "tools/tool.h"
#include "tools/walk_dir.h"

enum { OFFSET_MAX = 1 << 30, NOTES_MAX = 500 };

/* Adds a line for an entry: "name/", "name  123 bytes", "name -> target". */
static void add_entry(int directory, const char *entry, struct text *out)
{
        const char kind = *entry, *name = entry + 1;
        struct stat st = { 0 };
        char target[PATH_MAX];
        text_add_escaped(out, name, strlen(name));
        if (kind == ENTRY_LINK) {
                ssize_t n = readlinkat(directory, name, target, sizeof target);
                text_add(out, " -> ");
                text_add_escaped(out, target, n > 0 ? (size_t)n : 0);
        } else if (kind != ENTRY_DIRECTORY && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                if (kind == ENTRY_FILE)
                        text_format(out, "  %lld bytes", (long long)st.st_size);
                else
                        text_format(out, "  (%s)", file_kind_name(st.st_mode));
        }
        text_add(out, "\n");
}

static void show_entries(int directory, const struct held_path *s, const struct dir_listing *l, size_t offset,
                         size_t limit, struct tool_result *answer)
{
        size_t next = offset;
        if (offset >= l->count && l->count) {
                tool_fail(answer, "offset %zu exceeds the %zu entries of %s", offset, l->count, s->path);
                return;
        }
        /* A link's target may have PATH_MAX bytes, and more when they are escaped; few have. */
        for (; next < l->count && next - offset < limit && answer->text.length < TOOL_TEXT_MAX - NOTES_MAX - PATH_MAX;
             next++)
                add_entry(directory, l->entries + l->offsets[next], &answer->text);
        if (!l->count)
                text_format(&answer->text, "(%s is empty)", s->path);
        if (next < l->count)
                text_format(&answer->text, "(%zu more: continue with offset %zu)\n", l->count - next, next);
        answer->details = json_pack("{s:s, s:I, s:I}", "path", s->path, "entries", (json_int_t)l->count, "shown",
                                    (json_int_t)(next - offset));
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *path = tool_arg_string(arguments, "path");
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        struct dir_listing l = { .all = true };
        struct error e = { 0 };
        if (!tool_resolve_path(tools, path ? path : "", &s, answer))
                return;
        if (s.fd < 0 || !S_ISDIR(s.st.st_mode)) {
                tool_fail(answer, s.fd < 0 ? "no such directory: %s" : "%s is not a directory", s.path);
                return;
        }
        CLEANUP_FD int fd = held_path_open(&s, O_RDONLY | O_DIRECTORY, &e);
        if (fd < 0) {
                tool_fail_with_rule(tools, answer, &e, s.path, false);
                return;
        }
        bool complete = dir_listing_read(&l, fd, true);
        if (complete && l.more) {
                tool_fail(answer, "%s has more than %zu entries: use Glob, or Bash", s.path, l.count);
        } else if (complete) {
                dir_listing_sort(&l);
                show_entries(fd, &s, &l, (size_t)tool_arg_integer(arguments, "offset", 0),
                             (size_t)tool_arg_integer(arguments, "limit", OFFSET_MAX), answer);
        } else {
                tool_fail(answer, "no memory");
        }
        dir_listing_done(&l);
}

static const struct tool_param parameters[] = {
        { .name = "path", .type = TOOL_STRING,
          .help = "The directory: absolute, or relative to the workspace; default: the workspace." },
        { .name = "limit", .type = TOOL_INTEGER, .help = "How many entries to show.", .min = 1, .max = OFFSET_MAX },
        { .name = "offset", .type = TOOL_INTEGER, .help = "How many entries to leave out first.", .min = 0,
          .max = OFFSET_MAX },
};

const struct tool tool_list = {
        .name = "List",
        .title = "List a directory",
        .help = "Shows the names in a directory, hidden ones too: directories with a slash, files with their sizes, "
                "symbolic links with their targets.",
        .reads_only = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
