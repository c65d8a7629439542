/* Flags to loader items, by the table that libringwall uses too; see load_options.h. */
#include "cli/load_options.h"

#include <errno.h>
#include <string.h>

#include "box/load_flags.h"
#include "cli/mcp_options.h"

const char *parse_workspace_option(const char *value, size_t *ret_name)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
        *ret_name = strspn(value, letters);
        if (value[*ret_name] != '=')
                *ret_name = 0;
        return value + (*ret_name ? *ret_name + 1 : 0);
}

bool load_item_from_option(const struct options_result *r, const struct option_occurrence *use, const char *value,
                           struct load_item *ret)
{
        const struct option_occurrence *first = options_next(r, FLAG_ID_WORKSPACE, NULL);
        bool is_further = use->row->id == FLAG_ID_WORKSPACE && use != first;
        size_t name;
        /* Only the verbs of mcp accept NAME=DIRECTORY. */
        if (use->row->id == FLAG_ID_WORKSPACE && (r->verb == &mcp_usage || r->verb == &mcp_install_usage))
                value = parse_workspace_option(value, &name);
        return load_item_from_flag(is_further ? "rw" : use->row->name, value, ret) == 0;
}

int load_request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret)
{
        struct load_item *items = NULL;
        size_t count = 0;
        for (size_t i = 0; i < r->use_count; i++) {
                struct load_item item;
                if (!load_item_from_option(r, &r->uses[i], r->uses[i].value, &item))
                        continue;
                struct load_item *slot = arena_array_push(a, &items, &count, sizeof *slot);
                if (!slot)
                        return -ENOMEM;
                *slot = item;
        }
        *ret = (struct load_request){ .items = items, .count = count };
        return 0;
}
