/*
 * docgen: a build program, which is not installed. From the tables of verbs and options it generates completions for
 * three shells, and parts of the manual pages (scdoc text, inserted by tools/fill-man). It checks the tables first, so
 * that an inconsistent row breaks the build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/docgen_policy.h"
#include "cli/verbs.h"

/* --- checks --- */

static bool report_mistake(const struct options_verb *verb, const struct option_row *row, const char *what)
{
        fprintf(stderr, "docgen: %s%s%s %s\n", verb->path, row ? ": --" : "", row ? row->name : "", what);
        return false;
}

static bool check_row(const struct options_verb *verb, const struct option_row *row)
{
        struct options_word words[OPTIONS_WORDS_MAX];
        if (!row->help || !*row->help)
                return report_mistake(verb, row, "has no help");
        if (!row->placeholder != (row->kind == OPTION_NONE))
                return report_mistake(verb, row, "must have a placeholder exactly when it takes a value");
        if (row->kind == OPTION_WORDS && options_split_words(row->placeholder, words) < 2)
                return report_mistake(verb, row, "must name at least two words");
        return true;
}

static bool check_pair(const struct options_verb *verb, const struct option_row *a, const struct option_row *b)
{
        if (strcmp(a->name, b->name) == 0)
                return report_mistake(verb, a, "is in the table twice");
        if (a->id == b->id)
                return report_mistake(verb, a, "shares its id with another option");
        if (a->letter && a->letter == b->letter)
                return report_mistake(verb, a, "shares its letter with another option");
        return true;
}

static bool check_verb(const struct options_verb *verb)
{
        const struct option_row *a, *b;
        size_t count = 0;
        bool ok = true;
        for (; (a = options_row_at(verb, count)); count++) {
                ok = check_row(verb, a) && ok;
                for (size_t j = 0; j < count && (b = options_row_at(verb, j)); j++)
                        ok = check_pair(verb, a, b) && ok;
        }
        if (count > OPTIONS_ROWS_MAX)
                return report_mistake(verb, NULL, "has too many options");
        if ((verb->positional != OPTION_NONE) != (verb->synopsis != NULL))
                return report_mistake(verb, NULL, "must have a synopsis exactly when it takes arguments");
        return ok;
}

/* --- pieces of text --- */

/* The text as a string. Exits if memory ran out, because an incomplete script would be worse than none. */
static const char *string_of(const struct text *t)
{
        if (t->failed || !t->data) {
                fprintf(stderr, "docgen: out of memory\n");
                exit(1);
        }
        return t->data;
}

/* Adds text with a backslash before each of the special characters. */
static void add_escaped(struct text *t, const char *text, const char *special)
{
        for (; *text; text++) {
                if (strchr(special, *text))
                        text_add(t, "\\");
                text_add_bytes(t, text, 1);
        }
}

/* Adds text for the inside of '…' in a POSIX shell. */
static void add_quoted(struct text *t, const char *text)
{
        for (; *text; text++)
                if (*text == '\'')
                        text_add(t, "'\\''");
                else
                        text_add_bytes(t, text, 1);
}

static void add_words(struct text *t, const char *placeholder)
{
        struct options_word words[OPTIONS_WORDS_MAX];
        size_t count = options_split_words(placeholder, words);
        for (size_t i = 0; i < count; i++) {
                text_add(t, i ? " " : "");
                text_add_bytes(t, words[i].start, words[i].length);
        }
}

/* Adds the first sentence, without its full stop, as the description of a completion. */
static void add_first_sentence(struct text *t, const char *help)
{
        const char *end = strstr(help, ". ");
        size_t length = end ? (size_t)(end - help) : strlen(help);
        if (length && help[length - 1] == '.')
                length--;
        text_add_bytes(t, help, length);
}

/* The second word of a verb with two words, else NULL. */
static const char *second_word(const struct options_verb *verb)
{
        const char *space = strchr(verb->path, ' ');
        return space ? space + 1 : NULL;
}

/* Does this verb have two words, and is `first` (a group or another verb) the first of them? */
static bool belongs_to(const struct options_verb *verb, const char *first)
{
        size_t length = strlen(first);
        return second_word(verb) && strncmp(verb->path, first, length) == 0 && verb->path[length] == ' ';
}

/* Is the verb also the first word of another verb, as mcp is of mcp install? */
static bool is_prefix_of_verb(const struct options_verb *verb)
{
        for (size_t i = 0; i < verbs_count; i++)
                if (belongs_to(verbs[i].usage, verb->path))
                        return true;
        return false;
}

/* Adds all words that can come first: the groups, then the verbs of one word. */
static void add_first_words(struct text *t)
{
        for (size_t i = 0; i < verb_groups_count; i++)
                text_format(t, "%s%s", i ? " " : "", verb_groups[i].name);
        for (size_t i = 0; i < verbs_count; i++)
                if (!second_word(verbs[i].usage))
                        text_format(t, " %s", verbs[i].usage->path);
}

static void add_second_words(struct text *t, const char *first)
{
        const char *space = "";
        for (size_t i = 0; i < verbs_count; i++)
                if (belongs_to(verbs[i].usage, first)) {
                        text_format(t, "%s%s", space, second_word(verbs[i].usage));
                        space = " ";
                }
}

/* --- bash --- */

/*
 * The script needs only bash. bash splits words at "=", so --name=value arrives as three words; `option` is the option
 * whose value is being typed, in either spelling.
 */
static const char bash_head[] =
        "# bash completion for ringwall. Generated from the tables of its options.\n"
        "\n"
        "# Completes $cur by compgen with these arguments.\n"
        "_ringwall_offer() {\n"
        "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
        "}\n"
        "\n"
        "_ringwall_offer_paths() {\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    _ringwall_offer \"$@\"\n"
        "}\n"
        "\n"
        "# Completes a word of a verb that starts after word number $1. Fails if an argument may follow too.\n"
        "_ringwall_words() {\n"
        "    case \"$(( COMP_CWORD - $1 )) ${COMP_WORDS[$1+1]}\" in\n";

static const char bash_main[] =
        "    *) return 1 ;;\n"
        "    esac\n"
        "}\n"
        "\n"
        "_ringwall() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    if [[ $cur == '=' ]]; then\n"
        "        cur=\n"
        "    elif [[ $option == '=' ]]; then\n"
        "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    fi\n"
        "    COMPREPLY=()\n"
        "    case \"$COMP_CWORD $cur\" in\n"
        "    '1 -'*) _ringwall_offer -W '--help --version'; return ;;\n"
        "    esac\n"
        "    _ringwall_words 0 && return\n"
        "    local IFS=' '\n"
        "    case \"${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n";

/* The command that completes a value of this kind. */
static void add_bash_kind(struct text *t, enum option_kind kind, const char *placeholder)
{
        switch (kind) {
        case OPTION_FILE:
                text_add(t, "_ringwall_offer_paths -f");
                return;
        case OPTION_DIR:
                text_add(t, "_ringwall_offer_paths -d");
                return;
        case OPTION_WORDS:
                text_add(t, "_ringwall_offer -W '");
                add_words(t, placeholder);
                text_add(t, "'");
                return;
        case OPTION_VERB:
                text_add(t, "_ringwall_words 1");
                return;
        case OPTION_NONE:
        case OPTION_FREE:
                text_add(t, ":");
                return;
        }
}

static void add_bash_verb(struct text *t, const struct options_verb *verb)
{
        const struct option_row *row;
        text_format(t, "    '%s '*)\n        case $option in\n", verb->path);
        for (size_t i = 0; (row = options_row_at(verb, i)); i++) {
                if (!row->placeholder)
                        continue;
                text_add(t, "        ");
                if (row->letter)
                        text_format(t, "-%c|", row->letter);
                text_format(t, "--%s) ", row->name);
                add_bash_kind(t, row->kind, row->placeholder);
                text_add(t, "; return ;;\n");
        }
        text_add(t, "        esac\n        case $cur in\n        -*) _ringwall_offer -W '");
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                text_format(t, "%s--%s", i ? " " : "", row->name);
        text_add(t, "' ;;\n        *) ");
        add_bash_kind(t, verb->positional, verb->synopsis);
        text_add(t, " ;;\n        esac ;;\n");
}

static void add_bash(struct text *t)
{
        text_add(t, bash_head);
        text_add(t, "    '1 '*) _ringwall_offer -W '");
        add_first_words(t);
        text_add(t, "' ;;\n");
        for (size_t i = 0; i < verb_groups_count; i++) {
                text_format(t, "    '2 %s') _ringwall_offer -W '", verb_groups[i].name);
                add_second_words(t, verb_groups[i].name);
                text_add(t, "' ;;\n");
        }
        for (size_t i = 0; i < verbs_count; i++) {
                if (!is_prefix_of_verb(verbs[i].usage))
                        continue;
                text_format(t, "    '2 %s') _ringwall_offer -W '", verbs[i].usage->path);
                add_second_words(t, verbs[i].usage->path);
                text_add(t, "'; return 1 ;;\n");
        }
        text_add(t, bash_main);
        for (size_t i = 0; i < verbs_count; i++)
                add_bash_verb(t, verbs[i].usage);
        text_add(t, "    esac\n}\n\ncomplete -F _ringwall ringwall\n");
}

/* --- zsh --- */

/* The action part of an _arguments specification, with the colons before it. */
static void add_zsh_kind(struct text *t, enum option_kind kind, const char *placeholder)
{
        text_add(t, ":");
        add_escaped(t, placeholder, ":\\");
        switch (kind) {
        case OPTION_FILE:
                text_add(t, ":_files");
                return;
        case OPTION_DIR:
                text_add(t, ":_files -/");
                return;
        case OPTION_WORDS:
                text_add(t, ":(");
                add_words(t, placeholder);
                text_add(t, ")");
                return;
        case OPTION_VERB:
                text_add(t, ":_ringwall_words");
                return;
        case OPTION_NONE:
        case OPTION_FREE:
                text_add(t, ": ");
                return;
        }
}

/* Adds one spelling of an option: 'EXCLUDES-p+[help]:FILE:_files' \ */
static void add_zsh_spelling(struct text *t, const struct option_row *row, const char *spelling, const char *join)
{
        CLEANUP_TEXT struct text spec = { 0 }, help = { 0 };
        add_first_sentence(&help, row->help);
        if (row->repeatable)
                text_add(&spec, "*");
        else if (row->letter)
                text_format(&spec, "(-%c --%s)", row->letter, row->name);
        text_format(&spec, "%s%s[", spelling, row->placeholder ? join : "");
        add_escaped(&spec, string_of(&help), "[]\\:");
        text_add(&spec, "]");
        if (row->placeholder)
                add_zsh_kind(&spec, row->kind, row->placeholder);
        text_add(t, " \\\n            '");
        add_quoted(t, string_of(&spec));
        text_add(t, "'");
}

static void add_zsh_verb(struct text *t, const struct options_verb *verb)
{
        const struct option_row *row;
        int words = second_word(verb) ? 2 : 1;
        text_format(t, "    '%s '*)\n        shift %d words\n        (( CURRENT -= %d ))\n", verb->path, words, words);
        text_add(t, "        _arguments -s -S");
        for (size_t i = 0; (row = options_row_at(verb, i)); i++) {
                char spelling[64] = { '-', row->letter };
                if (row->letter)
                        add_zsh_spelling(t, row, spelling, "+");
                (void)snprintf(spelling, sizeof spelling, "--%s", row->name);
                add_zsh_spelling(t, row, spelling, "=");
        }
        if (verb->synopsis) {
                text_add(t, " \\\n            '*");
                add_zsh_kind(t, verb->positional, verb->positional == OPTION_WORDS ? verb->synopsis : "argument");
                text_add(t, "'");
        }
        text_add(t, " ;;\n");
}

/* An entry of _describe: 'word:summary' */
static void add_zsh_entry(struct text *t, const char *word, const char *summary)
{
        text_add(t, "            '");
        add_quoted(t, word);
        text_add(t, ":");
        add_quoted(t, summary);
        text_add(t, "'\n");
}

/* `more` is "1" if `first` is a verb itself, so that an argument may follow too. */
static void add_zsh_second_words(struct text *t, const char *first, const char *more)
{
        text_format(t, "    '2 %s')\n        more=%s verbs=(\n", first, more);
        for (size_t i = 0; i < verbs_count; i++)
                if (belongs_to(verbs[i].usage, first))
                        add_zsh_entry(t, second_word(verbs[i].usage), verbs[i].usage->summary);
        text_add(t, "        ) ;;\n");
}

static void add_zsh(struct text *t)
{
        text_add(t, "#compdef ringwall\n"
                    "# zsh completion for ringwall. Generated from the tables of its options.\n"
                    "\n"
                    "# Completes a word of a verb, after those in $words. Fails if an argument may follow too.\n"
                    "_ringwall_words() {\n"
                    "    local -a verbs\n"
                    "    local more=0\n"
                    "    case \"$(( CURRENT - 1 )) $words[2]\" in\n"
                    "    '1 '*)\n"
                    "        verbs=(\n");
        for (size_t i = 0; i < verb_groups_count; i++)
                add_zsh_entry(t, verb_groups[i].name, verb_groups[i].summary);
        for (size_t i = 0; i < verbs_count; i++)
                if (!second_word(verbs[i].usage))
                        add_zsh_entry(t, verbs[i].usage->path, verbs[i].usage->summary);
        text_add(t, "        ) ;;\n");
        for (size_t i = 0; i < verb_groups_count; i++)
                add_zsh_second_words(t, verb_groups[i].name, "0");
        for (size_t i = 0; i < verbs_count; i++)
                if (is_prefix_of_verb(verbs[i].usage))
                        add_zsh_second_words(t, verbs[i].usage->path, "1");
        text_add(t, "    *) return 1 ;;\n"
                    "    esac\n"
                    "    _describe -t verbs verb verbs && (( ! more ))\n"
                    "}\n"
                    "\n"
                    "_ringwall() {\n"
                    "    if [[ $CURRENT == 2 && $PREFIX == -* ]]; then\n"
                    "        _arguments '--help[Show the verbs]' '--version[Print the version]'\n"
                    "        return\n"
                    "    fi\n"
                    "    _ringwall_words && return\n"
                    "    case \"${(j: :)words[2,CURRENT-1]} \" in\n");
        for (size_t i = 0; i < verbs_count; i++)
                add_zsh_verb(t, verbs[i].usage);
        text_add(t, "    esac\n}\n\n_ringwall \"$@\"\n");
}

/* --- fish --- */

/* __ringwall_at: the command line begins with these words. __ringwall_next: it consists of these words so far. */
static const char fish_head[] =
        "# fish completion for ringwall. Generated from the tables of its options.\n"
        "\n"
        "function __ringwall_at\n"
        "    set -l words (commandline -opc)\n"
        "    set -l last (math 1 + (count $argv))\n"
        "    test (count $words) -ge $last; or return 1\n"
        "    test $last -eq 1; or test \"$words[2..$last]\" = \"$argv\"\n"
        "end\n"
        "\n"
        "function __ringwall_next\n"
        "    __ringwall_at $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))\n"
        "end\n"
        "\n"
        "complete -c ringwall -f\n";

static void add_fish_line(struct text *t, const char *condition, const char *path, const char *what, const char *help)
{
        text_format(t, "complete -c ringwall -n '%s%s%s' %s", condition, path ? " " : "", path ? path : "", what);
        if (help) {
                text_add(t, " -d '");
                add_escaped(t, help, "'\\");
                text_add(t, "'");
        }
        text_add(t, "\n");
}

static void add_fish_kind(struct text *t, enum option_kind kind, const char *placeholder)
{
        switch (kind) {
        case OPTION_FILE:
                text_add(t, " -r -F");
                return;
        case OPTION_DIR:
                text_add(t, " -x -a '(__fish_complete_directories)'");
                return;
        case OPTION_WORDS:
                text_add(t, " -x -a '");
                add_words(t, placeholder);
                text_add(t, "'");
                return;
        case OPTION_FREE:
                text_add(t, " -x");
                return;
        case OPTION_NONE:
        case OPTION_VERB:
                return;
        }
}

static void add_fish_verb(struct text *t, const struct options_verb *verb)
{
        const struct option_row *row;
        CLEANUP_TEXT struct text at = { 0 };
        text_add(&at, verb->path);
        for (size_t i = 0; i < verbs_count; i++)
                if (belongs_to(verbs[i].usage, verb->path))
                        text_format(&at, "; and not __ringwall_at %s", verbs[i].usage->path);
        for (size_t i = 0; (row = options_row_at(verb, i)); i++) {
                CLEANUP_TEXT struct text what = { 0 }, help = { 0 };
                add_first_sentence(&help, row->help);
                if (row->letter)
                        text_format(&what, "-s %c ", row->letter);
                text_format(&what, "-l %s", row->name);
                add_fish_kind(&what, row->kind, row->placeholder);
                add_fish_line(t, "__ringwall_at", string_of(&at), string_of(&what), string_of(&help));
        }
        if (verb->positional == OPTION_FILE)
                add_fish_line(t, "__ringwall_at", string_of(&at), "-F", NULL);
        if (verb->positional == OPTION_WORDS) {
                CLEANUP_TEXT struct text what = { 0 };
                add_fish_kind(&what, OPTION_WORDS, verb->synopsis);
                add_fish_line(t, "__ringwall_at", string_of(&at), string_of(&what), NULL);
        }
}

/* Completes a word of a verb, both at the start of the command line and as an argument of `help`. */
static void add_fish_word(struct text *t, const char *previous, const char *word, const char *summary)
{
        CLEANUP_TEXT struct text what = { 0 }, help = { 0 };
        text_format(&what, "-a %s", word);
        text_format(&help, "help%s%s", previous ? " " : "", previous ? previous : "");
        add_fish_line(t, "__ringwall_next", previous, string_of(&what), summary);
        add_fish_line(t, "__ringwall_next", string_of(&help), string_of(&what), summary);
}

static void add_fish_second_words(struct text *t, const char *first)
{
        for (size_t i = 0; i < verbs_count; i++)
                if (belongs_to(verbs[i].usage, first))
                        add_fish_word(t, first, second_word(verbs[i].usage), verbs[i].usage->summary);
}

static void add_fish(struct text *t)
{
        text_add(t, fish_head);
        add_fish_line(t, "__ringwall_next", NULL, "-l help", "Show the verbs");
        add_fish_line(t, "__ringwall_next", NULL, "-l version", "Print the version");
        for (size_t i = 0; i < verb_groups_count; i++) {
                add_fish_word(t, NULL, verb_groups[i].name, verb_groups[i].summary);
                add_fish_second_words(t, verb_groups[i].name);
        }
        for (size_t i = 0; i < verbs_count; i++) {
                if (!second_word(verbs[i].usage))
                        add_fish_word(t, NULL, verbs[i].usage->path, verbs[i].usage->summary);
                add_fish_second_words(t, verbs[i].usage->path);
                add_fish_verb(t, verbs[i].usage);
        }
}

/* --- manual pages --- */

static const char scdoc_special[] = "\\*_";

static void add_man_row(struct text *t, const struct option_row *row)
{
        if (row->letter)
                text_format(t, "*-%c*, ", row->letter);
        text_format(t, "*--%s*", row->name);
        if (row->placeholder) {
                text_add(t, " _");
                add_escaped(t, row->placeholder, scdoc_special);
                text_add(t, "_");
        }
        text_add(t, "\n\t");
        add_escaped(t, row->help, scdoc_special);
        text_add(t, row->repeatable ? " May be repeated.\n\n" : "\n\n");
}

static void add_man(struct text *t, const struct options_verb *verb)
{
        const struct option_row *row;
        for (size_t i = 0; (row = options_row_at(verb, i)); i++)
                add_man_row(t, row);
}

/* --- the program --- */

static const struct {
        const char *name;
        void (*add)(struct text *t);
} scripts[] = {
        { "bash", add_bash },
        { "zsh", add_zsh },
        { "fish", add_fish },
};

static bool generate(struct text *t, int argc, char **argv)
{
        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
                if (argc == 2 && strcmp(argv[1], scripts[i].name) == 0) {
                        scripts[i].add(t);
                        return true;
                }
        if (argc == 2 && strcmp(argv[1], "keys") == 0) {
                docgen_add_keys(t);
                return true;
        }
        if (argc == 2 && strcmp(argv[1], "sets") == 0) {
                docgen_add_sets(t);
                return true;
        }
        if (argc > 2 && strcmp(argv[1], "man") == 0) {
                struct verb_match match = verbs_find((const char *const *)argv + 2, argc - 2);
                if (match.verb && match.words == argc - 2) {
                        add_man(t, match.verb->usage);
                        return true;
                }
        }
        return false;
}

int main(int argc, char **argv)
{
        CLEANUP_TEXT struct text t = { 0 };
        bool ok = true;
        for (size_t i = 0; i < verbs_count; i++)
                ok = check_verb(verbs[i].usage) && ok;
        if (!ok)
                return 1;
        if (!generate(&t, argc, argv)) {
                fprintf(stderr, "usage: docgen bash|zsh|fish, docgen man VERB..., docgen keys|sets\n");
                return 1;
        }
        return t.failed || fd_write_all(STDOUT_FILENO, t.data, t.length) < 0;
}
