/* Quantities: which notations are accepted, and that a printed quantity parses to the same number. */
#include "test_policy_fixture.h"

#include "policy/units.h"

typedef bool parser(const char *, uint64_t *);
typedef void printer(uint64_t, struct text *);

struct row {
        const char *text;
        uint64_t value;
};

static void assert_all_accepted(parser *parse, const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                uint64_t value = 0;
                if (!parse(rows[i].text, &value) || value != rows[i].value)
                        fail_msg("'%s' was parsed as %llu, not as %llu", rows[i].text, (unsigned long long)value,
                                 (unsigned long long)rows[i].value);
        }
}

static void assert_all_refused(parser *parse, const char *const *texts)
{
        for (; *texts; texts++) {
                uint64_t value = 7;
                if (parse(*texts, &value))
                        fail_msg("'%s' was accepted as %llu", *texts, (unsigned long long)value);
        }
}

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)

static void test_sizes_are_parsed(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "512MB", 512000000 },
                { "1.5GiB", GIB + GIB / 2 },
                { "2G", 2 * GIB },
                { "2g", 2 * GIB },
                { "1048576", MIB },
                { "512 MB", 512000000 },
                { "1KiB", 1024 },
                { "1kb", 1000 },
                { "1K", 1024 },
                { "3TiB", 3 * 1024 * GIB },
                { "3tb", 3000000000000 },
                { "10 bytes", 10 },
                { "10B", 10 },
                { "0", 0 },
                { "0.5KiB", 512 },
                { "1.1GiB", 1181116006 },
                { "0.000000001GB", 1 },
                { "18446744073709551615", UINT64_MAX },
                { "16777215TiB", 16777215ULL * 1024 * GIB },
        };
        assert_all_accepted(units_parse_size, rows, ARRAY_SIZE(rows));
}

static void test_malformed_sizes_are_refused(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "",
                " ",
                "MB",
                "-1MB",
                "+1MB",
                "1e9",
                "0x10",
                "1,5GiB",
                "1.GiB",
                ".5GiB",
                "1..5GiB",
                "1.5.5",
                "5 M B",
                " 5MB",
                "5MB ",
                "5MBB",
                "5mbit",
                "5XB",
                "1.0000000000GB",
                "18446744073709551616",
                "16777216TiB",
                "18446744073709551615KB",
                "99999999999999999999999999",
                "five",
                "1_000",
                "٥MB",
                "∞",
                "nan",
                "5\nMB",
                NULL,
        };
        assert_all_refused(units_parse_size, texts);
}

static void test_cores_are_parsed_and_malformed_ones_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "2", 2000 },      { "0.5", 500 },   { "2 cores", 2000 }, { "1 core", 1000 },
                { "2cores", 2000 }, { "150%", 1500 }, { "150 %", 1500 },   { "1.5 CPUs", 1500 },
                { "4 cpu", 4000 },  { "0.0005", 0 },  { "100%", 1000 },
        };
        assert_all_accepted(units_parse_cpu, rows, ARRAY_SIZE(rows));
        static const char *const texts[] = { "",           "two", "-1",  "2 corse", "2 %%",
                                             "150% cores", "1/2", "2MB", "2,5",     "18446744073709551615",
                                             NULL };
        assert_all_refused(units_parse_cpu, texts);
}

static void test_durations_are_parsed_and_malformed_ones_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "90", 90 },          { "90s", 90 },     { "10m", 600 },       { "1h30m", 5400 },   { "2d", 172800 },
                { "1d1h1m1s", 90061 }, { "1.5h", 5400 },  { "5 minutes", 300 }, { "2 hours", 7200 }, { "1h30s", 3630 },
                { "3600", 3600 },      { "10 min", 600 }, { "0", 0 },           { "1H", 3600 },
        };
        assert_all_accepted(units_parse_duration, rows, ARRAY_SIZE(rows));
        static const char *const texts[] = {
                "",
                "h",
                "1h30",
                "30m1h",
                "1h1h",
                "1.5h30m",
                "1h 30m",
                "-5",
                "5x",
                "1w",
                "1hm",
                "1h,30m",
                "forever",
                "18446744073709551616",
                "213503982334602d",
                "1h18446744073709551615s",
                NULL,
        };
        assert_all_refused(units_parse_duration, texts);
}

static void assert_round_trip(parser *parse, printer *print, uint64_t value)
{
        CLEANUP_TEXT struct text out = { 0 };
        uint64_t parsed = ~value;
        print(value, &out);
        if (!parse(out.data, &parsed) || parsed != value)
                fail_msg("%llu was printed as '%s' and parsed as %llu", (unsigned long long)value, out.data,
                         (unsigned long long)parsed);
}

static void test_printed_quantity_parses_to_the_same_number(void **state)
{
        (void)state;
        static const uint64_t values[] = { 0,     1,         9,    59,   60,          61,         999,     1000,
                                           1001,  1023,      1024, 1500, 3600,        3661,       86399,   86400,
                                           90061, 512000000, MIB,  GIB,  3 * GIB / 2, 1000 * GIB, 31536000 };
        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                assert_round_trip(units_parse_size, units_print_size, values[i]);
                assert_round_trip(units_parse_cpu, units_print_cpu, values[i]);
                assert_round_trip(units_parse_duration, units_print_duration, values[i]);
        }
        unsigned long long seed = 1;
        for (size_t i = 0; i < 2000; i++) {
                uint64_t value = random_next(&seed) >> (12 + random_below(&seed, 50));
                assert_round_trip(units_parse_size, units_print_size, value);
                assert_round_trip(units_parse_cpu, units_print_cpu, value);
                assert_round_trip(units_parse_duration, units_print_duration, value);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes_are_parsed),
                cmocka_unit_test(test_malformed_sizes_are_refused),
                cmocka_unit_test(test_cores_are_parsed_and_malformed_ones_are_refused),
                cmocka_unit_test(test_durations_are_parsed_and_malformed_ones_are_refused),
                cmocka_unit_test(test_printed_quantity_parses_to_the_same_number),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
