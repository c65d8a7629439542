/*
 * A plan from JSON that anybody may have written: it is refused with a sentence, or it is a whole plan that is written
 * and read back as the same and can be asked.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "plans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_JSON json_t *json = NULL;
        CLEANUP_PLAN struct plan *plan = NULL;
        struct error e = { 0 };
        if (json_parse_bounded((const char *)data, size, size, JSON_DEPTH_MAX, &json, NULL, NULL, NULL) < 0)
                return 0;
        int r = plan_from_json(json, &plan, &e);
        if (r < 0) {
                PROMISE(!plan && r == -EINVAL && e.code == EINVAL && *e.text);
                promise_printable(e.text);
                return 0;
        }
        PROMISE(r == 0 && plan);
        plan_check(plan);
        return 0;
}
