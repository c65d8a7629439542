/* Asks egress why it refused a connection. */
#ifndef RINGWALL_TOOLS_WEB_DENY_REASON_H
#define RINGWALL_TOOLS_WEB_DENY_REASON_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/url_filter.h"

/*
 * Stores egress's reason for refusing this URL's host and port. Returns false when egress does not refuse them or
 * cannot be reached. Blocks until egress has answered.
 */
bool web_query_deny_reason(const struct url *url, char *ret, size_t size);

#endif
