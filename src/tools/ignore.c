/*
 * .gitignore, as gitignore(5) has it: of the rules of a directory and of those around it the last that matches decides, the
 * deepest directory first. A directory's rules come from .git/info/exclude, its .gitignore, and its .ignore, which means
 * the same to searches and nothing to git.
 *
 * What an attacker controls: the files. One that is larger than the bound is read up to it.
 */
#include "tools/ignore.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "policy/pattern.h"
#include "tools/wildcard.h"

enum { MOST_BYTES = 256 << 10, MOST_MEMORY = 8 << 20 };

/* In the order of the bits. */
static const struct {
        const char *seen; /* the entry of the directory that tells of it */
        const char *path;
} sources[] = {
        { ".git", ".git/info/exclude" },
        { ".gitignore", ".gitignore" },
        { ".ignore", ".ignore" },
};

struct rule {
        struct wildcard pattern;
        bool keeps;       /* "!": what it matches is not left out */
        bool directories; /* only those */
};

struct ignore {
        struct ignore *around;
        atomic_uint holders;
        struct arena *arena;
        struct rule *rules;
        size_t count;
        size_t prefix; /* how much of a path is the directory's own, with its slash */
};

unsigned ignore_file(const char *name)
{
        for (size_t i = 0; *name == '.' && i < ARRAY_SIZE(sources); i++)
                if (strcmp(name, sources[i].seen) == 0)
                        return 1U << i;
        return 0;
}

static void add_rule(struct ignore *i, char *line)
{
        struct rule rule = { .keeps = *line == '!' };
        size_t length = strlen(line);
        while (length && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
                length--;
        line[length] = '\0';
        if (!*line || *line == '#')
                return;
        line += rule.keeps || (line[0] == '\\' && (line[1] == '#' || line[1] == '!'));
        length = strlen(line);
        if (length && line[length - 1] == '/') {
                rule.directories = true;
                line[--length] = '\0';
        }
        if (!length || pattern_check(line)) /* what is not well-formed matches nothing */
                return;
        rule.pattern = wildcard_prepare(line + (*line == '/'), strchr(line, '/') != NULL);
        struct rule *slot = arena_array_add(i->arena, &i->rules, &i->count, sizeof *slot);
        if (slot)
                *slot = rule;
}

static void read_rules(struct ignore *i, int fd, size_t size)
{
        size_t most = size < MOST_BYTES ? size : MOST_BYTES, length = 0;
        char *text = arena_alloc(i->arena, most + 1);
        for (ssize_t n; text && length < most && (n = read(fd, text + length, most - length)) > 0;)
                length += (size_t)n;
        if (!text)
                return;
        text[length] = '\0';
        for (char *line = text, *end; *line; line = end) {
                end = line + strcspn(line, "\n");
                if (*end)
                        *end++ = '\0';
                size_t n = strlen(line);
                if (n && line[n - 1] == '\r')
                        line[n - 1] = '\0';
                add_rule(i, line);
        }
}

static struct ignore *make(struct ignore *around, const char *path)
{
        struct ignore *i = calloc(1, sizeof *i);
        if (!i || !(i->arena = arena_new(MOST_MEMORY))) {
                free(i);
                return NULL;
        }
        i->around = ignore_hold(around);
        i->holders = 1;
        i->prefix = *path ? strlen(path) + 1 : 0;
        return i;
}

/* Without openat2 only what lies in the directory itself: no part of the way may be a link. */
static int open_source(int directory, const char *path)
{
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        return strchr(path, '/') ? fd_open_straight(directory, path, flags, 0) : openat(directory, path, flags);
}

struct ignore *ignore_enter(struct ignore *around, int directory, const char *path, unsigned files)
{
        struct ignore *i = NULL;
        for (size_t n = 0; files && n < ARRAY_SIZE(sources); n++) {
                struct stat st;
                if (!(files & 1U << n))
                        continue;
                CLEANUP_FD int fd = open_source(directory, sources[n].path);
                if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
                        continue;
                if (!i && !(i = make(around, path)))
                        break;
                read_rules(i, fd, (size_t)st.st_size);
        }
        return i ? i : ignore_hold(around);
}

struct ignore *ignore_hold(struct ignore *i)
{
        if (i)
                i->holders++;
        return i;
}

void ignore_drop(struct ignore *i)
{
        while (i && --i->holders == 0) {
                struct ignore *around = i->around;
                arena_free(i->arena);
                free(i);
                i = around;
        }
}

bool ignore_matches(const struct ignore *i, const char *path, bool is_directory)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        for (; i; i = i->around)
                for (size_t n = i->count; n-- > 0;) {
                        const struct rule *r = &i->rules[n];
                        if ((is_directory || !r->directories) && wildcard_fits(&r->pattern, path + i->prefix, name))
                                return !r->keeps;
                }
        return false;
}
