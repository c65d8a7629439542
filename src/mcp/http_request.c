/*
 * Reading HTTP requests; see http_request.h.
 *
 * How it works: the head is collected to its empty line and then cut into its parts in place. The body is as long as
 * Content-Length says, or comes in chunks.
 *
 * What the client controls: every byte. What two readers could understand differently is refused instead of being understood
 * somehow: bare line feeds, folded lines, space before a colon, two lengths, a length beside chunks, control characters.
 * All of it is bounded, and any cutting of the stream gives the same result.
 */
#include "mcp/http_request.h"

#include <ctype.h>
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
                { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
                { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
                { 408, "Request Timeout" }, { 413, "Content Too Large" }, { 415, "Unsupported Media Type" },
                { 417, "Expectation Failed" }, { 431, "Request Header Fields Too Large" }, { 501, "Not Implemented" },
                { 503, "Service Unavailable" }, { 505, "HTTP Version Not Supported" },
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

void http_done(struct http_request *r)
{
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

/* --- the head --- */

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
        if (!is_token(line) || *target != '/')
                return -400;
        r->method = line;
        r->target = target;
        if (strcmp(version, "HTTP/1.1") != 0)
                return strncmp(version, "HTTP/", 5) == 0 ? -505 : -400;
        return 0;
}

static int read_header(struct http_request *r, char *line)
{
        char *colon = strchr(line, ':');
        if (!colon || r->header_count == HTTP_HEADERS_MOST)
                return colon ? -431 : -400;
        *colon = '\0';
        char *value = colon + 1 + strspn(colon + 1, " \t"), *end = value + strlen(value);
        while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
                *--end = '\0';
        if (!is_token(line))
                return -400;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < ' ' ? *c != '\t' : *c == '\x7f')
                        return -400;
        r->headers[r->header_count++] = (struct http_header){ line, value };
        return 0;
}

static int read_framing(struct http_request *r)
{
        const char *length = http_header(r, "Content-Length"), *coding = http_header(r, "Transfer-Encoding");
        const char *connection = http_header(r, "Connection"), *expect = http_header(r, "Expect");
        if (http_count(r, "Content-Length") + http_count(r, "Transfer-Encoding") > 1 || http_count(r, "Host") != 1)
                return -400;
        if (coding && strcasecmp(coding, "chunked") != 0)
                return -501;
        if (length && !text_to_number(length, strlen(length), &r->left))
                return -400;
        if (r->left > r->body_most)
                return -413;
        if (expect && strcasecmp(expect, "100-continue") != 0)
                return -417;
        r->keep_alive = !connection || !strcasestr(connection, "close");
        r->state = coding ? HTTP_CHUNK : r->left ? HTTP_BODY : HTTP_DONE;
        r->continues = expect && r->state != HTTP_DONE;
        return 0;
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
                status = first ? read_first_line(r, line) : *line == ' ' || *line == '\t' ? -400 : read_header(r, line);
                line = end + 2;
        }
        return status;
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
                        return read_head(r);
        }
        return 0;
}

/* --- the body --- */

static int take_data(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        size_t n = length - *used;
        if (n > r->left)
                n = (size_t)r->left;
        text_add_bytes(&r->body, bytes + *used, n);
        *used += n;
        r->left -= n;
        if (!r->left)
                r->state = r->state == HTTP_BODY ? HTTP_DONE : HTTP_CHUNK_END;
        return r->body.failed ? -413 : 0;
}

/* 1 when the line is whole: without its end in r->line. */
static int take_line(struct http_request *r, const char *bytes, size_t length, size_t *used)
{
        const char *end = memchr(bytes + *used, '\n', length - *used);
        size_t n = end ? (size_t)(end - bytes) + 1 - *used : length - *used;
        text_add_bytes(&r->line, bytes + *used, n);
        *used += n;
        if (r->line.failed || r->line.length > (r->state == HTTP_TRAILER ? (size_t)TRAILERS_MOST : (size_t)LINE_MOST))
                return -400;
        if (!end)
                return 0;
        if (r->line.length < 2 || r->line.data[r->line.length - 2] != '\r' || strlen(r->line.data) != r->line.length)
                return -400;
        r->line.data[r->line.length -= 2] = '\0';
        return 1;
}

/* Hexadecimal digits, and perhaps extensions, which nobody uses. */
static int read_chunk(struct http_request *r)
{
        size_t digits = strspn(r->line.data, "0123456789abcdefABCDEF");
        if (!digits || digits > 8 || (r->line.data[digits] && r->line.data[digits] != ';'))
                return -400;
        r->left = 0;
        for (size_t i = 0; i < digits; i++) {
                int c = tolower((unsigned char)r->line.data[i]);
                r->left = r->left * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        if (r->left > r->body_most - r->body.length)
                return -413;
        r->state = r->left ? HTTP_CHUNK_DATA : HTTP_TRAILER;
        return 0;
}

/* A line of the chunks' framing is whole. */
static int read_line(struct http_request *r)
{
        int status = 0;
        if (r->state == HTTP_TRAILER)
                r->trailers += r->line.length;
        if (r->state == HTTP_CHUNK)
                status = read_chunk(r);
        else if (r->line.length && (r->state == HTTP_CHUNK_END || r->trailers > TRAILERS_MOST))
                status = -400;
        else if (r->state == HTTP_CHUNK_END)
                r->state = HTTP_CHUNK;
        else if (!r->line.length)
                r->state = HTTP_DONE;
        r->line.length = 0;
        return status;
}

int http_take(struct http_request *r, const char *bytes, size_t length, size_t *ret_used)
{
        int status = 0;
        *ret_used = 0;
        while (status == 0 && r->state != HTTP_DONE && *ret_used < length) {
                if (r->state == HTTP_HEAD)
                        status = take_head(r, bytes, length, ret_used);
                else if (r->state == HTTP_BODY || r->state == HTTP_CHUNK_DATA)
                        status = take_data(r, bytes, length, ret_used);
                else if ((status = take_line(r, bytes, length, ret_used)) == 1)
                        status = read_line(r);
        }
        return status < 0 ? status : r->state == HTTP_DONE;
}
