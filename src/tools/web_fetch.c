/*
 * WebFetch: shows a page as readable text. A separate process fetches it (web_fetch_job.c); this file checks the
 * arguments and turns the report into an answer.
 *
 * What an attacker controls: the server's answer, including its header. Its size was limited before it comes here, and
 * the output is valid UTF-8.
 */
#include "tools/web_fetch.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "wire/egress_protocol.h"
#include "policy/url_filter.h"
#include "tools/html.h"
#include "tools/html_charset.h"
#include "tools/html_token.h"
#include "tools/web_fetch_job.h"

enum {
        BINARY_CHECK = 8 << 10,  /* a NUL in so many first bytes makes an answer binary */
        FAILURE_SHOWN = 2 << 10, /* bytes of the server's text about a failure */
        DEFAULT_SECONDS = 30,
        SECONDS_MAX = 120,
};

static const char *const formats[] = { [WEB_TEXT] = "text", [WEB_HTML] = "html", [WEB_RAW] = "raw", NULL };

/* --- the server's answer --- */

/* "text/html" of "text/html; charset=utf-8". */
static size_t type_length(const char *content_type)
{
        return content_type ? strcspn(content_type, "; \t") : 0;
}

/* Decides by the header, or without one by the first tag. */
static bool is_html(const struct web_response *r)
{
        static const char *const starts[] = { "<!doctype html", "<html", "<head", "<body" };
        size_t length = type_length(r->content_type), blank = 0;
        if (length)
                return html_equals(r->content_type, length, "text/html") ||
                       html_equals(r->content_type, length, "application/xhtml+xml");
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
               memchr(decoded->data, '\0', decoded->length < BINARY_CHECK ? decoded->length : BINARY_CHECK);
}

/* The offset itself, or the start of the character that it is in. */
static size_t character_start(const struct text *text, size_t offset)
{
        if (offset >= text->length)
                return text->length;
        while (offset && ((unsigned char)text->data[offset] & 0xc0) == 0x80)
                offset--;
        return offset;
}

/* Adds a part of the text. Returns the offset of the rest, or 0 if there is none. */
static size_t add_part(struct text *out, const struct text *text, struct web_part part)
{
        size_t start = character_start(text, part.offset), end = character_start(text, part.offset + part.max_bytes);
        text_add_bytes(out, text->data ? text->data + start : "", end - start);
        return end < text->length ? end : 0;
}

/* Adds a part of the body in this format. Returns the offset of the rest, or 0 if there is none. */
static size_t add_body(const struct web_response *r, const struct text *decoded, enum web_format format,
                       struct web_part part, struct text *out)
{
        CLEANUP_HTML_TEXT struct html_text page = { 0 };
        if (format != WEB_TEXT || !is_html(r))
                return add_part(out, decoded, part);
        html_to_text(decoded->data ? decoded->data : "", decoded->length, part.offset + part.max_bytes, &page);
        if (page.title.length && !part.offset)
                text_format(out, "Title: %s\n\n", page.title.data);
        (void)add_part(out, &page.body, part);
        return page.cut ? page.body.length : 0;
}

/*
 * Makes an error with the server's text. Over plain HTTP, egress reports that it refused or failed by a body that
 * starts with "ringwall: ". A server can imitate that; only the wording depends on it. Egress cannot answer for a TLS
 * server.
 */
static void add_failure(const struct web_response *r, const struct text *decoded, struct tool_result *answer)
{
        static const char ours[] = "ringwall: ", refused[] = "refused: ";
        if (decoded->length && text_has_prefix(decoded->data, ours) && !text_has_prefix(r->url, "https:")) {
                const char *why = decoded->data + strlen(ours);
                why += text_has_prefix(why, refused) ? strlen(refused) : 0;
                tool_fail(answer, "%.500s was not fetched: %.*s", r->url, (int)strcspn(why, "\r\n"), why);
                return;
        }
        tool_fail(answer, "%.500s: the server answered with status %d", r->url, r->status);
        if (!decoded->length || is_binary(decoded))
                return;
        text_add(&answer->text, "\n\n");
        (void)add_body(r, decoded, WEB_TEXT, (struct web_part){ 0, FAILURE_SHOWN }, &answer->text);
}

void web_fetch_format_result(const struct web_response *r, enum web_format format, struct web_part part,
                             struct tool_result *answer)
{
        CLEANUP_TEXT struct text decoded = { 0 }, type = { 0 };
        size_t named = type_length(r->content_type);
        if (named)
                text_add_escaped(&type, r->content_type, named);
        else
                text_add(&type, "of an unknown type");
        bool invalid = format == WEB_RAW ? tool_add_utf8(&decoded, r->body, r->length)
                                         : html_decode(r->body, r->length, r->content_type, is_html(r), &decoded);
        if (decoded.failed || type.failed) {
                tool_fail(answer, "no memory");
        } else if (r->status < 200 || r->status > 299) {
                add_failure(r, &decoded, answer);
        } else if (is_binary(&decoded)) {
                tool_fail(answer, "%.500s is binary: %.100s, %zu bytes; only text can be shown", r->url, type.data,
                          r->length);
        } else if (format == WEB_HTML && !is_html(r)) {
                tool_fail(answer, "%.500s is not HTML but %.100s: use the format text or raw", r->url, type.data);
        } else {
                size_t next = add_body(r, &decoded, format, part, &answer->text);
                bool more = next || r->cut;
                if (!answer->text.length && part.offset)
                        text_format(&answer->text, "(%s has no more text)", r->url);
                else if (!answer->text.length)
                        text_format(&answer->text, "(%s is empty)", r->url);
                if (invalid)
                        text_add(&answer->text, "\n(bytes that are invalid in its charset are shown as \xef\xbf\xbd)");
                if (next)
                        text_format(&answer->text, "\n(there is more: continue with offset %zu)", next);
                else if (more)
                        text_format(&answer->text, "\n(only the first %zu bytes of the page were fetched)", r->length);
                answer->details = json_pack("{s:s, s:i, s:s, s:I, s:b}", "url", r->url, "status", r->status,
                                               "content_type", named ? type.data : "", "bytes", (json_int_t)r->length,
                                               "more", more);
        }
}

/* --- failures --- */

/* What failed, what helps, and whether a rule of the policy may be the reason. */
static const struct {
        const char *what, *help;
        bool by_rule;
} failures[] = {
        [WEB_NO_LIBRARY] = { "libcurl cannot be loaded in the box", "; its package is libcurl4 (Debian, Ubuntu)",
                             false },
        [WEB_NAME_NOT_FOUND] = { "its host name cannot be resolved", "", true },
        [WEB_UNREACHABLE] = { "its server cannot be reached", "", true },
        [WEB_BAD_CERTIFICATE] = { "its server's certificate cannot be trusted",
                              "; to trust an authority of your own: --env SSL_CERT_FILE=FILE and --ro FILE", false },
        [WEB_TLS_FAILED] = { "TLS with its server failed", "", false },
        [WEB_BAD_RESPONSE] = { "the response is malformed or incomplete", "", false },
};

/* Adds why the policy denies the host, as egress words it. Returns false when the policy allows it. */
static bool add_denial(const struct plan *plan, const struct url *url, struct text *out)
{
        struct egress_event event = { .port = url->port };
        const struct host_rule *rule = NULL;
        if (!plan || hosts_decide(&plan->hosts, url->host, url->port, &rule))
                return false;
        memcpy(event.host, url->host, sizeof event.host);
        event.reason = url->is_address                                 ? REASON_RAW_ADDRESS
                       : rule                                          ? REASON_HOST_DENIED
                       : hosts_allow_any_port(&plan->hosts, url->host) ? REASON_PORT_NOT_ALLOWED
                                                                       : REASON_HOST_NOT_ALLOWED;
        egress_event_add_reason(&event, out);
        egress_event_add_remedy(&event, egress_allowance_prefix, out);
        return true;
}

static void fail_with(const struct web_fetch_job *f, const struct web_report *r, struct tool_result *answer)
{
        CLEANUP_TEXT struct text why = { 0 }, detail = { 0 }, asked = { 0 };
        struct url url;
        url_print(&f->url, &asked);
        text_add_escaped(&detail, r->detail, strlen(r->detail)); /* libcurl quotes text of servers */
        /* The report has the URL that failed. It is untrusted, so parse it again. */
        bool known = url_parse(r->response.url, NULL, &url, NULL) == 0;
        if (r->failure == WEB_DENIED)
                text_add(&why, detail.data ? detail.data : "");
        else if (!known || !failures[r->failure].by_rule || !add_denial(f->plan, &url, &why))
                text_format(&why, "%s: %s%s", failures[r->failure].what, detail.data, failures[r->failure].help);
        if (why.failed || detail.failed || asked.failed)
                tool_fail(answer, "no memory");
        else if (known && strcmp(r->response.url, asked.data) != 0)
                tool_fail(answer, "%.300s, a redirect of %.300s, was not fetched: %s", r->response.url, asked.data,
                          why.data);
        else
                tool_fail(answer, "%.300s was not fetched: %s", asked.data, why.data);
}

static void fail_without_report(const struct web_fetch_job *f, struct tool_result *answer)
{
        CLEANUP_TEXT struct text asked = { 0 };
        url_print(&f->url, &asked);
        const char *url = asked.data ? asked.data : "it";
        long long seconds = (long long)((f->deadline - f->began) / 1000);
        if (f->timed_out)
                tool_fail(answer,
                          "%.300s was not fetched: it did not answer within %lld s; raise the parameter timeout (at "
                          "most %d)",
                          url, seconds, SECONDS_MAX);
        else if (WIFSIGNALED(f->status))
                tool_fail(answer, "%.300s was not fetched: the fetch process was killed by signal %d", url,
                          WTERMSIG(f->status));
        else
                tool_fail(answer,
                          "%.300s was not fetched: the fetch process exited with status %d and without a report",
                          url, WEXITSTATUS(f->status));
}

/* --- the tool --- */

/* Also true when the policy may change while the box runs. */
static bool may_allow_a_host(const struct plan *plan)
{
        for (size_t i = 0; i < plan->hosts.count; i++)
                if (plan->hosts.list[i].allow)
                        return true;
        return plan->scalar[PLAN_LIVE].value != PLAN_LIVE_OFF;
}

/* Checks the URL and the policy. Returns false with an error in the answer. */
static bool may_fetch(const struct tool_context *tools, const char *text, struct url *ret, struct tool_result *answer)
{
        struct error e = { 0 };
        if (url_parse(text, tools->to_ascii, ret, &e) < 0)
                tool_fail(answer, "%s", e.text);
        else if (tools->plan && !may_allow_a_host(tools->plan))
                tool_fail(answer,
                          "%s cannot be reached: the policy allows no host, so the box reaches none; ringwall mcp "
                          "--allow-domain %s would allow it, or network.allowed_domains in the policy",
                          ret->host, ret->host);
        else
                return true;
        return false;
}

static struct job *start(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct error e = { 0 };
        struct url url;
        int64_t seconds = tool_arg_integer(arguments, "timeout", DEFAULT_SECONDS);
        if (!may_fetch(tools, tool_arg_string(arguments, "url"), &url, answer))
                return NULL;
        if (tools->max_seconds && tools->max_seconds < seconds)
                seconds = tools->max_seconds;
        struct web_fetch_job *f = web_fetch_job_start(&url, tools->to_ascii, seconds * 1000, &e);
        if (!f) {
                tool_fail(answer, "%s%s", e.text,
                          e.code == EPERM ? "; to allow it, add process.* to tools.capabilities.grant" : "");
                return NULL;
        }
        f->format = (enum web_format)tool_arg_word(arguments, "format", formats);
        f->part.offset = (size_t)tool_arg_integer(arguments, "offset", 0);
        f->part.max_bytes = (size_t)tool_arg_integer(arguments, "max_bytes", WEB_SHOWN_DEFAULT);
        f->plan = tools->plan;
        return &f->job;
}

static void finish(struct job *j, struct tool_result *answer)
{
        const struct web_fetch_job *f = web_fetch_job_from(j);
        struct web_report report;
        if (!web_fetch_job_report(f, &report))
                fail_without_report(f, answer);
        else if (report.failure != WEB_OK)
                fail_with(f, &report, answer);
        else
                web_fetch_format_result(&report.response, f->format, f->part, answer);
}

static const struct tool_param parameters[] = {
        { .name = "url", .type = TOOL_STRING, .required = true,
          .help = "The URL to fetch: https:// or http://, of a host that the policy allows." },
        { .name = "format", .type = TOOL_STRING, .words = formats,
          .help = "text: readable text (the default). html: the page's HTML. raw: the body, whatever its type." },
        { .name = "timeout", .type = TOOL_INTEGER,
          .help = "Timeout in seconds; default 30.", .min = 1, .max = SECONDS_MAX },
        { .name = "max_bytes", .type = TOOL_INTEGER,
          .help = "How many bytes to show; default 22000.", .min = 1, .max = WEB_BODY_MAX },
        { .name = "offset", .type = TOOL_INTEGER,
          .help = "How many bytes of the text to leave out first; an earlier answer says where it ended.", .min = 0,
          .max = (json_int_t)4 * WEB_BODY_MAX },
};

const struct tool tool_web_fetch = {
        .name = "WebFetch",
        .title = "Fetch a page",
        .help = "Fetches a page by GET, through the box's network, and shows it as readable text, with its headings, "
                "lists, links and code.",
        .reads_only = true,
        .idempotent = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .start = start,
        .finish = finish,
};
