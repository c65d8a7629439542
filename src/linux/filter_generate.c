/*
 * Compiles the tables of filter_table.c to BPF programs, as C source. The build runs it once per architecture.
 *
 *   filter_generate x86_64|aarch64 >FILE.c
 *
 * What it is for: see docs/decisions/filters-at-build-time.md. libseccomp maps names to the numbers of an architecture.
 * The programs are generated here, because libseccomp cannot express two things that they need: a separate verdict for
 * a call whose arguments match no rule, and ranges of numbers.
 *
 * How it works: consecutive numbers with the same verdict become a range, so that about a hundred ranges are left of a
 * thousand numbers. A program consists of
 *
 *        a check of the architecture, which kills the process if it is another
 *        a binary tree over the ranges, whose leaves are verdicts and blocks
 *        one block for each call that has conditions: its tests in the table's order, then the group's verdict
 *
 * The guard's programs are made the same way from filter_guarded[], but jump to their end instead of giving a verdict
 * on the other calls; filter_install.c concatenates one and a program for the rights.
 *
 * Programs are generated from the end to the start: jumps only go forward, so the target of an instruction always
 * exists already, and all jumps to one verdict share an instruction. When a program is installed, the kernel makes two
 * passes over it, and both add to the start time of a box. One translates it to machine code, so size matters. The
 * other (since 5.11) runs it for each number, to find the calls that are allowed whatever their arguments, for which
 * the program is never run again; so depth matters, and only blocks look at arguments.
 *
 * What it trusts: libseccomp's numbers, the tables. If they are inconsistent, it exits with a message, which fails the
 * build.
 */
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linux/filter_install.h"
#include "linux/filter_table.h"

enum {
        RANGES_MAX = FILTER_NUMBERS_MAX + 3,
        JUMP_MAX = UINT8_MAX, /* the longest conditional jump, in instructions */
};

/* What happens to one number. */
struct verdict {
        const char *call; /* the conditions of this call are tested first; NULL: there are none */
        uint32_t action;
};

struct range {
        uint32_t start; /* it ends where the next range starts */
        struct verdict verdict;
        size_t block; /* the block of its call, where that has conditions */
};

struct program {
        struct sock_filter code[BPF_MAXINSNS]; /* the last instruction first */
        size_t count;
        struct range ranges[RANGES_MAX];
        size_t range_count;
        unsigned rights;    /* enum filter_right, or enum filter_guard */
        const struct filter_condition *conditions;
        size_t condition_count;
};

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        fputs("filter_generate: ", stderr);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        exit(1);
}

/* --- instructions: each is put before the existing ones, and is identified by its index from the end --- */

static size_t emit(struct program *p, uint16_t code, uint32_t k)
{
        if (p->count == BPF_MAXINSNS)
                fail("more than %d instructions", BPF_MAXINSNS);
        p->code[p->count] = (struct sock_filter){ .code = code, .k = k };
        return p->count++;
}

static size_t emit_load(struct program *p, size_t offset)
{
        return emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* The number of instructions that the next one would have to jump over to reach `to`. */
static size_t distance(const struct program *p, size_t to)
{
        return p->count - to - 1;
}

/* An instruction that gives this verdict: an existing one, if later jumps can still reach it, or a new one. */
static size_t emit_verdict(struct program *p, uint32_t action)
{
        if (action == FILTER_PASS) /* the program's last instruction, which jumps to the program after it */
                return distance(p, 0) < JUMP_MAX / 2 ? 0 : emit(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, 0));
        for (size_t l = p->count; l-- > 0 && distance(p, l) < JUMP_MAX / 2;)
                if (p->code[l].code == (BPF_RET | BPF_K) && p->code[l].k == action)
                        return l;
        return emit(p, BPF_RET | BPF_K, action);
}

/* The target itself, or a new jump to it, which a conditional jump can reach. */
static size_t emit_reachable_target(struct program *p, size_t to)
{
        /* One less than the maximum: the other branch may need such a jump too. */
        return distance(p, to) < JUMP_MAX ? to : emit(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, to));
}

static size_t emit_jump(struct program *p, uint16_t comparison, uint32_t k, size_t yes, size_t no)
{
        yes = emit_reachable_target(p, yes);
        no = emit_reachable_target(p, no);
        size_t jt = distance(p, yes), jf = distance(p, no);
        if (jt > JUMP_MAX || jf > JUMP_MAX)
                fail("a conditional jump over %zu or %zu instructions is too long", jt, jf);
        size_t l = emit(p, BPF_JMP | comparison | BPF_K, k);
        p->code[l].jt = (uint8_t)jt;
        p->code[l].jf = (uint8_t)jf;
        return l;
}

/* --- the table, for one architecture and one set of rights --- */

static int call_number(enum filter_arch arch, const char *call)
{
        for (size_t i = 0; i < filter_number_count; i++)
                if (!strcmp(filter_extra_numbers[i].call, call))
                        return filter_extra_numbers[i].numbers[arch];
        /* Negative where the architecture lacks the call. The tests find a name that no architecture has. */
        return seccomp_syscall_resolve_name_arch(filter_abis[arch].audit, call);
}

static bool condition_applies(const struct filter_condition *c, const char *call, unsigned rights)
{
        return !strcmp(c->call, call) && (rights & c->with) == c->with && !(rights & c->without);
}

static bool has_conditions(const struct program *p, const char *call)
{
        for (size_t i = 0; i < p->condition_count; i++)
                if (condition_applies(&p->conditions[i], call, p->rights))
                        return true;
        return false;
}

static void set_verdict(struct verdict *verdicts, bool *taken, int number, struct verdict v, const char *call)
{
        if (number < 0)
                return;
        if (number >= FILTER_NUMBERS_MAX)
                fail("%s has number %d, which is too large", call, number);
        if (taken[number])
                fail("%s has number %d, but so has another call", call, number);
        taken[number] = true;
        verdicts[number] = v;
}

static void set_for_rights(const struct program *p, enum filter_arch arch, struct verdict verdicts[FILTER_NUMBERS_MAX])
{
        unsigned rights = p->rights;
        bool taken[FILTER_NUMBERS_MAX] = { false };
        for (size_t i = 0; i < FILTER_NUMBERS_MAX; i++)
                verdicts[i] = (struct verdict){ .action = filter_default_action };
        for (const struct filter_group *g = filter_groups; g < filter_groups + filter_group_count; g++)
                for (const char *const *call = g->calls; *call; call++) {
                        struct verdict v = { .action = (rights & g->right) == g->right ? g->with : g->without };
                        if (has_conditions(p, *call))
                                v.call = *call;
                        set_verdict(verdicts, taken, call_number(arch, *call), v, *call);
                }
}

/* Calls that the guard checks are notified, unless a condition says otherwise; all others pass. */
static void set_for_guard(const struct program *p, enum filter_arch arch, struct verdict verdicts[FILTER_NUMBERS_MAX])
{
        for (size_t i = 0; i < FILTER_NUMBERS_MAX; i++)
                verdicts[i] = (struct verdict){ .action = FILTER_PASS };
        for (size_t i = 0; i < p->condition_count; i++) {
                const char *call = p->conditions[i].call;
                int number = call_number(arch, call);
                if (number >= 0 && condition_applies(&p->conditions[i], call, p->rights))
                        verdicts[number].call = call;
        }
        for (size_t i = 0; i < filter_guarded_count; i++) {
                const struct filter_guarded *g = &filter_guarded[i];
                int number = call_number(arch, g->call);
                if (number >= 0 && (p->rights & g->guard) == g->guard)
                        verdicts[number].action = g->action ? g->action : SECCOMP_RET_USER_NOTIF;
        }
}

static void add_range(struct program *p, uint32_t start, struct verdict v)
{
        const struct verdict *last = p->range_count ? &p->ranges[p->range_count - 1].verdict : NULL;
        if (last && !last->call && !v.call && last->action == v.action)
                return;
        if (p->range_count == RANGES_MAX)
                fail("more than %d ranges", RANGES_MAX);
        p->ranges[p->range_count++] = (struct range){ .start = start, .verdict = v };
}

static void find_ranges(struct program *p, enum filter_arch arch, bool guard)
{
        struct verdict verdicts[FILTER_NUMBERS_MAX];
        (guard ? set_for_guard : set_for_rights)(p, arch, verdicts);
        for (uint32_t i = 0; i < FILTER_NUMBERS_MAX; i++)
                add_range(p, i, verdicts[i]);
        if (guard) {
                add_range(p, FILTER_NUMBERS_MAX, (struct verdict){ .action = FILTER_PASS });
                return;
        }
        add_range(p, FILTER_NUMBERS_MAX, (struct verdict){ .action = filter_default_action });
        if (!filter_abis[arch].foreign)
                return;
        add_range(p, filter_abis[arch].foreign, (struct verdict){ .action = SECCOMP_RET_KILL_PROCESS });
        /* -1 is not a call: a tracer sets it to skip one. */
        add_range(p, UINT32_MAX, (struct verdict){ .action = filter_default_action });
}

/* --- the layout --- */

/* The code of a condition: its start, and the comparison that follows the load of its first argument. */
struct entry {
        size_t start, loaded;
        const struct filter_test *first;
};

/* Loads the lower half of an argument (both architectures are little-endian) and compares it. */
static struct entry emit_test(struct program *p, const struct filter_test *t, size_t yes, size_t no)
{
        struct entry e = { .first = t, .loaded = emit_jump(p, BPF_JEQ, t->value, yes, no) };
        if (t->mask != UINT32_MAX)
                (void)emit(p, BPF_ALU | BPF_AND | BPF_K, t->mask);
        e.start = emit_load(p, offsetof(struct seccomp_data, args) + t->argument * sizeof(uint64_t));
        return e;
}

/* Where to continue when a test fails: after the load, if the next condition starts with the same argument and mask. */
static size_t failure_target(const struct filter_test *t, const struct entry *next)
{
        bool same = next->first && next->first->argument == t->argument && next->first->mask == t->mask;
        return same ? next->loaded : next->start;
}

static struct entry emit_condition(struct program *p, const struct filter_condition *c, const struct entry *next)
{
        size_t count = 0;
        while (count < FILTER_TESTS_MAX && c->tests[count].mask)
                count++;
        if (count == 0)
                fail("a condition of %s tests nothing", c->call);
        struct entry e = { .start = emit_verdict(p, c->action) };
        for (size_t i = count; i-- > 0;)
                e = emit_test(p, &c->tests[i], e.start, failure_target(&c->tests[i], next));
        return e;
}

static size_t emit_block(struct program *p, const struct verdict *v)
{
        struct entry next = { .start = emit_verdict(p, v->action) };
        for (size_t i = p->condition_count; i-- > 0;)
                if (condition_applies(&p->conditions[i], v->call, p->rights))
                        next = emit_condition(p, &p->conditions[i], &next);
        return next.start;
}

/* Expects the number, which is in one of these ranges, in the accumulator. */
static size_t emit_tree(struct program *p, const struct range *ranges, size_t count)
{
        if (count == 1)
                return ranges->verdict.call ? ranges->block : emit_verdict(p, ranges->verdict.action);
        size_t below = count / 2;
        size_t upper = emit_tree(p, ranges + below, count - below);
        size_t lower = emit_tree(p, ranges, below);
        return emit_jump(p, BPF_JGE, ranges[below].start, upper, lower);
}

static void compile(struct program *p, enum filter_arch arch, bool guard)
{
        if (guard) /* FILTER_PASS ends here: it continues with the program that follows */
                (void)emit(p, BPF_JMP | BPF_JA, 0);
        find_ranges(p, arch, guard);
        for (struct range *r = p->ranges; r < p->ranges + p->range_count; r++)
                if (r->verdict.call)
                        r->block = emit_block(p, &r->verdict);
        size_t tree = emit_tree(p, p->ranges, p->range_count);
        if (distance(p, tree) != 0)
                fail("the tree does not start at its root");
        size_t native = emit_load(p, offsetof(struct seccomp_data, nr));
        size_t foreign = emit_verdict(p, guard ? FILTER_PASS : SECCOMP_RET_KILL_PROCESS);
        (void)emit_jump(p, BPF_JEQ, filter_abis[arch].audit, native, foreign);
        (void)emit_load(p, offsetof(struct seccomp_data, arch));
}

/* --- the output --- */

static void print_code(const struct program *p, bool guard)
{
        printf("        /* %s %u: %zu ranges */\n", guard ? "guard" : "variant", p->rights, p->range_count);
        for (size_t l = p->count; l-- > 0;)
                printf("        { 0x%02x, %u, %u, 0x%x },\n", p->code[l].code, p->code[l].jt, p->code[l].jf,
                       p->code[l].k);
}

static bool is_notified(uint32_t action)
{
        return (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
}

static bool may_be_notified(const struct filter_group *g, const char *call)
{
        bool notified = is_notified(g->with) || is_notified(g->without);
        for (size_t i = 0; i < filter_condition_count; i++)
                notified |= !strcmp(filter_conditions[i].call, call) && is_notified(filter_conditions[i].action);
        return notified;
}

static void print_notified(enum filter_arch arch)
{
        printf("static const struct filter_notified notified[] = {\n");
        for (const struct filter_group *g = filter_groups; g < filter_groups + filter_group_count; g++)
                for (const char *const *call = g->calls; *call; call++)
                        if (call_number(arch, *call) >= 0 && may_be_notified(g, *call))
                                printf("        { %d, \"%s\", \"%s\" },\n", call_number(arch, *call), *call, g->name);
        printf("};\n\n");
}

static struct program_slice print_program(enum filter_arch arch, bool guard, unsigned rights, size_t *used)
{
        static struct program p;
        p.rights = rights;
        p.count = p.range_count = 0;
        p.conditions = guard ? filter_guard_conditions : filter_conditions;
        p.condition_count = guard ? filter_guard_condition_count : filter_condition_count;
        compile(&p, arch, guard);
        print_code(&p, guard);
        if (*used + p.count > UINT16_MAX)
                fail("more than %d instructions in all", UINT16_MAX);
        struct program_slice slice = { (uint16_t)*used, (uint16_t)p.count };
        *used += p.count;
        return slice;
}

static void print_programs(enum filter_arch arch)
{
        struct program_slice variants[FILTER_RIGHTS_COUNT], guards[FILTER_GUARD_COUNT];
        size_t used = 0;
        printf("/* Generated from filter_table.c by filter_generate.c: do not edit. */\n"
               "#include \"linux/filter_install.h\"\n\n"
               "static const struct sock_filter code[] = {\n");
        for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++)
                variants[rights] = print_program(arch, false, rights, &used);
        for (unsigned guard = 0; guard < FILTER_GUARD_COUNT; guard++)
                guards[guard] = print_program(arch, true, guard, &used);
        printf("};\n\n");
        print_notified(arch);
        printf("const struct filter_programs filter_programs_%s = {\n        code,\n        {\n",
               filter_abis[arch].name);
        for (unsigned rights = 0; rights < FILTER_RIGHTS_COUNT; rights++)
                printf("                { %u, %u },\n", variants[rights].start, variants[rights].count);
        printf("        },\n        {\n");
        for (unsigned guard = 0; guard < FILTER_GUARD_COUNT; guard++)
                printf("                { %u, %u },\n", guards[guard].start, guards[guard].count);
        printf("        },\n        notified,\n        sizeof notified / sizeof notified[0],\n};\n");
}

int main(int argc, char **argv)
{
        for (enum filter_arch arch = 0; argc == 2 && arch < FILTER_ARCHES; arch++)
                if (!strcmp(argv[1], filter_abis[arch].name)) {
                        print_programs(arch);
                        return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
                }
        fail("usage: filter_generate x86_64|aarch64");
}
