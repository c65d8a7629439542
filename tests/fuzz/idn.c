/* See idn.h. */
#include "idn.h"

#include <idn2.h>
#include <stdio.h>

#include "base/memory.h"

bool idn_to_ascii(const char *name, char *ret, size_t size)
{
        CLEANUP_FREE char *ascii = NULL;
        if (idn2_to_ascii_8z(name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_USE_STD3_ASCII_RULES) != IDN2_OK)
                return false;
        return (size_t)snprintf(ret, size, "%s", ascii) < size;
}
