/*
 * DNS messages; see dns_packet.h.
 *
 * How it works: a message is a header with four counts and then as many questions and records. Of a query the one
 * question is kept as bytes, because an answer repeats it (some clients vary the case of its letters to recognise
 * forgeries), and as a name in its one spelling. Of the records behind it only OPT means anything here: that the
 * client speaks EDNS. The others are walked over.
 *
 * What the client controls: every byte. A name in a question cannot point elsewhere, pointers in other names are not
 * followed, each record takes at least eleven bytes, and the last one has to end where the packet does; so reading is
 * linear and ends. Whether a name is a host's is decided where it is for all entrances (domain.h); one that would be
 * another name as text, for a dot or a NUL within a label, is none. Such a question is valid, and has no name.
 *
 * The answers: egress is all that a box knows of the internet, so it answers like the resolver of a network:
 * recursion is available, which glibc and Go insist on before they believe an empty answer. "There is none" comes
 * with the SOA that RFC 2308 asks for, of the root, which is above every name. Caches go by it (systemd-resolved,
 * c-ares, dnsmasq), and it says one second, because a rule may be added at any time; glibc, musl, Go and Java do not
 * look at it.
 */
#include "egress/dns_packet.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "policy/domain.h"

/* Of the header's second pair of bytes. */
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
        EDNS_DNSSEC_OK = 0x8000, /* of the flags in an OPT record */
        OPT_SIZE = 11,           /* an OPT record without options */
        POINTER = 0xc0,          /* in place of a label's length: the rest of the name is elsewhere */
        QUESTION_POINTER = POINTER << 8 | DNS_HEADER_SIZE,
};

/* --- reading --- */

struct reader {
        const uint8_t *at;
        size_t left;
        bool failed; /* something was wanted that is not there */
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

/* The name of the question, with its labels one by one; false when it is malformed. */
static bool read_name(struct reader *r, struct dns_query *q)
{
        char text[DNS_NAME_MOST + 1];
        size_t length = 0;
        q->odd = false;
        for (uint8_t n; (n = take_u8(r)) > 0;) {
                const uint8_t *label = n <= CAP_LABEL ? take(r, n) : NULL;
                /* A label takes as much in the text as in the packet; behind the last the root has to fit. */
                if (!label || length + 1 + n + 1 > DNS_NAME_MOST)
                        return false;
                q->odd |= memchr(label, '.', n) || memchr(label, '\0', n); /* the text would say something else */
                memcpy(text + length, label, n);
                text[length + n] = '.';
                length += (size_t)n + 1;
        }
        if (r->failed)
                return false;
        text[length] = '\0';
        q->odd = q->odd || domain_canonical(text, NULL, q->name);
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

/* The name of a record, of which nobody wants to know more than where it ends. */
static void skip_name(struct reader *r, bool *ret_is_root)
{
        *ret_is_root = r->left && *r->at == 0;
        for (uint8_t n; (n = take_u8(r)) > 0;) {
                if (n >= POINTER) {
                        (void)take_u8(r);
                        return;
                }
                if (n > CAP_LABEL)
                        r->failed = true;
                (void)take(r, n);
        }
}

/* The options have to fill the record; what they say is for servers that know more of the world. */
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
        (void)take_u8(r); /* the upper bits of an answer's code, in an OPT */
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
        bool full; /* something did not fit, and was not written */
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

/* How many there are; none, and w->full, when not all of them fit. */
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

/* Who says that there is none, and for how long that holds. It names us, for a person who looks with dig. */
static unsigned put_authority(struct writer *w)
{
        static const uint8_t names[] = "\x08ringwall\x07invalid\0"; /* server and keeper, who is the root: nobody */
        static const uint32_t numbers[] = { 1, 3600, 600, 86400, DNS_NEGATIVE_TTL };
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

static unsigned put_edns(struct writer *w, const struct dns_query *q, enum dns_rcode rcode)
{
        put(w, "", 1); /* the root */
        put_u16(w, DNS_OPT);
        put_u16(w, DNS_UDP_MOST);
        put_u16(w, (unsigned)rcode >> 4 << 8); /* and our version, 0 */
        put_u16(w, q->dnssec_ok ? EDNS_DNSSEC_OK : 0);
        put_u16(w, 0);
        return !w->full;
}

static unsigned header_flags(const struct dns_query *q, enum dns_rcode rcode, bool cut)
{
        unsigned flags = FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | (unsigned)q->opcode << OPCODE_SHIFT |
                         ((unsigned)rcode & RCODE_MASK);
        flags |= q->recursion_desired ? FLAG_RECURSION_DESIRED : 0;
        flags |= q->checking_disabled ? FLAG_CHECKING_DISABLED : 0;
        return flags | (cut ? FLAG_TRUNCATED : 0);
}

/* Takes back what was written behind `start`, when not all of it fitted. */
static bool take_back_if_full(struct writer *w, size_t start)
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
        bool cut = take_back_if_full(&w, DNS_HEADER_SIZE);
        unsigned questions = !cut && q->question_length, answers = 0, authorities = 0, additional = 0;

        /* A client that speaks EDNS has to be told that we do, so its place is kept free. */
        bool edns = q->has_edns && size - w.used >= OPT_SIZE;
        w.size -= edns ? OPT_SIZE : 0;
        if (!edns && (unsigned)rcode > RCODE_MASK)
                rcode = DNS_FORMERR; /* the upper bits would be in it */
        size_t start = w.used;
        if (questions && rcode == DNS_NOERROR) {
                answers = put_addresses(&w, q, addresses, count, ttl);
                cut |= take_back_if_full(&w, start);
        }
        if (questions && !answers && !cut && (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN)) {
                authorities = put_authority(&w);
                (void)take_back_if_full(&w, start); /* an answer is one without it, too */
        }
        w.size = size;
        if (edns)
                additional = put_edns(&w, q, rcode);

        struct writer header = { .bytes = ret, .size = DNS_HEADER_SIZE };
        const unsigned words[] = { q->id, header_flags(q, rcode, cut), questions, answers, authorities, additional };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                put_u16(&header, words[i]);
        return w.used;
}

size_t dns_udp_limit(const struct dns_query *q)
{
        size_t asked = q->has_edns ? q->udp_size : 0;
        return asked < DNS_UDP_LEAST ? DNS_UDP_LEAST : asked > DNS_UDP_MOST ? DNS_UDP_MOST : asked;
}
