/*
 * The messages between front, keeper and egress, and the addresses that keeper and egress share.
 *
 * An entrance is a socket that programs in the box connect to and egress serves from outside. The keeper makes them
 * inside the box's network namespace and sends them to egress. Egress reports to the front which connections it passed
 * and which it refused. For a box without a network namespace the front makes two proxies on the host's loopback and
 * sends them to egress in the same way.
 */
#ifndef RINGWALL_WIRE_EGRESS_WIRE_H
#define RINGWALL_WIRE_EGRESS_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "policy/caps.h"

/*
 * The descriptors of ringwall-egress. Its standard input has the plan as JSON, then the values of HTTPS_PROXY
 * and NO_PROXY in the user's environment, each preceded by a NUL. The values may contain a password, so they are not
 * copied into memory that a box inherits later.
 */
enum { EGRESS_TO_FRONT = 3, EGRESS_TO_KEEPER = 4, EGRESS_FDS };

/* --- from the keeper --- */

enum egress_entrance {
        EGRESS_TRANSPARENT, /* nftables redirects every outgoing TCP connection to it */
        EGRESS_DNS_PACKETS,
        EGRESS_DNS_STREAM,
        EGRESS_HTTP_PROXY,
        EGRESS_SOCKS_PROXY,
        EGRESS_LOCAL_PORT, /* leads to the same port on the host's loopback */
        EGRESS_PUBLISHED,  /* a port on the host's loopback that leads into the box; made by egress itself */
        EGRESS_ENTRANCE_COUNT
};

enum { EGRESS_TOKEN_SIZE = 32 + 1 };

/*
 * From the keeper (a proxy: perhaps from the front), with the entrance's descriptor. The last message is `complete`:
 * all entrances were sent, and the keeper waits for a byte in reply. After that the keeper answers each byte from
 * egress with one byte and a new TCP socket in the box's network namespace.
 */
struct egress_entrance_message {
        bool complete; /* has no entrance */
        enum egress_entrance entrance;
        uint16_t port;
        bool v6;
        /* the password of the proxy; empty: none is needed, because only the box can connect */
        char token[EGRESS_TOKEN_SIZE];
};

/* Where the box's proxies listen. They need a token on the host's loopback, where any process can connect to them. */
struct egress_proxies {
        uint16_t http, socks;
        char token[EGRESS_TOKEN_SIZE];
};

/*
 * The box's own address, followed by one placeholder address for each name that the box has resolved. 198.18.0.0/15 is
 * reserved for benchmarks (RFC 2544), so real networks do not use it. The IPv6 prefix is a unique local one (RFC 4193):
 * 0xfd and "ringwal" in ASCII.
 */
enum { EGRESS_V4_FIRST = 0xc6120001, EGRESS_V4_COUNT = 1 << 17 };
#define EGRESS_V6_PREFIX { 0xfd, 0x72, 0x69, 0x6e, 0x67, 0x77, 0x61, 0x6c }

/* --- to the front --- */

enum egress_kind {
        EGRESS_FAILED,  /* egress cannot serve; `other` is the error */
        EGRESS_PASSED,  /* an allowed connection has ended */
        EGRESS_REFUSED, /* a DNS query or a connection was refused */
        EGRESS_CHANGED, /* the hosts of `generation` are in force, and `count` connections were closed */
};

enum egress_reason {
        REASON_NONE,
        REASON_NAME,        /* no rule allows the name */
        REASON_DENIED,      /* a rule denies it */
        REASON_PORT,        /* the name is allowed on other ports */
        REASON_NO_NAME,     /* an address that is not a placeholder for a name */
        REASON_PRIVATE,     /* the name resolves to an address that is not public */
        REASON_OWN,         /* the name resolves to this machine */
        REASON_UNKNOWN,     /* the name cannot be resolved */
        REASON_UNREACHABLE,
        REASON_PROXY,         /* the proxy in HTTPS_PROXY cannot be reached */
        REASON_PROXY_REFUSED, /* that proxy did not open a connection; `other` is its answer */
        REASON_NO_TLS,      /* another protocol on port 443 */
        REASON_NO_HTTP,     /* another protocol on port 80 */
        REASON_BAD_TLS,
        REASON_BAD_HTTP,
        REASON_NO_SNI,
        REASON_OTHER_SNI,   /* TLS for another name, `other` */
        REASON_ECH,         /* an encrypted ClientHello: only the server can read its name */
        REASON_OTHER_HOST,  /* HTTP for another name, `other` */
        REASON_TOO_MANY,    /* the box has resolved too many names */
        REASON_TOKEN,       /* a client, perhaps one outside the box, sent the proxy a wrong token */
        REASON_OTHERS,      /* too many different refusals to report each */
        REASON_COUNT
};

struct egress_event {
        enum egress_kind kind;
        enum egress_reason reason;
        enum egress_entrance entrance;
        uint32_t generation;  /* of the hosts: 0 is the first plan's */
        int32_t rule;         /* index of the rule of that generation that decided; -1: none */
        uint32_t count;       /* of the same refusal, since it was last reported */
        uint16_t port;        /* 0: a DNS query was refused */
        bool proxied;         /* through the proxy in HTTPS_PROXY; `address` is the proxy's */
        uint64_t sent, received;
        char host[DOMAIN_MAX + 1];
        char address[INET6_ADDRSTRLEN]; /* that was dialled, or was refused */
        char other[DOMAIN_MAX + 1];
};

/* From the front, with a descriptor to read an order from. The hosts of its plan replace the present ones. */
struct egress_change {
        uint32_t generation;
        bool close; /* close connections to hosts that are not allowed any more */
};

/* The name of an entrance in records. */
extern const char *const egress_entrance_names[EGRESS_ENTRANCE_COUNT];

/* What the user would have to allow so that a refused connection passes. */
enum egress_allow { ALLOW_NOTHING, ALLOW_HOST, ALLOW_PORT, ALLOW_PRIVATE };

struct egress_reason_row {
        const char *word; /* for records */
        const char *why;  /* for people: "HOST port PORT, " and this */
        enum egress_allow allow;
};
extern const struct egress_reason_row egress_reasons[REASON_COUNT];

/* Was the same destination refused for the same reason? */
bool egress_is_same(const struct egress_event *a, const struct egress_event *b);

/* Adds "example.com port 25, it is allowed on other ports". */
void egress_add_reason(const struct egress_event *event, struct text *out);

/* Adds `prefix` and the flag that would allow the connection, if there is one. */
void egress_add_allowance(const struct egress_event *event, const char *prefix, struct text *out);
extern const char egress_allowance_prefix[]; /* the prefix for a sentence: "; to allow it: " */

#endif
