/*
 * ringwall-secret-patterns: compiles the table of secret patterns, and patterns that a policy adds, into a database for
 * the scrubber.
 *
 *   ringwall-secret-patterns FILE [NAME EXPRESSION]...     writes to a file that exists already
 *   ringwall-secret-patterns --source                      prints the table alone as C source, for the build
 *
 * It is a separate program, because vectorscan's compiler is large and slow to load, and ringwall-mcp needs it only if
 * a policy adds patterns (docs/decisions/scrubbing.md). As with all helpers, an error goes to standard output, and the
 * exit status is 1.
 *
 * The database is compiled for any processor that vectorscan supports: the instructions of the build machine would not
 * make it faster, and the result may run on another machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <hs/hs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "gate/secret_patterns.h"

enum { FLAGS = HS_FLAG_SOM_LEFTMOST | HS_FLAG_MULTILINE, ROW = 24 };

struct list {
        const char **names, **expressions;
        unsigned *flags, *ids;
        unsigned count;
};

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        (void)vprintf(format, arguments);
        va_end(arguments);
        exit(EXIT_FAILURE);
}

static void add(struct list *l, const char *name, const char *expression)
{
        l->names[l->count] = name;
        l->expressions[l->count] = expression;
        l->flags[l->count] = FLAGS;
        l->ids[l->count] = l->count;
        l->count++;
}

static struct list list_all(char **extras, size_t count)
{
        size_t most = secret_pattern_count + count;
        struct list l = {
                .names = calloc(most, sizeof *l.names),
                .expressions = calloc(most, sizeof *l.expressions),
                .flags = calloc(most, sizeof *l.flags),
                .ids = calloc(most, sizeof *l.ids),
        };
        if (!l.names || !l.expressions || !l.flags || !l.ids)
                fail("no memory");
        for (size_t i = 0; i < secret_pattern_count; i++)
                add(&l, secret_patterns[i].name, secret_patterns[i].expression);
        for (size_t i = 0; i < count; i++)
                add(&l, extras[2 * i], extras[2 * i + 1]);
        return l;
}

/* Anchors for the beginning and end of the text cannot work: the scrubber scans a text in several windows. */
static void refuse_anchors(const char *name, const char *expression)
{
        for (const char *p = expression; *p; p++) {
                if (*p != '\\' || !p[1])
                        continue;
                if (strchr("AzZG", *++p))
                        fail("pattern '%s': at %td: \\%c is not supported; use ^ and $ for the start and end of a line",
                             name, p - expression, *p);
        }
}

static void check_expression(const struct list *l, unsigned i)
{
        hs_expr_info_t *info = NULL;
        hs_compile_error_t *error = NULL;
        refuse_anchors(l->names[i], l->expressions[i]);
        if (hs_expression_info(l->expressions[i], l->flags[i], &info, &error) != HS_SUCCESS)
                fail("pattern '%s': %s Its expression is: %.200s", l->names[i], error->message, l->expressions[i]);
        if (info->min_width == 0)
                fail("pattern '%s': its expression matches the empty string; it must match at least one character",
                     l->names[i]);
        if (i < secret_pattern_count && info->max_width > PATTERN_WIDTH_MAX)
                fail("pattern '%s': it can match %u bytes; see PATTERN_WIDTH_MAX", l->names[i], info->max_width);
        free(info);
}

static void compile(const struct list *l, char **ret_bytes, size_t *ret_length)
{
        hs_platform_info_t any = { 0 };
        hs_compile_error_t *error = NULL;
        hs_database_t *database = NULL;
        for (unsigned i = 0; i < l->count; i++)
                check_expression(l, i);
        if (hs_compile_multi(l->expressions, l->flags, l->ids, l->count, HS_MODE_BLOCK, &any, &database, &error) !=
            HS_SUCCESS)
                fail("pattern '%s': %s", error->expression < 0 ? "(all of them)" : l->names[error->expression],
                     error->message);
        if (hs_serialize_database(database, ret_bytes, ret_length) != HS_SUCCESS)
                fail("cannot serialize the database");
        (void)hs_free_database(database);
        if (*ret_length > PATTERNS_DATABASE_MAX)
                fail("the compiled patterns need %zu bytes; at most %d are allowed; shorten the repeats in the "
                     "policy's "
                     "expressions",
                     *ret_length, PATTERNS_DATABASE_MAX);
}

static void write_source(const char *bytes, size_t length)
{
        (void)printf("/* Made by ringwall-secret-patterns. */\n#include \"gate/secret_patterns_database.h\"\n\n"
                     "const size_t secret_patterns_database_length = %zu;\nconst unsigned char "
                     "secret_patterns_database[] = {",
                     length);
        for (size_t i = 0; i < length; i++)
                (void)printf("%s%u,", i % ROW ? "" : "\n", (unsigned char)bytes[i]);
        (void)printf("\n};\n");
}

static void write_file(const char *path, const char *bytes, size_t length)
{
        CLEANUP_FD int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        int r = file < 0 ? -errno : fd_write_all(file, bytes, length);
        if (r < 0)
                fail("cannot write to %s: %s", path, strerror(-r));
}

int main(int argc, char **argv)
{
        char *bytes = NULL;
        size_t length = 0;
        if (argc < 2 || argc % 2)
                fail("usage: ringwall-secret-patterns FILE [NAME EXPRESSION]...");
        size_t extras = (size_t)(argc - 2) / 2;
        bool source = strcmp(argv[1], "--source") == 0;
        struct list l = list_all(argv + 2, extras);
        compile(&l, &bytes, &length);
        if (source)
                write_source(bytes, length);
        else
                write_file(argv[1], bytes, length);
        free(bytes);
        free(l.names);
        free(l.expressions);
        free(l.flags);
        free(l.ids);
        return ferror(stdout) || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
