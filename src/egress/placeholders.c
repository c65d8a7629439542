/* Names and their placeholder addresses; see placeholders.h. A hash table with open addressing over a list; both
 * double. */
#include "egress/placeholders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/egress_wire.h"

enum { FIRST_CAPACITY = 16, BOX_ADDRESSES = 1 };
_Static_assert(PLACEHOLDERS_MAX + BOX_ADDRESSES < EGRESS_V4_COUNT, "every name has an address");

static const uint8_t prefix[] = EGRESS_V6_PREFIX;

void placeholders_done(struct placeholders *n)
{
        for (size_t i = 0; i < n->count; i++)
                free(n->list[i]);
        free(n->list);
        free(n->slots);
        *n = (struct placeholders){ 0 };
}

/* FNV-1a. An attacker who makes names collide slows down only its own box, by a search of at most PLACEHOLDERS_MAX
 * slots. */
static size_t hash(const char *name)
{
        uint64_t h = 0xcbf29ce484222325;
        for (; *name; name++)
                h = (h ^ (unsigned char)*name) * 0x100000001b3;
        return (size_t)(h ^ h >> 32);
}

/* The slot of the name, or the free one for it. There is always a free slot. */
static uint32_t *find_slot(const struct placeholders *n, const char *name)
{
        size_t i = hash(name) & (n->slot_count - 1);
        while (n->slots[i] && strcmp(n->list[n->slots[i] - 1], name) != 0)
                i = (i + 1) & (n->slot_count - 1);
        return &n->slots[i];
}

static int grow(struct placeholders *n)
{
        size_t capacity = n->capacity ? 2 * n->capacity : FIRST_CAPACITY;
        char **list = realloc(n->list, capacity * sizeof *list);
        if (!list)
                return -ENOMEM;
        n->list = list;
        uint32_t *slots = calloc(2 * capacity, sizeof *slots);
        if (!slots)
                return -ENOMEM;
        free(n->slots);
        n->slots = slots;
        n->slot_count = 2 * capacity;
        n->capacity = capacity;
        for (size_t i = 0; i < n->count; i++)
                *find_slot(n, n->list[i]) = (uint32_t)(i + 1);
        return 0;
}

int placeholders_get_number(struct placeholders *n, const char *name)
{
        uint32_t *slot = n->slot_count ? find_slot(n, name) : NULL;
        if (slot && *slot)
                return (int)*slot - 1;
        if (n->count == PLACEHOLDERS_MAX)
                return -ENOSPC;
        if (n->count == n->capacity && grow(n) < 0)
                return -ENOMEM;
        char *copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        n->list[n->count] = copy;
        *find_slot(n, name) = (uint32_t)(n->count + 1);
        return (int)n->count++;
}

void placeholder_v4(size_t number, uint8_t ret[4])
{
        uint32_t address = htonl((uint32_t)EGRESS_V4_FIRST + BOX_ADDRESSES + (uint32_t)number);
        memcpy(ret, &address, sizeof address);
}

void placeholder_v6(size_t number, uint8_t ret[16])
{
        uint32_t low = htonl((uint32_t)(1 + BOX_ADDRESSES + number));
        memset(ret, 0, 16);
        memcpy(ret, prefix, sizeof prefix);
        memcpy(ret + 12, &low, sizeof low);
}

const char *placeholders_find(const struct placeholders *n, const uint8_t *address, size_t length)
{
        uint8_t expected[16];
        uint32_t low;
        memcpy(&low, address + length - sizeof low, sizeof low);
        size_t number = (size_t)ntohl(low) - (length == 4 ? (size_t)EGRESS_V4_FIRST : 1) - BOX_ADDRESSES;
        if (number >= n->count) /* an address below the first wraps around */
                return NULL;
        if (length == 4)
                placeholder_v4(number, expected);
        else
                placeholder_v6(number, expected);
        return memcmp(address, expected, length) == 0 ? n->list[number] : NULL;
}
