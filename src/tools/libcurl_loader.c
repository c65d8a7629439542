/* Loads libcurl; see libcurl_loader.h. */
#include "tools/libcurl_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"

/* They differ in the TLS library, and have the same functions. Debian's git depends on the second. */
static const char *const libraries[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

#define CALL(name) { "curl_" #name, offsetof(struct libcurl_api, name) }
static const struct {
        const char *name;
        size_t offset;
} calls[] = {
        CALL(global_init), CALL(easy_init),   CALL(easy_setopt),   CALL(easy_perform),
        CALL(easy_getinfo), CALL(easy_header), CALL(easy_strerror),
};
_Static_assert(sizeof(struct libcurl_api) == ARRAY_SIZE(calls) * sizeof(void *), "each function is in the table");

int libcurl_load(struct libcurl_api *ret, struct error *e)
{
        void *library = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(libraries) && !library; i++)
                library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return error_set(e, ENOENT, "%s", dlerror()); // NOLINT(concurrency-mt-unsafe): there is one thread
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
                void *found = dlsym(library, calls[i].name);
                if (!found)
                        return error_set(e, ENOSYS, "it is too old: it has no %s", calls[i].name);
                memcpy((char *)ret + calls[i].offset, &found, sizeof found);
        }
        return ret->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : error_set(e, ENOMEM, "curl_global_init failed");
}
