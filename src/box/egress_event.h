/* Formats the events of egress (wire/egress_protocol.h), for the user and for records. */
#ifndef RINGWALL_BOX_EGRESS_EVENT_H
#define RINGWALL_BOX_EGRESS_EVENT_H

#include <jansson.h>

#include "base/text.h"
#include "policy/plan.h"
#include "wire/egress_protocol.h"

/* Appends "allow *.example.com:8443". */
void egress_add_rule(const struct host_rule *rule, struct text *out);

/*
 * Appends a refusal for the user: the host, the reason, `rule` (the one that refused, or NULL) with its source, and the
 * flag that would allow the host.
 */
void egress_event_explain(const struct egress_event *event, const struct host_rule *rule, struct text *out);

/* An event's fields for records and reports; NULL without memory. */
json_t *egress_event_to_json(const struct egress_event *event, const struct host_rule *rule);

#endif
