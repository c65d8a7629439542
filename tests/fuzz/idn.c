/* See idn.h. */
#include "idn.h"

#include "box/gather_facts.h"
#include "fuzz.h"

bool idn_to_ascii(const char *name, char *ret, size_t size)
{
        static to_ascii_function *to_ascii;
        if (!to_ascii) {
                CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
                struct host_facts facts;
                PROMISE(host_facts_gather(a, &facts, NULL) == 0);
                to_ascii = facts.to_ascii;
        }
        return to_ascii(name, ret, size);
}
