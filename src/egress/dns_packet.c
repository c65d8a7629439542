/*
 * DNS messages; see dns_packet.h.
 *
 * How it works: a message is a header with four counts, followed by as many questions and records. The one question of
 * a query is kept as bytes, because the answer repeats it (some clients vary the letter case to detect forgeries), and
 * as a canonical name. Of the records only OPT (EDNS) is parsed; the others are skipped.
 *
 * What the client controls: every byte. Compression pointers are refused in the question and not followed in records,
 * each record takes at least eleven bytes, and the last one must end where the packet does; so parsing is linear and
 * terminates. host_pattern.h decides whether a name is a host name, as for all listeners. A label with a dot or a NUL
 * would be another name as text, so such a name is not a host name either; the query is valid, but has no name.
 *
 * The answers: egress is the box's only resolver, so it sets "recursion available", which glibc and Go require before
 * they accept an empty answer. Negative answers have the SOA record that RFC 2308 demands; it is the root's, which is
 * above every name. Caches use its TTL (systemd-resolved, c-ares, dnsmasq), which is one second, because a rule may be
 * added at any time; glibc, musl, Go and Java ignore it.
 */
#include "egress/dns_packet.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "policy/host_pattern.h"

/* The header's flags. */
enum {
        FLAG_RESPONSE = 0x8000,
        OPCODE_SHIFT = 11,
        OPCODE_MASK = 0xf,
        FLAG_TRUNCATED = 0x0200,
        FLAG_RECURSION_DESIRED = 0x0100,
        FLAG_RECURSION_AVAILABLE = 0x0080,
        FLAG_CHECKING_DISABLED = 0x0010,
        RCODE_MASK = 0xf,
};

enum {
        OPCODE_QUERY = 0,
        EDNS_DNSSEC_OK = 0x8000, /* a flag in an OPT record */
        OPT_SIZE = 11,           /* an OPT record without options */
        POINTER = 0xc0,          /* in place of a label's length: a compression pointer */
        QUESTION_POINTER = POINTER << 8 | DNS_HEADER_SIZE,
};

/* --- reading --- */

struct reader {
        const uint8_t *at;
        size_t left;
        bool failed; /* the packet ended too early */
};

static const uint8_t *take(struct reader *r, size_t length)
{
        if (r->failed || length > r->left) {
                r->failed = true;
                return NULL;
        }
        const uint8_t *taken = r->at;
        r->at += length;
        r->left -= length;
        return taken;
}

static uint8_t take_u8(struct reader *r)
{
        const uint8_t *b = take(r, 1);
        return b ? *b : 0;
}

static uint16_t take_u16(struct reader *r)
{
        unsigned high = take_u8(r);
        return (uint16_t)(high << 8 | take_u8(r));
}

/* Reads the name of the question. False: it is malformed. */
static bool read_name(struct reader *r, struct dns_query *q)
{
        char text[DNS_NAME_MAX + 1];
        size_t length = 0;
        q->not_host_name = false;
        for (uint8_t n; (n = take_u8(r)) > 0;) {
                const uint8_t *label = n <= DOMAIN_LABEL_MAX ? take(r, n) : NULL;
                /* A label takes as many bytes in the text as in the packet; the root's zero byte must fit too. */
                if (!label || length + 1 + n + 1 > DNS_NAME_MAX)
                        return false;
                q->not_host_name |=
                        memchr(label, '.', n) || memchr(label, '\0', n); /* as text it would be another name */
                memcpy(text + length, label, n);
                text[length + n] = '.';
                length += (size_t)n + 1;
        }
        if (r->failed)
                return false;
        text[length] = '\0';
        q->not_host_name = q->not_host_name || host_name_canonicalize(text, NULL, q->name);
        return true;
}

static bool read_question(struct reader *r, struct dns_query *q)
{
        const uint8_t *start = r->at;
        if (!read_name(r, q))
                return false;
        q->type = take_u16(r);
        q->class = take_u16(r);
        if (r->failed)
                return false;
        q->question_length = (size_t)(r->at - start);
        memcpy(q->question, start, q->question_length);
        return true;
}

/* Skips the name of a record. */
static void skip_name(struct reader *r, bool *ret_is_root)
{
        *ret_is_root = r->left && *r->at == 0;
        for (uint8_t n; (n = take_u8(r)) > 0;) {
                if (n >= POINTER) {
                        (void)take_u8(r);
                        return;
                }
                if (n > DOMAIN_LABEL_MAX)
                        r->failed = true;
                (void)take(r, n);
        }
}

/* The options must fill the record exactly; their contents are ignored. */
static void check_options(struct reader *r, size_t length)
{
        const uint8_t *start = take(r, length);
        struct reader options = { .at = start, .left = length };
        while (start && options.left && !options.failed) {
                (void)take_u16(&options);
                (void)take(&options, take_u16(&options));
        }
        r->failed |= options.failed;
}

static void read_record(struct reader *r, bool is_additional, struct dns_query *q)
{
        bool is_root;
        skip_name(r, &is_root);
        uint16_t type = take_u16(r), class = take_u16(r);
        (void)take_u8(r); /* in an OPT record: the upper bits of an answer's code */
        uint8_t version = take_u8(r);
        uint16_t flags = take_u16(r), length = take_u16(r);
        if (type != DNS_OPT) {
                (void)take(r, length);
                return;
        }
        check_options(r, length);
        if (q->has_edns || !is_root || !is_additional)
                r->failed = true;
        if (r->failed)
                return;
        q->has_edns = true;
        q->udp_size = class;
        q->edns_version = version;
        q->dnssec_ok = flags & EDNS_DNSSEC_OK;
}

int dns_parse_query(const uint8_t *packet, size_t length, struct dns_query *ret)
{
        struct reader r = { .at = packet, .left = length };
        uint16_t id = take_u16(&r), flags = take_u16(&r);
        uint16_t questions = take_u16(&r), answers = take_u16(&r);
        uint16_t authorities = take_u16(&r), additional = take_u16(&r);
        if (r.failed || flags & FLAG_RESPONSE)
                return -EBADMSG;
        *ret = (struct dns_query){
                .id = id,
                .opcode = flags >> OPCODE_SHIFT & OPCODE_MASK,
                .recursion_desired = flags & FLAG_RECURSION_DESIRED,
                .checking_disabled = flags & FLAG_CHECKING_DISABLED,
        };
        if (ret->opcode != OPCODE_QUERY)
                return DNS_NOTIMP;
        if (questions != 1 || !read_question(&r, ret))
                return DNS_FORMERR;
        size_t before = (size_t)answers + authorities, records = before + additional;
        for (size_t i = 0; i < records && !r.failed; i++)
                read_record(&r, i >= before, ret);
        if (r.failed || r.left)
                return DNS_FORMERR;
        if (ret->edns_version != 0)
                return DNS_BADVERS;
        return ret->class == DNS_CLASS_IN ? 0 : DNS_NOTIMP;
}

/* --- writing --- */

struct writer {
        uint8_t *bytes;
        size_t used, size;
        bool full; /* the last bytes did not fit and were not written */
};

static void put(struct writer *w, const void *bytes, size_t length)
{
        if (w->full || length > w->size - w->used) {
                w->full = true;
                return;
        }
        memcpy(w->bytes + w->used, bytes, length);
        w->used += length;
}

static void put_u16(struct writer *w, unsigned value)
{
        put(w, (const uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static void put_u32(struct writer *w, uint32_t value)
{
        put_u16(w, value >> 16);
        put_u16(w, value & 0xffff);
}

static bool is_asked_for(const struct dns_query *q, const struct dns_address *address)
{
        return q->type == DNS_ANY || q->type == (address->is_v6 ? DNS_AAAA : DNS_A);
}

/* Returns how many were written; 0, and w->full is set, when not all fit. */
static unsigned put_addresses(struct writer *w, const struct dns_query *q, const struct dns_address *addresses,
                              size_t count, uint32_t ttl)
{
        unsigned written = 0;
        for (size_t i = 0; i < count && !w->full; i++) {
                const struct dns_address *address = &addresses[i];
                unsigned length = address->is_v6 ? 16 : 4;
                if (!is_asked_for(q, address))
                        continue;
                put_u16(w, QUESTION_POINTER);
                put_u16(w, address->is_v6 ? DNS_AAAA : DNS_A);
                put_u16(w, DNS_CLASS_IN);
                put_u32(w, ttl);
                put_u16(w, length);
                put(w, address->bytes, length);
                written++;
        }
        return w->full ? 0 : written;
}

/* The SOA of a negative answer, with its TTL. It names ringwall, for users of dig. Returns the number of records. */
static unsigned put_authority(struct writer *w)
{
        /* The server's name, and the root as the mailbox, which means that there is none. */
        static const uint8_t names[] = "\x08ringwall\x07invalid\0";
        static const uint32_t numbers[] = { 1, 3600, 600, 86400,
                                            DNS_NEGATIVE_TTL }; /* serial, refresh, retry, expire */
        put(w, "", 1); /* the root */
        put_u16(w, DNS_SOA);
        put_u16(w, DNS_CLASS_IN);
        put_u32(w, DNS_NEGATIVE_TTL);
        put_u16(w, sizeof names + sizeof numbers);
        put(w, names, sizeof names);
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                put_u32(w, numbers[i]);
        return !w->full;
}

/* The OPT record. Returns the number of records. */
static unsigned put_edns(struct writer *w, const struct dns_query *q, enum dns_rcode rcode)
{
        put(w, "", 1); /* the root */
        put_u16(w, DNS_OPT);
        put_u16(w, DNS_UDP_MAX);
        put_u16(w, (unsigned)rcode >> 4 << 8); /* the lower byte is our EDNS version, 0 */
        put_u16(w, q->dnssec_ok ? EDNS_DNSSEC_OK : 0);
        put_u16(w, 0);
        return !w->full;
}

static unsigned header_flags(const struct dns_query *q, enum dns_rcode rcode, bool truncated)
{
        unsigned flags = FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | (unsigned)q->opcode << OPCODE_SHIFT |
                         ((unsigned)rcode & RCODE_MASK);
        flags |= q->recursion_desired ? FLAG_RECURSION_DESIRED : 0;
        flags |= q->checking_disabled ? FLAG_CHECKING_DISABLED : 0;
        return flags | (truncated ? FLAG_TRUNCATED : 0);
}

/* If not everything fitted, drops what was written since `start` and returns true. */
static bool undo_if_full(struct writer *w, size_t start)
{
        bool was_full = w->full;
        if (was_full)
                w->used = start;
        w->full = false;
        return was_full;
}

size_t dns_write_answer(const struct dns_query *q, enum dns_rcode rcode, const struct dns_address *addresses,
                        size_t count, uint32_t ttl, uint8_t *ret, size_t size)
{
        if (size < DNS_HEADER_SIZE)
                return 0;
        struct writer w = { .bytes = ret, .used = DNS_HEADER_SIZE, .size = size };
        put(&w, q->question, q->question_length);
        bool truncated = undo_if_full(&w, DNS_HEADER_SIZE);
        unsigned questions = !truncated && q->question_length, answers = 0, authorities = 0, additional = 0;

        /* An answer to a query with EDNS must have an OPT record, so its space is reserved. */
        bool edns = q->has_edns && size - w.used >= OPT_SIZE;
        w.size -= edns ? OPT_SIZE : 0;
        if (!edns && (unsigned)rcode > RCODE_MASK)
                rcode = DNS_FORMERR; /* the code's upper bits would be in the OPT record */
        size_t start = w.used;
        if (questions && rcode == DNS_NOERROR) {
                answers = put_addresses(&w, q, addresses, count, ttl);
                truncated |= undo_if_full(&w, start);
        }
        if (questions && !answers && !truncated && (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN)) {
                authorities = put_authority(&w);
                (void)undo_if_full(&w, start); /* the SOA is optional */
        }
        w.size = size;
        if (edns)
                additional = put_edns(&w, q, rcode);

        struct writer header = { .bytes = ret, .size = DNS_HEADER_SIZE };
        const unsigned words[] = {
                q->id, header_flags(q, rcode, truncated), questions, answers, authorities, additional
        };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                put_u16(&header, words[i]);
        return w.used;
}

size_t dns_udp_limit(const struct dns_query *q)
{
        size_t asked = q->has_edns ? q->udp_size : 0;
        return asked < DNS_UDP_MIN ? DNS_UDP_MIN : asked > DNS_UDP_MAX ? DNS_UDP_MAX : asked;
}
