/* /etc/hosts; see hosts_file.h. */
#include "egress/hosts_file.h"

#include <string.h>
#include <strings.h>

static void read_line(struct hosts_file *f, struct arena *a, char *line)
{
        static const char space[] = " \t\r";
        char *rest = NULL;
        union address address;
        line[strcspn(line, "#")] = '\0';
        const char *word = strtok_r(line, space, &rest);
        if (!word || !address_parse(word, &address))
                return;
        while ((word = strtok_r(NULL, space, &rest))) {
                struct hosts_entry *slot = arena_array_push(a, &f->list, &f->count, sizeof *slot);
                if (!slot)
                        return;
                *slot = (struct hosts_entry){ word, address };
        }
}

void hosts_file_parse(struct hosts_file *ret, struct arena *a, const char *text)
{
        char *copy = arena_strdup(a, text), *rest = NULL;
        *ret = (struct hosts_file){ 0 };
        for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
                read_line(ret, a, line);
}

size_t hosts_file_find(const struct hosts_file *f, const char *name, union address *ret, size_t max)
{
        size_t count = 0;
        for (size_t i = 0; i < f->count && count < max; i++)
                if (strcasecmp(f->list[i].name, name) == 0)
                        ret[count++] = f->list[i].address;
        return count;
}
