/* See fuzz.h. */
#include "fuzz.h"

#include <string.h>

#include "base/text.h"

char *fuzz_string(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);
        PROMISE(text);
        if (size)
                memcpy(text, data, size);
        text[size] = '\0';
        return text;
}

void promise_printable(const char *text)
{
        size_t length = strlen(text);
        PROMISE(text_utf8_valid_length(text, length) == length);
        for (const char *p = text; *p; p++)
                PROMISE((unsigned char)*p >= 0x20 || *p == '\n');
        PROMISE(!strchr(text, 0x7f));
}
