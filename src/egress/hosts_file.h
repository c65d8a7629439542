/* /etc/hosts, read once. Its entries take precedence over name servers. */
#ifndef RINGWALL_EGRESS_HOSTS_FILE_H
#define RINGWALL_EGRESS_HOSTS_FILE_H

#include <stddef.h>

#include "base/address.h"
#include "base/memory.h"

struct hosts_file {
        struct hosts_entry {
                const char *name;
                union address address;
        } *list;
        size_t count;
};

/* Parses the text of the file. Skips malformed lines, as resolvers do. The entries live in the arena. */
void hosts_file_parse(struct hosts_file *ret, struct arena *a, const char *text);

/* Writes at most `max` addresses of a name to `ret`, and returns how many it wrote. */
size_t hosts_file_find(const struct hosts_file *f, const char *name, union address *ret, size_t max);

#endif
