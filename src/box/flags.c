/* Flags to loader items; see flags.h. */
#include "box/flags.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

/* `flag` is the source that messages and plans name; a value in the table belongs to a flag that takes none. */
static const struct load_item rows[] = {
        { .flag = "--policy", .kind = LOAD_POLICY },
        { .flag = "--settings", .kind = LOAD_SETTINGS },
        { .flag = "--ceiling", .kind = LOAD_CEILING },
        { .flag = "--level", .kind = LOAD_FLAG, .key = KEY_LEVEL },
        { .flag = "--best-effort", .kind = LOAD_FLAG, .key = KEY_BEST_EFFORT, .value = "true" },
        { .flag = "--mode", .kind = LOAD_FLAG, .key = KEY_MODE },
        { .flag = "--mdwe", .kind = LOAD_FLAG, .key = KEY_MDWE, .value = "true" },
        { .flag = "--workspace", .kind = LOAD_FLAG, .key = KEY_WORKDIR },
        { .flag = "--read", .kind = LOAD_FLAG, .key = KEY_READ },
        { .flag = "--ro", .kind = LOAD_GRANT, .access = ACCESS_READ_ONLY },
        { .flag = "--rw", .kind = LOAD_GRANT, .access = ACCESS_WRITE },
        { .flag = "--deny-read", .kind = LOAD_FLAG, .key = KEY_DENY_READ },
        { .flag = "--deny-write", .kind = LOAD_FLAG, .key = KEY_DENY_WRITE },
        { .flag = "--allow-domain", .kind = LOAD_FLAG, .key = KEY_ALLOWED_DOMAINS },
        { .flag = "--allow-private", .kind = LOAD_FLAG, .key = KEY_ALLOW_PRIVATE },
        { .flag = "--allow-local-port", .kind = LOAD_FLAG, .key = KEY_ALLOW_LOCAL_PORTS },
        { .flag = "--publish", .kind = LOAD_FLAG, .key = KEY_PUBLISH },
        { .flag = "--live", .kind = LOAD_FLAG, .key = KEY_LIVE },
        { .flag = "--unix-socket", .kind = LOAD_FLAG, .key = KEY_UNIX_SOCKETS },
        { .flag = "--memory", .kind = LOAD_FLAG, .key = KEY_MEMORY },
        { .flag = "--cpu", .kind = LOAD_FLAG, .key = KEY_CPU },
        { .flag = "--processes", .kind = LOAD_FLAG, .key = KEY_PROCESSES },
        { .flag = "--timeout", .kind = LOAD_FLAG, .key = KEY_TIMEOUT },
        { .flag = "--env", .kind = LOAD_FLAG, .key = KEY_ENV },
};

int flags_make_item(const char *name, const char *value, struct load_item *ret)
{
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                if (strcmp(rows[i].flag + strlen("--"), name) != 0)
                        continue;
                if (!value != (rows[i].value != NULL))
                        return -EINVAL;
                *ret = rows[i];
                if (value)
                        ret->value = value;
                return 0;
        }
        return -ENOENT;
}
