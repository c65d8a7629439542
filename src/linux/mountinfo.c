/* Mounts; see mountinfo.h. A line: id parent device root point options… - type source options. */
#include "linux/mountinfo.h"

#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"

enum { MOST_BYTES = 4 * 1024 * 1024 }; /* a machine with very many mounts */

/* Undoes \040 in place. */
static void unescape(char *text)
{
        char *to = text;
        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

static bool parse(struct mount *m)
{
        static const char before_type[] = " - ";
        enum { ID, PARENT, DEVICE, ROOT, POINT, FIELDS };
        char *fields[FIELDS], *rest = m->line, *type = strstr(m->line, before_type);
        unsigned long long id;
        for (size_t i = 0; i < FIELDS; i++)
                if (!(fields[i] = strsep(&rest, " ")))
                        return false;
        if (!text_to_number(fields[ID], strlen(fields[ID]), &id))
                return false;
        unescape(fields[ROOT]);
        unescape(fields[POINT]);
        m->id = id;
        m->device = fields[DEVICE];
        m->root = fields[ROOT];
        m->point = fields[POINT];
        m->type = "";
        if (type && type > fields[POINT]) {
                m->type = type + strlen(before_type);
                type[strlen(before_type) + strcspn(m->type, " ")] = '\0';
        }
        return true;
}

bool mountinfo_next(const char **text, struct mount *ret)
{
        while (**text) {
                size_t length = strcspn(*text, "\n"), kept = length < sizeof ret->line ? length : sizeof ret->line - 1;
                memcpy(ret->line, *text, kept);
                ret->line[kept] = '\0';
                *text += length + ((*text)[length] == '\n');
                if (parse(ret))
                        return true;
        }
        return false;
}

int mountinfo_read(char **ret)
{
        size_t length;
        return fd_read_file("/proc/self/mountinfo", MOST_BYTES, ret, &length, NULL);
}
