/*
 * What a relay or a proxy needs to know of an HTTP request (wire/http_request.h): which host it is for, whether it
 * would change the protocol, and the head to send to the server. Makes no system call. Theory of operation:
 * http_destination.c.
 */
#ifndef RINGWALL_EGRESS_HTTP_DESTINATION_H
#define RINGWALL_EGRESS_HTTP_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "egress/destination.h"
#include "wire/http_request.h"

/* Finds the request's destination. Returns NULL with *ret, or what is wrong, as a sentence. */
const char *http_find_destination(const struct http_request *r, struct destination *ret);

bool http_is_connect(const struct http_request *r);

/*
 * Was it "PRI * HTTP/2.0", which http_request_feed() refuses with 505? Then the client speaks HTTP/2 without an
 * upgrade.
 */
bool http_is_h2_preface(const struct http_request *r);

/*
 * May the server answer with 101 and switch to WebSocket? Bytes after such a request have to wait for the answer, which
 * decides whether they are another HTTP request.
 */
bool http_wants_websocket(const struct http_request *r);

/*
 * Does it offer an upgrade to another protocol, such as HTTP/2 (h2c) or TLS? Requests in that protocol would not be
 * inspected. Some clients always make the offer but do not need it, so http_write_origin_form() writes the head without
 * it.
 */
bool http_offers_other_protocol(const struct http_request *r);

/*
 * Writes the head as a proxy sends it to the server: the target in origin form, with Host, without proxy headers. The
 * body follows unchanged. With `last` the server is asked to close the connection, so that the client makes a new one
 * for a request to another host.
 */
void http_write_origin_form(const struct http_request *r, bool last, struct text *out);

/*
 * The status of an answer; 0 when more bytes are needed, -EBADMSG when it is not an HTTP/1 answer. Another answer
 * follows a status of 1xx, except 101.
 */
int http_response_status(const char *bytes, size_t length);

#endif
