/*
 * HTML to text. The first byte selects the size limit. The text is within the limit, valid UTF-8, without control
 * characters, without surrounding newlines, and the same in a second run. A response with that body gives a valid tool
 * answer.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "tools/html.h"
#include "tools/html_charset.h"
#include "tools/web_fetch.h"

static void check_text(const struct text *t, size_t limit)
{
        if (!t->length)
                return;
        PROMISE(!t->failed && t->length <= limit && strlen(t->data) == t->length);
        PROMISE(text_utf8_valid_length(t->data, t->length) == t->length);
        for (const char *p = t->data; *p; p++)
                PROMISE((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
        PROMISE(!strchr(t->data, 0x7f));
}

static void check_page(const char *html, size_t length, size_t limit)
{
        CLEANUP_HTML_TEXT struct html_text page, again;
        html_to_text(html, length, limit, &page);
        html_to_text(html, length, limit, &again);
        check_text(&page.title, HTML_TITLE_MAX);
        check_text(&page.body, limit);
        PROMISE(!page.title.length || !strpbrk(page.title.data, "\n\t"));
        PROMISE(!page.body.length || page.cut || page.body.data[page.body.length - 1] != '\n');
        PROMISE(!page.body.length || page.body.data[0] != '\n');
        PROMISE(page.body.length == again.body.length && page.cut == again.cut);
        PROMISE(!page.body.length || memcmp(page.body.data, again.body.data, page.body.length) == 0);
}

static void check_answer(const char *html, size_t length, size_t limit)
{
        static const char *const types[] = { NULL, "text/html", "text/html; charset=latin1", "a/b; charset=utf-16be" };
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                struct tool_result answer = { 0 };
                struct web_response r = { "https://example.com/", i == 1 ? 404 : 200, types[i], html, length, false };
                web_fetch_format_result(&r, i == 2 ? WEB_HTML : WEB_TEXT,
                                        (struct web_part){ limit / 2, limit }, &answer);
                PROMISE(answer.is_error == !answer.details);
                PROMISE(answer.text.length);
                PROMISE(text_utf8_valid_length(answer.text.data, answer.text.length) == answer.text.length);
                tool_result_done(&answer);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_TEXT struct text decoded = { 0 };
        size_t limit = size && data[0] < 128 ? data[0] : 1 << 20;
        CLEANUP_FREE char *html = malloc(size ? size : 1); /* so that a sanitizer finds reads beyond it */
        PROMISE(html);
        if (size)
                memcpy(html, data, size);
        check_page(html, size, limit);
        check_answer(html, size, limit);
        (void)html_decode(html, size, NULL, true, &decoded);
        PROMISE(!decoded.length || text_utf8_valid_length(decoded.data, decoded.length) == decoded.length);
        return 0;
}
