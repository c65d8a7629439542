/*
 * ClientHello; see client_hello.h.
 *
 * How it works: a TLS record is a header of five bytes and its payload. The first handshake message, the ClientHello,
 * begins in the first record and may be split over several. find_end() walks over the record headers alone, so it is
 * cheap to call again after each new byte. When the message is complete it is parsed once, across its records, without
 * a copy. Nested blocks must be filled exactly by their contents; `left` is what remains of the innermost.
 *
 * What the client controls: every byte. Input that two parsers could interpret differently is refused: a repeated
 * extension, two names, a name that is not a host name, a block that its contents do not fill exactly, the beginning of
 * another message in the last record, empty records. So every server finds the same name.
 *
 * What is not seen here: bytes after the ClientHello. Whether a second ClientHello follows depends on the server's
 * answer; it is inspected like the first (inspection.c). Encrypted bytes are not inspected at all.
 */
#include "egress/client_hello.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "policy/host_pattern.h"

enum {
        RECORD_MAX = 1 << 14,
        RECORD_FIRST_TYPE = 20, /* change_cipher_spec, alert, handshake, application_data, heartbeat */
        RECORD_LAST_TYPE = 24,
        MESSAGE_HEAD = 4,
        VERSION_MAJOR = 3,
        TLS10 = 0x0301,
        TLS12 = 0x0303, /* TLS 1.3 sends it too, and its own version in an extension */
        TLS13 = 0x0304,
        RANDOM_SIZE = 32,
        SESSION_MAX = 32,
        NAME_TYPE_HOST = 0,
        EXTENSION_SERVER_NAME = 0,
        EXTENSION_SUPPORTED_VERSIONS = 43,
};

static unsigned u16(const uint8_t *bytes)
{
        return (unsigned)bytes[0] << 8 | bytes[1];
}

/* --- records --- */

/* A ClientHello in an SSL 2 record, as old clients sent it to servers of either version. */
static enum client_hello_state inspect_ssl2(const uint8_t *bytes, size_t length)
{
        if (length > 2 && bytes[2] != TLS_CLIENT_HELLO_TYPE)
                return CLIENT_HELLO_NOT_TLS;
        if (length > 3 && bytes[3] != VERSION_MAJOR && bytes[3] != 0)
                return CLIENT_HELLO_NOT_TLS;
        if (length > 4)
                return bytes[3] == VERSION_MAJOR || bytes[4] == 2 ? CLIENT_HELLO_MALFORMED : CLIENT_HELLO_NOT_TLS;
        return CLIENT_HELLO_INCOMPLETE;
}

/* HELLO_COMPLETE: the bytes begin like a TLS record. */
static enum client_hello_state inspect_first_bytes(const uint8_t *bytes, size_t length)
{
        if (length && bytes[0] & 0x80)
                return inspect_ssl2(bytes, length);
        if (length && (bytes[0] < RECORD_FIRST_TYPE || bytes[0] > RECORD_LAST_TYPE))
                return CLIENT_HELLO_NOT_TLS;
        if (length > 1 && bytes[1] != VERSION_MAJOR)
                return CLIENT_HELLO_NOT_TLS;
        return length > 1 ? HELLO_COMPLETE : CLIENT_HELLO_INCOMPLETE;
}

static bool is_record(const uint8_t *head)
{
        unsigned version = u16(head + 1), length = u16(head + 3);
        return head[0] == TLS_HANDSHAKE_RECORD && version >= TLS10 && version <= TLS12 && length >= 1 &&
               length <= RECORD_MAX;
}

/* The message's header may be split over records too, so its bytes are collected here. */
struct message_head {
        uint8_t bytes[MESSAGE_HEAD];
        size_t count;
};

static void collect_head(struct message_head *head, const uint8_t *bytes, size_t length)
{
        for (size_t i = 0; i < length && head->count < MESSAGE_HEAD; i++)
                head->bytes[head->count++] = bytes[i];
}

/* The size of the message with its header; 0 while it is not known. */
static size_t message_size(const struct message_head *head)
{
        if (head->count < MESSAGE_HEAD)
                return 0;
        return MESSAGE_HEAD + ((size_t)head->bytes[1] << 16 | u16(head->bytes + 2));
}

/* Finds the end of the ClientHello's records and the size of the message in them. HELLO_COMPLETE: it is complete. */
static enum client_hello_state find_end(const uint8_t *bytes, size_t length, size_t *ret_end, size_t *ret_message)
{
        struct message_head head = { .count = 0 };
        size_t at = 0, payload = 0; /* bytes in the records so far */
        for (unsigned records = 0; records < HELLO_RECORDS_MAX; records++) {
                if (length - at < TLS_RECORD_HEADER)
                        return CLIENT_HELLO_INCOMPLETE;
                if (!is_record(bytes + at))
                        return CLIENT_HELLO_MALFORMED;
                size_t size = u16(bytes + at + 3), available = length - at - TLS_RECORD_HEADER;
                at += TLS_RECORD_HEADER;
                payload += size;
                collect_head(&head, bytes + at, available < size ? available : size);
                size_t message = message_size(&head);
                if ((head.count && head.bytes[0] != TLS_CLIENT_HELLO_TYPE) || message > HELLO_MESSAGE_MAX ||
                    (message && payload > message))
                        return CLIENT_HELLO_MALFORMED;
                if (available < size)
                        return CLIENT_HELLO_INCOMPLETE;
                at += size;
                if (message && payload == message) {
                        *ret_end = at;
                        *ret_message = message;
                        return HELLO_COMPLETE;
                }
        }
        return CLIENT_HELLO_MALFORMED;
}

/* --- the complete message --- */

struct message {
        const uint8_t *at;
        size_t record_left; /* bytes left of the record */
        size_t left;        /* bytes left of the innermost block */
        bool failed;        /* a block is shorter or longer than its contents */
};

static uint8_t take_u8(struct message *m)
{
        if (m->failed || !m->left) {
                m->failed = true;
                return 0;
        }
        if (!m->record_left) {
                m->record_left = u16(m->at + 3);
                m->at += TLS_RECORD_HEADER;
        }
        m->record_left--;
        m->left--;
        return *m->at++;
}

static unsigned take_u16(struct message *m)
{
        unsigned high = take_u8(m);
        return high << 8 | take_u8(m);
}

static void skip(struct message *m, size_t length)
{
        for (size_t i = 0; i < length && !m->failed; i++)
                (void)take_u8(m);
}

/* Enters the block whose length comes next, in `width` bytes. Returns what is left of the outer block after it, for
   leave_block(). */
static size_t enter_block(struct message *m, unsigned width)
{
        size_t length = width == 1 ? take_u8(m) : take_u16(m);
        if (length > m->left) {
                m->failed = true;
                length = 0;
        }
        size_t outer = m->left - length;
        m->left = length;
        return outer;
}

/* Returns to the outer block. The inner one must be used up. */
static void leave_block(struct message *m, size_t outer)
{
        m->failed |= m->left != 0;
        m->left = outer;
}

/* Reads a non-empty list of two-byte numbers. Is `wanted` one of them? */
static bool take_list(struct message *m, unsigned width, unsigned wanted)
{
        bool found = false;
        size_t outer = enter_block(m, width);
        do
                found |= take_u16(m) == wanted;
        while (m->left && !m->failed);
        leave_block(m, outer);
        return found;
}

/* Exactly one name, of type host_name. */
static void read_server_name(struct message *m, struct client_hello *h)
{
        char name[DOMAIN_MAX + 2] = ""; /* it may end in a dot */
        size_t outer_list = enter_block(m, 2);
        uint8_t type = take_u8(m);
        size_t outer_name = enter_block(m, 2), length = m->left;
        if (type != NAME_TYPE_HOST || length >= sizeof name)
                m->failed = true;
        for (size_t i = 0; i < length && !m->failed; i++)
                name[i] = (char)take_u8(m);
        leave_block(m, outer_name);
        leave_block(m, outer_list);
        if (m->failed || strlen(name) != length || host_name_canonicalize(name, NULL, h->server_name))
                m->failed = true;
}

/* The drafts of encrypted ClientHello used several numbers; the standard is 0xfe0d. */
static bool is_ech(unsigned type)
{
        static const struct {
                unsigned first, last;
        } numbers[] = { { 0xfe08, 0xfe0d }, { 0xff02, 0xff03 }, { 0xffce, 0xffce } };
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                if (type >= numbers[i].first && type <= numbers[i].last)
                        return true;
        return false;
}

static void read_extensions(struct message *m, struct client_hello *h)
{
        unsigned seen[HELLO_EXTENSIONS_MAX];
        for (size_t count = 0; m->left && !m->failed; count++) {
                unsigned type = take_u16(m);
                for (size_t i = 0; i < count; i++)
                        m->failed |= seen[i] == type;
                if (m->failed || count == HELLO_EXTENSIONS_MAX) {
                        m->failed = true;
                        return;
                }
                seen[count] = type;
                size_t outer = enter_block(m, 2);
                if (type == EXTENSION_SERVER_NAME)
                        read_server_name(m, h);
                else if (type == EXTENSION_SUPPORTED_VERSIONS)
                        h->offers_tls13 = take_list(m, 1, TLS13);
                else
                        skip(m, m->left);
                h->has_ech |= is_ech(type);
                leave_block(m, outer);
        }
}

static bool read_client_hello(struct message *m, struct client_hello *h)
{
        skip(m, MESSAGE_HEAD);
        unsigned version = take_u16(m);
        m->failed |= version < TLS10 || version > TLS12;
        skip(m, RANDOM_SIZE);

        size_t outer = enter_block(m, 1);
        m->failed |= m->left > SESSION_MAX;
        skip(m, m->left);
        leave_block(m, outer);

        (void)take_list(m, 2, 0); /* cipher suites */

        outer = enter_block(m, 1); /* compression methods, at least one */
        m->failed |= !m->left;
        skip(m, m->left);
        leave_block(m, outer);

        if (m->left) {
                outer = enter_block(m, 2);
                read_extensions(m, h);
                leave_block(m, outer);
        }
        return !m->failed && !m->left;
}

enum client_hello_state client_hello_parse(const uint8_t *bytes, size_t length, struct client_hello *ret)
{
        struct message m = { .at = bytes };
        struct client_hello h = { .has_ech = false };
        enum client_hello_state state = inspect_first_bytes(bytes, length);
        if (state == HELLO_COMPLETE)
                state = find_end(bytes, length, &h.length, &m.left);
        if (state != HELLO_COMPLETE)
                return state;
        if (!read_client_hello(&m, &h))
                return CLIENT_HELLO_MALFORMED;
        *ret = h;
        return HELLO_COMPLETE;
}

int hello_may_be_retry_request(const uint8_t *bytes, size_t length)
{
        enum { SERVER_HELLO = 2, RANDOM_AT = TLS_RECORD_HEADER + 4 + 2 };
        /* SHA-256 of "HelloRetryRequest": the random bytes that mark a ServerHello as one. */
        static const uint8_t retry_random[RANDOM_SIZE] = {
                0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
                0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
        };
        if (length > 0 && bytes[0] != TLS_HANDSHAKE_RECORD)
                return 1;
        if (length > TLS_RECORD_HEADER && bytes[TLS_RECORD_HEADER] != SERVER_HELLO)
                return 1;
        if (length >= TLS_RECORD_HEADER && tls_record_size(bytes) < RANDOM_AT + RANDOM_SIZE)
                return 1;
        if (length < RANDOM_AT + RANDOM_SIZE)
                return -EAGAIN;
        return memcmp(bytes + RANDOM_AT, retry_random, RANDOM_SIZE) == 0;
}
