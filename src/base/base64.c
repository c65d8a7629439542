/* Base64; see base64.h. */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct text *out, const void *bytes, size_t length)
{
        const unsigned char *byte = bytes;
        char piece[4096];
        size_t n = 0;
        for (size_t i = 0; i < length; i += 3) {
                size_t have = length - i < 3 ? length - i : 3;
                uint32_t three = (uint32_t)byte[i] << 16 | (have > 1 ? (uint32_t)byte[i + 1] << 8 : 0) | (have > 2 ? byte[i + 2] : 0U);
                for (size_t k = 0; k < 4; k++)
                        piece[n++] = k <= have ? letters[three >> (18 - 6 * k) & 63] : '=';
                if (n == sizeof piece) {
                        text_add_bytes(out, piece, n);
                        n = 0;
                }
        }
        text_add_bytes(out, piece, n);
}

bool base64_decode(struct text *out, const char *code, size_t length)
{
        size_t before = out->length, padding = 0;
        while (padding < 2 && padding < length && code[length - padding - 1] == '=')
                padding++;
        bool good = length % 4 == 0;
        for (size_t i = 0; good && i < length; i += 4) {
                size_t have = i + 4 == length ? 4 - padding : 4;
                uint32_t four = 0;
                for (size_t k = 0; good && k < 4; k++) {
                        const char *letter = k < have && code[i + k] ? strchr(letters, code[i + k]) : NULL;
                        good = letter || k >= have;
                        four = four << 6 | (letter ? (uint32_t)(letter - letters) : 0);
                }
                const char three[] = { (char)(four >> 16), (char)(four >> 8), (char)four };
                good = good && (four & (have == 2 ? 0xffffU : have == 3 ? 0xffU : 0)) == 0; /* no bits behind the end */
                if (good)
                        text_add_bytes(out, three, have - 1);
        }
        if (!good && out->data) {
                out->length = before;
                out->data[before] = '\0';
        }
        return good && !out->failed;
}
