/* Functions that both formats share; see client_config.h. */
#include "cli/client_config.h"

#include <errno.h>
#include <string.h>

void edit_result_done(struct edit_result *c)
{
        text_done(&c->text);
        text_done(&c->removed);
        json_decref(c->removed_value);
        *c = (struct edit_result){ 0 };
}

uint32_t client_switches_all(const struct client_switches *s)
{
        uint32_t all = 0;
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++)
                all |= (uint32_t)1 << i;
        return all;
}

const char *edit_newline(const char *text)
{
        const char *first = strchr(text, '\n');
        return first && first > text && first[-1] == '\r' ? "\r\n" : "\n";
}

int edit_fail_at(struct edit_result *c, const char *text, size_t offset, struct error *e, const char *message)
{
        c->line = c->column = 1;
        for (size_t i = 0; i < offset; i++) {
                if (text[i] == '\n') {
                        c->line++;
                        c->column = 1;
                } else if (((unsigned char)text[i] & 0xc0) != 0x80) { /* not a continuation byte of UTF-8 */
                        c->column++;
                }
        }
        return error_set(e, EINVAL, "%s", message);
}

int edit_check_text(struct edit_result *c, const char *text, size_t length, struct error *e)
{
        size_t valid = text_utf8_valid_length(text, length), nul = strlen(text);
        if (valid < length)
                return edit_fail_at(c, text, valid, e, "the text is not valid UTF-8");
        return nul < length ? edit_fail_at(c, text, nul, e, "the text has a zero byte") : 0;
}
