/*
 * denylist: says of each command line on its standard input, which ends with a NUL, what the gate finds: the denied
 * token, or nothing, on a line. For tests that compare it with bash itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gate/denylist.h"

static const struct plan_command rules[] = {
        { .name = "sudo" }, { .name = "su" }, { .name = "mount" }, { .name = "mkfs" }, { .name = "mkfs.*" },
};

int main(void)
{
        CLEANUP_FREE char *line = NULL;
        size_t size = 0;
        while (getdelim(&line, &size, '\0', stdin) > 0) {
                struct denied d;
                bool found = denylist_find(line, rules, ARRAY_SIZE(rules), &d);
                (void)puts(found ? d.token : "");
        }
        return 0;
}
