/* SOCKS5: which requests are accepted, in pieces of any size, and the answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "egress/socks.h"

#define HELLO "\5\1\0"
#define NAME_443 "\5\1\0\3\013example.com\1\273"
#define REPLY(code) "\5" code "\0\1\0\0\0\0\0\0"

/* A byte string, which may contain NULs, and its length. */
#define BYTES(text) text, sizeof(text) - 1

struct row {
        const char *token; /* that is required; NULL: none */
        const char *input;
        size_t length;
        int status;
        const char *answer;
        size_t answer_length;
        const char *host; /* if status is 1 */
        uint16_t port;
        bool is_address;
        size_t rest_length; /* number of bytes after the request */
};

#define WAITING(token, input, answer) { token, BYTES(input), 0, BYTES(answer), NULL, 0, false, 0 }
#define REFUSED(token, input, code, answer) { token, BYTES(input), -(code), BYTES(answer), NULL, 0, false, 0 }

static void check(const struct row *row, size_t number)
{
        for (size_t piece = 1; piece <= row->length; piece++) {
                CLEANUP_TEXT struct text answer = { 0 };
                struct socks s;
                size_t at = 0;
                int status = 0;
                socks_init(&s, row->token);
                while (status == 0 && at < row->length) {
                        size_t n = row->length - at < piece ? row->length - at : piece, used;
                        char *copy = malloc(n); /* so that a sanitizer finds reads beyond it */
                        memcpy(copy, row->input + at, n);
                        status = socks_feed(&s, copy, n, &used, &answer);
                        free(copy);
                        assert_true(used <= n && (status != 0 || used == n));
                        at += used;
                }
                if (status != row->status)
                        fail_msg("row %zu: %d instead of %d, in pieces of %zu", number, status, row->status, piece);
                if (answer.length != row->answer_length)
                        fail_msg("row %zu: an answer of %zu bytes, in pieces of %zu", number, answer.length, piece);
                assert_memory_equal(answer.length ? answer.data : "", row->answer, answer.length);
                if (status == 1) {
                        assert_string_equal(s.destination.host, row->host);
                        assert_int_equal(s.destination.port, row->port);
                        assert_int_equal(s.destination.is_address, row->is_address);
                        assert_int_equal(row->length - at, row->rest_length);
                }
                if (status < 0) {
                        size_t used = 7, before = answer.length;
                        /* the refusal is final */
                        assert_int_equal(socks_feed(&s, "\5", 1, &used, &answer), status);
                        assert_true(used == 0 && answer.length == before);
                }
        }
}

static void check_all(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++)
                check(&rows[i], i);
}

static void test_valid_requests_are_accepted(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { NULL, BYTES(HELLO NAME_443), 1, BYTES("\5\0"), "example.com", 443, false, 0 },
                { NULL, BYTES("\5\3\2\1\0" NAME_443 "early"), 1, BYTES("\5\0"), "example.com", 443, false, 5 },
                { NULL, BYTES(HELLO "\5\1\0\3\014EXAMPLE.com.\0\26"), 1, BYTES("\5\0"), "example.com", 22, false, 0 },
                { NULL, BYTES(HELLO "\5\1\0\3\011192.0.2.1\0\120"), 1, BYTES("\5\0"), "192.0.2.1", 80, true, 0 },
                { NULL, BYTES(HELLO "\5\1\0\1\300\0\2\1\0\120x"), 1, BYTES("\5\0"), "192.0.2.1", 80, true, 1 },
                { NULL, BYTES(HELLO "\5\1\0\4\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1\377\377"), 1, BYTES("\5\0"),
                  "2001:db8::1", 65535, true, 0 },
        };
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_incomplete_requests_wait_for_more(void **state)
{
        (void)state;
        static const struct row rows[] = {
                WAITING(NULL, "\5", ""),
                WAITING(NULL, "\5\2\0", ""),
                WAITING(NULL, HELLO, "\5\0"),
                WAITING(NULL, HELLO "\5\1\0\3\013example.com\1", "\5\0"),
                WAITING("secret", "\5\1\2\1\4name\6secre", "\5\2"),
        };
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_token_is_the_password(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "secret", BYTES("\5\1\2\1\4name\6secret" NAME_443), 1, BYTES("\5\2\1\0"),
                  "example.com", 443, false, 0 },
                { "secret", BYTES("\5\2\0\2\1\0\6secret" NAME_443), 1, BYTES("\5\2\1\0"),
                  "example.com", 443, false, 0 },
                REFUSED("secret", HELLO NAME_443, EOPNOTSUPP, "\5\377"),
                REFUSED("secret", "\5\1\2\1\4name\6secreT" NAME_443, EACCES, "\5\2\1\1"),
                REFUSED("secret", "\5\1\2\1\4name\6Secret" NAME_443, EACCES, "\5\2\1\1"),
                REFUSED("secret", "\5\1\2\1\4name\5secre" NAME_443, EACCES, "\5\2\1\1"),
                REFUSED("secret", "\5\1\2\1\4name\7secret\0" NAME_443, EACCES, "\5\2\1\1"),
                REFUSED("secret", "\5\1\2\1\6secret\0" NAME_443, EACCES, "\5\2\1\1"),
                REFUSED("secret", "\5\1\2\5\1\0", EPROTO, "\5\2\1\1"),
                REFUSED(NULL, "\5\1\2\1\4name\6secret" NAME_443, EOPNOTSUPP, "\5\377"),
        };
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_other_protocols_and_malformed_requests_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                /* SOCKS4 and 4a get an answer in their format; other protocols get none */
                REFUSED(NULL, "\4\1\0\120\300\0\2\1\0", EPROTO, "\0\x5b\0\0\0\0\0\0"),
                REFUSED(NULL, "\4\1\0\120\0\0\0\1\0example.com\0", EPROTO, "\0\x5b\0\0\0\0\0\0"),
                REFUSED(NULL, "GET / HTTP/1.1\r\n", EPROTO, ""),
                REFUSED(NULL, "\x16\3\1", EPROTO, ""),
                REFUSED(NULL, "\0", EPROTO, ""),
                REFUSED(NULL, "\5\0", EOPNOTSUPP, "\5\377"),
                REFUSED(NULL, "\5\2\1\3", EOPNOTSUPP, "\5\377"),
                /* BIND, UDP ASSOCIATE, others */
                REFUSED(NULL, HELLO "\5\2\0\3\013example.com\1\273", EOPNOTSUPP, "\5\0" REPLY("\7")),
                REFUSED(NULL, HELLO "\5\3\0\1\0\0\0\0\0\0", EOPNOTSUPP, "\5\0" REPLY("\7")),
                REFUSED(NULL, HELLO "\5\0\0\1\0\0\0\0\0\0", EOPNOTSUPP, "\5\0" REPLY("\7")),
                REFUSED(NULL, HELLO "\5\xf0\0\1\0\0\0\0\0\0", EOPNOTSUPP, "\5\0" REPLY("\7")),
                /* address types */
                REFUSED(NULL, HELLO "\5\1\0\0", EOPNOTSUPP, "\5\0" REPLY("\10")),
                REFUSED(NULL, HELLO "\5\1\0\2\1\1", EOPNOTSUPP, "\5\0" REPLY("\10")),
                REFUSED(NULL, HELLO "\5\1\0\377\1\1", EOPNOTSUPP, "\5\0" REPLY("\10")),
                /* malformed messages */
                REFUSED(NULL, HELLO "\4\1\0\1", EPROTO, "\5\0" REPLY("\1")),
                REFUSED(NULL, HELLO "\5\1\1\1\300\0\2\1\0\120", EPROTO, "\5\0" REPLY("\1")),
                /* malformed hosts */
                REFUSED(NULL, HELLO "\5\1\0\3\0\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\013example\0com\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\014example.com\0\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\017example.com:443\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\015example.com\r\n\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\012127.0.0.01\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\005127.1\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\003::1\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\005[::1]\1\273", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\3\013example.com\0\0", EINVAL, "\5\0" REPLY("\4")),
                REFUSED(NULL, HELLO "\5\1\0\1\300\0\2\1\0\0", EINVAL, "\5\0" REPLY("\4")),
        };
        check_all(rows, ARRAY_SIZE(rows));
}

/* The longest possible message of each kind. */
static void test_longest_messages_fit(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text input = { 0 }, answer = { 0 };
        char token[256] = { 0 }, bytes[255], name[255];
        struct socks s;
        size_t used;
        memset(token, 't', 255);
        memset(bytes, 2, sizeof bytes);
        memset(name, 'n', sizeof name);
        text_add_bytes(&input, "\5\377", 2);
        text_add_bytes(&input, bytes, 255);
        text_add_bytes(&input, "\1\377", 2);
        text_add_bytes(&input, bytes, 255);
        text_add_bytes(&input, "\377", 1);
        text_add_bytes(&input, token, 255);
        text_add_bytes(&input, "\5\1\0\3\377", 5);
        text_add_bytes(&input, name, 255);
        text_add_bytes(&input, "\1\273", 2);
        socks_init(&s, token);
        assert_int_equal(socks_feed(&s, input.data, input.length, &used, &answer), -EINVAL); /* the name is too long */
        assert_int_equal(used, input.length);
        assert_int_equal(answer.length, 4 + 10);
        assert_memory_equal(answer.data, "\5\2\1\0" REPLY("\4"), 14);
}

static void test_replies_have_their_codes(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text answer = { 0 };
        socks_reply(SOCKS_CONNECTED, &answer);
        socks_reply(SOCKS_FORBIDDEN, &answer);
        socks_reply(SOCKS_HOST_UNREACHABLE, &answer);
        socks_reply(SOCKS_NO_SUCH_COMMAND, &answer);
        socks_reply(SOCKS_NO_SUCH_ADDRESS_TYPE, &answer);
        assert_int_equal(answer.length, 50);
        assert_memory_equal(answer.data, REPLY("\0") REPLY("\2") REPLY("\4") REPLY("\7") REPLY("\10"), 50);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_valid_requests_are_accepted),
                cmocka_unit_test(test_incomplete_requests_wait_for_more),
                cmocka_unit_test(test_token_is_the_password),
                cmocka_unit_test(test_other_protocols_and_malformed_requests_are_refused),
                cmocka_unit_test(test_longest_messages_fit),
                cmocka_unit_test(test_replies_have_their_codes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
