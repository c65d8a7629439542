/*
 * Reading HTTP requests; see http_request.h.
 *
 * How it works: the head is collected up to its empty line and then parsed in place. The body is as long as
 * Content-Length says, or chunked.
 *
 * What the client controls: every byte. Behind a relay a second parser reads the same bytes: the server, and perhaps
 * more behind it. If one of them finds the end of a request elsewhere, the bytes that follow are a request that was
 * never checked (request smuggling). So input that two parsers could interpret differently is refused: bare line feeds
 * and carriage returns, folded lines, space before a colon, two lengths, a length together with chunks, lengths in an
 * unusual spelling, framing headers that Connection lists or that come in a trailer, control characters.
 *
 * A relay passes on all bytes that http_request_feed() has taken. That is safe only if bad input is refused before the
 * server can act on it, so the lines of the chunk framing are checked as they arrive, not when they are complete.
 *
 * All sizes are capped. The result does not depend on how the stream is split into calls.
 */
#include "wire/http_request.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { HTTP_LINE_MAX = 256, TRAILERS_MAX = 8 << 10 };

const char *http_status_reason(int status)
{
        static const struct {
                int status;
                const char *words;
        } reasons[] = {
                { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" }, { 400, "Bad Request" },
                { 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
                { 406, "Not Acceptable" }, { 407, "Proxy Authentication Required" }, { 408, "Request Timeout" },
                { 413, "Content Too Large" }, { 415, "Unsupported Media Type" }, { 417, "Expectation Failed" },
                { 431, "Request Header Fields Too Large" }, { 501, "Not Implemented" }, { 502, "Bad Gateway" },
                { 503, "Service Unavailable" }, { 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
                if (reasons[i].status == status)
                        return reasons[i].words;
        return "Error";
}

void http_request_init(struct http_request *r, size_t body_max)
{
        *r = (struct http_request){ .body_max = body_max };
}

void http_request_init_relay(struct http_request *r)
{
        *r = (struct http_request){ .is_relay = true, .body_max = INT64_MAX }; /* every server's counter holds it */
}

void http_request_done(struct http_request *r)
{
        text_done(&r->original);
        text_done(&r->body);
        text_done(&r->head);
        text_done(&r->line);
}

const char *http_request_header(const struct http_request *r, const char *name)
{
        for (size_t i = 0; i < r->header_count; i++)
                if (strcasecmp(r->headers[i].name, name) == 0)
                        return r->headers[i].value;
        return NULL;
}

size_t http_count_headers(const struct http_request *r, const char *name)
{
        size_t count = 0;
        for (size_t i = 0; i < r->header_count; i++)
                count += strcasecmp(r->headers[i].name, name) == 0;
        return count;
}

bool http_header_lists(const struct http_request *r, const char *name, const char *word)
{
        const size_t length = strlen(word);
        for (size_t i = 0; i < r->header_count; i++) {
                if (strcasecmp(r->headers[i].name, name) != 0)
                        continue;
                for (const char *at = r->headers[i].value; *at; at += strcspn(at, ",")) {
                        at += strspn(at, ", \t");
                        const char *end = at + strcspn(at, ", \t");
                        if ((size_t)(end - at) == length && strncasecmp(at, word, length) == 0)
                                return true;
                }
        }
        return false;
}

/* --- the head --- */

/* The headers that decide where a request ends and which host it is for. No other spelling of them is accepted. */
static const char *const framing_headers[] = { "Content-Length", "Host", "Transfer-Encoding" };

static bool is_token(const char *word)
{
        static const char others[] = "!#$%&'*+-.^_`|~";
        for (const char *c = word; *c; c++)
                if (!(isascii((unsigned char)*c) && isalnum((unsigned char)*c)) && !strchr(others, *c))
                        return false;
        return *word != '\0';
}

static int read_first_line(struct http_request *r, char *line)
{
        char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
        if (!version || strchr(version + 1, ' '))
                return -400;
        *target++ = *version++ = '\0';
        for (const char *c = target; *c; c++)
                if (*c <= ' ' || *c > '~')
                        return -400;
        if (!is_token(line) || !*target || (*target != '/' && !r->is_relay))
                return -400;
        r->method = line;
        r->target = target;
        r->minor = strcmp(version, "HTTP/1.0") != 0;
        if (strcmp(version, "HTTP/1.1") != 0 && (r->minor || !r->is_relay))
                return strncmp(version, "HTTP/", 5) == 0 ? -505 : -400;
        return 0;
}

/* Are the names equal for a server that treats '_' as '-', as CGI does? */
static bool name_resembles(const char *name, const char *other)
{
        for (; *name && *other; name++, other++)
                if (tolower((unsigned char)(*name == '_' ? '-' : *name)) != tolower((unsigned char)*other))
                        return false;
        return *name == *other;
}

/* The framing header that this name resembles, or NULL. */
static const char *find_framing_header(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(framing_headers); i++)
                if (name_resembles(name, framing_headers[i]))
                        return framing_headers[i];
        return NULL;
}

/* Parses a header or a trailer. Tabs and extra spaces around a value are accepted, except in framing headers. */
static int parse_header(char *line, struct http_header *ret)
{
        char *colon = strchr(line, ':');
        if (!colon)
                return -400;
        *colon = '\0';
        char *value = colon + 1 + strspn(colon + 1, " \t"), *end = value + strlen(value);
        bool plainly_spaced = value == colon + 1 || (value == colon + 2 && colon[1] == ' ');
        for (; end > value && (end[-1] == ' ' || end[-1] == '\t'); plainly_spaced = false)
                *--end = '\0';
        if (!is_token(line))
                return -400;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < ' ' ? *c != '\t' : *c == '\x7f')
                        return -400;
        const char *framing_name = find_framing_header(line);
        if (framing_name && (!plainly_spaced || strcasecmp(framing_name, line) != 0))
                return -400;
        *ret = (struct http_header){ line, value };
        return 0;
}

static int read_header(struct http_request *r, char *line)
{
        if (r->header_count == HTTP_HEADERS_MAX)
                return -431;
        int status = parse_header(line, &r->headers[r->header_count]);
        r->header_count += status == 0;
        return status;
}

/* No leading zero: some parsers read it as octal. */
static bool read_length(const char *text, unsigned long long *ret)
{
        return text_parse_unsigned(text, strlen(text), ret) && (*text != '0' || !text[1]);
}

static bool is_framed_once(const struct http_request *r)
{
        size_t host_count = http_count_headers(r, "Host");
        if (http_count_headers(r, "Content-Length") + http_count_headers(r, "Transfer-Encoding") > 1)
                return false;
        if (host_count > 1 || (host_count == 0 && r->minor > 0))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(framing_headers); i++)
                if (http_header_lists(r, "Connection", framing_headers[i]))
                        return false;
        return true;
}

static int read_framing(struct http_request *r)
{
        const char *length = http_request_header(r, "Content-Length"),
                   *coding = http_request_header(r, "Transfer-Encoding");
        const char *expect = http_request_header(r, "Expect");
        if (!is_framed_once(r) || (coding && r->minor == 0))
                return -400;
        if (coding && strcasecmp(coding, "chunked") != 0)
                return -501;
        if (length && !read_length(length, &r->left))
                return -400;
        if (r->left > r->body_max)
                return -413;
        if (expect && (http_count_headers(r, "Expect") > 1 || strcasecmp(expect, "100-continue") != 0))
                return -417;
        r->keep_alive = r->minor > 0 || http_header_lists(r, "Connection", "keep-alive");
        if (http_header_lists(r, "Connection", "close"))
                r->keep_alive = false;
        r->state = coding ? HTTP_CHUNK : r->left ? HTTP_BODY : HTTP_DONE;
        r->expects_continue = expect && r->state != HTTP_DONE;
        /* CONNECT has no body: tunnelled bytes follow its head. */
        return strcmp(r->method, "CONNECT") == 0 && r->state != HTTP_DONE ? -400 : 0;
}

/* Parses the complete head in place: method, target and headers point into r->head. */
static int read_head(struct http_request *r)
{
        char *line = r->head.data;
        int status = strlen(line) == r->head.length ? 0 : -400; /* it must not contain a NUL */
        for (bool first = true; status == 0; first = false) {
                char *end = strstr(line, "\r\n");
                if (!end)
                        return -400;
                *end = '\0';
                if (strpbrk(line, "\r\n"))
                        return -400;
                if (!*line && !first)
                        return read_framing(r);
                status = first ? read_first_line(r, line) : read_header(r, line);
                line = end + 2;
        }
        return status;
}

static int finish_head(struct http_request *r)
{
        if (!r->is_relay)
                return read_head(r);
        text_add_bytes(&r->original, r->head.data, r->head.length);
        int status = r->original.failed ? -431 : read_head(r);
        return status == 0 ? HTTP_HEAD_COMPLETE : status;
}

static int take_head(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        while (*used < length && r->state == HTTP_HEAD) {
                const char *end = memchr(bytes + *used, '\n', length - *used);
                size_t n = end ? (size_t)(end - bytes) + 1 - *used : length - *used;
                text_add_bytes(&r->head, bytes + *used, n);
                *used += n;
                if (r->head.failed || r->head.length > HTTP_HEAD_MAX)
                        return -431;
                if (!end)
                        return 0;
                if (r->head.length < 2 || r->head.data[r->head.length - 2] != '\r')
                        return -400;
                if (r->head.length == 2)
                        r->head.length = 0; /* an empty line before the request is skipped (RFC 9112, 2.2) */
                else if (r->head.length >= 4 && memcmp(r->head.data + r->head.length - 4, "\r\n\r\n", 4) == 0)
                        return finish_head(r);
        }
        return 0;
}

/* --- the body --- */

static int take_data(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        size_t n = length - *used;
        if (n > r->left)
                n = (size_t)r->left;
        if (!r->is_relay)
                text_add_bytes(&r->body, bytes + *used, n);
        *used += n;
        r->left -= n;
        r->received += n;
        if (!r->left)
                r->state = r->state == HTTP_BODY ? HTTP_DONE : HTTP_CHUNK_END;
        return r->body.failed ? -413 : 0;
}

/* Checks the bytes of r->line from `from` on; the line need not be complete. Only CRLF may end it, and it must not have
   control characters. The line after a chunk's data must be empty. */
static bool is_valid_so_far(const struct http_request *r, size_t from)
{
        for (size_t i = from; i < r->line.length; i++) {
                const unsigned char c = (unsigned char)r->line.data[i];
                bool at_end = i > 0 && r->line.data[i - 1] == '\r';
                if ((c == '\n') != at_end)
                        return false;
                if (c != '\r' && c != '\n' && ((c < ' ' && c != '\t') || c == 0x7f || r->state == HTTP_CHUNK_END))
                        return false;
        }
        return true;
}

/* Returns 1 when r->line is complete; its CRLF is removed. */
static int take_line(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        const char *end = memchr(bytes + *used, '\n', length - *used);
        size_t n = end ? (size_t)(end - bytes) + 1 - *used : length - *used, before = r->line.length;
        text_add_bytes(&r->line, bytes + *used, n);
        *used += n;
        if (r->line.failed ||
            r->line.length > (r->state == HTTP_TRAILER ? (size_t)TRAILERS_MAX : (size_t)HTTP_LINE_MAX))
                return -400;
        if (!is_valid_so_far(r, before))
                return -400;
        if (!end)
                return 0;
        r->line.data[r->line.length -= 2] = '\0';
        return 1;
}

/* Reads a chunk's size and ignores its extensions. Quotes are refused: a server could look for the closing one in the
   next line. */
static int read_chunk(struct http_request *r)
{
        size_t digits = strspn(r->line.data, "0123456789abcdefABCDEF");
        const char *extensions = r->line.data + digits;
        if (!digits || digits > 8 || (*extensions && *extensions != ';'))
                return -400;
        for (const char *c = extensions; *c; c++)
                if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\')
                        return -400;
        r->left = 0;
        for (size_t i = 0; i < digits; i++) {
                int c = tolower((unsigned char)r->line.data[i]);
                r->left = r->left * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        if (r->left > r->body_max - r->received)
                return -413;
        r->state = r->left ? HTTP_CHUNK_DATA : HTTP_TRAILER;
        return 0;
}

/* Framing headers are refused: a server could treat a trailer as one more header. */
static int read_trailer(struct http_request *r)
{
        struct http_header trailer;
        r->trailer_bytes += r->line.length;
        if (!r->line.length)
                r->state = HTTP_DONE;
        else if (r->trailer_bytes > TRAILERS_MAX || parse_header(r->line.data, &trailer) < 0 ||
                 find_framing_header(trailer.name))
                return -400;
        return 0;
}

/* Handles a complete line of the chunk framing. */
static int handle_line(struct http_request *r)
{
        int status = 0;
        if (r->state == HTTP_CHUNK)
                status = read_chunk(r);
        else if (r->state == HTTP_CHUNK_END)
                r->state = HTTP_CHUNK;
        else
                status = read_trailer(r);
        r->line.length = 0;
        return status;
}

int http_request_feed(struct http_request *r, const char *bytes, size_t length, size_t *ret_used)
{
        int status = r->refused;
        *ret_used = 0;
        while (status == 0 && r->state != HTTP_DONE && *ret_used < length) {
                if (r->state == HTTP_HEAD)
                        status = take_head(r, bytes, length, ret_used);
                else if (r->state == HTTP_BODY || r->state == HTTP_CHUNK_DATA)
                        status = take_data(r, bytes, length, ret_used);
                else if ((status = take_line(r, bytes, length, ret_used)) == 1)
                        status = handle_line(r);
        }
        if (status < 0)
                r->refused = status;
        return status ? status : r->state == HTTP_DONE;
}
