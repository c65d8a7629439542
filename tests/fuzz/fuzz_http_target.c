/*
 * The head of an HTTP request to a relay or a proxy. Its destination is canonical: printed and parsed again it
 * is the same. The head that a proxy writes has the same destination, body and connection handling, and offers no other
 * protocol. A token is accepted only in a single Proxy-Authorization header.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "egress/destination.h"
#include "egress/http_destination.h"
#include "egress/proxy_token.h"
#include "fuzz.h"
#include "policy/host_pattern.h"

static void check_destination(const struct destination *d)
{
        CLEANUP_TEXT struct text text = { 0 };
        struct destination again;
        char name[DOMAIN_MAX + 1];
        PROMISE(*d->host && d->port);
        PROMISE(d->is_address == (host_name_canonicalize(d->host, NULL, name) != NULL));
        PROMISE(d->is_address || strcmp(name, d->host) == 0);
        text_format(&text, strchr(d->host, ':') ? "[%s]:%u" : "%s:%u", d->host, d->port);
        PROMISE(!destination_parse(text.data, text.length, 0, &again) && destination_equal(d, &again));
}

static void check_origin(const struct http_request *r, const struct destination *d)
{
        CLEANUP_TEXT struct text written = { 0 };
        struct http_request again;
        struct destination same;
        size_t used;
        http_write_origin_form(r, false, &written);
        http_request_init_relay(&again);
        PROMISE(http_request_feed(&again, written.data, written.length, &used) == HTTP_HEAD_COMPLETE &&
                used == written.length);
        PROMISE(*again.target == '/' || strcmp(again.target, "*") == 0);
        PROMISE(!http_find_destination(&again, &same) && destination_equal(d, &same));
        PROMISE(again.state == r->state && again.left == r->left && again.keep_alive == r->keep_alive);
        PROMISE(!http_request_header(&again, "Proxy-Authorization") &&
                !http_request_header(&again, "Proxy-Connection"));
        PROMISE(!http_offers_other_protocol(&again) && http_wants_websocket(&again) == http_wants_websocket(r));
        http_request_done(&again);
}

static void check_token(const struct http_request *r)
{
        static const char header[] = "Proxy-Authorization", right[] = "OnRva2Vu"; /* ":token" */
        enum proxy_token_result verdict = token_check("token", r);
        PROMISE((verdict == PROXY_TOKEN_MISSING) == !http_count_headers(r, header));
        PROMISE(verdict != PROXY_TOKEN_OK || http_count_headers(r, header) == 1);
        PROMISE(verdict != PROXY_TOKEN_OK ||
                strlen(http_request_header(r, header)) >= strlen("Basic ") + strlen(right));
        PROMISE(verdict != PROXY_TOKEN_OK || token_check("Token", r) == PROXY_TOKEN_WRONG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct http_request r;
        struct destination d;
        size_t used;
        char *copy = fuzz_string(data, size);
        int status = http_response_status(copy, size);
        PROMISE(status == 0 ? size < 13 : status == -EBADMSG || (status >= 100 && status <= 999));
        http_request_init_relay(&r);
        status = http_request_feed(&r, copy, size, &used);
        PROMISE(!http_is_h2_preface(&r) || status == -505);
        if (status == HTTP_HEAD_COMPLETE)
                check_token(&r);
        if (status == HTTP_HEAD_COMPLETE && !http_find_destination(&r, &d)) {
                check_destination(&d);
                /* If there is no room for a Host header, the head that is written cannot be parsed again. */
                bool has_room = r.header_count < HTTP_HEADERS_MAX && r.original.length < HTTP_HEAD_MAX / 2;
                if (has_room && !http_is_connect(&r))
                        check_origin(&r, &d);
        }
        http_request_done(&r);
        free(copy);
        return 0;
}
