/*
 * What the front, the keeper and egress say to each other, and the addresses that they share.
 *
 * The keeper makes the entrances inside the box's network namespace and hands them to egress, which serves them from outside;
 * egress tells the front what it let through and what it refused. A box without such a namespace has proxies on the host's own
 * loopback: the front makes them, and hands them over the same way.
 */
#ifndef RINGWALL_LINUX_EGRESS_WIRE_H
#define RINGWALL_LINUX_EGRESS_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "policy/caps.h"

/*
 * The program's descriptors. Its standard input is an order: the plan as JSON, and behind it what HTTPS_PROXY and NO_PROXY of the
 * person's environment say, each with a NUL before it. They may have a password in them, so nobody makes a copy in memory that
 * is a box's later.
 */
enum { EGRESS_TO_FRONT = 3, EGRESS_TO_KEEPER = 4, EGRESS_FDS };

/* --- the keeper's part --- */

enum egress_entrance {
        EGRESS_TRANSPARENT, /* every TCP connection to somewhere else ends here */
        EGRESS_DNS_PACKETS,
        EGRESS_DNS_STREAM,
        EGRESS_HTTP_PROXY,
        EGRESS_SOCKS_PROXY,
        EGRESS_LOCAL_PORT,  /* one of the host's loopback */
        EGRESS_COMPLETE,    /* no entrance: all are there, and a byte is awaited in return */
        EGRESS_PUBLISHED,   /* no entrance of the box's, but of the host's into it; egress makes it */
        EGRESS_WAYS
};

enum { EGRESS_TOKEN_SIZE = 32 + 1 };

/* From the keeper, with a descriptor. Afterwards, for each byte from egress: a new TCP socket of the box's, with one byte. */
struct egress_listener {
        enum egress_entrance entrance;
        uint16_t port;
        bool v6;
        char token[EGRESS_TOKEN_SIZE]; /* that a proxy wants as a password; empty: it is the box's alone, and wants none */
};

/* Of a box that shares the host's loopback with everybody. */
struct egress_proxies {
        uint16_t http, socks;
        char token[EGRESS_TOKEN_SIZE];
};

/*
 * The box's own address, and behind it one for each name that it asked for. 198.18.0.0/15 is for benchmarks (RFC 2544), so
 * nobody's network has it; the other is a unique local prefix (RFC 4193) of "ringwal" in letters.
 */
enum { EGRESS_V4_FIRST = 0xc6120001, EGRESS_V4_COUNT = 1 << 17 };
#define EGRESS_V6_PREFIX { 0xfd, 0x72, 0x69, 0x6e, 0x67, 0x77, 0x61, 0x6c }

/* --- to the front --- */

enum egress_kind {
        EGRESS_FAILED,  /* egress cannot serve; `other` says why */
        EGRESS_PASSED,  /* a connection that was let through has ended */
        EGRESS_REFUSED, /* a name, or a connection */
        EGRESS_CHANGED, /* the hosts are those of this generation, and `count` connections were closed */
};

enum egress_reason {
        REASON_NONE,
        REASON_NAME,        /* no rule allows the name */
        REASON_DENIED,      /* a rule denies it */
        REASON_PORT,        /* the name is allowed on other ports */
        REASON_NO_NAME,     /* an address that stands for no name */
        REASON_PRIVATE,     /* the name leads to an address that is no public server's */
        REASON_OWN,         /* … to this machine */
        REASON_UNKNOWN,     /* the name cannot be resolved */
        REASON_UNREACHABLE,
        REASON_PROXY,         /* the person's own proxy cannot be reached */
        REASON_PROXY_REFUSED, /* it lets nobody through to there; `other` is what it answered */
        REASON_NO_TLS,      /* something else on port 443 */
        REASON_NO_HTTP,     /* something else on port 80 */
        REASON_BAD_TLS,
        REASON_BAD_HTTP,
        REASON_NO_SNI,
        REASON_OTHER_SNI,   /* TLS for another name, `other` */
        REASON_ECH,         /* a name that only the server can read */
        REASON_OTHER_HOST,  /* HTTP for another name, `other` */
        REASON_TOO_MANY,    /* names */
        REASON_TOKEN,       /* somebody, perhaps from outside the box, asked the proxy with a wrong one */
        REASON_OTHERS,      /* too many different refusals to tell each */
        REASON_COUNT
};

struct egress_event {
        enum egress_kind kind;
        enum egress_reason reason;
        enum egress_entrance way;
        uint32_t generation;  /* of the hosts: 0 is the plan's */
        int32_t rule;         /* of those, the one that decided; -1: none */
        uint32_t count;       /* of the same refusal, since the last that was told */
        uint16_t port;        /* 0: a name was asked for */
        bool proxied;         /* through the person's own proxy, whose address it is */
        uint64_t sent, received;
        char host[CAP_DOMAIN + 1];
        char address[INET6_ADDRSTRLEN]; /* that was dialled, or would have been */
        char other[CAP_DOMAIN + 1];
};

/* From the front, with a descriptor to read an order from: its plan's hosts are those that hold from now on. */
struct egress_change {
        uint32_t generation;
        bool close; /* connections to hosts that are not allowed any more */
};

/* By which way, in a word. */
extern const char *const egress_ways[EGRESS_WAYS];

/* What would allow it. */
enum egress_allow { ALLOW_NOTHING, ALLOW_HOST, ALLOW_PORT, ALLOW_PRIVATE };

struct egress_reason_row {
        const char *word; /* for records */
        const char *why;  /* the second half of a sentence */
        enum egress_allow allow;
};
extern const struct egress_reason_row egress_reasons[REASON_COUNT];

/* Is it the same that was refused, for the same reason? */
bool egress_is_same(const struct egress_event *a, const struct egress_event *b);

/* "example.com port 25, it is allowed on other ports"; and the flag that would allow it, if there is one, with a text before. */
void egress_add_reason(const struct egress_event *event, struct text *out);
void egress_add_allowance(const struct egress_event *event, const char *before, struct text *out);
extern const char egress_way_out[]; /* such a text */

#endif
