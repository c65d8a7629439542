/*
 * The fetch process of WebFetch; see web_fetch_child.h.
 *
 * What it is for: TLS, HTTP and decompression process untrusted data. They run in a separate process: a fork of the
 * worker without its channel, in the box, which exits after the call. An attacker who takes it over has what any
 * program in the box has.
 *
 * How it works: libcurl makes one GET, over the network like any program in the box: egress answers for the name,
 * resolves it outside, checks its addresses and dials; if the box's environment has a proxy, libcurl uses it. libcurl
 * does not follow redirects. The URL filter parses the target of each, and libcurl gets the parsed URL; another host or
 * port is a new connection, about which egress decides again. At the end the process writes a report into the pipe.
 *
 * What an attacker controls: all that the server sends. At most WEB_BODY_MAX bytes of the decompressed body are kept,
 * then the transfer is aborted; libcurl limits the header; the parent limits the time and kills this process.
 */
#include "tools/web_fetch_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "tools/libcurl_loader.h"
#include "tools/web_deny_reason.h"
#include "tools/web_fetch_report.h"

struct fetch {
        struct libcurl_api curl;
        CURL *handle;
        to_ascii_function *to_ascii;
        struct url url;          /* of the current request */
        struct text printed;     /* the same as text */
        struct text body;        /* of the answer */
        bool cut;                /* the body is longer */
        long status;             /* HTTP status of the answer; 0: no answer */
        char curl_error[CURL_ERROR_SIZE]; /* error message of libcurl */
        struct error error;
};

/* --- the request --- */

static const struct {
        CURLoption option;
        long value;
} number_options[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_HTTPGET, 1 },
        { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS },
        { CURLOPT_SSL_VERIFYPEER, 1 },
        { CURLOPT_SSL_VERIFYHOST, 2 },
        { CURLOPT_NETRC, CURL_NETRC_IGNORED },
        { CURLOPT_PATH_AS_IS, 1 }, /* url_parse() has normalised it */
        { CURLOPT_SUPPRESS_CONNECT_HEADERS, 1 },
};

static const struct {
        CURLoption option;
        const char *value;
} string_options[] = {
        { CURLOPT_PROTOCOLS_STR, "http,https" },
        { CURLOPT_ACCEPT_ENCODING, "gzip, deflate" },
        { CURLOPT_USERAGENT, "ringwall" },
};

/* Environment variables that name other certificate authorities. For each option the first one that is set counts. */
static const struct {
        CURLoption option;
        const char *variable;
} ca_options[] = {
        { CURLOPT_CAINFO, "CURL_CA_BUNDLE" },
        { CURLOPT_CAINFO, "SSL_CERT_FILE" },
        { CURLOPT_CAPATH, "SSL_CERT_DIR" },
};

/* Callback of libcurl. Keeps at most WEB_BODY_MAX bytes; returning less than it was given aborts the transfer. */
static size_t store_body(char *bytes, size_t size, size_t count, void *data)
{
        struct fetch *f = data;
        size_t length = size * count, room = WEB_BODY_MAX - f->body.length, kept = length < room ? length : room;
        text_add_bytes(&f->body, bytes, kept);
        f->cut = kept < length;
        return f->body.failed ? 0 : kept;
}

/* Fails if libcurl does not know an option, because a protection could be missing then. */
static bool set_options(struct fetch *f)
{
        CURL *h = f->handle = f->curl.easy_init();
        __typeof__(f->curl.easy_setopt) set = f->curl.easy_setopt;
        CURLoption last = 0;
        bool good = h && set(h, CURLOPT_WRITEFUNCTION, store_body) == CURLE_OK &&
                    set(h, CURLOPT_WRITEDATA, f) == CURLE_OK && set(h, CURLOPT_ERRORBUFFER, f->curl_error) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(number_options); i++)
                good = set(h, number_options[i].option, number_options[i].value) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(string_options); i++)
                good = set(h, string_options[i].option, string_options[i].value) == CURLE_OK;
        for (size_t i = 0; good && i < ARRAY_SIZE(ca_options); i++) {
                const char *value = getenv(ca_options[i].variable); // NOLINT(concurrency-mt-unsafe): one thread
                if (!value || !*value || ca_options[i].option == last)
                        continue;
                last = ca_options[i].option;
                good = set(h, last, value) == CURLE_OK;
        }
        return good;
}

static CURLcode send_request(struct fetch *f, const char *url)
{
        text_done(&f->body);
        f->cut = false;
        f->status = 0;
        f->curl_error[0] = '\0';
        CURLcode r = f->curl.easy_setopt(f->handle, CURLOPT_URL, url);
        if (r == CURLE_OK)
                r = f->curl.easy_perform(f->handle);
        (void)f->curl.easy_getinfo(f->handle, CURLINFO_RESPONSE_CODE, &f->status);
        if (r == CURLE_WRITE_ERROR && f->cut)
                r = CURLE_OK; /* store_body() aborted it */
        if (r != CURLE_OK && !f->curl_error[0])
                (void)snprintf(f->curl_error, sizeof f->curl_error, "%s", f->curl.easy_strerror(r));
        return r;
}

/* --- the report --- */

static const struct {
        CURLcode code;
        enum web_failure failure;
} failures[] = {
        { CURLE_COULDNT_RESOLVE_HOST, WEB_NAME_NOT_FOUND },
        { CURLE_COULDNT_RESOLVE_PROXY, WEB_UNREACHABLE },
        { CURLE_COULDNT_CONNECT, WEB_UNREACHABLE },
        { CURLE_PROXY, WEB_UNREACHABLE },
        { CURLE_PEER_FAILED_VERIFICATION, WEB_BAD_CERTIFICATE },
        { CURLE_SSL_CACERT_BADFILE, WEB_BAD_CERTIFICATE },
        { CURLE_SSL_ISSUER_ERROR, WEB_BAD_CERTIFICATE },
        { CURLE_SSL_CONNECT_ERROR, WEB_TLS_FAILED },
        { CURLE_SSL_CIPHER, WEB_TLS_FAILED },
};

static enum web_failure failure_of(const struct fetch *f, CURLcode code)
{
        long tunnel = 0; /* status of a proxy's answer to CONNECT */
        (void)f->curl.easy_getinfo(f->handle, CURLINFO_HTTP_CONNECTCODE, &tunnel);
        if (tunnel >= 400)
                return WEB_UNREACHABLE;
        for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
                if (failures[i].code == code)
                        return failures[i].failure;
        return WEB_BAD_RESPONSE;
}

static _Noreturn void report_and_exit(struct fetch *f, int output, enum web_failure failure, const char *detail)
{
        CLEANUP_TEXT struct text out = { 0 };
        struct web_report report = { .failure = failure, .response.url = f->printed.data, .detail = detail };
        char *type = NULL;
        if (failure == WEB_OK) {
                (void)f->curl.easy_getinfo(f->handle, CURLINFO_CONTENT_TYPE, &type);
                report.response = (struct web_response){ f->printed.data, (int)f->status, type,
                                                         f->body.data,    f->body.length, f->cut };
        }
        web_report_write(&report, &out);
        _exit(!out.failed && fd_write_all(output, out.data, out.length) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static _Noreturn void report_failure(struct fetch *f, int output, CURLcode code)
{
        enum web_failure failure = failure_of(f, code);
        char reason[WEB_DETAIL_MAX];
        bool is_known = f->status != 0 || failure == WEB_NAME_NOT_FOUND || failure == WEB_BAD_CERTIFICATE;
        if (!is_known && web_query_deny_reason(&f->url, reason, sizeof reason))
                report_and_exit(f, output, WEB_DENIED, reason);
        report_and_exit(f, output, failure, f->curl_error);
}

/* --- redirects --- */

/* Returns 1 if the answer is a redirect, with its target in f->url; 0 if not; or -errno with an error. */
static int follow_redirect(struct fetch *f)
{
        static const long redirect_statuses[] = { 301, 302, 303, 307, 308 };
        struct curl_header *location = NULL;
        bool is_redirect = false;
        for (size_t i = 0; i < ARRAY_SIZE(redirect_statuses); i++)
                is_redirect |= f->status == redirect_statuses[i];
        if (!is_redirect || f->curl.easy_header(f->handle, "Location", 0, CURLH_HEADER, -1, &location) != CURLHE_OK)
                return 0;
        if (location->amount > 1)
                return error_set(&f->error, EINVAL, "a redirect of %s is not followed: it has several Location headers",
                                 f->url.host);
        int r = url_follow_redirect(&f->url, location->value, f->to_ascii, &f->url, &f->error);
        return r < 0 ? r : 1;
}

/* Replaces the channel by the pipe and stderr by stdin, which is /dev/null, and closes all other descriptors. */
static void drop_descriptors(int *output)
{
        enum { OUTPUT = STDERR_FILENO + 1 };
        if (dup2(STDIN_FILENO, STDERR_FILENO) < 0 || (*output != OUTPUT && dup2(*output, OUTPUT) < 0) ||
            syscall(SYS_close_range, OUTPUT + 1U, ~0U, 0U) < 0)
                _exit(EXIT_FAILURE);
        *output = OUTPUT;
        (void)signal(SIGPIPE, SIG_IGN); /* a closed connection must be an error of write(), not a signal */
}

_Noreturn void web_fetch_child_main(const struct url *url, to_ascii_function *to_ascii, int output)
{
        static struct fetch f; /* too large for a stack */
        f.url = *url;
        f.to_ascii = to_ascii;
        drop_descriptors(&output);
        url_print(&f.url, &f.printed);
        if (libcurl_load(&f.curl, &f.error) < 0)
                report_and_exit(&f, output, WEB_NO_LIBRARY, f.error.text);
        if (!set_options(&f))
                report_and_exit(&f, output, WEB_NO_LIBRARY, "it is too old");
        for (int more = 1; more > 0;) {
                text_done(&f.printed);
                url_print(&f.url, &f.printed);
                CURLcode r = f.printed.failed ? CURLE_OUT_OF_MEMORY : send_request(&f, f.printed.data);
                if (r != CURLE_OK)
                        report_failure(&f, output, r);
                more = follow_redirect(&f);
                if (more < 0)
                        report_and_exit(&f, output, WEB_DENIED, f.error.text);
        }
        report_and_exit(&f, output, WEB_OK, NULL);
}
