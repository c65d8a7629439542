/*
 * Move: moves or renames a file or a directory. It never overwrites anything. A file that was read counts as read under
 * its new name.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "tools/tool.h"

/* Splits a path into its directory and its last name. False if it does not end with a name. */
static bool split_path(const char *path, struct text *ret_directory, struct text *ret_name)
{
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/')
                length--;
        const char *slash = memrchr(path, '/', length), *name = slash ? slash + 1 : path;
        text_add_bytes(ret_name, name, length - (size_t)(name - path));
        text_add_bytes(ret_directory, path, slash ? (size_t)(slash - path) + (slash == path) : 0);
        text_add(ret_directory, "");
        return ret_name->length && strcmp(ret_name->data, ".") != 0 && strcmp(ret_name->data, "..") != 0;
}

/* Finds the directory of the source, because a symbolic link is moved itself, not its target. */
static bool find_source(const struct tool_context *tools, const char *path, struct held_path *ret,
                        struct text *ret_name, struct tool_result *answer)
{
        CLEANUP_TEXT struct text directory = { 0 };
        bool is_name = split_path(path, &directory, ret_name);
        if (directory.failed || ret_name->failed)
                tool_fail(answer, "no memory");
        else if (!is_name)
                tool_fail(answer, "%.500s does not end with the name of a file or directory", path);
        else if (!tool_resolve_path(tools, directory.data, ret, answer))
                return false;
        else if (ret->fd < 0 || !S_ISDIR(ret->st.st_mode))
                tool_fail(answer, ret->fd < 0 ? "no such directory: %s" : "%s is not a directory", ret->path);
        else
                return true;
        return false;
}

static bool was_read(const struct tool_context *tools, const struct held_path *directory, const char *name,
                     const char *path)
{
        struct stat st;
        return fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               tracker_check(tools->tracker, path, &st) == READ_STATE_CURRENT;
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        CLEANUP_HELD_PATH struct held_path from = HELD_PATH_NONE, to = HELD_PATH_NONE;
        CLEANUP_TEXT struct text name = { 0 }, path = { 0 };
        struct error e = { 0 };
        if (!find_source(tools, tool_arg_string(arguments, "source"), &from, &name, answer) ||
            !tool_resolve_path(tools, tool_arg_string(arguments, "destination"), &to, answer))
                return;
        text_format(&path, "%s/%s", strcmp(from.path, "/") == 0 ? "" : from.path, name.data);
        if (path.failed) {
                tool_fail(answer, "no memory");
                return;
        }
        bool is_read = was_read(tools, &from, name.data, path.data);
        if (held_path_move_here(&to, &from, name.data, &e) < 0) {
                tool_fail_with_rule(tools, answer, &e, path.data, true);
                return;
        }
        if (is_read && read_tracker_record(tools->tracker, to.path, &to.st) < 0) {
                tool_fail(answer, "moved %.500s, but without memory to record that it was read", path.data);
                return;
        }
        text_format(&answer->text, "moved %s to %s", path.data, to.path);
        answer->details = json_pack("{s:s, s:s}", "source", path.data, "destination", to.path);
}

static const struct tool_param parameters[] = {
        { .name = "source", .type = TOOL_STRING, .required = true,
          .help = "The file or directory to move: absolute, or relative to the workspace." },
        { .name = "destination", .type = TOOL_STRING, .required = true,
          .help = "Its new path, where nothing must be. Missing directories are created." },
};

const struct tool tool_move = {
        .name = "Move",
        .title = "Move a file or directory",
        .help = "Moves or renames a file or a directory. Nothing is overwritten.",
        .destructive = true,
        .in_workspace = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
