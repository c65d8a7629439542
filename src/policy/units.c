/*
 * Quantities; see units.h. Numbers are decimal fractions in integer arithmetic: a whole part and up to nine digits
 * after the point, so that 1.1GiB means the same on every machine and an overflow is detected.
 */
#include "policy/units.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { BILLION = 1000000000 };

/* The number whole + billionths / 10^9. */
struct fraction {
        unsigned long long whole;
        unsigned long long billionths;
};

/* Reads digits[.digits] from *text and moves it past them. */
static bool read_fraction(const char **text, struct fraction *ret)
{
        const char *p = *text;
        size_t digits = strspn(p, "0123456789");
        if (!text_parse_unsigned(p, digits, &ret->whole))
                return false;
        p += digits;
        ret->billionths = 0;
        if (*p == '.') {
                p++;
                digits = strspn(p, "0123456789");
                if (digits == 0 || digits > 9 || !text_parse_unsigned(p, digits, &ret->billionths))
                        return false;
                for (size_t i = digits; i < 9; i++)
                        ret->billionths *= 10;
                p += digits;
        }
        *text = p;
        return true;
}

/* f × factor, rounded down; false when it does not fit. */
static bool scale(struct fraction f, uint64_t factor, uint64_t *ret)
{
        uint64_t whole = 0, part = 0;
        if (__builtin_mul_overflow(f.whole, factor, &whole))
                return false;
        part = (uint64_t)((unsigned __int128)f.billionths * factor / BILLION);
        return !__builtin_add_overflow(whole, part, ret);
}

struct unit {
        const char *name;
        uint64_t factor;
};

#define KIB 1024ULL
#define KB 1000ULL

/* units_print_size() takes the first unit that divides the number, so larger units come first. */
static const struct unit size_units[] = {
        { "TiB", KIB * KIB * KIB * KIB }, { "TB", KB * KB * KB * KB }, { "GiB", KIB * KIB * KIB },
        { "GB", KB * KB * KB },           { "MiB", KIB * KIB },        { "MB", KB * KB },
        { "KiB", KIB },                   { "KB", KB },                { "B", 1 },
        { "T", KIB * KIB * KIB * KIB },   { "G", KIB * KIB * KIB },    { "M", KIB * KIB },
        { "K", KIB },                     { "bytes", 1 },              { "", 1 },
};

static const struct unit cpu_units[] = {
        { "cores", 1000 }, { "core", 1000 }, { "cpus", 1000 }, { "cpu", 1000 }, { "%", 10 }, { "", 1000 },
};

static const struct unit time_units[] = {
        { "d", 86400 }, { "h", 3600 },      { "m", 60 },      { "s", 1 },
        { "min", 60 },  { "seconds", 1 },   { "minutes", 60 }, { "hours", 3600 }, { "", 1 },
};

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name, size_t length)
{
        for (size_t i = 0; i < count; i++)
                if (strlen(units[i].name) == length && strncasecmp(units[i].name, name, length) == 0)
                        return &units[i];
        return NULL;
}

static bool parse_one(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
        struct fraction f;
        if (!read_fraction(&text, &f))
                return false;
        text += strspn(text, " ");
        const struct unit *unit = find_unit(units, count, text, strlen(text));
        return unit && scale(f, unit->factor, ret);
}

bool units_parse_size(const char *text, uint64_t *ret_bytes)
{
        return parse_one(text, size_units, ARRAY_SIZE(size_units), ret_bytes);
}

bool units_parse_cpu(const char *text, uint64_t *ret_millicores)
{
        return parse_one(text, cpu_units, ARRAY_SIZE(cpu_units), ret_millicores);
}

/* Pieces add up, each with a smaller unit than the one before: 1h30m. */
bool units_parse_duration(const char *text, uint64_t *ret_seconds)
{
        uint64_t total = 0, last_factor = UINT64_MAX;
        if (parse_one(text, time_units, ARRAY_SIZE(time_units), ret_seconds))
                return true;
        while (*text) {
                struct fraction f;
                uint64_t piece = 0;
                if (!read_fraction(&text, &f) || f.billionths)
                        return false;
                const struct unit *unit = find_unit(time_units, 4, text, *text ? 1 : 0);
                if (!unit || unit->factor >= last_factor || !scale(f, unit->factor, &piece) ||
                    __builtin_add_overflow(total, piece, &total))
                        return false;
                last_factor = unit->factor;
                text++;
        }
        *ret_seconds = total;
        return last_factor != UINT64_MAX;
}

void units_print_size(uint64_t bytes, struct text *out)
{
        for (size_t i = 0; i < ARRAY_SIZE(size_units); i++)
                if (bytes >= size_units[i].factor && bytes % size_units[i].factor == 0) {
                        text_format(out, "%llu%s", (unsigned long long)(bytes / size_units[i].factor),
                                    size_units[i].name);
                        return;
                }
        text_add(out, "0B");
}

void units_print_cpu(uint64_t millicores, struct text *out)
{
        text_format(out, "%llu", (unsigned long long)(millicores / 1000));
        if (millicores % 1000) {
                char digits[8];
                (void)snprintf(digits, sizeof digits, "%03llu", (unsigned long long)(millicores % 1000));
                for (size_t i = strlen(digits); i > 0 && digits[i - 1] == '0'; i--)
                        digits[i - 1] = '\0';
                text_format(out, ".%s", digits);
        }
        text_add(out, millicores == 1000 ? " core" : " cores");
}

void units_print_duration(uint64_t seconds, struct text *out)
{
        if (seconds == 0)
                text_add(out, "0s");
        for (size_t i = 0; i < 4; i++) {
                uint64_t n = seconds / time_units[i].factor;
                if (n)
                        text_format(out, "%llu%s", (unsigned long long)n, time_units[i].name);
                seconds %= time_units[i].factor;
        }
}
