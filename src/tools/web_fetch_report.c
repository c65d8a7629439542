/*
 * Writes and parses reports; see web_fetch_report.h.
 *
 * The format: struct head (failure, status, cut, length of the body), then the URL, the content type and the detail,
 * each NUL-terminated, then the body, which ends the report. The content type is empty if the answer has none.
 */
#include "tools/web_fetch_report.h"

#include <stdint.h>
#include <string.h>

struct head {
        uint32_t failure, status, cut, body;
};

static void add_string(struct text *out, const char *text, size_t max)
{
        text_add_bytes(out, text ? text : "", text ? strnlen(text, max) : 0);
        text_add_bytes(out, "", 1);
}

void web_report_write(const struct web_report *r, struct text *out)
{
        const struct web_response *w = &r->response;
        size_t length = w->length < WEB_BODY_MAX ? w->length : WEB_BODY_MAX;
        const struct head head = { (uint32_t)r->failure, (uint32_t)w->status, w->cut || length < w->length,
                                   (uint32_t)length };
        text_add_bytes(out, (const char *)&head, sizeof head);
        add_string(out, w->url, URL_MAX + DOMAIN_MAX);
        add_string(out, w->content_type, WEB_TYPE_MAX);
        add_string(out, r->detail, WEB_DETAIL_MAX);
        text_add_bytes(out, w->body ? w->body : "", length);
}

/*
 * Reads the string at *at, of at most `max` bytes, and moves *at after it. Returns NULL when there is none,
 * or when it is too long.
 */
static const char *read_string(const char **at, const char *end, size_t max)
{
        const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));
        if (!nul || (size_t)(nul - text) > max)
                return NULL;
        *at = nul + 1;
        return text;
}

bool web_report_parse(const char *bytes, size_t length, struct web_report *ret)
{
        struct head head;
        if (length < sizeof head)
                return false;
        memcpy(&head, bytes, sizeof head);
        const char *at = bytes + sizeof head, *end = bytes + length;
        const char *url = read_string(&at, end, URL_MAX + DOMAIN_MAX);
        const char *type = url ? read_string(&at, end, WEB_TYPE_MAX) : NULL;
        const char *detail = type ? read_string(&at, end, WEB_DETAIL_MAX) : NULL;
        if (!detail || head.failure >= WEB_FAILURES || head.status > 999 || head.cut > 1 || head.body > WEB_BODY_MAX ||
            head.body != (size_t)(end - at))
                return false;
        *ret = (struct web_report){
                .failure = (enum web_failure)head.failure,
                .response = { url, (int)head.status, *type ? type : NULL, at, head.body, head.cut },
                .detail = detail,
        };
        return true;
}
