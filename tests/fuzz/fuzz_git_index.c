/* Checks of git's index. A refusal has a reason, and the verdict is the same if the caller wants no reason. */
#include "base/text.h"
#include "fuzz.h"
#include "policy/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t ids[] = { GIT_ID_SHA1, GIT_ID_SHA256 };
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
                CLEANUP_TEXT struct text why = { 0 };
                bool harmless = git_index_is_harmless((const char *)data, size, ids[i], "/work/repository", &why);
                PROMISE(harmless == !why.data);
                PROMISE(git_index_is_harmless((const char *)data, size, ids[i], "/work/repository", NULL) == harmless);
        }
        return 0;
}
