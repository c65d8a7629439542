/*
 * .gitignore rules, as in gitignore(5): the deepest directory with a matching rule decides, and in it the last matching
 * rule. A directory's rules come from .git/info/exclude, .gitignore, and .ignore, which search tools read and git does
 * not.
 *
 * What an attacker controls: the files. Of a file larger than BYTES_MAX only the beginning is read.
 */
#include "tools/gitignore.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "policy/path_pattern.h"
#include "tools/glob_pattern.h"

enum { BYTES_MAX = 256 << 10, MEMORY_MAX = 8 << 20 };

/* In the order of the bits. */
static const struct {
        const char *entry; /* of the directory: if it is missing, so is the file */
        const char *path;
} sources[] = {
        { ".git", ".git/info/exclude" },
        { ".gitignore", ".gitignore" },
        { ".ignore", ".ignore" },
};

struct rule {
        struct glob_pattern pattern;
        bool negated;     /* "!": what it matches is not excluded */
        bool directories_only;
};

struct gitignore {
        struct gitignore *parent;
        atomic_uint holders;
        struct arena *arena;
        struct rule *rules;
        size_t count;
        size_t prefix; /* length of the directory's path, with its slash */
};

unsigned ignore_file_bit(const char *name)
{
        for (size_t i = 0; *name == '.' && i < ARRAY_SIZE(sources); i++)
                if (strcmp(name, sources[i].entry) == 0)
                        return 1U << i;
        return 0;
}

static void add_rule(struct gitignore *i, char *line)
{
        struct rule rule = { .negated = *line == '!' };
        size_t length = strlen(line);
        while (length && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
                length--;
        line[length] = '\0';
        if (!*line || *line == '#')
                return;
        line += rule.negated || (line[0] == '\\' && (line[1] == '#' || line[1] == '!'));
        length = strlen(line);
        if (length && line[length - 1] == '/') {
                rule.directories_only = true;
                line[--length] = '\0';
        }
        if (!length || path_pattern_check(line)) /* a malformed pattern matches nothing */
                return;
        rule.pattern = glob_pattern_compile(line + (*line == '/'), strchr(line, '/') != NULL);
        struct rule *slot = arena_array_push(i->arena, &i->rules, &i->count, sizeof *slot);
        if (slot)
                *slot = rule;
}

static void read_rules(struct gitignore *i, int fd, size_t size)
{
        size_t max = size < BYTES_MAX ? size : BYTES_MAX, length = 0;
        char *text = arena_alloc(i->arena, max + 1);
        for (ssize_t n; text && length < max && (n = read(fd, text + length, max - length)) > 0;)
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

static struct gitignore *make_rules(struct gitignore *parent, const char *path)
{
        struct gitignore *i = calloc(1, sizeof *i);
        if (!i || !(i->arena = arena_new(MEMORY_MAX))) {
                free(i);
                return NULL;
        }
        i->parent = gitignore_ref(parent);
        i->holders = 1;
        i->prefix = *path ? strlen(path) + 1 : 0;
        return i;
}

/* No part of the path may be a symbolic link. Without openat2, only files in the directory itself can be opened. */
static int open_source(int directory, const char *path)
{
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        return strchr(path, '/') ? fd_open_no_symlinks(directory, path, flags, 0) : openat(directory, path, flags);
}

struct gitignore *gitignore_push(struct gitignore *parent, int directory, const char *path, unsigned files)
{
        struct gitignore *i = NULL;
        for (size_t n = 0; files && n < ARRAY_SIZE(sources); n++) {
                struct stat st;
                if (!(files & 1U << n))
                        continue;
                CLEANUP_FD int fd = open_source(directory, sources[n].path);
                if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
                        continue;
                if (!i && !(i = make_rules(parent, path)))
                        break;
                read_rules(i, fd, (size_t)st.st_size);
        }
        return i ? i : gitignore_ref(parent);
}

struct gitignore *gitignore_ref(struct gitignore *i)
{
        if (i)
                i->holders++;
        return i;
}

void gitignore_unref(struct gitignore *i)
{
        while (i && --i->holders == 0) {
                struct gitignore *parent = i->parent;
                arena_free(i->arena);
                free(i);
                i = parent;
        }
}

bool gitignore_matches(const struct gitignore *i, const char *path, bool is_directory)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        for (; i; i = i->parent)
                for (size_t n = i->count; n-- > 0;) {
                        const struct rule *r = &i->rules[n];
                        if ((is_directory || !r->directories_only) &&
                            wildcard_matches(&r->pattern, path + i->prefix, name))
                                return !r->negated;
                }
        return false;
}
