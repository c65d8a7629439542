/*
 * The messages between front, keeper and egress, and the addresses that keeper and egress share.
 *
 * A listener is a socket that programs in the box connect to and egress serves from outside. The keeper makes them
 * inside the box's network namespace and sends them to egress. Egress reports to the front which connections it passed
 * and which it refused. For a box without a network namespace the front makes two proxies on the host's loopback and
 * sends them to egress in the same way.
 */
#ifndef RINGWALL_WIRE_EGRESS_PROTOCOL_H
#define RINGWALL_WIRE_EGRESS_PROTOCOL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "policy/input_limits.h"

/*
 * The descriptors of ringwall-egress. Its standard input has the plan as JSON, then the values of HTTPS_PROXY
 * and NO_PROXY in the user's environment, each preceded by a NUL. The values may contain a password, so they are not
 * copied into memory that a box inherits later.
 */
enum { EGRESS_FRONT_FD = 3, EGRESS_KEEPER_FD = 4, EGRESS_FDS };

/* --- from the keeper --- */

enum egress_listener_kind {
        LISTENER_TRANSPARENT, /* nftables redirects every outgoing TCP connection to it */
        LISTENER_DNS_UDP,
        LISTENER_DNS_TCP,
        LISTENER_HTTP_PROXY,
        LISTENER_SOCKS_PROXY,
        LISTENER_LOCAL_PORT, /* leads to the same port on the host's loopback */
        LISTENER_PUBLISHED_PORT,  /* a port on the host's loopback that leads into the box; made by egress itself */
        EGRESS_LISTENER_COUNT
};

enum { EGRESS_TOKEN_SIZE = 32 + 1 };

/*
 * From the keeper (a proxy: perhaps from the front), with the listener's descriptor. The last message is `complete`:
 * all listeners were sent, and the keeper waits for a byte in reply. After that the keeper answers each byte from
 * egress with one byte and a new TCP socket in the box's network namespace.
 */
struct egress_listener_message {
        bool complete; /* has no listener */
        enum egress_listener_kind listener;
        uint16_t port;
        bool v6;
        /* the password of the proxy; empty: none is needed, because only the box can connect */
        char token[EGRESS_TOKEN_SIZE];
};

/* Where the box's proxies listen. They need a token on the host's loopback, where any process can connect to them. */
struct proxy_endpoints {
        uint16_t http, socks;
        char token[EGRESS_TOKEN_SIZE];
};

/*
 * The box's own address, followed by one fake address for each name that the box has resolved. 198.18.0.0/15 is
 * reserved for benchmarks (RFC 2544), so real networks do not use it. The IPv6 prefix is a unique local one (RFC 4193):
 * 0xfd and "ringwal" in ASCII.
 */
enum { FAKE_IP_V4_BASE = 0xc6120001, FAKE_IP_V4_COUNT = 1 << 17 };
#define FAKE_IP_V6_PREFIX { 0xfd, 0x72, 0x69, 0x6e, 0x67, 0x77, 0x61, 0x6c }

/* --- to the front --- */

enum egress_event_kind {
        EGRESS_EVENT_FAILED,  /* egress cannot serve; `other` is the error */
        EGRESS_EVENT_CLOSED,  /* an allowed connection has ended */
        EGRESS_EVENT_DENIED, /* a DNS query or a connection was refused */
        EGRESS_EVENT_HOSTS_CHANGED, /* the hosts of `generation` are in force, and `count` connections were closed */
};

enum deny_reason {
        REASON_NONE,
        REASON_HOST_NOT_ALLOWED,        /* no rule allows the name */
        REASON_HOST_DENIED,      /* a rule denies it */
        REASON_PORT_NOT_ALLOWED,        /* the name is allowed on other ports */
        REASON_RAW_ADDRESS,     /* an address that is not a fake address of a name */
        REASON_PRIVATE_ADDRESS,     /* the name resolves to an address that is not public */
        REASON_LOCAL_ADDRESS,         /* the name resolves to this machine */
        REASON_NAME_NOT_FOUND,     /* the name cannot be resolved */
        REASON_UNREACHABLE,
        REASON_UPSTREAM_UNREACHABLE,         /* the proxy in HTTPS_PROXY cannot be reached */
        REASON_UPSTREAM_REJECTED, /* that proxy did not open a connection; `other` is its answer */
        REASON_NOT_TLS,      /* another protocol on port 443 */
        REASON_NOT_HTTP,     /* another protocol on port 80 */
        REASON_MALFORMED_TLS,
        REASON_MALFORMED_HTTP,
        REASON_NO_SNI,
        REASON_SNI_MISMATCH,   /* TLS for another name, `other` */
        REASON_ECH,         /* an encrypted ClientHello: only the server can read its name */
        REASON_HOST_MISMATCH,  /* HTTP for another name, `other` */
        REASON_TOO_MANY_NAMES,    /* the box has resolved too many names */
        REASON_BAD_TOKEN,       /* a client, perhaps one outside the box, sent the proxy a wrong token */
        REASON_OVERFLOW,      /* too many different refusals to report each */
        REASON_COUNT
};

struct egress_event {
        enum egress_event_kind kind;
        enum deny_reason reason;
        enum egress_listener_kind listener;
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
struct egress_hosts_update {
        uint32_t generation;
        bool close; /* close connections to hosts that are not allowed any more */
};

/* The name of a listener in records. */
extern const char *const egress_listener_names[EGRESS_LISTENER_COUNT];

/* What the user would have to allow so that a refused connection passes. */
enum deny_remedy { REMEDY_NONE, REMEDY_ALLOW_HOST, REMEDY_ALLOW_PORT, REMEDY_ALLOW_PRIVATE };

struct deny_reason_info {
        const char *word; /* for records */
        const char *why;  /* for people: "HOST port PORT, " and this */
        enum deny_remedy allow;
};
extern const struct deny_reason_info deny_reasons[REASON_COUNT];

/* Was the same destination refused for the same reason? */
bool egress_event_same(const struct egress_event *a, const struct egress_event *b);

/* Adds "example.com port 25, it is allowed on other ports". */
void egress_event_add_reason(const struct egress_event *event, struct text *out);

/* Adds `prefix` and the flag that would allow the connection, if there is one. */
void egress_event_add_remedy(const struct egress_event *event, const char *prefix, struct text *out);
extern const char egress_allowance_prefix[]; /* the prefix for a sentence: "; to allow it: " */

#endif
