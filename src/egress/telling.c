/* Telling the front; see telling.h. Refusals of one kind are told when there were 1, 2, 4, 8… of them. */
#include "egress/telling.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/wire.h"

void tell(struct telling *t, const struct egress_event *event)
{
        int r;
        do
                r = wire_send(t->front, event, sizeof *event, -1);
        while (r == -EINTR);
        if (r < 0)
                _exit(EXIT_FAILURE);
}

static void tell_pending(struct telling *t, struct refusal *r)
{
        if (r->event.count)
                tell(t, &r->event);
        r->event.count = 0;
}

/* The place of the oldest, after what is left to say of it. */
static struct refusal *make_room(struct telling *t)
{
        if (!t->remembered)
                t->remembered = calloc(TELLING_REMEMBERED, sizeof *t->remembered);
        if (!t->remembered)
                return NULL;
        struct refusal *r = &t->remembered[t->next];
        t->next = (t->next + 1) % TELLING_REMEMBERED;
        t->count += t->count < TELLING_REMEMBERED;
        tell_pending(t, r);
        return r;
}

void tell_refusal(struct telling *t, const struct egress_event *event)
{
        struct refusal *r = NULL;
        for (size_t i = 0; i < t->count && !r; i++)
                if (egress_is_same(&t->remembered[i].event, event))
                        r = &t->remembered[i];
        if (!r && t->told < TELLING_MOST && (r = make_room(t))) {
                *r = (struct refusal){ .event = *event };
                r->event.kind = EGRESS_REFUSED;
                r->event.count = 0;
                t->told++;
        }
        if (!r) {
                t->more++;
                return;
        }
        r->event.count++;
        r->total++;
        if ((r->total & (r->total - 1)) == 0)
                tell_pending(t, r);
}

void telling_end(struct telling *t)
{
        for (size_t i = 0; i < t->count; i++)
                tell_pending(t, &t->remembered[i]);
        if (t->more) {
                struct egress_event others = { .kind = EGRESS_REFUSED, .reason = REASON_OTHERS, .rule = -1, .count = t->more,
                                               .host = "other hosts" };
                tell(t, &others);
        }
        free(t->remembered);
        *t = (struct telling){ .front = t->front };
}
