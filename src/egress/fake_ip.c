/*
 * Names and their fake addresses; see fake_ip.h. A list of the names, in the order of their numbers, and a hash table
 * of these numbers (open addressing). Both double when they are full.
 */
#include "egress/fake_ip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/egress_protocol.h"

enum { FIRST_CAPACITY = 16, BOX_ADDRESSES = 1 };
_Static_assert(FAKE_IP_MAX + BOX_ADDRESSES < FAKE_IP_V4_COUNT, "every name has an address");

static const uint8_t prefix[] = FAKE_IP_V6_PREFIX;

void fake_ip_done(struct fake_ip_table *n)
{
        for (size_t i = 0; i < n->count; i++)
                free(n->list[i]);
        free(n->list);
        free(n->slots);
        *n = (struct fake_ip_table){ 0 };
}

/*
 * FNV-1a. An attacker who makes names collide slows down only its own box, by a search of at most FAKE_IP_MAX
 * slots.
 */
static size_t hash(const char *name)
{
        uint64_t h = 0xcbf29ce484222325;
        for (; *name; name++)
                h = (h ^ (unsigned char)*name) * 0x100000001b3;
        return (size_t)(h ^ h >> 32);
}

/* The slot of the name, or the free one for it. There is always a free slot. */
static uint32_t *find_slot(const struct fake_ip_table *n, const char *name)
{
        size_t i = hash(name) & (n->slot_count - 1);
        while (n->slots[i] && strcmp(n->list[n->slots[i] - 1], name) != 0)
                i = (i + 1) & (n->slot_count - 1);
        return &n->slots[i];
}

static int grow(struct fake_ip_table *n)
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

int fake_ip_get_number(struct fake_ip_table *n, const char *name)
{
        uint32_t *slot = n->slot_count ? find_slot(n, name) : NULL;
        if (slot && *slot)
                return (int)*slot - 1;
        if (n->count == FAKE_IP_MAX)
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

void fake_ip_v4(size_t number, uint8_t ret[4])
{
        uint32_t address = htonl((uint32_t)FAKE_IP_V4_BASE + BOX_ADDRESSES + (uint32_t)number);
        memcpy(ret, &address, sizeof address);
}

void fake_ip_v6(size_t number, uint8_t ret[16])
{
        uint32_t low = htonl((uint32_t)(1 + BOX_ADDRESSES + number));
        memset(ret, 0, 16);
        memcpy(ret, prefix, sizeof prefix);
        memcpy(ret + 12, &low, sizeof low);
}

const char *fake_ip_find(const struct fake_ip_table *n, const uint8_t *address, size_t length)
{
        uint8_t expected[16];
        uint32_t low;
        memcpy(&low, address + length - sizeof low, sizeof low);
        size_t number = (size_t)ntohl(low) - (length == 4 ? (size_t)FAKE_IP_V4_BASE : 1) - BOX_ADDRESSES;
        if (number >= n->count) /* also if the address is below the first one: the difference wraps around */
                return NULL;
        if (length == 4)
                fake_ip_v4(number, expected);
        else
                fake_ip_v6(number, expected);
        return memcmp(address, expected, length) == 0 ? n->list[number] : NULL;
}
