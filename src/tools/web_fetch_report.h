/*
 * The report of WebFetch's fetch process: a server's answer, or why there is none. That process has handled untrusted
 * data, so its report is untrusted too and parsed with limits. Makes no system call.
 */
#ifndef RINGWALL_TOOLS_WEB_FETCH_REPORT_H
#define RINGWALL_TOOLS_WEB_FETCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/url_filter.h"
#include "tools/web_fetch.h"

enum web_failure {
        WEB_OK,    /* no failure */
        WEB_NO_LIBRARY,
        WEB_DENIED,     /* by the URL filter or by egress; the detail is the complete reason */
        WEB_NAME_NOT_FOUND,     /* the host cannot be resolved */
        WEB_UNREACHABLE,
        WEB_BAD_CERTIFICATE,
        WEB_TLS_FAILED,    /* TLS failed for another reason */
        WEB_BAD_RESPONSE,      /* the answer is malformed or incomplete */
        WEB_FAILURES
};

enum {
        WEB_TYPE_MAX = 256,    /* bytes of a content type */
        WEB_DETAIL_MAX = 1024,
        WEB_REPORT_MAX = WEB_BODY_MAX + URL_MAX + DOMAIN_MAX + WEB_TYPE_MAX + WEB_DETAIL_MAX + 256,
};

struct web_report {
        enum web_failure failure;
        struct web_response response; /* after a failure only the URL is set: the one that failed */
        const char *detail;           /* text about a failure; "" for none */
};

/* Truncates texts that are too long. */
void web_report_write(const struct web_report *r, struct text *out);

/* Returns false when it is malformed. *ret points into `bytes`. */
bool web_report_parse(const char *bytes, size_t length, struct web_report *ret);

#endif
