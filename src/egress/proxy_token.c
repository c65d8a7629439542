/* The token of the proxies; see proxy_token.h. The client controls every byte that it sends as its token. */
#include "egress/proxy_token.h"

#include <string.h>
#include <strings.h>

#include "base/base64.h"

bool token_matches(const char *token, const char *given, size_t length)
{
        unsigned difference = 0;
        if (length != strlen(token))
                return false;
        for (size_t i = 0; i < length; i++)
                difference |= (unsigned char)(given[i] ^ token[i]);
        return !difference;
}

enum proxy_token_result token_check(const char *token, const struct http_request *r)
{
        static const char scheme[] = "Basic ", header[] = "Proxy-Authorization";
        const char *given = http_request_header(r, header);
        if (!given)
                return PROXY_TOKEN_MISSING;
        if (http_count_headers(r, header) != 1 || strncasecmp(given, scheme, sizeof scheme - 1) != 0)
                return PROXY_TOKEN_WRONG;
        given += sizeof scheme - 1;
        given += strspn(given, " ");
        CLEANUP_TEXT struct text plain = { 0 };
        const char *colon = base64_decode(&plain, given, strlen(given)) && plain.data
                                    ? memchr(plain.data, ':', plain.length)
                                    : NULL;
        if (!colon)
                return PROXY_TOKEN_WRONG;
        bool right = token_matches(token, colon + 1, plain.length - (size_t)(colon + 1 - plain.data));
        return right ? PROXY_TOKEN_OK : PROXY_TOKEN_WRONG;
}
