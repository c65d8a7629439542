/*
 * The first bytes of a connection (TLS ClientHello). For each prefix of the input the result is CLIENT_HELLO_INCOMPLETE
 * until enough is known, and from there on it stays the same, including the name. A complete message has a canonical
 * name, which occurs in the message, or none. The result is the same if the message is split into other TLS records or
 * followed by other bytes. The input is also parsed as a server's answer.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "egress/client_hello.h"
#include "fuzz.h"
#include "policy/host_pattern.h"

enum { RECORD_HEAD = 5, COPIED_PREFIXES = 64 };

static unsigned u16(const uint8_t *p)
{
        return (unsigned)p[0] << 8 | p[1];
}

static void promise_same(const struct client_hello *a, const struct client_hello *b)
{
        PROMISE(strcmp(a->server_name, b->server_name) == 0);
        PROMISE(a->has_ech == b->has_ech && a->offers_tls13 == b->offers_tls13);
}

/* Parses each prefix as a server's answer: the result stays the same once it is known. */
static void parse_prefixes_as_answer(const uint8_t *data, size_t size)
{
        CLEANUP_FREE uint8_t *buffer = malloc(size);
        int before = -EAGAIN;
        PROMISE(buffer);
        for (size_t prefix = 1; prefix <= size && prefix <= COPIED_PREFIXES; prefix++) {
                memcpy(buffer + size - prefix, data, prefix);
                int now = hello_may_be_retry_request(buffer + size - prefix, prefix);
                PROMISE(now == 0 || now == 1 || now == -EAGAIN);
                PROMISE(before == -EAGAIN || before == now);
                before = now;
        }
}

/* Inspects each prefix and returns the last result. Some are copied to the end of a buffer, so that a sanitizer finds
   reads beyond them. */
static enum client_hello_state inspect_prefixes(const uint8_t *data, size_t size, struct client_hello *ret)
{
        CLEANUP_FREE uint8_t *buffer = malloc(size);
        enum client_hello_state state = CLIENT_HELLO_INCOMPLETE;
        PROMISE(buffer);
        for (size_t prefix = 1; prefix <= size; prefix++) {
                struct client_hello h;
                bool copied = prefix == size || prefix % (1 + size / COPIED_PREFIXES) == 0;
                if (state != CLIENT_HELLO_INCOMPLETE && !copied)
                        continue; /* once the result is known, a sample of the prefixes is enough */
                if (copied)
                        memcpy(buffer + size - prefix, data, prefix);
                enum client_hello_state now = client_hello_parse(copied ? buffer + size - prefix : data, prefix, &h);
                PROMISE(state == CLIENT_HELLO_INCOMPLETE || state == now);
                PROMISE(now != CLIENT_HELLO_INCOMPLETE || prefix < HELLO_MAX);
                if (now == HELLO_COMPLETE && state == CLIENT_HELLO_INCOMPLETE) {
                        PROMISE(h.length == prefix);
                        *ret = h;
                }
                if (now == HELLO_COMPLETE) {
                        PROMISE(h.length == ret->length);
                        promise_same(&h, ret);
                }
                state = now;
        }
        return state;
}

/* Extracts the message from its TLS records and returns its length. */
static size_t extract_message(const uint8_t *data, size_t length, uint8_t *ret)
{
        size_t extracted = 0;
        for (size_t at = 0; at < length; at += RECORD_HEAD + u16(data + at + 3)) {
                PROMISE(length - at > RECORD_HEAD && data[at] == 22 && data[at + 1] == 3 && u16(data + at + 3) > 0);
                PROMISE(u16(data + at + 3) <= length - at - RECORD_HEAD);
                memcpy(ret + extracted, data + at + RECORD_HEAD, u16(data + at + 3));
                extracted += u16(data + at + 3);
        }
        return extracted;
}

static void check_name(const char *name, const uint8_t *message, size_t length)
{
        char again[DOMAIN_MAX + 1];
        size_t n = strlen(name), at = 0;
        if (!n)
                return;
        PROMISE(!host_name_canonicalize(name, NULL, again) && strcmp(name, again) == 0);
        while (at + n <= length && strncasecmp((const char *)message + at, name, n) != 0)
                at++;
        PROMISE(at + n <= length);
}

/* Splits the message into records of `size` bytes, appends a byte, and inspects the result. */
static void check_record_size(const struct client_hello *expected, const uint8_t *message, size_t length, size_t size)
{
        size_t records = (length + size - 1) / size, used = 0;
        CLEANUP_FREE uint8_t *records_data = malloc(length + records * RECORD_HEAD + 1);
        struct client_hello h;
        PROMISE(records_data);
        for (size_t at = 0; at < length; at += size) {
                size_t n = length - at < size ? length - at : size;
                memcpy(records_data + used, (const uint8_t[]){ 22, 3, 3, (uint8_t)(n >> 8), (uint8_t)n }, RECORD_HEAD);
                memcpy(records_data + used + RECORD_HEAD, message + at, n);
                used += RECORD_HEAD + n;
        }
        records_data[used] = 0xff;
        enum client_hello_state state = client_hello_parse(records_data, used + 1, &h);
        PROMISE(state == (records <= HELLO_RECORDS_MAX ? HELLO_COMPLETE : CLIENT_HELLO_MALFORMED));
        if (state != HELLO_COMPLETE)
                return;
        PROMISE(h.length == used);
        promise_same(&h, expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t sizes[] = { 1, 3, 16, 100, 1000, 1 << 14 };
        struct client_hello h;
        if (!size)
                return 0;
        parse_prefixes_as_answer(data, size);
        if (inspect_prefixes(data, size, &h) != HELLO_COMPLETE)
                return 0;
        PROMISE(h.length <= size && h.length <= HELLO_MAX);
        CLEANUP_FREE uint8_t *message = malloc(h.length);
        PROMISE(message);
        size_t length = extract_message(data, h.length, message);
        check_name(h.server_name, message, length);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
                check_record_size(&h, message, length, sizes[i]);
        return 0;
}
