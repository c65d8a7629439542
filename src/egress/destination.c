/* Destinations; see destination.h. */
#include "egress/destination.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/text.h"
#include "policy/host_pattern.h"

static const char bad_port[] = "a port is a number from 1 to 65535";

const char *destination_from_address(int family, const void *bytes, uint16_t port, struct destination *ret)
{
        struct destination d = { .port = port, .is_address = true };
        if (!inet_ntop(family, bytes, d.host, sizeof d.host))
                return "this is not an address";
        if (!port)
                return bad_port;
        *ret = d;
        return NULL;
}

const char *destination_from_name(const char *name, size_t length, uint16_t port, struct destination *ret)
{
        struct destination d = { .port = port };
        char copy[DOMAIN_MAX + 2]; /* a name may end in a dot */
        struct in_addr address;
        if (!length)
                return "the host is empty";
        if (length >= sizeof copy)
                return "a host name has at most 253 characters";
        if (memchr(name, '\0', length))
                return "a host name has no white space or control characters";
        memcpy(copy, name, length);
        copy[length] = '\0';
        if (inet_pton(AF_INET, copy, &address) == 1)
                return destination_from_address(AF_INET, &address, port, ret);
        const char *wrong = host_name_canonicalize(copy, NULL, d.host);
        if (!wrong && !port)
                wrong = bad_port;
        if (!wrong)
                *ret = d;
        return wrong;
}

/* The text between brackets. */
static const char *from_ipv6(const char *text, size_t length, uint16_t port, struct destination *ret)
{
        char copy[INET6_ADDRSTRLEN];
        struct in6_addr address;
        if (length >= sizeof copy || memchr(text, '\0', length))
                return "the text in brackets is not an IPv6 address";
        memcpy(copy, text, length);
        copy[length] = '\0';
        if (inet_pton(AF_INET6, copy, &address) != 1)
                return "the text in brackets is not an IPv6 address";
        return destination_from_address(AF_INET6, &address, port, ret);
}

const char *destination_parse(const char *text, size_t length, uint16_t port, struct destination *ret)
{
        const char *bracket = length && *text == '[' ? memchr(text, ']', length) : NULL;
        const char *from = bracket ? bracket + 1 : text, *end = text + length;
        const char *colon = memchr(from, ':', (size_t)(end - from));
        unsigned long long number = port;
        if (bracket && from != end && from != colon)
                return "only a port may follow the brackets of an address";
        if (colon && (!text_parse_unsigned(colon + 1, (size_t)(end - colon) - 1, &number) || colon[1] == '0'))
                return bad_port;
        if (!colon && !port)
                return "there is no port; write host:port";
        if (number < 1 || number > UINT16_MAX)
                return bad_port;
        if (bracket)
                return from_ipv6(text + 1, (size_t)(bracket - text) - 1, (uint16_t)number, ret);
        return destination_from_name(text, (size_t)((colon ? colon : end) - text), (uint16_t)number, ret);
}

bool destination_equal(const struct destination *a, const struct destination *b)
{
        return strcmp(a->host, b->host) == 0 && a->port == b->port && a->is_address == b->is_address;
}
