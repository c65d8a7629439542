/* The scrubber: private keys in blocks, streams, patterns that a policy adds. */
#include <errno.h>
#include <time.h>

#include "test_scrub_fixture.h"

enum { WINDOW = 64 << 10, LIMIT = WINDOW - PATTERN_WIDTH_MAX };

#define BEGIN(title) "-----BEG" "IN " title "PRIVATE KEY-----"
#define END(title) "-----END " title "PRIVATE KEY-----"

static const char *const tokens[] = {
        "AKIA{u16}", "ghp_{a36}", "sk-ant-{d20}", "sk-proj-{d60}", "xoxb-{n6}-{a3}", "AIza{d35}", "{a14}.atlasv1.{d60}",
        "dop_v1_{h64}", "{h32}-us1", "{n9}:AA{d33}", "SG.{d22}.{d43}", "whsec_{s32}", "glpat-{d27}.01.{l9}",
        "ops_eyJ{d200}",
};

/* --- keys in blocks --- */

static void test_private_key_is_replaced_with_its_markers(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        static const char *const titles[] = { "", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED " };
        for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
                char text[1024];
                (void)snprintf(text, sizeof text, "a\n" BEGIN("%s") "\n{s64}\n{s64}\n{s20}==\n" END("%s") "\nb\n",
                               titles[i], titles[i]);
                assert_scrubbed(s, text, "a\n" R("pem-private-key") "\nb\n");
        }
        assert_scrubbed(s,
                        BEGIN("RSA ") "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{u32}\n\n{s64}\n"
                        END("RSA ") " x",
                        R("pem-private-key") " x");
        assert_scrubbed(s,
                        "-----BEG" "IN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{s64}\n{s64}\n={s4}\n"
                        "-----END PGP PRIVATE KEY BLOCK-----\nx",
                        R("pem-private-key") "\nx");
        assert_scrubbed(s,
                        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{s70}\n"
                        "---- END SSH2 ENCRYPTED PRIVATE KEY ----\nx",
                        R("pem-private-key") "\nx");
        assert_scrubbed(s, "{\"private_key\": \"" BEGIN("") "\\n{s64}\\n{s64}\\n" END("") "\\n\", \"x\": 1}",
                        "{\"private_key\": \"" R("pem-private-key") "\\n\", \"x\": 1}");
        assert_scrubbed(s, "     1\t" BEGIN("") "\n     2\t{s64}\n     3\t" END("") "\n     4\tb\n",
                        "     1\t" R("pem-private-key") "\n     4\tb\n");
        assert_scrubbed(s, BEGIN("RSA ") "\nMIIEowIBAAKC\n" END("RSA ") "\n", R("pem-private-key") "\n");
        assert_scrubbed(s, "PRIVATE_KEY=\"" BEGIN("") "\n{s64}\n" END("") "\"\nx",
                        "PRIVATE_KEY=\"" R("pem-private-key") "\"\nx");
        assert_scrubbed(s, "Private-Lines: 2\n{s64}\n{s64}\n", R("putty-private-key"));
        assert_scrubbed(s, "-----BEG" "IN USER NKEY SEED-----\nSU{u56}\n------END USER NKEY SEED------\nx",
                        R("pem-private-key") "-\nx"); /* markers have four or five dashes; NATS writes a sixth */
        assert_scrubbed(s,
                        "-----BEG" "IN OpenVPN Static key V1-----\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n"
                        "{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n{h32}\n"
                        "-----END OpenVPN Static key V1-----\nx",
                        R("pem-private-key") "\nx");
}

static void test_truncated_key_does_not_swallow_the_text_after_it(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_scrubbed(s, "a\n" BEGIN("RSA ") "\n{s64}\n{s64}\n{s30}", "a\n" R("pem-private-key"));
        static const char ordinary[] = "an ordinary line of a text\n";
        struct text text = { 0 };
        CLEANUP_FREE char *key = expand(BEGIN("RSA ") "\n{s64}\n{s64}\n");
        text_add(&text, key);
        for (int i = 0; i < 100; i++)
                text_add(&text, ordinary);
        CLEANUP_FREE char *result = scrub(s, text.data);
        text_done(&text);
        assert_memory_equal(result, R("pem-private-key"), strlen(R("pem-private-key")));
        assert_in_range(strlen(result), 93 * strlen(ordinary), 97 * strlen(ordinary));
}

static void test_marker_without_a_key_is_not_changed(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_unchanged(s, "if (strstr(line, \"" BEGIN("RSA ") "\"))\n        return load_the_key(line);\n");
        assert_unchanged(s, "pem = '" BEGIN("") "' + base64.encodebytes(data) + '" END("") "'\n");
        assert_unchanged(s, BEGIN("") "\n...\n" END("") "\n");
        assert_unchanged(s, "-----BEGIN CERTIFICATE-----\n{s64}\n-----END CERTIFICATE-----\n");
        assert_unchanged(s, "-----BEGIN PUBLIC KEY-----\n{s64}\n-----END PUBLIC KEY-----\n");
        assert_unchanged(s, "the line " BEGIN("") " starts a key");
}

static void test_overlapping_secrets_are_replaced_once(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_scrubbed(s, "API_KEY=abc-AKIA{u16}-def", "API_KEY=" R("secret-env-assignment"));
        assert_scrubbed(s, "AKIA{u16} AKIA{u16}", R("aws-access-key") " " R("aws-access-key"));
        assert_scrubbed(s, "AKIA{u16},ghp_{a36}", R("aws-access-key") "," R("github-pat"));
}

static void test_secrets_are_counted_by_name(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        CLEANUP_FREE char *text = expand("sk-{a20} sk-proj-{d20} AKIA{u16} AKIA{u16} AKIA{u16} plain");
        CLEANUP_FREE char *result = scrub(s, text);
        assert_int_equal(count_found(s, "openai-api-key"), 2);
        assert_int_equal(count_found(s, "aws-access-key"), 3);
        assert_int_equal(count_found(s, "github-pat"), 0);
}

static void test_ordinary_text_is_not_changed(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        static const char bytes[] = "a\0b\xff\xfe\r\n\n\0";
        struct text t = { 0 };
        assert_int_equal(scrub_text(s, &t), 0);
        assert_int_equal(t.length, 0);
        text_add_bytes(&t, bytes, sizeof bytes);
        assert_int_equal(scrub_text(s, &t), 0);
        assert_int_equal(t.length, sizeof bytes);
        assert_memory_equal(t.data, bytes, sizeof bytes);
        text_done(&t);
}

/* The scrubbed text is longer than the original. */
static void test_scrubbing_can_make_a_text_longer(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        CLEANUP_TEXT struct text t = { 0 };
        CLEANUP_TEXT struct text expected = { 0 };
        for (int i = 0; i < 20000; i++) {
                text_format(&t, "%d A_KEY=abcdefgh\n", i);
                text_format(&expected, "%d A_KEY=" R("secret-env-assignment") "\n", i);
        }
        assert_int_equal(scrub_text(s, &t), 0);
        assert_int_equal(t.length, expected.length);
        assert_memory_equal(t.data, expected.data, expected.length);
}

/* --- streams --- */

static void check_stream(struct scrubber *s, const struct text *text, const char *expected_text,
                         size_t (*chunk_size)(void))
{
        CLEANUP_SCRUB_STREAM struct scrub_stream stream;
        CLEANUP_TEXT struct text out = { 0 };
        scrub_stream_init(&stream, s);
        for (size_t at = 0, length; at < text->length; at += length) {
                length = chunk_size();
                if (length > text->length - at)
                        length = text->length - at;
                /* A copy of exactly this size, so that a sanitizer finds reads beyond its end. */
                CLEANUP_FREE char *copy = malloc(length ? length : 1);
                memcpy(copy, text->data + at, length);
                assert_int_equal(scrub_stream_feed(&stream, copy, length, &out), 0);
        }
        assert_int_equal(scrub_stream_finish(&stream, &out), 0);
        text_add_bytes(&out, "", 0);
        assert_string_equal(out.data, expected_text);
}

static size_t one_byte(void)
{
        return 1;
}

static size_t few_bytes(void)
{
        return (size_t)(random() % 64);
}

static size_t many_bytes(void)
{
        return (size_t)(random() % 100000);
}

/* Adds a random piece that is difficult at the edge of a chunk: a secret, a part of one, a long line, a line end. */
static void add_random_piece(struct text *t)
{
        static const char *const pieces[] = {
                " ", "\n", "\r\n", "=", "\"", "'", ":", "x", "_", "-", "\\n", "word ", "API_KEY=", "TOKEN: ",
                "password = ", "password=", "\"apiKey\": \"", "--token ", "{l8}", ";Password=",
                "login l password ", "&", ";",
                "-u a:", "Authorization: Bearer ",
                "https://u:", "@host/",
                BEGIN("RSA ") "\n", END("RSA ") "\n", "{s64}\n", "{s64}\n", "{s64}", "eyJ{a40}.", "eyJ{a4000}.",
                "ghp_", "AKIA", "sk-proj-", "{a20}", "{u16}", "{h32}", "Private-Lines: 3\n",
                "an ordinary line of text\n",
        };
        long choice = random() % 100;
        CLEANUP_FREE char *piece = NULL;
        if (choice < 10)
                piece = expand(tokens[(size_t)random() % ARRAY_SIZE(tokens)]);
        else if (choice < 98)
                piece = expand(pieces[(size_t)random() % ARRAY_SIZE(pieces)]);
        for (long i = 0, filler = random() % (2 * WINDOW); !piece && i < filler; i++)
                text_add(t, i % 40 ? "y" : " ");
        if (piece)
                text_add(t, piece);
}

static void test_stream_gives_the_same_text_for_any_chunks(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        srandom(4);
        for (int i = 0; i < 300; i++) {
                CLEANUP_TEXT struct text t = { 0 };
                for (long j = random() % 200; j >= 0; j--)
                        add_random_piece(&t);
                CLEANUP_FREE char *expected_text = scrub_bytes(s, t.data, t.length);
                check_stream(s, &t, expected_text, one_byte);
                check_stream(s, &t, expected_text, few_bytes);
                check_stream(s, &t, expected_text, many_bytes);
        }
}

static void test_secret_is_found_at_any_offset_of_a_long_line(void **state)
{
        (void)state;
        static const struct {
                const char *secret, *expected;
        } cases[] = {
                { " AKIA{u16} ", " " R("aws-access-key") " " },
                { "xAKIA{u16} ", "xAKIA{u16} " },
                { " eyJ{a500}.eyJ{a900}.{a700} ", " " R("jwt") " " },
                { " API_KEY=\"{a16} and {a16}\" ", " API_KEY=\"" R("secret-env-assignment") "\" " },
                { " --spring.datasource.password={c7} ", " --spring.datasource.password=" R("secret-assignment") " " },
                { " login somebody password {c7} ", " login somebody password " R("netrc-password") " " },
                { " a.ini:7:database.password={c7};x=1 ",
                  " a.ini:7:database.password=" R("secret-assignment") ";x=1 " },
                { " " BEGIN("") "\\n{s64}\\n{s64}\\n" END("") " ", " " R("pem-private-key") " " },
        };
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                CLEANUP_FREE char *secret = expand(cases[i].secret);
                CLEANUP_FREE char *expected = expand(cases[i].expected);
                size_t step = strlen(secret) > 200 ? 13 : 1;
                for (size_t edge = LIMIT; edge <= WINDOW; edge += WINDOW - LIMIT)
                        for (size_t at = edge - strlen(secret) - 100; at < edge + 4; at += step) {
                                CLEANUP_TEXT struct text t = { 0 };
                                CLEANUP_TEXT struct text expected_text = { 0 };
                                for (size_t j = 0; j < at; j++)
                                        text_add(&t, ".");
                                text_add_bytes(&expected_text, t.data, t.length);
                                text_add(&t, secret);
                                text_add(&expected_text, expected);
                                for (size_t j = 0; j < 3000; j++) {
                                        text_add(&t, ".");
                                        text_add(&expected_text, ".");
                                }
                                CLEANUP_FREE char *result = scrub_bytes(s, t.data, t.length);
                                assert_string_equal(result, expected_text.data);
                        }
        }
}

/* A secret that is longer than the buffer. */
static void test_endless_secret_is_replaced_without_being_buffered(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        CLEANUP_SCRUB_STREAM struct scrub_stream stream;
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_FREE char *start = expand("a sk-ant-{d60}");
        CLEANUP_FREE char *more = expand("{d5000}");
        scrub_stream_init(&stream, s);
        assert_int_equal(scrub_stream_feed(&stream, start, strlen(start), &out), 0);
        for (int i = 0; i < 200; i++) {
                assert_int_equal(scrub_stream_feed(&stream, more, strlen(more), &out), 0);
                assert_in_range(stream.length, 0, 2 * WINDOW);
        }
        assert_int_equal(scrub_stream_feed(&stream, " b\n", 3, &out), 0);
        assert_string_equal(out.data, "a " R("anthropic-api-key") " b\n");
        assert_int_equal(count_found(s, "anthropic-api-key"), 1);
}

static void test_stream_outputs_a_line_when_it_is_complete(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        CLEANUP_SCRUB_STREAM struct scrub_stream stream;
        CLEANUP_TEXT struct text out = { 0 };
        scrub_stream_init(&stream, s);
        assert_int_equal(scrub_stream_feed(&stream, "one\ntw", 6, &out), 0);
        assert_string_equal(out.data, "one\n");
        assert_int_equal(scrub_stream_feed(&stream, "o\n", 2, &out), 0);
        assert_string_equal(out.data, "one\ntwo\n");
        assert_int_equal(scrub_stream_feed(&stream, "three", 5, &out), 0);
        assert_string_equal(out.data, "one\ntwo\n");
        assert_int_equal(scrub_stream_finish(&stream, &out), 0);
        assert_string_equal(out.data, "one\ntwo\nthree");
        assert_int_equal(scrub_stream_feed(&stream, "four\n", 5, &out), 0);
        assert_string_equal(out.data, "one\ntwo\nthreefour\n");
}

/* Each piece could start a secret that extends to the end of the text. Scanning to the end for each took minutes. */
static void test_many_starts_of_secrets_take_less_than_five_seconds(void **state)
{
        (void)state;
        static const char *const pieces[] = {
                "A_KEY=", "A_KEY=(", "password=a;", "password:", "--token ", "login l password p ", "sk-{a20}-",
                "{a8}.eyJ{a8}", "a://b:", "TOKEN=\"", BEGIN("") "\n", BEGIN(""),
        };
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
                CLEANUP_FREE char *piece = expand(pieces[i]);
                CLEANUP_TEXT struct text t = { 0 };
                while (t.length < 16 * WINDOW)
                        text_add(&t, piece);
                clock_t start = clock();
                assert_int_equal(scrub_text(s, &t), 0);
                assert_in_range(clock() - start, 0, 5 * CLOCKS_PER_SEC);
        }
}

/* --- patterns of a policy; needs ringwall-secret-patterns beside this program --- */

static void test_policy_adds_patterns(void **state)
{
        (void)state;
        static const struct scrub_extra_pattern extras[] = {
                { "acme-key", "acme_[a-z0-9]{10,}" }, { "employee", "\\bE-[0-9]{6}\\b" }, { "lines",
                  "(?:begin\\s+)+end" },
        };
        CLEANUP_SCRUBBER struct scrubber *s = NULL;
        struct error e = { 0 };
        if (scrubber_new(extras, ARRAY_SIZE(extras), &s, &e) < 0)
                fail_msg("%s", e.text);
        assert_int_equal(scrubber_pattern_count(s), secret_pattern_count + 3);
        assert_string_equal(scrubber_name(s, secret_pattern_count), "acme-key");
        assert_scrubbed(s, "acme_{l40} xE-123456 E-123456 AKIA{u16}",
                        R("acme-key") " xE-123456 " R("employee") " " R("aws-access-key"));
        assert_int_equal(count_found(s, "employee"), 1);
        /* Over the end of a line there is nothing to be found, but it hides nothing either. */
        assert_scrubbed(s, "begin\nbegin end", "begin\n" R("lines"));
        assert_scrubbed(s, "begin\nend begin  begin end", "begin\nend " R("lines"));
        srandom(5);
        for (int i = 0; i < 50; i++) {
                static const char *const pieces[] = { "begin", " ", "\n", "end", "acme_{l12}", "E-123456", "x" };
                CLEANUP_TEXT struct text t = { 0 };
                for (long j = random() % 100; j >= 0; j--) {
                        CLEANUP_FREE char *piece = expand(pieces[(size_t)random() % ARRAY_SIZE(pieces)]);
                        text_add(&t, piece);
                }
                CLEANUP_FREE char *expected_text = scrub(s, t.data);
                check_stream(s, &t, expected_text, one_byte);
                check_stream(s, &t, expected_text, few_bytes);
        }
}

static void test_invalid_pattern_is_refused_with_its_name_and_reason(void **state)
{
        (void)state;
        static const struct {
                struct scrub_extra_pattern extra;
                int code;
                const char *text;
        } cases[] = {
                { { "Acme", "a" }, EINVAL, "pattern 'Acme': a name has 1 to 48 lower-case letters, digits and dashes" },
                { { "", "a" }, EINVAL, "pattern '': a name has 1 to 48 lower-case letters, digits and dashes" },
                { { "acme", "(ab" }, EINVAL,
                  "pattern 'acme': Missing close parenthesis for group started at index 0. Its expression is: (ab" },
                { { "acme", "(a)\\1" }, EINVAL,
                  "pattern 'acme': Back-references are unsupported. Its expression is: (a)\\1" },
                { { "acme", "x*" }, EINVAL,
                  "pattern 'acme': its expression matches the empty string; it must match at least one character" },
                { { "acme", "ab\\z" }, EINVAL,
                  "pattern 'acme': at 3: \\z is not supported; use ^ and $ for the start and end of a line" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct scrubber *s = NULL;
                struct error e = { 0 };
                assert_int_equal(scrubber_new(&cases[i].extra, 1, &s, &e), -cases[i].code);
                assert_string_equal(e.text, cases[i].text);
                assert_null(s);
        }
        static struct scrub_extra_pattern many[EXTRA_PATTERNS_MAX + 1];
        struct scrubber *s = NULL;
        struct error e = { 0 };
        assert_int_equal(scrubber_new(many, ARRAY_SIZE(many), &s, &e), -E2BIG);
        assert_string_equal(e.text, "the policy adds 65 patterns; at most 64 are allowed");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_private_key_is_replaced_with_its_markers),
                cmocka_unit_test(test_truncated_key_does_not_swallow_the_text_after_it),
                cmocka_unit_test(test_marker_without_a_key_is_not_changed),
                cmocka_unit_test(test_overlapping_secrets_are_replaced_once),
                cmocka_unit_test(test_secrets_are_counted_by_name),
                cmocka_unit_test(test_ordinary_text_is_not_changed),
                cmocka_unit_test(test_scrubbing_can_make_a_text_longer),
                cmocka_unit_test(test_stream_gives_the_same_text_for_any_chunks),
                cmocka_unit_test(test_secret_is_found_at_any_offset_of_a_long_line),
                cmocka_unit_test(test_endless_secret_is_replaced_without_being_buffered),
                cmocka_unit_test(test_stream_outputs_a_line_when_it_is_complete),
                cmocka_unit_test(test_many_starts_of_secrets_take_less_than_five_seconds),
                cmocka_unit_test(test_policy_adds_patterns),
                cmocka_unit_test(test_invalid_pattern_is_refused_with_its_name_and_reason),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
