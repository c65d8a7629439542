/* Parses mountinfo; see mountinfo.h. A line: id parent device root point options… - type source options. */
#include "linux/mountinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"
#include "platform/platform.h"
#include "policy/path_pattern.h"

enum { BYTES_MAX = 4 * 1024 * 1024 }; /* enough for very many mounts */

/* Decodes octal escapes such as \040, in place. */
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

static bool parse(struct mountinfo_entry *m)
{
        static const char before_type[] = " - ";
        enum { ID, PARENT, DEVICE, ROOT, POINT, FIELDS };
        char *fields[FIELDS], *rest = m->line, *type = strstr(m->line, before_type);
        unsigned long long id;
        for (size_t i = 0; i < FIELDS; i++)
                if (!(fields[i] = strsep(&rest, " ")))
                        return false;
        if (!text_parse_unsigned(fields[ID], strlen(fields[ID]), &id))
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

bool mountinfo_next(const char **text, struct mountinfo_entry *ret)
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
        return fd_read_file("/proc/self/mountinfo", BYTES_MAX, ret, &length, NULL);
}

static uint64_t find_mount_id(const char *path)
{
        struct statx x;
        bool known = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 && x.stx_mask & STATX_MNT_ID;
        return known ? x.stx_mnt_id : 0;
}

/* Is there another mount of the file's file system at the directory or below it? */
bool platform_may_alias(const char *directory, const char *path)
{
        CLEANUP_FREE char *mountinfo = NULL;
        if (mountinfo_read(&mountinfo) < 0)
                return true;
        uint64_t of_file = find_mount_id(path), of_directory = find_mount_id(directory);
        char device[sizeof "4294967295:4294967295"] = "";
        struct mountinfo_entry *m = malloc(sizeof *m); /* large */
        const char *text = mountinfo;
        bool shown = !m || !of_file || !of_directory;
        while (!shown && mountinfo_next(&text, m))
                if (m->id == of_file)
                        (void)snprintf(device, sizeof device, "%s", m->device);
        for (text = mountinfo; !shown && mountinfo_next(&text, m);)
                shown = m->id != of_file && strcmp(m->device, device) == 0 &&
                        (m->id == of_directory || path_is_beneath(m->point, directory));
        free(m);
        return shown || !*device;
}
