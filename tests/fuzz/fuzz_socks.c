/*
 * The bytes of a SOCKS5 client. The first byte selects the size of the pieces in which they are parsed, the second
 * whether a token is required. The result and the answer are the same as for the whole input; an accepted request
 * has a canonical host.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "egress/destination.h"
#include "egress/socks.h"
#include "fuzz.h"
#include "policy/host_pattern.h"

static int feed(struct socks *s, const uint8_t *data, size_t size, size_t piece, size_t *ret_used, struct text *answer)
{
        int status = 0;
        *ret_used = 0;
        while (status == 0 && *ret_used < size) {
                size_t n = size - *ret_used < piece ? size - *ret_used : piece, used = 0;
                char *copy = malloc(n);
                memcpy(copy, data + *ret_used, n);
                status = socks_feed(s, copy, n, &used, answer);
                free(copy);
                PROMISE(used <= n && (status != 0 || used == n));
                *ret_used += used;
        }
        return status;
}

static void check_destination(const struct destination *d)
{
        char name[DOMAIN_MAX + 1];
        PROMISE(*d->host && d->port);
        PROMISE(d->is_address == (host_name_canonicalize(d->host, NULL, name) != NULL));
        PROMISE(d->is_address || strcmp(name, d->host) == 0);
}

/* A request that succeeded has authenticated, if a token is required. */
static void check_token(const char *token, const struct text *answer)
{
        PROMISE(answer->length >= 2 && answer->data[0] == 5 && answer->data[1] == (token ? 2 : 0));
        PROMISE(!token || (answer->length == 4 && answer->data[2] == 1 && answer->data[3] == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_TEXT struct text answer = { 0 }, answer_in_pieces = { 0 };
        struct socks whole, pieces;
        size_t used, used_in_pieces;
        if (size < 2)
                return 0;
        const char *token = data[1] & 1 ? "secret" : NULL;
        socks_init(&whole, token);
        socks_init(&pieces, token);
        int status = feed(&whole, data + 2, size - 2, size, &used, &answer);
        PROMISE(feed(&pieces, data + 2, size - 2, (size_t)data[0] + 1, &used_in_pieces, &answer_in_pieces) == status);
        PROMISE(status == 0 || status == 1 || status == -EPROTO || status == -EOPNOTSUPP || status == -EACCES ||
                status == -EINVAL);
        PROMISE(used == used_in_pieces && answer.length == answer_in_pieces.length && answer.length <= 2 + 2 + 10);
        PROMISE(!answer.length || memcmp(answer.data, answer_in_pieces.data, answer.length) == 0);
        if (status == 1) {
                check_destination(&whole.destination);
                PROMISE(destination_equal(&whole.destination, &pieces.destination));
                check_token(token, &answer);
        }
        return 0;
}
