/*
 * URL filter; see url_filter.h.
 *
 * What it is for: a web page, or any text that an agent reads, may tell the agent to fetch a URL. Such a fetch must
 * never reach this machine, its network, or the metadata service that gives out a cloud's credentials.
 *
 * How it works: a URL that two parsers could read differently is refused, not repaired, because the parser that checks
 * and the one that dials must agree: user names, backslashes, white space, control characters, percent signs in the
 * host, addresses in an unusual spelling. Every other URL has one canonical form. Names that by definition mean this
 * machine or its network are refused by the table below. Egress checks the addresses of all other names when it
 * resolves and dials them, for every connection (src/egress/resolve.c).
 *
 * What an attacker controls: the URL, and the location of a redirect. The length of both is bounded.
 */
#include "policy/url_filter.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The text is not a URL, or is ambiguous. */
#define invalid(e, ...) error_set((e), EINVAL, __VA_ARGS__)

/* --- names that are refused without looking them up --- */

#define METADATA "is the metadata service of a cloud, which hands out credentials"

static const struct {
        const char *name; /* stands for itself and all names below it */
        const char *what;
} refused_names[] = {
        { "metadata.google.internal", METADATA },
        { "metadata.goog", METADATA },
        { "metadata.azure.internal", METADATA },
        { "metadata.tencentyun.com", METADATA },
        { "metadata.platformequinix.com", METADATA },
        { "metadata.packet.net", METADATA },
        { "instance-data.ec2.internal", METADATA },
        { "localhost", "means this machine" },
        { "localdomain", "means this machine or its network" },
        { "local", "means a machine on the same link (mDNS)" },
        /* Reserved in 2024 for private networks: no public server can have such a name, and clouds use it for their
           internal services. */
        { "internal", "is a name for private networks" },
        { "home.arpa", "is a name for private networks" },
        { "svc", "is a service inside a cluster" },
        { "onion", "is not a name of the public DNS" },
};

/* Short names of metadata services, for a better message: any other single label is refused too. */
static const char *const short_metadata[] = { "metadata", "instance-data", "rancher-metadata" };

static bool is_or_is_below(const char *host, const char *name)
{
        size_t h = strlen(host), n = strlen(name);
        return h >= n && strcmp(host + h - n, name) == 0 && (h == n || host[h - n - 1] == '.');
}

static const char *find_refused_name(const char *host)
{
        for (size_t i = 0; i < ARRAY_SIZE(refused_names); i++)
                if (is_or_is_below(host, refused_names[i].name))
                        return refused_names[i].what;
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
                return error_set(e, EACCES, "%s may not be fetched from: it is in %s, %s. Only public addresses are "
                                            "allowed",
                                 host, range->text, range->what);
        return error_set(e, EACCES,
                         "%s may not be fetched from: its address %s is in %s, %s. Only names whose "
                         "addresses are all public are allowed",
                         host, text, range->text, range->what);
}

static int check_address(const char *host, const union address *a, struct error *e)
{
        const struct address_range *range = address_find_refused_range(a);
        return range ? refuse_range(host, a, range, e) : 0;
}

/* Could a parser take this for an IPv4 address? True if the last label is a decimal or hexadecimal number. A host with
   other than ASCII characters is converted to a name first, and no name looks like that. */
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

/* 127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433: always refused, by the range of the address if that is refused too. */
static int refuse_odd_ipv4(const char *host, struct error *e)
{
        union address a = { .v4.sin_family = AF_INET };
        char text[ADDRESS_TEXT_SIZE];
        if (inet_aton(host, &a.v4.sin_addr) == 0)
                return invalid(e, "the host of the URL, %.60s, ends in a number like an address, but is not one", host);
        if (address_find_refused_range(&a))
                return refuse_range(host, &a, address_find_refused_range(&a), e);
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
                return invalid(e, "the host of the URL is an IPv6 address with a zone, which only means something on "
                                  "this machine");
        u->address.v6.sin6_family = AF_INET6;
        if (inet_pton(AF_INET6, host, &u->address.v6.sin6_addr) != 1)
                return invalid(e, "the host of the URL is in brackets, but is not an IPv6 address");
        u->is_address = true;
        address_print(&u->address, u->host);
        return check_address(u->host, &u->address, e);
}

/* --- the parts of a URL --- */

static int check_characters(const char *text, struct error *e)
{
        size_t length = strnlen(text, URL_MAX + 1);
        if (length > URL_MAX)
                return invalid(e, "the URL is longer than %d bytes", URL_MAX);
        if (text_utf8_valid_length(text, length) != length)
                return invalid(e, "the URL is not UTF-8 at byte %zu", text_utf8_valid_length(text, length) + 1);
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c == ' ')
                        return invalid(e, "the URL has a space at byte %zu; write %%20", i + 1);
                if (c < 0x20 || c == 0x7f)
                        return invalid(e, "the URL has a control character at byte %zu", i + 1);
                if (c == '\\')
                        return invalid(e, "the URL has a backslash at byte %zu; write / or %%5C", i + 1);
                if (c == '%' && !(isxdigit((unsigned char)text[i + 1]) && isxdigit((unsigned char)text[i + 2])))
                        return invalid(e, "the URL has a %% at byte %zu without two hexadecimal digits; write %%25",
                                       i + 1);
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
        if (!text_parse_unsigned(text, strlen(text), &port) || port < 1 || port > 65535 || *text == '0')
                return invalid(e, "the port of the URL is not a number from 1 to 65535");
        u->port = (uint16_t)port;
        return 0;
}

static int take_name(const char *host, to_ascii_function *to_ascii, struct url *u, struct error *e)
{
        const char *wrong = host_name_canonicalize(host, to_ascii, u->host);
        if (wrong)
                return invalid(e, "the host of the URL is not a name: %s", wrong);
        wrong = find_refused_name(u->host);
        return wrong ? error_set(e, EACCES, "%s may not be fetched from: it %s", u->host, wrong) : 0;
}

/* A host without brackets: a name or an IPv4 address. */
static int take_host(char *host, to_ascii_function *to_ascii, struct url *u, struct error *e)
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

static int take_authority(const char **at, to_ascii_function *to_ascii, struct url *u, struct error *e)
{
        char authority[POLICY_TEXT_MAX];
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
                return invalid(e, "the URL has brackets that do not close, or something after them");
        *end = '\0';
        return take_ipv6(authority + 1, u, e);
}

/* Adds text, percent-encoding characters that RFC 3986 does not allow there. False when it does not fit. */
static bool add_encoded(char *target, size_t *used, const char *text, size_t length, const char *also_plain)
{
        static const char digits[] = "0123456789ABCDEF";
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                bool plain = c < 0x80 && (isalnum(c) || strchr("-._~!$&'()*+,;=:@%/", c) || strchr(also_plain, c));
                if (*used + (plain ? 1 : 3) > URL_MAX)
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

/* Removes "." and ".." from a path that begins with a slash (RFC 3986, 5.2.4); returns the new length. */
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
                        path[to++] = '/'; /* a "." or ".." at the end leaves a slash */
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
                return invalid(e, "the URL is longer than %d bytes when it is encoded", URL_MAX);
        return 0;
}

int url_parse(const char *text, to_ascii_function *to_ascii, struct url *ret, struct error *e)
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

/* Does the location begin with "scheme:", so that it is not relative (RFC 3986, 4.1)? */
static bool has_scheme(const char *location)
{
        size_t n = 0;
        while (isalnum((unsigned char)location[n]) || (location[n] && strchr("+-.", location[n])))
                n++;
        return isalpha((unsigned char)*location) && location[n] == ':';
}

/* Resolves the location relative to `from` (RFC 3986, 5.2.2); url_parse() removes its dots later. */
static void resolve_location(const struct url *from, const char *location, struct text *out)
{
        if (has_scheme(location)) {
                text_add(out, location);
                return;
        }
        if (text_has_prefix(location, "//")) {
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

int url_follow_redirect(const struct url *from, const char *location, to_ascii_function *to_ascii, struct url *ret,
                        struct error *e)
{
        char prefix[DOMAIN_MAX + 64];
        struct url to = { 0 };
        CLEANUP_TEXT struct text target = { 0 };
        if (from->redirects >= URL_REDIRECTS_MAX)
                return error_set(e, ELOOP, "%s redirects once more after %d redirects; it may be a redirect loop",
                                 from->host, URL_REDIRECTS_MAX);
        int r = check_characters(location, e); /* first, because this bounds its length */
        if (r == 0) {
                resolve_location(from, location, &target);
                r = target.failed ? error_set(e, ENOMEM, "out of memory") : url_parse(target.data, to_ascii, &to, e);
        }
        if (r == 0 && from->secure && !to.secure)
                r = error_set(e, EACCES, "it leads from https to http, to %s", to.host);
        if (r == 0) {
                to.redirects = from->redirects + 1;
                *ret = to; /* `ret` may be `from` */
                return 0;
        }
        (void)snprintf(prefix, sizeof prefix, "a redirect of %s is not followed", from->host);
        (void)error_wrap(e, prefix);
        return r;
}
