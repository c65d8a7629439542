/* Blocks that hold a key; see pem_block.h. */
#include "gate/pem_block.h"

#include <string.h>

enum {
        RUN_KEY = 32,    /* a run this long with both cases and digits is a key, whose lines have 64 bytes or more */
        RUN_WORD = 6,    /* between an opening and a closing marker, a run this long is enough */
        QUIET_MAX = 160, /* enough for a short last line, a checksum, and a prefix of each line */
        MARKER_MAX = 80,
        DASHES = 4,
};

static const char closing[] = "END ";

void pem_block_init(struct pem_block *b)
{
        *b = (struct pem_block){ .state = PEM_UNDECIDED };
}

static bool is_base64(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

static void take_run(struct pem_block *b, char c)
{
        if (!is_base64(c)) {
                b->run = 0;
                b->upper = b->lower = b->digit = false;
                return;
        }
        b->run++;
        b->upper |= c >= 'A' && c <= 'Z';
        b->lower |= c >= 'a' && c <= 'z';
        b->digit |= c >= '0' && c <= '9';
        b->word |= b->run >= RUN_WORD && !b->closing;
        if (b->run >= RUN_KEY && b->upper && b->lower && b->digit) {
                b->state = PEM_IN_KEY;
                b->quiet = 0;
        }
}

/* Matches the marker that closes a block: at least four dashes, "END ", a name, and at least four dashes again. */
static void take_marker(struct pem_block *b, char c)
{
        size_t all = strlen(closing);
        if (c == '\n' || b->closing > MARKER_MAX) {
                b->closing = b->dashes = 0;
        } else if (b->closing >= all) {
                b->closing++;
                b->dashes = c == '-' ? b->dashes + 1 : 0;
        } else if (c == '-') {
                b->dashes++;
                b->closing = 0;
        } else if (b->dashes >= DASHES && c == closing[b->closing]) {
                b->dashes = ++b->closing == all ? 0 : b->dashes;
        } else if (b->dashes < DASHES || b->closing || c != ' ') {
                b->dashes = b->closing = 0;
        }
}

static bool is_closed(const struct pem_block *b)
{
        return b->closing > strlen(closing) && b->dashes >= DASHES;
}

/* For a block with both markers: was there a key between them? */
static bool had_key(const struct pem_block *b)
{
        return b->state == PEM_IN_KEY || (b->word && !b->code);
}

enum pem_state pem_block_feed(struct pem_block *b, char c)
{
        if (is_closed(b) && c != '-') /* the marker ends with four dashes, or with a fifth, which is handled below */
                return b->state = had_key(b) ? PEM_ENDED_BEFORE : PEM_NO_KEY;
        b->taken++;
        b->quiet++;
        take_marker(b, c);
        take_run(b, c);
        b->code |= strchr("\"'`<>(){}[];$%&|#*", c) != NULL;
        if (is_closed(b) && b->dashes > DASHES)
                return b->state = had_key(b) ? PEM_ENDED_HERE : PEM_NO_KEY;
        if (b->state == PEM_UNDECIDED && b->taken >= BLOCK_DECISION_MAX)
                return b->state = PEM_NO_KEY;
        if (b->state == PEM_IN_KEY && b->quiet > QUIET_MAX && !is_base64(c) && c != '_' && c != '-')
                return b->state = PEM_ENDED_BEFORE;
        return b->state;
}

enum pem_state pem_block_finish(struct pem_block *b)
{
        bool key = b->state == PEM_IN_KEY || (is_closed(b) && had_key(b));
        return b->state = key ? PEM_ENDED_HERE : PEM_NO_KEY;
}
