/*
 * DNS messages: the questions that a box's programs ask, and the answers that egress makes up. Makes no system call.
 * Theory of operation: dns_packet.c.
 *
 * The packet is the same over UDP and TCP; the two bytes of length that TCP has in front are the caller's.
 */
#ifndef RINGWALL_EGRESS_DNS_PACKET_H
#define RINGWALL_EGRESS_DNS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/caps.h"

/* Those that are spoken of somewhere; a question may have any other. */
enum dns_type {
        DNS_A = 1,
        DNS_NS = 2,
        DNS_CNAME = 5,
        DNS_SOA = 6,
        DNS_PTR = 12,
        DNS_MX = 15,
        DNS_TXT = 16,
        DNS_AAAA = 28,
        DNS_SRV = 33,
        DNS_OPT = 41,
        DNS_SVCB = 64,
        DNS_HTTPS = 65,
        DNS_ANY = 255,
};

enum { DNS_CLASS_IN = 1 };

/* What an answer says of its question. */
enum dns_rcode {
        DNS_NOERROR = 0,
        DNS_FORMERR = 1,  /* it is malformed */
        DNS_SERVFAIL = 2,
        DNS_NXDOMAIN = 3, /* there is no such name */
        DNS_NOTIMP = 4,   /* it asks for something other than a record of the internet */
        DNS_REFUSED = 5,
        DNS_BADVERS = 16, /* its EDNS is of a version to come */
};

enum {
        DNS_HEADER_SIZE = 12,
        DNS_NAME_MOST = 255,                    /* a name as it is sent, with the length of each label */
        DNS_QUESTION_MOST = DNS_NAME_MOST + 4,  /* and its type and class */
        DNS_UDP_LEAST = 512,                    /* what every client takes by UDP */
        DNS_UDP_MOST = 4096,                    /* what none is sent more of, whatever it says that it takes */
        DNS_NEGATIVE_TTL = 1,                   /* seconds that "there is none" may be remembered */
};

struct dns_query {
        uint16_t id;
        uint8_t opcode;
        bool recursion_desired, checking_disabled;

        uint8_t question[DNS_QUESTION_MOST]; /* as it was sent: an answer repeats it, letter case included */
        size_t question_length;              /* 0: it could not be read */
        char name[CAP_DOMAIN + 1];           /* in its canonical spelling (domain.h); empty when it has none */
        bool odd;                            /* no host has that name: other bytes in it, an address, the root */
        uint16_t type, class;

        bool has_edns, dnssec_ok;
        uint16_t udp_size; /* that the client takes, by its EDNS */
        uint8_t edns_version;
};

/* One of the addresses of a name, in network byte order. */
struct dns_address {
        bool is_v6;
        uint8_t bytes[16]; /* the first four of them for IPv4 */
};

/*
 * Reads a packet. Returns 0; the dns_rcode to answer with, when it cannot be answered otherwise; or -EBADMSG when
 * nobody waits for an answer: too short for a header, or an answer itself. *ret is written but for -EBADMSG; with a
 * code there is in it what dns_write_answer() needs.
 */
int dns_parse_query(const uint8_t *packet, size_t length, struct dns_query *ret);

/*
 * Writes the answer to ret, which has `size` bytes, and returns its length. Of the addresses those are in it that the
 * question's type asks for: a caller gives all that the name has, and a question for something else is told that
 * there is none of it. What does not fit is left out, and the answer says that it was cut; a client then asks again
 * by TCP. Returns 0 when not even a header fits.
 */
size_t dns_write_answer(const struct dns_query *q, enum dns_rcode rcode, const struct dns_address *addresses,
                        size_t count, uint32_t ttl, uint8_t *ret, size_t size);

/* Bytes that an answer to it by UDP may have: from DNS_UDP_LEAST to DNS_UDP_MOST. */
size_t dns_udp_limit(const struct dns_query *q);

#endif
