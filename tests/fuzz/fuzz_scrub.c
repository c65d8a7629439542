/*
 * The scrubber, with text in pieces. The first two bytes select the sizes of the pieces. Bytes of value 1 are dropped,
 * so that the corpus has no secret that scanners of repositories would find. The output is the same for any pieces,
 * scrubbing it again changes nothing, and the scrubber counts nothing that it did not replace.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "gate/scrub.h"

enum { DROPPED_BYTE = 1 };

static struct scrubber *scrubber(void)
{
        static struct scrubber *s;
        struct error e = { 0 };
        PROMISE(s || scrubber_new(NULL, 0, &s, &e) == 0);
        return s;
}

static uint64_t total_count(void)
{
        uint64_t total = 0;
        for (size_t i = 0; i < scrubber_pattern_count(scrubber()); i++)
                total += scrubber_hits(scrubber(), i);
        return total;
}

static size_t count_markers(const struct text *t)
{
        static const char marker[] = "[REDACTED:";
        size_t count = 0;
        for (size_t i = 0; i + strlen(marker) <= t->length; i++)
                count += memcmp(t->data + i, marker, strlen(marker)) == 0;
        return count;
}

static void promise_same(const struct text *a, const struct text *b)
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
                /* A copy of exactly this size, so that a sanitizer finds reads beyond its end. */
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
        CLEANUP_TEXT struct text single_bytes = { 0 };
        if (size < 2)
                return 0;
        size_t first = data[0], step = 1U + data[1];
        for (size_t i = 2; i < size; i++)
                if (data[i] != DROPPED_BYTE)
                        text_add_bytes(&given, (const char *)&data[i], 1);
        text_add_bytes(&whole, given.data, given.length);
        size_t before = count_markers(&whole);
        uint64_t counted = total_count();
        PROMISE(scrub_text(scrubber(), &whole) == 0);
        counted = total_count() - counted;
        PROMISE(count_markers(&whole) + before >= counted); /* a marker of the input may have been inside a secret */
        feed(given.data, given.length, first, step, &pieces);
        promise_same(&whole, &pieces);
        feed(given.data, given.length, 1, 1, &single_bytes);
        promise_same(&whole, &single_bytes);

        /* Not for private keys: their parts may get close enough to match once the text between them is replaced. */
        if (!whole.length || memmem(given.data, given.length, "BEGIN ", 6) ||
            memmem(given.data, given.length, "Private-Lines", 13))
                return 0;
        CLEANUP_TEXT struct text again = { 0 };
        text_add_bytes(&again, whole.data, whole.length);
        PROMISE(scrub_text(scrubber(), &again) == 0);
        promise_same(&whole, &again);
        return 0;
}
