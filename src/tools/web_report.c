/*
 * Reports; see web_report.h.
 *
 * The form: four numbers, then the URL, the content type and the detail, each with a NUL behind it, then the body up to the
 * end. An answer without a content type has an empty one.
 */
#include "tools/web_report.h"

#include <stdint.h>
#include <string.h>

struct head {
        uint32_t failure, status, cut, body;
};

static void add_string(struct text *out, const char *text, size_t most)
{
        text_add_bytes(out, text ? text : "", text ? strnlen(text, most) : 0);
        text_add_bytes(out, "", 1);
}

void web_report_write(const struct web_report *r, struct text *out)
{
        const struct web_response *w = &r->response;
        size_t length = w->length < WEB_BODY_MOST ? w->length : WEB_BODY_MOST;
        const struct head head = { (uint32_t)r->failure, (uint32_t)w->status, w->cut || length < w->length, (uint32_t)length };
        text_add_bytes(out, (const char *)&head, sizeof head);
        add_string(out, w->url, URL_MOST + CAP_DOMAIN);
        add_string(out, w->content_type, WEB_TYPE_MOST);
        add_string(out, r->detail, WEB_DETAIL_MOST);
        text_add_bytes(out, w->body ? w->body : "", length);
}

/* The string at *at, of at most `most` bytes, and *at behind it; NULL when there is none. */
static const char *take_string(const char **at, const char *end, size_t most)
{
        const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));
        if (!nul || (size_t)(nul - text) > most)
                return NULL;
        *at = nul + 1;
        return text;
}

bool web_report_read(const char *bytes, size_t length, struct web_report *ret)
{
        struct head head;
        const char *at = bytes + sizeof head, *end = bytes + length;
        if (length < sizeof head)
                return false;
        memcpy(&head, bytes, sizeof head);
        const char *url = take_string(&at, end, URL_MOST + CAP_DOMAIN);
        const char *type = url ? take_string(&at, end, WEB_TYPE_MOST) : NULL;
        const char *detail = type ? take_string(&at, end, WEB_DETAIL_MOST) : NULL;
        if (!detail || head.failure >= WEB_FAILURES || head.status > 999 || head.cut > 1 || head.body > WEB_BODY_MOST ||
            head.body != (size_t)(end - at))
                return false;
        *ret = (struct web_report){
                .failure = (enum web_failure)head.failure,
                .response = { url, (int)head.status, *type ? type : NULL, at, head.body, head.cut },
                .detail = detail,
        };
        return true;
}
