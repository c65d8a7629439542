/* Names and the addresses that stand for them; see names.h. A table of hashes over a list, both growing by doubling. */
#include "egress/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/egress_wire.h"

enum { FIRST_ROOM = 16, OWN_ADDRESSES = 1 };
_Static_assert(NAMES_MOST + OWN_ADDRESSES < EGRESS_V4_COUNT, "every name has an address");

static const uint8_t prefix[] = EGRESS_V6_PREFIX;

void names_done(struct names *n)
{
        for (size_t i = 0; i < n->count; i++)
                free(n->list[i]);
        free(n->list);
        free(n->slots);
        *n = (struct names){ 0 };
}

/* FNV-1a. Whoever finds names that collide slows down his own box, by a search among at most NAMES_MOST of them. */
static size_t hash(const char *name)
{
        uint64_t h = 0xcbf29ce484222325;
        for (; *name; name++)
                h = (h ^ (unsigned char)*name) * 0x100000001b3;
        return (size_t)(h ^ h >> 32);
}

/* Where the name is, or would be. There is always a free slot. */
static uint32_t *find_slot(const struct names *n, const char *name)
{
        size_t i = hash(name) & (n->slot_count - 1);
        while (n->slots[i] && strcmp(n->list[n->slots[i] - 1], name) != 0)
                i = (i + 1) & (n->slot_count - 1);
        return &n->slots[i];
}

static int grow(struct names *n)
{
        size_t room = n->room ? 2 * n->room : FIRST_ROOM;
        char **list = realloc(n->list, room * sizeof *list);
        if (!list)
                return -ENOMEM;
        n->list = list;
        uint32_t *slots = calloc(2 * room, sizeof *slots);
        if (!slots)
                return -ENOMEM;
        free(n->slots);
        n->slots = slots;
        n->slot_count = 2 * room;
        n->room = room;
        for (size_t i = 0; i < n->count; i++)
                *find_slot(n, n->list[i]) = (uint32_t)(i + 1);
        return 0;
}

int names_number(struct names *n, const char *name)
{
        uint32_t *slot = n->slot_count ? find_slot(n, name) : NULL;
        if (slot && *slot)
                return (int)*slot - 1;
        if (n->count == NAMES_MOST)
                return -ENOSPC;
        if (n->count == n->room && grow(n) < 0)
                return -ENOMEM;
        char *copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        n->list[n->count] = copy;
        *find_slot(n, name) = (uint32_t)(n->count + 1);
        return (int)n->count++;
}

void names_v4(size_t number, uint8_t ret[4])
{
        uint32_t address = htonl((uint32_t)EGRESS_V4_FIRST + OWN_ADDRESSES + (uint32_t)number);
        memcpy(ret, &address, sizeof address);
}

void names_v6(size_t number, uint8_t ret[16])
{
        uint32_t low = htonl((uint32_t)(1 + OWN_ADDRESSES + number));
        memset(ret, 0, 16);
        memcpy(ret, prefix, sizeof prefix);
        memcpy(ret + 12, &low, sizeof low);
}

const char *names_find(const struct names *n, const uint8_t *address, size_t length)
{
        uint8_t expected[16];
        uint32_t low;
        memcpy(&low, address + length - sizeof low, sizeof low);
        size_t number = (size_t)ntohl(low) - (length == 4 ? (size_t)EGRESS_V4_FIRST : 1) - OWN_ADDRESSES;
        if (number >= n->count) /* what is smaller than the first wraps round */
                return NULL;
        if (length == 4)
                names_v4(number, expected);
        else
                names_v6(number, expected);
        return memcmp(address, expected, length) == 0 ? n->list[number] : NULL;
}
