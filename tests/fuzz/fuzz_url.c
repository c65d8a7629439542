/*
 * The URL filter. The input is a URL and a Location header, separated by a NUL. A URL that passes is canonical: printed
 * and parsed again it is the same. Its host is a name with a dot or a public address, checked without the filter's own
 * tables; its target has no white space or control characters; and the same holds for a redirect.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "policy/url_filter.h"
#include "idn.h"

static bool is_public_v4(uint32_t a)
{
        return a >> 24 != 0 && a >> 24 != 10 && a >> 24 != 127 && a >> 22 != (100U << 2 | 1) &&
               a >> 16 != (169U << 8 | 254) && a >> 20 != (172U << 4 | 1) && a >> 16 != (192U << 8 | 168) &&
               a >> 28 < 14;
}

static void check_host(const struct url *u)
{
        static const char *const refused_suffixes[] = { ".localhost", ".internal", ".local" };
        size_t length = strlen(u->host);
        union address a = { 0 };
        if (u->is_address && u->address.any.sa_family == AF_INET) {
                PROMISE(is_public_v4(ntohl(u->address.v4.sin_addr.s_addr)));
                PROMISE(inet_pton(AF_INET, u->host, &a.v4.sin_addr) == 1);
                PROMISE(a.v4.sin_addr.s_addr == u->address.v4.sin_addr.s_addr);
                return;
        }
        if (u->is_address) {
                PROMISE(u->address.v6.sin6_addr.s6_addr[0] >> 5 == 1); /* 2000::/3 */
                PROMISE(inet_pton(AF_INET6, u->host, &a.v6.sin6_addr) == 1);
                PROMISE(memcmp(&a.v6.sin6_addr, &u->address.v6.sin6_addr, 16) == 0);
                return;
        }
        PROMISE(length <= DOMAIN_MAX && strchr(u->host, '.') && u->host[length - 1] != '.');
        PROMISE(strspn(u->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length);
        PROMISE(inet_aton(u->host, &a.v4.sin_addr) == 0);
        for (size_t i = 0; i < ARRAY_SIZE(refused_suffixes); i++)
                PROMISE(length < strlen(refused_suffixes[i]) ||
                        strcmp(u->host + length - strlen(refused_suffixes[i]), refused_suffixes[i]) != 0);
}

static void check_url(const struct url *u)
{
        CLEANUP_TEXT struct text printed = { 0 };
        struct url again = { 0 };
        size_t length = strlen(u->target);
        check_host(u);
        PROMISE(u->port);
        PROMISE(u->target[0] == '/' && length <= URL_MAX && u->path_length <= length);
        PROMISE(u->target[u->path_length] == '\0' || u->target[u->path_length] == '?');
        PROMISE(!memchr(u->target, '?', u->path_length));
        for (const char *p = u->target; *p; p++)
                PROMISE(*p > ' ' && *p < 0x7f && *p != '#' && *p != '\\');
        PROMISE(!strstr(u->target, "/../") || strstr(u->target, "/../") > u->target + u->path_length);
        url_print(u, &printed);
        if (printed.length > URL_MAX)
                return; /* percent-encoding made it too long to be parsed again */
        PROMISE(url_parse(printed.data, NULL, &again, NULL) == 0);
        PROMISE(again.secure == u->secure && again.port == u->port && again.path_length == u->path_length);
        PROMISE(strcmp(again.host, u->host) == 0 && strcmp(again.target, u->target) == 0);
}

static void check_error(int r, const struct error *e)
{
        PROMISE(r < 0 && e->code == -r);
        promise_printable(e->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        CLEANUP_FREE char *text = fuzz_string(data, first);
        CLEANUP_FREE char *location = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        struct url u = { 0 }, redirected = { 0 };
        struct error e = { 0 };
        int r = url_parse(text, idn_to_ascii, &u, &e);
        if (r != 0) {
                check_error(r, &e);
                return 0;
        }
        check_url(&u);
        r = url_follow_redirect(&u, location, idn_to_ascii, &redirected, &e);
        if (r != 0) {
                check_error(r, &e);
                return 0;
        }
        PROMISE(redirected.redirects == 1 && (redirected.secure || !u.secure));
        check_url(&redirected);
        return 0;
}
