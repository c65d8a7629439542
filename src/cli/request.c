/* Flags to loader items: one row per flag; see request.h. */
#include "cli/request.h"

#include <errno.h>

#include "cli/run_options.h"

static const struct {
        enum run_option option;
        struct load_item item;
} rows[] = {
        { RUN_OPTION_POLICY, { .kind = LOAD_POLICY } },
        { RUN_OPTION_SETTINGS, { .kind = LOAD_SETTINGS } },
        { RUN_OPTION_CEILING, { .kind = LOAD_CEILING } },
        { RUN_OPTION_LEVEL, { .kind = LOAD_FLAG, .key = KEY_LEVEL } },
        { RUN_OPTION_BEST_EFFORT, { .kind = LOAD_FLAG, .key = KEY_BEST_EFFORT, .value = "true" } },
        { RUN_OPTION_WORKSPACE, { .kind = LOAD_FLAG, .key = KEY_WORKDIR } },
        { RUN_OPTION_READ, { .kind = LOAD_FLAG, .key = KEY_READ } },
        { RUN_OPTION_RO, { .kind = LOAD_GRANT, .access = ACCESS_READ } },
        { RUN_OPTION_RW, { .kind = LOAD_GRANT, .access = ACCESS_WRITE } },
        { RUN_OPTION_DENY_READ, { .kind = LOAD_FLAG, .key = KEY_DENY_READ } },
        { RUN_OPTION_DENY_WRITE, { .kind = LOAD_FLAG, .key = KEY_DENY_WRITE } },
        { RUN_OPTION_ALLOW_DOMAIN, { .kind = LOAD_FLAG, .key = KEY_ALLOWED_DOMAINS } },
        { RUN_OPTION_MEMORY, { .kind = LOAD_FLAG, .key = KEY_MEMORY } },
        { RUN_OPTION_CPU, { .kind = LOAD_FLAG, .key = KEY_CPU } },
        { RUN_OPTION_PROCESSES, { .kind = LOAD_FLAG, .key = KEY_PROCESSES } },
        { RUN_OPTION_TIMEOUT, { .kind = LOAD_FLAG, .key = KEY_TIMEOUT } },
        { RUN_OPTION_ENV, { .kind = LOAD_FLAG, .key = KEY_ENV } },
};

int request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret)
{
        struct load_item *items = NULL;
        size_t count = 0;
        for (size_t i = 0; i < r->use_count; i++) {
                const struct option_use *use = &r->uses[i];
                for (size_t j = 0; j < ARRAY_SIZE(rows); j++) {
                        if ((int)rows[j].option != use->row->id)
                                continue;
                        struct load_item *item = arena_array_add(a, &items, &count, sizeof *item);
                        const char *flag = arena_format(a, "--%s", use->row->name);
                        if (!item || !flag)
                                return -ENOMEM;
                        *item = rows[j].item;
                        item->flag = flag;
                        if (use->value)
                                item->value = use->value;
                }
        }
        *ret = (struct load_request){ .items = items, .count = count };
        return 0;
}
