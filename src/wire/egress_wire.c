/* The words for the reasons of egress_wire.h, in records and for people. */
#include "wire/egress_wire.h"

#include <string.h>

#include "policy/default_ports.h"

const struct egress_reason_row egress_reasons[REASON_COUNT] = {
        [REASON_NONE] = { "none", "", ALLOW_NOTHING },
        [REASON_NAME] = { "name", "no rule allows it", ALLOW_HOST },
        [REASON_DENIED] = { "denied", "it is denied", ALLOW_NOTHING },
        [REASON_PORT] = { "port", "it is allowed on other ports", ALLOW_PORT },
        [REASON_NO_NAME] = { "address", "hosts must be reached by name, not by address", ALLOW_NOTHING },
        [REASON_PRIVATE] = { "private", "it resolves to an address that is not public", ALLOW_PRIVATE },
        [REASON_OWN] = { "own", "it resolves to this machine", ALLOW_PRIVATE },
        [REASON_UNKNOWN] = { "unknown", "the name cannot be resolved", ALLOW_NOTHING },
        [REASON_UNREACHABLE] = { "unreachable", "it cannot be reached from here", ALLOW_NOTHING },
        [REASON_PROXY] = { "proxy", "the proxy in HTTPS_PROXY cannot be reached", ALLOW_NOTHING },
        [REASON_PROXY_REFUSED] = { "proxy_refused", "the proxy in HTTPS_PROXY did not open a connection",
                                   ALLOW_NOTHING },
        [REASON_NO_TLS] = { "no_tls", "only TLS is allowed on port 443", ALLOW_NOTHING },
        [REASON_NO_HTTP] = { "no_http", "only HTTP/1 is allowed on port 80", ALLOW_NOTHING },
        [REASON_BAD_TLS] = { "bad_tls", "the TLS handshake is malformed", ALLOW_NOTHING },
        [REASON_BAD_HTTP] = { "bad_http", "the HTTP request is malformed", ALLOW_NOTHING },
        [REASON_NO_SNI] = { "no_sni", "the TLS handshake does not name a host (SNI)", ALLOW_NOTHING },
        [REASON_OTHER_SNI] = { "other_sni", "the TLS handshake names another host", ALLOW_NOTHING },
        [REASON_ECH] = { "ech", "the TLS handshake encrypts the host name with ECH", ALLOW_NOTHING },
        [REASON_OTHER_HOST] = { "other_host", "the HTTP request names another host", ALLOW_NOTHING },
        [REASON_OTHERS] = { "others", "too many to list", ALLOW_NOTHING },
        [REASON_TOKEN] = { "token", "a client sent a wrong token to the box's proxy", ALLOW_NOTHING },
        [REASON_TOO_MANY] = { "too_many", "the box has asked for too many names", ALLOW_NOTHING },
};

const char egress_allowance_prefix[] = "; to allow it: ";

const char *const egress_entrance_names[EGRESS_ENTRANCE_COUNT] = {
        [EGRESS_TRANSPARENT] = "direct",    [EGRESS_DNS_PACKETS] = "dns",         [EGRESS_DNS_STREAM] = "dns",
        [EGRESS_HTTP_PROXY] = "http_proxy", [EGRESS_SOCKS_PROXY] = "socks_proxy", [EGRESS_LOCAL_PORT] = "local_port",
        [EGRESS_PUBLISHED] = "published",
};

bool egress_is_same(const struct egress_event *a, const struct egress_event *b)
{
        return a->reason == b->reason && a->port == b->port && strcmp(a->host, b->host) == 0 &&
               strcmp(a->other, b->other) == 0 && strcmp(a->address, b->address) == 0;
}

void egress_add_allowance(const struct egress_event *event, const char *prefix, struct text *out)
{
        enum egress_allow allow = egress_reasons[event->reason].allow;
        bool is_default_port = !event->port || port_is_default(NULL, event->port);
        if (!*event->host || allow == ALLOW_NOTHING)
                return;
        text_format(out, "%s%s %s", prefix, allow == ALLOW_PRIVATE ? "--allow-private" : "--allow-domain", event->host);
        if (allow == ALLOW_PORT || (allow == ALLOW_HOST && !is_default_port))
                text_format(out, ":%u", event->port);
}

void egress_add_reason(const struct egress_event *event, struct text *out)
{
        bool known = *event->host || *event->address;
        text_add(out, *event->host ? event->host : known ? event->address : "a request to the box's proxy");
        if (event->port && known)
                text_format(out, " port %u", event->port);
        text_format(out, ", %s", egress_reasons[event->reason].why);
        if (*event->other)
                text_format(out, " (%s)", event->other);
}
