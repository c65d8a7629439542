/* The fetch process of one WebFetch call. Theory of operation: web_child.c. */
#ifndef RINGWALL_TOOLS_WEB_CHILD_H
#define RINGWALL_TOOLS_WEB_CHILD_H

#include "policy/domain.h"
#include "policy/url.h"

/*
 * Fetches the URL, writes a report (web_report.h) to `output`, and exits. Runs as: a forked child of the worker, in its
 * box; keeps no descriptor but `output` and /dev/null.
 */
_Noreturn void web_child_run(const struct url *url, domain_to_ascii *to_ascii, int output);

#endif
