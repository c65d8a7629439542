/*
 * Inspecting what a program sends; see inspection.h.
 *
 * Many hosts share a server, so TLS and HTTP must name the host that the program connected to. The first byte tells TLS
 * from HTTP. In TLS the ClientHello has the name. The server's answer is inspected too: if it may ask for a second
 * ClientHello, that one is inspected as well; all that follows is encrypted. In HTTP every request has the name, so
 * each head is inspected, and each body is parsed to find its end. Only TLS may pass on port 443, and only HTTP on port
 * 80. On other ports, which are rarely allowed unless a policy names them (default_ports.h), any other protocol may
 * pass.
 *
 * What the program controls: every byte, and how they are split. The parsers (client_hello.c, http_request.c) refuse
 * input that two parsers could interpret differently.
 */
#include "egress/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "egress/client_hello.h"
#include "egress/http_destination.h"

_Static_assert((int)INSPECTION_MAX >= (int)HELLO_MAX && (int)INSPECTION_MAX >= (int)HTTP_HEAD_MAX,
               "the caller's buffer must hold the longest head");

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

void inspection_init(struct inspection *i, const char *host, uint16_t port, bool is_proxy_request)
{
        *i = (struct inspection){ .host = host, .port = port, .is_proxy_request = is_proxy_request };
}

void inspection_done(struct inspection *i)
{
        http_request_done(&i->request);
        text_done(&i->unclassified);
}

bool inspection_may_end(const struct inspection *i)
{
        return i->state == INSPECT_FIRST || i->state == INSPECT_DONE ||
               (i->state == INSPECT_HTTP && !i->request.head.length);
}

static enum inspection_result refuse(struct inspection_verdict *ret, enum deny_reason reason, const char *other)
{
        ret->reason = reason;
        (void)snprintf(ret->other, sizeof ret->other, "%s", other);
        return INSPECTION_DENY;
}

/* --- TLS --- */

static enum inspection_result inspect_hello(struct inspection *i, const uint8_t *bytes, size_t length,
                                            struct inspection_verdict *ret)
{
        bool first = i->state == INSPECT_FIRST;
        struct client_hello hello;
        switch (client_hello_parse(bytes, length, &hello)) {
        case CLIENT_HELLO_INCOMPLETE:
                return INSPECTION_NEED_MORE;
        case CLIENT_HELLO_MALFORMED:
        case CLIENT_HELLO_NOT_TLS:
                return refuse(ret, REASON_MALFORMED_TLS, "");
        case HELLO_COMPLETE:
                break;
        }
        if (hello.has_ech)
                return refuse(ret, REASON_ECH, hello.server_name);
        if (!*hello.server_name)
                return refuse(ret, REASON_NO_SNI, "");
        if (strcmp(hello.server_name, i->host) != 0)
                return refuse(ret, REASON_SNI_MISMATCH, hello.server_name);
        i->state = first && hello.offers_tls13 ? INSPECT_SERVER_HELLO : INSPECT_DONE;
        ret->bytes = hello.length;
        return i->state == INSPECT_DONE ? INSPECTION_PASS_REST : INSPECTION_PASS;
}

/*
 * The server may have asked for a second ClientHello. Early data and a change_cipher_spec for old middleboxes may
 * precede it and pass. Another handshake message means that the server has not asked.
 */
static enum inspection_result inspect_second_hello(struct inspection *i, const uint8_t *bytes, size_t length,
                                                   struct inspection_verdict *ret)
{
        if (length <= TLS_RECORD_HEADER)
                return INSPECTION_NEED_MORE;
        ret->bytes = tls_record_size(bytes);
        if (bytes[0] != TLS_HANDSHAKE_RECORD)
                return INSPECTION_PASS;
        if (ret->bytes == TLS_RECORD_HEADER || bytes[TLS_RECORD_HEADER] == TLS_CLIENT_HELLO_TYPE)
                return inspect_hello(i, bytes, length, ret);
        i->state = INSPECT_DONE;
        return INSPECTION_PASS_REST;
}

/* --- HTTP --- */

static enum inspection_result check_head(struct inspection *i, struct inspection_verdict *ret)
{
        struct destination to;
        if (http_is_connect(&i->request) || http_find_destination(&i->request, &to))
                return refuse(ret, REASON_MALFORMED_HTTP, "");
        if (to.is_address || strcmp(to.host, i->host) != 0 || to.port != i->port)
                return refuse(ret, REASON_HOST_MISMATCH, to.host);
        /* Only the upgrade's answer may come next: a part of an earlier request's answer could look like a 101. */
        if (http_wants_websocket(&i->request) && (i->request_passed || i->request.state != HTTP_DONE))
                return refuse(ret, REASON_MALFORMED_HTTP, "");
        i->request_passed = true;
        if (i->is_proxy_request || http_offers_other_protocol(&i->request))
                http_write_origin_form(&i->request, i->is_proxy_request, &ret->replacement);
        else
                text_add_bytes(&ret->replacement, i->request.original.data, i->request.original.length);
        return INSPECTION_REPLACE;
}

/* The head is complete. The next state depends on whether a body, an upgrade's answer or another request follows. */
static void choose_next_state(struct inspection *i, int taken)
{
        size_t used;
        bool upgrades = http_wants_websocket(&i->request);
        if (taken == HTTP_HEAD_COMPLETE)
                taken = http_request_feed(&i->request, "", 0, &used);
        i->state = taken == 1 ? upgrades ? INSPECT_UPGRADE_RESPONSE : INSPECT_HTTP : INSPECT_BODY;
        if (taken == 1) {
                http_request_done(&i->request);
                http_request_init_relay(&i->request);
        }
}

static enum inspection_result inspect_head(struct inspection *i, const uint8_t *bytes, size_t length,
                                           struct inspection_verdict *ret)
{
        http_request_done(&i->request);
        http_request_init_relay(&i->request); /* the caller passes the same bytes again until the head is complete */
        int taken = http_request_feed(&i->request, (const char *)bytes, length, &ret->bytes);
        if (taken == 0)
                return INSPECTION_NEED_MORE;
        if (taken < 0)
                return refuse(ret, REASON_MALFORMED_HTTP, "");
        enum inspection_result result = check_head(i, ret);
        if (result == INSPECTION_REPLACE)
                choose_next_state(i, taken);
        return result;
}

static enum inspection_result inspect_body(struct inspection *i, const uint8_t *bytes, size_t length,
                                           struct inspection_verdict *ret)
{
        int taken = http_request_feed(&i->request, (const char *)bytes, length, &ret->bytes);
        if (taken < 0)
                return refuse(ret, REASON_MALFORMED_HTTP, "");
        choose_next_state(i, taken);
        return INSPECTION_PASS;
}

/* --- any protocol --- */

/*
 * Could a server interpret this as HTTP? Servers differ in which errors they tolerate, so any first line that begins
 * with a word and contains "HTTP/" counts; the parser then refuses what is malformed. Returns 1, 0, or -EAGAIN when
 * more bytes are needed.
 */
static int may_be_http(const char *bytes, size_t length)
{
        enum { METHOD_MAX = 64 };
        static const char whitespace[] = " \t\v\f\r\x1c\x1d\x1e\x1f"; /* some server splits a line at each of these */
        static const char token[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        size_t start = strspn(bytes, whitespace);
        while (start < length && bytes[start] == '\n') {
                start++;
                start += strspn(bytes + start, whitespace);
        }
        size_t method = strspn(bytes + start, token), end = start + method;
        if (method > METHOD_MAX || (end < length && (!method || !bytes[end] || !strchr(whitespace, bytes[end]))))
                return 0;
        for (size_t at = end; at < length && bytes[at] != '\n'; at++)
                if (strncasecmp(bytes + at, "HTTP/", strlen("HTTP/")) == 0)
                        return 1;
        return end < length && memchr(bytes + end, '\n', length - end) ? 0 : -EAGAIN;
}

/* A server could treat a bare newline as the end of a line, where the parser does not. */
static bool has_bare_newline(const char *bytes, size_t length)
{
        for (const char *p = bytes; (p = memchr(p, '\n', length - (size_t)(p - bytes))); p++)
                if (p == bytes || p[-1] != '\r')
                        return true;
        return false;
}

/*
 * On a port for any protocol a program may send half a line and wait for an answer. So bytes that could be the
 * beginning of an HTTP request pass at once, except the end of its head: the complete head is checked before that
 * passes.
 */
static enum inspection_result inspect_any_protocol(struct inspection *i, const uint8_t *bytes, size_t length,
                                                   struct inspection_verdict *ret)
{
        size_t before = i->unclassified.length;
        text_add_bytes(&i->unclassified, (const char *)bytes, length);
        int http = i->unclassified.failed ? 1 : may_be_http(i->unclassified.data, i->unclassified.length);
        enum inspection_result result = INSPECTION_PASS;
        ret->bytes = length;
        /* Some servers accept a longer first line, which would never be checked. */
        bool long_line = http == -EAGAIN && i->unclassified.length > HTTP_HEAD_MAX;
        if (i->unclassified.failed || long_line ||
            (http == 1 && has_bare_newline(i->unclassified.data, i->unclassified.length)))
                return refuse(ret, REASON_MALFORMED_HTTP, "");
        if (http == 1)
                result = inspect_head(i, (const uint8_t *)i->unclassified.data, i->unclassified.length, ret);
        if (result == INSPECTION_NEED_MORE) {
                ret->bytes = length;
                result = INSPECTION_PASS;
        } else if (result == INSPECTION_REPLACE &&
                   before) { /* the head's first part has passed and cannot be replaced */
                bool same = ret->replacement.length == ret->bytes &&
                            memcmp(ret->replacement.data, i->unclassified.data, ret->bytes) == 0;
                text_done(&ret->replacement);
                ret->bytes -= before;
                result = same ? INSPECTION_PASS : refuse(ret, REASON_MALFORMED_HTTP, "");
        }
        if (http == 0) {
                i->state = INSPECT_DONE;
                result = INSPECTION_PASS_REST;
        }
        if (i->state != INSPECT_FIRST)
                text_done(&i->unclassified);
        return result;
}

static enum inspection_result inspect_first(struct inspection *i, const uint8_t *bytes, size_t length,
                                            struct inspection_verdict *ret)
{
        if (i->port != PORT_HTTP && !i->unclassified.length && bytes[0] == TLS_HANDSHAKE_RECORD)
                return inspect_hello(i, bytes, length, ret);
        if (i->port == PORT_HTTPS)
                return refuse(ret, REASON_NOT_TLS, "");
        if (i->port != PORT_HTTP && !i->is_proxy_request)
                return inspect_any_protocol(i, bytes, length, ret);
        CLEANUP_TEXT struct text text = { 0 };
        text_add_bytes(&text, (const char *)bytes, length);
        int http = text.failed ? 0 : may_be_http(text.data, text.length);
        if (http == -EAGAIN)
                return INSPECTION_NEED_MORE;
        enum inspection_result result = http ? inspect_head(i, bytes, length, ret) : refuse(ret, REASON_NOT_HTTP, "");
        if (result == INSPECTION_DENY && ret->reason == REASON_MALFORMED_HTTP && http_is_h2_preface(&i->request))
                ret->reason = REASON_NOT_HTTP;
        return result;
}

static enum inspection_result inspect(struct inspection *i, const uint8_t *bytes, size_t length,
                                      struct inspection_verdict *ret)
{
        switch (i->state) {
        case INSPECT_FIRST:
                return inspect_first(i, bytes, length, ret);
        case INSPECT_HTTP:
                return inspect_head(i, bytes, length, ret);
        case INSPECT_BODY:
                return inspect_body(i, bytes, length, ret);
        case INSPECT_UPGRADE_RESPONSE:
        case INSPECT_SERVER_HELLO:
                return INSPECTION_NEED_RESPONSE;
        case INSPECT_SECOND_HELLO:
                return inspect_second_hello(i, bytes, length, ret);
        case INSPECT_DONE:
                break;
        }
        return INSPECTION_PASS_REST;
}

enum inspection_result inspection_inspect(struct inspection *i, const uint8_t *bytes, size_t length, bool ended,
                                          struct inspection_verdict *ret)
{
        *ret = (struct inspection_verdict){ 0 };
        enum inspection_result result = inspect(i, bytes, length, ret);
        /* An incomplete message at EOF stays incomplete. */
        return result == INSPECTION_NEED_MORE && ended
                       ? refuse(ret, *bytes == TLS_HANDSHAKE_RECORD ? REASON_MALFORMED_TLS : REASON_MALFORMED_HTTP, "")
                       : result;
}

bool inspection_wants_response(const struct inspection *i)
{
        return i->state == INSPECT_UPGRADE_RESPONSE || i->state == INSPECT_SERVER_HELLO;
}

bool inspection_feed_response(struct inspection *i, const uint8_t *bytes, size_t length)
{
        enum { SWITCHING = 101 };
        if (i->state == INSPECT_SERVER_HELLO) {
                int may_retry = hello_may_be_retry_request(bytes, length);
                if (may_retry >= 0)
                        i->state = may_retry ? INSPECT_SECOND_HELLO : INSPECT_DONE;
                return may_retry >= 0;
        }
        int status = http_response_status((const char *)bytes, length);
        if (status)
                i->state = status == SWITCHING ? INSPECT_DONE : INSPECT_HTTP;
        return status != 0;
}
