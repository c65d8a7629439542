/* The native policy file: any input is refused with messages, or compiles to a plan that passes plan_check(). */
#include "fuzz.h"
#include "plan_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        plans_check_text(settings_parse_policy, (const char *)data, size);
        return 0;
}
