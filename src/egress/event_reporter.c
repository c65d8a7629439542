/* Reports to the front; see event_reporter.h. The same refusal is reported at its 1st, 2nd, 4th, 8th… occurrence. */
#include "egress/event_reporter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/packet.h"

void report_event(struct event_reporter *reporter, const struct egress_event *event)
{
        int r;
        do
                r = packet_send(reporter->front, event, sizeof *event, -1);
        while (r == -EINTR);
        if (r < 0)
                _exit(EXIT_FAILURE);
}

static void report_pending(struct event_reporter *reporter, struct denied_event *r)
{
        if (r->event.count)
                report_event(reporter, &r->event);
        r->event.count = 0;
}

/* Returns the slot for a new refusal. In a full ring it is the oldest refusal's, whose pending count is reported. */
static struct denied_event *take_slot(struct event_reporter *reporter)
{
        if (!reporter->remembered)
                reporter->remembered = calloc(REFUSALS_REMEMBERED_MAX, sizeof *reporter->remembered);
        if (!reporter->remembered)
                return NULL;
        struct denied_event *r = &reporter->remembered[reporter->next];
        reporter->next = (reporter->next + 1) % REFUSALS_REMEMBERED_MAX;
        reporter->count += reporter->count < REFUSALS_REMEMBERED_MAX;
        report_pending(reporter, r);
        return r;
}

void report_refusal(struct event_reporter *reporter, const struct egress_event *event)
{
        struct denied_event *r = NULL;
        for (size_t i = 0; i < reporter->count && !r; i++)
                if (egress_event_same(&reporter->remembered[i].event, event))
                        r = &reporter->remembered[i];
        if (!r && reporter->reported < REFUSALS_REPORTED_MAX && (r = take_slot(reporter))) {
                *r = (struct denied_event){ .event = *event };
                r->event.kind = EGRESS_EVENT_DENIED;
                r->event.count = 0;
                reporter->reported++;
        }
        if (!r) {
                reporter->unreported++;
                return;
        }
        r->event.count++;
        r->total++;
        if ((r->total & (r->total - 1)) == 0)
                report_pending(reporter, r);
}

void event_reporter_end(struct event_reporter *reporter)
{
        for (size_t i = 0; i < reporter->count; i++)
                report_pending(reporter, &reporter->remembered[i]);
        if (reporter->unreported) {
                struct egress_event others = { .kind = EGRESS_EVENT_DENIED,
                                               .reason = REASON_OVERFLOW,
                                               .rule = -1,
                                               .count = reporter->unreported,
                                               .host = "other hosts" };
                report_event(reporter, &others);
        }
        free(reporter->remembered);
        *reporter = (struct event_reporter){ .front = reporter->front };
}
