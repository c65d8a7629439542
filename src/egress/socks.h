/*
 * SOCKS5 (RFC 1928), the server's side of its beginning, read from a stream of bytes as they come: greeting, perhaps a
 * password (RFC 1929), and one request, which must be CONNECT. Makes no system call. Theory of operation: socks.c.
 */
#ifndef RINGWALL_EGRESS_SOCKS_H
#define RINGWALL_EGRESS_SOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "egress/destination.h"

enum { SOCKS_MESSAGE_MOST = 3 + 255 + 255 };

struct socks {
        struct destination destination; /* once socks_take() has returned 1 */

        /* Its own. */
        const char *token;
        int refused; /* -errno: nothing more is taken */
        enum { SOCKS_GREETING, SOCKS_LOGIN, SOCKS_REQUEST, SOCKS_DONE } state;
        uint8_t message[SOCKS_MESSAGE_MOST];
        size_t length;
};

/* What the client is told about its request; the standard's numbers. */
enum socks_reply {
        SOCKS_CONNECTED,
        SOCKS_FAILED,
        SOCKS_FORBIDDEN,
        SOCKS_NETWORK_UNREACHABLE,
        SOCKS_HOST_UNREACHABLE,
        SOCKS_REFUSED,
        SOCKS_EXPIRED,
        SOCKS_NO_SUCH_COMMAND,
        SOCKS_NO_SUCH_ADDRESS_TYPE,
};

/* With a token, a client has to give it as its password, with any name; NULL: it must do without. The token is kept by
   reference and has at most 255 bytes. */
void socks_begin(struct socks *s, const char *token);

/*
 * Takes bytes of the stream; *ret_used is how many belong to this. Returns 1 when the request is there, which the
 * caller answers with socks_reply(); 0 when more has to come; -EPROTO when this is not SOCKS5, -EOPNOTSUPP when it
 * wants something else than we have, -EACCES without the token, -EINVAL when the host is none. Whatever it returns,
 * `answer` gets what is to be sent to the client, perhaps nothing.
 */
int socks_take(struct socks *s, const char *bytes, size_t length, size_t *ret_used, struct text *answer);

void socks_reply(enum socks_reply reply, struct text *answer);

#endif
