/* The words for the reasons of egress_protocol.h, in records and for people. */
#include "wire/egress_protocol.h"

#include <string.h>

#include "policy/default_ports.h"

const struct deny_reason_info deny_reasons[REASON_COUNT] = {
        [REASON_NONE] = { "none", "", REMEDY_NONE },
        [REASON_HOST_NOT_ALLOWED] = { "name", "no rule allows it", REMEDY_ALLOW_HOST },
        [REASON_HOST_DENIED] = { "denied", "it is denied", REMEDY_NONE },
        [REASON_PORT_NOT_ALLOWED] = { "port", "it is allowed on other ports", REMEDY_ALLOW_PORT },
        [REASON_RAW_ADDRESS] = { "address", "hosts must be reached by name, not by address", REMEDY_NONE },
        [REASON_PRIVATE_ADDRESS] = { "private", "it resolves to an address that is not public", REMEDY_ALLOW_PRIVATE },
        [REASON_LOCAL_ADDRESS] = { "own", "it resolves to this machine", REMEDY_ALLOW_PRIVATE },
        [REASON_NAME_NOT_FOUND] = { "unknown", "the name cannot be resolved", REMEDY_NONE },
        [REASON_UNREACHABLE] = { "unreachable", "it cannot be reached from here", REMEDY_NONE },
        [REASON_UPSTREAM_UNREACHABLE] = { "proxy", "the proxy in HTTPS_PROXY cannot be reached", REMEDY_NONE },
        [REASON_UPSTREAM_REJECTED] = { "proxy_refused", "the proxy in HTTPS_PROXY did not open a connection",
                                   REMEDY_NONE },
        [REASON_NOT_TLS] = { "no_tls", "only TLS is allowed on port 443", REMEDY_NONE },
        [REASON_NOT_HTTP] = { "no_http", "only HTTP/1 is allowed on port 80", REMEDY_NONE },
        [REASON_MALFORMED_TLS] = { "bad_tls", "the TLS handshake is malformed", REMEDY_NONE },
        [REASON_MALFORMED_HTTP] = { "bad_http", "the HTTP request is malformed", REMEDY_NONE },
        [REASON_NO_SNI] = { "no_sni", "the TLS handshake does not name a host (SNI)", REMEDY_NONE },
        [REASON_SNI_MISMATCH] = { "other_sni", "the TLS handshake names another host", REMEDY_NONE },
        [REASON_ECH] = { "ech", "the TLS handshake encrypts the host name with ECH", REMEDY_NONE },
        [REASON_HOST_MISMATCH] = { "other_host", "the HTTP request names another host", REMEDY_NONE },
        [REASON_OVERFLOW] = { "others", "too many to list", REMEDY_NONE },
        [REASON_BAD_TOKEN] = { "token", "a client sent a wrong token to the box's proxy", REMEDY_NONE },
        [REASON_TOO_MANY_NAMES] = { "too_many", "the box has asked for too many names", REMEDY_NONE },
};

const char egress_allowance_prefix[] = "; to allow it: ";

const char *const egress_listener_names[EGRESS_LISTENER_COUNT] = {
        [LISTENER_TRANSPARENT] = "direct",
        [LISTENER_DNS_UDP] = "dns",
        [LISTENER_DNS_TCP] = "dns",
        [LISTENER_HTTP_PROXY] = "http_proxy",
        [LISTENER_SOCKS_PROXY] = "socks_proxy",
        [LISTENER_LOCAL_PORT] = "local_port",
        [LISTENER_PUBLISHED_PORT] = "published",
};

bool egress_event_same(const struct egress_event *a, const struct egress_event *b)
{
        return a->reason == b->reason && a->port == b->port && strcmp(a->host, b->host) == 0 &&
               strcmp(a->other, b->other) == 0 && strcmp(a->address, b->address) == 0;
}

void egress_event_add_remedy(const struct egress_event *event, const char *prefix, struct text *out)
{
        enum deny_remedy allow = deny_reasons[event->reason].allow;
        bool is_default_port = !event->port || port_is_default(NULL, event->port);
        if (!*event->host || allow == REMEDY_NONE)
                return;
        text_format(out, "%s%s %s", prefix, allow == REMEDY_ALLOW_PRIVATE ? "--allow-private" : "--allow-domain",
                    event->host);
        if (allow == REMEDY_ALLOW_PORT || (allow == REMEDY_ALLOW_HOST && !is_default_port))
                text_format(out, ":%u", event->port);
}

void egress_event_add_reason(const struct egress_event *event, struct text *out)
{
        bool known = *event->host || *event->address;
        text_add(out, *event->host ? event->host : known ? event->address : "a request to the box's proxy");
        if (event->port && known)
                text_format(out, " port %u", event->port);
        text_format(out, ", %s", deny_reasons[event->reason].why);
        if (*event->other)
                text_format(out, " (%s)", event->other);
}
