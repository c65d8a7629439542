/*
 * Fetching for WebFetch, in a process of its own; see web_child.h.
 *
 * What it is for: TLS, HTTP and compression are spoken with a stranger. Here that happens in a process that has nothing: a
 * copy of the tools without their channel, in the box, which ends with the call. Whoever takes it over is a program in the
 * box.
 *
 * How it works: libcurl makes one GET. Its way is that of every program in the box: egress answers for the name, looks it
 * up outside, checks its addresses and dials; where the box's environment has a proxy, libcurl uses it. A redirect is not
 * followed by libcurl but by us: the URL filter reads where it leads, and what it read is asked for; another host or port is
 * another connection, on which egress decides again. At the end a report goes into the pipe.
 *
 * What an attacker controls: all that the server sends. Of the body WEB_BODY_MOST bytes are kept, counted behind the
 * decompression, and then the connection is broken off; libcurl bounds the header; time is the parent's to bound, which
 * kills this process.
 */
#include "tools/web_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "tools/web_curl.h"
#include "tools/web_reason.h"
#include "tools/web_report.h"

struct fetch {
        struct web_curl curl;
        CURL *handle;
        domain_to_ascii *to_ascii;
        struct url url;          /* that is asked for */
        struct text printed;     /* the same */
        struct text body;        /* of the answer */
        bool cut;                /* there is more of it */
        long status;             /* of the answer; 0: none came */
        char words[CURL_ERROR_SIZE]; /* libcurl's, about what went wrong */
        struct error error;
};

/* --- how it asks --- */

static const struct {
        CURLoption option;
        long value;
} numbers[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_HTTPGET, 1 },
        { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS },
        { CURLOPT_SSL_VERIFYPEER, 1 },
        { CURLOPT_SSL_VERIFYHOST, 2 },
        { CURLOPT_NETRC, CURL_NETRC_IGNORED },
        { CURLOPT_PATH_AS_IS, 1 }, /* it is in its one spelling already */
        { CURLOPT_SUPPRESS_CONNECT_HEADERS, 1 },
};

static const struct {
        CURLoption option;
        const char *value;
} strings[] = {
        { CURLOPT_PROTOCOLS_STR, "http,https" },
        { CURLOPT_ACCEPT_ENCODING, "gzip, deflate" },
        { CURLOPT_USERAGENT, "ringwall" },
};

/* By which variable of the box's environment a program learns of other authorities; the first that is there counts. */
static const struct {
        CURLoption option;
        const char *variable;
} trusts[] = {
        { CURLOPT_CAINFO, "CURL_CA_BUNDLE" },
        { CURLOPT_CAINFO, "SSL_CERT_FILE" },
        { CURLOPT_CAPATH, "SSL_CERT_DIR" },
};

/* Up to the bound; a smaller number than what was given ends the transfer. */
static size_t take_body(char *bytes, size_t size, size_t count, void *data)
{
        struct fetch *f = data;
        size_t length = size * count, room = WEB_BODY_MOST - f->body.length, taken = length < room ? length : room;
        text_add_bytes(&f->body, bytes, taken);
        f->cut = taken < length;
        return f->body.failed ? 0 : taken;
}

/* One that it does not know would leave something open. */
static bool set_up(struct fetch *f)
{
        CURL *h = f->handle = f->curl.easy_init();
        __typeof__(f->curl.easy_setopt) set = f->curl.easy_setopt;
        CURLoption trusted = 0;
        bool good = h && set(h, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK && set(h, CURLOPT_WRITEDATA, f) == CURLE_OK &&
                    set(h, CURLOPT_ERRORBUFFER, f->words) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(numbers); i++)
                good = set(h, numbers[i].option, numbers[i].value) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(strings); i++)
                good = set(h, strings[i].option, strings[i].value) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(trusts); i++) {
                const char *value = getenv(trusts[i].variable); // NOLINT(concurrency-mt-unsafe): there is one thread
                if (!value || !*value || trusts[i].option == trusted)
                        continue;
                trusted = trusts[i].option;
                good = set(h, trusted, value) == CURLE_OK;
        }
        return good;
}

static CURLcode ask(struct fetch *f, const char *url)
{
        text_done(&f->body);
        f->cut = false;
        f->status = 0;
        f->words[0] = '\0';
        CURLcode r = f->curl.easy_setopt(f->handle, CURLOPT_URL, url);
        if (r == CURLE_OK)
                r = f->curl.easy_perform(f->handle);
        (void)f->curl.easy_getinfo(f->handle, CURLINFO_RESPONSE_CODE, &f->status);
        if (r == CURLE_WRITE_ERROR && f->cut)
                r = CURLE_OK; /* we ended it */
        if (r != CURLE_OK && !f->words[0])
                (void)snprintf(f->words, sizeof f->words, "%s", f->curl.easy_strerror(r));
        return r;
}

/* --- how it went --- */

static const struct {
        CURLcode code;
        enum web_failure failure;
} failures[] = {
        { CURLE_COULDNT_RESOLVE_HOST, WEB_NO_NAME },
        { CURLE_COULDNT_RESOLVE_PROXY, WEB_UNREACHABLE },
        { CURLE_COULDNT_CONNECT, WEB_UNREACHABLE },
        { CURLE_PROXY, WEB_UNREACHABLE },
        { CURLE_PEER_FAILED_VERIFICATION, WEB_CERTIFICATE },
        { CURLE_SSL_CACERT_BADFILE, WEB_CERTIFICATE },
        { CURLE_SSL_ISSUER_ERROR, WEB_CERTIFICATE },
        { CURLE_SSL_CONNECT_ERROR, WEB_INSECURE },
        { CURLE_SSL_CIPHER, WEB_INSECURE },
};

static enum web_failure failure_of(const struct fetch *f, CURLcode code)
{
        long tunnel = 0; /* what a proxy said to CONNECT */
        (void)f->curl.easy_getinfo(f->handle, CURLINFO_HTTP_CONNECTCODE, &tunnel);
        if (tunnel >= 400)
                return WEB_UNREACHABLE;
        for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
                if (failures[i].code == code)
                        return failures[i].failure;
        return WEB_BROKEN;
}

static _Noreturn void end(struct fetch *f, int output, enum web_failure failure, const char *detail)
{
        CLEANUP_TEXT struct text out = { 0 };
        struct web_report report = { .failure = failure, .response.url = f->printed.data, .detail = detail };
        char *type = NULL;
        if (failure == WEB_ANSWERED) {
                (void)f->curl.easy_getinfo(f->handle, CURLINFO_CONTENT_TYPE, &type);
                report.response = (struct web_response){ f->printed.data, (int)f->status, type, f->body.data, f->body.length, f->cut };
        }
        web_report_write(&report, &out);
        _exit(!out.failed && fd_write_all(output, out.data, out.length) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static _Noreturn void fail(struct fetch *f, int output, CURLcode code)
{
        enum web_failure failure = failure_of(f, code);
        char reason[WEB_DETAIL_MOST];
        bool spoken = f->status != 0 || failure == WEB_NO_NAME || failure == WEB_CERTIFICATE;
        if (!spoken && web_reason_ask(&f->url, reason, sizeof reason))
                end(f, output, WEB_REFUSED, reason);
        end(f, output, failure, f->words);
}

/* --- redirects --- */

/* 1: it leads elsewhere, which f->url is now; 0: it does not; or -errno with an error. */
static int follow(struct fetch *f)
{
        static const long redirects[] = { 301, 302, 303, 307, 308 };
        struct curl_header *location = NULL;
        bool redirects_us = false;
        for (size_t i = 0; i < ARRAY_SIZE(redirects); i++)
                redirects_us |= f->status == redirects[i];
        if (!redirects_us || f->curl.easy_header(f->handle, "Location", 0, CURLH_HEADER, -1, &location) != CURLHE_OK)
                return 0;
        if (location->amount > 1)
                return error_set(&f->error, EINVAL, "redirect", "a redirect of %s is not followed: it leads to several places",
                                 f->url.host);
        int r = url_redirect(&f->url, location->value, f->to_ascii, &f->url, &f->error);
        return r < 0 ? r : 1;
}

/* The pipe takes the channel's place, so nothing of the tools' is left; nor is the person's terminal. */
static void leave_behind(int *output)
{
        enum { PLACE = STDERR_FILENO + 1 };
        if (dup2(STDIN_FILENO, STDERR_FILENO) < 0 || (*output != PLACE && dup2(*output, PLACE) < 0) ||
            syscall(SYS_close_range, PLACE + 1U, ~0U, 0U) < 0)
                _exit(EXIT_FAILURE);
        *output = PLACE;
        (void)signal(SIGPIPE, SIG_IGN); /* a server that goes is an error like others */
}

_Noreturn void web_child_run(const struct url *url, domain_to_ascii *to_ascii, int output)
{
        static struct fetch f; /* too large for a stack */
        f.url = *url;
        f.to_ascii = to_ascii;
        leave_behind(&output);
        url_print(&f.url, &f.printed);
        if (web_curl_load(&f.curl, &f.error) < 0)
                end(&f, output, WEB_NO_LIBRARY, f.error.text);
        if (!set_up(&f))
                end(&f, output, WEB_NO_LIBRARY, "it is too old");
        for (int more = 1; more > 0;) {
                text_done(&f.printed);
                url_print(&f.url, &f.printed);
                CURLcode r = f.printed.failed ? CURLE_OUT_OF_MEMORY : ask(&f, f.printed.data);
                if (r != CURLE_OK)
                        fail(&f, output, r);
                more = follow(&f);
                if (more < 0)
                        end(&f, output, WEB_REFUSED, f.error.text);
        }
        end(&f, output, WEB_ANSWERED, NULL);
}
