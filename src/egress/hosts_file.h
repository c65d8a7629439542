/* /etc/hosts, read once: what a machine calls others, whatever name servers say. */
#ifndef RINGWALL_EGRESS_HOSTS_FILE_H
#define RINGWALL_EGRESS_HOSTS_FILE_H

#include <stddef.h>

#include "base/address.h"
#include "base/memory.h"

struct hosts_file {
        struct hosts_line {
                const char *name;
                union address address;
        } *list;
        size_t count;
};

/* Reads text of that form; what cannot be understood is passed over, as resolvers do. Lives in the arena. */
void hosts_file_read(struct hosts_file *ret, struct arena *a, const char *text);

/* The addresses of a name, at most `most`; returns how many. */
size_t hosts_file_find(const struct hosts_file *f, const char *name, union address *ret, size_t most);

#endif
