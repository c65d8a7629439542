/* Flags to loader items, by the table that the library has too; see request.h. */
#include "cli/request.h"

#include <errno.h>

#include "box/flags.h"

int request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret)
{
        struct load_item *items = NULL;
        size_t count = 0;
        for (size_t i = 0; i < r->use_count; i++) {
                struct load_item item;
                if (flags_make_item(r->uses[i].row->name, r->uses[i].value, &item) < 0)
                        continue; /* a flag of the verb's own, such as --json */
                struct load_item *slot = arena_array_add(a, &items, &count, sizeof *slot);
                if (!slot)
                        return -ENOMEM;
                *slot = item;
        }
        *ret = (struct load_request){ .items = items, .count = count };
        return 0;
}
