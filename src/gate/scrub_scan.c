/*
 * The scrubber's database; see scrub_scan.h.
 *
 * The table's expressions were compiled when ringwall was built, for any processor that vectorscan supports, and are
 * linked in as data; loading them is a copy and a checksum. Only the part of vectorscan that scans is linked here; its
 * compiler is linked into ringwall-secret-patterns (docs/decisions/scrubbing.md).
 *
 * An attacker controls the text; the policy's author controls the added expressions. The time of a scan is linear in
 * the length of the text.
 */
#include "gate/scrub_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/helper.h"
#include "gate/secret_patterns_database.h"

/* --- the database --- */

/* hs_valid_platform() alone is not enough: it accepts x86 processors without SSE 4.2, where a scan raises SIGILL. */
static bool processor_is_supported(void)
{
#ifdef __x86_64__
        if (!__builtin_cpu_supports("sse4.2"))
                return false;
#endif
        return hs_valid_platform() == HS_SUCCESS;
}

static int load_database(struct scrubber *s, const char *bytes, size_t length, struct error *e)
{
        if (!processor_is_supported())
                return error_set(e, ENOTSUP,
                                 "cannot search for secrets on this processor: on x86, vectorscan needs SSE 4.2");
        hs_error_t r = hs_deserialize_database(bytes, length, &s->database);
        if (r == HS_SUCCESS)
                r = hs_alloc_scratch(s->database, &s->scratch);
        if (r == HS_NOMEM)
                return error_errno(e, ENOMEM, "cannot load the secret patterns");
        if (r != HS_SUCCESS)
                return error_set(e, EINVAL,
                                 "the secret patterns were compiled for another version of vectorscan than the "
                                 "installed one, %s; rebuild ringwall", hs_version());
        return 0;
}

static bool is_valid_name(const char *name)
{
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
        size_t length = strlen(name);
        return length > 0 && length <= PATTERN_NAME_MAX && strspn(name, allowed) == length;
}

static int check_extras(const struct scrub_extra_pattern *extras, size_t count, struct error *e)
{
        if (count > EXTRA_PATTERNS_MAX)
                return error_set(e, E2BIG, "the policy adds %zu patterns; at most %d are allowed", count,
                                 EXTRA_PATTERNS_MAX);
        for (size_t i = 0; i < count; i++) {
                if (!is_valid_name(extras[i].name))
                        return error_set(e, EINVAL,
                                         "pattern '%.60s': a name has 1 to %d lower-case letters, digits and dashes",
                                         extras[i].name, PATTERN_NAME_MAX);
                if (strlen(extras[i].expression) > PATTERN_EXPRESSION_MAX)
                        return error_set(e, E2BIG, "pattern '%s': its expression is longer than %d bytes",
                                         extras[i].name, PATTERN_EXPRESSION_MAX);
        }
        return 0;
}

static int remember_names(struct scrubber *s, const struct scrub_extra_pattern *extras, size_t count, struct error *e)
{
        s->counts = calloc(secret_pattern_count + count, sizeof *s->counts);
        s->reported = calloc(secret_pattern_count + count, sizeof *s->reported);
        s->extras = calloc(count + 1, sizeof *s->extras);
        if (!s->counts || !s->reported || !s->extras)
                return error_errno(e, ENOMEM, "cannot add patterns");
        for (; s->extra_count < count; s->extra_count++)
                if (!(s->extras[s->extra_count] = strdup(extras[s->extra_count].name)))
                        return error_errno(e, ENOMEM, "cannot add patterns");
        return 0;
}

/* Runs ringwall-secret-patterns to compile the table and the extras into the memfd. */
static int compile_extras(const struct scrub_extra_pattern *extras, size_t count, int file, struct error *e)
{
        char path[64], output[sizeof e->text];
        char *arguments[2 * EXTRA_PATTERNS_MAX + 2] = { path };
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        for (size_t i = 0; i < count; i++) {
                arguments[1 + 2 * i] = (char *)(uintptr_t)extras[i].name;
                arguments[2 + 2 * i] = (char *)(uintptr_t)extras[i].expression;
        }
        int status = helper_run("ringwall-secret-patterns", arguments, output, sizeof output, e);
        if (status < 0)
                return status;
        return status ? error_set(e, EINVAL, "%s", *output ? output : "ringwall-secret-patterns failed") : 0;
}

static int load_extras(struct scrubber *s, const struct scrub_extra_pattern *extras, size_t count, struct error *e)
{
        /* No MFD_CLOEXEC: the helper inherits it and writes to it. */
        CLEANUP_FD int file = memfd_create("ringwall-secret-patterns", 0);
        CLEANUP_FREE char *bytes = NULL;
        size_t length = 0;
        char path[64];
        if (file < 0)
                return error_errno(e, errno, "cannot make a file in memory");
        int r = compile_extras(extras, count, file, e);
        if (r < 0)
                return r;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        r = fd_read_file(path, PATTERNS_DATABASE_MAX, &bytes, &length, e);
        return r < 0 ? r : load_database(s, bytes, length, e);
}

int scrubber_new(const struct scrub_extra_pattern *extras, size_t count, struct scrubber **ret, struct error *e)
{
        int r = check_extras(extras, count, e);
        if (r < 0)
                return r;
        struct scrubber *s = calloc(1, sizeof *s);
        if (!s)
                return error_errno(e, ENOMEM, "cannot make a scrubber");
        r = remember_names(s, extras, count, e);
        if (r == 0)
                r = count ? load_extras(s, extras, count, e)
                          : load_database(s, (const char *)secret_patterns_database, secret_patterns_database_length,
                                          e);
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
        free(s->reported);
        free(s->hits);
        free(s);
}

/* --- names --- */

size_t scrubber_pattern_count(const struct scrubber *s)
{
        return secret_pattern_count + s->extra_count;
}

const char *scrubber_name(const struct scrubber *s, size_t pattern)
{
        return pattern < secret_pattern_count ? secret_patterns[pattern].name
                                              : s->extras[pattern - secret_pattern_count];
}

uint64_t scrubber_hits(const struct scrubber *s, size_t pattern)
{
        return s->counts[pattern];
}

void scrubber_add_count(struct scrubber *s, unsigned pattern)
{
        size_t first = 0;
        while (strcmp(scrubber_name(s, first), scrubber_name(s, pattern)) != 0)
                first++;
        s->counts[first]++;
        s->has_unreported = true;
}

json_t *scrubber_take_counts(struct scrubber *s)
{
        json_t *removed = s->has_unreported ? json_object() : NULL;
        for (size_t i = 0; s->has_unreported && i < scrubber_pattern_count(s); i++) {
                json_int_t new = (json_int_t)(s->counts[i] - s->reported[i]);
                s->reported[i] = s->counts[i];
                if (new)
                        json_object_set_new(removed, scrubber_name(s, i), json_integer(new));
        }
        s->has_unreported = false;
        return removed;
}

const struct secret_pattern *scrubber_pattern(unsigned pattern)
{
        return pattern < secret_pattern_count ? &secret_patterns[pattern] : NULL;
}

/* --- a scan --- */

struct scan {
        struct scrubber *scrubber;
        size_t offset; /* of the scanned part within the text */
};

/* vectorscan reports one match for each place where it can end, so most calls only extend the previous hit. */
static int remember_hit(unsigned pattern, unsigned long long from, unsigned long long to, unsigned flags, void *data)
{
        const struct scan *scan = data;
        struct scrubber *s = scan->scrubber;
        struct secret_match hit = { .from = scan->offset + (size_t)from,
                                    .to = scan->offset + (size_t)to,
                                    .pattern = pattern };
        (void)flags;
        if (s->hit_count && s->hits[s->hit_count - 1].pattern == pattern &&
            s->hits[s->hit_count - 1].from == hit.from) {
                s->hits[s->hit_count - 1].to = hit.to;
                return 0;
        }
        if (s->hit_count == s->hit_size) {
                size_t size = s->hit_size ? 2 * s->hit_size : 64;
                struct secret_match *grown = reallocarray(s->hits, size, sizeof *grown);
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
 * Drops matches that cross the end of a line; only a policy's expression can match so. Such a match may hide one that
 * begins later, in its last line, so that line is scanned once more by itself.
 */
static int drop_multiline_hits(struct scrubber *s, const char *text, size_t length)
{
        size_t scanned = 0; /* end of the last line that was scanned by itself */
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

static bool is_block(const struct secret_match *h)
{
        const struct secret_pattern *pattern = scrubber_pattern(h->pattern);
        return pattern && pattern->end == SECRET_END_PEM_BLOCK;
}

/* The order of scrub.h; of hits at the same place, a block comes first, because its end is not known yet. */
static int compare_hits(const void *one, const void *other)
{
        const struct secret_match *a = one, *b = other;
        if (a->from != b->from)
                return a->from < b->from ? -1 : 1;
        if (is_block(a) != is_block(b))
                return is_block(a) ? -1 : 1;
        if (a->to != b->to)
                return a->to > b->to ? -1 : 1;
        return a->pattern < b->pattern ? -1 : a->pattern > b->pattern;
}

int scrubber_scan(struct scrubber *s, const char *text, size_t length)
{
        s->hit_count = 0;
        s->failed = false;
        int r = scan_part(s, text, 0, length);
        if (r == 0 && s->extra_count)
                r = drop_multiline_hits(s, text, length);
        if (r < 0)
                return r;
        size_t kept = 0;
        struct run_cache runs = { 0 };
        for (size_t i = 0; i < s->hit_count; i++) {
                struct secret_match h = s->hits[i];
                struct text_span span = { text, length, h.from, h.to, ALPHABET_NONE };
                if (h.from == h.to || !secret_pattern_find(scrubber_pattern(h.pattern), &span, &runs))
                        continue;
                size_t start = h.from < span.from ? h.from : span.from;
                s->hits[kept++] = (struct secret_match){ span.from, span.to, h.from, start, h.pattern, span.alphabet };
        }
        s->hit_count = kept;
        if (kept)
                qsort(s->hits, kept, sizeof *s->hits, compare_hits);
        return 0;
}
