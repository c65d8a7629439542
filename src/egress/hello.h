/*
 * The beginning of what a client sends over a connection: is it TLS, and for which name? Makes no system call and
 * keeps nothing. Theory of operation: hello.c.
 */
#ifndef RINGWALL_EGRESS_HELLO_H
#define RINGWALL_EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/caps.h"

enum {
        HELLO_FIRST_BYTE = 0x16, /* a record of the handshake */
        HELLO_MESSAGE = 1,       /* the first byte of a message in it */
        HELLO_MESSAGE_MOST = 64 << 10, /* bytes of a ClientHello; those of today have 200 to 2000 */
        HELLO_RECORDS_MOST = 64,       /* records that it may be spread over */
        HELLO_EXTENSIONS_MOST = 64,    /* extensions in it */
        /* Bytes that a caller has to hold: with so many, the answer is never HELLO_MORE. */
        HELLO_MOST = HELLO_MESSAGE_MOST + 5 * HELLO_RECORDS_MOST,
};

enum hello_state {
        HELLO_MORE,    /* it may still become a ClientHello: ask again with more */
        HELLO_NOT_TLS, /* it is something else */
        HELLO_BAD,     /* it is TLS, or once was, but no ClientHello that all readers understand alike */
        HELLO_WHOLE,   /* it begins with a ClientHello */
};

struct hello {
        char server_name[CAP_DOMAIN + 1]; /* in its canonical spelling (domain.h); empty: it has none */
        /*
         * There is an encrypted ClientHello within, or something that looks like one: then server_name is not the
         * name that the server will go by, or need not be. Chrome and Firefox send random bytes in its place when
         * they have no key for the server (GREASE), which are made so that nobody but the server can tell them from
         * the real thing; nor can we.
         */
        bool has_ech;
        bool offers_tls13;
        size_t length; /* bytes of its records; what is behind them was not looked at */
};

enum { TLS_RECORD_HEADER = 5 }; /* type, version, length */

/* Bytes of the record that begins here, of which there are at least those of its header. */
static inline size_t tls_record_size(const uint8_t *bytes)
{
        return TLS_RECORD_HEADER + ((size_t)bytes[3] << 8 | bytes[4]);
}

/*
 * The beginning of a server's answer to a ClientHello: may it ask for another one (RFC 8446, 4.1.4)? 0 for a ServerHello that does
 * not; 1 for one that does, and for all that is no ServerHello in one piece; -EAGAIN when more has to come.
 */
int hello_may_be_asked_again(const uint8_t *bytes, size_t length);

/*
 * Looks at the first bytes of a connection, all of them so far and at least one. With more bytes of the same
 * connection every answer but HELLO_MORE stays as it is, *ret included, which is only written for HELLO_WHOLE.
 */
enum hello_state hello_inspect(const uint8_t *bytes, size_t length, struct hello *ret);

#endif
