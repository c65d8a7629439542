/*
 * What the process that fetches for WebFetch says at its end: the answer of a server, or why there is none. It comes out of
 * a process that has spoken with a stranger, so it is read with bounds. Makes no system call.
 */
#ifndef RINGWALL_TOOLS_WEB_REPORT_H
#define RINGWALL_TOOLS_WEB_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "policy/url.h"
#include "tools/web_fetch.h"

enum web_failure {
        WEB_ANSWERED,    /* none */
        WEB_NO_LIBRARY,
        WEB_REFUSED,     /* by the URL filter, or by egress: the detail says all */
        WEB_NO_NAME,     /* it cannot be looked up */
        WEB_UNREACHABLE,
        WEB_CERTIFICATE,
        WEB_INSECURE,    /* TLS failed otherwise */
        WEB_BROKEN,      /* what came is no answer, or only a part of one */
        WEB_FAILURES
};

enum {
        WEB_TYPE_MOST = 256,    /* bytes of a content type */
        WEB_DETAIL_MOST = 1024,
        WEB_REPORT_MOST = WEB_BODY_MOST + URL_MOST + CAP_DOMAIN + WEB_TYPE_MOST + WEB_DETAIL_MOST + 256,
};

struct web_report {
        enum web_failure failure;
        struct web_response response; /* after a failure only its URL counts: the one that it happened to */
        const char *detail;           /* of a failure, in words; "" for none */
};

/* Texts that are too long are cut. */
void web_report_write(const struct web_report *r, struct text *out);

/* False when it is none. What it points to lies in `bytes`. */
bool web_report_read(const char *bytes, size_t length, struct web_report *ret);

#endif
