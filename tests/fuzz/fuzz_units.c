/*
 * Sizes, cores and durations. What is printed parses back to the same number, for every number that a text means and
 * for the number that the text's own bytes spell. Case and the spaces in front of a unit do not matter.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "policy/units.h"

static const struct {
        bool (*parse)(const char *, uint64_t *);
        void (*print)(uint64_t, struct text *);
} quantities[] = {
        { units_parse_size, units_print_size },
        { units_parse_cpu, units_print_cpu },
        { units_parse_duration, units_print_duration },
};

static void check_number(size_t which, uint64_t number)
{
        CLEANUP_TEXT struct text printed = { 0 };
        uint64_t back = ~number;
        quantities[which].print(number, &printed);
        PROMISE(!printed.failed && printed.length > 0);
        PROMISE(quantities[which].parse(printed.data, &back));
        PROMISE(back == number);
}

static void check_spelling(size_t which, const char *text, bool parsed, uint64_t number)
{
        CLEANUP_TEXT struct text other = { 0 };
        size_t digits = strspn(text, "0123456789.");
        for (const char *p = text; *p; p++) {
                /* A space may stand only where the first number ends. */
                if ((size_t)(p - text) == digits && strchr(p, ' '))
                        text_add(&other, " ");
                char c = (char)(isupper((unsigned char)*p) ? tolower((unsigned char)*p) : toupper((unsigned char)*p));
                text_add_bytes(&other, &c, 1);
        }
        uint64_t same = ~number;
        PROMISE(quantities[which].parse(other.data ? other.data : "", &same) == parsed);
        PROMISE(!parsed || same == number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FREE char *text = fuzz_string(data, size);
        uint64_t raw = 0;
        if (size)
                memcpy(&raw, data, size < sizeof raw ? size : sizeof raw);
        for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
                uint64_t number = 0;
                bool parsed = quantities[i].parse(text, &number);
                check_spelling(i, text, parsed, number);
                check_number(i, raw);
                if (parsed)
                        check_number(i, number);
        }
        return 0;
}
