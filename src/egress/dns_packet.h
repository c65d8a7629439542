/*
 * DNS messages: parses the queries of a box's programs and writes egress's answers. Makes no system call. Theory of
 * operation: dns_packet.c.
 *
 * A packet is the same over UDP and TCP; the caller handles the two bytes of length that precede it over TCP.
 */
#ifndef RINGWALL_EGRESS_DNS_PACKET_H
#define RINGWALL_EGRESS_DNS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/input_limits.h"

/* The types that the code or its tests use; a question may have any other. */
enum dns_type {
        DNS_A = 1,
        DNS_SOA = 6,
        DNS_TXT = 16,
        DNS_AAAA = 28,
        DNS_OPT = 41,
        DNS_ANY = 255,
};

enum { DNS_CLASS_IN = 1 };

/* The result code of an answer. */
enum dns_rcode {
        DNS_NOERROR = 0,
        DNS_FORMERR = 1,  /* the query is malformed */
        DNS_SERVFAIL = 2,
        DNS_NXDOMAIN = 3, /* the name does not exist */
        DNS_NOTIMP = 4,   /* not a standard query of class IN */
        DNS_REFUSED = 5,
        DNS_BADVERS = 16, /* the query has an unknown EDNS version */
};

enum {
        DNS_HEADER_SIZE = 12,
        DNS_NAME_MAX = 255,                  /* a name in wire format, with the length of each label */
        DNS_QUESTION_MAX = DNS_NAME_MAX + 4, /* with type and class */
        DNS_UDP_MIN = 512,                   /* bytes of an answer that every client accepts over UDP */
        DNS_UDP_MAX = 4096,                  /* bytes of an answer over UDP, even if the client accepts more */
        DNS_NEGATIVE_TTL = 1,                /* seconds that a negative answer may be cached */
};

struct dns_query {
        uint16_t id;
        uint8_t opcode;
        bool recursion_desired, checking_disabled;

        uint8_t question[DNS_QUESTION_MAX]; /* as sent: the answer repeats it, including the letter case */
        size_t question_length;             /* 0: it could not be parsed */
        char name[DOMAIN_MAX + 1];          /* in canonical spelling (host_pattern.h); empty if not_host_name */
        bool not_host_name;                 /* other characters, an address, or the root */
        uint16_t type, class;

        bool has_edns, dnssec_ok;
        uint16_t udp_size; /* that the client accepts, from its OPT record */
        uint8_t edns_version;
};

/* An address of a name, in network byte order. */
struct dns_address {
        bool is_v6;
        uint8_t bytes[16]; /* the first four of them for IPv4 */
};

/*
 * Parses a packet. Returns 0; the dns_rcode of the error to answer with; or -EBADMSG when no answer is to be sent,
 * because the packet is shorter than a header or is an answer itself. Unless it is -EBADMSG, *ret has what
 * dns_write_answer() needs.
 */
int dns_parse_query(const uint8_t *packet, size_t length, struct dns_query *ret);

/*
 * Writes the answer to `ret`, which has `size` bytes, and returns its length, or 0 when not even a header fits. The
 * caller passes all addresses of the name; the answer has those of the question's type, perhaps none. If they do not
 * fit, the answer has none and is marked as truncated, so that the client asks again over TCP.
 */
size_t dns_write_answer(const struct dns_query *q, enum dns_rcode rcode, const struct dns_address *addresses,
                        size_t count, uint32_t ttl, uint8_t *ret, size_t size);

/* The maximal size of an answer over UDP: from DNS_UDP_MIN to DNS_UDP_MAX. */
size_t dns_udp_limit(const struct dns_query *q);

#endif
