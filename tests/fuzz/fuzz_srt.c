/* srt's JSON settings; see fuzz_policy.c. */
#include "fuzz.h"
#include "plan_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        (void)settings_is_srt((const char *)data, size);
        plans_check_text(settings_parse_srt, (const char *)data, size);
        return 0;
}
