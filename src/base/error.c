/* The error object; see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct error *e, int code, const char *format, va_list args)
{
        e->code = code;
        (void)vsnprintf(e->text, sizeof e->text, format, args);
}

int error_set(struct error *e, int code, const char *format, ...)
{
        if (e) {
                va_list args;
                va_start(args, format);
                fill(e, code, format, args);
                va_end(args);
        }
        return -code;
}

int error_errno(struct error *e, int code, const char *format, ...)
{
        if (e) {
                va_list args;
                va_start(args, format);
                fill(e, code, format, args);
                va_end(args);
                size_t used = strlen(e->text);
                const char *why = strerrordesc_np(code);
                (void)snprintf(e->text + used, sizeof e->text - used, ": %s", why ? why : "unknown error");
        }
        return -code;
}

int error_wrap(struct error *e, const char *prefix)
{
        if (!e)
                return 0;
        char old[sizeof e->text];
        memcpy(old, e->text, sizeof old);
        int n = snprintf(e->text, sizeof e->text, "%s: ", prefix);
        size_t used = n < 0 ? 0 : (size_t)n;
        if (used < sizeof e->text)
                (void)snprintf(e->text + used, sizeof e->text - used, "%.*s", (int)(sizeof e->text - used - 1), old);
        return -e->code;
}
