"""Hostile policies: fifos, devices and the like in place of a file, input that is huge or slow to process, escape
sequences in text and names, and host names in other scripts.
"""
import itertools
import json
import os
import pty
import re
import resource
import socket
import subprocess

import pytest
from test_policy import (RINGWALL_FAILED, assert_no_control_characters, check, policy, server,   # noqa: F401 (fixtures)
                         show)   # noqa: F401

SECONDS_MAX = 2         # of processor time, for any input
MEMORY_MAX = 512 << 20


# Paths that are not regular files, and files that are not text.

def make_fifo(path):
    os.mkfifo(path)


def make_socket(path):
    directory = os.open(path.parent, os.O_PATH)   # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(f'/proc/self/fd/{directory}/{path.name}')
    os.close(directory)


@pytest.mark.parametrize('make, expected', [
    (lambda path: path.mkdir(), 'directory'),
    (make_fifo, 'not a regular file'),
    (make_socket, ''),
    (lambda path: path.symlink_to('/dev/zero'), 'not a regular file'),
    (lambda path: path.symlink_to('/dev/tty'), ''),
    (lambda path: path.symlink_to('nowhere'), 'No such file'),
    (lambda path: path.symlink_to(path.name), 'symbolic links'),
    (lambda path: None, 'No such file'),
    (lambda path: path.symlink_to('/proc/self/mem'), ''),
    (lambda path: path.symlink_to('/proc/kmsg'), ''),
    (lambda path: path.symlink_to('/dev/full'), 'not a regular file'),
    (lambda path: path.write_bytes(b'\x7fELF' + bytes(5000)), 'NUL'),
    (lambda path: path.write_bytes(b'mode: \xff\n'), 'UTF-8'),
    (lambda path: path.write_bytes('mode: auto\n'.encode('utf-16')), 'UTF-8'),
    (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40), 'larger'),
], ids=lambda value: value if isinstance(value, str) else '')
@pytest.mark.parametrize('verb', [['policy', 'check'], ['policy', 'show', '--policy'], ['policy', 'show', '--settings'],
                                  ['policy', 'show', '--ceiling']], ids=' '.join)
def test_path_that_is_not_a_policy_file_is_refused_at_once(ringwall, workspace, make, expected, verb):
    path = workspace / 'odd.yaml'
    make(path)
    result = ringwall(*verb, 'odd.yaml', timeout=10)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert 'odd.yaml' in result.stderr and expected in result.stderr


@pytest.mark.only_user
@pytest.mark.parametrize('verb', [['policy', 'check'], ['policy', 'show', '--policy'], ['policy', 'show', '--ceiling']],
                         ids=' '.join)
def test_unreadable_policy_is_an_error(ringwall, policy, workspace, verb):
    name = policy('mode: auto\n')
    (workspace / name).chmod(0)
    result = ringwall(*verb, name)
    assert (result.returncode, result.stdout) == (RINGWALL_FAILED, '')
    assert 'Permission denied' in result.stderr


@pytest.mark.only_user
def test_unreadable_policy_in_the_home_is_an_error_and_not_skipped(ringwall, home):
    own = home / '.config/ringwall/policy.yaml'
    own.parent.mkdir(parents=True)
    own.write_text('mode: auto\n')
    own.chmod(0)
    assert ringwall('policy', 'show').returncode == RINGWALL_FAILED
    own.chmod(0o600)
    own.parent.chmod(0)
    try:
        assert ringwall('policy', 'show').returncode == RINGWALL_FAILED
    finally:
        own.parent.chmod(0o700)


# Bounded time and memory.

def list_at(key, entries):
    """A policy with one list, at a key like network.publish."""
    *outer, last = key.split('.')
    lines = [f'{" " * depth}{name}:' for depth, name in enumerate(outer)]
    indent = ' ' * len(outer)
    return '\n'.join([*lines, f'{indent}{last}:', *(f'{indent}- {entry}' for entry in entries), ''])


def alias_bomb():
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    lines += [f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]' for i in range(1, 30)]
    return '\n'.join(lines)


def servers(count, sandbox, more_keys=''):
    entries = ''.join(f'     s{i}: {{command: x, sandbox: {{{sandbox}}}{more_keys}}}\n' for i in range(count))
    return f'tools:\n modules:\n  mcp:\n   config:\n    servers:\n{entries}'


def numbered(text, count):
    return [text.replace('#', str(i)) for i in range(count)]


EXEC, WRITE = 'permissions: [process.exec]', 'permissions: [process.exec, fs.write]'
ALLOW, DENY = 'security.sandbox.allow_paths', 'filesystem.deny_read'
STARS = f'"/**/{"a*" * 40}#/**/{"b*" * 40}/**/c"'

# "full": as much as the caps allow.
HUGE = {
    'ten megabytes': lambda: '#' * (10 << 20),
    'almost the largest comment': lambda: '#' * ((1 << 20) - 1),
    'deep lists': lambda: '[' * 500000,
    'deep maps': lambda: '{a: ' * 200000,
    'deep blocks': lambda: '- ' * 500000,
    'alias bomb': alias_bomb,
    'many keys': lambda: ''.join(f'k{i}: 1\n' for i in range(90000)),
    'many equal keys': lambda: 'k: 1\n' * 200000,
    'one long word': lambda: 'mode: ' + 'x' * 1000000,
    'one long line of mistakes': lambda: '{' + ', '.join(numbered('k#: 1', 1000)) + '}',
    'wide characters': lambda: 'mode: ' + '€' * 300000,
    'quotes': lambda: "'" * 1000001,
    'many domains': lambda: list_at('network.allowed_domains', numbered('h#.ab.cd', 39900)),
    'many denied domains and servers': lambda: list_at('network.denied_domains', numbered('h#.ab.cd', 38000)) +
        servers(127, EXEC),
    'denied domains and servers, full': lambda: list_at('network.denied_domains', numbered('h#.ab.cd', 4000)) +
        servers(127, EXEC),
    'many private hosts': lambda: list_at('network.allow_private', numbered('h#.ab.cd', 39900)),
    'private hosts against domains, full': lambda: list_at('network.allow_private', numbered('p#.ab.cd', 256)) +
        ' allowed_domains:\n' + ''.join(numbered(' - h#.ab.cd\n', 3800)),
    'many ports': lambda: list_at('network.publish', numbered('1#', 5000)) + ' allow_local_ports:\n' +
        ''.join(numbered(' - 2#\n', 9000)),
    'many unix sockets': lambda: list_at('network.unix_sockets', numbered(f'/{"a/" * 100}#', 4000)),
    'unix sockets against patterns, full': lambda: list_at('network.unix_sockets', numbered(f'/{"ab/" * 60}#', 64)) +
        list_at(DENY, numbered('"/**/a*b*c#"', 1000)),
    'patterns against grants': lambda: list_at(DENY, numbered('/**/a*#', 19000)) +
        list_at(ALLOW, numbered('/a/b/c/d/e/f/g/#', 19000)),
    'patterns against grants, full': lambda: list_at(DENY, numbered('/**/a*b*#', 900)) +
        list_at(ALLOW, numbered(f'/{"ab/" * 60}#', 2000)),
    'stars against long paths': lambda: list_at(DENY, numbered(STARS, 1000)) +
        list_at(ALLOW, numbered(f'/{"a" * 200}/{"ab/" * 60}#', 1500)),
    'servers that write everywhere': lambda: servers(
        128, f'{WRITE}, paths: {{write: [{", ".join(numbered("/w#", 295))}]}}'),
    'servers that write, full': lambda: servers(128, f'{WRITE}, paths: {{write: [{", ".join(numbered("/w#", 14))}]}}'),
    'many writable places': lambda: list_at('filesystem.allow_write', numbered('/w/#', 1024)) + ' protect:\n' +
        ''.join(numbered(' - "**/n#"\n', 100)),
    'thousands of releases': lambda: list_at('filesystem.protect', ['-git', '+git'] * 8000),
    'many names in a path': lambda: list_at(DENY, ['/a' * 2000] * 200),
    'many variables': lambda: list_at('runtime.env', numbered('V#=x', 39900)),
    'a server with many variables': lambda: servers(1, EXEC, f', env: {{{", ".join(numbered("V#: x", 1000))}}}'),
    'many words of commands': lambda: servers(100, EXEC, f', args: [{", ".join(["x"] * 350)}]'),
}


def run_limited(build, arguments, cwd, home):
    """Runs ringwall with limits on memory and time. Returns the exit status, the errors, the processor time in seconds,
    which does not depend on how busy the machine is, and the peak memory in bytes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        resource.setrlimit(resource.RLIMIT_CPU, (5 * SECONDS_MAX, 5 * SECONDS_MAX))
    reader, writer = os.pipe()
    process = subprocess.Popen([build / 'ringwall', *arguments], cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=writer, preexec_fn=limit,
                               env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    os.close(writer)
    with open(reader, 'rb') as file:
        errors = file.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, errors.decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def assert_bounded(build, arguments, cwd, home):
    status, errors, seconds, size = run_limited(build, arguments, cwd, home)
    assert status in (0, RINGWALL_FAILED)
    assert 'no memory' not in errors and 'Cannot allocate' not in errors, errors   # the error names a cap
    assert len(errors) < 100000
    assert seconds < SECONDS_MAX, f'{seconds:.1f} s'
    assert size < MEMORY_MAX


@pytest.mark.parametrize('name', HUGE)
@pytest.mark.parametrize('verb', [['policy', 'check'], ['policy', 'show', '--json', '--policy'],
                                  ['policy', 'show', '--ceiling']], ids=' '.join)
def test_huge_policies_take_bounded_time_and_memory(build, home, workspace, name, verb):
    (workspace / 'huge.yaml').write_text(HUGE[name]())
    assert_bounded(build, [*verb, 'huge.yaml'], workspace, home)


HUGE_SRT = {
    'deep lists': lambda: '[' * 500000,
    'deep objects': lambda: '{"a":' * 200000,
    'many domains': lambda: json.dumps({'network': {'allowedDomains': numbered('h#.ab.cd', 39000)}}),
    'patterns against grants': lambda: json.dumps({'filesystem': {
        'denyRead': numbered('/**/a*#', 15000), 'allowWrite': numbered('/a/b/c/d/#', 15000)}}),
    'many keys': lambda: json.dumps(dict.fromkeys(numbered('k#', 60000), 1)),
    'white space': lambda: ' ' * (1 << 20) + '{}',
    'one long string': lambda: '"' + 'x' * 1000000 + '"',
}


@pytest.mark.parametrize('name', HUGE_SRT)
def test_huge_settings_of_srt_take_bounded_time_and_memory(build, home, workspace, name):
    (workspace / 'huge.json').write_text(HUGE_SRT[name]())
    for verb in ['policy', 'check'], ['policy', 'show', '--settings']:
        assert_bounded(build, [*verb, 'huge.json'], workspace, home)


def test_thousands_of_flags_take_bounded_time_and_memory(build, home, workspace):
    pairs = (('--ro', f'/a/{i}', '--deny-read', f'/**/b*{i}') for i in range(2000))
    assert_bounded(build, ['policy', 'show', *itertools.chain.from_iterable(pairs)], workspace, home)


# Control characters.

ESCAPES = '\\e[2J\\e]0;owned\\a\\u009b31m\\u202etxt\\b\\r\\x7f'   # as YAML writes them between double quotes

HOSTILE = [
    f'"{ESCAPES}": 1\n',
    f'mode: "{ESCAPES}"\n',
    f'filesystem: {{deny_read: ["/{ESCAPES}"], allow_write: ["/srv/{ESCAPES}"]}}\n',
    f'filesystem: {{deny_read: ["-{ESCAPES}"], protect: ["+{ESCAPES}"]}}\n',
    f'network: {{allowed_domains: ["{ESCAPES}.org"]}}\n',
    f'runtime: {{env: ["A={ESCAPES}"]}}\n',
    f'runtime: {{workdir: "./{ESCAPES}"}}\n',
    server('{command: x, sandbox: {permissions: [process.exec]}}', f'"{ESCAPES}"'),
    server(f'{{command: ["{ESCAPES}"], env: {{A: "{ESCAPES}"}}, sandbox: {{permissions: [process.exec]}}}}'),
    server(f'{{transport: http, url: "{ESCAPES}", sandbox: {{permissions: [net.http]}}}}'),
    'a: !\x1b x\n',
    'mode: auto # \x1b[2J\n',
    'nonsense: 1 # \u009b31m \u202e\n',
    'nonsense: 1 \x1b[2J\n',
    '\x1b[2J\n',
    '# \u2028\nnonsense: 1\n',
]


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
def test_control_characters_in_a_policy_are_not_printed(ringwall, policy, text):
    name = policy(text)
    assert_no_control_characters(ringwall('policy', 'check', name))
    for flag in '--policy', '--ceiling':
        assert_no_control_characters(ringwall('policy', 'show', flag, name))
        assert_no_control_characters(ringwall('policy', 'show', '--json', flag, name))


def test_control_characters_in_file_names_are_not_printed(ringwall, workspace, policy):
    name = '\x1b[2J\x07\u202e\n\u009b1m'
    (workspace / name).mkdir()
    bad, good = policy('nonsense: 1\n', f'{name}/bad.yaml'), policy('mode: auto\n', f'{name}/good.yaml')
    for arguments in (['policy', 'check', bad, good], ['policy', 'check', name], ['policy', 'check', f'{name}/missing'],
                      ['policy', 'show', '--policy', good], ['policy', 'show', '--ceiling', good, '--rw', name],
                      ['policy', 'show', '--workspace', name], ['policy', 'show', '--workspace', f'{name}/missing']):
        result = ringwall(*arguments)
        assert_no_control_characters(result)
    assert ringwall('policy', 'check', bad, good).stdout.count('\n') == 1
    answer = json.loads(assert_no_control_characters(ringwall('policy', 'check', '--json', bad, good)).stdout)
    assert [file['ok'] for file in answer['files']] == [False, True]
    assert_no_control_characters(ringwall('policy', 'show', cwd=workspace / name))


def test_on_a_terminal_only_colours_are_printed(build, home, workspace, policy):
    name = policy('"\\e[2J\\e]0;x\\a": 1\n')
    leader, follower = pty.openpty()
    subprocess.run([build / 'ringwall', 'policy', 'check', name], cwd=workspace, stdout=follower, stderr=follower,
                   timeout=60, env={'HOME': str(home), 'TERM': 'xterm'})
    os.close(follower)
    shown = os.read(leader, 65536)
    os.close(leader)
    assert b'\x1b[' in shown
    assert not re.sub(rb'\x1b\[[0-9;]*m', b'', shown).count(b'\x1b') and b'\a' not in shown


# Host names in other scripts.

@pytest.mark.parametrize('written, canonical', [
    ('bücher.example', 'xn--bcher-kva.example'),
    ('BÜCHER.example', 'xn--bcher-kva.example'),
    ('bu\u0308cher.example', 'xn--bcher-kva.example'),
    ('XN--BCHER-KVA.example', 'xn--bcher-kva.example'),
    ('*.bücher.example:8443', '*.xn--bcher-kva.example:8443'),
    ('faß.example', 'xn--fa-hia.example'),
    ('例え.テスト', 'xn--r8jz45g.xn--zckzah'),
    ('例え。テスト', 'xn--r8jz45g.xn--zckzah'),
    ('ｅｘａｍｐｌｅ.com', 'example.com'),
])
def test_host_names_in_other_scripts_have_one_canonical_form(show, policy, written, canonical):
    name = policy(f'network: {{allowed_domains: ["{written}"]}}\n')
    assert [host['host'] for host in show('--policy', name)['hosts']] == [canonical]
    assert [host['host'] for host in show('--allow-domain', written)['hosts']] == [canonical]


@pytest.mark.parametrize('written', [
    '１２７.0.0.1', '*.ｃｏｍ', '＊.example.com', 'a／b.example', 'a＠b.example', 'a：80.example', 'ex\u00adample..com',
    '\u200d.example', 'a\u2028b.example', '☃️\u0000.example', 'ü' * 64 + '.example', '-ü.example', '*.例え',
    'ü example.org', '[ü]',
])
def test_invalid_host_names_in_other_scripts_are_refused(check, policy, written):
    name = policy(json.dumps({'network': {'allowed_domains': [written]}}))
    answer, status = check(name)
    assert status == RINGWALL_FAILED, answer
