/*
 * ClientHello; see hello.h.
 *
 * How it works: TLS comes in records of five bytes and what they hold. The first handshake message, ClientHello,
 * begins with the first record and may be spread over several. Its records are counted first, which takes their heads
 * alone and so costs next to nothing each time that bytes were added; when they hold as much as the message says, it
 * is read once, across its records, without a copy. Each block in it has to be filled by what is in it: `left` is
 * what remains of the innermost.
 *
 * What the client controls: every byte. What two readers could understand differently is refused instead of being
 * understood somehow: an extension that comes twice, two names, a name that is no host's, bytes behind what a length
 * announces, the beginning of another message in the last record, empty records. So whatever server reads it finds
 * the name that we found.
 *
 * What is not seen here: anything behind it. Whether a second ClientHello follows is asked of the server's answer, and that is read like
 * the first (inspection.c). Whatever is said under encryption is seen nowhere.
 */
#include "egress/hello.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "policy/domain.h"

enum {
        RECORD_MOST = 1 << 14,
        RECORD_HANDSHAKE = 22,
        RECORD_FIRST_TYPE = 20, /* change of cipher, alert, handshake, data, heartbeat */
        RECORD_LAST_TYPE = 24,
        MESSAGE_HEAD = 4,
        VERSION_MAJOR = 3,
        TLS10 = 0x0301,
        TLS12 = 0x0303, /* later versions say this too, and their own in an extension */
        TLS13 = 0x0304,
        RANDOM_SIZE = 32,
        SESSION_MOST = 32,
        NAME_TYPE_HOST = 0,
        EXTENSION_SERVER_NAME = 0,
        EXTENSION_SUPPORTED_VERSIONS = 43,
};

static unsigned u16(const uint8_t *bytes)
{
        return (unsigned)bytes[0] << 8 | bytes[1];
}

/* --- records --- */

/* A ClientHello in the envelope of SSL 2, as clients sent it long ago to servers of either kind. */
static enum hello_state inspect_ssl2(const uint8_t *bytes, size_t length)
{
        if (length > 2 && bytes[2] != HELLO_MESSAGE)
                return HELLO_NOT_TLS;
        if (length > 3 && bytes[3] != VERSION_MAJOR && bytes[3] != 0)
                return HELLO_NOT_TLS;
        if (length > 4)
                return bytes[3] == VERSION_MAJOR || bytes[4] == 2 ? HELLO_BAD : HELLO_NOT_TLS;
        return HELLO_MORE;
}

/* HELLO_WHOLE: there is a record of TLS, at least. */
static enum hello_state inspect_first_bytes(const uint8_t *bytes, size_t length)
{
        if (length && bytes[0] & 0x80)
                return inspect_ssl2(bytes, length);
        if (length && (bytes[0] < RECORD_FIRST_TYPE || bytes[0] > RECORD_LAST_TYPE))
                return HELLO_NOT_TLS;
        if (length > 1 && bytes[1] != VERSION_MAJOR)
                return HELLO_NOT_TLS;
        return length > 1 ? HELLO_WHOLE : HELLO_MORE;
}

static bool is_record(const uint8_t *head)
{
        unsigned version = u16(head + 1), length = u16(head + 3);
        return head[0] == RECORD_HANDSHAKE && version >= TLS10 && version <= TLS12 && length >= 1 &&
               length <= RECORD_MOST;
}

/* The message's own head may be spread over records as well, so its bytes are collected. */
struct message_head {
        uint8_t bytes[MESSAGE_HEAD];
        size_t count;
};

static void collect_head(struct message_head *head, const uint8_t *bytes, size_t length)
{
        for (size_t i = 0; i < length && head->count < MESSAGE_HEAD; i++)
                head->bytes[head->count++] = bytes[i];
}

/* Bytes of the whole message; 0 as long as that is not known. */
static size_t message_size(const struct message_head *head)
{
        if (head->count < MESSAGE_HEAD)
                return 0;
        return MESSAGE_HEAD + ((size_t)head->bytes[1] << 16 | u16(head->bytes + 2));
}

/* Finds the end of the ClientHello's records, and how long it is without their heads; HELLO_WHOLE when all is there. */
static enum hello_state find_end(const uint8_t *bytes, size_t length, size_t *ret_end, size_t *ret_message)
{
        struct message_head head = { .count = 0 };
        size_t at = 0, held = 0; /* by the records so far */
        for (unsigned records = 0; records < HELLO_RECORDS_MOST; records++) {
                if (length - at < TLS_RECORD_HEADER)
                        return HELLO_MORE;
                if (!is_record(bytes + at))
                        return HELLO_BAD;
                size_t size = u16(bytes + at + 3), there = length - at - TLS_RECORD_HEADER;
                at += TLS_RECORD_HEADER;
                held += size;
                collect_head(&head, bytes + at, there < size ? there : size);
                size_t message = message_size(&head);
                if ((head.count && head.bytes[0] != HELLO_MESSAGE) || message > HELLO_MESSAGE_MOST ||
                    (message && held > message))
                        return HELLO_BAD;
                if (there < size)
                        return HELLO_MORE;
                at += size;
                if (message && held == message) {
                        *ret_end = at;
                        *ret_message = message;
                        return HELLO_WHOLE;
                }
        }
        return HELLO_BAD;
}

/* --- the message, once it is whole --- */

struct message {
        const uint8_t *at;
        size_t record; /* left of the record */
        size_t left;   /* left of the innermost block */
        bool failed;   /* more was wanted than a block has, or less */
};

static uint8_t take_u8(struct message *m)
{
        if (m->failed || !m->left) {
                m->failed = true;
                return 0;
        }
        if (!m->record) {
                m->record = u16(m->at + 3);
                m->at += TLS_RECORD_HEADER;
        }
        m->record--;
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

/* Goes into the block whose length is next, of one byte or two; returns what is left behind it, for leave(). */
static size_t enter(struct message *m, unsigned width)
{
        size_t length = width == 1 ? take_u8(m) : take_u16(m);
        if (length > m->left) {
                m->failed = true;
                length = 0;
        }
        size_t behind = m->left - length;
        m->left = length;
        return behind;
}

/* The block has to be used up. */
static void leave(struct message *m, size_t behind)
{
        m->failed |= m->left != 0;
        m->left = behind;
}

/* A list of numbers of two bytes, at least one. Is this one of them? */
static bool take_list(struct message *m, unsigned width, unsigned wanted)
{
        bool found = false;
        size_t behind = enter(m, width);
        do
                found |= take_u16(m) == wanted;
        while (m->left && !m->failed);
        leave(m, behind);
        return found;
}

/* One name, of a host. */
static void read_server_name(struct message *m, struct hello *h)
{
        char name[CAP_DOMAIN + 2] = ""; /* with a dot behind it */
        size_t behind_list = enter(m, 2);
        uint8_t type = take_u8(m);
        size_t behind_name = enter(m, 2), length = m->left;
        if (type != NAME_TYPE_HOST || length >= sizeof name)
                m->failed = true;
        for (size_t i = 0; i < length && !m->failed; i++)
                name[i] = (char)take_u8(m);
        leave(m, behind_name);
        leave(m, behind_list);
        if (m->failed || strlen(name) != length || domain_canonical(name, NULL, h->server_name))
                m->failed = true;
}

/* Encrypted ClientHellos have had several numbers until they were a standard, 0xfe0d. */
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

static void read_extensions(struct message *m, struct hello *h)
{
        unsigned seen[HELLO_EXTENSIONS_MOST];
        for (size_t count = 0; m->left && !m->failed; count++) {
                unsigned type = take_u16(m);
                for (size_t i = 0; i < count; i++)
                        m->failed |= seen[i] == type;
                if (m->failed || count == HELLO_EXTENSIONS_MOST) {
                        m->failed = true;
                        return;
                }
                seen[count] = type;
                size_t behind = enter(m, 2);
                if (type == EXTENSION_SERVER_NAME)
                        read_server_name(m, h);
                else if (type == EXTENSION_SUPPORTED_VERSIONS)
                        h->offers_tls13 = take_list(m, 1, TLS13);
                else
                        skip(m, m->left);
                h->has_ech |= is_ech(type);
                leave(m, behind);
        }
}

static bool read_client_hello(struct message *m, struct hello *h)
{
        skip(m, MESSAGE_HEAD);
        unsigned version = take_u16(m);
        m->failed |= version < TLS10 || version > TLS12;
        skip(m, RANDOM_SIZE);

        size_t behind = enter(m, 1);
        m->failed |= m->left > SESSION_MOST;
        skip(m, m->left);
        leave(m, behind);

        (void)take_list(m, 2, 0); /* ciphers */

        behind = enter(m, 1); /* compressions, of which there has to be one */
        m->failed |= !m->left;
        skip(m, m->left);
        leave(m, behind);

        if (m->left) {
                behind = enter(m, 2);
                read_extensions(m, h);
                leave(m, behind);
        }
        return !m->failed && !m->left;
}

enum hello_state hello_inspect(const uint8_t *bytes, size_t length, struct hello *ret)
{
        struct message m = { .at = bytes };
        struct hello h = { .has_ech = false };
        enum hello_state state = inspect_first_bytes(bytes, length);
        if (state == HELLO_WHOLE)
                state = find_end(bytes, length, &h.length, &m.left);
        if (state != HELLO_WHOLE)
                return state;
        if (!read_client_hello(&m, &h))
                return HELLO_BAD;
        *ret = h;
        return HELLO_WHOLE;
}

int hello_may_be_asked_again(const uint8_t *bytes, size_t length)
{
        enum { SERVER_HELLO = 2, RANDOM_AT = TLS_RECORD_HEADER + 4 + 2 };
        /* SHA-256 of "HelloRetryRequest", which no other answer has for its random bytes. */
        static const uint8_t again[RANDOM_SIZE] = {
                0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
                0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
        };
        if (length > 0 && bytes[0] != HELLO_FIRST_BYTE)
                return 1;
        if (length > TLS_RECORD_HEADER && bytes[TLS_RECORD_HEADER] != SERVER_HELLO)
                return 1;
        if (length >= TLS_RECORD_HEADER && tls_record_size(bytes) < RANDOM_AT + RANDOM_SIZE)
                return 1;
        if (length < RANDOM_AT + RANDOM_SIZE)
                return -EAGAIN;
        return memcmp(bytes + RANDOM_AT, again, RANDOM_SIZE) == 0;
}
