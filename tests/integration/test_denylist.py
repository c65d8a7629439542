"""The gate and bash parse command lines alike: a line is denied exactly when bash calls a denied command.

Stand-ins for sudo, su, mount, mkfs and mkfs.ext4 come first on PATH and create a file when they are called, unless the
call is one that the gate allows: by a path other than that on PATH, only to print something, or mount without
arguments.
Each line is run by the real bash and given to the gate (tests/helpers/denylist.c); the two must agree.
"""
import concurrent.futures
import os
import random
import shlex
import subprocess

import pytest

STAND_INS = ['sudo', 'su', 'mount', 'mkfs', 'mkfs.ext4']
STAND_IN = """#!/bin/sh
[ "$0" = "{top}/bin/{name}" ] || exit 0
case "{name} $# $1" in
*' 1 --help' | *' 1 --version' | 'mount 0 ' | 'mount 1 -l') exit 0 ;;
esac
: > "{top}/called/${{PWD##*/}}"
"""

# Lines that a published MCP server denies although they call no denied command, lines that it allows although they call
# one, and every position in bash's grammar where a command can be.
LINES = [
    # Bash calls no denied command: the name is not in the position of a command.
    'echo "use sudo now"', 'man mount || true', 'grep -r su .', 'git commit -m "fix mount bug"', 'echo sudo',
    'echo su; true sudo', 'sudo=1', 'A=sudo true', 'a=(sudo mount); true', 'declare -a a=(sudo mount)',
    'echo sudo > sudo', 'true # sudo', 'true;#sudo', 'echo a#b sudo', 'for sudo in su mount; do echo $sudo; done',
    'case sudo in mount|su) false;; (sudo) true;; esac', 'case $(echo sudo) in\nsudo) echo sudo;;\nesac',
    'sudo() { true; }', 'function sudo { true; }', '[[ a && sudo ]]', '[[ sudo == mount || ( su < mount ) ]]',
    '[[ sudo =~ (sudo|mount) ]]', '((sudo))', '((sudo = mount)); true', 'echo $((sudo + 1))', 'echo $[sudo]',
    'for ((sudo = 0; sudo < 2; sudo++)); do true; done', "echo '$(sudo)'", "echo '`sudo`'", 'echo \\`sudo\\`',
    'echo "\\$(sudo)"', "cat <<'E'\n$(sudo)\n`mount`\nE", 'cat <<\\E\n$(sudo)\nE', 'cat <<E\nsudo; mount\nE',
    'cat <<-E\n\tsudo\n\tE\ntrue', 'cat <<A <<B\nsudo\nA\nmount\nB\ntrue', 'cat <<< sudo', 'cat <<E\n\\$(sudo)\nE',
    'command -v sudo', 'type sudo', 'which mount', 'hash sudo', 'xargs echo sudo < /dev/null', 'find . -name sudo',
    'env A=1 echo sudo', 'timeout 5 echo sudo', 'bash -c "echo sudo" sudo mount', "bash -c 'true' sudo",
    'sh -c true sudo', "eval 'echo sudo'", "trap 'echo sudo' EXIT", 'echo {sudo,mount}',
    'select x in sudo; do true; done', 'nice -n 5 echo sudo', 'exec -a sudo true', 'time echo sudo', '! echo sudo',
    'coproc sudo { true; }; wait', 'x=$(echo sudo)', 'echo ${x:-sudo}', 'echo "${x:-\'sudo\'}"',
    "echo ${x:-'$(sudo)'}", 'echo "${x#\'$(sudo)\'}"', 'true && echo sudo | cat', 'echo \\; sudo', "echo ';' sudo",
    'printf "%s\\n" "; sudo"', 'echo a\\\nsudo', 'if true; then echo sudo; fi', '"sudo "', "' sudo'", 'sudoku',
    './sudo.d', 'mounted', 'echo $\'\\\'; sudo\'', '"A"=1 sudo', 'A"="1 sudo', 'if=1 true sudo', 'time -f x sudo',
    '2 sudo', "'if' sudo", 'echo if; echo sudo', 'cat <<E\n${x:-"sudo"}\nE', 'echo $(cat <<E)\nsudo\nE\ntrue',
    'echo $(cat <<E\nsudo\nE)\ntrue', 'mkfsx', 'echo mkfs.ext4', 'bin/sudo', './bin/sudo', 'bin/../bin/sudo',
    '"$PWD/bin/sudo"', '$PWD/bin/sudo', 'bin//sudo', 'env bin/sudo', 'exec -cl sudo', 'mount', 'mount -l',
    'mount | cat', 'sudo --help', 'su --version', 'bash <<E\necho sudo\nE', "bash <<'E'\ntrue '\nsudo'\nE",
    'echo true > x; bash x <<E\nsudo\nE', 'bash -c true <<E\nsudo\nE', 'bash -n <<E\nsudo\nE',
    'cat > x <<E\nsudo\nE\ntrue | sh', 'cat > x <<E && true | sh\nsudo\nE', 'true | bash; cat <<E\nsudo\nE',
    'if true; then cat > x <<E\nsudo\nE\ntrue | sh; fi', 'true | sh; cat <<< sudo', 'xargs true <<< sudo',
    'echo "$(cat <<\'E\'\nsudo\nE\n)"; true | sh',
    # Bash calls a denied command.
    'sudo', 'sudo ls', ' \tsudo', '\nsudo', 'true; sudo', 'true;sudo', 'true&sudo', 'true && sudo', 'false || sudo',
    'true | sudo', 'true |& sudo', 'true\nsudo', '(sudo)', '( sudo )', '{ sudo; }', '((sudo) )', '( (sudo))',
    '!(sudo)', '! sudo', '! ! sudo', 'time sudo', 'time -p sudo', 'time -p -- sudo', 'time ! sudo',
    'if sudo; then true; fi', 'if true; then sudo; fi', 'if false; then true; else sudo; fi',
    'if false; then true; elif sudo; then true; fi', 'while sudo; false; do true; done', 'until sudo; do true; done',
    'for i in a; do sudo; done', 'for i in a\ndo sudo; done', 'for ((i = 0; i < 1; i++)); do sudo; done',
    'for ((;;)) { sudo; break; }', 'for i\ndo true; done; sudo', 'case a in a) sudo;; esac',
    'case a in (a) sudo;; esac', 'case a in b) ;; a|c) sudo; esac',
    'case a in\n  b) true ;;\n  # sudo)\n  *) sudo ;&\n  c) true ;;\nesac', 'case a in a) true;; esac; sudo',
    'case a in a) ;; esac && sudo', 'echo $(case a in a) sudo;; esac)',
    'case a in a) case b in b) sudo;; esac;; esac', 'f() { sudo; }; f', 'f()\n{\nsudo\n}\nf', 'f() (sudo); f',
    'function f { sudo; }; f', 'function f () { sudo; }; f', 'sudo() { true; }; mount x', 'coproc sudo; wait',
    'coproc N { sudo; }; wait', 'coproc N (sudo); wait', 'coproc { sudo; }; wait',
    'coproc N while sudo; false; do true; done; wait', '$(sudo)', 'echo $(sudo)', 'echo "$(sudo)"', 'echo `sudo`',
    'echo "`sudo`"', 'echo `echo \\`sudo\\``', 'echo "`echo \\"$(sudo)\\"`"',
    'echo `echo \\`echo \\\\\\`sudo\\\\\\`\\``', 'echo ${x:-$(sudo)}', 'echo "${x:-$(sudo)}"', 'echo "${x:-`sudo`}"',
    'echo ${x:-${y:-$(sudo)}}', 'echo "${x:-\'$(sudo)\'}"', 'echo ${x:-"$(sudo)"}', 'echo $((1 + $(sudo; echo 1)))',
    'echo $((`sudo`+1))', 'echo $[1+$(sudo)]', '(( $(sudo; echo 1) ))', 'a[$(sudo; echo 1)]=1', 'x=$(sudo)',
    'x=$(sudo) true', 'a=($(sudo))', 'a=(\n"$(sudo)" # x\n)', '[[ -n $(sudo) ]]', '[[ a == "$(sudo)" ]]',
    'for i in $(sudo); do true; done', 'case $(sudo) in a) ;; esac', 'case a in $(sudo)) ;; esac', 'cat <(sudo)',
    'cat < <(sudo)', 'true > >(sudo)', 'echo a<(sudo)', 'x=<(sudo)', 'cat <<E\n$(sudo)\nE', 'cat <<E\n`sudo`\nE',
    'cat <<E\n${x:-$(sudo)}\nE', 'cat <<-E\n\t$(sudo)\n\tE', 'cat <<E && sudo\ntext\nE', 'cat <<E\ntext\nE\nsudo',
    "cat <<'E'\n$(echo)\nE\nsudo", 'cat <<A <<B\na\nA\n$(sudo)\nB', 'cat <<E $(echo\nsudo)\ntext\nE',
    'echo $(cat <<E)\ntext\nE\nsudo', 'echo $(cat <<E\ntext\nE)\nsudo', 'cat <<< $(sudo)', 'cat <<<"$(sudo)"',
    'cat <<E\n\'$(sudo)\'\nE', 'cat <<"E F"\na\nE F\nsudo', 'cat <<E\nE\\\nE\nE\nsudo', 'sudo>x', 'sudo</dev/null',
    '>x sudo', '<&- sudo', '2>&1 sudo', '2>x sudo', '{fd}>x sudo', '&>x sudo', '&>>x sudo', '>|x sudo', '<>x sudo',
    '>& x sudo', '<<< x sudo', '<<E sudo\nE', 'sudo 2>x', '> x A=1 sudo', 'A=1 sudo', 'A=1 B="2 3" C=$(echo) sudo',
    'A+=1 sudo', 'A[1]=1 sudo', 'A= sudo', 'A=1 >x sudo', 's\\udo', '\\sudo', '"sudo"', "'sudo'", 's"ud"o',
    "s'u'd\"o\"", "$'sudo'", "$'\\x73udo'", "$'\\163udo'", "$'\\u0073udo'", '$"sudo"', 'su\\\ndo', 's""udo', '""sudo',
    '\\\nsudo', 'true \\\n; sudo', 'true &\\\n& sudo', 'echo $\\\n(sudo)', 'mkfs.ext4 x', 'mkfs', 'su -c true',
    'mount x', 'mount "$PWD"', 'echo x | xargs mount', 'sudo x --help', 'bash <<E\nsudo\nE',
    "bash <<'E'\ntrue\nsudo\nE", 'bash -s <<E\nsudo\nE', "sh -es -- a <<-'E'\n\tsudo\n\tE", 'sh - <<E\nsudo\nE',
    'bash /dev/stdin <<E\nsudo\nE', '. /dev/stdin <<E\nsudo\nE', 'source /dev/stdin <<< sudo',
    'env A=1 timeout 5 bash <<E\nsudo\nE', "sh <<< 'sudo x'", 'bash <<< "true; sudo"', 'cat <<E | sh\nsudo\nE',
    'cat <<E |\nsudo\nE\nsh', 'cat <<E | tee x |& bash -x\nsudo\nE', 'bash <<E; true\nsudo\nE',
    'if bash <<E\nsudo\nE\nthen true; fi', '{ true; bash; } <<E\nsudo\nE', '(cd .; sh) <<E\nsudo\nE',
    'case a in a) sh;; esac <<E\nsudo\nE', '{ cat <<E\nsudo\nE\n} | sh', '(cat <<E\nsudo\nE\n) | sh',
    'cat <<E | if true; then sh; fi\nsudo\nE', 'f() { sh <<E\nsudo\nE\n}; f', 'bash < <(cat <<E\nsudo\nE\n)',
    'cat <<E > >(sh)\nsudo\nE\nwait $!', 'bash <<E\nsh <<F\nsudo\nF\nE', "bash <<E\nsh -c 'sudo'\nE",
    'bash <<E\n\\$(sudo)\nE', 'bash <<E\necho "`sudo`"\nE',
    'env sudo', 'env A=1 sudo', 'env -u A B=2 sudo', 'env --unset=A sudo', 'env --unset A sudo', 'env -- sudo',
    'env -uA sudo', "env -S 'sudo x'", "env -S'A=1 sudo x'", "env --split-string='sudo x'", '/usr/bin/env sudo',
    'env env env sudo', 'env -C . sudo', 'nohup sudo', 'nice sudo', 'nice -n 5 sudo', 'nice -5 sudo',
    'nice --adjustment=5 sudo', 'nice --adjustment 5 sudo', 'setsid -w sudo', 'stdbuf -oL sudo',
    'stdbuf -o L -e 0 sudo', 'stdbuf --output=L sudo', 'timeout 5 sudo', 'timeout -s KILL 5 sudo',
    'timeout -k 1 5 sudo', 'timeout --signal=KILL 5 sudo', 'timeout --preserve-status 5 sudo', 'command sudo',
    'command -p true; sudo', 'command -- sudo', 'exec sudo', 'exec -a x sudo', 'exec -cl sudo', 'exec > x; sudo',
    'builtin command sudo', 'builtin eval sudo', 'echo x | xargs sudo', 'echo x | xargs -n 1 sudo',
    'echo x | xargs -n1 -I{} sudo {}', 'echo x | xargs -0rn1 sudo', 'echo x | xargs -I % sh -c "sudo %"',
    'echo x | xargs -i sudo {}', 'echo x | xargs --max-args 1 sudo', 'echo x | xargs --max-args=1 sudo',
    'echo x | xargs -d "\\n" sudo', 'echo x | xargs env A=1 sudo', 'find . -maxdepth 0 -exec sudo {} \\;',
    'find . -maxdepth 0 -exec sudo {} +', "find . -maxdepth 0 -exec true ';' -exec sudo {} ';'",
    "find . -maxdepth 0 -exec sh -c 'sudo \"$1\"' _ {} \\;", 'find . -maxdepth 0 -execdir sudo \\; || sudo',
    'find $(sudo)', "bash -c 'sudo'", 'bash -c "sudo"', 'bash -c sudo', "bash -ec 'true; sudo'", "sh -c 'sudo'",
    "sh -c -e 'sudo'", "sh -e -c 'sudo'", "sh -o errexit -c 'sudo'", "bash -o errexit +x -c 'sudo'",
    "bash --norc -c 'sudo'", "bash --rcfile x -c 'sudo'", "bash -- -c || sudo", "/bin/sh -c 'sudo'",
    "bash -c 'bash -c \"sudo\"'", "bash -c 'bash -c \"bash -c \\\"sudo\\\"\"'", "sh -c \"sh -c 'echo a; sudo'\"",
    "bash -c 'echo \"$(sudo)\"'", "bash -c \"\\$(sudo)\"", "bash -c $'true\\nsudo'", 'eval sudo', "eval 'sudo'",
    'eval "true;" sudo', 'eval eval sudo', "eval 'echo a' ';' sudo", 'eval "$(echo true)"; sudo', "trap sudo EXIT",
    "trap 'true; sudo' EXIT", "trap -- 'sudo' 0", 'env bash -c sudo', 'timeout 5 bash -c "sudo"',
    'nohup nice -n 1 timeout 5 env A=1 sudo', 'flock x sudo', "flock x -c 'sudo'", "flock -w 1 x sudo",
    'taskset -c 0 sudo', 'ionice -c 3 sudo', 'ionice -c3 sudo', 'chrt -o 0 sudo', 'script -qc "sudo" x',
    "script -q -c 'sudo' x", 'time nice sudo', 'if true; then if true; then sudo; fi fi', '{ { sudo; } }',
    'while true; do sudo; break; done > x', '{ true; } 2>x; sudo', 'true > x; sudo', 'true <<E; sudo\nE',
    'true 2>&1 | sudo', 'true 2>&1 && sudo', 'echo "a\'b"; sudo', "echo 'a\"b'; sudo", 'echo "a`echo "b"`c"; sudo',
    'echo "$(echo ")")"; sudo', 'echo $(echo \\)); sudo', "echo $(echo ')'); sudo", 'echo $(echo # )\n); sudo',
    'echo ${x:-\\}}; sudo', 'echo ${x:-"}"}; sudo', "echo ${x:-'}'}; sudo", 'echo ${#x} $# $$ ${!#} ; sudo',
    'echo $(( (1+2) * 3 )); sudo', 'echo $(( 1 << 2 )); sudo', '(( 1 << 2 )); sudo', 'echo $((echo a); (sudo))',
    'echo $( (sudo) )', 'echo a & sudo', 'set -- a; sudo', '[[ a =~ a ]] && sudo', '[[ -n a ]]; sudo',
    '[[ a ]] && sudo', 'a=(1 2); sudo', 'a=(1 2) sudo', 'a=([0]=x [1]="y z"); sudo', 'declare a=(x); sudo',
    'shopt -s extglob\nsudo', 'esac=1; sudo', 'echo esac; sudo', 'echo case in; sudo', 'echo }; sudo',
    'echo [[; sudo', 'echo for; sudo', 'x=case; sudo',
]


class Comparison:
    def __init__(self, build, top):
        self.program, self.top, self.count = build / 'tests/helpers/denylist', top, 0
        (top / 'bin').mkdir()
        for name in STAND_INS:
            stand_in = top / 'bin' / name
            stand_in.write_text(STAND_IN.format(top=top, name=name))
            stand_in.chmod(0o755)
        (top / 'called').mkdir()

    def bash_calls(self, numbered):
        """Whether bash, or a process that it starts, calls a stand-in. run() waits until all of them close the pipe."""
        number, line = numbered
        directory = self.top / f'line-{number}'
        directory.mkdir()
        (directory / 'bin').symlink_to(self.top / 'bin')
        environment = {'PATH': f'{self.top}/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': str(directory)}
        subprocess.run(['bash', '-c', line], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
        return (self.top / 'called' / directory.name).exists()

    def differences(self, lines):
        """The lines on which gate and bash disagree, each with the gate's verdict; and how many lines bash counts as
        calls."""
        found = subprocess.run([self.program], input='\0'.join(lines) + '\0', stdout=subprocess.PIPE, text=True,
                               check=True)
        denied = [bool(token) for token in found.stdout.split('\n')[:-1]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            called = list(pool.map(self.bash_calls, enumerate(lines)))
        assert len(denied) == len(called) == len(lines)
        return [(line, 'denied' if d else 'passed') for line, d, c in zip(lines, denied, called) if d != c], sum(called)


@pytest.fixture
def comparison(build, tmp_path):
    return Comparison(build, tmp_path)


def test_line_is_denied_exactly_when_bash_calls_a_denied_command(comparison):
    differences, called = comparison.differences(LINES)
    assert not differences
    assert called > 200


def in_backticks(line):
    return 'echo `\n' + line.replace('\\', '\\\\').replace('`', '\\`').replace('$', '\\$') + '\n`'


# Ways to nest a line inside another one. "{}" is replaced by the line. It has lines of its own where possible, because
# the inner line may contain a here-document.
WRAPPERS = [
    '(\n{}\n)', '{{\n{}\n}}', 'if true; then\n{}\nfi', 'true && {{\n{}\n}}', 'false || {{\n{}\n}}',
    'case a in b) true su;; (a)\n{}\n;; esac', 'for i in su mount; do\n{}\nbreak; done', 'f() {{\n{}\n}}; f',
    'echo "$(\n{}\n)"', 'echo ${{x:-$(\n{}\n)}}', 'x="$(\n{}\n)" y=2', 'cat <<E_N\n$(\n{}\n)\nE_N\n',
    "cat <<'E_N'\n$(\n{}\n)\nE_N\n", '[[ -n "$(\n{}\n)" ]]', 'echo $((1 + $(\n{}\necho 1)))',
    'a=( "$(\n{}\n)" sudo )', 'cat < <(\n{}\n)', '{{\n{}\n}} | cat', 'echo su; {}', 'until\n{}\ntrue; do true; done',
    '! {{\n{}\n}}', '# sudo\n{}', '{{\n{}\n}} > x 2>&1', in_backticks, lambda line: 'bash -c ' + shlex.quote(line),
    lambda line: 'eval ' + shlex.quote(line), lambda line: 'echo ' + shlex.quote(line),
    lambda line: 'env A=1 sh -c ' + shlex.quote('bash -c ' + shlex.quote(line)),
    lambda line: 'echo x | xargs -I % bash -c ' + shlex.quote(line),
]
INNERMOST = [
    'sudo', 'bin/mount x', 'mount x', 's\\udo', '"su" x', "$'\\x73udo'", 'A=1 sudo', '>x sudo', 'env -u X sudo',
    'echo sudo',
    ': "; sudo"', "true '$(sudo)'", 'true # sudo', 'cat <<E\nsudo\nE', 'x=sudo', 'true sudo mount', 'echo \\`sudo\\`',
    'nice -n 1 mkfs.ext4', 'mount', 'sudo --help', "sh <<< 'sudo'", 'cat <<< sudo', 'cat <<< sudo | sh',
]


def random_line(rng, number):
    line = rng.choice(INNERMOST)
    for depth in range(rng.randint(1, 4)):
        wrapper = rng.choice(WRAPPERS)
        line = wrapper(line) if callable(wrapper) else wrapper.format(line).replace('E_N', f'E{number}{depth}')
    return line


def test_random_lines_are_denied_exactly_when_bash_calls_a_denied_command(comparison):
    rng = random.Random(int(os.environ.get('RINGWALL_SEED', '4')))
    count = int(os.environ.get('RINGWALL_LINES', '400'))
    differences, called = comparison.differences([random_line(rng, number) for number in range(count)])
    assert not differences
    assert count // 4 < called < count
