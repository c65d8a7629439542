/*
 * URL filter; see url.h.
 *
 * What it is for: an agent is told by a page, or by whoever wrote to it, to fetch something. What that must never reach
 * is this machine, its network, and the service that hands a cloud's credentials to whoever asks.
 *
 * How it works: what two readers of a URL could understand in two ways is refused and not repaired, because the one
 * that checks and the one that dials must agree: user names, backslashes, white space, control characters, percent
 * signs in the host, addresses in other than their usual spelling. What is left has one canonical form. Names that mean
 * this machine or this network by definition are refused by the table below. All others are judged by their addresses,
 * where they are looked up and dialled: by egress, for every connection (src/egress/resolve.c).
 *
 * What an attacker controls: the URL, and where a redirect leads. All is bounded.
 */
#include "policy/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char stage[] = "url";

/* It is no URL, or none that everybody reads in the same way. */
#define invalid(e, ...) error_set((e), EINVAL, stage, __VA_ARGS__)

/* --- names that are refused without looking them up --- */

#define METADATA "is the metadata service of a cloud, which hands out credentials"

static const struct {
        const char *name; /* and all names below it */
        const char *what;
} names[] = {
        { "metadata.google.internal", METADATA },
        { "metadata.goog", METADATA },
        { "metadata.azure.internal", METADATA },
        { "metadata.tencentyun.com", METADATA },
        { "metadata.platformequinix.com", METADATA },
        { "metadata.packet.net", METADATA },
        { "instance-data.ec2.internal", METADATA },
        { "localhost", "means this machine" },
        { "localdomain", "means this machine or its network" },
        { "local", "means a machine on the same cable (mDNS)" },
        /* Reserved in 2024 for networks of one's own: no public server can have such a name, and clouds call their
           inner services so. */
        { "internal", "is a name for private networks" },
        { "home.arpa", "is a name for private networks" },
        { "svc", "is a service inside a cluster" },
        { "onion", "is no name of the internet's" },
};

/* The metadata services' short names; all other single labels are refused too. */
static const char *const short_metadata[] = { "metadata", "instance-data", "rancher-metadata" };

static bool is_or_is_below(const char *host, const char *name)
{
        size_t h = strlen(host), n = strlen(name);
        return h >= n && strcmp(host + h - n, name) == 0 && (h == n || host[h - n - 1] == '.');
}

static const char *refused_name(const char *host)
{
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (is_or_is_below(host, names[i].name))
                        return names[i].what;
        for (size_t i = 0; i < ARRAY_SIZE(short_metadata); i++)
                if (strcmp(host, short_metadata[i]) == 0)
                        return METADATA;
        return strchr(host, '.') ? NULL : "is a name of the local network: it has only one label";
}

/* --- addresses --- */

static int refuse_range(const char *host, const union address *a, const struct address_range *range, struct error *e)
{
        char text[ADDRESS_TEXT_SIZE];
        address_print(a, text);
        if (strcmp(host, text) == 0)
                return error_set(e, EACCES, stage, "%s may not be fetched from: it is in %s, %s. Only public addresses may",
                                 host, range->text, range->what);
        return error_set(e, EACCES, stage,
                         "%s may not be fetched from: its address %s is in %s, %s. Only names may of which every address is "
                         "public", host, text, range->text, range->what);
}

static int check_address(const char *host, const union address *a, struct error *e)
{
        const struct address_range *range = address_refused(a);
        return range ? refuse_range(host, a, range, e) : 0;
}

/* Whether a reader could take it for an IPv4 address: its last label is a number, hexadecimal ones included. What is
   not ASCII becomes a name first, and no name looks like that. */
static bool ends_in_number(const char *host)
{
        const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;
        for (const char *p = host; *p; p++)
                if ((unsigned char)*p >= 0x80)
                        return false;
        if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
                return last[2 + strspn(last + 2, "0123456789abcdefABCDEF")] == '\0';
        return *last && last[strspn(last, "0123456789")] == '\0';
}

/* 127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433: refused either way, but by its range if it has one. */
static int refuse_odd_ipv4(const char *host, struct error *e)
{
        union address a = { .v4.sin_family = AF_INET };
        char text[ADDRESS_TEXT_SIZE];
        if (inet_aton(host, &a.v4.sin_addr) == 0)
                return invalid(e, "the host of the URL, %.60s, ends in a number like an address, but is none", host);
        if (address_refused(&a))
                return refuse_range(host, &a, address_refused(&a), e);
        address_print(&a, text);
        return invalid(e, "the host of the URL, %.60s, is an odd spelling of an address; write %s", host, text);
}

static int take_ipv4(const char *host, struct url *u, struct error *e)
{
        u->address.v4.sin_family = AF_INET;
        if (inet_pton(AF_INET, host, &u->address.v4.sin_addr) != 1)
                return refuse_odd_ipv4(host, e);
        u->is_address = true;
        address_print(&u->address, u->host);
        return check_address(u->host, &u->address, e);
}

static int take_ipv6(const char *host, struct url *u, struct error *e)
{
        if (strchr(host, '%'))
                return invalid(e, "the host of the URL is an IPv6 address with a zone, which only means something on this "
                                  "machine");
        u->address.v6.sin6_family = AF_INET6;
        if (inet_pton(AF_INET6, host, &u->address.v6.sin6_addr) != 1)
                return invalid(e, "the host of the URL is in brackets, but is no IPv6 address");
        u->is_address = true;
        address_print(&u->address, u->host);
        return check_address(u->host, &u->address, e);
}

/* --- the parts of a URL --- */

static int check_characters(const char *text, struct error *e)
{
        size_t length = strnlen(text, URL_MOST + 1);
        if (length > URL_MOST)
                return invalid(e, "the URL is longer than %d bytes", URL_MOST);
        if (text_utf8_valid(text, length) != length)
                return invalid(e, "the URL is not UTF-8 at byte %zu", text_utf8_valid(text, length) + 1);
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c == ' ')
                        return invalid(e, "the URL has a space at byte %zu; write %%20", i + 1);
                if (c < 0x20 || c == 0x7f)
                        return invalid(e, "the URL has a control character at byte %zu", i + 1);
                if (c == '\\')
                        return invalid(e, "the URL has a backslash at byte %zu; write / or %%5C", i + 1);
                if (c == '%' && !(isxdigit((unsigned char)text[i + 1]) && isxdigit((unsigned char)text[i + 2])))
                        return invalid(e, "the URL has a %% at byte %zu without two hexadecimal digits; write %%25", i + 1);
        }
        return 0;
}

static int take_scheme(const char **at, struct url *u, struct error *e)
{
        static const struct {
                const char *text;
                bool secure;
                uint16_t port;
        } schemes[] = { { "https://", true, 443 }, { "http://", false, 80 } };
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
                size_t length = strlen(schemes[i].text);
                if (strncasecmp(*at, schemes[i].text, length) != 0)
                        continue;
                u->secure = schemes[i].secure;
                u->port = schemes[i].port;
                *at += length;
                return 0;
        }
        return invalid(e, "the URL does not begin with https:// or http://; nothing else can be fetched");
}

static int take_port(const char *text, struct url *u, struct error *e)
{
        unsigned long long port = 0;
        if (!text_to_number(text, strlen(text), &port) || port < 1 || port > 65535 || *text == '0')
                return invalid(e, "the port of the URL is not a number from 1 to 65535");
        u->port = (uint16_t)port;
        return 0;
}

static int take_name(const char *host, domain_to_ascii *to_ascii, struct url *u, struct error *e)
{
        const char *wrong = domain_canonical(host, to_ascii, u->host);
        if (wrong)
                return invalid(e, "the host of the URL is not a name: %s", wrong);
        wrong = refused_name(u->host);
        return wrong ? error_set(e, EACCES, stage, "%s may not be fetched from: it %s", u->host, wrong) : 0;
}

/* A host that is no address in brackets. */
static int take_host(char *host, domain_to_ascii *to_ascii, struct url *u, struct error *e)
{
        size_t length = strlen(host);
        if (!length)
                return invalid(e, "the URL has no host");
        char *dot = host + length - 1;
        if (length > 1 && *dot == '.') {
                *dot = '\0';
                if (ends_in_number(host))
                        return take_ipv4(host, u, e);
                *dot = '.';
        }
        return ends_in_number(host) ? take_ipv4(host, u, e) : take_name(host, to_ascii, u, e);
}

static int take_authority(const char **at, domain_to_ascii *to_ascii, struct url *u, struct error *e)
{
        char authority[CAP_TEXT];
        size_t length = strcspn(*at, "/?#");
        if (length >= sizeof authority)
                return invalid(e, "the host of the URL is too long");
        memcpy(authority, *at, length);
        authority[length] = '\0';
        *at += length;
        if (strchr(authority, '@'))
                return invalid(e, "the URL has a user name in front of its host; leave it out, with its @");
        char *end = authority;
        if (*authority == '[')
                end += strcspn(authority, "]");
        char *colon = strchr(end, ':');
        int r = colon ? take_port(colon + 1, u, e) : 0;
        if (r < 0)
                return r;
        if (colon)
                *colon = '\0';
        if (*authority != '[')
                return take_host(authority, to_ascii, u, e);
        if (strcmp(end, "]") != 0)
                return invalid(e, "the URL has brackets that do not close, or something behind them");
        *end = '\0';
        return take_ipv6(authority + 1, u, e);
}

/* Adds what RFC 3986 allows there as it is, and all else as percent signs. False when it does not fit. */
static bool add_encoded(char *target, size_t *used, const char *text, size_t length, const char *also)
{
        static const char digits[] = "0123456789ABCDEF";
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                bool plain = c < 0x80 && (isalnum(c) || strchr("-._~!$&'()*+,;=:@%/", c) || strchr(also, c));
                if (*used + (plain ? 1 : 3) > URL_MOST)
                        return false;
                if (!plain) {
                        target[(*used)++] = '%';
                        target[(*used)++] = digits[c >> 4];
                        c = (unsigned char)digits[c & 15];
                }
                target[(*used)++] = (char)c;
        }
        target[*used] = '\0';
        return true;
}

/* Takes "." and ".." out of a path that begins with a slash (RFC 3986, 5.2.4); returns its new length. */
static size_t remove_dots(char *path, size_t length)
{
        size_t to = 0;
        for (size_t at = 0, next; at < length; at = next) {
                const char *slash = memchr(path + at + 1, '/', length - at - 1);
                next = slash ? (size_t)(slash - path) : length;
                size_t n = next - at; /* the segment, with the slash in front of it */
                bool up = n == 3 && memcmp(path + at, "/..", 3) == 0;
                if (up)
                        while (to && path[--to] != '/')
                                ;
                if (!up && !(n == 2 && path[at + 1] == '.')) {
                        memmove(path + to, path + at, n);
                        to += n;
                } else if (next == length) {
                        path[to++] = '/'; /* at the end it leaves its slash */
                }
        }
        return to;
}

static int take_target(const char *at, struct url *u, struct error *e)
{
        size_t path = strcspn(at, "?#"), query = at[path] == '?' ? strcspn(at + path, "#") : 0;
        size_t used = 0;
        bool fits = path ? add_encoded(u->target, &used, at, path, "") : add_encoded(u->target, &used, "/", 1, "");
        if (fits)
                u->path_length = used = remove_dots(u->target, used);
        if (!fits || !add_encoded(u->target, &used, at + path, query, "?"))
                return invalid(e, "the URL is longer than %d bytes when it is encoded", URL_MOST);
        return 0;
}

int url_parse(const char *text, domain_to_ascii *to_ascii, struct url *ret, struct error *e)
{
        struct url u = { 0 };
        int r = check_characters(text, e);
        if (r == 0)
                r = take_scheme(&text, &u, e);
        if (r == 0)
                r = take_authority(&text, to_ascii, &u, e);
        if (r == 0)
                r = take_target(text, &u, e);
        if (r == 0)
                *ret = u;
        return r;
}

static void print_origin(const struct url *u, struct text *out)
{
        bool brackets = u->is_address && u->address.any.sa_family == AF_INET6;
        text_add(out, u->secure ? "https://" : "http://");
        text_format(out, brackets ? "[%s]" : "%s", u->host);
        if (u->port != (u->secure ? 443 : 80))
                text_format(out, ":%u", u->port);
}

void url_print(const struct url *u, struct text *out)
{
        print_origin(u, out);
        text_add(out, u->target);
}

/* --- redirects --- */

/* "name:" in front, so that it is relative to nothing (RFC 3986, 4.1). */
static bool has_scheme(const char *location)
{
        size_t n = 0;
        while (isalnum((unsigned char)location[n]) || (location[n] && strchr("+-.", location[n])))
                n++;
        return isalpha((unsigned char)*location) && location[n] == ':';
}

/* What the location means where it was found (RFC 3986, 5.2.2); its dots are taken out when it is parsed. */
static void resolve_location(const struct url *from, const char *location, struct text *out)
{
        if (has_scheme(location)) {
                text_add(out, location);
                return;
        }
        if (text_starts(location, "//")) {
                text_format(out, "%s:%s", from->secure ? "https" : "http", location);
                return;
        }
        size_t kept = 0;
        if (!*location || *location == '#')
                kept = strlen(from->target);
        else if (*location == '?')
                kept = from->path_length;
        else if (*location != '/')
                for (kept = from->path_length; from->target[kept - 1] != '/'; kept--)
                        ;
        print_origin(from, out);
        text_add_bytes(out, from->target, kept);
        text_add(out, location);
}

int url_redirect(const struct url *from, const char *location, domain_to_ascii *to_ascii, struct url *ret,
                 struct error *e)
{
        char prefix[CAP_DOMAIN + 64];
        struct url to = { 0 };
        CLEANUP_TEXT struct text whole = { 0 };
        if (from->redirects >= URL_REDIRECTS_MOST)
                return error_set(e, ELOOP, stage, "%s redirects once more after %d redirects; they may go round in a circle",
                                 from->host, URL_REDIRECTS_MOST);
        int r = check_characters(location, e); /* first of all, so that it is bounded */
        if (r == 0) {
                resolve_location(from, location, &whole);
                r = whole.failed ? error_set(e, ENOMEM, stage, "no memory") : url_parse(whole.data, to_ascii, &to, e);
        }
        if (r == 0 && from->secure && !to.secure)
                r = error_set(e, EACCES, stage, "it leads from https to http, to %s", to.host);
        if (r == 0) {
                to.redirects = from->redirects + 1;
                *ret = to; /* which may be `from` */
                return 0;
        }
        (void)snprintf(prefix, sizeof prefix, "a redirect of %s is not followed", from->host);
        (void)error_wrap(e, prefix);
        return r;
}
