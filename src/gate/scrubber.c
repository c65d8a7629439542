/*
 * The scrubber's database; see scrubber.h.
 *
 * The table's expressions were compiled with ringwall, for any processor that vectorscan runs on, and lie in the
 * program as they are; loading them is a copy and a checksum. Only the part of vectorscan that scans is linked: the
 * compiler is ringwall-shapes' (docs/decisions/scrubbing.md).
 *
 * What others control: the text, and a policy's expressions. A scan is linear in the text, whatever it is.
 */
#include "gate/scrubber.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/helper.h"
#include "gate/shapes_database.h"

static const char stage[] = "scrub";

/* --- the database --- */

/* vectorscan's own answer is too kind to processors of before 2008: it ends with SIGILL on them. */
static bool is_able(void)
{
#ifdef __x86_64__
        if (!__builtin_cpu_supports("sse4.2"))
                return false;
#endif
        return hs_valid_platform() == HS_SUCCESS;
}

static int load(struct scrubber *s, const char *bytes, size_t length, struct error *e)
{
        if (!is_able())
                return error_set(e, ENOTSUP, stage,
                                 "this processor cannot look for secrets: on x86, vectorscan needs SSE 4.2");
        hs_error_t r = hs_deserialize_database(bytes, length, &s->database);
        if (r == HS_SUCCESS)
                r = hs_alloc_scratch(s->database, &s->scratch);
        if (r == HS_NOMEM)
                return error_errno(e, ENOMEM, stage, "cannot load the shapes of secrets");
        if (r != HS_SUCCESS)
                return error_set(e, EINVAL, stage,
                                 "the shapes of secrets are not for the installed vectorscan, %s; build ringwall again",
                                 hs_version());
        return 0;
}

static bool is_name(const char *name)
{
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
        size_t length = strlen(name);
        return length > 0 && length <= SHAPE_NAME_MOST && strspn(name, allowed) == length;
}

static int check_extras(const struct scrub_extra *extras, size_t count, struct error *e)
{
        if (count > SHAPES_EXTRA_MOST)
                return error_set(e, E2BIG, stage, "%zu shapes were added; there can be %d", count, SHAPES_EXTRA_MOST);
        for (size_t i = 0; i < count; i++) {
                if (!is_name(extras[i].name))
                        return error_set(e, EINVAL, stage,
                                         "shape '%.60s': a name has up to %d small letters, digits and dashes",
                                         extras[i].name, SHAPE_NAME_MOST);
                if (strlen(extras[i].expression) > SHAPE_EXPRESSION_MOST)
                        return error_set(e, E2BIG, stage, "shape '%s': its expression is longer than %d bytes",
                                         extras[i].name, SHAPE_EXPRESSION_MOST);
        }
        return 0;
}

static int remember_names(struct scrubber *s, const struct scrub_extra *extras, size_t count, struct error *e)
{
        s->counts = calloc(shape_count + count, sizeof *s->counts);
        s->told = calloc(shape_count + count, sizeof *s->told);
        s->extras = calloc(count + 1, sizeof *s->extras);
        if (!s->counts || !s->told || !s->extras)
                return error_errno(e, ENOMEM, stage, "cannot add shapes");
        for (; s->extra_count < count; s->extra_count++)
                if (!(s->extras[s->extra_count] = strdup(extras[s->extra_count].name)))
                        return error_errno(e, ENOMEM, stage, "cannot add shapes");
        return 0;
}

/* Has the table and the extras compiled into a file without a name. */
static int compile(const struct scrub_extra *extras, size_t count, int file, struct error *e)
{
        char path[64], told[sizeof e->text];
        char *arguments[2 * SHAPES_EXTRA_MOST + 2] = { path };
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        for (size_t i = 0; i < count; i++) {
                arguments[1 + 2 * i] = (char *)(uintptr_t)extras[i].name;
                arguments[2 + 2 * i] = (char *)(uintptr_t)extras[i].expression;
        }
        int status = helper_run("ringwall-shapes", arguments, told, sizeof told, e);
        if (status < 0)
                return status;
        return status ? error_set(e, EINVAL, stage, "%s", *told ? told : "ringwall-shapes failed") : 0;
}

static int load_extras(struct scrubber *s, const struct scrub_extra *extras, size_t count, struct error *e)
{
        /* Not close-on-exec: the helper writes to it. */
        CLEANUP_FD int file = memfd_create("ringwall-shapes", 0);
        CLEANUP_FREE char *bytes = NULL;
        size_t length = 0;
        char path[64];
        if (file < 0)
                return error_errno(e, errno, stage, "cannot make a file in memory");
        int r = compile(extras, count, file, e);
        if (r < 0)
                return r;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        r = fd_read_file(path, SHAPES_DATABASE_MOST, &bytes, &length, e);
        return r < 0 ? r : load(s, bytes, length, e);
}

int scrubber_new(const struct scrub_extra *extras, size_t count, struct scrubber **ret, struct error *e)
{
        int r = check_extras(extras, count, e);
        if (r < 0)
                return r;
        struct scrubber *s = calloc(1, sizeof *s);
        if (!s)
                return error_errno(e, ENOMEM, stage, "cannot make a scrubber");
        r = remember_names(s, extras, count, e);
        if (r == 0)
                r = count ? load_extras(s, extras, count, e)
                          : load(s, (const char *)shapes_database, shapes_database_length, e);
        if (r < 0) {
                scrubber_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

void scrubber_free(struct scrubber *s)
{
        if (!s)
                return;
        (void)hs_free_scratch(s->scratch);
        (void)hs_free_database(s->database);
        for (size_t i = 0; i < s->extra_count; i++)
                free(s->extras[i]);
        free(s->extras);
        free(s->counts);
        free(s->told);
        free(s->hits);
        free(s);
}

/* --- names --- */

size_t scrubber_shapes(const struct scrubber *s)
{
        return shape_count + s->extra_count;
}

const char *scrubber_name(const struct scrubber *s, size_t shape)
{
        return shape < shape_count ? shapes[shape].name : s->extras[shape - shape_count];
}

uint64_t scrubber_count(const struct scrubber *s, size_t shape)
{
        return s->counts[shape];
}

void scrubber_counted(struct scrubber *s, unsigned shape)
{
        size_t first = 0;
        while (strcmp(scrubber_name(s, first), scrubber_name(s, shape)) != 0)
                first++;
        s->counts[first]++;
        s->news = true;
}

json_t *scrubber_tell(struct scrubber *s)
{
        json_t *taken = s->news ? json_object() : NULL;
        for (size_t i = 0; s->news && i < scrubber_shapes(s); i++) {
                json_int_t new = (json_int_t)(s->counts[i] - s->told[i]);
                s->told[i] = s->counts[i];
                if (new)
                        json_object_set_new(taken, scrubber_name(s, i), json_integer(new));
        }
        s->news = false;
        return taken;
}

const struct shape *scrubber_shape(unsigned shape)
{
        return shape < shape_count ? &shapes[shape] : NULL;
}

/* --- a scan --- */

struct scan {
        struct scrubber *scrubber;
        size_t offset; /* of what is scanned, in the text */
};

/* One match for each place where it can end, so most of them only go on with the last one. */
static int remember_hit(unsigned shape, unsigned long long from, unsigned long long to, unsigned flags, void *data)
{
        const struct scan *scan = data;
        struct scrubber *s = scan->scrubber;
        struct hit hit = { .from = scan->offset + (size_t)from, .to = scan->offset + (size_t)to, .shape = shape };
        (void)flags;
        if (s->hit_count && s->hits[s->hit_count - 1].shape == shape && s->hits[s->hit_count - 1].from == hit.from) {
                s->hits[s->hit_count - 1].to = hit.to;
                return 0;
        }
        if (s->hit_count == s->hit_size) {
                size_t size = s->hit_size ? 2 * s->hit_size : 64;
                struct hit *grown = reallocarray(s->hits, size, sizeof *grown);
                if (!grown) {
                        s->failed = true;
                        return 1;
                }
                s->hits = grown;
                s->hit_size = size;
        }
        s->hits[s->hit_count++] = hit;
        return 0;
}

static int scan_part(struct scrubber *s, const char *text, size_t from, size_t to)
{
        struct scan scan = { s, from };
        hs_error_t r = hs_scan(s->database, text + from, (unsigned)(to - from), 0, s->scratch, remember_hit, &scan);
        return s->failed ? -ENOMEM : r == HS_SUCCESS ? 0 : -EIO;
}

/*
 * A match that goes over the end of a line, which only an expression of a policy can have, is none. It may hide one
 * that begins later in its last line, so that line is scanned once more, alone.
 */
static int split_lines(struct scrubber *s, const char *text, size_t length)
{
        size_t scanned = 0; /* up to here, alone */
        for (size_t i = 0, matched = s->hit_count; i < matched; i++) {
                size_t from = s->hits[i].from, to = s->hits[i].to;
                const char *newline = memrchr(text + from, '\n', to - from);
                if (!newline)
                        continue;
                s->hits[i].to = from; /* empty: it is dropped below */
                size_t line = (size_t)(newline - text) + 1;
                const char *end = memchr(text + line, '\n', length - line);
                if (line == to || line < scanned)
                        continue;
                scanned = end ? (size_t)(end - text) : length;
                int r = scan_part(s, text, line, scanned);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_block(const struct hit *h)
{
        const struct shape *shape = scrubber_shape(h->shape);
        return shape && shape->end == SHAPE_BLOCK;
}

/* By their beginnings; then blocks, whose end is not known yet; then the longest; then as in the table. */
static int compare(const void *one, const void *other)
{
        const struct hit *a = one, *b = other;
        if (a->from != b->from)
                return a->from < b->from ? -1 : 1;
        if (is_block(a) != is_block(b))
                return is_block(a) ? -1 : 1;
        if (a->to != b->to)
                return a->to > b->to ? -1 : 1;
        return a->shape < b->shape ? -1 : a->shape > b->shape;
}

int scrubber_scan(struct scrubber *s, const char *text, size_t length)
{
        s->hit_count = 0;
        s->failed = false;
        int r = scan_part(s, text, 0, length);
        if (r == 0 && s->extra_count)
                r = split_lines(s, text, length);
        if (r < 0)
                return r;
        size_t kept = 0;
        struct grown grown = { 0 };
        for (size_t i = 0; i < s->hit_count; i++) {
                struct hit h = s->hits[i];
                struct span span = { text, length, h.from, h.to, ALPHABET_NONE };
                if (h.from == h.to || !shape_settle(scrubber_shape(h.shape), &span, &grown))
                        continue;
                size_t start = h.from < span.from ? h.from : span.from;
                s->hits[kept++] = (struct hit){ span.from, span.to, start, h.shape, span.alphabet };
        }
        s->hit_count = kept;
        if (kept)
                qsort(s->hits, kept, sizeof *s->hits, compare);
        return 0;
}
