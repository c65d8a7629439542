/*
 * Compiles the table of filter_table.c into programs for the kernel, as C: run once per architecture while ringwall is
 * built.
 *
 *   filter_generate x86_64|aarch64 >FILE.c
 *
 * What it is for: see docs/decisions/filters-at-build-time.md. libseccomp tells the numbers that an architecture gives
 * to the names. The programs are laid out here, because two things that they need cannot be said to libseccomp: a
 * verdict of its own for a call whose arguments match no rule, and ranges of numbers.
 *
 * How it works: neighbouring numbers with one verdict become a range, and about a hundred ranges are left of a thousand
 * numbers. A program is
 *
 *        the architecture, or death
 *        a binary tree over the ranges, whose leaves are verdicts and blocks
 *        one block for each call that has conditions: its tests in the table's order, then the group's verdict
 *
 * It is written from its end to its start: jumps only go forward, so whatever an instruction leads to is there already,
 * and all that lead to one verdict share it. The kernel makes two passes over a program that is installed, and both are
 * time that a box takes to start. One translates it to machine code, so size counts. One (since 5.11) runs it for each
 * number, to find the calls that are allowed whatever their arguments, for which the program is never run again; so
 * depth counts, and arguments are looked at in blocks only.
 *
 * What it trusts: libseccomp's numbers, the table. Anything unexpected ends it with a message, and the build with it.
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
        JUMP_MAX = UINT8_MAX, /* instructions that a conditional jump can pass over */
};

/* What happens to one number: a verdict, behind conditions where `call` is set. */
struct verdict {
        const char *call;
        uint32_t action;
};

struct range {
        uint32_t start; /* up to the next one's */
        struct verdict verdict;
        size_t block; /* where there are conditions */
};

struct program {
        struct sock_filter code[BPF_MAXINSNS]; /* the last instruction first */
        size_t count;
        struct range ranges[RANGES_MAX];
        size_t range_count;
        unsigned rights;
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

/* --- instructions: each goes in front of those that are there, and is known by how many those are --- */

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

/* What the next instruction would have to pass over to get there. */
static size_t distance(const struct program *p, size_t to)
{
        return p->count - to - 1;
}

/* The verdict, by an instruction that is there already if one is near enough to stay so for a while. */
static size_t emit_verdict(struct program *p, uint32_t action)
{
        for (size_t l = p->count; l-- > 0 && distance(p, l) < JUMP_MAX / 2;)
                if (p->code[l].code == (BPF_RET | BPF_K) && p->code[l].k == action)
                        return l;
        return emit(p, BPF_RET | BPF_K, action);
}

/* The same place, or a step towards it that a conditional jump can reach. */
static size_t emit_step(struct program *p, size_t to)
{
        /* One less than it can pass over: the other branch may need a step too. */
        return distance(p, to) < JUMP_MAX ? to : emit(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, to));
}

static size_t emit_jump(struct program *p, uint16_t comparison, uint32_t k, size_t yes, size_t no)
{
        yes = emit_step(p, yes);
        no = emit_step(p, no);
        size_t jt = distance(p, yes), jf = distance(p, no);
        if (jt > JUMP_MAX || jf > JUMP_MAX)
                fail("a jump over %zu or %zu instructions", jt, jf);
        size_t l = emit(p, BPF_JMP | comparison | BPF_K, k);
        p->code[l].jt = (uint8_t)jt;
        p->code[l].jf = (uint8_t)jf;
        return l;
}

/* --- the table, for one architecture and one set of rights --- */

static int call_number(enum filter_arch arch, const char *call)
{
        for (size_t i = 0; i < filter_number_count; i++)
                if (!strcmp(filter_numbers[i].call, call))
                        return filter_numbers[i].numbers[arch];
        /* Negative where the architecture lacks the call; a name that none has is found by the tests. */
        return seccomp_syscall_resolve_name_arch(filter_abis[arch].audit, call);
}

static bool counts(const struct filter_condition *c, const char *call, unsigned rights)
{
        return !strcmp(c->call, call) && (rights & c->with) == c->with && !(rights & c->without);
}

static bool has_conditions(const char *call, unsigned rights)
{
        for (size_t i = 0; i < filter_condition_count; i++)
                if (counts(&filter_conditions[i], call, rights))
                        return true;
        return false;
}

static void place_call(struct verdict *verdicts, bool *taken, int number, struct verdict v, const char *call)
{
        if (number < 0)
                return;
        if (number >= FILTER_NUMBERS_MAX)
                fail("%s is number %d", call, number);
        if (taken[number])
                fail("%s is number %d, and so is another call", call, number);
        taken[number] = true;
        verdicts[number] = v;
}

static void place_all(enum filter_arch arch, unsigned rights, struct verdict verdicts[FILTER_NUMBERS_MAX])
{
        bool taken[FILTER_NUMBERS_MAX] = { false };
        for (size_t i = 0; i < FILTER_NUMBERS_MAX; i++)
                verdicts[i] = (struct verdict){ .action = filter_unknown };
        for (const struct filter_group *g = filter_groups; g < filter_groups + filter_group_count; g++)
                for (const char *const *call = g->calls; *call; call++) {
                        struct verdict v = { .action = (rights & g->right) == g->right ? g->with : g->without };
                        if (has_conditions(*call, rights))
                                v.call = *call;
                        place_call(verdicts, taken, call_number(arch, *call), v, *call);
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

static void find_ranges(struct program *p, enum filter_arch arch)
{
        struct verdict verdicts[FILTER_NUMBERS_MAX];
        place_all(arch, p->rights, verdicts);
        for (uint32_t i = 0; i < FILTER_NUMBERS_MAX; i++)
                add_range(p, i, verdicts[i]);
        add_range(p, FILTER_NUMBERS_MAX, (struct verdict){ .action = filter_unknown });
        if (!filter_abis[arch].foreign)
                return;
        add_range(p, filter_abis[arch].foreign, (struct verdict){ .action = SECCOMP_RET_KILL_PROCESS });
        /* -1 is no call at all: how a tracer has one skipped. */
        add_range(p, UINT32_MAX, (struct verdict){ .action = filter_unknown });
}

/* --- the layout --- */

/* A condition: where it starts, and where it compares once its first argument is loaded. */
struct entry {
        size_t start, loaded;
        const struct filter_test *first;
};

/* The lower half of an argument (both architectures are little-endian), compared. */
static struct entry emit_test(struct program *p, const struct filter_test *t, size_t yes, size_t no)
{
        struct entry e = { .first = t, .loaded = emit_jump(p, BPF_JEQ, t->value, yes, no) };
        if (t->mask != UINT32_MAX)
                (void)emit(p, BPF_ALU | BPF_AND | BPF_K, t->mask);
        e.start = emit_load(p, offsetof(struct seccomp_data, args) + t->argument * sizeof(uint64_t));
        return e;
}

/* Where a test that failed goes on: behind the load, if the next condition starts by looking at the same. */
static size_t otherwise(const struct filter_test *t, const struct entry *next)
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
                e = emit_test(p, &c->tests[i], e.start, otherwise(&c->tests[i], next));
        return e;
}

static size_t emit_block(struct program *p, const struct verdict *v)
{
        struct entry next = { .start = emit_verdict(p, v->action) };
        for (size_t i = filter_condition_count; i-- > 0;)
                if (counts(&filter_conditions[i], v->call, p->rights))
                        next = emit_condition(p, &filter_conditions[i], &next);
        return next.start;
}

/* The accumulator holds the number, which lies in one of these ranges. */
static size_t emit_tree(struct program *p, const struct range *ranges, size_t count)
{
        if (count == 1)
                return ranges->verdict.call ? ranges->block : emit_verdict(p, ranges->verdict.action);
        size_t below = count / 2;
        size_t upper = emit_tree(p, ranges + below, count - below);
        size_t lower = emit_tree(p, ranges, below);
        return emit_jump(p, BPF_JGE, ranges[below].start, upper, lower);
}

static void compile(struct program *p, enum filter_arch arch)
{
        find_ranges(p, arch);
        for (struct range *r = p->ranges; r < p->ranges + p->range_count; r++)
                if (r->verdict.call)
                        r->block = emit_block(p, &r->verdict);
        size_t tree = emit_tree(p, p->ranges, p->range_count);
        if (distance(p, tree) != 0)
                fail("the tree does not start at its root");
        size_t native = emit_load(p, offsetof(struct seccomp_data, nr));
        size_t foreign = emit_verdict(p, SECCOMP_RET_KILL_PROCESS);
        (void)emit_jump(p, BPF_JEQ, filter_abis[arch].audit, native, foreign);
        (void)emit_load(p, offsetof(struct seccomp_data, arch));
}

/* --- the output --- */

static void print_code(const struct program *p)
{
        printf("        /* variant %u: %zu ranges */\n", p->rights, p->range_count);
        for (size_t l = p->count; l-- > 0;)
                printf("        { 0x%02x, %u, %u, 0x%x },\n", p->code[l].code, p->code[l].jt, p->code[l].jf,
                       p->code[l].k);
}

static bool is_told(uint32_t action)
{
        return (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
}

static bool is_ever_told(const struct filter_group *g, const char *call)
{
        bool told = is_told(g->with) || is_told(g->without);
        for (size_t i = 0; i < filter_condition_count; i++)
                told |= !strcmp(filter_conditions[i].call, call) && is_told(filter_conditions[i].action);
        return told;
}

static void print_told(enum filter_arch arch)
{
        printf("static const struct filter_told told[] = {\n");
        for (const struct filter_group *g = filter_groups; g < filter_groups + filter_group_count; g++)
                for (const char *const *call = g->calls; *call; call++)
                        if (call_number(arch, *call) >= 0 && is_ever_told(g, *call))
                                printf("        { %d, \"%s\", \"%s\" },\n", call_number(arch, *call), *call, g->name);
        printf("};\n\n");
}

static void print_programs(enum filter_arch arch)
{
        static struct program p;
        struct filter_span spans[FILTER_VARIANTS];
        size_t used = 0;
        printf("/* Made from filter_table.c by filter_generate.c: do not edit. */\n"
               "#include \"linux/filter_install.h\"\n\n"
               "static const struct sock_filter code[] = {\n");
        for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++) {
                p.rights = rights;
                p.count = p.range_count = 0;
                compile(&p, arch);
                print_code(&p);
                if (used + p.count > UINT16_MAX)
                        fail("more than %d instructions in all", UINT16_MAX);
                spans[rights] = (struct filter_span){ (uint16_t)used, (uint16_t)p.count };
                used += p.count;
        }
        printf("};\n\n");
        print_told(arch);
        printf("const struct filter_programs filter_programs_%s = {\n        code,\n        {\n",
               filter_abis[arch].name);
        for (unsigned rights = 0; rights < FILTER_VARIANTS; rights++)
                printf("                { %u, %u },\n", spans[rights].start, spans[rights].count);
        printf("        },\n        told,\n        sizeof told / sizeof told[0],\n};\n");
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
