/*
 * Commands that run other commands; see wrapper_commands.h.
 *
 * The table serves to find the first word that is neither an option nor an option's value. An option that is missing
 * from the table is assumed to take no value; if it does take one, that value is mistaken for the command and the real
 * command is missed. A command line inside a word is walked one level deeper, and COMMAND_DEPTH_MAX bounds the depth.
 */
#include "gate/wrapper_commands.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What a wrapper runs. */
enum wrapper_kind {
        RUNS_WORDS,     /* the words after the options, as a command */
        RUNS_JOINED,    /* the words after the options, joined to one shell command line */
        RUNS_FIRST,     /* the first word after the options, as a command line */
        RUNS_IF_SCRIPT, /* RUNS_FIRST if one of the `script` options is given; otherwise a file, which is not read */
        RUNS_VALUES,    /* only the values of `line` options, which may come anywhere */
        RUNS_EXEC,      /* find: the words after -exec, -execdir, -ok and -okdir */
        RUNS_NOTHING,   /* no other command: only its options are needed, to find its subcommand */
};

struct wrapper {
        const char *name;
        enum wrapper_kind runs;
        const char *valued;      /* option letters whose value is the rest of the word, or else the next word */
        const char *attached;    /* … whose optional value can only be the rest of the word */
        const char *line;        /* … whose value is a command line */
        const char *script;      /* … see RUNS_IF_SCRIPT */
        const char *no_run;      /* … with which no command is run, such as a query */
        const char *longs;       /* names of long options whose value is the next word, with spaces around each */
        unsigned operands;       /* words between the options and the command */
        bool assignments;        /* NAME=VALUE may come before the command */
        bool adds_arguments;     /* it reads more arguments for the command from its standard input */
};

#define SHELL(shell) \
        { .name = shell, .runs = RUNS_IF_SCRIPT, .valued = "oO", .script = "c", .no_run = "n", \
          .longs = " rcfile init-file " }

static const struct wrapper wrappers[] = {
        { .name = "builtin" },
        { .name = "busybox" },
        { .name = "chroot", .longs = " userspec groups ", .operands = 1 },
        { .name = "chronic" },
        { .name = "chrt", .valued = "TPD", .no_run = "pm", .operands = 1,
          .longs = " sched-runtime sched-period sched-deadline " },
        { .name = "command", .no_run = "vV" },
        { .name = "dbus-run-session", .longs = " config-file dbus-daemon " },
        { .name = "doas", .valued = "uCa", .no_run = "L" },
        { .name = "env", .valued = "uC", .line = "S", .longs = " unset chdir ", .assignments = true },
        { .name = "eval", .runs = RUNS_JOINED },
        { .name = "exec", .valued = "a" },
        { .name = "fakeroot", .valued = "lsib", .longs = " lib faked " },
        { .name = "find", .runs = RUNS_EXEC },
        { .name = "flock", .valued = "wE", .line = "c", .operands = 1, .longs = " timeout wait conflict-exit-code " },
        { .name = "ionice", .valued = "cn", .no_run = "pPu", .longs = " class classdata " },
        { .name = "ltrace", .valued = "aADeFlnopsuwx", .longs = " align config debug indent output " },
        { .name = "nice", .valued = "n", .longs = " adjustment " },
        { .name = "nohup" },
        { .name = "nsenter", .valued = "tSGW", .attached = "muinpCTrw", .longs = " target setuid setgid wdns " },
        { .name = "parallel", .runs = RUNS_JOINED, .valued = "aCdEIjLNnPSs",
          .longs = " arg-file jobs delay timeout " },
        { .name = "pkexec", .longs = " user " },
        { .name = "runuser", .runs = RUNS_VALUES, .valued = "ugGsw", .line = "c", .longs = " user group shell " },
        { .name = "script", .runs = RUNS_VALUES, .valued = "EImoTBO", .line = "c" },
        { .name = "setpriv", .longs = " ambient-caps bounding-set inh-caps euid egid ruid rgid reuid regid groups "
                                       "pdeathsig securebits selinux-label apparmor-profile " },
        { .name = "setsid" },
        { .name = "stdbuf", .valued = "ioe", .longs = " input output error " },
        { .name = "strace", .valued = "abeEIoOpPsSuUX",
          .longs = " attach columns env interruptible output string-limit trace user " },
        { .name = "su", .runs = RUNS_VALUES, .valued = "gGsTw", .line = "c", .longs = " group shell supp-group " },
        { .name = "sudo", .valued = "aCcDgpRrtTUu", .no_run = "lveVK", .assignments = true,
          .longs = " user group prompt chdir chroot role type host close-from command-timeout other-user " },
        { .name = "systemd-run", .valued = "HMupE",
          .longs = " unit property description slice uid gid nice working-directory setenv host machine " },
        { .name = "taskset", .no_run = "p", .operands = 1 },
        { .name = "time", .valued = "fo", .longs = " format output " },
        { .name = "timeout", .valued = "ks", .longs = " kill-after signal ", .operands = 1 },
        { .name = "toybox" },
        { .name = "trap", .runs = RUNS_FIRST, .no_run = "lp" },
        { .name = "unbuffer" },
        { .name = "unshare", .valued = "RwSG", .attached = "muinpUCT",
          .longs = " root wd setuid setgid propagation setgroups map-user map-group map-users map-groups " },
        { .name = "watch", .runs = RUNS_JOINED, .valued = "nq", .longs = " interval equexit " },
        { .name = "xargs", .valued = "adEILnPs", .attached = "eil",
          .longs = " arg-file delimiter max-args max-chars max-procs process-slot-var ", .adds_arguments = true },
        SHELL("ash"),
        SHELL("bash"),
        SHELL("dash"),
        SHELL("ksh"),
        SHELL("mksh"),
        SHELL("rbash"),
        SHELL("sh"),
        SHELL("zsh"),
        { .name = ".", .runs = RUNS_IF_SCRIPT },
        { .name = "source", .runs = RUNS_IF_SCRIPT },
        { .name = "apt", .runs = RUNS_NOTHING, .valued = "oct", .longs = " option config-file target-release " },
        { .name = "aws", .runs = RUNS_NOTHING, .longs = " profile region output endpoint-url query ca-bundle color " },
        { .name = "az", .runs = RUNS_NOTHING, .valued = "o", .longs = " output query subscription " },
        { .name = "cargo", .runs = RUNS_NOTHING, .valued = "CZ", .longs = " color config manifest-path " },
        { .name = "docker", .runs = RUNS_NOTHING, .valued = "Hcl",
          .longs = " host context config log-level tlscacert tlscert tlskey " },
        { .name = "gcloud", .runs = RUNS_NOTHING, .longs = " project account configuration format verbosity " },
        { .name = "gh", .runs = RUNS_NOTHING, .valued = "R", .longs = " repo hostname " },
        { .name = "git", .runs = RUNS_NOTHING, .valued = "Cc",
          .longs = " git-dir work-tree namespace super-prefix config-env attr-source " },
        { .name = "glab", .runs = RUNS_NOTHING, .valued = "R", .longs = " repo " },
        { .name = "go", .runs = RUNS_NOTHING, .valued = "C" },
        { .name = "helm", .runs = RUNS_NOTHING, .valued = "n", .longs = " namespace kube-context kubeconfig " },
        { .name = "kubectl", .runs = RUNS_NOTHING, .valued = "ns",
          .longs = " namespace context cluster kubeconfig server user token as as-group request-timeout " },
        { .name = "npm", .runs = RUNS_NOTHING, .valued = "Cw", .longs = " prefix registry workspace userconfig " },
        { .name = "pip", .runs = RUNS_NOTHING, .longs = " proxy timeout cache-dir log python " },
        { .name = "pnpm", .runs = RUNS_NOTHING, .valued = "CF", .longs = " dir filter " },
        { .name = "podman", .runs = RUNS_NOTHING, .valued = "c", .longs = " connection url identity log-level root " },
        { .name = "systemctl", .runs = RUNS_NOTHING, .valued = "HMnopst",
          .longs = " host machine type state property lines output signal root " },
        { .name = "yarn", .runs = RUNS_NOTHING, .longs = " cwd " },
};

struct walk {
        call_visit *visit;
        void *context;
};

static bool walk_wrapped(struct walk *k, const struct shell_word *words, size_t count, unsigned depth);

static bool follow_command(void *context, const struct shell_command *command)
{
        return walk_wrapped(context, command->words, command->count, command->depth);
}

/* The text without its first bytes. */
static struct shell_text tail(struct shell_text t, size_t skipped)
{
        return (struct shell_text){ t.bytes + skipped, t.origins ? t.origins + skipped : NULL, t.length - skipped };
}

bool wrapper_name(const struct shell_word *word, struct shell_text *ret)
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

static const struct wrapper *wrapper_of(const struct shell_word *word)
{
        struct shell_text name;
        if (wrapper_name(word, &name))
                for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
                        if (is_word(name, wrappers[i].name))
                                return &wrappers[i];
        return NULL;
}

static bool has_letter(const char *letters, char letter)
{
        return letters && letter && strchr(letters, letter);
}

/* Is `option`, without its dashes, one of the names? */
static bool is_listed(const char *names, struct shell_text option)
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
        if (k) /* wrapper_find_operand() walks nothing */
                shell_walk_commands(line, depth, follow_command, k);
}

/* The words of one command that have not been parsed yet. */
struct wrapper_args {
        struct walk *walk;
        const struct wrapper *wrapper;
        const struct shell_word *words;
        size_t count;
        unsigned depth;
        bool no_command; /* an option was given with which the remaining words are not a command */
        bool is_script;  /* one of the `script` options was given */
        bool reads_input; /* it is a shell that reads its command lines from standard input */
};

static void skip_word(struct wrapper_args *r)
{
        r->words++;
        r->count--;
}

/* -abc: each letter is an option, up to the first that takes a value. */
static void parse_short_options(struct wrapper_args *r)
{
        struct shell_text t = r->words->text;
        const struct wrapper *wrapper = r->wrapper;
        skip_word(r);
        for (size_t i = 1; i < t.length; i++) {
                bool line = has_letter(wrapper->line, t.bytes[i]), last = i + 1 == t.length;
                r->no_command |= line || has_letter(wrapper->no_run, t.bytes[i]);
                r->is_script |= has_letter(wrapper->script, t.bytes[i]);
                r->reads_input |= wrapper->script && t.bytes[i] == 's';
                if (has_letter(wrapper->attached, t.bytes[i]))
                        return;
                if (!line && !has_letter(wrapper->valued, t.bytes[i]))
                        continue;
                struct shell_text value = tail(t, i + 1);
                if (last && r->count) {
                        value = r->words->text;
                        skip_word(r);
                }
                if (line)
                        walk_line(r->walk, value, r->depth);
                return;
        }
}

static void parse_long_option(struct wrapper_args *r)
{
        static const char split[] = "--split-string=";
        struct shell_text t = r->words->text;
        skip_word(r);
        size_t n = strlen(split);
        if (r->wrapper->assignments && t.length > n && memcmp(t.bytes, split, n) == 0) { /* env's */
                walk_line(r->walk, tail(t, n), r->depth);
                r->no_command = true;
                return;
        }
        if (is_listed(r->wrapper->longs, tail(t, 2)) && r->count)
                skip_word(r);
}

static bool is_assignment(const struct wrapper *wrapper, struct shell_text t)
{
        const char *equals = t.length && t.bytes[0] != '-' ? memchr(t.bytes, '=', t.length) : NULL;
        return wrapper->assignments && equals && equals > t.bytes;
}

/* A shell's option may begin with a plus; for env, a single dash means -i. */
static bool is_option(const struct wrapper *wrapper, struct shell_text t)
{
        if (t.length > 1)
                return t.bytes[0] == '-' || (wrapper->script && t.bytes[0] == '+');
        return wrapper->assignments && is_word(t, "-");
}

static void parse_options(struct wrapper_args *r)
{
        bool ended = false;
        while (r->count) {
                struct shell_text t = r->words->text;
                if (is_assignment(r->wrapper, t)) {
                        skip_word(r);
                } else if (ended || !is_option(r->wrapper, t)) {
                        return;
                } else if (is_word(t, "--")) {
                        skip_word(r);
                        ended = true;
                } else if (t.length > 2 && t.bytes[0] == '-' && t.bytes[1] == '-') {
                        parse_long_option(r);
                } else {
                        parse_short_options(r);
                }
        }
}

/* Writes the words with a space after each; the caller has made both arrays long enough. */
static size_t join_words(const struct wrapper_args *r, char *bytes, unsigned *origins)
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

static void walk_joined_words(struct wrapper_args *r)
{
        size_t length = 0;
        for (size_t i = 0; i < r->count; i++)
                length += r->words[i].text.length + 1;
        char *bytes = malloc(length);
        unsigned *origins = calloc(length, sizeof *origins);
        if (bytes && origins)
                walk_line(r->walk, (struct shell_text){ bytes, origins, join_words(r, bytes, origins) }, r->depth);
        free(bytes);
        free(origins);
}

static void walk_option_values(struct wrapper_args *r)
{
        while (r->count) {
                parse_options(r);
                if (r->count)
                        skip_word(r);
        }
}

/* find … -exec COMMAND… ; … */
static void walk_exec_actions(struct wrapper_args *r)
{
        static const char *const actions[] = { "-exec", "-execdir", "-ok", "-okdir" };
        while (r->count) {
                bool runs = false;
                for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                        runs |= is_word(r->words->text, actions[i]);
                skip_word(r);
                if (!runs)
                        continue;
                const struct shell_word *first = r->words;
                while (r->count && !is_word(r->words->text, ";") && !is_word(r->words->text, "+"))
                        skip_word(r);
                walk_wrapped(r->walk, first, (size_t)(r->words - first), r->depth + 1);
        }
}

static void skip_operands(struct wrapper_args *r)
{
        for (unsigned i = 0; i < r->wrapper->operands && r->count; i++)
                skip_word(r);
        if (r->wrapper->line && r->wrapper->operands) /* flock FILE -c LINE */
                parse_options(r);
}

/* A shell without a file, or with one that stands for standard input. */
static bool reads_input(const struct wrapper_args *r)
{
        static const char *const files[] = { "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0" };
        if (r->wrapper->runs != RUNS_IF_SCRIPT || r->is_script || r->no_command)
                return false;
        if (r->count == 0 || r->reads_input)
                return r->wrapper->script; /* `source` needs a file */
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (is_word(r->words->text, files[i]))
                        return true;
        return false;
}

/* Walks the command lines that one wrapper runs. True if the remaining words are a command that it runs. */
static bool follow_wrapper(struct wrapper_args *r)
{
        if (r->wrapper->runs == RUNS_NOTHING)
                return false;
        if (r->wrapper->runs == RUNS_EXEC) {
                walk_exec_actions(r);
                return false;
        }
        if (r->wrapper->runs == RUNS_VALUES) {
                walk_option_values(r);
                return false;
        }
        parse_options(r);
        skip_operands(r);
        r->reads_input = reads_input(r);
        if (r->no_command || r->count == 0)
                return false;
        if (r->wrapper->runs == RUNS_JOINED)
                walk_joined_words(r);
        else if (r->wrapper->runs == RUNS_FIRST || (r->wrapper->runs == RUNS_IF_SCRIPT && r->is_script))
                walk_line(r->walk, r->words->text, r->depth);
        return r->wrapper->runs == RUNS_WORDS;
}

/* Returns whether the command is a shell that reads its command lines from standard input. */
static bool walk_wrapped(struct walk *k, const struct shell_word *words, size_t count, unsigned depth)
{
        struct shell_call call = { words, count, false };
        while (call.count && depth <= COMMAND_DEPTH_MAX) {
                k->visit(k->context, &call);
                struct wrapper_args r = { .walk = k, .wrapper = wrapper_of(call.words), .words = call.words + 1,
                                          .count = call.count - 1, .depth = depth };
                if (!r.wrapper)
                        return false;
                if (!follow_wrapper(&r))
                        return r.reads_input && !call.is_open;
                call = (struct shell_call){ r.words, r.count, call.is_open || r.wrapper->adds_arguments };
        }
        return false;
}

size_t wrapper_find_operand(const struct shell_call *call, size_t from)
{
        static const struct wrapper unknown = { .runs = RUNS_NOTHING };
        const struct wrapper *wrapper = wrapper_of(call->words);
        struct wrapper_args r = { .wrapper = wrapper ? wrapper : &unknown, .words = call->words + from,
                                  .count = call->count - from };
        parse_options(&r);
        return call->count - r.count;
}

void wrapper_walk_line(struct shell_text line, call_visit *visit, void *context)
{
        struct walk k = { visit, context };
        walk_line(&k, line, 0);
}
