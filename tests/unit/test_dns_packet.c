/* DNS messages: which queries are accepted, how others are refused, and the bytes of the answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "egress/dns_packet.h"

/* Bytes that may contain NULs. */
struct bytes {
        const char *data;
        size_t length;
};
#define BYTES(literal) { (literal), sizeof(literal) - 1 }

#define WWW "\3www\7example\3com\0"
#define ASK_A WWW "\0\1\0\1"
/* Headers with recursion desired, one question, and zero, one or two records in the last section. */
#define PLAIN "\x12\x34\1\0\0\1\0\0\0\0\0\0"
#define WITH_ONE "\x12\x34\1\0\0\1\0\0\0\0\0\1"
#define WITH_TWO "\x12\x34\1\0\0\1\0\0\0\0\0\2"
#define LABEL_64 "0123456789012345678901234567890123456789012345678901234567890123"
#define OPT "\0\0\x29\x04\xd0\0\0\0\0\0\0" /* 1232 bytes, no options */
#define SOA "\0\0\6\0\1\0\0\0\1\0\x27\x08ringwall\7invalid\0\0\0\0\0\1\0\0\x0e\x10\0\0\2\x58\0\1\x51\x80\0\0\0\1"

static const struct dns_address addresses[] = {
        { .is_v6 = false, .bytes = { 198, 18, 0, 7 } },
        { .is_v6 = true, .bytes = { 0xfd, 0x72, 0x69, 0x6e, [15] = 7 } },
};

/* Parses a copy of exactly this size, so that a sanitizer finds reads beyond its end. */
static int parse(const void *packet, size_t length, struct dns_query *ret)
{
        CLEANUP_FREE uint8_t *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        if (length)
                memcpy(copy, packet, length);
        return dns_parse_query(copy, length, ret);
}

static struct dns_query parse_valid(const struct bytes *packet)
{
        struct dns_query q;
        assert_int_equal(parse(packet->data, packet->length, &q), 0);
        return q;
}

/* Writes an answer into a buffer of exactly `size` bytes, which the caller frees. */
static uint8_t *write_answer(const struct dns_query *q, enum dns_rcode rcode, size_t count, size_t size,
                             size_t *ret_length)
{
        uint8_t *bytes = malloc(size ? size : 1);
        assert_non_null(bytes);
        *ret_length = dns_write_answer(q, rcode, addresses, count, 60, bytes, size);
        assert_true(*ret_length <= size);
        return bytes;
}

static void check_answer(const struct dns_query *q, enum dns_rcode rcode, size_t count, const struct bytes *expected)
{
        size_t length;
        CLEANUP_FREE uint8_t *bytes = write_answer(q, rcode, count, DNS_UDP_MIN, &length);
        assert_int_equal(length, expected->length);
        assert_memory_equal(bytes, expected->data, length);
}

/* Recorded packets. */
static void test_queries_of_real_clients_are_parsed(void **state)
{
        (void)state;
        static const struct {
                struct bytes packet;
                const char *name;
                uint16_t id, type, udp_size; /* 0: no EDNS */
        } rows[] = {
                /* glibc, musl, Go, Node, dig */
                { BYTES("\x7c\xd2\1\0\0\1\0\0\0\0\0\0" ASK_A), "www.example.com", 0x7cd2, DNS_A, 0 },
                { BYTES("\x2e\x6d\1\0\0\1\0\0\0\0\0\0" WWW "\0\x1c\0\1"), "www.example.com", 0x2e6d, DNS_AAAA, 0 },
                { BYTES("\xca\x8d\1\0\0\1\0\0\0\0\0\1" WWW "\0\x1c\0\1\0\0\x29\x04\xd0\0\0\0\0\0\0"), "www.example.com",
                  0xca8d, DNS_AAAA, 1232 },
                { BYTES("\x0b\xd1\1\0\0\1\0\0\0\0\0\0" WWW "\0\x10\0\1"), "www.example.com", 0x0bd1, DNS_TXT, 0 },
                { BYTES("\x60\x95\1\x20\0\1\0\0\0\0\0\1" ASK_A "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
                        "\x15\x65\x97\x12\x72\x53\xf6\x6a"), "www.example.com", 0x6095, DNS_A, 1232 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct dns_query q = parse_valid(&rows[i].packet);
                assert_string_equal(q.name, rows[i].name);
                assert_false(q.not_host_name);
                assert_int_equal(q.id, rows[i].id);
                assert_int_equal(q.type, rows[i].type);
                assert_int_equal(q.class, DNS_CLASS_IN);
                assert_int_equal(q.opcode, 0);
                assert_true(q.recursion_desired);
                assert_false(q.checking_disabled);
                assert_int_equal(q.has_edns, rows[i].udp_size != 0);
                assert_int_equal(q.udp_size, rows[i].udp_size);
                assert_int_equal(q.edns_version, 0);
                assert_int_equal(q.question_length, strlen(rows[i].name) + 6);
                assert_memory_equal(q.question, rows[i].packet.data + DNS_HEADER_SIZE, q.question_length);
        }
}

static void test_name_is_in_lower_case_and_the_answer_repeats_the_case_of_the_query(void **state)
{
        (void)state;
        static const struct bytes packet = BYTES(PLAIN "\3wWw\7eXAMPLe\3CoM\0\0\1\0\1");
        static const struct bytes expected =
                BYTES("\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXAMPLe\3CoM\0\0\1\0\1"
                      "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\7");
        struct dns_query q = parse_valid(&packet);
        assert_string_equal(q.name, "www.example.com");
        check_answer(&q, DNS_NOERROR, 2, &expected);
}

static void test_answer_has_the_addresses_of_the_type_in_the_query(void **state)
{
        (void)state;
        static const struct {
                struct bytes packet, expected;
        } rows[] = {
                { BYTES(PLAIN ASK_A),
                  BYTES("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" ASK_A "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\7") },
                { BYTES(PLAIN WWW "\0\x1c\0\1"),
                  BYTES("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" WWW "\0\x1c\0\1"
                        "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\x72\x69\x6e\0\0\0\0\0\0\0\0\0\0\0\7") },
                { BYTES(PLAIN WWW "\0\xff\0\1"), /* ANY: both */
                  BYTES("\x12\x34\x81\x80\0\1\0\2\0\0\0\0" WWW "\0\xff\0\1"
                        "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\7"
                        "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\x72\x69\x6e\0\0\0\0\0\0\0\0\0\0\0\7") },
                { BYTES(PLAIN WWW "\0\x41\0\1"), /* HTTPS: no such record */
                  BYTES("\x12\x34\x81\x80\0\1\0\0\0\1\0\0" WWW "\0\x41\0\1" SOA) },
                { BYTES(PLAIN WWW "\0\x10\0\1"),
                  BYTES("\x12\x34\x81\x80\0\1\0\0\0\1\0\0" WWW "\0\x10\0\1" SOA) },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct dns_query q = parse_valid(&rows[i].packet);
                check_answer(&q, DNS_NOERROR, 2, &rows[i].expected);
        }
}

static void test_error_answer_has_no_addresses(void **state)
{
        (void)state;
        static const struct bytes packet = BYTES(PLAIN ASK_A);
        static const struct bytes nxdomain = BYTES("\x12\x34\x81\x83\0\1\0\0\0\1\0\0" ASK_A SOA);
        static const struct bytes refused = BYTES("\x12\x34\x81\x85\0\1\0\0\0\0\0\0" ASK_A);
        struct dns_query q = parse_valid(&packet);
        check_answer(&q, DNS_NXDOMAIN, 0, &nxdomain);
        check_answer(&q, DNS_NXDOMAIN, 2, &nxdomain); /* addresses are ignored */
        check_answer(&q, DNS_REFUSED, 2, &refused);
}

static void test_only_two_flags_of_the_query_are_repeated(void **state)
{
        (void)state;
        static const struct bytes none = BYTES("\x12\x34\0\0\0\1\0\0\0\0\0\0" ASK_A);
        static const struct bytes none_answer = BYTES("\x12\x34\x80\x85\0\1\0\0\0\0\0\0" ASK_A);
        /* All bits except the opcode; two of them are repeated in the answer. */
        static const struct bytes all = BYTES("\x12\x34\x07\x7f\0\1\0\0\0\0\0\0" ASK_A);
        static const struct bytes all_answer = BYTES("\x12\x34\x81\x95\0\1\0\0\0\0\0\0" ASK_A);
        struct dns_query q = parse_valid(&none);
        check_answer(&q, DNS_REFUSED, 0, &none_answer);
        q = parse_valid(&all);
        check_answer(&q, DNS_REFUSED, 0, &all_answer);
}

static void test_edns_is_answered_with_edns(void **state)
{
        (void)state;
        /* With an option, and the DNSSEC OK bit. */
        static const struct bytes packet = BYTES(WITH_ONE ASK_A "\0\0\x29\x02\0\0\0\x80\0\0\4\xfd\xe9\0\0");
        static const struct bytes expected =
                BYTES("\x12\x34\x81\x80\0\1\0\1\0\0\0\1" ASK_A "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\7"
                      "\0\0\x29\x10\0\0\0\x80\0\0\0");
        static const struct bytes nxdomain =
                BYTES("\x12\x34\x81\x83\0\1\0\0\0\1\0\1" ASK_A SOA "\0\0\x29\x10\0\0\0\x80\0\0\0");
        static const struct bytes next_version = BYTES(WITH_ONE ASK_A "\0\0\x29\x02\0\0\1\0\0\0\0");
        static const struct bytes badvers =
                BYTES("\x12\x34\x81\x80\0\1\0\0\0\0\0\1" ASK_A "\0\0\x29\x10\0\1\0\0\0\0\0");
        struct dns_query q = parse_valid(&packet);
        assert_true(q.has_edns && q.dnssec_ok);
        assert_int_equal(q.udp_size, 512);
        check_answer(&q, DNS_NOERROR, 2, &expected);
        check_answer(&q, DNS_NXDOMAIN, 0, &nxdomain);
        assert_int_equal(parse(next_version.data, next_version.length, &q), DNS_BADVERS);
        assert_int_equal(q.edns_version, 1);
        check_answer(&q, DNS_BADVERS, 2, &badvers);
}

static void test_udp_limit_follows_edns_within_bounds(void **state)
{
        (void)state;
        static const struct {
                struct dns_query q;
                size_t limit;
        } rows[] = {
                { { .has_edns = false, .udp_size = 4000 }, 512 }, { { .has_edns = true, .udp_size = 0 }, 512 },
                { { .has_edns = true, .udp_size = 512 }, 512 },   { { .has_edns = true, .udp_size = 1232 }, 1232 },
                { { .has_edns = true, .udp_size = 4096 }, 4096 }, { { .has_edns = true, .udp_size = 65535 }, 4096 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_int_equal(dns_udp_limit(&rows[i].q), rows[i].limit);
}

static void test_packets_that_are_not_queries_get_no_answer(void **state)
{
        (void)state;
        static const struct bytes rows[] = {
                BYTES(""), BYTES("\x12"), BYTES("\x12\x34\1\0\0\1\0\0\0\0\0"),
                BYTES("\x12\x34\x81\x80\0\1\0\0\0\0\0\0" ASK_A), /* an answer */
                BYTES("\x12\x34\x80\0\0\0\0\0\0\0\0\0"),
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct dns_query q = { .id = 7 };
                assert_int_equal(parse(rows[i].data, rows[i].length, &q), -EBADMSG);
                assert_int_equal(q.id, 7);
        }
        struct dns_query q = { .id = 7 };
        assert_int_equal(dns_parse_query(NULL, 0, &q), -EBADMSG);
}

static void test_malformed_packets_get_formerr(void **state)
{
        (void)state;
        static const struct bytes rows[] = {
                BYTES("\x12\x34\1\0\0\0\0\0\0\0\0\0"),                     /* no question */
                BYTES("\x12\x34\1\0\0\0\0\0\0\0\0\0" ASK_A),
                BYTES("\x12\x34\1\0\0\2\0\0\0\0\0\0" ASK_A ASK_A),         /* two questions */
                BYTES("\x12\x34\1\0\xff\xff\0\0\0\0\0\0" ASK_A),
                BYTES(PLAIN "\xc0\x0c\0\1\0\1"),                           /* a name that points to itself */
                BYTES(PLAIN "\3www\xc0\x0c\0\1\0\1"),
                BYTES(PLAIN "\3www\xc0\x20\0\1\0\1\7example\0"),
                BYTES(PLAIN "\x41" "a\0\0\1\0\1"),                         /* reserved kinds of labels */
                BYTES(PLAIN "\x80" "a\0\0\1\0\1"),
                BYTES(PLAIN "\x40" LABEL_64 "\0\0\1\0\1"),
                BYTES(PLAIN ASK_A "\0"),                                   /* trailing bytes */
                BYTES(PLAIN ASK_A OPT),                                    /* more records than counted */
                BYTES(WITH_ONE ASK_A),                                     /* fewer records than counted */
                BYTES("\x12\x34\1\0\0\1\xff\xff\xff\xff\xff\xff" ASK_A OPT),
                BYTES(WITH_ONE ASK_A OPT "\0"),
                BYTES(WITH_TWO ASK_A OPT OPT),                             /* two OPT records */
                BYTES(WITH_ONE ASK_A "\1a\0\0\x29\x04\xd0\0\0\0\0\0\0"),   /* an OPT record with a name */
                BYTES(WITH_ONE ASK_A "\xc0\x0c\0\x29\x04\xd0\0\0\0\0\0\0"),
                BYTES("\x12\x34\1\0\0\1\0\1\0\0\0\0" ASK_A OPT),           /* OPT among answers or authorities */
                BYTES("\x12\x34\1\0\0\1\0\0\0\1\0\0" ASK_A OPT),
                BYTES(WITH_ONE ASK_A "\0\0\x29\x04\xd0\0\0\0\0\0\3\0\1\0"), /* options with a wrong length */
                BYTES(WITH_ONE ASK_A "\0\0\x29\x04\xd0\0\0\0\0\0\5\0\1\0\2x"),
                BYTES(WITH_ONE ASK_A "\0\0\x29\x04\xd0\0\0\0\0\0\4\0\1\0\0\0"),
                BYTES(WITH_ONE ASK_A "\0\0\x01\0\1\0\0\0\0\0\4abc"),       /* truncated or malformed other records */
                BYTES(WITH_ONE ASK_A "\x40" "\x0c\0\1\0\1\0\0\0\0\0\0"),
                BYTES(WITH_ONE ASK_A "\x40" LABEL_64 "\0\0\1\0\1\0\0\0\0\0\0"),
                BYTES(WITH_ONE ASK_A "\1"),
                BYTES(WITH_ONE ASK_A "\xc0"),
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct dns_query q;
                int r = parse(rows[i].data, rows[i].length, &q);
                if (r != DNS_FORMERR)
                        fail_msg("row %zu: %d", i, r);
                assert_int_equal(q.id, 0x1234);
        }
}

static void test_malformed_question_is_not_repeated(void **state)
{
        (void)state;
        static const struct bytes packet = BYTES(PLAIN "\3www\xc0\x0c\0\1\0\1");
        static const struct bytes expected = BYTES("\x12\x34\x81\x81\0\0\0\0\0\0\0\0");
        struct dns_query q;
        assert_int_equal(parse(packet.data, packet.length, &q), DNS_FORMERR);
        check_answer(&q, DNS_FORMERR, 0, &expected);
        check_answer(&q, DNS_NXDOMAIN, 0, &(const struct bytes)BYTES("\x12\x34\x81\x83\0\0\0\0\0\0\0\0"));
}

static void test_other_classes_and_opcodes_get_notimp(void **state)
{
        (void)state;
        static const struct {
                struct bytes packet, expected;
        } rows[] = {
                { BYTES(PLAIN "\7version\4bind\0\0\x10\0\3"), /* CHAOS */
                  BYTES("\x12\x34\x81\x84\0\1\0\0\0\0\0\0\7version\4bind\0\0\x10\0\3") },
                { BYTES(PLAIN WWW "\0\1\0\xff"), BYTES("\x12\x34\x81\x84\0\1\0\0\0\0\0\0" WWW "\0\1\0\xff") },
                /* IQUERY, UPDATE, and an unassigned opcode */
                { BYTES("\x12\x34\x09\0\0\1\0\0\0\0\0\0" ASK_A), BYTES("\x12\x34\x89\x84\0\0\0\0\0\0\0\0") },
                { BYTES("\x12\x34\x28\0\0\1\0\0\0\0\0\0" ASK_A), BYTES("\x12\x34\xa8\x84\0\0\0\0\0\0\0\0") },
                { BYTES("\x12\x34\x78\0\0\0\0\0\0\0\0\0"), BYTES("\x12\x34\xf8\x84\0\0\0\0\0\0\0\0") },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct dns_query q;
                assert_int_equal(parse(rows[i].packet.data, rows[i].packet.length, &q), DNS_NOTIMP);
                check_answer(&q, DNS_NOTIMP, 2, &rows[i].expected);
        }
}

/* The OPT record is found among other records. */
static void test_other_records_are_skipped(void **state)
{
        (void)state;
        static const struct bytes packet =
                BYTES("\x12\x34\1\0\0\1\0\1\0\1\0\3" ASK_A "\xc0\x0c\0\1\0\1\0\0\0\5\0\4abcd"
                      WWW "\0\2\0\1\0\0\0\5\0\2\xff\xff" "\1a\xff\xff\0\5\0\1\0\0\0\0\0\0" OPT
                      "\0\0\xfa\0\xff\0\0\0\0\0\1x");
        struct dns_query q = parse_valid(&packet);
        assert_string_equal(q.name, "www.example.com");
        assert_true(q.has_edns);
        assert_int_equal(q.udp_size, 1232);
}

/* Such queries are accepted, and answered, but `name` stays empty, so that nothing takes it for a host. */
static void test_names_that_are_not_host_names_are_marked(void **state)
{
        (void)state;
        static const struct bytes rows[] = {
                BYTES("\0"),                      /* the root */
                BYTES("\7www.exa\4mple\3com\0"),  /* a dot within a label */
                BYTES("\1.\0"),
                BYTES("\4www\0\7example\3com\0"), /* a NUL */
                BYTES("\3a b\3com\0"),
                BYTES("\4a\\.b\3com\0"),
                BYTES("\4\x77\x77\x77\xa0\3com\0"),
                BYTES("\4\xe4\xb8\xad" "a\3com\0"),
                BYTES("\3a\nb\3com\0"),
                BYTES("\1*\7example\3com\0"),
                BYTES("\3a@b\3com\0"),
                BYTES("\3a[b\3com\0"),
                BYTES("\3a`b\3com\0"),
                BYTES("\3a{b\3com\0"),
                BYTES("\3a:b\3com\0"),
                BYTES("\3a/b\3com\0"),
                BYTES("\3\x77\x77\xd7\3com\0"),   /* 'W' with the eighth bit set */
                BYTES("\2-a\3com\0"),
                BYTES("\3" "127\1\x30\1\x30\1\x31\0"), /* an IPv4 address */
                BYTES("\4\x30x7f\0"),
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t packet[64] = PLAIN;
                size_t length = DNS_HEADER_SIZE + rows[i].length;
                struct dns_query q;
                memcpy(packet + DNS_HEADER_SIZE, rows[i].data, rows[i].length);
                memcpy(packet + length, "\0\1\0\1", 4);
                if (parse(packet, length + 4, &q) != 0 || !q.not_host_name || *q.name)
                        fail_msg("row %zu: '%s'", i, q.name);
                assert_int_equal(q.question_length, rows[i].length + 4);
        }
}

/* Makes a query for a name of `full` labels of maximal length and one of `last` bytes. Returns the packet's length. */
static size_t long_name(uint8_t packet[400], unsigned full, unsigned last)
{
        size_t length = DNS_HEADER_SIZE;
        memcpy(packet, PLAIN, DNS_HEADER_SIZE);
        for (unsigned i = 0; i <= full; i++) {
                uint8_t n = (uint8_t)(i < full ? DOMAIN_LABEL_MAX : last);
                packet[length++] = n;
                memset(packet + length, 'a', n);
                length += n;
        }
        memcpy(packet + length, "\0\0\1\0\1", 5);
        return length + 5;
}

static void test_length_of_a_name_is_limited(void **state)
{
        (void)state;
        uint8_t packet[400];
        struct dns_query q;
        size_t length = long_name(packet, 3, 61);
        assert_int_equal(parse(packet, length, &q), 0);
        assert_int_equal(q.question_length, DNS_QUESTION_MAX);
        assert_int_equal(strlen(q.name), DOMAIN_MAX);
        size_t written;
        CLEANUP_FREE uint8_t *bytes = write_answer(&q, DNS_NOERROR, 2, DNS_UDP_MIN, &written);
        assert_int_equal(written, DNS_HEADER_SIZE + DNS_QUESTION_MAX + 16);
        for (unsigned last = 62; last <= 63; last++) {
                length = long_name(packet, 3, last);
                assert_int_equal(parse(packet, length, &q), DNS_FORMERR);
        }
        length = long_name(packet, 4, 1);
        assert_int_equal(parse(packet, length, &q), DNS_FORMERR);
}

static void test_every_truncated_packet_is_malformed(void **state)
{
        (void)state;
        static const struct bytes packet = BYTES(WITH_ONE ASK_A "\0\0\x29\x04\xd0\0\0\0\0\0\6\0\1\0\2ab");
        struct dns_query q;
        for (size_t length = 0; length < packet.length; length++)
                assert_int_equal(parse(packet.data, length, &q), length < DNS_HEADER_SIZE ? -EBADMSG : DNS_FORMERR);
        assert_int_equal(parse(packet.data, packet.length, &q), 0);
}

static void test_answer_that_does_not_fit_is_truncated_and_says_so(void **state)
{
        (void)state;
        /* The parts of an answer, and its length; if the buffer is smaller, the row before applies. */
        static const struct {
                size_t length;
                uint8_t flags, questions, answers, additional;
        } rows[] = {
                { 12, 0x83, 0, 0, 0 },                     /* a header alone */
                { 12 + 11, 0x83, 0, 0, 1 },                /* with OPT */
                { 12 + 21, 0x83, 1, 0, 0 },                /* with the question */
                { 12 + 21 + 11, 0x83, 1, 0, 1 },           /* with both */
                { 12 + 21 + 11 + 16 + 28, 0x81, 1, 2, 1 }, /* with the answers too */
        };
        static const struct bytes packet = BYTES(WITH_ONE WWW "\0\xff\0\1" OPT);
        struct dns_query q = parse_valid(&packet);
        for (size_t size = 0, row = 0; size < 100; size++) {
                size_t length;
                CLEANUP_FREE uint8_t *bytes = write_answer(&q, DNS_NOERROR, 2, size, &length);
                row += row + 1 < ARRAY_SIZE(rows) && size == rows[row + 1].length;
                assert_int_equal(length, size < rows[0].length ? 0 : rows[row].length);
                if (!length)
                        continue;
                const uint8_t counts[] = { 0, rows[row].questions, 0, rows[row].answers,
                                           0, 0,                   0, rows[row].additional };
                assert_int_equal(bytes[2], rows[row].flags);
                assert_memory_equal(bytes + 4, counts, sizeof counts);
        }
}

/* Some clients would use a partial list of addresses, or one without its question. */
static void test_truncated_answer_has_no_addresses(void **state)
{
        (void)state;
        enum { MANY = 40 };
        static const struct bytes packet = BYTES(PLAIN ASK_A);
        static const struct bytes expected = BYTES("\x12\x34\x83\x80\0\1\0\0\0\0\0\0" ASK_A);
        struct dns_query q = parse_valid(&packet);
        struct dns_address many[MANY];
        uint8_t bytes[1024];
        for (size_t i = 0; i < MANY; i++)
                many[i] = addresses[0];
        assert_int_equal(dns_write_answer(&q, DNS_NOERROR, many, MANY, 60, bytes, 512), expected.length);
        assert_memory_equal(bytes, expected.data, expected.length);
        assert_int_equal(dns_write_answer(&q, DNS_NOERROR, many, MANY, 60, bytes, 1024), 12 + 21 + MANY * 16);
        assert_int_equal(bytes[7], MANY);
        for (size_t size = 12; size < 12 + 21; size++) /* room for an address, but not for the question */
                assert_int_equal(dns_write_answer(&q, DNS_NOERROR, many, 1, 60, bytes, size), 12);
}

/* If only the SOA does not fit, the answer is not marked as truncated: the client would retry over TCP. */
static void test_negative_answer_without_room_for_the_soa_is_not_truncated(void **state)
{
        (void)state;
        enum { WITHOUT = 12 + 21, WITH = WITHOUT + sizeof SOA - 1 };
        static const struct bytes packet = BYTES(PLAIN ASK_A);
        struct dns_query q = parse_valid(&packet);
        for (size_t size = WITHOUT; size <= WITH; size++) {
                size_t length;
                CLEANUP_FREE uint8_t *bytes = write_answer(&q, DNS_NXDOMAIN, 0, size, &length);
                assert_int_equal(length, size < WITH ? WITHOUT : WITH);
                assert_int_equal(bytes[2], 0x81);
                assert_int_equal(bytes[3], 0x83);
                assert_int_equal(bytes[9], size == WITH);
        }
}

/* The upper bits of BADVERS are in the OPT record; without one the lower bits would mean success. */
static void test_badvers_without_edns_becomes_formerr(void **state)
{
        (void)state;
        static const struct bytes packet = BYTES(PLAIN ASK_A);
        struct dns_query q = parse_valid(&packet);
        check_answer(&q, DNS_BADVERS, 0, &(const struct bytes)BYTES("\x12\x34\x81\x81\0\1\0\0\0\0\0\0" ASK_A));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_queries_of_real_clients_are_parsed),
                cmocka_unit_test(test_name_is_in_lower_case_and_the_answer_repeats_the_case_of_the_query),
                cmocka_unit_test(test_answer_has_the_addresses_of_the_type_in_the_query),
                cmocka_unit_test(test_error_answer_has_no_addresses),
                cmocka_unit_test(test_only_two_flags_of_the_query_are_repeated),
                cmocka_unit_test(test_edns_is_answered_with_edns),
                cmocka_unit_test(test_udp_limit_follows_edns_within_bounds),
                cmocka_unit_test(test_packets_that_are_not_queries_get_no_answer),
                cmocka_unit_test(test_malformed_packets_get_formerr),
                cmocka_unit_test(test_malformed_question_is_not_repeated),
                cmocka_unit_test(test_other_classes_and_opcodes_get_notimp),
                cmocka_unit_test(test_other_records_are_skipped),
                cmocka_unit_test(test_names_that_are_not_host_names_are_marked),
                cmocka_unit_test(test_length_of_a_name_is_limited),
                cmocka_unit_test(test_every_truncated_packet_is_malformed),
                cmocka_unit_test(test_answer_that_does_not_fit_is_truncated_and_says_so),
                cmocka_unit_test(test_truncated_answer_has_no_addresses),
                cmocka_unit_test(test_negative_answer_without_room_for_the_soa_is_not_truncated),
                cmocka_unit_test(test_badvers_without_edns_becomes_formerr),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
