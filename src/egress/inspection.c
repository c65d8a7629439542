/*
 * Inspecting what a program sends; see inspection.h.
 *
 * A connection is to the host whose address was asked for; what is said over it must name the same one, because many hosts share
 * a server. The first byte tells TLS from HTTP. In TLS the ClientHello has the name, and so has a second one if the server asks for
 * it, as its answer tells, which is looked at for that; all that follows is encrypted. In HTTP every request has it, so each head is
 * looked at, and of each body only where it ends. Ports 443 and 80 are for these two alone; on others a third protocol may be
 * spoken, which the policy has allowed by naming the port.
 *
 * What the other side controls: every byte, and in which pieces they come. What two readers could understand differently
 * has been refused by the parsers (hello.c, http_request.c).
 */
#include "egress/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "egress/hello.h"
#include "egress/http_target.h"

_Static_assert((int)INSPECTION_MOST >= (int)HELLO_MOST && (int)INSPECTION_MOST >= (int)HTTP_HEAD_MOST, "what is looked at can be shown");

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

void inspection_begin(struct inspection *i, const char *host, uint16_t port, bool proxied)
{
        *i = (struct inspection){ .host = host, .port = port, .proxied = proxied };
}

void inspection_done(struct inspection *i)
{
        http_done(&i->request);
        text_done(&i->begun);
}

bool inspection_is_between(const struct inspection *i)
{
        return i->state == INSPECT_FIRST || i->state == INSPECT_NOTHING || (i->state == INSPECT_HTTP && !i->request.head.length);
}

static enum inspection_result refuse(struct inspected *ret, enum egress_reason reason, const char *other)
{
        ret->reason = reason;
        (void)snprintf(ret->other, sizeof ret->other, "%s", other);
        return INSPECTION_REFUSE;
}

/* --- TLS --- */

static enum inspection_result look_at_hello(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        bool first = i->state == INSPECT_FIRST;
        struct hello hello;
        switch (hello_inspect(bytes, length, &hello)) {
        case HELLO_MORE:
                return INSPECTION_MORE;
        case HELLO_BAD:
        case HELLO_NOT_TLS:
                return refuse(ret, REASON_BAD_TLS, "");
        case HELLO_WHOLE:
                break;
        }
        if (hello.has_ech)
                return refuse(ret, REASON_ECH, hello.server_name);
        if (!*hello.server_name)
                return refuse(ret, REASON_NO_SNI, "");
        if (strcmp(hello.server_name, i->host) != 0)
                return refuse(ret, REASON_OTHER_SNI, hello.server_name);
        i->state = first && hello.offers_tls13 ? INSPECT_SERVER_HELLO : INSPECT_NOTHING;
        ret->bytes = hello.length;
        return i->state == INSPECT_NOTHING ? INSPECTION_ALL : INSPECTION_PASS;
}

/*
 * The server may have asked for it. Data that was sent early, and what old machines on the way need to see, may come before. Another
 * message of the handshake means that it has not.
 */
static enum inspection_result look_at_second_hello(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        if (length <= TLS_RECORD_HEADER)
                return INSPECTION_MORE;
        ret->bytes = tls_record_size(bytes);
        if (bytes[0] != HELLO_FIRST_BYTE)
                return INSPECTION_PASS;
        if (ret->bytes == TLS_RECORD_HEADER || bytes[TLS_RECORD_HEADER] == HELLO_MESSAGE)
                return look_at_hello(i, bytes, length, ret);
        i->state = INSPECT_NOTHING;
        return INSPECTION_ALL;
}

/* --- HTTP --- */

static enum inspection_result judge_head(struct inspection *i, struct inspected *ret)
{
        struct destination to;
        if (http_is_connect(&i->request) || http_host(&i->request, &to))
                return refuse(ret, REASON_BAD_HTTP, "");
        if (to.is_address || strcmp(to.host, i->host) != 0 || to.port != i->port)
                return refuse(ret, REASON_OTHER_HOST, to.host);
        /* Whose answer comes next must be certain: a part of another one could look like a 101. */
        if (http_upgrades(&i->request) && (i->later || i->request.state != HTTP_DONE))
                return refuse(ret, REASON_BAD_HTTP, "");
        i->later = true;
        if (i->proxied || http_offers_other(&i->request))
                http_write_origin(&i->request, i->proxied, &ret->instead);
        else
                text_add_bytes(&ret->instead, i->request.original.data, i->request.original.length);
        return INSPECTION_TAKE;
}

/* The head is whole; what is behind it decides what is looked at next. */
static void go_on(struct inspection *i, int taken)
{
        size_t used;
        bool upgrades = http_upgrades(&i->request);
        if (taken == HTTP_HEAD_READY)
                taken = http_take(&i->request, "", 0, &used);
        i->state = taken == 1 ? upgrades ? INSPECT_ANSWER : INSPECT_HTTP : INSPECT_BODY;
        if (taken == 1) {
                http_done(&i->request);
                http_begin_relay(&i->request);
        }
}

static enum inspection_result look_at_head(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        http_done(&i->request);
        http_begin_relay(&i->request); /* the same bytes are shown again until the head is whole */
        int taken = http_take(&i->request, (const char *)bytes, length, &ret->bytes);
        if (taken == 0)
                return INSPECTION_MORE;
        if (taken < 0)
                return refuse(ret, REASON_BAD_HTTP, "");
        enum inspection_result result = judge_head(i, ret);
        if (result == INSPECTION_TAKE)
                go_on(i, taken);
        return result;
}

static enum inspection_result look_at_body(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        int taken = http_take(&i->request, (const char *)bytes, length, &ret->bytes);
        if (taken < 0)
                return refuse(ret, REASON_BAD_HTTP, "");
        go_on(i, taken);
        return INSPECTION_PASS;
}

/* --- the whole --- */

/*
 * Could a server read this as HTTP? Servers differ in what they forgive in front of a request and in it: so any first line that
 * begins with a word and has "HTTP/" in it counts, and the parser says no to what it does not know. 1, 0, or -EAGAIN.
 */
static int seems_http(const char *bytes, size_t length)
{
        enum { METHOD_MOST = 64 };
        static const char white[] = " \t\v\f\r\x1c\x1d\x1e\x1f"; /* what one or the other splits a line at */
        static const char token[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        size_t start = strspn(bytes, white);
        while (start < length && bytes[start] == '\n') {
                start++;
                start += strspn(bytes + start, white);
        }
        size_t method = strspn(bytes + start, token), end = start + method;
        if (method > METHOD_MOST || (end < length && (!method || !bytes[end] || !strchr(white, bytes[end]))))
                return 0;
        for (size_t at = end; at < length && bytes[at] != '\n'; at++)
                if (strncasecmp(bytes + at, "HTTP/", strlen("HTTP/")) == 0)
                        return 1;
        return end < length && memchr(bytes + end, '\n', length - end) ? 0 : -EAGAIN;
}

/* A server could take it for the end of a line that the parser does not see. */
static bool has_bare_newline(const char *bytes, size_t length)
{
        for (const char *p = bytes; (p = memchr(p, '\n', length - (size_t)(p - bytes))); p++)
                if (p == bytes || p[-1] != '\r')
                        return true;
        return false;
}

/*
 * On a port that is for anything, a program may say half a line and wait for an answer. So what could still become a request is
 * passed on, but not the end of its head: before that it is judged as a whole.
 */
static enum inspection_result look_at_anything(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        size_t before = i->begun.length;
        text_add_bytes(&i->begun, (const char *)bytes, length);
        int http = i->begun.failed ? 1 : seems_http(i->begun.data, i->begun.length);
        enum inspection_result result = INSPECTION_PASS;
        ret->bytes = length;
        bool long_line = http == -EAGAIN && i->begun.length > HTTP_HEAD_MOST; /* which some servers would take */
        if (i->begun.failed || long_line || (http == 1 && has_bare_newline(i->begun.data, i->begun.length)))
                return refuse(ret, REASON_BAD_HTTP, "");
        if (http == 1)
                result = look_at_head(i, (const uint8_t *)i->begun.data, i->begun.length, ret);
        if (result == INSPECTION_MORE) {
                ret->bytes = length;
                result = INSPECTION_PASS;
        } else if (result == INSPECTION_TAKE && before) { /* the first part cannot be taken back */
                bool same = ret->instead.length == ret->bytes && memcmp(ret->instead.data, i->begun.data, ret->bytes) == 0;
                text_done(&ret->instead);
                ret->bytes -= before;
                result = same ? INSPECTION_PASS : refuse(ret, REASON_BAD_HTTP, "");
        }
        if (http == 0) {
                i->state = INSPECT_NOTHING;
                result = INSPECTION_ALL;
        }
        if (i->state != INSPECT_FIRST)
                text_done(&i->begun);
        return result;
}

static enum inspection_result look_first(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        if (i->port != PORT_HTTP && !i->begun.length && bytes[0] == HELLO_FIRST_BYTE)
                return look_at_hello(i, bytes, length, ret);
        if (i->port == PORT_HTTPS)
                return refuse(ret, REASON_NO_TLS, "");
        if (i->port != PORT_HTTP && !i->proxied)
                return look_at_anything(i, bytes, length, ret);
        CLEANUP_TEXT struct text said = { 0 };
        text_add_bytes(&said, (const char *)bytes, length);
        int http = said.failed ? 0 : seems_http(said.data, said.length);
        if (http == -EAGAIN)
                return INSPECTION_MORE;
        enum inspection_result result = http ? look_at_head(i, bytes, length, ret) : refuse(ret, REASON_NO_HTTP, "");
        if (result == INSPECTION_REFUSE && ret->reason == REASON_BAD_HTTP && http_is_preface(&i->request))
                ret->reason = REASON_NO_HTTP;
        return result;
}

static enum inspection_result look(struct inspection *i, const uint8_t *bytes, size_t length, struct inspected *ret)
{
        switch (i->state) {
        case INSPECT_FIRST:
                return look_first(i, bytes, length, ret);
        case INSPECT_HTTP:
                return look_at_head(i, bytes, length, ret);
        case INSPECT_BODY:
                return look_at_body(i, bytes, length, ret);
        case INSPECT_ANSWER:
        case INSPECT_SERVER_HELLO:
                return INSPECTION_WAIT;
        case INSPECT_SECOND_HELLO:
                return look_at_second_hello(i, bytes, length, ret);
        case INSPECT_NOTHING:
                break;
        }
        return INSPECTION_ALL;
}

enum inspection_result inspection_look(struct inspection *i, const uint8_t *bytes, size_t length, bool ended, struct inspected *ret)
{
        *ret = (struct inspected){ 0 };
        enum inspection_result result = look(i, bytes, length, ret);
        /* What was begun will never be whole. */
        return result == INSPECTION_MORE && ended ? refuse(ret, *bytes == HELLO_FIRST_BYTE ? REASON_BAD_TLS : REASON_BAD_HTTP, "") : result;
}

bool inspection_awaits_answer(const struct inspection *i)
{
        return i->state == INSPECT_ANSWER || i->state == INSPECT_SERVER_HELLO;
}

bool inspection_answer(struct inspection *i, const uint8_t *bytes, size_t length)
{
        enum { SWITCHING = 101 };
        if (i->state == INSPECT_SERVER_HELLO) {
                int again = hello_may_be_asked_again(bytes, length);
                if (again >= 0)
                        i->state = again ? INSPECT_SECOND_HELLO : INSPECT_NOTHING;
                return again >= 0;
        }
        int status = http_response_status((const char *)bytes, length);
        if (status)
                i->state = status == SWITCHING ? INSPECT_NOTHING : INSPECT_HTTP;
        return status != 0;
}
