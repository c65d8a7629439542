/*
 * Addresses that a fetch never reaches; see address.h.
 *
 * How it works: two tables, searched from the top. Narrow ranges come before the wide ones that contain them, so that
 * a refusal names the metadata service and not just link-local. An IPv4 address in no row is public. In IPv6 only
 * 2000::/3 is allocated, so the last rows refuse everything outside it, also what may be allocated later.
 *
 * An IPv6 address that embeds an IPv4 address (mapped, compatible, translated, 6to4, Teredo) is refused, whichever
 * address it embeds: a public IPv4 server can be named by its own address.
 *
 * Not detected: a network whose NAT64 uses a prefix out of its own public addresses.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define METADATA "the metadata service of a cloud, which hands out credentials"

static const struct address_range v4[] = {
        { "169.254.169.254/32", METADATA, 32, { 169, 254, 169, 254 } },
        { "169.254.170.2/32", METADATA, 32, { 169, 254, 170, 2 } },
        { "169.254.170.23/32", METADATA, 32, { 169, 254, 170, 23 } },
        { "100.100.100.200/32", METADATA, 32, { 100, 100, 100, 200 } },
        { "168.63.129.16/32", METADATA, 32, { 168, 63, 129, 16 } },
        { "192.0.0.192/32", METADATA, 32, { 192, 0, 0, 192 } },
        { "0.0.0.0/32", "the unspecified address, which means this machine", 32, { 0 } },
        { "255.255.255.255/32", "broadcast", 32, { 255, 255, 255, 255 } },
        { "127.0.0.0/8", "loopback: this machine", 8, { 127 } },
        { "10.0.0.0/8", "a private network", 8, { 10 } },
        { "172.16.0.0/12", "a private network", 12, { 172, 16 } },
        { "192.168.0.0/16", "a private network", 16, { 192, 168 } },
        { "169.254.0.0/16", "link-local: the machines on the same link", 16, { 169, 254 } },
        { "100.64.0.0/10", "a provider's internal network (CGNAT)", 10, { 100, 64 } },
        { "0.0.0.0/8", "\"this network\", which means this machine", 8, { 0 } },
        { "192.0.0.0/24", "reserved for protocols", 24, { 192, 0, 0 } },
        { "192.0.2.0/24", "for documentation", 24, { 192, 0, 2 } },
        { "198.51.100.0/24", "for documentation", 24, { 198, 51, 100 } },
        { "203.0.113.0/24", "for documentation", 24, { 203, 0, 113 } },
        { "192.88.99.0/24", "a relay to IPv6 (6to4)", 24, { 192, 88, 99 } },
        { "198.18.0.0/15", "for benchmarks of network devices", 15, { 198, 18 } },
        { "224.0.0.0/4", "multicast", 4, { 224 } },
        { "240.0.0.0/4", "reserved", 4, { 240 } },
};

static const struct address_range v6[] = {
        { "fd00:ec2::254/128", METADATA, 128, { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54 } },
        { "fd20:ce::254/128", METADATA, 128, { 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54 } },
        { "::1/128", "loopback: this machine", 128, { [15] = 1 } },
        { "::/128", "the unspecified address, which means this machine", 128, { 0 } },
        { "::ffff:0:0/96", "an IPv4 address embedded in IPv6 (mapped)", 96, { [10] = 0xff, 0xff } },
        { "::ffff:0:0:0/96", "an IPv4 address embedded in IPv6 (translated)", 96, { [8] = 0xff, 0xff } },
        { "::/96", "an IPv4 address embedded in IPv6 (compatible)", 96, { 0 } },
        { "64:ff9b::/96", "an IPv4 address embedded in IPv6 (NAT64)", 96, { 0, 0x64, 0xff, 0x9b } },
        { "64:ff9b:1::/48", "an IPv4 address embedded in IPv6 (local NAT64)", 48, { 0, 0x64, 0xff, 0x9b, 0, 1 } },
        { "2002::/16", "an IPv4 address embedded in IPv6 (6to4)", 16, { 0x20, 0x02 } },
        { "2001::/32", "an IPv4 address embedded in IPv6 (Teredo)", 32, { 0x20, 0x01 } },
        { "fe80::/10", "link-local: the machines on the same link", 10, { 0xfe, 0x80 } },
        { "fec0::/10", "a private network (site-local)", 10, { 0xfe, 0xc0 } },
        { "fc00::/7", "a private network", 7, { 0xfc } },
        { "ff00::/8", "multicast", 8, { 0xff } },
        { "100::/64", "the discard prefix: packets to it are dropped", 64, { 0x01 } },
        { "2001:2::/48", "for benchmarks of network devices", 48, { 0x20, 0x01, 0, 0x02 } },
        { "2001:10::/28", "a key's hash, not an address (ORCHID)", 28, { 0x20, 0x01, 0, 0x10 } },
        { "2001:20::/28", "a key's hash, not an address (ORCHIDv2)", 28, { 0x20, 0x01, 0, 0x20 } },
        { "2001::/23", "reserved for protocols", 23, { 0x20, 0x01 } },
        { "2001:db8::/32", "for documentation", 32, { 0x20, 0x01, 0x0d, 0xb8 } },
        { "3fff::/20", "for documentation", 20, { 0x3f, 0xff } },
        /* Everything except 2000::/3. */
        { "::/3", "outside the range allocated to public servers", 3, { 0 } },
        { "4000::/2", "outside the range allocated to public servers", 2, { 0x40 } },
        { "8000::/1", "outside the range allocated to public servers", 1, { 0x80 } },
};

static const struct address_range not_ip = { "no IP range", "its address family is neither IPv4 nor IPv6", 0, { 0 } };

static bool contains(const struct address_range *range, const uint8_t *bytes)
{
        size_t whole_bytes = range->bits / 8, more_bits = range->bits % 8;
        if (memcmp(range->bytes, bytes, whole_bytes) != 0)
                return false;
        return !more_bits || (range->bytes[whole_bytes] ^ bytes[whole_bytes]) >> (8 - more_bits) == 0;
}

static const struct address_range *find(const struct address_range *table, size_t count, const void *bytes)
{
        for (size_t i = 0; i < count; i++)
                if (contains(&table[i], bytes))
                        return &table[i];
        return NULL;
}

const struct address_range *address_find_refused_range(const union address *a)
{
        if (a->any.sa_family == AF_INET)
                return find(v4, ARRAY_SIZE(v4), &a->v4.sin_addr);
        if (a->any.sa_family == AF_INET6)
                return find(v6, ARRAY_SIZE(v6), &a->v6.sin6_addr);
        return &not_ip;
}

const struct address_range *address_blocked_range_at(size_t index)
{
        if (index < ARRAY_SIZE(v4))
                return &v4[index];
        index -= ARRAY_SIZE(v4);
        return index < ARRAY_SIZE(v6) ? &v6[index] : NULL;
}

bool address_parse(const char *text, union address *ret)
{
        *ret = (union address){ .v6 = { 0 } };
        ret->any.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
        return inet_pton(ret->any.sa_family, text,
                         ret->any.sa_family == AF_INET6 ? (void *)&ret->v6.sin6_addr : &ret->v4.sin_addr) == 1;
}

void address_print(const union address *a, char ret[ADDRESS_TEXT_SIZE])
{
        const void *bytes = a->any.sa_family == AF_INET ? (const void *)&a->v4.sin_addr : &a->v6.sin6_addr;
        if ((a->any.sa_family != AF_INET && a->any.sa_family != AF_INET6) ||
            !inet_ntop(a->any.sa_family, bytes, ret, ADDRESS_TEXT_SIZE))
                (void)snprintf(ret, ADDRESS_TEXT_SIZE, "an unknown address");
}
