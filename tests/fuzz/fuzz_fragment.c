/*
 * The prefilter of a regular expression. The input is a pattern and a text, separated by a NUL. If the pattern matches
 * the text, so does the fragment that regex_prefilter_find() selects, with and without respect to case. PCRE2 matches.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/regex_prefilter.h"

#include <pcre2.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"

enum { PATTERN_MAX = 200, TEXT_MAX = 500, STEPS_MAX = 20000 };

/* Returns 1 if the pattern matches, 0 if not, -1 if it is not a pattern or takes too long. */
static int search(const char *pattern, size_t length, uint32_t options, const char *text)
{
        int code = 0;
        PCRE2_SIZE error_offset = 0;
        options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
        pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, length, options, &code, &error_offset, NULL);
        if (!compiled)
                return -1;
        pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
        pcre2_match_context *context = pcre2_match_context_create(NULL);
        PROMISE(match && context);
        (void)pcre2_set_match_limit(context, STEPS_MAX);
        (void)pcre2_set_depth_limit(context, STEPS_MAX);
        int r = pcre2_match(compiled, (PCRE2_SPTR)text, strlen(text), 0, 0, match, context);
        pcre2_match_context_free(context);
        pcre2_match_data_free(match);
        pcre2_code_free(compiled);
        return r == PCRE2_ERROR_NOMATCH ? 0 : r < 0 ? -1 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        if (first > PATTERN_MAX || size - first > TEXT_MAX)
                return 0;
        CLEANUP_FREE char *pattern = fuzz_string(data, first);
        CLEANUP_FREE char *text = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        for (int caseless = 0; caseless < 2; caseless++) {
                size_t start = 0, length = 0;
                uint32_t options = caseless ? PCRE2_CASELESS : 0;
                int whole = search(pattern, first, options, text);
                if (whole < 0)
                        continue;
                if (regex_prefilter_find(pattern, caseless, &start, &length)) {
                        PROMISE(start && length && start + length <= first);
                        int part = search(pattern + start, length, options, text);
                        PROMISE(part == 1 || (part == 0 && whole == 0));
                }
                (void)regex_is_linear(pattern);
        }
        return 0;
}
