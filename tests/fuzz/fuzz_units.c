/*
 * Sizes, cores and durations. A printed number parses to the same number; this is tried with the number that the text
 * stands for and with the first eight bytes of the input as a number. Case, and spaces before a unit, make no
 * difference.
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
        CLEANUP_TEXT struct text variant = { 0 };
        size_t digits = strspn(text, "0123456789.");
        for (const char *p = text; *p; p++) {
                /* Spaces are only allowed after the first number. */
                if ((size_t)(p - text) == digits && strchr(p, ' '))
                        text_add(&variant, " ");
                char c = (char)(isupper((unsigned char)*p) ? tolower((unsigned char)*p) : toupper((unsigned char)*p));
                text_add_bytes(&variant, &c, 1);
        }
        uint64_t variant_number = ~number;
        PROMISE(quantities[which].parse(variant.data ? variant.data : "", &variant_number) == parsed);
        PROMISE(!parsed || variant_number == number);
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
