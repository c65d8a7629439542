/*
 * decide FLAG VALUE FLAG VALUE …
 *
 * Compiles a plan from flags of `ringwall run`, written without dashes, and prints what the plan allows for each
 * NUL-terminated path on standard input: a line "READ WRITE KIND". READ and WRITE are 0 or 1, KIND is the kind of the
 * rule that decides about reading, or "none". Exits with 1 if the plan cannot be compiled. For tests that compare plans
 * with the kernel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "box/load_flags.h"
#include "box/load_policy.h"

enum { FLAGS_MAX = 256 };

int main(int argc, char **argv)
{
        struct load_item items[FLAGS_MAX];
        struct load_request request = { .items = items };
        CLEANUP_DIAGNOSTICS struct diagnostics *diagnostics = diagnostics_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        CLEANUP_FREE char *path = NULL;
        struct error e = { 0 };
        size_t size = 0;
        for (int i = 1; i + 1 < argc && request.count < FLAGS_MAX; i += 2)
                if (load_item_from_flag(argv[i], argv[i + 1], &items[request.count++]) < 0)
                        return EXIT_FAILURE;
        if (!diagnostics || load_plan(&request, diagnostics, &plan, &e) != 0)
                return EXIT_FAILURE;
        while (getdelim(&path, &size, '\0', stdin) > 0) {
                const struct rule *rule = NULL;
                bool read = rules_decide(&plan->rules, path, false, &rule);
                bool write = rules_decide(&plan->rules, path, true, NULL);
                (void)printf("%d %d %s\n", read, write, rule ? rule_kind_words[rule->kind] : "none");
        }
        return EXIT_SUCCESS;
}
