/* A pattern, a newline, a path: the matcher of Glob and .gitignore against one that simply tries everything. */
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "tools/ignore.h"

enum { MOST_TRIES = 20000 };

static int tries;

/* The first name of a text as a string of its own. */
static char *first_name(const char *text)
{
        return strndup(text, strcspn(text, "/"));
}

static bool try_everything(const char *pattern, const char *path)
{
        if (++tries > MOST_TRIES)
                return false;
        CLEANUP_FREE char *part = first_name(pattern), *name = first_name(path);
        const char *more_pattern = strchr(pattern, '/'), *more_path = strchr(path, '/');
        if (strcmp(part, "**") == 0)
                return !more_pattern || try_everything(more_pattern + 1, path) ||
                       (more_path && try_everything(pattern, more_path + 1));
        if (strlen(part) >= 512 || strlen(name) >= 512 || fnmatch(part, name, 0) != 0)
                return false;
        if (!more_pattern || !more_path)
                return !more_pattern && !more_path;
        return try_everything(more_pattern + 1, more_path + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FREE char *text = fuzz_string(data, size < 2000 ? size : 2000);
        char *path = strchr(text, '\n');
        if (!path)
                return 0;
        *path++ = '\0';
        tries = 0;
        bool expected = try_everything(text, path), matches = glob_matches(text, path);
        PROMISE(tries > MOST_TRIES || matches == expected);
        return 0;
}
