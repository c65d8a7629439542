/*
 * The first bytes that a client sends over a connection: are they TLS, and for which name? Makes no system call and
 * keeps no state. Theory of operation: client_hello.c.
 */
#ifndef RINGWALL_EGRESS_CLIENT_HELLO_H
#define RINGWALL_EGRESS_CLIENT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/input_limits.h"

enum {
        TLS_HANDSHAKE_RECORD = 0x16,  /* the type of a handshake record */
        TLS_CLIENT_HELLO_TYPE = 1,    /* the first byte of a ClientHello message */
        HELLO_MESSAGE_MAX = 64 << 10, /* bytes of a ClientHello; today's have 200 to 2000 */
        HELLO_RECORDS_MAX = 64,       /* records that it may be spread over */
        HELLO_EXTENSIONS_MAX = 64,    /* extensions of a ClientHello */
        /* The size of the caller's buffer: with this many bytes the result is never CLIENT_HELLO_INCOMPLETE. */
        HELLO_MAX = HELLO_MESSAGE_MAX + 5 * HELLO_RECORDS_MAX,
};

enum client_hello_state {
        CLIENT_HELLO_INCOMPLETE, /* perhaps an incomplete ClientHello: call again with more bytes */
        CLIENT_HELLO_NOT_TLS,    /* another protocol */
        CLIENT_HELLO_MALFORMED,  /* TLS or SSL 2, but not a ClientHello that every parser interprets in the same way */
        HELLO_COMPLETE,          /* a complete ClientHello */
};

struct client_hello {
        char server_name[DOMAIN_MAX + 1]; /* in canonical spelling (host_pattern.h); empty: it has none */
        /*
         * It has an encrypted ClientHello, so the server may use another name than server_name. Chrome and Firefox
         * send random bytes in its place when they have no key for the server (GREASE). Only the server can tell these
         * from an encrypted ClientHello, so they count as one.
         */
        bool has_ech;
        bool offers_tls13;
        size_t length; /* bytes of its records; bytes after them were not inspected */
};

enum { TLS_RECORD_HEADER = 5 }; /* type, version, length */

/* The size of the record that begins here; `bytes` must have at least its header. */
static inline size_t tls_record_size(const uint8_t *bytes)
{
        return TLS_RECORD_HEADER + ((size_t)bytes[3] << 8 | bytes[4]);
}

/*
 * May the server's answer to a ClientHello ask for a second one (HelloRetryRequest, RFC 8446, 4.1.4)? Returns 0 for any
 * other ServerHello; 1 for a HelloRetryRequest, and for an answer that is not a ServerHello or is split over records;
 * -EAGAIN when more bytes are needed.
 */
int hello_may_be_retry_request(const uint8_t *bytes, size_t length);

/*
 * Inspects the first bytes of a connection: all that have arrived, at least one. More bytes of the same connection
 * change no result but CLIENT_HELLO_INCOMPLETE. *ret is written only for HELLO_COMPLETE.
 */
enum client_hello_state client_hello_parse(const uint8_t *bytes, size_t length, struct client_hello *ret);

#endif
