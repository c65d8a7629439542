/*
 * WebFetch: a page as an agent reads it.
 *
 * It does not fetch yet: it checks what it was asked for and refuses. What it will do with a server's
 * answer is here already. Which URLs may be fetched at all is decided outside of the box, by src/gate/url.c.
 *
 * What an attacker controls: the answer, its header included. It is bounded before it comes here, and what is shown is
 * UTF-8.
 */
#include "tools/web_fetch.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "tools/html.h"
#include "tools/html_charset.h"
#include "tools/html_token.h"

enum {
        FIRST_LOOK = 8 << 10,    /* in which a byte that is no text makes an answer binary */
        FAILURE_SHOWN = 2 << 10, /* of what a server says about it */
        MOST_SECONDS = 120,
};

static const char *const formats[] = { [WEB_TEXT] = "text", [WEB_HTML] = "html", [WEB_RAW] = "raw" };

/* --- an answer --- */

/* "text/html" of "text/html; charset=utf-8". */
static size_t type_length(const char *content_type)
{
        return content_type ? strcspn(content_type, "; \t") : 0;
}

/* By its header, or by its beginning if it has none. */
static bool is_html(const struct web_response *r)
{
        static const char *const starts[] = { "<!doctype html", "<html", "<head", "<body" };
        size_t length = type_length(r->content_type), blank = 0;
        if (length)
                return html_is(r->content_type, length, "text/html") ||
                       html_is(r->content_type, length, "application/xhtml+xml");
        while (blank < r->length && strchr(" \t\r\n", r->body[blank]) && r->body[blank])
                blank++;
        for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
                if (r->length - blank >= strlen(starts[i]) &&
                    strncasecmp(r->body + blank, starts[i], strlen(starts[i])) == 0)
                        return true;
        return false;
}

static bool is_binary(const struct text *decoded)
{
        return decoded->length &&
               memchr(decoded->data, '\0', decoded->length < FIRST_LOOK ? decoded->length : FIRST_LOOK);
}

/* At most `most` bytes of it; true when there were more. */
static bool add_bounded(struct text *out, const struct text *text, size_t most)
{
        size_t length = text->length < most ? text->length : most;
        while (length < text->length && length && ((unsigned char)text->data[length] & 0xc0) == 0x80)
                length--;
        text_add_bytes(out, text->data ? text->data : "", length);
        return length < text->length;
}

/* What the body says, as UTF-8; true when it says more. */
static bool add_body(const struct web_response *r, const struct text *decoded, enum web_format format, size_t most,
                     struct text *out)
{
        CLEANUP_HTML_TEXT struct html_text page = { 0 };
        if (format != WEB_TEXT || !is_html(r))
                return add_bounded(out, decoded, most);
        html_to_text(decoded->data ? decoded->data : "", decoded->length, most, &page);
        if (page.title.length)
                text_format(out, "Title: %s\n\n", page.title.data);
        text_add_bytes(out, page.body.data ? page.body.data : "", page.body.length);
        return page.cut;
}

/* The server's own words are for the agent to read, but they are no success. */
static void add_failure(const struct web_response *r, const struct text *decoded, struct tool_answer *answer)
{
        tool_fail(answer, "%.500s: the server answered with status %d", r->url, r->status);
        if (!decoded->length || is_binary(decoded))
                return;
        text_add(&answer->text, "\n\n");
        (void)add_body(r, decoded, WEB_TEXT, FAILURE_SHOWN, &answer->text);
}

void web_fetch_answer(const struct web_response *r, enum web_format format, size_t most, struct tool_answer *answer)
{
        CLEANUP_TEXT struct text decoded = { 0 }, type = { 0 };
        size_t named = type_length(r->content_type);
        if (named)
                text_add_visible(&type, r->content_type, named);
        else
                text_add(&type, "of an unknown type");
        bool foreign = format == WEB_RAW ? tool_add_utf8(&decoded, r->body, r->length)
                                         : html_decode(r->body, r->length, r->content_type, is_html(r), &decoded);
        if (decoded.failed || type.failed) {
                tool_fail(answer, "no memory");
        } else if (r->status < 200 || r->status > 299) {
                add_failure(r, &decoded, answer);
        } else if (is_binary(&decoded)) {
                tool_fail(answer, "%.500s is binary: %.100s, %zu bytes; only text can be shown", r->url, type.data,
                          r->length);
        } else if (format == WEB_HTML && !is_html(r)) {
                tool_fail(answer, "%.500s is no HTML but %.100s: ask with the format text, or raw", r->url, type.data);
        } else {
                bool more = add_body(r, &decoded, format, most, &answer->text) || r->cut;
                if (!answer->text.length)
                        text_format(&answer->text, "(%s is empty)", r->url);
                if (foreign)
                        text_add(&answer->text, "\n(what is not in its charset is shown as \xef\xbf\xbd)");
                if (more)
                        text_format(&answer->text, "\n(there is more: %zu bytes were fetched)", r->length);
                answer->structured = json_pack("{s:s, s:i, s:s, s:I, s:b}", "url", r->url, "status", r->status,
                                               "content_type", named ? type.data : "", "bytes", (json_int_t)r->length,
                                               "more", more);
        }
}

/* --- the tool --- */

static bool has_format(const json_t *arguments)
{
        const char *format = tool_string(arguments, "format");
        for (size_t i = 0; format && i < ARRAY_SIZE(formats); i++)
                if (strcmp(format, formats[i]) == 0)
                        return true;
        return !format;
}

static void run(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        (void)box;
        if (!has_format(arguments))
                tool_fail(answer, "the parameter format of WebFetch must be text, html or raw");
        else
                tool_fail(answer, "WebFetch comes with a later version of ringwall. Until then, use curl in Bash for a host that the "
                                  "policy allows, or ask for the page to be saved in the workspace, and Read it");
}

static const struct tool_field parameters[] = {
        { "url", TOOL_STRING, true, "What to fetch: https:// or http://, of a public server.", 0, 0 },
        { "format", TOOL_STRING, false,
          "text: readable text (the default). html: a page's HTML. raw: what the server sent, whatever it is.", 0, 0 },
        { "timeout", TOOL_INTEGER, false, "Seconds that it may take; 30 if it is left out.", 1, MOST_SECONDS },
        { "max_bytes", TOOL_INTEGER, false, "How much to show; 102400 if it is left out.", 1, WEB_BODY_MOST },
};

static const struct tool_field results[] = {
        { "url", TOOL_STRING, true, "What answered, after all redirects.", 0, 0 },
        { "status", TOOL_INTEGER, true, "The status of HTTP.", 0, 0 },
        { "content_type", TOOL_STRING, true, "What the server says that it is.", 0, 0 },
        { "bytes", TOOL_INTEGER, true, "How much was fetched.", 0, 0 },
        { "more", TOOL_BOOLEAN, true, "Whether there is more than is shown.", 0, 0 },
};

const struct tool tool_web_fetch = {
        .name = "WebFetch",
        .title = "Fetch a page",
        .help = "Fetches a public page by GET and shows it as readable text, with its headings, lists, links and code.",
        .reads_only = true,
        .idempotent = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .run = run,
};
