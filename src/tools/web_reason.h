/* Why egress refused a connection, in its words. */
#ifndef RINGWALL_TOOLS_WEB_REASON_H
#define RINGWALL_TOOLS_WEB_REASON_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/url.h"

/* The line that it says about this URL's host and port; false when it does not refuse them, or is not there. Waits for it. */
bool web_reason_ask(const struct url *url, char *ret, size_t size);

#endif
