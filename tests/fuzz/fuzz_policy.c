/* The native policy file: any bytes are either refused with messages, or a plan that keeps every promise of plans.h. */
#include "fuzz.h"
#include "plans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        plans_check_text(settings_read_native, (const char *)data, size);
        return 0;
}
