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
                size_t bytes_in_group = length - i < 3 ? length - i : 3;
                uint32_t group = (uint32_t)byte[i] << 16 | (bytes_in_group > 1 ? (uint32_t)byte[i + 1] << 8 : 0) |
                                 (bytes_in_group > 2 ? byte[i + 2] : 0U);
                for (size_t k = 0; k < 4; k++)
                        buffer[n++] = k <= bytes_in_group ? letters[group >> (18 - 6 * k) & 63] : '=';
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
                size_t letters_in_group = i + 4 == length ? 4 - padding : 4;
                uint32_t group = 0;
                for (size_t k = 0; valid && k < 4; k++) {
                        bool is_padding = k >= letters_in_group;
                        /* strchr() would find the final NUL. */
                        const char *letter = !is_padding && code[i + k] ? strchr(letters, code[i + k]) : NULL;
                        valid = letter || is_padding;
                        group = group << 6 | (letter ? (uint32_t)(letter - letters) : 0);
                }
                /* With padding, the bits that belong to no byte must be 0: 16 bits after two letters, 8 after three. */
                valid = valid && (group & ((1U << 8 * (4 - letters_in_group)) - 1)) == 0;
                const char decoded[] = { (char)(group >> 16), (char)(group >> 8), (char)group };
                if (valid)
                        text_add_bytes(out, decoded, letters_in_group - 1);
        }
        if (!valid && out->data) {
                out->length = before;
                out->data[before] = '\0';
        }
        return valid && !out->failed;
}
