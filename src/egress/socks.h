/*
 * An incremental parser for the server's side of a SOCKS5 handshake (RFC 1928): a greeting, perhaps a password (RFC
 * 1929), and one request, which must be CONNECT. Makes no system call. Theory of operation: socks.c.
 */
#ifndef RINGWALL_EGRESS_SOCKS_H
#define RINGWALL_EGRESS_SOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "egress/destination.h"

enum { SOCKS_MESSAGE_MAX = 3 + 255 + 255 };

struct socks {
        struct destination destination; /* valid once socks_feed() has returned 1 */

        /* Internal: */
        const char *token;
        int refused; /* 0, or the -errno that every later call returns */
        enum { SOCKS_GREETING, SOCKS_LOGIN, SOCKS_REQUEST, SOCKS_DONE } state;
        uint8_t message[SOCKS_MESSAGE_MAX];
        size_t length;
};

/* The reply to the request; the numbers are those of RFC 1928. */
enum socks_reply {
        SOCKS_CONNECTED = 0,
        SOCKS_FAILED = 1,
        SOCKS_FORBIDDEN = 2,
        SOCKS_HOST_UNREACHABLE = 4,
        SOCKS_NO_SUCH_COMMAND = 7,
        SOCKS_NO_SUCH_ADDRESS_TYPE = 8,
};

/* The client must send the token as its password, with any user name. NULL: no password is asked for. The token is not
   copied, and has at most 255 bytes. */
void socks_init(struct socks *s, const char *token);

/*
 * Parses bytes of the stream; *ret_used is how many belong to the handshake. Returns 1 when the request is complete,
 * which the caller answers with socks_reply(); 0 when more bytes are needed; -EPROTO when it is not SOCKS5; -EOPNOTSUPP
 * for an unsupported method, command or address type; -EACCES for a wrong token; -EINVAL for an invalid host. In every
 * case the caller sends the client what was added to `answer`, perhaps nothing.
 */
int socks_feed(struct socks *s, const char *bytes, size_t length, size_t *ret_used, struct text *answer);

void socks_reply(enum socks_reply reply, struct text *answer);

#endif
