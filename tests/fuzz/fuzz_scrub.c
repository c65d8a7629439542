/*
 * The scrubber, with text that comes in pieces. The first two bytes say how the rest is cut; a byte of value 1 is
 * left out, so that the corpus holds no secret that a scanner of repositories would find. Cut in any way it comes out
 * as it does whole, what comes out has nothing left to be taken out, and nothing is counted that was not replaced.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "gate/scrub.h"

enum { LEFT_OUT = 1 };

static struct scrubber *scrubber(void)
{
        static struct scrubber *s;
        struct error e = { 0 };
        PROMISE(s || scrubber_new(NULL, 0, &s, &e) == 0);
        return s;
}

static uint64_t all_counts(void)
{
        uint64_t all = 0;
        for (size_t i = 0; i < scrubber_shapes(scrubber()); i++)
                all += scrubber_count(scrubber(), i);
        return all;
}

static size_t markers(const struct text *t)
{
        static const char marker[] = "[REDACTED:";
        size_t count = 0;
        for (size_t i = 0; i + strlen(marker) <= t->length; i++)
                count += memcmp(t->data + i, marker, strlen(marker)) == 0;
        return count;
}

static void same(const struct text *a, const struct text *b)
{
        PROMISE(a->length == b->length);
        PROMISE(a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static void feed(const char *data, size_t size, size_t first, size_t step, struct text *out)
{
        CLEANUP_SCRUB_STREAM struct scrub_stream stream;
        scrub_stream_init(&stream, scrubber());
        for (size_t at = 0, length = first; at < size; at += length, length = step) {
                if (length > size - at)
                        length = size - at;
                /* A copy of its own, so that a read beyond it is seen. */
                CLEANUP_FREE char *piece = malloc(length ? length : 1);
                PROMISE(piece);
                memcpy(piece, data + at, length);
                PROMISE(scrub_stream_feed(&stream, piece, length, out) == 0);
        }
        PROMISE(scrub_stream_finish(&stream, out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_TEXT struct text given = { 0 };
        CLEANUP_TEXT struct text whole = { 0 };
        CLEANUP_TEXT struct text pieces = { 0 };
        CLEANUP_TEXT struct text bytes = { 0 };
        if (size < 2)
                return 0;
        size_t first = data[0], step = 1U + data[1];
        for (size_t i = 2; i < size; i++)
                if (data[i] != LEFT_OUT)
                        text_add_bytes(&given, (const char *)&data[i], 1);
        text_add_bytes(&whole, given.data, given.length);
        size_t before = markers(&whole);
        uint64_t counted = all_counts();
        PROMISE(scrub_text(scrubber(), &whole) == 0);
        counted = all_counts() - counted;
        PROMISE(markers(&whole) + before >= counted); /* one that was there may have been in a secret */
        feed(given.data, given.length, first, step, &pieces);
        same(&whole, &pieces);
        feed(given.data, given.length, 1, 1, &bytes);
        same(&whole, &bytes);

        /* A marker with no key near it may get near one when what is between them becomes shorter. */
        if (!whole.length || memmem(given.data, given.length, "BEGIN ", 6) ||
            memmem(given.data, given.length, "Private-Lines", 13))
                return 0;
        CLEANUP_TEXT struct text again = { 0 };
        text_add_bytes(&again, whole.data, whole.length);
        PROMISE(scrub_text(scrubber(), &again) == 0);
        same(&whole, &again);
        return 0;
}
