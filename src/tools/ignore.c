/*
 * .gitignore, as gitignore(5) has it: of the rules of a directory and of those around it the last that matches decides, the
 * deepest directory first. Most rules are a plain name or an ending, which need no matching of patterns.
 *
 * What an attacker controls: the files. One that is larger than the bound is read up to it.
 */
#include "tools/ignore.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

enum { MOST_BYTES = 256 << 10 };

enum rule_kind { RULE_NAME, RULE_ENDING, RULE_ANYWHERE, RULE_ANCHORED };

struct rule {
        enum rule_kind kind;
        const char *text; /* RULE_ENDING: behind its star */
        bool keeps;       /* "!": what it matches is not left out */
        bool directories; /* only those */
};

struct ignore {
        struct ignore *around;
        struct arena *arena;
        struct rule *rules;
        size_t count;
        size_t prefix; /* how much of a path is the directory's own, with its slash */
};

/* The first names of the two. */
static bool part_matches(const char *pattern, size_t n, const char *path, size_t m)
{
        char part[512], name[512];
        if (n >= sizeof part || m >= sizeof name)
                return false;
        memcpy(part, pattern, n);
        part[n] = '\0';
        memcpy(name, path, m);
        name[m] = '\0';
        return fnmatch(part, name, 0) == 0;
}

/*
 * Name by name; ** stands for any number of them. Where it goes wrong, the last ** takes one name more, which is enough:
 * what an earlier one could take, this one can too. So the time is bounded by the product of the lengths.
 */
bool glob_matches(const char *pattern, const char *path)
{
        const char *behind = NULL, *again = NULL;
        for (;;) {
                size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");
                if (n == 2 && memcmp(pattern, "**", 2) == 0) {
                        if (!pattern[n])
                                return true;
                        behind = pattern += n + 1;
                        again = path;
                        continue;
                }
                if (!pattern[n] == !path[m] && part_matches(pattern, n, path, m)) {
                        if (!pattern[n])
                                return true;
                        pattern += n + 1;
                        path += m + 1;
                        continue;
                }
                if (!behind || !strchr(again, '/'))
                        return false;
                path = again = strchr(again, '/') + 1;
                pattern = behind;
        }
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
        if (!length)
                return;
        bool anchored = strchr(line, '/') != NULL, plain = line[strcspn(line, "*?[\\")] == '\0';
        rule.text = line + (*line == '/');
        if (anchored)
                rule.kind = RULE_ANCHORED;
        else if (plain)
                rule.kind = RULE_NAME;
        else if (line[0] == '*' && !line[1 + strcspn(line + 1, "*?[\\")])
                rule.kind = RULE_ENDING, rule.text = line + 1;
        else
                rule.kind = RULE_ANYWHERE;
        struct rule *slot = arena_array_add(i->arena, &i->rules, &i->count, sizeof *slot);
        if (slot)
                *slot = rule;
}

static void read_rules(struct ignore *i, int fd)
{
        char *text = arena_alloc(i->arena, MOST_BYTES + 1);
        size_t length = 0;
        for (ssize_t n; text && length < MOST_BYTES && (n = read(fd, text + length, MOST_BYTES - length)) > 0;)
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

struct ignore *ignore_enter(struct ignore *around, int directory, const char *path)
{
        struct stat st;
        CLEANUP_FD int fd = openat(directory, ".gitignore", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
                return around;
        struct ignore *i = calloc(1, sizeof *i);
        if (i)
                i->arena = arena_new((size_t)8 << 20);
        if (!i || !i->arena) {
                free(i);
                return around;
        }
        i->around = around;
        i->prefix = *path ? strlen(path) + 1 : 0;
        read_rules(i, fd);
        return i;
}

void ignore_leave(struct ignore *i, struct ignore *around)
{
        if (i == around)
                return;
        arena_free(i->arena);
        free(i);
}

static bool rule_matches(const struct rule *r, const char *path, const char *name, bool is_directory)
{
        if (r->directories && !is_directory)
                return false;
        size_t length = strlen(name), end = strlen(r->text);
        switch (r->kind) {
        case RULE_NAME:
                return strcmp(r->text, name) == 0;
        case RULE_ENDING:
                return length >= end && memcmp(name + length - end, r->text, end) == 0;
        case RULE_ANYWHERE:
                return fnmatch(r->text, name, 0) == 0;
        case RULE_ANCHORED:
                return glob_matches(r->text, path);
        }
        return false;
}

bool ignore_matches(const struct ignore *i, const char *path, bool is_directory)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        for (; i; i = i->around)
                for (size_t n = i->count; n-- > 0;)
                        if (rule_matches(&i->rules[n], path + i->prefix, name, is_directory))
                                return !i->rules[n].keeps;
        return false;
}
