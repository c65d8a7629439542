/*
 * The destination of an HTTP request; see http_destination.h.
 *
 * How it works: a request names its host in its target (CONNECT's host:port, a proxy's http://host/path), in its Host
 * header, or in both. Both must be equal, because a server may use either. A target without a host must be a path, or
 * the `*` of OPTIONS.
 *
 * What the client controls: everything that http_request.c accepts.
 */
#include "egress/http_destination.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

static const char scheme[] = "http://";

enum { HTTP_PORT = 80 };

static bool is_absolute(const char *target)
{
        return strncasecmp(target, scheme, sizeof scheme - 1) == 0;
}

/* The authority (host and port) of a target in absolute form; path and query follow it. */
static const char *find_authority(const char *target, size_t *ret_length)
{
        const char *authority = target + sizeof scheme - 1;
        *ret_length = strcspn(authority, "/?#");
        return authority;
}

bool http_is_connect(const struct http_request *r)
{
        return strcmp(r->method, "CONNECT") == 0;
}

static const char *check_target_form(const struct http_request *r)
{
        if (strncasecmp(r->target, "https://", 8) == 0)
                return "a request for https:// goes through a tunnel: use CONNECT";
        if (*r->target == '/' || (strcmp(r->target, "*") == 0 && strcmp(r->method, "OPTIONS") == 0))
                return NULL;
        return "the target of the request is neither a path nor begins with http://";
}

/* Reads the destination in the target; its port stays 0 if the target has none. */
static const char *read_target(const struct http_request *r, struct destination *ret)
{
        size_t length = 0;
        if (http_is_connect(r))
                return destination_parse(r->target, strlen(r->target), 0, ret);
        if (!is_absolute(r->target))
                return check_target_form(r);
        if (strchr(r->target, '#'))
                return "the target of the request must not have a fragment (#)";
        const char *authority = find_authority(r->target, &length);
        return destination_parse(authority, length, HTTP_PORT, ret);
}

const char *http_find_destination(const struct http_request *r, struct destination *ret)
{
        struct destination target = { .port = 0 }, host = { .port = 0 };
        const char *sent = http_request_header(r, "Host"), *wrong = read_target(r, &target);
        if (wrong)
                return wrong;
        if (!sent && !target.port)
                return "the request does not say for which host it is";
        /* A Host without a port means port 80; in a CONNECT it means the port of the target. */
        if (sent &&
            (wrong = destination_parse(sent, strlen(sent), http_is_connect(r) ? target.port : HTTP_PORT, &host)))
                return wrong;
        if (sent && target.port && !destination_equal(&target, &host))
                return "the target of the request and its Host are two different hosts";
        *ret = sent ? host : target;
        return NULL;
}

bool http_is_h2_preface(const struct http_request *r)
{
        return r->refused == -505 && r->method && strcmp(r->method, "PRI") == 0 && strcmp(r->target, "*") == 0;
}

bool http_offers_other_protocol(const struct http_request *r)
{
        const char *offer = http_request_header(r, "Upgrade");
        return offer && (http_count_headers(r, "Upgrade") > 1 || strcasecmp(offer, "websocket") != 0);
}

bool http_wants_websocket(const struct http_request *r)
{
        return r->minor > 0 && http_request_header(r, "Upgrade") && !http_offers_other_protocol(r) &&
               http_header_lists(r, "Connection", "upgrade");
}

/* Is this header not passed on to the server? */
static bool is_dropped(const struct http_request *r, const char *name)
{
        static const struct {
                const char *name;
                bool is_offer; /* of another protocol; otherwise it is for the proxy only */
        } rows[] = {
                { "HTTP2-Settings", true },
                { "Proxy-Authorization", false },
                { "Proxy-Connection", false },
                { "Upgrade", true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (strcasecmp(name, rows[i].name) == 0)
                        return !rows[i].is_offer || http_offers_other_protocol(r);
        return false;
}

void http_write_origin_form(const struct http_request *r, bool last, struct text *out)
{
        size_t length = 0;
        const char *authority = NULL, *path = r->target, *path_prefix = "";
        if (is_absolute(r->target)) {
                authority = find_authority(r->target, &length);
                path = authority + length;
                if (*path != '/') /* the target has no path, perhaps a query */
                        path_prefix = !*path && strcmp(r->method, "OPTIONS") == 0 ? "*" : "/";
        }
        text_format(out, "%s %s%s HTTP/1.%u\r\n", r->method, path_prefix, path, r->minor);
        if (authority && !http_request_header(r, "Host"))
                text_format(out, "Host: %.*s\r\n", (int)length, authority);
        for (size_t i = 0; i < r->header_count; i++)
                if (!is_dropped(r, r->headers[i].name) && !(last && strcasecmp(r->headers[i].name, "Connection") == 0))
                        text_format(out, "%s: %s\r\n", r->headers[i].name, r->headers[i].value);
        text_add(out, last ? "Connection: close\r\n\r\n" : "\r\n");
}

int http_response_status(const char *bytes, size_t length)
{
        static const char shape[] = "HTTP/1.# ### "; /* '#': a digit */
        const size_t version_length = strlen("HTTP/1.#");
        int status = 0;
        for (size_t i = 0; i < sizeof shape - 1; i++) {
                if (i == length)
                        return 0;
                bool matches = shape[i] == '#' ? isdigit((unsigned char)bytes[i]) : bytes[i] == shape[i];
                if (!matches && !(i == sizeof shape - 2 && bytes[i] == '\r')) /* the reason phrase may be missing */
                        return -EBADMSG;
                if (i > version_length && shape[i] == '#')
                        status = status * 10 + (bytes[i] - '0');
        }
        return status >= 100 ? status : -EBADMSG;
}
