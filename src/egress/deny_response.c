/* Refusals; see deny_response.h. */
#include "egress/deny_response.h"

#include "egress/client_hello.h"
#include "egress/socks.h"

static void write_http(const char *status, const char *headers, const struct text *body, struct text *out)
{
        text_format(out,
                    "HTTP/1.1 %s\r\n%sContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                    status, headers, body->length, body->data ? body->data : "");
}

/* The host is allowed, but could not be reached. Relies on the order of enum deny_reason. */
static bool is_unreachable(enum deny_reason reason)
{
        return reason >= REASON_NAME_NOT_FOUND && reason <= REASON_UPSTREAM_REJECTED;
}

static void write_http_refusal(const struct egress_event *event, struct text *out)
{
        CLEANUP_TEXT struct text body = { 0 };
        bool unreachable = is_unreachable(event->reason);
        text_add(&body, unreachable ? "ringwall: cannot reach " : "ringwall: refused: ");
        egress_event_add_reason(event, &body);
        egress_event_add_remedy(event, egress_allowance_prefix, &body);
        text_add(&body, "\n");
        write_http(unreachable                              ? "502 Bad Gateway"
                   : event->reason == REASON_MALFORMED_HTTP ? "400 Bad Request"
                                                            : "403 Forbidden",
                   "", &body, out);
}

void deny_response_write(const struct egress_event *event, int first_byte, struct text *out)
{
        static const char alert[] = { 0x15, 3, 3, 0, 2, 2, 49 }; /* fatal, access denied */
        if (event->listener == LISTENER_SOCKS_PROXY)
                socks_reply(is_unreachable(event->reason) ? SOCKS_HOST_UNREACHABLE : SOCKS_FORBIDDEN, out);
        else if (event->listener == LISTENER_HTTP_PROXY || (first_byte >= 'A' && first_byte <= 'Z'))
                write_http_refusal(event, out);
        else if (first_byte == TLS_HANDSHAKE_RECORD)
                text_add_bytes(out, alert, sizeof alert);
}

void proxy_auth_challenge_write(struct text *out)
{
        CLEANUP_TEXT struct text body = { 0 };
        text_add(&body, "ringwall: refused: the proxy needs the token that is in http_proxy\n");
        write_http("407 Proxy Authentication Required",
                   "Proxy-Authenticate: Basic realm=\"ringwall\"\r\nProxy-Connection: close\r\n", &body, out);
}
