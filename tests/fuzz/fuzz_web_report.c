/*
 * The report of WebFetch's child process. Its strings are inside the input and NUL-terminated; written again it is the
 * same bytes; and a tool answer can be made of it.
 */
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "tools/web_fetch_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_TEXT struct text again = { 0 };
        CLEANUP_FREE char *copy = malloc(size ? size : 1); /* so that a sanitizer finds reads beyond it */
        struct tool_result answer = { 0 };
        struct web_report r;
        PROMISE(copy);
        memcpy(copy, data, size);
        if (!web_report_parse(copy, size, &r))
                return 0;
        PROMISE(r.failure < WEB_FAILURES && r.response.length <= WEB_BODY_MAX);
        PROMISE(strlen(r.response.url) + strlen(r.detail) < size);
        web_report_write(&r, &again);
        PROMISE(again.length == size && memcmp(again.data, copy, size) == 0);
        web_fetch_format_result(&r.response, WEB_TEXT, (struct web_part){ 0, 1000 }, &answer);
        tool_result_done(&answer);
        return 0;
}
