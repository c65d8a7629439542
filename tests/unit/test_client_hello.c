/* ClientHello: messages of real clients, split into records in any way; malformed ones; and that a result is final. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/memory.h"
#include "egress/client_hello.h"

enum { RECORD_HEADER = 5, BUILT_MAX = HELLO_MAX + 1024 };

/* Bytes that may contain NULs. */
struct bytes {
        const char *data;
        size_t length;
};
#define BYTES(literal) { (literal), sizeof(literal) - 1 }

/* A message or connection that a test builds. */
struct built {
        uint8_t bytes[BUILT_MAX];
        size_t length;
};

static void add(struct built *b, const void *bytes, size_t length)
{
        assert_true(length <= BUILT_MAX - b->length);
        memcpy(b->bytes + b->length, bytes, length);
        b->length += length;
}

static void add_u16(struct built *b, size_t value)
{
        add(b, (const uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static void add_record(struct built *b, unsigned version, const uint8_t *bytes, size_t length)
{
        add(b, "\x16", 1);
        add_u16(b, version);
        add_u16(b, length);
        add(b, bytes, length);
}

/* Adds the message in records of this size. */
static void add_records(struct built *b, const uint8_t *message, size_t length, size_t size)
{
        for (size_t at = 0; at < length; at += size)
                add_record(b, 0x0301, message + at, length - at < size ? length - at : size);
}

/* Inspects a copy of exactly this size, so that a sanitizer finds reads beyond its end. */
static enum client_hello_state inspect(const uint8_t *bytes, size_t length, struct client_hello *ret)
{
        CLEANUP_FREE uint8_t *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, bytes, length);
        return client_hello_parse(copy, length, ret);
}

/*
 * Inspects every prefix and returns the last result: CLIENT_HELLO_INCOMPLETE, until the result is known and does not
 * change.
 */
static enum client_hello_state inspect_prefixes(const uint8_t *bytes, size_t length, struct client_hello *ret)
{
        enum client_hello_state state = CLIENT_HELLO_INCOMPLETE;
        for (size_t prefix = 1; prefix <= length; prefix++) {
                struct client_hello h = { .length = 7 };
                enum client_hello_state now = inspect(bytes, prefix, &h);
                if (state != CLIENT_HELLO_INCOMPLETE && now != state)
                        fail_msg("%d became %d with byte %zu of %zu", (int)state, (int)now, prefix, length);
                if (now == HELLO_COMPLETE && state == CLIENT_HELLO_INCOMPLETE)
                        *ret = h;
                if (now == HELLO_COMPLETE)
                        assert_memory_equal(ret->server_name, h.server_name, strlen(h.server_name) + 1);
                assert_int_equal(h.length, now == HELLO_COMPLETE ? ret->length : 7); /* else it is not written */
                state = now;
        }
        return state;
}

/* Builds a ClientHello with these extensions; NULL: without the field. */
static void build_message(struct built *b, const void *extensions, size_t length)
{
        static const char before_extensions[] = "\3\3" "01234567890123456789012345678901" "\0" "\0\2\x13\x01" "\1\0";
        size_t size = sizeof before_extensions - 1 + (extensions ? 2 + length : 0);
        b->length = 0;
        add(b, "\1", 1);
        add(b, (const uint8_t[]){ (uint8_t)(size >> 16) }, 1);
        add_u16(b, size & 0xffff);
        add(b, before_extensions, sizeof before_extensions - 1);
        if (extensions) {
                add_u16(b, length);
                add(b, extensions, length);
        }
}

/* The same, in as few records as possible. */
static struct built *build_hello(const void *extensions, size_t length)
{
        static struct built message, hello;
        build_message(&message, extensions, length);
        hello.length = 0;
        add_records(&hello, message.bytes, message.length, 1 << 14);
        return &hello;
}

static struct built *build_hello_with_name(const void *name, size_t length)
{
        struct built extension = { .length = 0 };
        add_u16(&extension, 0);
        add_u16(&extension, length + 5);
        add_u16(&extension, length + 3);
        add(&extension, "", 1);
        add_u16(&extension, length);
        add(&extension, name, length);
        return build_hello(extension.bytes, extension.length);
}

/* Reads a file of tests/fuzz/corpus/hello. __FILE__ is relative to the directory in which the tests run. */
static void read_captured(const char *name, struct built *ret)
{
        char path[4096];
        CLEANUP_FREE char *text = NULL;
        struct error e = { 0 };
        size_t length = strlen(__FILE__) - strlen("unit/test_client_hello.c");
        (void)snprintf(path, sizeof path, "%.*sfuzz/corpus/hello/%s", (int)length, __FILE__, name);
        if (fd_read_file(path, BUILT_MAX, &text, &length, &e))
                fail_msg("%s", e.text);
        ret->length = 0;
        add(ret, text, length);
}

static void test_hellos_of_real_clients_are_parsed(void **state)
{
        (void)state;
        static const struct {
                const char *file, *name;
                bool tls13;
        } rows[] = {
                { "curl", "www.example.com", true },     { "git", "www.example.com", true },
                { "gnutls", "www.example.com", true },   { "go", "www.example.com", true },
                { "java", "www.example.com", true },     { "node", "www.example.com", true },
                { "openssl", "www.example.com", true },  { "openssl-no-name", "", true },
                { "openssl-small-records", "www.example.com", true }, /* three records */
                { "openssl-tls12", "www.example.com", false },        /* sent as WWW.Example.com */
                { "python", "www.example.com", true },   { "wget", "www.example.com", true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct built b;
                struct client_hello h;
                read_captured(rows[i].file, &b);
                size_t length = b.length;
                add(&b, "\x14\3\3\0\1\1", 6); /* bytes after the message are ignored */
                if (inspect_prefixes(b.bytes, b.length, &h) != HELLO_COMPLETE)
                        fail_msg("%s", rows[i].file);
                assert_string_equal(h.server_name, rows[i].name);
                assert_int_equal(h.offers_tls13, rows[i].tls13);
                assert_false(h.has_ech);
                assert_int_equal(h.length, length);
        }
}

static void test_result_is_the_same_for_any_split_into_records(void **state)
{
        (void)state;
        struct built b, split;
        struct client_hello h;
        read_captured("curl", &b);
        const uint8_t *message = b.bytes + RECORD_HEADER;
        size_t length = b.length - RECORD_HEADER;
        assert_int_equal(length, 512);
        for (size_t size = 1; size <= length; size++) {
                split.length = 0;
                add_records(&split, message, length, size);
                size_t records = (length + size - 1) / size;
                enum client_hello_state result = inspect_prefixes(split.bytes, split.length, &h);
                assert_int_equal(result, records <= HELLO_RECORDS_MAX ? HELLO_COMPLETE : CLIENT_HELLO_MALFORMED);
                if (result != HELLO_COMPLETE)
                        continue;
                assert_string_equal(h.server_name, "www.example.com");
                assert_int_equal(h.length, length + records * RECORD_HEADER);
        }
        for (size_t first = 1; first < length; first++) { /* in two records */
                split.length = 0;
                add_record(&split, 0x0301, message, first);
                add_record(&split, 0x0303, message + first, length - first);
                assert_int_equal(inspect(split.bytes, split.length, &h), HELLO_COMPLETE);
                assert_string_equal(h.server_name, "www.example.com");
        }
}

static void test_names_are_canonical_and_malformed_ones_are_refused(void **state)
{
        (void)state;
        static const struct {
                struct bytes name;
                const char *canonical; /* NULL: refused */
        } rows[] = {
                { BYTES("example.com"), "example.com" },
                { BYTES("EXAMPLE.Com"), "example.com" },
                { BYTES("example.com."), "example.com" },
                { BYTES("localhost"), "localhost" },
                { BYTES("a_b.xn--bcher-kva.example"), "a_b.xn--bcher-kva.example" },
                { BYTES(""), NULL },
                { BYTES("."), NULL },
                { BYTES("example.com.."), NULL },
                { BYTES(".example.com"), NULL },
                { BYTES("example..com"), NULL },
                { BYTES("example.com\0"), NULL },
                { BYTES("example.com\0.other.com"), NULL },
                { BYTES("\0"), NULL },
                { BYTES("b\xc3\xbc" "cher.example"), NULL },
                { BYTES("example\xe3\x80\x82" "com"), NULL }, /* U+3002, ideographic full stop */
                { BYTES("example.com\xa0"), NULL },
                { BYTES("example.com:443"), NULL },
                { BYTES("*.example.com"), NULL },
                { BYTES("example.com\n"), NULL },
                { BYTES(" example.com"), NULL },
                { BYTES("127.0.0.1"), NULL },
                { BYTES("127.1"), NULL },
                { BYTES("0x7f000001"), NULL },
                { BYTES("::1"), NULL },
                { BYTES("[::1]"), NULL },
                { BYTES("-a.example"), NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct client_hello h;
                const struct built *b = build_hello_with_name(rows[i].name.data, rows[i].name.length);
                enum client_hello_state result = inspect_prefixes(b->bytes, b->length, &h);
                if (result != (rows[i].canonical ? HELLO_COMPLETE : CLIENT_HELLO_MALFORMED))
                        fail_msg("'%s': %d", rows[i].name.data, (int)result);
                if (rows[i].canonical)
                        assert_string_equal(h.server_name, rows[i].canonical);
        }
}

static void test_length_of_a_name_is_limited(void **state)
{
        (void)state;
        char name[600];
        struct client_hello h;
        for (size_t i = 0; i < sizeof name; i++)
                name[i] = i % 2 ? '.' : 'a';
        const struct built *b = build_hello_with_name(name, 253);
        assert_int_equal(inspect(b->bytes, b->length, &h), HELLO_COMPLETE);
        assert_int_equal(strlen(h.server_name), 253);
        b = build_hello_with_name(name, 254); /* with a trailing dot */
        assert_int_equal(inspect(b->bytes, b->length, &h), HELLO_COMPLETE);
        assert_int_equal(strlen(h.server_name), 253);
        for (size_t length = 255; length <= sizeof name; length++) {
                b = build_hello_with_name(name, length);
                assert_int_equal(inspect(b->bytes, b->length, &h), CLIENT_HELLO_MALFORMED);
        }
        memset(name, 'a', sizeof name);
        b = build_hello_with_name(name, 63);
        assert_int_equal(inspect(b->bytes, b->length, &h), HELLO_COMPLETE);
        b = build_hello_with_name(name, 64);
        assert_int_equal(inspect(b->bytes, b->length, &h), CLIENT_HELLO_MALFORMED);
}

/* The extension with the name "a.b". */
#define NAME "\0\0\0\x08\0\x06\0\0\3a.b"
#define VERSIONS "\0\x2b\0\3\2\3\4"

static void test_extensions_are_parsed_and_malformed_ones_are_refused(void **state)
{
        (void)state;
        static const struct {
                struct bytes extensions;
                enum client_hello_state state;
                const char *name;
                bool has_ech, tls13;
        } rows[] = {
                { BYTES(""), HELLO_COMPLETE, "", false, false },
                { BYTES(NAME), HELLO_COMPLETE, "a.b", false, false },
                { BYTES(VERSIONS NAME), HELLO_COMPLETE, "a.b", false, true },
                { BYTES("\xff\xff\0\0" NAME), HELLO_COMPLETE, "a.b", false, false },
                { BYTES(NAME "\xff\xff\0\0"), HELLO_COMPLETE, "a.b", false, false },
                { BYTES("\x0a\x0a\0\1\0" NAME "\x1a\x1a\0\0"), HELLO_COMPLETE, "a.b", false, false }, /* GREASE */
                { BYTES(NAME "\xfe\x0d\0\4abcd"), HELLO_COMPLETE, "a.b", true, false },
                { BYTES("\xfe\x0d\0\0" VERSIONS), HELLO_COMPLETE, "", true, true },
                { BYTES("\xfe\x0d\0\1\1" NAME), HELLO_COMPLETE, "a.b", true, false }, /* an inner hello */
                { BYTES(NAME "\xff\xce\0\4abcd"), HELLO_COMPLETE, "a.b", true, false },
                { BYTES("\xfe\x08\0\0"), HELLO_COMPLETE, "", true, false },
                { BYTES("\xff\x02\0\0"), HELLO_COMPLETE, "", true, false },
                { BYTES("\xfe\x07\0\0\xfe\x0e\0\0\xff\x01\0\0\xff\xcd\0\0"), HELLO_COMPLETE, "", false, false },
                { BYTES("\0\x2b\0\5\4\x0a\x0a\3\3"), HELLO_COMPLETE, "", false, false },
                { BYTES("\0\x2b\0\5\4\x0a\x0a\3\4"), HELLO_COMPLETE, "", false, true },
                { BYTES("\0\x2b\0\5\4\3\4\3\3"), HELLO_COMPLETE, "", false, true },

                { BYTES(NAME NAME), CLIENT_HELLO_MALFORMED, NULL, false, false }, /* duplicates */
                { BYTES(NAME "\xff\xff\0\0\0\0\0\x08\0\x06\0\0\3c.d"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES(NAME "\xff\xff\0\0\xff\xff\0\1x"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES(VERSIONS VERSIONS), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0"), CLIENT_HELLO_MALFORMED, NULL, false, false }, /* truncated */
                { BYTES("\xff\xff"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\xff\xff\0"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\xff\xff\0\1"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES(NAME "\0"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\x2b\0\0"), CLIENT_HELLO_MALFORMED, NULL, false, false }, /* malformed versions */
                { BYTES("\0\x2b\0\1\0"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\x2b\0\2\1\3"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\x2b\0\4\3\3\4\3"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\x2b\0\4\2\3\4\3"), CLIENT_HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\x2b\0\2\2\3\4"), CLIENT_HELLO_MALFORMED, NULL, false, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct client_hello h;
                const struct built *b = build_hello(rows[i].extensions.data, rows[i].extensions.length);
                enum client_hello_state result = inspect_prefixes(b->bytes, b->length, &h);
                if (result != rows[i].state)
                        fail_msg("row %zu: %d", i, (int)result);
                if (result != HELLO_COMPLETE)
                        continue;
                assert_string_equal(h.server_name, rows[i].name);
                assert_int_equal(h.has_ech, rows[i].has_ech);
                assert_int_equal(h.offers_tls13, rows[i].tls13);
                assert_int_equal(h.length, b->length);
        }
}

static void test_malformed_server_name_extension_is_refused(void **state)
{
        (void)state;
        static const struct bytes rows[] = {
                BYTES("\0\0\0\0"),                               /* empty, as servers send it */
                BYTES("\0\0\0\2\0\0"),                           /* an empty list */
                BYTES("\0\0\0\1\0"),
                BYTES("\0\0\0\x08\0\x06\1\0\3a.b"),              /* another type of name */
                BYTES("\0\0\0\x0e\0\x0c\0\0\3a.b\0\0\3c.d"),     /* two names */
                BYTES("\0\0\0\x0e\0\x0c\0\0\3a.b\1\0\3c.d"),
                BYTES("\0\0\0\x0e\0\x0c\1\0\3a.b\0\0\3c.d"),
                BYTES("\0\0\0\x0e\0\x06\0\0\3a.b\0\0\3c.d"),     /* the second after the list */
                BYTES("\0\0\0\x09\0\x06\0\0\3a.bc"),             /* bytes after the list or the name */
                BYTES("\0\0\0\x09\0\x07\0\0\3a.bc"),
                BYTES("\0\0\0\x08\0\x06\0\0\2a.b"),
                BYTES("\0\0\0\x08\0\x06\0\0\4a.b"),              /* lengths beyond the end */
                BYTES("\0\0\0\x08\0\x07\0\0\4a.b" VERSIONS),
                BYTES("\0\0\0\x08\0\x05\0\0\3a.b"),
                BYTES("\0\0\0\x08\0\xff\0\0\3a.b"),
                BYTES("\0\0\0\x08\0\x06\0\xff\xff" "a.b"),
                BYTES("\0\0\0\x07\0\x06\0\0\3a.b"),
                BYTES("\0\0\0\x07\0\x05\0\0\3a.b"),
                BYTES("\0\0\0\4\0\2\0\0"),
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct client_hello h;
                const struct built *b = build_hello(rows[i].data, rows[i].length);
                enum client_hello_state result = inspect_prefixes(b->bytes, b->length, &h);
                if (result != CLIENT_HELLO_MALFORMED)
                        fail_msg("row %zu: %d", i, (int)result);
        }
}

static void test_number_of_extensions_is_limited(void **state)
{
        (void)state;
        struct built extensions = { .length = 0 };
        struct client_hello h;
        for (unsigned i = 0; i < HELLO_EXTENSIONS_MAX; i++) {
                add_u16(&extensions, 0x1000 + i);
                add_u16(&extensions, 0);
        }
        const struct built *b = build_hello(extensions.bytes, extensions.length);
        assert_int_equal(inspect(b->bytes, b->length, &h), HELLO_COMPLETE);
        add(&extensions, NAME, sizeof NAME - 1);
        b = build_hello(extensions.bytes, extensions.length);
        assert_int_equal(inspect(b->bytes, b->length, &h), CLIENT_HELLO_MALFORMED);
}

/* Offsets of the parts of a message without extensions. */
enum { LENGTH_AT = 1, VERSION_AT = 4, SESSION_AT = 38, CIPHERS_AT = 39, COMPRESSIONS_AT = 43, EXTENSIONS_AT = 45 };

static void test_fields_before_the_extensions_are_checked(void **state)
{
        (void)state;
        static const struct {
                size_t at;
                struct bytes bytes; /* that replace the bytes there */
                size_t length;      /* of the message, without its header */
                enum client_hello_state state;
        } rows[] = {
                { 0, BYTES("\1"), 41, HELLO_COMPLETE }, /* unchanged: no extensions, like old clients */
                { 0, BYTES("\2"), 41, CLIENT_HELLO_MALFORMED },      /* ServerHello */
                { 0, BYTES("\0"), 41, CLIENT_HELLO_MALFORMED },
                { VERSION_AT, BYTES("\3\1"), 41, HELLO_COMPLETE },
                { VERSION_AT, BYTES("\3\2"), 41, HELLO_COMPLETE },
                { VERSION_AT, BYTES("\3\0"), 41, CLIENT_HELLO_MALFORMED },
                { VERSION_AT, BYTES("\3\4"), 41, CLIENT_HELLO_MALFORMED },
                { VERSION_AT, BYTES("\2\3"), 41, CLIENT_HELLO_MALFORMED },
                { SESSION_AT, BYTES("\1"), 41, CLIENT_HELLO_MALFORMED },
                { SESSION_AT, BYTES("\2ab\0\2\x13\1\1\0"), 43, HELLO_COMPLETE },
                { SESSION_AT,
                  BYTES("\x20"
                        "01234567890123456789012345678901\0\2\x13\1\1\0"),
                  73, HELLO_COMPLETE },
                { SESSION_AT,
                  BYTES("\x21"
                        "012345678901234567890123456789012\0\2\x13\1\1\0"),
                  74, CLIENT_HELLO_MALFORMED },
                { SESSION_AT, BYTES("\xff"), 41, CLIENT_HELLO_MALFORMED },
                { CIPHERS_AT, BYTES("\0\0\1\0"), 39, CLIENT_HELLO_MALFORMED }, /* no cipher */
                { CIPHERS_AT, BYTES("\0\3\x13\1\0\1\0"), 42, CLIENT_HELLO_MALFORMED },
                { CIPHERS_AT, BYTES("\0\1\x13\1\0"), 40, CLIENT_HELLO_MALFORMED },
                { CIPHERS_AT, BYTES("\0\4\x13\1\x13\2\1\0"), 43, HELLO_COMPLETE },
                { CIPHERS_AT, BYTES("\xff\xff"), 41, CLIENT_HELLO_MALFORMED },
                { COMPRESSIONS_AT, BYTES("\0"), 40, CLIENT_HELLO_MALFORMED }, /* no compression */
                { COMPRESSIONS_AT, BYTES("\2\1\0"), 42, HELLO_COMPLETE },
                { COMPRESSIONS_AT, BYTES("\2\0"), 41, CLIENT_HELLO_MALFORMED },
                { EXTENSIONS_AT, BYTES("\0"), 42, CLIENT_HELLO_MALFORMED }, /* lengths of the extensions */
                { EXTENSIONS_AT, BYTES("\0\0"), 43, HELLO_COMPLETE },
                { EXTENSIONS_AT, BYTES("\0\0\0"), 44, CLIENT_HELLO_MALFORMED },
                { EXTENSIONS_AT, BYTES("\0\1"), 43, CLIENT_HELLO_MALFORMED },
                { EXTENSIONS_AT, BYTES("\0\4\xff\xff\0\0\0"), 48, CLIENT_HELLO_MALFORMED },
                { 0, BYTES("\1\0\0\0"), 0, CLIENT_HELLO_MALFORMED },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct built message, b = { .length = 0 };
                struct client_hello h;
                build_message(&message, NULL, 0);
                assert_int_equal(message.length, EXTENSIONS_AT);
                memcpy(message.bytes + rows[i].at, rows[i].bytes.data, rows[i].bytes.length);
                message.bytes[LENGTH_AT + 2] = (uint8_t)rows[i].length;
                add_record(&b, 0x0303, message.bytes, rows[i].length + 4);
                enum client_hello_state result = inspect_prefixes(b.bytes, b.length, &h);
                if (result != rows[i].state)
                        fail_msg("row %zu: %d", i, (int)result);
        }
}

static void test_record_headers_are_checked(void **state)
{
        (void)state;
        static const struct {
                struct bytes head;            /* of the message's record */
                enum client_hello_state alone, with_message; /* the result for the header alone, and with the message */
        } rows[] = {
                { BYTES("\x16\3\1\0\x2d"), CLIENT_HELLO_INCOMPLETE, HELLO_COMPLETE },
                { BYTES("\x16\3\2\0\x2d"), CLIENT_HELLO_INCOMPLETE, HELLO_COMPLETE },
                { BYTES("\x16\3\3\0\x2d"), CLIENT_HELLO_INCOMPLETE, HELLO_COMPLETE },
                { BYTES("\x16\3\3\0\x2c"), CLIENT_HELLO_INCOMPLETE,
                  CLIENT_HELLO_INCOMPLETE }, /* the last byte is in another record */
                { BYTES("\x16\3\3\0\x2e"), CLIENT_HELLO_INCOMPLETE,
                  CLIENT_HELLO_MALFORMED }, /* longer than the message */
                { BYTES("\x16\3\3\x40\0"), CLIENT_HELLO_INCOMPLETE, CLIENT_HELLO_MALFORMED },
                { BYTES("\x16\3\3\x40\1"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED }, /* longer than allowed */
                { BYTES("\x16\3\3\0\0"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },   /* empty */
                { BYTES("\x16\3\0\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED }, /* other versions */
                { BYTES("\x16\3\4\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x16\3\xff\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x16\2\0\0\x2d"), CLIENT_HELLO_NOT_TLS, CLIENT_HELLO_NOT_TLS },
                { BYTES("\x16\4\1\0\x2d"), CLIENT_HELLO_NOT_TLS, CLIENT_HELLO_NOT_TLS },
                { BYTES("\x13\3\3\0\x2d"), CLIENT_HELLO_NOT_TLS, CLIENT_HELLO_NOT_TLS }, /* other types */
                { BYTES("\x14\3\3\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x15\3\3\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x17\3\3\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x18\3\3\0\x2d"), CLIENT_HELLO_MALFORMED, CLIENT_HELLO_MALFORMED },
                { BYTES("\x19\3\3\0\x2d"), CLIENT_HELLO_NOT_TLS, CLIENT_HELLO_NOT_TLS },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct built message, b = { .length = 0 };
                struct client_hello h;
                build_message(&message, NULL, 0);
                add(&b, rows[i].head.data, rows[i].head.length);
                enum client_hello_state alone = inspect_prefixes(b.bytes, b.length, &h);
                add(&b, message.bytes, message.length);
                enum client_hello_state with_message = inspect_prefixes(b.bytes, b.length, &h);
                if (alone != rows[i].alone || with_message != rows[i].with_message)
                        fail_msg("row %zu: %d, then %d", i, (int)alone, (int)with_message);
        }
}

/* There may be no other record between the records of a message, and no second message in a record. */
static void test_records_of_a_message_are_contiguous(void **state)
{
        (void)state;
        static const struct bytes between[] = {
                BYTES("\x14\3\3\0\1\1"), BYTES("\x15\3\3\0\2\1\0"), BYTES("\x17\3\3\0\1x"), BYTES("\x16\3\3\0\0"),
                BYTES("GET / HTTP/1.1"),
        };
        struct built message, b;
        struct client_hello h;
        build_message(&message, NAME, sizeof NAME - 1);
        for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
                b.length = 0;
                add_record(&b, 0x0301, message.bytes, 40);
                add(&b, between[i].data, between[i].length);
                add_record(&b, 0x0301, message.bytes + 40, message.length - 40);
                assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), CLIENT_HELLO_MALFORMED);
        }
        add(&message, message.bytes, message.length); /* two messages in the same record */
        b.length = 0;
        add_record(&b, 0x0301, message.bytes, message.length);
        assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), CLIENT_HELLO_MALFORMED);
        b.length = 0;
        add_record(&b, 0x0301, message.bytes, 3); /* split inside the message's length */
        add_record(&b, 0x0301, message.bytes + 3, message.length - 3);
        assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), CLIENT_HELLO_MALFORMED);
}

static void test_other_protocols_are_recognized_by_the_first_byte(void **state)
{
        (void)state;
        static const struct bytes rows[] = {
                BYTES("GET / HTTP/1.1\r\n"), BYTES("SSH-2.0-x\r\n"), BYTES("\0"), BYTES("\x13"), BYTES("\x19"),
                BYTES("\x7f"), BYTES("\5\1\0"),
        };
        struct client_hello h;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_int_equal(inspect((const uint8_t *)rows[i].data, 1, &h), CLIENT_HELLO_NOT_TLS);
                assert_int_equal(inspect_prefixes((const uint8_t *)rows[i].data, rows[i].length, &h),
                                 CLIENT_HELLO_NOT_TLS);
        }
}

static void test_hello_in_ssl_2_format_is_refused(void **state)
{
        (void)state;
        static const struct {
                struct bytes bytes;
                enum client_hello_state state;
        } rows[] = {
                { BYTES("\x80\x2e\1\3\1\0\x15\0\0\0\x10"), CLIENT_HELLO_MALFORMED }, /* for TLS 1.0 */
                { BYTES("\x80\x2e\1\3\3\0\x15\0\0\0\x10"), CLIENT_HELLO_MALFORMED },
                { BYTES("\x80\x2e\1\0\2\0\x15\0\0\0\x10"), CLIENT_HELLO_MALFORMED },
                { BYTES("\xff\xff\1\3\1"), CLIENT_HELLO_MALFORMED },
                { BYTES("\x80\x2e\1\3"), CLIENT_HELLO_INCOMPLETE },
                { BYTES("\x80\x2e\1\0\3\0"), CLIENT_HELLO_NOT_TLS },
                { BYTES("\x80\x2e\1\4"), CLIENT_HELLO_NOT_TLS },
                { BYTES("\x80\x2e\2"), CLIENT_HELLO_NOT_TLS },
                { BYTES("\x80\x2e\0\3\1"), CLIENT_HELLO_NOT_TLS },
                { BYTES("\xc3\xa4\xc3\xb6"), CLIENT_HELLO_NOT_TLS },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct client_hello h;
                const uint8_t *bytes = (const uint8_t *)rows[i].bytes.data;
                assert_int_equal(inspect_prefixes(bytes, rows[i].bytes.length, &h), rows[i].state);
        }
}

/* Builds a message of `size` bytes, padded by one extension, in records of `record` bytes. */
static void build_large(struct built *b, size_t size, size_t record)
{
        struct built extension = { .length = 0 }, message;
        size_t filler = size - EXTENSIONS_AT - 2 - (sizeof NAME - 1) - 4;
        add(&extension, NAME, sizeof NAME - 1);
        add_u16(&extension, 0x15);
        add_u16(&extension, filler);
        memset(extension.bytes + extension.length, 0, filler);
        build_message(&message, extension.bytes, extension.length + filler);
        assert_int_equal(message.length, size);
        b->length = 0;
        add_records(b, message.bytes, size, record);
}

static void test_length_of_a_message_is_limited(void **state)
{
        (void)state;
        struct built b;
        struct client_hello h;
        build_large(&b, HELLO_MESSAGE_MAX, HELLO_MESSAGE_MAX / HELLO_RECORDS_MAX);
        assert_int_equal(b.length, HELLO_MAX); /* the buffer that a caller needs */
        assert_int_equal(inspect(b.bytes, b.length - 1, &h), CLIENT_HELLO_INCOMPLETE);
        assert_int_equal(inspect(b.bytes, b.length, &h), HELLO_COMPLETE);
        assert_string_equal(h.server_name, "a.b");
        assert_int_equal(h.length, HELLO_MAX);
        build_large(&b, HELLO_MESSAGE_MAX, 1 << 14);
        assert_int_equal(inspect(b.bytes, b.length, &h), HELLO_COMPLETE);
        build_large(&b, HELLO_RECORDS_MAX, 1);
        assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), HELLO_COMPLETE);
        build_large(&b, HELLO_RECORDS_MAX + 1, 1);
        assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), CLIENT_HELLO_MALFORMED);
        build_large(&b, HELLO_MESSAGE_MAX + 1, 1 << 14);
        assert_int_equal(inspect(b.bytes, RECORD_HEADER + 3, &h), CLIENT_HELLO_INCOMPLETE);
        assert_int_equal(inspect(b.bytes, RECORD_HEADER + 4, &h),
                         CLIENT_HELLO_MALFORMED); /* as soon as the length is known */
        assert_int_equal(inspect((const uint8_t *)"\x16\3\1\0\4\1\xff\xff\xff", 9, &h), CLIENT_HELLO_MALFORMED);
}

/* Made by hand from a captured message, with the extensions that browsers send. */
static void test_encrypted_client_hello_is_recognized(void **state)
{
        (void)state;
        static const char *const files[] = { "made-ech", "made-esni" };
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                struct built b;
                struct client_hello h;
                read_captured(files[i], &b);
                assert_int_equal(inspect_prefixes(b.bytes, b.length, &h), HELLO_COMPLETE);
                assert_string_equal(h.server_name, "www.example.com");
                assert_true(h.has_ech && h.offers_tls13);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hellos_of_real_clients_are_parsed),
                cmocka_unit_test(test_result_is_the_same_for_any_split_into_records),
                cmocka_unit_test(test_names_are_canonical_and_malformed_ones_are_refused),
                cmocka_unit_test(test_length_of_a_name_is_limited),
                cmocka_unit_test(test_extensions_are_parsed_and_malformed_ones_are_refused),
                cmocka_unit_test(test_malformed_server_name_extension_is_refused),
                cmocka_unit_test(test_number_of_extensions_is_limited),
                cmocka_unit_test(test_fields_before_the_extensions_are_checked),
                cmocka_unit_test(test_record_headers_are_checked),
                cmocka_unit_test(test_records_of_a_message_are_contiguous),
                cmocka_unit_test(test_other_protocols_are_recognized_by_the_first_byte),
                cmocka_unit_test(test_hello_in_ssl_2_format_is_refused),
                cmocka_unit_test(test_length_of_a_message_is_limited),
                cmocka_unit_test(test_encrypted_client_hello_is_recognized),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
