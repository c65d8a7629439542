"""`ringwall mcp install`: what it prints is what the client reads, what it writes takes nothing away, and the server that a
written file names really starts."""
import json
import os
import re
import stat
import subprocess
import tomllib

import pytest

REFUSED = 125
READING = ['Read', 'Glob', 'Grep', 'WebFetch']

# name: (the user's file, the project's, the section, the words of an entry)
CLIENTS = {
    'claude': ('.claude.json', '.mcp.json', 'mcpServers', {'type', 'command', 'args'}),
    'codex': ('.codex/config.toml', '.codex/config.toml', 'mcp_servers', {'command', 'args'}),
    'gemini': ('.gemini/settings.json', '.gemini/settings.json', 'mcpServers', {'command', 'args'}),
    'cursor': ('.cursor/mcp.json', '.cursor/mcp.json', 'mcpServers', {'type', 'command', 'args'}),
    'vscode': ('.config/Code/User/mcp.json', '.vscode/mcp.json', 'servers', {'type', 'command', 'args'}),
}
JSON_CLIENTS = [name for name in CLIENTS if name != 'codex']
FOLDER = {'cursor': '${workspaceFolder}', 'vscode': '${workspaceFolder}'}
each_client = pytest.mark.parametrize('client', CLIENTS)
each_scope = pytest.mark.parametrize('scope', ['user', 'project'])

# What people have in such files, written as nobody else would: each byte of it must still be there afterwards.
EXISTING = {
    'json': '{\n\t"theme" : "d\\u0061rk",\n\t"cost": 0.1, "big": 1E4,\n\t"SECTION": {\n\t\t"other": {"command": "o", "x": 1.50}\n'
            '\t},\n\t"z": [ ]\n}\n',
    'toml': '# mine\nmodel = "o"   # best\n\n[mcp_servers.other]\ncommand = \'o\'\nargs = [\n  "a",\n]\n\n[tui]\nx = 1\n',
}


def parse(client, text):
    return tomllib.loads(text) if client == 'codex' else json.loads(text)


def entry_of(client, text, name='ringwall'):
    return parse(client, text)[CLIENTS[client][2]][name]


def existing(client):
    return EXISTING['toml' if client == 'codex' else 'json'].replace('SECTION', CLIENTS[client][2])


@pytest.fixture
def place(home, workspace):
    """The file of a client, made ready to be written: place('codex', 'user') -> path."""
    def find(client, scope='user'):
        path = home / CLIENTS[client][0] if scope == 'user' else workspace / CLIENTS[client][1]
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
    return find


def neighbours(path):
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)


def ask_server(command, arguments, cwd, home):
    """Starts what a configuration names, as a client does, and asks who it is and what it has."""
    requests = [
        {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize',
         'params': {'protocolVersion': '2025-11-25', 'capabilities': {}, 'clientInfo': {'name': 'test', 'version': '1'}}},
        {'jsonrpc': '2.0', 'method': 'notifications/initialized'},
        {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/list'},
        {'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call', 'params': {'name': 'Read', 'arguments': {'file_path': 'here'}}},
    ]
    result = subprocess.run([command, *arguments], input=''.join(json.dumps(line) + '\n' for line in requests), cwd=cwd,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, capture_output=True, text=True, timeout=60)
    answers = {answer['id']: answer['result'] for answer in map(json.loads, result.stdout.splitlines())}
    assert (result.returncode, set(answers)) == (0, {1, 2, 3}), result.stderr
    assert answers[1]['serverInfo']['name'] == 'ringwall'
    return [tool['name'] for tool in answers[2]['tools']], answers[3]['content'][0]['text']


# Printing.

@each_client
@each_scope
def test_print_is_the_default_and_whole(ringwall, build, home, workspace, client, scope):
    result = ringwall('mcp', 'install', client, '--scope', scope, '--workspace', '.', '--readonly', '--level', 'standard')
    assert result.returncode == 0
    parsed = parse(client, result.stdout)
    assert list(parsed) == [CLIENTS[client][2]] and list(parsed[CLIENTS[client][2]]) == ['ringwall']
    entry = entry_of(client, result.stdout)
    assert set(entry) == CLIENTS[client][3] and entry.get('type', 'stdio') == 'stdio'
    assert entry['command'] == str(build / 'ringwall')
    assert entry['args'] == ['mcp', '--workspace', str(workspace), '--readonly', '--level', 'standard']
    path = home / CLIENTS[client][0] if scope == 'user' else workspace / CLIENTS[client][1]
    assert re.fullmatch(rf'put this into {re.escape(str(path))}(, or run: \w+ .+)?\n', result.stderr)
    assert result.stdout == ringwall('mcp', 'install', client, '--print', '--scope', scope, '--workspace', '.', '--readonly',
                                     '--level', 'standard').stdout
    assert list(home.iterdir()) == [workspace] and not list(workspace.iterdir())


@each_client
def test_without_a_workspace_it_is_the_folder_that_is_open(ringwall, client):
    folder = FOLDER.get(client)
    assert entry_of(client, ringwall('mcp', 'install', client).stdout)['args'] == \
        ['mcp', *(['--workspace', folder] if folder else [])]


@pytest.mark.parametrize('client, scope, words', [
    ('claude', 'user', 'mcp add --scope user NAME -- COMMAND ARGS'),
    ('claude', 'project', 'mcp add --scope project NAME -- COMMAND ARGS'),
    ('codex', 'user', 'mcp add NAME -- COMMAND ARGS'),
    ('gemini', 'user', 'mcp add --scope user NAME COMMAND -- ARGS'),
    ('gemini', 'project', 'mcp add --scope project NAME COMMAND -- ARGS'),
    ('vscode', 'user', '--add-mcp JSON'),
])
def test_the_clients_own_command_says_the_same(ringwall, tmp_path, workspace, client, scope, words):
    """The line is run by a shell, with a program in the client's place that tells its arguments."""
    odd = workspace / 'it\'s "a" \\x\n\x01\x7f ünï*{\U0001f600'
    odd.mkdir()
    result = ringwall('mcp', 'install', client, '--scope', scope, '--name', 'a-b_1', '--workspace', '.', cwd=odd)
    assert result.returncode == 0, result.stderr
    line = result.stderr.split(', or run: ')[1]
    assert result.stderr.count('\n') == 1
    program = tmp_path / 'bin' / line.split()[0]
    program.parent.mkdir()
    program.write_text('#!/usr/bin/python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n')
    program.chmod(0o755)
    told = json.loads(subprocess.run(['bash', '-c', line], env={'PATH': f'{program.parent}:/usr/bin:/bin', 'LANG': 'C.UTF-8'},
                                     capture_output=True, text=True, check=True).stdout)
    entry = entry_of(client, result.stdout, 'a-b_1')
    expected = []
    for word in words.split():
        expected += {'NAME': ['a-b_1'], 'COMMAND': [entry['command']], 'ARGS': entry['args']}.get(word, [word])
    if 'JSON' in expected:
        told[-1], expected[-1] = json.loads(told[-1]), {'name': 'a-b_1', **entry}
    assert told == expected


def test_places_that_the_environment_names(ringwall, tmp_path):
    for client, variable, path in [('claude', 'CLAUDE_CONFIG_DIR', '.claude.json'), ('codex', 'CODEX_HOME', 'config.toml'),
                                   ('gemini', 'GEMINI_CLI_HOME', '.gemini/settings.json'),
                                   ('vscode', 'XDG_CONFIG_HOME', 'Code/User/mcp.json')]:
        shown = ringwall('mcp', 'install', client, env={variable: str(tmp_path / 'else')}).stderr
        assert shown.startswith(f'put this into {tmp_path}/else/{path}')
        assert f'{tmp_path}/home/' in ringwall('mcp', 'install', client, env={variable: 'relative'}).stderr


# Writing.

@each_client
@each_scope
def test_a_written_file_starts_a_server(ringwall, build, home, workspace, place, client, scope):
    (workspace / 'here').write_text('found\n')
    path = home / CLIENTS[client][0] if scope == 'user' else workspace / CLIENTS[client][1]
    result = ringwall('mcp', 'install', client, '--write', '--scope', scope, '--readonly')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith(f"added 'ringwall' to {path}\nto undo: rm {path}\n")
    assert path.read_text() == ringwall('mcp', 'install', client, '--scope', scope, '--readonly').stdout
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if scope == 'user' else 0o666 & ~mask)
    assert not [name for name in neighbours(path) if name.startswith((path.name, f'.{path.name}'))]
    entry = entry_of(client, path.read_text())
    arguments = [word.replace('${workspaceFolder}', str(workspace)) for word in entry['args']]
    assert ask_server(entry['command'], arguments, workspace, home) == (READING, '1\tfound\n')


@each_client
@each_scope
def test_everything_else_in_a_file_stays(ringwall, place, client, scope):
    path = place(client, scope)
    before = existing(client)
    path.write_text(before)
    path.chmod(0o640)
    result = ringwall('mcp', 'install', client, '--write', '--scope', scope)
    backup = path.with_name(path.name + '.ringwall-backup')
    assert (result.returncode, result.stderr) == (0, '')
    assert f'the file as it was: {backup}\nto undo: mv {backup} {path}\n' in result.stdout
    after = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert backup.read_text() == before
    # Taking the new lines out again gives the old text: nothing moved and nothing was rewritten.
    if client == 'codex':
        assert after == before + '\n' + ringwall('mcp', 'install', client, '--scope', scope).stdout
    else:
        start = before.index('1.50}') + len('1.50}')
        end = len(after) - len(before) + start
        assert after[:start] + after[end:] == before and after[start:].startswith(',\n\t\t"ringwall": {\n\t\t\t"')
    expected = parse(client, before)
    expected[CLIENTS[client][2]]['ringwall'] = entry_of(client, ringwall('mcp', 'install', client, '--scope', scope).stdout)
    assert parse(client, after) == expected
    assert list(parse(client, after)) == list(parse(client, before))


@each_client
def test_twice_is_once(ringwall, place, client):
    path = place(client)
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', '--readonly', check=True)
    before = path.stat()
    for more in [], ['--force']:
        result = ringwall('mcp', 'install', client, '--write', '--readonly', *more)
        assert (result.returncode, result.stdout, result.stderr) == (0, f"'ringwall' is already there: {path}\n", '')
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [name for name in neighbours(path) if 'backup' in name] == [path.name + '.ringwall-backup']


@each_client
def test_another_of_that_name_needs_force_and_backups_stay(ringwall, place, client):
    path = place(client)
    path.write_text(existing(client))
    states = [path.read_text()]
    for i, flag in enumerate(['--readonly', '--best-effort', '--mdwe']):
        if i:
            result = ringwall('mcp', 'install', client, '--write', flag)
            assert (result.returncode, result.stdout) == (REFUSED, '')
            assert result.stderr.startswith(f"ringwall mcp install: {path} has another 'ringwall'; --force replaces it, --name "
                                            'chooses another name. It is:\n')
            assert ['--readonly', '--best-effort'][i - 1] in result.stderr
            assert path.read_text() == states[-1]
        result = ringwall('mcp', 'install', client, '--write', '--force', flag)
        assert (result.returncode, result.stderr) == (0, '')
        assert result.stdout.startswith(f"{'replaced' if i else 'added'} 'ringwall' {'in' if i else 'to'} {path}\n")
        states.append(path.read_text())
        assert flag in entry_of(client, states[-1])['args']
    for suffix, state in zip(['', '.1', '.2'], states):
        assert path.with_name(f'{path.name}.ringwall-backup{suffix}').read_text() == state
    ringwall('mcp', 'install', client, '--write', '--name', 'second', check=True)
    assert set(parse(client, path.read_text())[CLIENTS[client][2]]) == {'other', 'ringwall', 'second'}


@pytest.mark.parametrize('client, text, where', [
    *[(client, '{\n  // mine\n  "a": 1\n}\n', "2:3: string or '}' expected near '/'") for client in JSON_CLIENTS],
    *[(client, '{\n  "a": 1,\n}\n', "3:1: string or '}' expected near '}'") for client in JSON_CLIENTS],
    ('claude', '{"a": 1', '1:7: '),
    ('claude', '[]', '1:1: the file holds no object'),
    ('codex', 'a = 1\nb = "x\n', '2:5: this string does not end on its line'),
    ('codex', 'mcp_servers = {}\n', '1:1: the servers are written in another way here than as tables'),
])
def test_a_file_that_cannot_be_changed_is_left_alone(ringwall, place, client, text, where):
    path = place(client)
    path.write_text(text)
    result = ringwall('mcp', 'install', client, '--write', '--force')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    first, second, rest = result.stderr.split('\n', 2)
    assert first.startswith(f'ringwall mcp install: {path}:{where}')
    assert second == ('Nothing was written: only plain '
                      f'{"TOML" if client == "codex" else "JSON"} can be changed safely. Add this by hand:')
    assert rest == ringwall('mcp', 'install', client).stdout
    assert path.read_text() == text and not [name for name in neighbours(path) if 'ringwall' in name]


# Links.

@each_client
def test_a_linked_file_stays_linked(ringwall, home, place, client):
    """As people have it who keep such files under version control elsewhere."""
    (home / 'dotfiles').mkdir()
    target = home / 'dotfiles/file'
    target.write_text(existing(client))
    path = place(client)
    path.symlink_to(os.path.relpath(target, path.parent))
    result = ringwall('mcp', 'install', client, '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert path.is_symlink() and path.resolve() == target and not target.is_symlink()
    assert entry_of(client, target.read_text()) and f'to {target}\n' in result.stdout
    assert (home / 'dotfiles/file.ringwall-backup').read_text() == existing(client)


def test_a_linked_folder_is_followed(ringwall, home):
    (home / 'dotfiles').mkdir()
    (home / '.codex').symlink_to('dotfiles')
    ringwall('mcp', 'install', 'codex', '--write', check=True)
    assert (home / '.codex').is_symlink() and (home / 'dotfiles/config.toml').is_file()


def test_a_link_to_nothing_is_refused(ringwall, home, place):
    path = place('claude')
    path.symlink_to('nowhere')
    result = ringwall('mcp', 'install', 'claude', '--write')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert 'leads to nothing' in result.stderr and path.is_symlink() and not (home / 'nowhere').exists()


def test_in_a_project_no_link_leads_out(ringwall, home, workspace, place):
    """An agent that works there could have put it."""
    (home / 'precious').write_text('{}')
    path = place('claude', 'project')
    for target in ('../precious', home / 'precious'):
        path.symlink_to(target)
        result = ringwall('mcp', 'install', 'claude', '--write', '--scope', 'project')
        assert (result.returncode, result.stdout) == (REFUSED, '')
        assert f'{path} is a link that leads out of {workspace}' in result.stderr
        path.unlink()
    assert (home / 'precious').read_text() == '{}'
    (workspace / 'inside').write_text('{}')
    path.symlink_to('inside')
    ringwall('mcp', 'install', 'claude', '--write', '--scope', 'project', check=True)
    assert path.is_symlink() and entry_of('claude', (workspace / 'inside').read_text())


# What goes wrong.

@pytest.mark.only_user
@each_client
def test_a_read_only_directory(ringwall, place, client):
    path = place(client)
    path.write_text(existing(client))
    path.parent.chmod(0o555)
    result = ringwall('mcp', 'install', client, '--write')
    path.parent.chmod(0o755)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert re.search(rf'^ringwall mcp install: cannot .*{re.escape(path.name)}.*: Permission denied$', result.stderr)
    assert path.read_text() == existing(client) and not [name for name in neighbours(path) if 'ringwall' in name]


def test_what_is_no_file_is_refused(ringwall, home, place):
    path = place('claude')
    path.mkdir()
    assert 'is a directory' in ringwall('mcp', 'install', 'claude', '--write').stderr
    path.rmdir()
    os.mkfifo(path)
    assert 'is not a regular file' in ringwall('mcp', 'install', 'claude', '--write', timeout=10).stderr
    (home / '.codex').write_text('')
    assert 'not a directory' in ringwall('mcp', 'install', 'codex', '--write').stderr


def with_fault(build, home, log, client, where, action):
    return subprocess.run([build / 'tests/helpers/inject', log, where, action, '--', build / 'ringwall', 'mcp', 'install', client,
                           '--write', '--force'], cwd=home, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'},
                          capture_output=True, text=True, timeout=60)


def calls_of(log):
    """The calls from the first look at the client's file on."""
    calls = [line.split(' ', 3) for line in log.read_text().splitlines()]
    return [int(number) for _, number, name, *_ in calls if name in (
        'openat', 'openat2', 'read', 'write', 'fsync', 'fchmod', 'fchown', 'renameat2', 'unlinkat', 'close', 'getrandom')]


@pytest.mark.parametrize('client', ['claude', 'codex'])
def test_killed_at_any_moment_a_file_is_the_old_or_the_new_one(build, home, tmp_path, place, client):
    path, log = place(client), tmp_path / 'log'
    backup = path.with_name(path.name + '.ringwall-backup')
    before = existing(client)
    path.write_text(before)
    assert with_fault(build, home, log, client, '-', '-').returncode == 0
    after, seen = path.read_text(), set()
    for number in calls_of(log):
        for name in neighbours(path):
            if name.startswith((path.name + '.ringwall', f'.{path.name}.')):
                (path.parent / name).unlink()
        path.write_text(before)
        with_fault(build, home, log, client, f'front:{number}', 'kill=front')
        seen.add((path.read_text(), backup.exists()))
        assert not backup.exists() or backup.read_text() == before
    # All three occur: nothing done, the backup made, all done; and nothing else.
    assert seen == {(before, False), (before, True), (after, True)}


@pytest.mark.parametrize('error', ['ENOSPC', 'EIO', 'EACCES'])
def test_a_call_that_fails_changes_all_or_nothing(build, home, tmp_path, place, error):
    path, log = place('codex'), tmp_path / 'log'
    before = existing('codex')
    path.write_text(before)
    assert with_fault(build, home, log, 'codex', '-', '-').returncode == 0
    after, outcomes = path.read_text(), set()
    for number in calls_of(log):
        for name in neighbours(path):
            (path.parent / name).unlink()
        path.write_text(before)
        result = with_fault(build, home, log, 'codex', f'front:{number}', error)
        outcomes.add(result.returncode)
        if path.read_text() == before:
            assert result.returncode == REFUSED and result.stderr.startswith('ringwall mcp install: ')
            assert neighbours(path) == []
        else:
            assert path.read_text() == after
            assert path.with_name('config.toml.ringwall-backup').read_text() == before
    assert outcomes == {0, REFUSED}


# Names and arguments.

@pytest.mark.parametrize('client', CLIENTS)
@pytest.mark.parametrize('name', ['it\'s', '"q"', 'with space', 'new\nline', 'ünï', 'back\\slash', 'tab\t', '{brace*', '-',
                                  '\U0001f600'], ids=ascii)
def test_directories_of_any_name_are_found_again(ringwall, home, workspace, place, client, name):
    odd = workspace / name
    odd.mkdir()
    (odd / 'here').write_text('found\n')
    (odd / 'policy.yaml').write_text('mode: auto\n')
    path = place(client)
    path.write_text(existing(client))
    result = ringwall('mcp', 'install', client, '--write', '--workspace', '.', '--policy', 'policy.yaml', '--ro', 'here', cwd=odd)
    assert (result.returncode, result.stderr) == (0, '')
    entry = entry_of(client, path.read_text())
    assert entry['args'][3:] == ['--policy', f'{odd}/policy.yaml', '--ro', f'{odd}/here']
    assert ask_server(entry['command'], entry['args'], '/', home)[1] == '1\tfound\n'
    assert ringwall('mcp', 'install', client, '--write', '--workspace', '.', '--policy', 'policy.yaml', '--ro', 'here',
                    cwd=odd).stdout == f"'ringwall' is already there: {path}\n"


def test_paths_become_absolute_and_the_home_stays_one(ringwall, workspace, home):
    (workspace / 'sub').mkdir()
    shown = ringwall('mcp', 'install', 'codex', '--workspace=~/work', '--ro=~/x', '--rw', '../y', '--deny-read', 'sub/./../*.pem',
                     '--deny-write={workspace}/z', '--env', 'A=./b')
    assert entry_of('codex', shown.stdout)['args'] == [
        'mcp', '--workspace', '~/work', '--ro', '~/x', '--rw', f'{home}/y', '--deny-read', f'{workspace}/*.pem', '--deny-write',
        '{workspace}/z', '--env', 'A=./b'], shown.stderr


@pytest.mark.parametrize('name', ['it\'s', '"q"', 'a b', 'a\nb', 'ünï', 'a.b', 'x' * 65], ids=ascii)
def test_names_that_clients_refuse_are_refused(ringwall, home, name):
    result = ringwall('mcp', 'install', 'claude', '--write', '--name', name)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert re.fullmatch(r"ringwall mcp install: the name '[^\n]*' cannot be used: clients take letters, digits, - and _, 64 at "
                        r"most\ntry 'ringwall mcp install --help'\n", result.stderr)
    assert not (home / '.claude.json').exists()


@pytest.mark.parametrize('name, refused', [('${HOME}', {'claude', 'gemini', 'cursor', 'vscode'}), ('$HOME', {'gemini'}), ('a$', set())])
def test_a_path_that_the_client_would_change_is_refused(ringwall, workspace, name, refused):
    odd = workspace / name
    odd.mkdir()
    for client in CLIENTS:
        result = ringwall('mcp', 'install', client, '--ro', '.', cwd=odd)
        assert (client, result.returncode) == (client, REFUSED if client in refused else 0)
        assert client not in refused or "for a variable; use a path without '$'" in result.stderr


def test_bytes_that_are_no_text_are_refused(ringwall, workspace):
    result = ringwall('mcp', 'install', 'claude', '--ro', os.fsencode(workspace) + b'/\xff')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert "\\xff' is no UTF-8, and JSON cannot say it" in result.stderr


@pytest.mark.parametrize('arguments, message', [
    (['nobody'], "no client is called 'nobody'; there are claude|codex|gemini|cursor|vscode"),
    ([], 'claude|codex|gemini|cursor|vscode is missing'),
    (['claude', 'codex'], "unexpected argument 'codex'"),
    (['claude', '--print', '--write'], '--print and --write exclude each other'),
    (['claude', '--scope', 'local'], "option '--scope' takes user|project, not 'local'"),
])
def test_mistakes(ringwall, home, arguments, message):
    result = ringwall('mcp', 'install', *arguments)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert result.stderr.splitlines() == [f'ringwall mcp install: {message}', "try 'ringwall mcp install --help'"]
    assert not (home / '.claude.json').exists()


def test_a_policy_that_would_not_start_is_refused_now(ringwall, home, workspace):
    (workspace / 'policy.yaml').write_text('modee: auto\n')
    result = ringwall('mcp', 'install', 'claude', '--write', '--policy', 'policy.yaml')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert f'{workspace}/policy.yaml:1:1: error: ' in result.stderr
    result = ringwall('mcp', 'install', 'claude', '--write', '--workspace', 'nowhere')
    assert result.returncode == REFUSED
    assert f'the workspace {workspace}/nowhere cannot be used: No such file or directory' in result.stderr
    assert not (home / '.claude.json').exists()


def test_the_program_is_the_one_that_runs(ringwall, build, tmp_path):
    """Also when it was called by another name."""
    (tmp_path / 'link').symlink_to(build / 'ringwall')
    told = subprocess.run([tmp_path / 'link', 'mcp', 'install', 'claude'], env={'HOME': '/home/x'}, capture_output=True, text=True)
    assert entry_of('claude', told.stdout)['command'] == str(build / 'ringwall')
