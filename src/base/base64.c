/* Base64; see base64.h. */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct text *out, const void *bytes, size_t length)
{
        const unsigned char *byte = bytes;
        char buffer[4096];
        size_t n = 0;
        for (size_t i = 0; i < length; i += 3) {
                size_t count = length - i < 3 ? length - i : 3;
                uint32_t three = (uint32_t)byte[i] << 16 | (count > 1 ? (uint32_t)byte[i + 1] << 8 : 0) |
                                 (count > 2 ? byte[i + 2] : 0U);
                for (size_t k = 0; k < 4; k++)
                        buffer[n++] = k <= count ? letters[three >> (18 - 6 * k) & 63] : '=';
                if (n == sizeof buffer) {
                        text_add_bytes(out, buffer, n);
                        n = 0;
                }
        }
        text_add_bytes(out, buffer, n);
}

bool base64_decode(struct text *out, const char *code, size_t length)
{
        size_t before = out->length, padding = 0;
        while (padding < 2 && padding < length && code[length - padding - 1] == '=')
                padding++;
        bool valid = length % 4 == 0;
        for (size_t i = 0; valid && i < length; i += 4) {
                size_t count = i + 4 == length ? 4 - padding : 4;
                uint32_t four = 0;
                for (size_t k = 0; valid && k < 4; k++) {
                        const char *letter = k < count && code[i + k] ? strchr(letters, code[i + k]) : NULL;
                        valid = letter || k >= count;
                        four = four << 6 | (letter ? (uint32_t)(letter - letters) : 0);
                }
                const char three[] = { (char)(four >> 16), (char)(four >> 8), (char)four };
                valid = valid && (four & (count == 2 ? 0xffffU : count == 3 ? 0xffU : 0)) == 0; /* unused bits are 0 */
                if (valid)
                        text_add_bytes(out, three, count - 1);
        }
        if (!valid && out->data) {
                out->length = before;
                out->data[before] = '\0';
        }
        return valid && !out->failed;
}
