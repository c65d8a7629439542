"""The command line: verbs, help, mistakes, output that cannot be written, helper programs. Then the files that are
generated from the same tables: completions, run in the shells that load them, and manual pages.
"""
import os
import pty
import re
import shutil
import subprocess

import pytest

RINGWALL_FAILED = 125   # the exit status when ringwall itself fails
STYLE = '\033['         # how every escape sequence for bold text or colour begins


@pytest.fixture
def verbs(ringwall):
    """Every verb, as a list of words."""
    listed = ringwall('help').stdout.split('Verbs:\n')[1].split('\n\n')[0]
    names = [re.split(r' {2,}', line.strip())[0].split() for line in listed.splitlines()]
    assert ['policy', 'check'] in names and ['help'] in names
    return names


def options_of(text):
    return set(re.findall(r'^ +(?:-\w, )?(--[a-z-]+)', text, re.M))


def assert_refused(result, *lines):
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert result.stderr.splitlines() == list(lines)


# Help.

def test_every_verb_has_help_that_fits_80_columns(ringwall, verbs):
    for verb in verbs:
        for flag in '-h', '--help':
            result = ringwall(*verb, flag)
            assert (result.returncode, result.stderr) == (0, '')
            assert result.stdout.startswith(f'usage: ringwall {" ".join(verb)} [OPTION...]')
            assert result.stdout == ringwall('help', *verb).stdout
            assert '--help' in result.stdout
            assert [line for line in result.stdout.splitlines() if len(line) > 80 or line.endswith(' ')] == []


@pytest.mark.parametrize('arguments', [['help'], ['--help'], ['-h'], ['help', 'policy'], ['policy', '--help']])
def test_overview_goes_to_standard_output_when_asked_for(ringwall, arguments):
    result = ringwall(*arguments)
    assert (result.returncode, result.stderr) == (0, '')
    assert 'policy check' in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


@pytest.mark.parametrize('arguments', [[], ['policy']])
def test_without_a_verb_the_overview_goes_to_standard_error(ringwall, arguments):
    result = ringwall(*arguments)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert result.stderr == ringwall('help', *arguments).stdout


def test_version(ringwall):
    result = ringwall('version')
    assert (result.returncode, result.stderr) == (0, '')
    assert re.fullmatch(r'ringwall \d+\.\d+\.\d+\n', result.stdout)
    assert ringwall('--version').stdout == result.stdout


def test_policy_show_takes_the_flags_that_set_keys_of_a_policy(ringwall):
    assert options_of(ringwall('policy', 'show', '--help').stdout) >= {
        '--policy', '--settings', '--level', '--workspace', '--ro', '--rw', '--deny-read', '--deny-write', '--read',
        '--allow-domain', '--allow-private', '--allow-local-port', '--publish', '--unix-socket', '--memory', '--cpu',
        '--processes', '--timeout', '--env', '--best-effort', '--mdwe', '--ceiling', '--json', '--help'}


@pytest.mark.parametrize('variables, styled', [({}, True), ({'NO_COLOR': '1'}, False), ({'NO_COLOR': ''}, True)])
def test_headings_are_bold_on_a_terminal_unless_no_color_is_set(build, variables, styled):
    leader, follower = pty.openpty()
    subprocess.run([build / 'ringwall', 'help'], stdout=follower, env=variables, check=True, timeout=60)
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert 'Verbs:' in shown
    assert (STYLE in shown) == styled


# Mistakes: one line says what is wrong, the next one where to look.

@pytest.mark.parametrize('arguments, verb, message', [
    ('polcy check x', '', "unknown verb 'polcy'; did you mean 'policy'?"),
    ('frobnicate', '', "unknown verb 'frobnicate'"),
    ('--hepl', '', "unknown option '--hepl'; did you mean '--help'?"),
    ('--json doctor', '', "unknown option '--json' before the verb"),
    ('policy chek x', ' policy', "unknown verb 'policy chek'; did you mean 'policy check'?"),
    ('help doctr', '', "unknown verb 'doctr'; did you mean 'doctor'?"),
    ('help doctor x', '', "unknown verb 'doctor x'; did you mean 'doctor'?"),
    ('policy show --levle strict', ' policy show', "unknown option '--levle'; did you mean '--level'?"),
    ('policy show --level stern', ' policy show', "option '--level' takes off|standard|strict|maximum, not 'stern'"),
    ('policy show -p', ' policy show', "option '--policy' needs FILE"),
    ('policy show --json --json', ' policy show', "option '--json' is given twice"),
    ('policy show here', ' policy show', "unexpected argument 'here'"),
    ('policy check', ' policy check', 'FILE... is missing'),
    ('doctor --jsno', ' doctor', "unknown option '--jsno'; did you mean '--json'?"),
    ('version --help=x', ' version', "option '--help' takes no value"),
])
def test_mistake_on_the_command_line_is_explained(ringwall, arguments, verb, message):
    assert_refused(ringwall(*arguments.split()), f'ringwall{verb}: {message}', f"try 'ringwall{verb} --help'")


def test_control_characters_in_a_verb_are_escaped_and_a_long_verb_is_cut(ringwall):
    assert_refused(ringwall('\033[2J'), "ringwall: unknown verb '\\x1b[2J'", "try 'ringwall --help'")
    assert_refused(ringwall('-\033[2J'), "ringwall: unknown option '-\\x1b[2J' before the verb",
                   "try 'ringwall --help'")
    assert len(ringwall('x' * 100000).stderr) < 200


# Output that cannot be written is a failure.

@pytest.mark.parametrize('arguments', [['help'], ['version'], ['doctor', '--help'], ['policy', 'schema']])
def test_full_disk_is_an_error(build, arguments):
    with open('/dev/full', 'wb') as full:
        result = subprocess.run([build / 'ringwall', *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == RINGWALL_FAILED
    assert result.stderr == b'ringwall: cannot write the output: No space left on device\n'


def test_closed_pipe_is_an_error(build):
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([build / 'ringwall', 'help'], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert result.returncode == RINGWALL_FAILED
    assert result.stderr == b'ringwall: cannot write the output: Broken pipe\n'


def test_closed_standard_output_is_an_error(build):
    result = subprocess.run(['/bin/sh', '-c', 'exec "$0" help >&-', build / 'ringwall'], stderr=subprocess.PIPE,
                            timeout=60)
    assert result.returncode == RINGWALL_FAILED


# Helper programs.

@pytest.fixture
def installed(build, tmp_path):
    """A copy of ringwall in a bin directory, without its helpers."""
    (tmp_path / 'bin').mkdir()
    return shutil.copy((build / 'ringwall').resolve(), tmp_path / 'bin/ringwall')


def write_helper(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{script}\n')
    path.chmod(0o755)


def doctor(program, *arguments):
    return subprocess.run([program, 'doctor', *arguments], capture_output=True, text=True, timeout=60)


def test_missing_helper_is_named(installed, tmp_path):
    result = doctor(installed)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert result.stderr.startswith('ringwall doctor: the program ringwall-doctor is not installed (looked in '
                                    f'{tmp_path}/bin/, {tmp_path}/bin/../libexec/ringwall and /')


def test_helper_that_cannot_start_is_named(installed, tmp_path):
    helper = tmp_path / 'libexec/ringwall/ringwall-doctor'
    write_helper(helper, 'true')
    helper.chmod(0o644)
    result = doctor(installed)
    assert result.returncode == RINGWALL_FAILED
    assert 'ringwall-doctor: Permission denied' in result.stderr


def test_helper_gets_the_arguments_and_its_exit_status_is_returned(installed, tmp_path):
    write_helper(tmp_path / 'libexec/ringwall/ringwall-doctor', 'echo "$# $1"; exit 7')
    result = doctor(installed, '--json')
    assert (result.returncode, result.stdout, result.stderr) == (7, '1 --json\n', '')


def test_helper_beside_the_program_is_preferred_also_through_a_symlink(installed, tmp_path):
    write_helper(tmp_path / 'libexec/ringwall/ringwall-doctor', 'echo far')
    write_helper(tmp_path / 'bin/ringwall-doctor', 'echo near')
    (tmp_path / 'link').symlink_to(installed)
    assert doctor(tmp_path / 'link').stdout == 'near\n'


def test_helper_in_path_is_never_run(installed, tmp_path):
    write_helper(tmp_path / 'elsewhere/ringwall-doctor', 'echo wrong')
    result = subprocess.run([installed, 'doctor'], capture_output=True, timeout=60, cwd=tmp_path / 'elsewhere',
                            env={'PATH': f'{tmp_path}/elsewhere:.'})
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, b'')


def test_helper_does_not_inherit_an_ignored_sigpipe(installed, tmp_path):
    write_helper(tmp_path / 'bin/ringwall-doctor', 'grep SigIgn /proc/self/status')
    ignored = int(doctor(installed).stdout.split()[1], 16)
    assert ignored & 1 << 12 == 0


# Completions.

@pytest.fixture
def script(build):
    return lambda name: build / 'src/cli/completions' / name


@pytest.fixture
def bash(script, workspace):
    """Completes words in bash as readline does: the last word is being typed, and "=" is a word of its own."""
    (workspace / 'a file.yaml').touch()
    (workspace / 'a folder').mkdir()
    program = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); '
               '_ringwall; printf "%s\\n" "${COMPREPLY[@]}"')

    def complete(*words):
        result = subprocess.run(['bash', '--norc', '-c', program, 'bash', script('ringwall'), 'ringwall', *words],
                                capture_output=True, text=True, cwd=workspace, timeout=60, check=True)
        assert result.stderr == ''
        return sorted(result.stdout.splitlines()) if result.stdout != '\n' else []
    return complete


def test_bash_completes_verbs(bash, verbs):
    assert bash('pol') == ['policy']
    assert set(bash('')) == {verb[0] for verb in verbs}
    assert set(bash('policy', '')) == {verb[1] for verb in verbs if verb[0] == 'policy'}
    assert bash('help', 'doc') == ['doctor']
    assert bash('help', 'policy', 'sho') == ['show']
    assert bash('--v') == ['--version']
    assert bash('nonsense', '') == []
    assert bash('mcp', 'ins') == bash('mcp', 'install') == ['install']
    assert bash('help', 'mcp', '') == ['install', 'uninstall']


def test_bash_completes_every_option_of_every_verb(bash, ringwall, verbs):
    for verb in verbs:
        assert set(bash(*verb, '--')) == options_of(ringwall(*verb, '--help').stdout)


def test_bash_completes_values(bash):
    assert bash('policy', 'show', '--level', 's') == ['standard', 'strict']
    assert bash('policy', 'show', '--level', '=') == ['maximum', 'off', 'standard', 'strict']
    assert bash('policy', 'show', '--level', '=', 'ma') == ['maximum']
    assert bash('policy', 'show', '--json', '--ro', 'a') == ['a file.yaml', 'a folder']
    assert bash('policy', 'show', '-w', 'a') == ['a folder']
    assert bash('policy', 'show', '--memory', '') == []
    assert bash('policy', 'show', '') == []
    assert bash('policy', 'check', '--json', 'a f') == ['a file.yaml', 'a folder']
    assert bash('mcp', 'install', 'c') == ['claude', 'codex', 'cursor']
    assert bash('mcp', 'install', '--write', 'v') == ['vscode']


def test_bash_script_registers_itself_for_ringwall(script):
    result = subprocess.run(['bash', '--norc', '-c', 'source "$0"; complete -p ringwall', script('ringwall')],
                            capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == 'complete -F _ringwall ringwall\n'


@pytest.mark.parametrize('shell, name', [('bash', 'ringwall'), ('zsh', '_ringwall'), ('fish', 'ringwall.fish')])
def test_completion_scripts_have_no_syntax_errors(script, home, shell, name):
    result = subprocess.run([shell, '-n', script(name)], capture_output=True, text=True, timeout=60,
                            env={**os.environ, 'HOME': str(home)})
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')


def test_fish_completes(script, home, workspace, ringwall, verbs):
    def complete(line):
        result = subprocess.run(['fish', '--no-config', '-c', 'source $argv[1]; complete -C "$argv[2]"',
                                 script('ringwall.fish'), line], capture_output=True, text=True, cwd=workspace,
                                timeout=60, check=True, env={'HOME': str(home), 'PATH': os.environ['PATH']})
        assert result.stderr == ''
        return [entry.split('\t')[0] for entry in result.stdout.splitlines()]
    (workspace / 'file.yaml').touch()
    (workspace / 'folder').mkdir()
    assert set(complete('ringwall ')) == {verb[0] for verb in verbs}
    assert sorted(complete('ringwall policy ')) == ['check', 'schema', 'show']
    assert complete('ringwall help policy sh') == ['show']
    assert complete('ringwall policy show --level s') == ['standard', 'strict']
    assert complete('ringwall policy show --level=m') == ['--level=maximum']
    assert complete('ringwall policy show -w fo') == ['folder/']
    assert complete('ringwall policy check fi') == ['file.yaml']
    assert complete('ringwall policy show fi') == []
    assert complete('ringwall mcp i') == ['install']
    assert complete('ringwall mcp install c') == ['claude', 'codex', 'cursor']
    for verb in verbs:
        assert set(complete(f'ringwall {" ".join(verb)} --')) == options_of(ringwall(*verb, '--help').stdout)


def test_zsh_completes(script, ringwall, verbs):
    """Replaces functions of zsh's completion system by functions that print the completions that they get."""
    program = ('_arguments() { print -rl -- "$@"; print "at $words[1] $CURRENT"; }; '
               '_describe() { print -rl -- ${(P)4}; }; '
               'file=$1; shift; words=("$@"); CURRENT=$#; PREFIX=$words[-1]; source $file')

    def complete(*words):
        result = subprocess.run(['zsh', '-f', '-c', program, 'zsh', script('_ringwall'), 'ringwall', *words],
                                capture_output=True, text=True, timeout=60)
        assert result.stderr == ''
        return result.stdout.splitlines()
    assert {entry.split(':')[0] for entry in complete('')} == {verb[0] for verb in verbs}
    assert [entry.split(':')[0] for entry in complete('policy', '')] == ['check', 'show', 'schema']
    assert complete('--')[0].startswith('--help[')
    shown = complete('policy', 'show', '')
    assert shown[-1] == 'at show 2'
    assert '*-p+[Add this policy to the machine\'s and your own]:FILE:_files' in shown
    assert complete('mcp', '')[0].startswith('install:') and complete('mcp', 'install', '')[-1] == 'at install 2'
    assert any(entry.startswith('--level=') and entry.endswith(':(off standard strict maximum)') for entry in shown)
    for verb in verbs:
        specs = '\n'.join(complete(*verb, ''))
        if verb != ['help']:
            names = set(re.findall(r'^(?:\*|\(.*?\))?(--[a-z-]+)', specs, re.M))
            assert names == options_of(ringwall(*verb, '--help').stdout)


# Manual pages.

@pytest.fixture
def manual(build):
    """Formats a page as a reader sees it. A warning of groff is a failure."""
    def read(page):
        result = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', build / 'man' / page], timeout=60,
                                capture_output=True, text=True, env={'MANWIDTH': '80', 'PATH': os.environ['PATH'],
                                                                     'LANG': 'C.UTF-8', 'PAGER': 'cat'})
        assert (result.returncode, result.stderr) == (0, '')
        return re.sub(r'.\x08|\x1b\[[0-9;]*m', '', result.stdout)
    return read


def test_manual_pages_format_without_warnings_and_have_all_sections(manual):
    for page in 'ringwall.1', 'ringwall-doctor.1':
        text = manual(page)
        for heading in 'NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'SEE ALSO':
            assert re.search(f'^{heading}$', text, re.M), (page, heading)
        assert '@' not in text


def test_manual_has_every_verb_and_every_option(manual, ringwall, verbs):
    text = manual('ringwall.1')
    for verb in verbs:
        name = ' '.join(verb)
        assert f'ringwall {name}' in text.split('SYNOPSIS')[1].split('DESCRIPTION')[0]
        assert re.search(f'^ +{name}$', text.split('\nVERBS\n')[1].split('\nOPTIONS\n')[0], re.M)
        section = re.search(rf'^   (?=\S)[^\n]*\b{name}\b[^\n]*\n(.*?)(?=^\S|^   \S)', text.split('\nOPTIONS\n')[1],
                            re.M | re.S)
        assert options_of(section[1]) == options_of(ringwall(*verb, '--help').stdout), name
