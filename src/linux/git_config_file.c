#include "linux/git_config_file.h"

#include <errno.h>

#include "base/fd.h"

int git_config_file_read(struct arena *a, const char *path, struct git_config *ret)
{
        CLEANUP_FREE char *text = NULL;
        struct error e;
        size_t length = 0;
        int r = fd_read_file(path, GIT_CONFIG_BYTES_MAX, &text, &length, &e);
        if (r < 0)
                return r;
        const char *kept = arena_strndup(a, text, length); /* the entries point into it */
        if (!kept)
                return -ENOMEM;
        return git_config_parse_as_git(a, kept, length, ret);
}
