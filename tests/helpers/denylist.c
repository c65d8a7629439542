/*
 * denylist: prints a line for each NUL-terminated command line on standard input: the denied token that the gate finds
 * in it, or nothing. For tests that compare the gate with bash.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gate/denylist.h"

static const struct plan_denied_command rules[] = {
        { .name = "sudo" }, { .name = "su" }, { .name = "mount" }, { .name = "mkfs" }, { .name = "mkfs.*" },
};

int main(void)
{
        CLEANUP_FREE char *line = NULL;
        size_t size = 0;
        while (getdelim(&line, &size, '\0', stdin) > 0) {
                struct denied_call d;
                bool found = denylist_check(line, rules, ARRAY_SIZE(rules), &d);
                (void)puts(found ? d.token : "");
        }
        return 0;
}
