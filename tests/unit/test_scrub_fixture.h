/*
 * What the tests of the scrubber share. Secrets are put together here from a prefix and characters that look like
 * chance, so that no scanner of repositories, and no scrubber either, finds one in these files.
 */
#ifndef RINGWALL_TEST_SCRUB_FIXTURE_H
#define RINGWALL_TEST_SCRUB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "gate/scrub.h"

#define R(name) "[REDACTED:" name "]"

static const struct {
        char letter;
        const char *characters;
} kinds[] = {
        { 'a', "k3Zq8WmT2xRb7LcV5nYp9DsG4hJf6QwX1eKtB0uMzNvCrAiSoEdPyHlFjUgIOa" },
        { 'd', "k3Zq8Wm-T2xRb7Lc_V5nYp9DsG4hJf6QwX1eKtB0uMzNvCrAiSoEdPyHlFjUgI" },
        { 's', "k3Zq8WmT2xRb7L/cV5nYp9DsG4hJ+f6QwX1eKtB0uMzNvCrAiSoEdPyHlFjUgI" },
        { 'h', "3f8a1c9e07b25d64" },
        { 'l', "k3zq8wmt2xrb7lcv5nyp9dsg4hjf6" },
        { 'u', "K3ZQ8WMT2XRB7LCV5NYP9DSG4HJF6" },
        { 'n', "4829301756" },
        { 't', "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" },
        { 'w', "kZqWmTxRbLcVnYpDsGhJfQwXeKtBuMzN" },
};

/* "{a36}" stands for 36 characters of the kind a. */
static inline char *fill(const char *pattern)
{
        struct text t = { 0 };
        for (const char *p = pattern; *p; p++) {
                const char *end = *p == '{' ? strchr(p, '}') : NULL;
                unsigned long long count = 0;
                if (!end || !text_to_number(p + 2, (size_t)(end - p) - 2, &count)) {
                        text_add_bytes(&t, p, 1);
                        continue;
                }
                const char *from = NULL;
                for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                        if (kinds[i].letter == p[1])
                                from = kinds[i].characters;
                assert_non_null(from);
                for (unsigned long long i = 0; i < count; i++)
                        text_add_bytes(&t, &from[(i * 7 + i / strlen(from)) % strlen(from)], 1);
                p = end;
        }
        char *filled = text_take(&t);
        assert_non_null(filled);
        return filled;
}

static inline struct scrubber *new_scrubber(void)
{
        struct scrubber *s = NULL;
        struct error e = { 0 };
        if (scrubber_new(NULL, 0, &s, &e) < 0)
                fail_msg("%s", e.text);
        return s;
}

static inline char *scrub_bytes(struct scrubber *s, const char *bytes, size_t length)
{
        struct text t = { 0 };
        text_add_bytes(&t, bytes, length);
        assert_int_equal(scrub_text(s, &t), 0);
        return text_take(&t);
}

static inline char *scrub(struct scrubber *s, const char *text)
{
        return scrub_bytes(s, text, strlen(text));
}

/* Both are patterns for fill(). */
static inline void assert_scrubbed(struct scrubber *s, const char *text, const char *expected)
{
        CLEANUP_FREE char *given = fill(text);
        CLEANUP_FREE char *wanted = fill(expected);
        CLEANUP_FREE char *result = scrub(s, given);
        assert_string_equal(result, wanted);
        CLEANUP_FREE char *again = scrub(s, result);
        assert_string_equal(again, wanted);
}

static inline void assert_kept(struct scrubber *s, const char *text)
{
        assert_scrubbed(s, text, text);
}

static inline uint64_t count_of(const struct scrubber *s, const char *name)
{
        uint64_t count = 0;
        for (size_t i = 0; i < scrubber_shapes(s); i++)
                if (strcmp(scrubber_name(s, i), name) == 0)
                        count += scrubber_count(s, i);
        return count;
}

#endif
