/*
 * The command denylist: tables of command lines with the token that is found in each, its position, and the refusal;
 * and lines that are made to be slow. tests/integration/test_denylist.py compares such lines with bash itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "gate/shell_grammar.h"
#include "gate/denylist.h"

static const struct plan_denied_command rules[] = {
        { .name = "sudo" },     { .name = "su" },     { .name = "shutdown" }, { .name = "reboot" },
        { .name = "halt" },     { .name = "poweroff" }, { .name = "chroot" }, { .name = "mount" },
        { .name = "umount" },   { .name = "mkfs" },   { .name = "mkfs.*" }, { .name = "git push" },
        { .name = "npm run deploy*" }, { .name = "kubectl delete" },
};

static bool find(const char *line, struct denied_call *ret)
{
        return denylist_check(line, rules, ARRAY_SIZE(rules), ret);
}

static const struct {
        const char *line, *token;
} lines[] = {
        /* Lines that another public server refuses or accepts. */
        { "echo \"use sudo now\"", NULL },
        { "man mount", NULL },
        { "grep -r su .", NULL },
        { "git commit -m \"fix mount bug\"", NULL },
        { "/usr/bin/sudo ls", "/usr/bin/sudo" },
        { "echo `sudo ls`", "sudo" },
        { "sudo>x", "sudo" },
        /* No denied command is called. */
        { "", NULL },
        { " \t\n;;&|", NULL },
        { "sudoku", NULL },
        { "mkfs2 x", NULL },
        { "\"sudo \" x", NULL },
        { "sudo/x", NULL },
        { "/sudo/", NULL },
        { "SUDO", NULL },
        { "sudo=1", NULL },
        { "A=sudo ls", NULL },
        { "a=(sudo mount) ls", NULL },
        { "export a=(sudo mount)", NULL },
        { "ls > sudo < mount 2>> su", NULL },
        { "ls # sudo", NULL },
        { "for sudo in su mount; do ls; done", NULL },
        { "select mount in su; do ls; done", NULL },
        { "case sudo in mount | su) ls;; (sudo) ls;; esac", NULL },
        { "sudo() { ls; }", NULL },
        { "function mount { ls; }", NULL },
        { "coproc sudo { ls; }", NULL },
        { "[[ a && sudo || ( su < mount ) ]]", NULL },
        { "((sudo + mount)); echo $((sudo)) $[su]", NULL },
        { "for ((su = 0; mount; su++)); do ls; done", NULL },
        { "echo '$(sudo)' \\`su\\` \"\\$(mount)\"", NULL },
        { "echo ${x:-sudo} \"${y%mount}\"", NULL },
        { "cat <<E\nsudo\nE", NULL },
        { "cat <<'E'\n$(sudo)\nE", NULL },
        { "cat <<-\\E\n\t`sudo`\n\tE\nls", NULL },
        { "cat <<E\n\\$(sudo)\nE", NULL },
        { "cat <<A <<B\nsudo\nA\nmount\nB\nls", NULL },
        { "cat <<< sudo", NULL },
        { "command -v sudo", NULL },
        { "command -pv sudo", NULL },
        { "sh script sudo", NULL },
        { "sh -c ls sudo mount", NULL },
        { "env -u sudo ls mount", NULL },
        { "xargs -I sudo ls sudo", NULL },
        { "timeout -s su 5 ls", NULL },
        { "exec -a sudo ls", NULL },
        { "find . -name sudo -newer mount", NULL },
        { "taskset -p su", NULL },
        { "ssh host sudo", NULL },
        { "env -S 'ls' sudo", NULL },
        { "env --split-string=ls sudo", NULL },
        { "{sudo,ls}", NULL },
        /* The command's name is known only when bash runs the line. */
        { "$x ls", NULL },
        { "$x sudo", NULL },
        { "$(echo sudo) ls", NULL },
        { "${dir}sudo", NULL },
        { "su*", NULL },
        { "bash -c \"$x sudo\"", NULL },
        { "env $x sudo", NULL },
        /* Programs of the project: their path leads to no directory of the system. */
        { "./su", NULL },
        { "bin/su x", NULL },
        { "/srv/project/mount x", NULL },
        { "/usr/bin/../src/sudo", NULL },
        { "/usr/bin/x/sudo", NULL },
        { "~/bin/sudo", NULL },
        { "\"$HOME\"/bin/sudo", NULL },
        { "*/sudo", NULL },
        { "env ./su; find . -exec bin/sudo {} +", NULL },
        /* Calls that only print something. */
        { "mount", NULL },
        { "mount | grep x", NULL },
        { "mount > x", NULL },
        { "mount -l", NULL },
        { "sudo --help", NULL },
        { "/usr/bin/sudo --version", NULL },
        { "su --version && mkfs.ext4 --help", NULL },
        { "which sudo; command -v sudo; type mount; man mount", NULL },
        { "git push --help", "git push" },
        { "mount x", "mount" },
        { "mount $x", "mount" },
        { "mount -a", "mount" },
        { "mount -l -a", "mount" },
        { "sudo --help x", "sudo" },
        { "shutdown -h", "shutdown" },
        { "su -", "su" },
        { "echo x | xargs mount", "mount" },
        { "echo x | xargs -n 1 sudo --help", "sudo" },
        /* A command and its subcommand. */
        { "git push", "git push" },
        { "git push origin", "git push" },
        { "/usr/bin/git -C dir -c a=b --git-dir x --no-pager push --force", "/usr/bin/git push" },
        { "sh -c 'cd x && git push'", "git push" },
        { "git \"pu\"sh", "git push" },
        { "npm run --silent deploy-it", "npm run deploy-it" },
        { "kubectl -n x delete pod", "kubectl delete" },
        { "git", NULL },
        { "git pull; git status push", NULL },
        { "git -C push status", NULL },
        { "git log push", NULL },
        { "git $x push", NULL },
        { "npm run x deploy", NULL },
        { "echo git push", NULL },
        { "git-push", NULL },
        /* A shell reads its command lines from a here-document or a here-string. */
        { "bash <<E\nsudo\nE", "sudo" },
        { "bash <<'E'\nls\nsudo x\nE", "sudo" },
        { "bash -s <<E\nsudo\nE", "sudo" },
        { "bash -es -- a b <<-'E'\n\tsudo\n\tE", "sudo" },
        { "<<E bash\nsudo\nE", "sudo" },
        { "/bin/sh - <<E\nsudo\nE", "sudo" },
        { "bash /dev/stdin <<E\nsudo\nE", "sudo" },
        { ". /dev/stdin <<E\nsudo\nE", "sudo" },
        { "source /dev/stdin <<< sudo", "sudo" },
        { "env A=1 timeout 5 bash <<E\nsudo\nE", "sudo" },
        { "sh <<< 'sudo x'", "sudo" },
        { "sh <<<sudo", "sudo" },
        { "bash <<< \"ls; sudo\"", "sudo" },
        { "cat <<E | sh\nsudo\nE", "sudo" },
        { "cat <<E |\nsudo x\nE\nsh", "sudo" },
        { "cat <<E | tee x |& bash -x\nsudo\nE", "sudo" },
        { "cat <<A <<B | sh\nls\nA\nsudo\nB", "sudo" },
        { "bash <<E; ls\nsudo\nE", "sudo" },
        { "bash <<E && ls\nsudo\nE", "sudo" },
        { "if bash <<E\nsudo\nE\nthen ls; fi", "sudo" },
        { "{ ls; bash; } <<E\nsudo\nE", "sudo" },
        { "(cd x; sh) <<E\nsudo\nE", "sudo" },
        { "while ls; do sh; done <<E\nsudo\nE", "sudo" },
        { "case a in a) sh;; esac <<E\nsudo\nE", "sudo" },
        { "{ cat <<E\nsudo\nE\n} | sh", "sudo" },
        { "(cat <<E\nsudo\nE\n) | sh", "sudo" },
        { "cat <<E | while ls; do sh; done\nsudo\nE", "sudo" },
        { "f() { sh <<E\nsudo\nE\n}", "sudo" },
        { "bash < <(cat <<E\nsudo\nE\n)", "sudo" },
        { "cat <<E > >(sh)\nsudo\nE", "sudo" },
        { "bash <<E\nsh <<F\nsudo\nF\nE", "sudo" },
        { "bash <<E\nsh -c 'sudo'\nE", "sudo" },
        { "bash <<E\n\\$(sudo)\nE", "sudo" },
        { "bash <<E\necho \"`sudo`\"\nE", "sudo" },
        { "bash <<E\nif ls; then sudo", "sudo" },
        { "bash <<E\necho sudo\nE", NULL },
        { "bash <<E\n# sudo\nE", NULL },
        { "bash <<E\n$x sudo\nE", NULL },
        { "bash <<'E'\necho '\nsudo'\nE", NULL },
        { "bash x <<E\nsudo\nE", NULL },
        { "bash -c ls <<E\nsudo\nE", NULL },
        { "bash -n <<E\nsudo\nE", NULL },
        { "xargs bash <<E\nsudo\nE", NULL },
        { "cat <<E; sh x\nsudo\nE", NULL },
        { "cat <<E\nsudo\nE\nls | sh", NULL },
        { "cat > x <<E && ls | sh\nsudo\nE", NULL },
        { "cat > x <<E || sh\nsudo\nE", NULL },
        { "if ls; then cat > x <<E\nsudo\nE\nls | sh; fi", NULL },
        { "ls | bash; cat <<E\nsudo\nE", NULL },
        { "sh; cat <<< sudo", NULL },
        { "sh | cat <<< sudo", NULL },
        { "git commit -m \"$(cat <<'E'\nsudo\nE\n)\"; ls | sh", NULL },
        { "python3 <<E\nsudo\nE", NULL },
        { "ssh host bash <<E\nsudo\nE", NULL },
        /* Every place in the grammar where a command can be. */
        { "sudo", "sudo" },
        { "ls;sudo", "sudo" },
        { "ls&sudo", "sudo" },
        { "ls && mount x", "mount" },
        { "ls || su", "su" },
        { "ls | su", "su" },
        { "ls |& su", "su" },
        { "ls\nreboot", "reboot" },
        { "(halt)", "halt" },
        { "{ poweroff; }", "poweroff" },
        { "! chroot x", "chroot" },
        { "time umount x", "umount" },
        { "time -p mkfs", "mkfs" },
        { "mkfs.ext4 /dev/x", "mkfs.ext4" },
        { "if sudo; then ls; fi", "sudo" },
        { "if ls; then sudo; fi", "sudo" },
        { "if ls; then ls; elif sudo; then ls; fi", "sudo" },
        { "if ls; then ls; else sudo; fi", "sudo" },
        { "while sudo; do ls; done", "sudo" },
        { "until ls; do sudo; done", "sudo" },
        { "for i in a; do sudo; done", "sudo" },
        { "for ((;;)) { sudo; }", "sudo" },
        { "case a in a) sudo;; esac", "sudo" },
        { "case a in b) ls;& (a) sudo; esac", "sudo" },
        { "case a in b) ls;; esac | sudo", "sudo" },
        { "echo $(case a in a) ls;; esac; sudo)", "sudo" },
        { "f() { sudo; }", "sudo" },
        { "function f () (sudo)", "sudo" },
        { "coproc sudo", "sudo" },
        { "coproc N { sudo; }", "sudo" },
        { "[[ -n $(sudo) ]]", "sudo" },
        { "[[ a ]] && sudo", "sudo" },
        { "((a)); sudo", "sudo" },
        { "((sudo) )", "sudo" },
        { "echo \"$(sudo)\"", "sudo" },
        { "echo \"`echo \\`sudo\\``\"", "sudo" },
        { "echo ${x:-${y:-$(sudo)}}", "sudo" },
        { "echo \"${x:-'$(sudo)'}\"", "sudo" },
        { "echo $((1 + `sudo`)) $[2]", "sudo" },
        { "a=(1 $(sudo))", "sudo" },
        { "a[$(sudo)]=1", "sudo" },
        { "diff <(ls) >(sudo)", "sudo" },
        { "cat <<E\n`sudo`\nE", "sudo" },
        { "cat <<E | sudo\n'\nE", "sudo" },
        { "cat <<'E'\n$(\nE\nsudo", "sudo" },
        { "cat <<< $(sudo)", "sudo" },
        { "echo $(cat <<E\n'\nE)\nsudo", "sudo" },
        { ">x sudo", "sudo" },
        { "2>&1 sudo", "sudo" },
        { "{fd}<x sudo", "sudo" },
        { "&>x sudo", "sudo" },
        { "<<E sudo\nE", "sudo" },
        { "A=1 B+=2 C[3]='4 5' sudo", "sudo" },
        { "ls # x\nsudo", "sudo" },
        /* Other spellings of the name. */
        { "s\\udo", "sudo" },
        { "\"su\"'do'", "sudo" },
        { "su\\\ndo", "sudo" },
        { "$'\\x73\\165\\u0064o'", "sudo" },
        { "$\"sudo\"", "sudo" },
        { "/bin/../usr//local/./sbin/sudo", "/bin/../usr//local/./sbin/sudo" },
        { "/usr/local/bin/sudo", "/usr/local/bin/sudo" },
        /* Commands that run others. */
        { "env -i -u A B=1 -- C=2 sudo", "sudo" },
        { "env - sudo", "sudo" },
        { "env -S 'A=1 sudo x'", "sudo" },
        { "/usr/bin/env --chdir / sudo", "sudo" },
        { "xargs -0rn1 -I {} sudo {}", "sudo" },
        { "xargs --max-args 2 -eEOF sudo", "sudo" },
        { "nohup nice -n 5 ionice -c3 setsid stdbuf -oL timeout -k 1 5 sudo", "sudo" },
        { "command -p sudo", "sudo" },
        { "exec -cla x sudo", "sudo" },
        { "builtin command sudo", "sudo" },
        { "busybox mount x", "mount" },
        { "busybox sh -c 'mount x'", "mount" },
        { "doas -u root mount x", "mount" },
        { "strace -f -e trace=file -o x sudo", "sudo" },
        { "watch -n 1 'ls; sudo'", "sudo" },
        { "parallel -j 2 sudo {} ::: a b", "sudo" },
        { "pkexec --user root mount x", "mount" },
        { "bash -euo pipefail -c 'sudo'", "sudo" },
        { "sh -c -- 'sudo'", "sudo" },
        { "sudo() { ls; }; sudo", "sudo" },
        { "flock -w 5 x -c 'sudo'", "sudo" },
        { "script -qc sudo x", "sudo" },
        { "find . -type f -exec sudo {} + -print", "sudo" },
        { "find . -execdir sh -c 'mount x' ';'", "mount" },
        { "find . -exec ls {} \\; -okdir env su \\;", "su" },
        { "bash -c 'ls; sudo'", "sudo" },
        { "bash -o errexit --norc -xc \"sudo\"", "sudo" },
        { "sh -c -e 'sudo'", "sudo" },
        { "sh -c \"bash -c 'eval \\\"sudo\\\"'\"", "sudo" },
        { "eval ls ';' sudo", "sudo" },
        { "trap 'sudo' EXIT", "sudo" },
        /* The first one in the line is found. */
        { "sudo $(mount)", "sudo" },
        { "A=$(mount x) sudo", "mount" },
        { "ls; su; sudo", "su" },
        { "sh -c 'ls; mount x'; sudo", "mount" },
        /* Lines that bash would refuse as syntax errors. */
        { "sudo )", "sudo" },
        { "echo \"$(sudo", "sudo" },
        { "echo `sudo", "sudo" },
        { "echo ${x:-`sudo", "sudo" },
        { "cat <<E\n$(sudo", "sudo" },
        { "case a in a) sudo", "sudo" },
        { "(((((sudo", "sudo" },
        { "echo '; sudo", NULL },
        { "echo \"; sudo", NULL },
        { "[[ a; sudo", NULL },
        { "a=(; sudo", NULL },
        { "bash -c", NULL },
        { "env -u", NULL },
        { "find . -exec", NULL },
        { "<", NULL },
        { "\\", NULL },
        { "$'\\", NULL },
        { "$'\\x", NULL },
};

static void test_denied_commands_are_found_wherever_bash_would_run_them(void **state)
{
        (void)state;
        size_t wrong = 0;
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                struct denied_call d = { .token = "" };
                bool found = find(lines[i].line, &d);
                if (found == (lines[i].token != NULL) && strcmp(d.token, found ? lines[i].token : "") == 0)
                        continue;
                print_error("%s: found %s, expected %s\n", lines[i].line, found ? d.token : "nothing",
                            lines[i].token ? lines[i].token : "nothing");
                wrong++;
        }
        assert_int_equal(wrong, 0);
}

static void test_position_is_that_of_the_word_in_the_original_line(void **state)
{
        (void)state;
        static const struct {
                const char *line;
                unsigned at, number, column;
        } rows[] = {
                { "sudo", 0, 1, 1 },
                { "ls; sudo", 4, 1, 5 },
                { "ls; \"su\"do", 4, 1, 5 },
                { "ls &&\n\n  /usr/bin/sudo", 9, 3, 3 },
                { "echo é; sudo", 9, 1, 9 },
                { "bash -c 'ls; sudo'", 13, 1, 14 },
                { "bash -c 'ls\n  sudo'", 14, 2, 3 },
                { "bash -c \"sh -c 'ls; sudo'\"", 20, 1, 21 },
                { "eval ls \\; sudo", 11, 1, 12 },
                { "echo `ls; \\sudo`", 10, 1, 11 },
                { "echo `echo \\`sudo\\``", 13, 1, 14 },
                { "echo \"`ls; \\\"sudo\\\"`\"", 12, 1, 13 },
                { "sh -c $'\\x73udo'", 8, 1, 9 },
                { "cat <<E\n$(sudo)\nE", 10, 2, 3 },
                { "env -S'ls; sudo'", 11, 1, 12 },
                { "su\\\ndo", 0, 1, 1 },
                { "bash <<E\nls\n  sudo\nE", 14, 3, 3 },
                { "bash <<'E'\nls; \"su\"do\nE", 15, 2, 5 },
                { "bash <<E\n\\$(sudo)\nE", 12, 2, 4 },
                { "sh <<< 'ls; sudo'", 12, 1, 13 },
                { "{ cat <<E\nsudo\nE\n} | sh", 10, 2, 1 },
                { "ls; git -C x push", 4, 1, 5 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct denied_call d = { .token = "" };
                if (!find(rows[i].line, &d) || d.offset != rows[i].at || d.line != rows[i].number ||
                    d.column != rows[i].column)
                        fail_msg("%s: offset %zu, line %u, column %u", rows[i].line, d.offset, d.line, d.column);
        }
}

static void assert_explained(const char *line, const struct plan_denied_command *list, size_t count,
                             const char *expected)
{
        struct denied_call d;
        CLEANUP_TEXT struct text explanation = { 0 };
        assert_true(denylist_check(line, list, count, &d));
        denylist_explain(&d, &explanation);
        assert_false(explanation.failed);
        assert_string_equal(explanation.data, expected);
}

static void test_refusal_has_the_token_its_position_and_how_to_allow_it(void **state)
{
        (void)state;
        assert_explained("ls; sudo x", rules, ARRAY_SIZE(rules),
                         "command rejected: command uses denylisted token \"sudo\" at line 1, column 5; "
                         "gate.denied_commands: [-sudo] in the policy would allow it");
        assert_explained("/sbin/mkfs.xfs x", rules, ARRAY_SIZE(rules),
                         "command rejected: command uses denylisted token \"/sbin/mkfs.xfs\" at line 1, column 1; "
                         "gate.denied_commands: [-mkfs.*] in the policy would allow it");
        assert_explained("cd x; git --no-pager push", rules, ARRAY_SIZE(rules),
                         "command rejected: command uses denylisted token \"git push\" at line 1, column 7; "
                         "gate.denied_commands: [-git push] in the policy would allow it");
        /* Control characters that the agent wrote are escaped. */
        assert_explained("$'/\\e[2J/../bin'/su", rules, ARRAY_SIZE(rules),
                         "command rejected: command uses denylisted token \"/\\x1b[2J/../bin/su\" at line 1, column 1; "
                         "gate.denied_commands: [-su] in the policy would allow it");
}

static void test_only_commands_of_the_policys_list_are_denied(void **state)
{
        (void)state;
        static const struct plan_denied_command own[] = { { .name = "k[ui]*" }, { .name = "\\*" }, { .name = "a?c" } };
        struct denied_call d;
        static const char *const found[] = { "kubectl", "x; kind", "'*'", "abc", "aéc" };
        static const char *const allowed[] = { "sudo", "k", "kxl", "x", "ac", "abbc", "kubectl/x" };
        for (size_t i = 0; i < ARRAY_SIZE(found); i++)
                assert_true(denylist_check(found[i], own, ARRAY_SIZE(own), &d));
        assert_ptr_equal(d.rule, &own[2]);
        for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
                assert_false(denylist_check(allowed[i], own, ARRAY_SIZE(own), &d));
        assert_false(denylist_check("sudo", NULL, 0, &d));
        /* Commands that the policy removed from the list still run other commands. */
        assert_true(denylist_check("sudo -u root A=1 abc", own, ARRAY_SIZE(own), &d));
        assert_true(denylist_check("su - root -c 'abc'", own, ARRAY_SIZE(own), &d));
        assert_true(denylist_check("chroot /x abc", own, ARRAY_SIZE(own), &d));
}

static void add_repeated(struct text *t, const char *piece, size_t times)
{
        for (size_t i = 0; i < times; i++)
                text_add(t, piece);
}

static void test_commands_are_found_down_to_depth_16(void **state)
{
        (void)state;
        static const struct {
                const char *open, *close;
        } rows[] = {
                { "$(", ")" },  { "(", "\n)" }, { "${x:-", "}" }, { "\"$(", ")\"" },
                { "eval ", "" }, { "<(", ")" },  { "env ", "" }, { "{ ", ";}" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t depth = 1; depth <= 4096; depth *= 4) {
                        CLEANUP_TEXT struct text line = { 0 };
                        struct denied_call d = { .offset = SIZE_MAX };
                        add_repeated(&line, rows[i].open, depth);
                        text_add(&line, "$(sudo)");
                        add_repeated(&line, rows[i].close, depth);
                        text_add(&line, "; mount");
                        bool found = find(line.data, &d);
                        /* Deeper nesting may hide a command, but must not crash the parser. */
                        if (depth <= 16)
                                assert_true(found && d.offset == depth * strlen(rows[i].open) + 2);
                }
}

static double time_repeated(const char *piece, size_t length)
{
        CLEANUP_TEXT struct text line = { 0 };
        add_repeated(&line, piece, length / strlen(piece));
        struct denied_call d;
        struct timespec a, b;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        (void)find(line.data, &d);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

/*
 * Each piece is repeated up to the longest line. A slow one is compared with a line of an eighth: eight times as long
 * is proportional to the length, 64 times would be its square.
 */
static void test_time_is_proportional_to_the_length(void **state)
{
        (void)state;
        static const char *const pieces[] = {
                "a ", "a;", "$(", "(", "((", "$((", "$((') )", "((1 # '\n) )", "`", "\\`", "\\\\`", "\"",
                "\"$(", "${x:-", "<<E ", "<<E\n", "eval ", "env ", "find -exec ", "sh -c '", "case a in a) ",
                "for a in ", "[[ ", "a=(", "<(", "$'\\x7", "coproc a ", "f() ", "if ", "\\\n", "{ ", "a[",
                "A=1 ", ">a ", "cat <<E\n$(cat <<E\n", "xargs -I{} ", "eval '", "trap eval ",
                "bash -c bash -c ", "bash <<E\n", "cat <<E | sh\n", "sh <<< '", "{ cat <<E\n", "{ ", "} | sh;",
                "( sh <<< x\n",
                "cat <<< x | ", "while ", "sh |",
        };
        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
                double seconds = time_repeated(pieces[i], COMMAND_LINE_MAX);
                double eighth = seconds > 1 ? time_repeated(pieces[i], COMMAND_LINE_MAX / 8) : seconds;
                if (seconds > 30 * eighth)
                        fail_msg("%s: %.2f s, and %.2f s for an eighth of the length", pieces[i], seconds, eighth);
        }
}

static void test_command_beyond_the_maximal_line_is_not_found(void **state)
{
        (void)state;
        struct denied_call d;
        for (size_t over = 0; over < 2; over++) {
                CLEANUP_TEXT struct text line = { 0 };
                add_repeated(&line, " ", COMMAND_LINE_MAX - strlen("sudo") + over);
                text_add(&line, "sudo");
                assert_int_equal(find(line.data, &d), !over);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_denied_commands_are_found_wherever_bash_would_run_them),
                cmocka_unit_test(test_position_is_that_of_the_word_in_the_original_line),
                cmocka_unit_test(test_refusal_has_the_token_its_position_and_how_to_allow_it),
                cmocka_unit_test(test_only_commands_of_the_policys_list_are_denied),
                cmocka_unit_test(test_commands_are_found_down_to_depth_16),
                cmocka_unit_test(test_time_is_proportional_to_the_length),
                cmocka_unit_test(test_command_beyond_the_maximal_line_is_not_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
