/*
 * Loads libcurl by dlopen() when it is needed: it brings a TLS library, which would slow down the start of
 * `ringwall mcp`. Only the fetch process calls this.
 */
#ifndef RINGWALL_TOOLS_LIBCURL_LOADER_H
#define RINGWALL_TOOLS_LIBCURL_LOADER_H

#include <curl/curl.h>

#include "base/error.h"

/* Functions of libcurl, without the prefix "curl_". */
struct libcurl_api {
        __typeof__(curl_global_init) *global_init;
        __typeof__(curl_easy_init) *easy_init;
        __typeof__(curl_easy_setopt) *easy_setopt;
        __typeof__(curl_easy_perform) *easy_perform;
        __typeof__(curl_easy_getinfo) *easy_getinfo;
        __typeof__(curl_easy_header) *easy_header;
        __typeof__(curl_easy_strerror) *easy_strerror;
};

/* Returns 0, or -errno with an error that names what is missing. libcurl is never unloaded. */
int libcurl_load(struct libcurl_api *ret, struct error *e);

#endif
