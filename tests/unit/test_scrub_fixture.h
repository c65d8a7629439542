/*
 * Shared by the tests of the scrubber. Secrets are generated from patterns, so that neither scanners of repositories
 * nor the scrubber itself find any in these files.
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
        { 'c', "kzqwmtxrblcvnypdsghjf" },
        { 'b', "QPZRY7X3GF2TVDW4S5JNAKHCE6MUBL" },
        { 'w', "kZqWmTxRbLcVnYpDsGhJfQwXeKtBuMzN" },
};

/* Expands a pattern, in which "{a36}" stands for 36 random-looking characters of the kind 'a'. */
static inline char *expand(const char *pattern)
{
        struct text t = { 0 };
        for (const char *p = pattern; *p; p++) {
                const char *end = *p == '{' ? strchr(p, '}') : NULL;
                unsigned long long count = 0;
                if (!end || !text_parse_unsigned(p + 2, (size_t)(end - p) - 2, &count)) {
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
        char *expanded = text_take(&t);
        assert_non_null(expanded);
        return expanded;
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

/* Asserts that scrubbing `text` gives `expected`, and that scrubbing that changes nothing. Both are patterns. */
static inline void assert_scrubbed(struct scrubber *s, const char *text, const char *expected)
{
        CLEANUP_FREE char *expanded_text = expand(text);
        CLEANUP_FREE char *expanded_result = expand(expected);
        CLEANUP_FREE char *result = scrub(s, expanded_text);
        assert_string_equal(result, expanded_result);
        CLEANUP_FREE char *again = scrub(s, result);
        assert_string_equal(again, expanded_result);
}

static inline void assert_unchanged(struct scrubber *s, const char *text)
{
        assert_scrubbed(s, text, text);
}

static inline uint64_t count_found(const struct scrubber *s, const char *name)
{
        uint64_t count = 0;
        for (size_t i = 0; i < scrubber_pattern_count(s); i++)
                if (strcmp(scrubber_name(s, i), name) == 0)
                        count += scrubber_hits(s, i);
        return count;
}

#endif
