/*
 * DNS queries and the answers to them. A query that is parsed has a canonical name, or none, and its question is a part
 * of the packet. The answers are parsed by the code below, independently of dns_packet.c: they fit into any buffer,
 * repeat the question, have as many records as their header says, and have the TC flag if they were truncated. An
 * answer is not accepted as a query.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "egress/dns_packet.h"
#include "fuzz.h"
#include "policy/host_pattern.h"

static const struct dns_address addresses[] = {
        { .bytes = { 198, 18, 0, 1 } },
        { .is_v6 = true, .bytes = { 0xfd, 0x72, [15] = 1 } },
        { .bytes = { 198, 18, 0, 2 } },
};

static unsigned u16(const uint8_t *p)
{
        return (unsigned)p[0] << 8 | p[1];
}

/* ---- the query ---- */

static void check_query(const struct dns_query *q, int r, const uint8_t *packet, size_t length)
{
        char reparsed[DOMAIN_MAX + 1];
        PROMISE(r == 0 || r == DNS_FORMERR || r == DNS_NOTIMP || r == DNS_BADVERS);
        PROMISE(q->id == u16(packet) && q->opcode == (packet[2] >> 3 & 0xf));
        PROMISE(q->question_length <= DNS_QUESTION_MAX && q->question_length <= length - DNS_HEADER_SIZE);
        PROMISE(memcmp(q->question, packet + DNS_HEADER_SIZE, q->question_length) == 0);
        PROMISE(r != DNS_BADVERS || (q->has_edns && q->edns_version));
        PROMISE(dns_udp_limit(q) >= DNS_UDP_MIN && dns_udp_limit(q) <= DNS_UDP_MAX);
        if (r != 0)
                return;
        PROMISE(q->question_length >= 5 && q->class == DNS_CLASS_IN && q->opcode == 0);
        PROMISE(q->not_host_name == !*q->name);
        if (q->not_host_name)
                return;
        PROMISE(!host_name_canonicalize(q->name, NULL, reparsed) && strcmp(q->name, reparsed) == 0);
        PROMISE(strlen(q->name) + 2 + 4 == q->question_length);
        /* Each dot of the name is the length byte of a label, each letter is the same letter in either case. */
        for (size_t i = 0; q->name[i]; i++) {
                int byte = q->question[i + 1];
                PROMISE(q->name[i] == '.' ? byte >= 1 && byte <= DOMAIN_LABEL_MAX : q->name[i] == tolower(byte));
        }
}

/* ---- the answer ---- */

/* Checks the record at `at` and returns its end. */
static size_t check_record(const uint8_t *a, size_t length, size_t at, unsigned *ret_type)
{
        PROMISE(at < length && (a[at] == 0 || a[at] == 0xc0)); /* the root, or a pointer to the question */
        PROMISE(a[at] == 0 || a[at + 1] == DNS_HEADER_SIZE);
        at += a[at] == 0 ? 1 : 2;
        PROMISE(at + 10 <= length);
        *ret_type = u16(a + at);
        size_t end = at + 10 + u16(a + at + 8);
        PROMISE(end <= length);
        if (*ret_type == DNS_A || *ret_type == DNS_AAAA)
                PROMISE(u16(a + at + 8) == (*ret_type == DNS_A ? 4 : 16) && u16(a + at + 6) == 60);
        return end;
}

static void check_answer(const struct dns_query *q, enum dns_rcode rcode, const uint8_t *a, size_t length)
{
        const unsigned flags = u16(a + 2), questions = u16(a + 4), answers = u16(a + 6), authorities = u16(a + 8);
        const unsigned additional = u16(a + 10), truncated = flags & 0x0200;
        size_t at = DNS_HEADER_SIZE;
        unsigned type = 0;
        struct dns_query reparsed;
        PROMISE(dns_parse_query(a, length, &reparsed) == -EBADMSG);
        PROMISE(u16(a) == q->id && (flags & 0x8080) == 0x8080 /* QR, RA */ && (flags >> 11 & 0xf) == q->opcode);
        PROMISE(!(flags & 0x100) == !q->recursion_desired && !(flags & 0x10) == !q->checking_disabled);
        PROMISE((flags & 0x0460) == 0); /* AA, Z and AD are clear */
        PROMISE(questions == (q->question_length && !(truncated && at + q->question_length > length)));
        if (questions) {
                PROMISE(at + q->question_length <= length && memcmp(a + at, q->question, q->question_length) == 0);
                at += q->question_length;
        }
        for (unsigned i = 0; i < answers; i++) {
                at = check_record(a, length, at, &type);
                PROMISE(type == q->type || (q->type == DNS_ANY && (type == DNS_A || type == DNS_AAAA)));
        }
        for (unsigned i = 0; i < authorities; i++) {
                at = check_record(a, length, at, &type);
                PROMISE(type == DNS_SOA);
        }
        for (unsigned i = 0; i < additional; i++) {
                at = check_record(a, length, at, &type);
                PROMISE(type == DNS_OPT && q->has_edns);
        }
        PROMISE(at == length && authorities <= 1 && additional <= 1 &&
                !(answers && (authorities || truncated || rcode)));
        if (truncated || rcode || !questions)
                return;
        PROMISE(answers == (q->type == DNS_ANY ? 3U : q->type == DNS_A ? 2U : q->type == DNS_AAAA));
}

static void write_answer(const struct dns_query *q, enum dns_rcode rcode, size_t size)
{
        CLEANUP_FREE uint8_t *answer = malloc(size ? size : 1); /* so that a sanitizer finds writes beyond it */
        PROMISE(answer);
        size_t length = dns_write_answer(q, rcode, addresses, ARRAY_SIZE(addresses), 60, answer, size);
        PROMISE(length <= size && (length != 0) == (size >= DNS_HEADER_SIZE));
        if (!length)
                return;
        check_answer(q, rcode, answer, length);
        if (size >= DNS_UDP_MIN)
                PROMISE(!(answer[2] & 2) && u16(answer + 10) == q->has_edns);
        if (size >= DNS_UDP_MIN && rcode < 16)
                PROMISE((answer[3] & 0xf) == (uint8_t)rcode);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct dns_query q;
        CLEANUP_FREE uint8_t *packet = malloc(size ? size : 1);
        PROMISE(packet);
        if (size)
                memcpy(packet, data, size);
        int r = dns_parse_query(packet, size, &q);
        if (r < 0) {
                PROMISE(r == -EBADMSG && (size < DNS_HEADER_SIZE || packet[2] & 0x80));
                return 0;
        }
        check_query(&q, r, packet, size);
        /* A size that depends on the input, and the sizes that occur. */
        const size_t sizes[] = { q.id % (DNS_UDP_MIN + 64), DNS_UDP_MIN, dns_udp_limit(&q) };
        const enum dns_rcode codes[] = { (enum dns_rcode)r, DNS_NXDOMAIN, DNS_SERVFAIL, DNS_REFUSED };
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
                for (size_t k = 0; k < ARRAY_SIZE(codes); k++)
                        write_answer(&q, codes[k], sizes[i]);
        return 0;
}
