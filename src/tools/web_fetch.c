/*
 * WebFetch: a page as an agent reads it. A process of its own fetches it (web_fetching.c); here is what it is asked for, and
 * what becomes of its report.
 *
 * What an attacker controls: the answer, its header included. It is bounded before it comes here, and what is shown is
 * UTF-8.
 */
#include "tools/web_fetch.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "linux/egress_wire.h"
#include "policy/url.h"
#include "tools/html.h"
#include "tools/html_charset.h"
#include "tools/html_token.h"
#include "tools/web_fetching.h"

enum {
        FIRST_LOOK = 8 << 10,    /* in which a byte that is no text makes an answer binary */
        FAILURE_SHOWN = 2 << 10, /* of what a server says about it */
        DEFAULT_SECONDS = 30,
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

/*
 * The server's own words are for the agent to read, but they are no success. Egress answers in its place what it refuses, but never in
 * TLS, where it cannot.
 */
static void add_failure(const struct web_response *r, const struct text *decoded, struct tool_answer *answer)
{
        static const char ours[] = "ringwall: ", refused[] = "refused: ";
        if (decoded->length && text_starts(decoded->data, ours) && !text_starts(r->url, "https:")) {
                const char *why = decoded->data + strlen(ours);
                why += text_starts(why, refused) ? strlen(refused) : 0;
                tool_fail(answer, "%.500s was not fetched: %.*s", r->url, (int)strcspn(why, "\r\n"), why);
                return;
        }
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

/* --- no answer --- */

/* What happened, and the way out; and whether it can be a rule's doing. */
static const struct {
        const char *what, *help;
        bool by_rule;
} failures[] = {
        [WEB_NO_LIBRARY] = { "libcurl cannot be loaded in the box", "; its package is libcurl4 (Debian, Ubuntu)", false },
        [WEB_NO_NAME] = { "its host cannot be found", "", true },
        [WEB_UNREACHABLE] = { "its server cannot be reached", "", true },
        [WEB_CERTIFICATE] = { "its server's certificate cannot be trusted",
                              "; an authority of your own is named by --env SSL_CERT_FILE=FILE and --ro FILE", false },
        [WEB_INSECURE] = { "TLS with its server failed", "", false },
        [WEB_BROKEN] = { "its server did not answer to the end", "", false },
};

/* What the policy says about the host, in the words in which egress refuses it; nothing if it is allowed. */
static bool add_rule(const struct plan *plan, const struct url *url, struct text *out)
{
        struct egress_event event = { .port = url->port };
        const struct host_rule *rule = NULL;
        if (!plan || hosts_decide(&plan->hosts, url->host, url->port, &rule))
                return false;
        memcpy(event.host, url->host, sizeof event.host);
        event.reason = url->is_address ? REASON_NO_NAME : rule ? REASON_DENIED
                     : hosts_know(&plan->hosts, url->host) ? REASON_PORT : REASON_NAME;
        egress_add_reason(&event, out);
        egress_add_allowance(&event, egress_way_out, out);
        return true;
}

static void fail_with(const struct web_fetching *f, const struct web_report *r, struct tool_answer *answer)
{
        CLEANUP_TEXT struct text why = { 0 }, detail = { 0 }, asked = { 0 };
        struct url url;
        url_print(&f->url, &asked);
        text_add_visible(&detail, r->detail, strlen(r->detail)); /* libcurl repeats what servers say */
        /* What was asked for last is in the report, and is ours only if it can be read. */
        bool known = url_parse(r->response.url, NULL, &url, NULL) == 0;
        if (r->failure == WEB_REFUSED)
                text_add(&why, detail.data ? detail.data : "");
        else if (!known || !failures[r->failure].by_rule || !add_rule(f->plan, &url, &why))
                text_format(&why, "%s: %s%s", failures[r->failure].what, detail.data, failures[r->failure].help);
        if (why.failed || detail.failed || asked.failed)
                tool_fail(answer, "no memory");
        else if (known && strcmp(r->response.url, asked.data) != 0)
                tool_fail(answer, "%.300s, to which %.300s leads, was not fetched: %s", r->response.url, asked.data, why.data);
        else
                tool_fail(answer, "%.300s was not fetched: %s", asked.data, why.data);
}

static void fail_without_report(const struct web_fetching *f, struct tool_answer *answer)
{
        CLEANUP_TEXT struct text asked = { 0 };
        url_print(&f->url, &asked);
        const char *url = asked.data ? asked.data : "it";
        long long seconds = (long long)((f->deadline - f->began) / 1000);
        if (f->timed_out)
                tool_fail(answer, "%.300s was not fetched: it did not answer within %lld s; the parameter timeout gives it up to %d",
                          url, seconds, MOST_SECONDS);
        else if (WIFSIGNALED(f->status))
                tool_fail(answer, "%.300s was not fetched: the process that fetches was ended by signal %d", url,
                          WTERMSIG(f->status));
        else
                tool_fail(answer, "%.300s was not fetched: the process that fetches ended without a report, with status %d", url,
                          WEXITSTATUS(f->status));
}

/* --- the tool --- */

static bool find_format(const json_t *arguments, enum web_format *ret)
{
        const char *format = tool_string(arguments, "format");
        *ret = WEB_TEXT;
        for (size_t i = 0; format && i < ARRAY_SIZE(formats); i++) {
                if (strcmp(format, formats[i]) != 0)
                        continue;
                *ret = (enum web_format)i;
                return true;
        }
        return !format;
}

/* Or may come to allow one. */
static bool allows_a_host(const struct plan *plan)
{
        for (size_t i = 0; i < plan->hosts.count; i++)
                if (plan->hosts.list[i].allow)
                        return true;
        return plan->number[PLAN_LIVE].number != PLAN_LIVE_OFF;
}

/* Whether there is anything to start; the answer says why not. */
static bool may_fetch(const struct toolbox *box, const char *text, struct url *ret, struct tool_answer *answer)
{
        struct error e = { 0 };
        if (url_parse(text, box->to_ascii, ret, &e) < 0)
                tool_fail(answer, "%s", e.text);
        else if (box->plan && !allows_a_host(box->plan))
                tool_fail(answer, "%s cannot be reached: the policy allows no host, so the box has no network; ringwall mcp "
                                  "--allow-domain %s would allow it, or network.allowed_domains in the policy",
                          ret->host, ret->host);
        else
                return true;
        return false;
}

static struct job *start(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        struct error e = { 0 };
        struct url url;
        enum web_format format;
        int64_t seconds = tool_integer(arguments, "timeout", DEFAULT_SECONDS);
        if (!find_format(arguments, &format)) {
                tool_fail(answer, "the parameter format of WebFetch must be text, html or raw");
                return NULL;
        }
        if (!may_fetch(box, tool_string(arguments, "url"), &url, answer))
                return NULL;
        if (box->most_seconds && box->most_seconds < seconds)
                seconds = box->most_seconds;
        struct web_fetching *f = web_fetching_start(&url, box->to_ascii, seconds * 1000, &e);
        if (!f) {
                tool_fail(answer, "%s%s", e.text, e.code == EPERM ? "; the capability process.* in a policy would allow it" : "");
                return NULL;
        }
        f->format = format;
        f->most = (size_t)tool_integer(arguments, "max_bytes", WEB_SHOWN_DEFAULT);
        f->plan = box->plan;
        return &f->job;
}

static void finish(struct job *j, struct tool_answer *answer)
{
        const struct web_fetching *f = web_fetching_of(j);
        struct web_report report;
        if (!web_fetching_report(f, &report))
                fail_without_report(f, answer);
        else if (report.failure != WEB_ANSWERED)
                fail_with(f, &report, answer);
        else
                web_fetch_answer(&report.response, f->format, f->most, answer);
}

static const struct tool_field parameters[] = {
        { "url", TOOL_STRING, true, "What to fetch: https:// or http://, of a host that the policy allows.", 0, 0 },
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
        .help = "Fetches a page by GET, through the box's network, and shows it as readable text, with its headings, lists, "
                "links and code.",
        .reads_only = true,
        .idempotent = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .start = start,
        .finish = finish,
};
