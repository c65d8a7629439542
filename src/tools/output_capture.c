/* Captures output; see output_capture.h. What an attacker controls: the bytes and their number. */
#include "tools/output_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int output_capture_init(struct output_capture *c, int fd, size_t half, const struct output_scrub_ops *filter)
{
        *c = (struct output_capture){ .fd = fd, .half = half, .filter = filter, .tail = malloc(half) };
        if (filter)
                c->stream = filter->begin(filter->context);
        if (!c->tail || (filter && !c->stream))
                return -ENOMEM;
        return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

void output_capture_done(struct output_capture *c)
{
        fd_close(&c->fd);
        if (c->stream)
                c->filter->end(c->stream);
        text_done(&c->head);
        free(c->tail);
        *c = (struct output_capture){ .fd = -1 };
}

static void store(struct output_capture *c, const char *bytes, size_t length)
{
        c->bytes += length;
        if (c->head.length < c->half) {
                size_t room = c->half - c->head.length, n = length < room ? length : room;
                text_add_bytes(&c->head, bytes, n);
                bytes += n;
                length -= n;
        }
        while (length) {
                size_t place = (c->tail_start + c->tail_length) % c->half, room = c->half - place;
                size_t n = length < room ? length : room, kept = c->tail_length + n;
                memcpy(c->tail + place, bytes, n);
                c->tail_start = (c->tail_start + (kept > c->half ? kept - c->half : 0)) % c->half;
                c->tail_length = kept < c->half ? kept : c->half;
                bytes += n;
                length -= n;
        }
}

/* With `bytes` NULL, at the end, stores what the filter has held back. */
static void filter_and_store(struct output_capture *c, const char *bytes, size_t length)
{
        static const char failure[] = "\n[the rest could not be checked for secrets and is not shown]\n";
        CLEANUP_TEXT struct text out = { 0 };
        if (!c->filter) {
                store(c, bytes, length);
                return;
        }
        if (!c->stream)
                return;
        bool filtered = c->filter->feed(c->stream, bytes, length, &out) && !out.failed;
        if (filtered && out.length)
                store(c, out.data, out.length);
        if (!filtered)
                store(c, failure, sizeof failure - 1);
        if (!filtered || !bytes) {
                c->filter->end(c->stream);
                c->stream = NULL;
        }
}

void output_capture_read(struct output_capture *c)
{
        char piece[64 << 10];
        for (int i = 0; i < 16 && c->fd >= 0; i++) {
                ssize_t n = read(c->fd, piece, sizeof piece);
                if (n > 0) {
                        c->written += (size_t)n;
                        filter_and_store(c, piece, (size_t)n);
                } else if (n == 0 || errno != EINTR) {
                        if (n == 0 || errno != EAGAIN)
                                fd_close(&c->fd);
                        return;
                }
        }
}

void output_capture_finish(struct output_capture *c)
{
        fd_close(&c->fd); /* a process that outlives the command may keep the write end open forever */
        if (c->stream)
                filter_and_store(c, NULL, 0);
}

uint64_t output_capture_print(const struct output_capture *c, uint64_t from, uint64_t max, struct text *out)
{
        uint64_t at = from, tail_from = c->bytes - c->tail_length;
        if (at < c->head.length) {
                size_t left = c->head.length - (size_t)at, n = left < max ? left : (size_t)max;
                text_add_bytes(out, c->head.data + at, n);
                at += n;
                max -= n;
        }
        if (max && at >= c->head.length && at < tail_from) {
                text_format(out, "\n... (output truncated, %llu bytes elided)\n", (unsigned long long)(tail_from - at));
                at = tail_from;
        }
        while (max && at >= tail_from && at < c->bytes) {
                size_t place = (c->tail_start + (size_t)(at - tail_from)) % c->half;
                uint64_t left = c->bytes - at < c->half - place ? c->bytes - at : c->half - place;
                size_t n = (size_t)(left < max ? left : max);
                text_add_bytes(out, c->tail + place, n);
                at += n;
                max -= n;
        }
        return at;
}
