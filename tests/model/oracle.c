/*
 * Answers what a plan decides about names, for model.py.
 *
 *   oracle FLAG VALUE FLAG VALUE…     the policy's flags by their long names, without dashes
 *
 * The first line of output is "plan", or "refused" and the reason. A request is a byte and a path that ends with NUL;
 * an answer is a byte:
 *
 *   'r', 'w'   may the path be read, written? 'a' allowed, 'n' not granted, or what denies it: 'R' deny_read, 'W'
 *              deny_write, 'P' protect
 *   'b'        does the path of a denial lead through this path? 'y' or 'n'
 *   'g'        without a path: the grants, each "r PATH" or "w PATH" with NUL, and an empty one at the end
 *
 * The answers are those of rules_decide(), with the plan's own rules. A denial whose path led through symbolic links
 * when the box started also applies to the real path.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "box/load_flags.h"
#include "policy/input_limits.h"
#include "policy/name_rules.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

static struct rules rules;
static size_t own_count; /* the number of the plan's own rules; rules for real paths and links follow them */

static void add(const struct rule *rule, const char *path)
{
        rules.list = realloc(rules.list, (rules.count + 1) * sizeof *rules.list);
        if (!rules.list)
                exit(1);
        rules.list[rules.count] = *rule;
        rules.list[rules.count++].path = strdup(path);
}

/* A symlink that the path of a rule leads through must not be replaced. */
static void add_link(const struct rule *rule, const char *path)
{
        struct rule link = *rule;
        link.kind = RULE_DENY_WRITE;
        link.glob = false;
        add(&link, path);
}

/*
 * Replaces the first symlink, "." or ".." in a path by what it stands for. False if there is none. Called repeatedly,
 * it resolves a path, whether it exists or not. It does not use the code under test.
 */
static bool replace_first(const struct rule *rule, char path[2 * PATH_MAX])
{
        char target[PATH_MAX], whole[2 * PATH_MAX];
        for (char *name = path + 1, *end; *name; name = end + 1) {
                end = strchrnul(name, '/');
                char separator = *end;
                const char *rest = separator ? end + 1 : "", *between = separator ? "/" : "";
                int before = (int)(name - path);
                *end = '\0';
                ssize_t n = readlink(path, target, sizeof target - 1);
                bool dot = strcmp(name, ".") == 0, up = strcmp(name, "..") == 0;
                if (up && before > 1) {
                        path[before - 1] = '\0';
                        before = (int)(strrchr(path, '/') - path) + 1;
                }
                target[n > 0 && !dot && !up ? n : 0] = '\0';
                if (*target && strcmp(path, rule->path) != 0)
                        add_link(rule, path);
                if (dot || up || n > 0) {
                        (void)snprintf(whole, sizeof whole, "%.*s%s%s%s", *target == '/' ? 0 : before, path, target,
                                       *target ? between : "", rest);
                        memcpy(path, whole, sizeof whole);
                        return true;
                }
                *end = separator;
                if (!separator)
                        break;
        }
        return false;
}

static void add_real_path(const struct rule *rule)
{
        char path[2 * PATH_MAX] = "", whole[4 * PATH_MAX];
        size_t anchor = rule_anchor_length(rule);
        if (anchor == 0 || anchor >= PATH_MAX)
                return;
        memcpy(path, rule->path, anchor);
        unsigned steps = 0;
        while (steps < 200 && replace_first(rule, path))
                steps++;
        if (steps == 200) /* a loop of symlinks has no real path; the rules for its links stay */
                return;
        (void)snprintf(whole, sizeof whole, "%s%s", path[1] ? path : "", rule->path + anchor);
        if (strcmp(whole, rule->path) != 0)
                add(rule, whole);
}

static int load(int count, char **arguments)
{
        struct load_item *items = calloc((size_t)count / 2 + 1, sizeof *items);
        struct load_request request = { .items = items, .ignore_defaults = true };
        struct plan *plan = NULL;
        struct error e = { 0 };
        struct diagnostics *m = diagnostics_new();
        for (int i = 0; items && i + 1 < count; i += 2)
                if (load_item_from_flag(arguments[i], arguments[i + 1], &items[request.count++]) < 0)
                        return fprintf(stderr, "oracle: bad flag: %s %s\n", arguments[i], arguments[i + 1]), -1;
        int r = load_plan(&request, m, &plan, &e);
        if (r != 0) {
                CLEANUP_TEXT struct text messages = { 0 };
                diagnostics_print(m, &messages, false);
                (void)printf("refused %s", e.text);
                for (const char *p = messages.data ? messages.data : ""; *p; p++)
                        (void)putchar(*p == '\n' ? ' ' : *p);
                (void)putchar('\n');
                return -1;
        }
        for (size_t i = 0; i < plan->rules.count; i++)
                if (!name_rules_is_git_rule(&plan->rules.list[i]))
                        add(&plan->rules.list[i], plan->rules.list[i].path);
        own_count = rules.count;
        for (size_t i = 0; i < own_count; i++) {
                struct rule rule = rules.list[i]; /* a copy, because realloc() moves the list */
                if (rule.kind >= RULE_DENY_READ)
                        add_real_path(&rule);
        }
        (void)printf("plan\n");
        return 0;
}

static char decide(const char *path, bool write)
{
        static const char letters[] = { [RULE_DENY_READ] = 'R', [RULE_DENY_WRITE] = 'W', [RULE_PROTECT] = 'P' };
        const struct rule *by = NULL;
        /*
         * A deny_read of a ceiling whose path leads through a symlink denies the real path, whatever the plan grants
         * there. For its own path the compiler has decided that already.
         */
        for (size_t i = own_count; i < rules.count; i++)
                if (rules.list[i].of_ceiling && rules.list[i].kind == RULE_DENY_READ &&
                    path_pattern_match_depth(rules.list[i].path, rules.list[i].glob, path) >= 0)
                        return letters[RULE_DENY_READ];
        if (rules_decide(&rules, path, write, &by))
                return 'a';
        return by && by->kind >= RULE_DENY_READ ? letters[by->kind] : 'n';
}

/* Does the path of a denial, up to its first pattern character, lead through this path? */
static bool is_above_denial(const char *path)
{
        size_t length = strlen(path);
        for (size_t i = 0; i < rules.count; i++) {
                const struct rule *r = &rules.list[i];
                size_t fixed = r->glob ? strcspn(r->path, "*?[\\") : strlen(r->path);
                if (r->kind >= RULE_DENY_READ && fixed > length && strncmp(r->path, path, length) == 0 &&
                    r->path[length] == '/' && (!r->glob || memrchr(r->path + length, '/', fixed - length)))
                        return true;
        }
        return false;
}

static void print_grants(void)
{
        for (size_t i = 0; i < rules.count; i++)
                if (rules.list[i].kind < RULE_DENY_READ)
                        (void)printf("%c %s%c", rules.list[i].kind == RULE_READ ? 'r' : 'w', rules.list[i].path, '\0');
        (void)putchar('\0');
}

int main(int argc, char **argv)
{
        char *line = NULL;
        size_t room = 0;
        if (load(argc - 1, argv + 1) < 0)
                return 1;
        (void)fflush(stdout);
        while (getdelim(&line, &room, '\0', stdin) > 0) {
                if (*line == 'g')
                        print_grants();
                else if (*line == 'b')
                        (void)putchar(is_above_denial(line + 1) ? 'y' : 'n');
                else
                        (void)putchar(decide(line + 1, *line == 'w'));
                (void)fflush(stdout);
        }
        return 0;
}
