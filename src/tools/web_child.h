/* The process that fetches for one call of WebFetch. Theory of operation: web_child.c. */
#ifndef RINGWALL_TOOLS_WEB_CHILD_H
#define RINGWALL_TOOLS_WEB_CHILD_H

#include "policy/domain.h"
#include "policy/url.h"

/*
 * Fetches, writes a report (web_report.h) to the descriptor, and ends. Runs as: a child of the tools, in their box; it
 * closes whatever else it inherited.
 */
_Noreturn void web_child_run(const struct url *url, domain_to_ascii *to_ascii, int output);

#endif
