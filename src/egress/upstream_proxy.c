/* The upstream proxy; see upstream_proxy.h. */
#include "egress/upstream_proxy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"

static const char default_scheme[] = "http";
enum { DEFAULT_PORT = 80 };

void upstream_proxy_done(struct upstream_proxy *u)
{
        text_done(&u->authorization);
        text_done(&u->exceptions);
        *u = (struct upstream_proxy){ 0 };
}

/* --- reading --- */

static int hex_digit(char c)
{
        return isdigit((unsigned char)c)    ? c - '0'
               : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                            : -1;
}

/* Decodes the %XX of "name:password" and writes the header's value. */
static const char *read_user(const char *text, size_t length, struct text *authorization)
{
        CLEANUP_TEXT struct text plain = { 0 };
        for (size_t i = 0; i < length; i++) {
                char c = text[i];
                if (c == '%') {
                        int high = i + 2 < length ? hex_digit(text[i + 1]) : -1,
                            low = high >= 0 ? hex_digit(text[i + 2]) : -1;
                        if (low < 0)
                                return "a % in the name or password must be followed by two hexadecimal digits";
                        c = (char)(high * 16 + low);
                        i += 2;
                }
                text_add_bytes(&plain, &c, 1);
        }
        if (!memchr(text, ':', length))
                text_add(&plain, ":");
        text_add(authorization, "Basic ");
        base64_encode(authorization, plain.data ? plain.data : "", plain.length);
        return plain.failed || authorization->failed ? "no memory" : NULL;
}

static const char *read_proxy(const char *text, struct upstream_proxy *u)
{
        const char *scheme_end = strstr(text, "://");
        size_t scheme = scheme_end ? (size_t)(scheme_end - text) : 0;
        if (scheme_end && (scheme != strlen(default_scheme) || strncasecmp(text, default_scheme, scheme) != 0))
                return "only proxies of the form http://host:port can be used";
        const char *from = scheme_end ? scheme_end + strlen("://") : text;
        size_t length = strcspn(from, "/?#");
        const char *at = memrchr(from, '@', length);
        const char *wrong = at ? read_user(from, (size_t)(at - from), &u->authorization) : NULL;
        if (wrong)
                return wrong;
        const char *host = at ? at + 1 : from;
        return destination_parse(host, length - (size_t)(host - from), DEFAULT_PORT, &u->proxy);
}

const char *upstream_proxy_parse(const char *proxy, const char *exceptions, struct upstream_proxy *ret)
{
        struct upstream_proxy u = { .is_set = proxy && *proxy };
        const char *wrong = u.is_set ? read_proxy(proxy, &u) : NULL;
        if (exceptions)
                text_add(&u.exceptions, exceptions);
        if (!wrong && u.exceptions.failed)
                wrong = "no memory";
        if (wrong)
                upstream_proxy_done(&u);
        else
                *ret = u;
        return wrong;
}

/* --- exceptions --- */

/* A word of the list is "*" or a name, perhaps with a port. A name matches itself and all names below it, with or
   without "*." or "." before it. */
static bool matches_exception(const char *word, size_t length, const char *host, uint16_t port)
{
        const char *colon = memchr(word, ':', length);
        unsigned long long number = port;
        if (length == 1 && *word == '*')
                return true;
        if (colon && (!text_parse_unsigned(colon + 1, length - (size_t)(colon + 1 - word), &number) || number != port))
                return false;
        length = colon ? (size_t)(colon - word) : length;
        size_t skipped = strspn(word, "*.");
        if (skipped >= length)
                return false;
        word += skipped;
        length -= skipped;
        size_t host_length = strlen(host);
        return host_length >= length && strncasecmp(host + host_length - length, word, length) == 0 &&
               (host_length == length || host[host_length - length - 1] == '.');
}

bool upstream_proxy_applies(const struct upstream_proxy *u, const char *host, uint16_t port)
{
        static const char separators[] = ", \t\r\n";
        const char *word = u->exceptions.data ? u->exceptions.data : "";
        if (!u->is_set)
                return false;
        for (word += strspn(word, separators); *word; word += strspn(word, separators)) {
                size_t length = strcspn(word, separators);
                if (matches_exception(word, length, host, port))
                        return false;
                word += length;
        }
        return true;
}

/* --- the request --- */

void upstream_proxy_write_connect(const struct upstream_proxy *u, const char *host, uint16_t port, struct text *out)
{
        text_format(out, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", host, port, host, port);
        if (u->authorization.length)
                text_format(out, "Proxy-Authorization: %s\r\n", u->authorization.data);
        text_add(out, "\r\n");
}
