/*
 * Shared by the policy tests: a made-up machine, and a policy with ceilings that is compiled for it. No system call is
 * made.
 *
 * The settings are freed as soon as the plan is made, as in the real program, so that a sanitizer finds a plan that
 * still points into them.
 */
#ifndef RINGWALL_TEST_POLICY_FIXTURE_H
#define RINGWALL_TEST_POLICY_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/keys.h"
#include "policy/diagnostics.h"
#include "policy/path_pattern.h"
#include "policy/plan.h"
#include "policy/settings.h"

#define HOME "/home/u"
#define WORK HOME "/work"

/* A machine, the policy files of a test, and the plan that they compile to. */
struct world {
        struct host_facts facts;
        struct arena *arena; /* holds the settings */
        struct diagnostics *messages;
        struct settings policy;
        struct settings ceilings[4];
        size_t ceiling_count, files;
        bool rejected; /* a reader refused a file */
        int result;    /* of policy_compile */
        struct plan *plan;
        struct text printed; /* the messages, after world_compile() */
};

/* Knows one international name, so that no test needs libidn2. */
static inline bool fake_to_ascii(const char *name, char *ret, size_t size)
{
        if (strcmp(name, "bücher.example") != 0)
                return false;
        return (size_t)snprintf(ret, size, "xn--bcher-kva.example") < size;
}

/* Toolchains may be installed in any directory without "work" in its path. */
static inline bool is_outside_work(const char *directory)
{
        return !strstr(directory, "work");
}

static inline struct world world_new(void)
{
        struct world w = {
                .facts = {
                        .cwd = WORK,
                        .home = HOME,
                        .path = "/usr/bin:/bin",
                        .user_data = HOME "/.local/share/ringwall",
                        .user_state = HOME "/.local/state/ringwall",
                        .is_prefix = is_outside_work,
                        .to_ascii = fake_to_ascii,
                },
                .arena = arena_new(ARENA_BYTES_MAX),
                .messages = diagnostics_new(),
                .result = -1,
        };
        assert_non_null(w.arena);
        assert_non_null(w.messages);
        settings_init(&w.policy, w.arena, w.messages, w.facts.to_ascii);
        return w;
}

static inline void world_done(struct world *w)
{
        plan_free(w->plan);
        arena_free(w->arena);
        diagnostics_free(w->messages);
        text_done(&w->printed);
}
#define WORLD CLEANUP(world_done) struct world

/* Files are called p1.yaml, p2.yaml… in the order in which they are added, including ceilings. */
static inline const char *world_next_name(struct world *w)
{
        const char *name = arena_format(w->arena, "p%zu.yaml", ++w->files);
        assert_non_null(name);
        return name;
}

static inline void world_read(struct world *w, const char *yaml)
{
        w->rejected |= settings_parse_policy(&w->policy, world_next_name(w), yaml, strlen(yaml), WORK) != 0;
}

static inline void world_read_srt(struct world *w, const char *json)
{
        w->rejected |= settings_parse_srt(&w->policy, world_next_name(w), json, strlen(json), WORK) != 0;
}

static inline void world_flag(struct world *w, enum key_id key, const char *text)
{
        w->policy.layer++;
        w->rejected |= settings_add_flag(&w->policy, key, text, "--flag", WORK) != 0;
}

static inline void world_grant(struct world *w, enum access access, const char *path)
{
        w->rejected |= settings_add_grant(&w->policy, access, path, "--flag", WORK) != 0;
}

static inline void world_ceiling(struct world *w, const char *yaml)
{
        assert_true(w->ceiling_count < ARRAY_SIZE(w->ceilings));
        struct settings *c = &w->ceilings[w->ceiling_count++];
        settings_init(c, w->arena, w->messages, w->facts.to_ascii);
        w->rejected |= settings_parse_policy(c, world_next_name(w), yaml, strlen(yaml), "/etc/ringwall") != 0;
        w->rejected |= ceiling_check(c) != 0;
}

/* Compiles the policy. True if there is a plan and no error. */
static inline bool world_compile(struct world *w)
{
        const struct settings *ceilings[ARRAY_SIZE(w->ceilings)];
        for (size_t i = 0; i < w->ceiling_count; i++)
                ceilings[i] = &w->ceilings[i];
        w->result = policy_compile(&w->policy, ceilings, w->ceiling_count, &w->facts, w->messages, &w->plan);
        arena_free(w->arena);
        w->arena = NULL;
        diagnostics_print(w->messages, &w->printed, false);
        text_add(&w->printed, "");
        assert_false(w->printed.failed);
        /* A refusal always has an error message, and no error always means a plan. */
        assert_int_equal(w->result == 1 || w->rejected, diagnostics_count(w->messages, DIAGNOSTIC_ERROR) > 0);
        assert_int_equal(w->result == 0, w->plan != NULL);
        return w->result == 0 && !w->rejected;
}

/* Compiles a policy that must be valid. */
static inline struct world compile_valid(const char *yaml)
{
        struct world w = world_new();
        world_read(&w, yaml);
        if (!world_compile(&w))
                fail_msg("refused:\n%s\n%s", yaml, w.printed.data);
        return w;
}

static inline bool world_has_message(const struct world *w, const char *text)
{
        return strstr(w->printed.data, text) != NULL;
}

static inline void assert_world_message(const struct world *w, const char *text)
{
        if (!world_has_message(w, text))
                fail_msg("expected '%s' in:\n%s", text, w->printed.data);
}

/* Asserts that a policy is refused with a message that contains the text. */
static inline void assert_refused(const char *yaml, const char *text)
{
        WORLD w = world_new();
        world_read(&w, yaml);
        if (world_compile(&w))
                fail_msg("accepted, but the error '%s' was expected: %s", text, yaml);
        assert_world_message(&w, text);
}

static inline bool allows_read(const struct world *w, const char *path)
{
        return rules_decide(&w->plan->rules, path, false, NULL);
}

static inline bool allows_write(const struct world *w, const char *path)
{
        return rules_decide(&w->plan->rules, path, true, NULL);
}

static inline bool allows_host(const struct world *w, const char *host)
{
        return hosts_decide(&w->plan->hosts, host, 443, NULL);
}

static inline uint64_t number(const struct world *w, enum plan_scalar id)
{
        return w->plan->scalar[id].value;
}

/* Returns the plan as JSON, which the caller frees. */
static inline char *plan_text(const struct plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan);
        struct text out = { 0 };
        assert_non_null(json);
        assert_int_equal(json_write(json, &out, true), 0);
        char *text = text_take(&out);
        assert_non_null(text);
        return text;
}

/* A pseudo-random generator with a fixed seed, so that every run is the same. */
static inline unsigned long long random_next(unsigned long long *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static inline size_t random_below(unsigned long long *state, size_t limit)
{
        return (size_t)(random_next(state) % limit);
}

#endif
