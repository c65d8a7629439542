/*
 * The beginning of a connection. At every cut of it the answer is HELLO_MORE until it is known, and the same from
 * there on, the name included. What is whole has a name in its one spelling, which stands in the message, or none;
 * and the same message in other records, or with something behind it, has the same. The same bytes are also taken for a server's
 * answer.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "egress/hello.h"
#include "fuzz.h"
#include "policy/domain.h"

enum { RECORD_HEAD = 5, COPIES = 64 };

static unsigned u16(const uint8_t *p)
{
        return (unsigned)p[0] << 8 | p[1];
}

static void promise_same(const struct hello *a, const struct hello *b)
{
        PROMISE(strcmp(a->server_name, b->server_name) == 0);
        PROMISE(a->has_ech == b->has_ech && a->offers_tls13 == b->offers_tls13);
}

/* The same bytes as a server's answer: known at some cut, and the same from there on. */
static void answer_every_cut(const uint8_t *data, size_t size)
{
        CLEANUP_FREE uint8_t *memory = malloc(size);
        int before = -EAGAIN;
        PROMISE(memory);
        for (size_t cut = 1; cut <= size && cut <= COPIES; cut++) {
                memcpy(memory + size - cut, data, cut);
                int now = hello_may_be_asked_again(memory + size - cut, cut);
                PROMISE(now == 0 || now == 1 || now == -EAGAIN);
                PROMISE(before == -EAGAIN || before == now);
                before = now;
        }
}

/* What is known at the end. Some of the cuts are copied to where memory ends, so that a read beyond them is seen. */
static enum hello_state inspect_every_cut(const uint8_t *data, size_t size, struct hello *ret)
{
        CLEANUP_FREE uint8_t *memory = malloc(size);
        enum hello_state state = HELLO_MORE;
        PROMISE(memory);
        for (size_t cut = 1; cut <= size; cut++) {
                struct hello h;
                bool copied = cut == size || cut % (1 + size / COPIES) == 0;
                if (state != HELLO_MORE && !copied)
                        continue; /* once it is known, some of the cuts are enough */
                if (copied)
                        memcpy(memory + size - cut, data, cut);
                enum hello_state now = hello_inspect(copied ? memory + size - cut : data, cut, &h);
                PROMISE(state == HELLO_MORE || state == now);
                PROMISE(now != HELLO_MORE || cut < HELLO_MOST);
                if (now == HELLO_WHOLE && state == HELLO_MORE) {
                        PROMISE(h.length == cut);
                        *ret = h;
                }
                if (now == HELLO_WHOLE) {
                        PROMISE(h.length == ret->length);
                        promise_same(&h, ret);
                }
                state = now;
        }
        return state;
}

/* The message out of its records; returns its length. */
static size_t take_message(const uint8_t *data, size_t length, uint8_t *ret)
{
        size_t taken = 0;
        for (size_t at = 0; at < length; at += RECORD_HEAD + u16(data + at + 3)) {
                PROMISE(length - at > RECORD_HEAD && data[at] == 22 && data[at + 1] == 3 && u16(data + at + 3) > 0);
                PROMISE(u16(data + at + 3) <= length - at - RECORD_HEAD);
                memcpy(ret + taken, data + at + RECORD_HEAD, u16(data + at + 3));
                taken += u16(data + at + 3);
        }
        return taken;
}

static void check_name(const char *name, const uint8_t *message, size_t length)
{
        char again[CAP_DOMAIN + 1];
        size_t n = strlen(name), at = 0;
        if (!n)
                return;
        PROMISE(!domain_canonical(name, NULL, again) && strcmp(name, again) == 0);
        while (at + n <= length && strncasecmp((const char *)message + at, name, n) != 0)
                at++;
        PROMISE(at + n <= length);
}

/* The message in records of so many bytes, and then something else. */
static void check_layout(const struct hello *expected, const uint8_t *message, size_t length, size_t size)
{
        size_t records = (length + size - 1) / size, used = 0;
        CLEANUP_FREE uint8_t *laid = malloc(length + records * RECORD_HEAD + 1);
        struct hello h;
        PROMISE(laid);
        for (size_t at = 0; at < length; at += size) {
                size_t n = length - at < size ? length - at : size;
                memcpy(laid + used, (const uint8_t[]){ 22, 3, 3, (uint8_t)(n >> 8), (uint8_t)n }, RECORD_HEAD);
                memcpy(laid + used + RECORD_HEAD, message + at, n);
                used += RECORD_HEAD + n;
        }
        laid[used] = 0xff;
        enum hello_state state = hello_inspect(laid, used + 1, &h);
        PROMISE(state == (records <= HELLO_RECORDS_MOST ? HELLO_WHOLE : HELLO_BAD));
        if (state != HELLO_WHOLE)
                return;
        PROMISE(h.length == used);
        promise_same(&h, expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t sizes[] = { 1, 3, 16, 100, 1000, 1 << 14 };
        struct hello h;
        if (!size)
                return 0;
        answer_every_cut(data, size);
        if (inspect_every_cut(data, size, &h) != HELLO_WHOLE)
                return 0;
        PROMISE(h.length <= size && h.length <= HELLO_MOST);
        CLEANUP_FREE uint8_t *message = malloc(h.length);
        PROMISE(message);
        size_t length = take_message(data, h.length, message);
        check_name(h.server_name, message, length);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
                check_layout(&h, message, length, sizes[i]);
        return 0;
}
