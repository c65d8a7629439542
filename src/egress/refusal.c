/* Refusals; see refusal.h. */
#include "egress/refusal.h"

#include "egress/hello.h"
#include "egress/socks.h"

static void write_http(const char *status, const char *headers, const struct text *body, struct text *out)
{
        text_format(out,
                    "HTTP/1.1 %s\r\n%sContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                    status, headers, body->length, body->data ? body->data : "");
}

/* The host is allowed, but could not be reached. */
static bool is_unreachable(enum egress_reason reason)
{
        return reason >= REASON_UNKNOWN && reason <= REASON_PROXY_REFUSED;
}

static void write_http_refusal(const struct egress_event *event, struct text *out)
{
        CLEANUP_TEXT struct text body = { 0 };
        bool unreachable = is_unreachable(event->reason);
        text_add(&body, unreachable ? "ringwall: cannot reach " : "ringwall: refused: ");
        egress_add_reason(event, &body);
        egress_add_allowance(event, egress_allowance_prefix, &body);
        text_add(&body, "\n");
        write_http(unreachable                        ? "502 Bad Gateway"
                   : event->reason == REASON_BAD_HTTP ? "400 Bad Request"
                                                      : "403 Forbidden",
                   "", &body, out);
}

void refusal_write(const struct egress_event *event, int first_byte, struct text *out)
{
        static const char alert[] = { 0x15, 3, 3, 0, 2, 2, 49 }; /* fatal, access denied */
        if (event->entrance == EGRESS_SOCKS_PROXY)
                socks_reply(is_unreachable(event->reason) ? SOCKS_HOST_UNREACHABLE : SOCKS_FORBIDDEN, out);
        else if (event->entrance == EGRESS_HTTP_PROXY || (first_byte >= 'A' && first_byte <= 'Z'))
                write_http_refusal(event, out);
        else if (first_byte == HELLO_FIRST_BYTE)
                text_add_bytes(out, alert, sizeof alert);
}

void refusal_write_challenge(struct text *out)
{
        CLEANUP_TEXT struct text body = { 0 };
        text_add(&body, "ringwall: refused: the proxy needs the token that is in http_proxy\n");
        write_http("407 Proxy Authentication Required",
                   "Proxy-Authenticate: Basic realm=\"ringwall\"\r\nProxy-Connection: close\r\n", &body, out);
}
