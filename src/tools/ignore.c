/*
 * .gitignore, as gitignore(5) has it: of the rules of a directory and of those around it the last that matches decides, the
 * deepest directory first. Most rules are a plain name or an ending, which need no matching of patterns.
 *
 * What an attacker controls: the files. One that is larger than the bound is read up to it.
 */
#include "tools/ignore.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "policy/pattern.h"

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

/* By the matcher of policies, which knows absolute paths. There ** at the end is also what stands before it; here
   only what lies below that. */
bool glob_matches(const char *pattern, const char *path)
{
        char absolute[2][PATH_MAX];
        size_t length = strlen(pattern);
        bool below = length >= 3 && strcmp(pattern + length - 3, "/**") == 0;
        return (size_t)snprintf(absolute[0], PATH_MAX, "/%s%s", pattern, below ? "/*" : "") < PATH_MAX &&
               (size_t)snprintf(absolute[1], PATH_MAX, "/%s", path) < PATH_MAX && pattern_match(absolute[0], absolute[1]);
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
                return glob_matches(r->text, name);
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
