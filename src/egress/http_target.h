/*
 * What a relay and a proxy ask about an HTTP request (wire/http_request.h): whom it is for, what it would make of the
 * connection, and how it is passed on. Makes no system call. Theory of operation: http_target.c.
 */
#ifndef RINGWALL_EGRESS_HTTP_TARGET_H
#define RINGWALL_EGRESS_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "egress/destination.h"
#include "wire/http_request.h"

/* Where the request goes. NULL when it is in *ret; else what is wrong, as a sentence for the one who made it. */
const char *http_host(const struct http_request *r, struct destination *ret);

bool http_is_connect(const struct http_request *r);

/* "PRI * HTTP/2.0", which http_take() has refused with 505: the client speaks HTTP/2 without having asked. */
bool http_is_preface(const struct http_request *r);

/*
 * Would the server perhaps answer with 101 and speak WebSocket from there? What comes behind such a request has to wait
 * for the answer: only that tells whether it is one more request.
 */
bool http_upgrades(const struct http_request *r);

/*
 * Does it offer to go on with some other protocol, as HTTP/2 (h2c) or TLS, in which requests could be made that nobody
 * checks? Some clients always do and can do without. Their head is not passed on as it came, but as http_write_origin()
 * writes it, without the offer.
 */
bool http_offers_other(const struct http_request *r);

/*
 * The head as a proxy sends it to the server: the target in origin form, with a Host, without what is between the
 * client and the proxy. The body follows as it came. With `last` the server closes the connection afterwards, so that the client
 * comes anew with a request for another host.
 */
void http_write_origin(const struct http_request *r, bool last, struct text *out);

/*
 * The status with which an answer begins; 0 when more has to come, -EBADMSG when it is no answer of HTTP/1. Behind one
 * of 1xx, but 101, there is another.
 */
int http_response_status(const char *bytes, size_t length);

#endif
