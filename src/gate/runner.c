/*
 * Commands that run other commands; see runner.h.
 *
 * The table is about finding the first word that is neither an option nor its value. An option that is not in it takes
 * no value; where that is wrong, the value is taken for the command, which then is not the one that runs. All of it is
 * bounded like the lines themselves: a line in a word is walked one level deeper.
 */
#include "gate/runner.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum runs {
        RUNS_WORDS,     /* the words behind the options */
        RUNS_JOINED,    /* the same, put together to a line of the shell's */
        RUNS_FIRST,     /* a line in the first word behind the options */
        RUNS_IF_SCRIPT, /* the same if one of the `script` letters is among the options, else a file */
        RUNS_SCATTERED, /* only the values of `line` letters, anywhere */
        RUNS_EXEC,      /* find: what stands behind -exec and its like */
};

struct runner {
        const char *name;
        enum runs runs;
        const char *valued;   /* letters of options whose value is the next word unless it is glued to them */
        const char *glued;    /* … whose value, if there is one, is glued to them */
        const char *line;     /* … whose value is a line */
        const char *script;   /* … see RUNS_IF_SCRIPT */
        const char *asks;     /* … that run nothing */
        const char *longer;   /* names of long options whose value is the next word, each in spaces */
        unsigned operands;    /* words between the options and the command */
        bool assignments;     /* NAME=VALUE may stand in front of the command */
};

#define SHELL(shell) \
        { .name = shell, .runs = RUNS_IF_SCRIPT, .valued = "oO", .script = "c", .longer = " rcfile init-file " }

static const struct runner runners[] = {
        { .name = "builtin" },
        { .name = "busybox" },
        { .name = "chroot", .longer = " userspec groups ", .operands = 1 },
        { .name = "chronic" },
        { .name = "chrt", .valued = "TPD", .asks = "pm", .operands = 1,
          .longer = " sched-runtime sched-period sched-deadline " },
        { .name = "command", .asks = "vV" },
        { .name = "dbus-run-session", .longer = " config-file dbus-daemon " },
        { .name = "doas", .valued = "uCa", .asks = "L" },
        { .name = "env", .valued = "uC", .line = "S", .longer = " unset chdir ", .assignments = true },
        { .name = "eval", .runs = RUNS_JOINED },
        { .name = "exec", .valued = "a" },
        { .name = "fakeroot", .valued = "lsib", .longer = " lib faked " },
        { .name = "find", .runs = RUNS_EXEC },
        { .name = "flock", .valued = "wE", .line = "c", .operands = 1, .longer = " timeout wait conflict-exit-code " },
        { .name = "ionice", .valued = "cn", .asks = "pPu", .longer = " class classdata " },
        { .name = "ltrace", .valued = "aADeFlnopsuwx", .longer = " align config debug indent output " },
        { .name = "nice", .valued = "n", .longer = " adjustment " },
        { .name = "nohup" },
        { .name = "nsenter", .valued = "tSGW", .glued = "muinpCTrw", .longer = " target setuid setgid wdns " },
        { .name = "parallel", .runs = RUNS_JOINED, .valued = "aCdEIjLNnPSs",
          .longer = " arg-file jobs delay timeout " },
        { .name = "pkexec", .longer = " user " },
        { .name = "runuser", .runs = RUNS_SCATTERED, .valued = "ugGsw", .line = "c", .longer = " user group shell " },
        { .name = "script", .runs = RUNS_SCATTERED, .valued = "EImoTBO", .line = "c" },
        { .name = "setpriv", .longer = " ambient-caps bounding-set inh-caps euid egid ruid rgid reuid regid groups "
                                       "pdeathsig securebits selinux-label apparmor-profile " },
        { .name = "setsid" },
        { .name = "stdbuf", .valued = "ioe", .longer = " input output error " },
        { .name = "strace", .valued = "abeEIoOpPsSuUX",
          .longer = " attach columns env interruptible output string-limit trace user " },
        { .name = "su", .runs = RUNS_SCATTERED, .valued = "gGsTw", .line = "c", .longer = " group shell supp-group " },
        { .name = "sudo", .valued = "aCcDgpRrtTUu", .asks = "lveVK", .assignments = true,
          .longer = " user group prompt chdir chroot role type host close-from command-timeout other-user " },
        { .name = "systemd-run", .valued = "HMupE",
          .longer = " unit property description slice uid gid nice working-directory setenv host machine " },
        { .name = "taskset", .asks = "p", .operands = 1 },
        { .name = "time", .valued = "fo", .longer = " format output " },
        { .name = "timeout", .valued = "ks", .longer = " kill-after signal ", .operands = 1 },
        { .name = "toybox" },
        { .name = "trap", .runs = RUNS_FIRST, .asks = "lp" },
        { .name = "unbuffer" },
        { .name = "unshare", .valued = "RwSG", .glued = "muinpUCT",
          .longer = " root wd setuid setgid propagation setgroups map-user map-group map-users map-groups " },
        { .name = "watch", .runs = RUNS_JOINED, .valued = "nq", .longer = " interval equexit " },
        { .name = "xargs", .valued = "adEILnPs", .glued = "eil",
          .longer = " arg-file delimiter max-args max-chars max-procs process-slot-var " },
        SHELL("ash"),
        SHELL("bash"),
        SHELL("dash"),
        SHELL("ksh"),
        SHELL("mksh"),
        SHELL("rbash"),
        SHELL("sh"),
        SHELL("zsh"),
};

struct walk {
        called *tell;
        void *context;
};

static void follow(struct walk *k, const struct shell_word *words, size_t count, unsigned depth);

static void follow_command(void *context, const struct shell_command *command)
{
        follow(context, command->words, command->count, command->depth);
}

/* The text without its first bytes. */
static struct shell_text tail(struct shell_text t, size_t skipped)
{
        return (struct shell_text){ t.bytes + skipped, t.origins ? t.origins + skipped : NULL, t.length - skipped };
}

bool runner_name(const struct shell_word *word, struct shell_text *ret)
{
        struct shell_text t = word->text;
        const char *slash = t.length ? memrchr(t.bytes, '/', t.length) : NULL;
        *ret = tail(t, slash ? (size_t)(slash - t.bytes) + 1 : 0);
        return ret->length && !memchr(ret->bytes, SHELL_UNKNOWN, ret->length);
}

static bool is_word(struct shell_text t, const char *word)
{
        return t.length == strlen(word) && memcmp(t.bytes, word, t.length) == 0;
}

static const struct runner *runner_of(const struct shell_word *word)
{
        struct shell_text name;
        if (runner_name(word, &name))
                for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
                        if (is_word(name, runners[i].name))
                                return &runners[i];
        return NULL;
}

static bool has(const char *letters, char letter)
{
        return letters && letter && strchr(letters, letter);
}

/* Is the long option, whose dashes are gone, one whose value is the next word? */
static bool is_among(const char *names, struct shell_text option)
{
        char name[40];
        if (!names || option.length + 3 > sizeof name || memchr(option.bytes, SHELL_UNKNOWN, option.length))
                return false;
        name[0] = ' ';
        memcpy(name + 1, option.bytes, option.length);
        name[option.length + 1] = ' ';
        name[option.length + 2] = '\0';
        return strstr(names, name);
}

static void walk_line(struct walk *k, struct shell_text line, unsigned depth)
{
        command_line_walk(line, depth, follow_command, k);
}

/* The words of one command that are still to be read. */
struct rest {
        struct walk *walk;
        const struct runner *runner;
        const struct shell_word *words;
        size_t count;
        unsigned depth;
        bool over;      /* nothing more is run by it */
        bool is_script; /* one of the `script` letters was there */
};

static void pass(struct rest *r)
{
        r->words++;
        r->count--;
}

/* -abc: each letter an option, up to one that takes a value. */
static void pass_letters(struct rest *r)
{
        struct shell_text t = r->words->text;
        const struct runner *runner = r->runner;
        pass(r);
        for (size_t i = 1; i < t.length; i++) {
                bool line = has(runner->line, t.bytes[i]), last = i + 1 == t.length;
                r->over |= line || has(runner->asks, t.bytes[i]);
                r->is_script |= has(runner->script, t.bytes[i]);
                if (has(runner->glued, t.bytes[i]))
                        return;
                if (!line && !has(runner->valued, t.bytes[i]))
                        continue;
                struct shell_text value = tail(t, i + 1);
                if (last && r->count) {
                        value = r->words->text;
                        pass(r);
                }
                if (line)
                        walk_line(r->walk, value, r->depth);
                return;
        }
}

static void pass_long_option(struct rest *r)
{
        static const char split[] = "--split-string=";
        struct shell_text t = r->words->text;
        pass(r);
        size_t n = strlen(split);
        if (r->runner->assignments && t.length > n && memcmp(t.bytes, split, n) == 0) { /* env's */
                walk_line(r->walk, tail(t, n), r->depth);
                r->over = true;
                return;
        }
        if (is_among(r->runner->longer, tail(t, 2)) && r->count)
                pass(r);
}

static bool is_assignment(const struct runner *runner, struct shell_text t)
{
        const char *equals = t.length && t.bytes[0] != '-' ? memchr(t.bytes, '=', t.length) : NULL;
        return runner->assignments && equals && equals > t.bytes;
}

/* A shell's may begin with a plus; a dash alone is env's -i. */
static bool is_option(const struct runner *runner, struct shell_text t)
{
        if (t.length > 1)
                return t.bytes[0] == '-' || (runner->script && t.bytes[0] == '+');
        return runner->assignments && is_word(t, "-");
}

static void pass_options(struct rest *r)
{
        bool ended = false;
        while (r->count) {
                struct shell_text t = r->words->text;
                if (is_assignment(r->runner, t)) {
                        pass(r);
                } else if (ended || !is_option(r->runner, t)) {
                        return;
                } else if (is_word(t, "--")) {
                        pass(r);
                        ended = true;
                } else if (t.length > 2 && t.bytes[0] == '-' && t.bytes[1] == '-') {
                        pass_long_option(r);
                } else {
                        pass_letters(r);
                }
        }
}

/* Writes the words with a space behind each of them; both arrays have the room. */
static size_t join(const struct rest *r, char *bytes, unsigned *origins)
{
        size_t used = 0;
        for (size_t i = 0; i < r->count; i++) {
                struct shell_text t = r->words[i].text;
                for (size_t j = 0; j < t.length; j++) {
                        bytes[used] = t.bytes[j];
                        origins[used++] = t.origins ? t.origins[j] : r->words[i].at;
                }
                bytes[used] = ' ';
                origins[used++] = r->words[i].at;
        }
        return used;
}

static void walk_joined(struct rest *r)
{
        size_t length = 0;
        for (size_t i = 0; i < r->count; i++)
                length += r->words[i].text.length + 1;
        char *bytes = malloc(length);
        unsigned *origins = calloc(length, sizeof *origins);
        if (bytes && origins)
                walk_line(r->walk, (struct shell_text){ bytes, origins, join(r, bytes, origins) }, r->depth);
        free(bytes);
        free(origins);
}

static void walk_scattered(struct rest *r)
{
        while (r->count) {
                pass_options(r);
                if (r->count)
                        pass(r);
        }
}

/* find … -exec COMMAND… ; … */
static void walk_exec(struct rest *r)
{
        static const char *const actions[] = { "-exec", "-execdir", "-ok", "-okdir" };
        while (r->count) {
                bool runs = false;
                for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                        runs |= is_word(r->words->text, actions[i]);
                pass(r);
                if (!runs)
                        continue;
                const struct shell_word *first = r->words;
                while (r->count && !is_word(r->words->text, ";") && !is_word(r->words->text, "+"))
                        pass(r);
                follow(r->walk, first, (size_t)(r->words - first), r->depth + 1);
        }
}

static void pass_operands(struct rest *r)
{
        for (unsigned i = 0; i < r->runner->operands && r->count; i++)
                pass(r);
        if (r->runner->line && r->runner->operands) /* flock FILE -c LINE */
                pass_options(r);
}

/* Follows what one runner runs. True when its words go on with a command. */
static bool step(struct rest *r)
{
        if (r->runner->runs == RUNS_EXEC) {
                walk_exec(r);
                return false;
        }
        if (r->runner->runs == RUNS_SCATTERED) {
                walk_scattered(r);
                return false;
        }
        pass_options(r);
        pass_operands(r);
        if (r->over || r->count == 0)
                return false;
        if (r->runner->runs == RUNS_JOINED)
                walk_joined(r);
        else if (r->runner->runs == RUNS_FIRST || (r->runner->runs == RUNS_IF_SCRIPT && r->is_script))
                walk_line(r->walk, r->words->text, r->depth);
        return r->runner->runs == RUNS_WORDS;
}

static void follow(struct walk *k, const struct shell_word *words, size_t count, unsigned depth)
{
        if (depth > COMMAND_DEPTH_MAX)
                return;
        while (count) {
                k->tell(k->context, words);
                struct rest r = { k, runner_of(words), words + 1, count - 1, depth, false, false };
                if (!r.runner || !step(&r))
                        return;
                words = r.words;
                count = r.count;
        }
}

void runner_walk_line(struct shell_text line, called *tell, void *context)
{
        struct walk k = { tell, context };
        walk_line(&k, line, 0);
}
