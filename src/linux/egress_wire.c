/* What the reasons of egress_wire.h mean, for programs and for people. */
#include "linux/egress_wire.h"

#include <string.h>

#include "policy/default_ports.h"

const struct egress_reason_row egress_reasons[REASON_COUNT] = {
        [REASON_NONE] = { "none", "", ALLOW_NOTHING },
        [REASON_NAME] = { "name", "no rule allows it", ALLOW_HOST },
        [REASON_DENIED] = { "denied", "it is denied", ALLOW_NOTHING },
        [REASON_PORT] = { "port", "it is allowed on other ports", ALLOW_PORT },
        [REASON_NO_NAME] = { "address", "hosts are reached by their names", ALLOW_NOTHING },
        [REASON_PRIVATE] = { "private", "it leads into a network that is not public", ALLOW_PRIVATE },
        [REASON_OWN] = { "own", "it leads to this machine", ALLOW_PRIVATE },
        [REASON_UNKNOWN] = { "unknown", "there is no such name", ALLOW_NOTHING },
        [REASON_UNREACHABLE] = { "unreachable", "it cannot be reached from here", ALLOW_NOTHING },
        [REASON_PROXY] = { "proxy", "the proxy that HTTPS_PROXY names cannot be reached", ALLOW_NOTHING },
        [REASON_PROXY_REFUSED] = { "proxy_refused", "the proxy that HTTPS_PROXY names lets nobody through", ALLOW_NOTHING },
        [REASON_NO_TLS] = { "no_tls", "on port 443 only TLS passes", ALLOW_NOTHING },
        [REASON_NO_HTTP] = { "no_http", "on port 80 only HTTP/1 passes", ALLOW_NOTHING },
        [REASON_BAD_TLS] = { "bad_tls", "its TLS is not well formed", ALLOW_NOTHING },
        [REASON_BAD_HTTP] = { "bad_http", "its HTTP is not well formed", ALLOW_NOTHING },
        [REASON_NO_SNI] = { "no_sni", "its TLS names no host", ALLOW_NOTHING },
        [REASON_OTHER_SNI] = { "other_sni", "its TLS names another host", ALLOW_NOTHING },
        [REASON_ECH] = { "ech", "its TLS hides the host's name", ALLOW_NOTHING },
        [REASON_OTHER_HOST] = { "other_host", "its HTTP names another host", ALLOW_NOTHING },
        [REASON_OTHERS] = { "others", "which are too many to tell each", ALLOW_NOTHING },
        [REASON_TOKEN] = { "token", "somebody asked the box's proxy with a wrong token", ALLOW_NOTHING },
        [REASON_TOO_MANY] = { "too_many", "the box has asked for too many names", ALLOW_NOTHING },
};

const char egress_way_out[] = "; to allow it: ";

const char *const egress_ways[EGRESS_WAYS] = {
        [EGRESS_TRANSPARENT] = "direct",      [EGRESS_DNS_PACKETS] = "dns",         [EGRESS_DNS_STREAM] = "dns",
        [EGRESS_HTTP_PROXY] = "http_proxy",   [EGRESS_SOCKS_PROXY] = "socks_proxy", [EGRESS_LOCAL_PORT] = "local_port",
        [EGRESS_COMPLETE] = "none",           [EGRESS_PUBLISHED] = "published",
};

bool egress_is_same(const struct egress_event *a, const struct egress_event *b)
{
        return a->reason == b->reason && a->port == b->port && strcmp(a->host, b->host) == 0 && strcmp(a->other, b->other) == 0 &&
               strcmp(a->address, b->address) == 0;
}

void egress_add_allowance(const struct egress_event *event, const char *before, struct text *out)
{
        enum egress_allow allow = egress_reasons[event->reason].allow;
        bool usual = !event->port || port_is_default(NULL, event->port);
        if (!*event->host || allow == ALLOW_NOTHING)
                return;
        text_format(out, "%s%s %s", before, allow == ALLOW_PRIVATE ? "--allow-private" : "--allow-domain", event->host);
        if (allow == ALLOW_PORT || (allow == ALLOW_HOST && !usual))
                text_format(out, ":%u", event->port);
}

void egress_add_reason(const struct egress_event *event, struct text *out)
{
        bool known = *event->host || *event->address;
        text_add(out, *event->host ? event->host : known ? event->address : "what the box's proxy was asked for");
        if (event->port && known)
                text_format(out, " port %u", event->port);
        text_format(out, ", %s", egress_reasons[event->reason].why);
        if (*event->other)
                text_format(out, " (%s)", event->other);
}
