/*
 * Reading HTTP requests; see http_request.h.
 *
 * How it works: the head is collected to its empty line and then cut into its parts in place. The body is as long as
 * Content-Length says, or comes in chunks.
 *
 * What the client controls: every byte. Behind a relay there is a second reader, the server, and behind that perhaps
 * more. If one of them finds the end of a request elsewhere, then what follows is a request that nobody has checked.
 * So what two readers could understand differently is refused instead of being understood somehow: bare line feeds
 * and carriage returns, folded lines, space before a colon, two lengths, a length beside chunks, lengths in other
 * than their usual spelling, framing that Connection would have removed on the way or that comes in a trailer,
 * control characters.
 *
 * A relay has passed on all that was taken. That is safe only if what is refused is refused before the server can
 * have understood it, so a line of the chunks' framing is looked at as it comes, not when it is whole.
 *
 * All of it is bounded, and any cutting of the stream gives the same result.
 */
#include "wire/http_request.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { LINE_MOST = 256, TRAILERS_MOST = 8 << 10 };

const char *http_reason(int status)
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

void http_begin(struct http_request *r, size_t body_most)
{
        *r = (struct http_request){ .body_most = body_most };
}

void http_begin_relay(struct http_request *r)
{
        *r = (struct http_request){ .relays = true, .body_most = INT64_MAX }; /* what every reader can count to */
}

void http_done(struct http_request *r)
{
        text_done(&r->original);
        text_done(&r->body);
        text_done(&r->head);
        text_done(&r->line);
}

const char *http_header(const struct http_request *r, const char *name)
{
        for (size_t i = 0; i < r->header_count; i++)
                if (strcasecmp(r->headers[i].name, name) == 0)
                        return r->headers[i].value;
        return NULL;
}

size_t http_count(const struct http_request *r, const char *name)
{
        size_t count = 0;
        for (size_t i = 0; i < r->header_count; i++)
                count += strcasecmp(r->headers[i].name, name) == 0;
        return count;
}

bool http_lists(const struct http_request *r, const char *name, const char *word)
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

/* Where a request ends, and whom it is for. These have only one spelling. */
static const char *const framing[] = { "Content-Length", "Host", "Transfer-Encoding" };

static bool is_token(const char *word)
{
        static const char others[] = "!#$%&'*+-.^_`|~";
        for (const char *c = word; *c; c++)
                if (!(isascii((unsigned char)*c) && isalnum((unsigned char)*c)) && !strchr(others, *c))
                        return false;
        return *word != '\0';
}

/* The target and the version behind it. */
static int read_first_line(struct http_request *r, char *line)
{
        char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
        if (!version || strchr(version + 1, ' '))
                return -400;
        *target++ = *version++ = '\0';
        for (const char *c = target; *c; c++)
                if (*c <= ' ' || *c > '~')
                        return -400;
        if (!is_token(line) || !*target || (*target != '/' && !r->relays))
                return -400;
        r->method = line;
        r->target = target;
        r->minor = strcmp(version, "HTTP/1.0") != 0;
        if (strcmp(version, "HTTP/1.1") != 0 && (r->minor || !r->relays))
                return strncmp(version, "HTTP/", 5) == 0 ? -505 : -400;
        return 0;
}

/* Is this the other name as well for a server that takes '_' for '-'? */
static bool resembles(const char *name, const char *other)
{
        for (; *name && *other; name++, other++)
                if (tolower((unsigned char)(*name == '_' ? '-' : *name)) != tolower((unsigned char)*other))
                        return false;
        return *name == *other;
}

/* The one of `framing` that this resembles, or NULL. */
static const char *find_framing(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(framing); i++)
                if (resembles(name, framing[i]))
                        return framing[i];
        return NULL;
}

/* A header, or a trailer. Tabs around a value, or more than one space, are let pass where nothing depends on it. */
static int cut_header(char *line, struct http_header *ret)
{
        char *colon = strchr(line, ':');
        if (!colon)
                return -400;
        *colon = '\0';
        char *value = colon + 1 + strspn(colon + 1, " \t"), *end = value + strlen(value);
        bool plain = value == colon + 1 || (value == colon + 2 && colon[1] == ' ');
        for (; end > value && (end[-1] == ' ' || end[-1] == '\t'); plain = false)
                *--end = '\0';
        if (!is_token(line))
                return -400;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < ' ' ? *c != '\t' : *c == '\x7f')
                        return -400;
        const char *known = find_framing(line);
        if (known && (!plain || strcasecmp(known, line) != 0))
                return -400;
        *ret = (struct http_header){ line, value };
        return 0;
}

static int read_header(struct http_request *r, char *line)
{
        if (r->header_count == HTTP_HEADERS_MOST)
                return -431;
        int status = cut_header(line, &r->headers[r->header_count]);
        r->header_count += status == 0;
        return status;
}

/* The usual spelling of a number: what begins with 0 is octal for some. */
static bool read_length(const char *text, unsigned long long *ret)
{
        return text_to_number(text, strlen(text), ret) && (*text != '0' || !text[1]);
}

static bool is_framed_once(const struct http_request *r)
{
        size_t hosts = http_count(r, "Host");
        if (http_count(r, "Content-Length") + http_count(r, "Transfer-Encoding") > 1)
                return false;
        if (hosts > 1 || (hosts == 0 && r->minor > 0))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(framing); i++)
                if (http_lists(r, "Connection", framing[i]))
                        return false;
        return true;
}

static int read_framing(struct http_request *r)
{
        const char *length = http_header(r, "Content-Length"), *coding = http_header(r, "Transfer-Encoding");
        const char *expect = http_header(r, "Expect");
        if (!is_framed_once(r) || (coding && r->minor == 0))
                return -400;
        if (coding && strcasecmp(coding, "chunked") != 0)
                return -501;
        if (length && !read_length(length, &r->left))
                return -400;
        if (r->left > r->body_most)
                return -413;
        if (expect && (http_count(r, "Expect") > 1 || strcasecmp(expect, "100-continue") != 0))
                return -417;
        r->keep_alive = r->minor > 0 || http_lists(r, "Connection", "keep-alive");
        if (http_lists(r, "Connection", "close"))
                r->keep_alive = false;
        r->state = coding ? HTTP_CHUNK : r->left ? HTTP_BODY : HTTP_DONE;
        r->continues = expect && r->state != HTTP_DONE;
        /* What follows CONNECT is a tunnel, and no body. */
        return strcmp(r->method, "CONNECT") == 0 && r->state != HTTP_DONE ? -400 : 0;
}

/* The whole head is there. It is cut in place, so the headers point into it. */
static int read_head(struct http_request *r)
{
        char *line = r->head.data;
        int status = strlen(line) == r->head.length ? 0 : -400; /* no NUL in it */
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
        if (!r->relays)
                return read_head(r);
        text_add_bytes(&r->original, r->head.data, r->head.length);
        int status = r->original.failed ? -431 : read_head(r);
        return status == 0 ? HTTP_HEAD_READY : status;
}

static int take_head(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        while (*used < length && r->state == HTTP_HEAD) {
                const char *end = memchr(bytes + *used, '\n', length - *used);
                size_t n = end ? (size_t)(end - bytes) + 1 - *used : length - *used;
                text_add_bytes(&r->head, bytes + *used, n);
                *used += n;
                if (r->head.failed || r->head.length > HTTP_HEAD_MOST)
                        return -431;
                if (!end)
                        return 0;
                if (r->head.length < 2 || r->head.data[r->head.length - 2] != '\r')
                        return -400;
                if (r->head.length == 2)
                        r->head.length = 0; /* an empty line in front is let pass, as the standard asks */
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
        if (!r->relays)
                text_add_bytes(&r->body, bytes + *used, n);
        *used += n;
        r->left -= n;
        r->received += n;
        if (!r->left)
                r->state = r->state == HTTP_BODY ? HTTP_DONE : HTTP_CHUNK_END;
        return r->body.failed ? -413 : 0;
}

/* What came of the line from here on, of which more may come: nothing else ends it than CRLF, and it has no control
   characters. Behind a chunk's data it has nothing at all. */
static bool is_sound(const struct http_request *r, size_t from)
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

/* 1 when the line is whole: without its end in r->line. */
static int take_line(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        const char *end = memchr(bytes + *used, '\n', length - *used);
        size_t n = end ? (size_t)(end - bytes) + 1 - *used : length - *used, before = r->line.length;
        text_add_bytes(&r->line, bytes + *used, n);
        *used += n;
        if (r->line.failed || r->line.length > (r->state == HTTP_TRAILER ? (size_t)TRAILERS_MOST : (size_t)LINE_MOST))
                return -400;
        if (!is_sound(r, before))
                return -400;
        if (!end)
                return 0;
        r->line.data[r->line.length -= 2] = '\0';
        return 1;
}

/* Hexadecimal digits, and perhaps extensions, which nobody uses. None is quoted: a reader could look for the end of the
   quotation in the next line. */
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
        if (r->left > r->body_most - r->received)
                return -413;
        r->state = r->left ? HTTP_CHUNK_DATA : HTTP_TRAILER;
        return 0;
}

/* A server could take it for one more header. */
static int read_trailer(struct http_request *r)
{
        struct http_header trailer;
        r->trailers += r->line.length;
        if (!r->line.length)
                r->state = HTTP_DONE;
        else if (r->trailers > TRAILERS_MOST || cut_header(r->line.data, &trailer) < 0 || find_framing(trailer.name))
                return -400;
        return 0;
}

/* A line of the chunks' framing is whole. */
static int read_line(struct http_request *r)
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

int http_take(struct http_request *r, const char *bytes, size_t length, size_t *ret_used)
{
        int status = r->refused;
        *ret_used = 0;
        while (status == 0 && r->state != HTTP_DONE && *ret_used < length) {
                if (r->state == HTTP_HEAD)
                        status = take_head(r, bytes, length, ret_used);
                else if (r->state == HTTP_BODY || r->state == HTTP_CHUNK_DATA)
                        status = take_data(r, bytes, length, ret_used);
                else if ((status = take_line(r, bytes, length, ret_used)) == 1)
                        status = read_line(r);
        }
        if (status < 0)
                r->refused = status;
        return status ? status : r->state == HTTP_DONE;
}
