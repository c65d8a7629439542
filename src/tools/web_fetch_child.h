/* The fetch process of one WebFetch call. Theory of operation: web_fetch_child.c. */
#ifndef RINGWALL_TOOLS_WEB_FETCH_CHILD_H
#define RINGWALL_TOOLS_WEB_FETCH_CHILD_H

#include "policy/host_pattern.h"
#include "policy/url_filter.h"

/*
 * Fetches the URL, writes a report (web_fetch_report.h) to `output`, and exits. Runs as: a forked child of the worker,
 * in its box; keeps no descriptor but `output` and /dev/null.
 */
_Noreturn void web_fetch_child_main(const struct url *url, to_ascii_function *to_ascii, int output);

#endif
