"""`ringwall mcp install` prints an entry in the client's format, keeps everything else in a file that it writes to, and
the written entry starts a server. With --only it switches off the client's own tools."""
import json
import os
import re
import stat
import subprocess

import pytest

from client_files import (CLIENTS, SWITCHED_OFF, SWITCHES, entry_of, existing, file_calls, find_path, names_of,
                          neighbours, parse, switches_of)

REFUSED = 125
READONLY_TOOLS = ['Read', 'List', 'Glob', 'Grep', 'WebFetch']

# What is said about the tools that the client keeps, with and without --only.
REMAINING = {'codex': 'Codex also keeps apply_patch, which edits files, and web_search: no feature switches them off. '
                      'In the same file, sandbox_mode = "read-only" makes it ask before each edit, and web_search = '
                      '"disabled" ends the search.\n'}
OWN_TOOLS = {
    'claude': 'Claude Code keeps its own tools, which ringwall does not confine: Bash, PowerShell, Monitor, Read, '
              'Edit, Write, NotebookEdit, Glob, Grep, LSP, EnterWorktree, ExitWorktree, WebFetch, WebSearch; --only '
              'switches them off\n',
    'codex': 'Codex keeps its own tools, which ringwall does not confine: exec_command, write_stdin, view_image; '
             '--only switches them off\n' + REMAINING['codex'],
    'gemini': 'Gemini CLI keeps its own tools, which ringwall does not confine: run_shell_command, '
              'list_background_processes, read_background_output, read_file, read_many_files, write_file, replace, '
              'glob, grep_search, list_directory, web_fetch, google_web_search; --only switches them off\n',
    'cursor': "Cursor keeps its own tools, which ringwall does not confine: commands in its terminal, editing, reading "
              "and searching files, the web; no file switches them off: in Cursor Settings, Agents, choose the run "
              "mode that asks, and refuse its calls\n",
    'vscode': "VS Code keeps its own tools, which ringwall does not confine: edit, execute, read, search, web; no file "
              "switches them off: in the Chat view choose Configure Tools, and leave only ringwall's selected\n",
}
each_switchable = pytest.mark.parametrize('client', SWITCHES)
JSON_CLIENTS = [name for name in CLIENTS if name != 'codex']
FOLDER = {'cursor': '${workspaceFolder}', 'vscode': '${workspaceFolder}'}
each_client = pytest.mark.parametrize('client', CLIENTS)
each_scope = pytest.mark.parametrize('scope', ['user', 'project'])


@pytest.fixture
def config_path(home, workspace):
    """The path of a client's file; makes its directory: config_path('codex', 'user') -> path."""
    return lambda client, scope='user': find_path(CLIENTS[client], home, workspace, scope)


def ask_server(command, arguments, cwd, home):
    """Starts a server as a client does. Returns the names of its tools, and its answer to a Read of the file `here`."""
    requests = [
        {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize',
         'params': {'protocolVersion': '2025-11-25', 'capabilities': {},
                    'clientInfo': {'name': 'test', 'version': '1'}}},
        {'jsonrpc': '2.0', 'method': 'notifications/initialized'},
        {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/list'},
        {'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call',
         'params': {'name': 'Read', 'arguments': {'file_path': 'here'}}},
    ]
    result = subprocess.run([command, *arguments], input=''.join(json.dumps(line) + '\n' for line in requests), cwd=cwd,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, capture_output=True, text=True,
                            timeout=60)
    answers = {answer['id']: answer['result'] for answer in map(json.loads, result.stdout.splitlines())}
    assert (result.returncode, set(answers)) == (0, {1, 2, 3}), result.stderr
    assert answers[1]['serverInfo']['name'] == 'ringwall'
    return [tool['name'] for tool in answers[2]['tools']], answers[3]['content'][0]['text']


# Printing.

@each_client
@each_scope
def test_printing_is_the_default_and_prints_a_complete_file(ringwall, build, home, workspace, client, scope):
    result = ringwall('mcp', 'install', client, '--scope', scope, '--workspace', '.', '--readonly', '--level',
                      'standard')
    assert result.returncode == 0
    parsed = parse(client, result.stdout)
    assert list(parsed) == [CLIENTS[client][2]] and list(parsed[CLIENTS[client][2]]) == ['ringwall']
    entry = entry_of(client, result.stdout)
    assert set(entry) == CLIENTS[client][3] and entry.get('type', 'stdio') == 'stdio'
    assert entry['command'] == str(build / 'ringwall')
    assert entry['args'] == ['mcp', '--workspace', str(workspace), '--readonly', '--level', 'standard']
    path = home / CLIENTS[client][0] if scope == 'user' else workspace / CLIENTS[client][1]
    hint, own_tools = result.stderr.split('\n', 1)
    assert re.fullmatch(rf'put this into {re.escape(str(path))}(, or run: \w+ .+)?', hint)
    assert own_tools == OWN_TOOLS[client]
    assert result.stdout == ringwall('mcp', 'install', client, '--print', '--scope', scope, '--workspace', '.',
                                     '--readonly',
                                     '--level', 'standard').stdout
    assert list(home.iterdir()) == [workspace] and not list(workspace.iterdir())


@each_client
def test_without_a_workspace_the_server_gets_the_folder_that_is_open(ringwall, client):
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
def test_clients_own_command_adds_the_same_entry(ringwall, tmp_path, workspace, client, scope, words):
    """The printed line is run by a shell; a program that prints its arguments stands in for the client."""
    odd = workspace / 'it\'s "a" \\x\n\x01\x7f ünï*{\U0001f600'
    odd.mkdir()
    result = ringwall('mcp', 'install', client, '--scope', scope, '--name', 'a-b_1', '--workspace', '.', cwd=odd)
    assert result.returncode == 0, result.stderr
    line, rest = result.stderr.split(', or run: ')[1].split('\n', 1)
    assert rest == OWN_TOOLS[client]
    program = tmp_path / 'bin' / line.split()[0]
    program.parent.mkdir()
    program.write_text('#!/usr/bin/python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n')
    program.chmod(0o755)
    passed = json.loads(subprocess.run(['bash', '-c', line],
                                       env={'PATH': f'{program.parent}:/usr/bin:/bin', 'LANG': 'C.UTF-8'},
                                       capture_output=True, text=True, check=True).stdout)
    entry = entry_of(client, result.stdout, 'a-b_1')
    expected = []
    for word in words.split():
        expected += {'NAME': ['a-b_1'], 'COMMAND': [entry['command']], 'ARGS': entry['args']}.get(word, [word])
    if 'JSON' in expected:
        passed[-1], expected[-1] = json.loads(passed[-1]), {'name': 'a-b_1', **entry}
    assert passed == expected


def test_variables_of_the_environment_move_the_file_of_a_client(ringwall, tmp_path):
    for client, variable, path in [('claude', 'CLAUDE_CONFIG_DIR', '.claude.json'),
                                   ('codex', 'CODEX_HOME', 'config.toml'),
                                   ('gemini', 'GEMINI_CLI_HOME', '.gemini/settings.json'),
                                   ('vscode', 'XDG_CONFIG_HOME', 'Code/User/mcp.json')]:
        hint = ringwall('mcp', 'install', client, env={variable: str(tmp_path / 'else')}).stderr
        assert hint.startswith(f'put this into {tmp_path}/else/{path}')
        assert f'{tmp_path}/home/' in ringwall('mcp', 'install', client, env={variable: 'relative'}).stderr


# Writing.

@each_client
@each_scope
def test_written_file_starts_a_server(ringwall, build, home, workspace, config_path, client, scope):
    (workspace / 'here').write_text('found\n')
    path = home / CLIENTS[client][0] if scope == 'user' else workspace / CLIENTS[client][1]
    result = ringwall('mcp', 'install', client, '--write', '--scope', scope, '--readonly')
    assert (result.returncode, result.stderr) == (0, '')
    undo = f'to undo: ringwall mcp uninstall {client}{" --scope project" if scope == "project" else ""} --write\n'
    assert result.stdout.startswith(f"added 'ringwall' to {path}\n{undo}") and OWN_TOOLS[client] in result.stdout
    assert path.read_text() == ringwall('mcp', 'install', client, '--scope', scope, '--readonly').stdout
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if scope == 'user' else 0o666 & ~mask)
    assert not [name for name in neighbours(path) if name.startswith((path.name, f'.{path.name}'))]
    entry = entry_of(client, path.read_text())
    arguments = [word.replace('${workspaceFolder}', str(workspace)) for word in entry['args']]
    assert ask_server(entry['command'], arguments, workspace, home) == (READONLY_TOOLS, '1\tfound\n')


@each_client
@each_scope
def test_everything_else_in_a_file_is_kept(ringwall, config_path, client, scope):
    path = config_path(client, scope)
    before = existing(client)
    path.write_text(before)
    path.chmod(0o640)
    result = ringwall('mcp', 'install', client, '--write', '--scope', scope)
    backup = path.with_name(path.name + '.ringwall-backup')
    assert (result.returncode, result.stderr) == (0, '')
    assert f'backup: {backup}\nto undo: ringwall mcp uninstall {client} ' in result.stdout
    after = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert backup.read_text() == before
    # Without the new lines it is the old text: nothing else was changed.
    if client == 'codex':
        assert after == before + '\n' + ringwall('mcp', 'install', client, '--scope', scope).stdout
    else:
        start = before.index('1.50}') + len('1.50}')
        end = len(after) - len(before) + start
        assert after[:start] + after[end:] == before and after[start:].startswith(',\n\t\t"ringwall": {\n\t\t\t"')
    expected = parse(client, before)
    expected[CLIENTS[client][2]]['ringwall'] = entry_of(client,
                                                        ringwall('mcp', 'install', client, '--scope', scope).stdout)
    assert parse(client, after) == expected
    assert list(parse(client, after)) == list(parse(client, before))


@each_client
def test_installing_twice_changes_nothing_the_second_time(ringwall, config_path, client):
    path = config_path(client)
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', '--readonly', check=True)
    before = path.stat()
    for extra_flags in [], ['--force']:
        result = ringwall('mcp', 'install', client, '--write', '--readonly', *extra_flags)
        assert (result.returncode, result.stderr) == (0, '')
        assert result.stdout == f"'ringwall' is already there: {path}\n" + OWN_TOOLS[client]
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [name for name in neighbours(path) if 'backup' in name] == [path.name + '.ringwall-backup']


@each_client
def test_replacing_another_entry_needs_force_and_earlier_backups_are_kept(ringwall, config_path, client):
    path = config_path(client)
    path.write_text(existing(client))
    states = [path.read_text()]
    for i, flag in enumerate(['--readonly', '--best-effort', '--mdwe']):
        if i:
            result = ringwall('mcp', 'install', client, '--write', flag)
            assert (result.returncode, result.stdout) == (REFUSED, '')
            assert result.stderr.startswith(f"ringwall mcp install: {path} has another 'ringwall'; --force replaces "
                                            f"it, --name "
                                            'chooses another name. It is:\n')
            assert ['--readonly', '--best-effort'][i - 1] in result.stderr
            assert path.read_text() == states[-1]
        result = ringwall('mcp', 'install', client, '--write', '--force', flag)
        assert (result.returncode, result.stderr) == (0, '')
        assert result.stdout.startswith(f"{'replaced' if i else 'added'} 'ringwall' {'in' if i else 'to'} {path}\n")
        backup = path.with_name(path.name + ('.ringwall-backup' if i == 0 else f'.ringwall-backup.{i}'))
        assert f'backup: {backup}\n' in result.stdout and (f'to undo: mv {backup} {path}\n' in result.stdout) == (i > 0)
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
    ('claude', '[]', '1:1: the file is not a JSON object'),
    ('codex', 'a = 1\nb = "x\n', '2:5: this string does not end on its line'),
    ('codex', 'mcp_servers = {}\n', '1:1: the servers are not written as tables here'),
])
def test_file_that_cannot_be_parsed_is_not_changed(ringwall, config_path, client, text, where):
    path = config_path(client)
    path.write_text(text)
    result = ringwall('mcp', 'install', client, '--write', '--force')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    first, second, rest = result.stderr.split('\n', 2)
    assert first.startswith(f'ringwall mcp install: {path}:{where}')
    assert second == ('Nothing was written: only plain '
                      f'{"TOML" if client == "codex" else "JSON"} can be changed safely. Add this by hand:')
    assert rest == ringwall('mcp', 'install', client).stdout
    assert path.read_text() == text and not [name for name in neighbours(path) if 'ringwall' in name]


# Switching off the client's own tools.

@pytest.fixture
def switches_path(home, workspace):
    """The path of the file with a client's switches; makes its directory: switches_path('claude', 'user') -> path."""
    return lambda client, scope='user': find_path(SWITCHES[client], home, workspace, scope)


@each_switchable
@each_scope
def test_only_switches_off_the_clients_own_tools(ringwall, config_path, switches_path, client, scope):
    path, switches = config_path(client, scope), switches_path(client, scope)
    result = ringwall('mcp', 'install', client, '--only', '--write', '--scope', scope)
    assert (result.returncode, result.stderr) == (0, '')
    assert f"added 'ringwall' to {path}\n" in result.stdout
    assert f'switched off in {switches}: {names_of(client)}\n' in result.stdout
    assert 'keeps its own tools' not in result.stdout and REMAINING.get(client, '') in result.stdout
    assert switches_of(client, switches.read_text()) == SWITCHED_OFF[client]
    assert entry_of(client, path.read_text())['args'][0] == 'mcp'
    again = ringwall('mcp', 'install', client, '--only', '--write', '--scope', scope)
    assert again.stdout == (f"'ringwall' is already there: {path}\nalready off in {switches}: {names_of(client)}\n" +
                            REMAINING.get(client, ''))
    # Without --only nothing is said about tools that are off.
    for flag in '--print', '--write':
        result = ringwall('mcp', 'install', client, flag, '--scope', scope)
        assert result.returncode == 0 and 'keeps its own tools' not in result.stdout + result.stderr


@each_switchable
def test_only_can_be_added_later(ringwall, config_path, switches_path, client):
    path, switches = config_path(client), switches_path(client)
    ringwall('mcp', 'install', client, '--write', check=True)
    before = path.read_text()
    result = ringwall('mcp', 'install', client, '--only', '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith(f"'ringwall' is already there: {path}\nswitched off in {switches}: ")
    # Uninstalling would undo more than this step.
    undo = f'mv {path}.ringwall-backup {path}' if path == switches else f'rm {switches}'
    assert f'to undo: {undo}\n' in result.stdout
    subprocess.run(undo.split(), check=True)
    assert path.read_text() == before and (path == switches or not switches.exists())


@each_switchable
@each_scope
def test_only_prints_what_it_would_write(ringwall, home, workspace, client, scope):
    result = ringwall('mcp', 'install', client, '--only', '--scope', scope)
    assert result.returncode == 0 and list(home.iterdir()) == [workspace] and not list(workspace.iterdir())
    base = home if scope == 'user' else workspace
    files = {base / CLIENTS[client][scope == 'project']: None, base / SWITCHES[client][scope == 'project']: None}
    hints = result.stderr.splitlines(keepends=True)
    assert [hint.split(', or run: ')[0].strip() for hint in hints[:len(files)]] == [f'put this into {path}'
                                                                                    for path in files]
    assert ''.join(hints[len(files):]) == REMAINING.get(client, '')
    assert (', or run: ' in hints[0]) == (client == 'claude')       # else the command would do only half of it
    ringwall('mcp', 'install', client, '--only', '--write', '--scope', scope, check=True)
    assert result.stdout == ''.join(path.read_text() for path in files)


@each_switchable
def test_only_keeps_everything_else_in_the_files(ringwall, switches_path, config_path, client):
    before = {
        'claude': '{\n\t"model" : "d\\u0061rk",\n\t"permissions": {\n\t\t"deny": [\n\t\t\t"WebFetch",\n'
                  '\t\t\t"Bash(su:*)"\n\t\t], "allow": []\n\t},\n\t"z": 1.50\n}\n',
        'codex': '# mine\nmodel = "o"\n\n[features]  # of Codex\nview_image = false\nweb = true # yes\n# end\n\n'
                 '[tui]\n',
        'gemini': '{"theme":"d\\u0061rk","tools":{"exclude": ["web_fetch", "save_memory"],"x":1.50}}',
    }[client]
    kept = {'claude': 'WebFetch', 'codex': 'view_image', 'gemini': 'web_fetch'}[client]
    path = switches_path(client)
    path.write_text(before)
    result = ringwall('mcp', 'install', client, '--only', '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert f'already off in {path}: {kept}\n' in result.stdout and f'{kept}, ' not in result.stdout
    after, now = path.read_text(), switches_of(client, path.read_text())
    assert path.with_name(path.name + '.ringwall-backup').read_text() == before
    if client == 'codex':
        assert after.startswith(before.replace('# end', 'shell_tool = false\nunified_exec = false\n# end'))
        assert now == {**SWITCHED_OFF['codex'], 'web': True}
    else:
        others = [name for name in SWITCHED_OFF[client] if name != kept]
        assert now == switches_of(client, before) + others
        for name in others:
            after = re.sub(rf',\s*"{name}"', '', after)
        if client == 'claude':
            assert after == before


def test_feature_that_is_on_in_codex_is_switched_off(ringwall, config_path):
    path = config_path('codex')
    path.write_text('[features]\nshell_tool = true  # needed\n')
    ringwall('mcp', 'install', 'codex', '--only', '--write', check=True)
    assert path.read_text().startswith('[features]\nshell_tool = false  # needed\nunified_exec = false\n')
    assert switches_of('codex', path.read_text()) == SWITCHED_OFF['codex']


@pytest.mark.parametrize('client, by_hand', [
    ('cursor', 'no file of Cursor switches off its own tools; in Cursor Settings, Agents, choose the run mode that '
               'asks, and refuse its calls'),
    ('vscode', "no file of VS Code switches off its own tools; in the Chat view choose Configure Tools, and leave only "
               "ringwall's selected"),
])
@pytest.mark.parametrize('flags', [[], ['--write']], ids=['print', 'write'])
def test_only_is_refused_where_no_file_can_do_it(ringwall, home, workspace, client, by_hand, flags):
    result = ringwall('mcp', 'install', client, '--only', *flags)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert result.stderr == f'ringwall mcp install: --only: {by_hand}\n'
    assert list(home.iterdir()) == [workspace]


@pytest.mark.parametrize('client, text, where', [
    ('claude', '{"permissions": []}', '1:17: this must be an object'),
    ('claude', '{"permissions": {"deny": "Bash"}}', '1:26: this must be a list'),
    ('claude', '{"a": 1,}', "1:9: string or '}' expected near '}'"),
    ('codex', 'features = { shell_tool = true }\n', '1:1: the settings are not written as a table here'),
    ('codex', 'features.shell_tool = true\n', '1:1: the settings are not written as a table here'),
    ('gemini', '{\n "tools": {"exclude": {}}}', '2:23: this must be a list'),
])
def test_nothing_is_written_if_one_of_the_files_cannot_be_edited(ringwall, config_path, switches_path, client, text,
                                                                 where):
    path, switches = config_path(client), switches_path(client)
    switches.write_text(text)
    result = ringwall('mcp', 'install', client, '--only', '--write')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert result.stderr.startswith(f'ringwall mcp install: {switches}:{where}\nNothing was written: ')
    assert all(name in result.stderr for name in SWITCHED_OFF[client])
    assert switches.read_text() == text and (path == switches or not path.exists())


def test_settings_of_claude_move_with_its_directory(ringwall, tmp_path):
    ringwall('mcp', 'install', 'claude', '--only', '--write', env={'CLAUDE_CONFIG_DIR': str(tmp_path / 'else')},
             check=True)
    assert switches_of('claude', (tmp_path / 'else/settings.json').read_text()) == SWITCHED_OFF['claude']


# Symbolic links.

@each_client
def test_symbolic_link_to_the_file_is_kept(ringwall, home, config_path, client):
    """People who keep such files in a repository elsewhere have symbolic links."""
    (home / 'dotfiles').mkdir()
    target = home / 'dotfiles/file'
    target.write_text(existing(client))
    path = config_path(client)
    path.symlink_to(os.path.relpath(target, path.parent))
    result = ringwall('mcp', 'install', client, '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert path.is_symlink() and path.resolve() == target and not target.is_symlink()
    assert entry_of(client, target.read_text()) and f'to {target}\n' in result.stdout
    assert (home / 'dotfiles/file.ringwall-backup').read_text() == existing(client)


def test_symbolic_link_to_the_directory_is_followed(ringwall, home):
    (home / 'dotfiles').mkdir()
    (home / '.codex').symlink_to('dotfiles')
    ringwall('mcp', 'install', 'codex', '--write', check=True)
    assert (home / '.codex').is_symlink() and (home / 'dotfiles/config.toml').is_file()


def test_dangling_link_is_refused(ringwall, home, config_path):
    path = config_path('claude')
    path.symlink_to('nowhere')
    result = ringwall('mcp', 'install', 'claude', '--write')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert 'points to a file that does not' in result.stderr and path.is_symlink() and not (home / 'nowhere').exists()


def test_in_a_project_a_link_that_leads_out_of_it_is_refused(ringwall, home, workspace, config_path):
    """An agent that works in the project could have made the link."""
    (home / 'precious').write_text('{}')
    path = config_path('claude', 'project')
    for target in ('../precious', home / 'precious'):
        path.symlink_to(target)
        result = ringwall('mcp', 'install', 'claude', '--write', '--scope', 'project')
        assert (result.returncode, result.stdout) == (REFUSED, '')
        assert f'{path} is a symbolic link that leads out of {workspace}' in result.stderr
        path.unlink()
    assert (home / 'precious').read_text() == '{}'
    (workspace / 'inside').write_text('{}')
    path.symlink_to('inside')
    ringwall('mcp', 'install', 'claude', '--write', '--scope', 'project', check=True)
    assert path.is_symlink() and entry_of('claude', (workspace / 'inside').read_text())


# Failures.

@pytest.mark.only_user
@each_client
def test_in_a_read_only_directory_nothing_is_changed(ringwall, config_path, client):
    path = config_path(client)
    path.write_text(existing(client))
    path.parent.chmod(0o555)
    result = ringwall('mcp', 'install', client, '--write')
    path.parent.chmod(0o755)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert re.search(rf'^ringwall mcp install: cannot .*{re.escape(path.name)}.*: Permission denied$', result.stderr)
    assert path.read_text() == existing(client) and not [name for name in neighbours(path) if 'ringwall' in name]


def test_directories_and_fifos_are_refused(ringwall, home, config_path):
    path = config_path('claude')
    path.mkdir()
    assert 'is a directory' in ringwall('mcp', 'install', 'claude', '--write').stderr
    path.rmdir()
    os.mkfifo(path)
    assert 'is not a regular file' in ringwall('mcp', 'install', 'claude', '--write', timeout=10).stderr
    (home / '.codex').write_text('')
    assert 'not a directory' in ringwall('mcp', 'install', 'codex', '--write').stderr


def install_with_fault(build, home, log, client, fault_at, action):
    return subprocess.run([build / 'tests/helpers/inject_fault', log, fault_at, action, '--', build / 'ringwall', 'mcp',
                           'install', client,
                           '--write', '--force'], cwd=home, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'},
                          capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize('client', ['claude', 'codex'])
def test_after_a_kill_at_any_call_the_file_is_the_old_or_the_new_one(build, home, tmp_path, config_path, client):
    path, log = config_path(client), tmp_path / 'log'
    backup = path.with_name(path.name + '.ringwall-backup')
    before = existing(client)
    path.write_text(before)
    assert install_with_fault(build, home, log, client, '-', '-').returncode == 0
    after, seen = path.read_text(), set()
    for number in file_calls(log):
        for name in neighbours(path):
            if name.startswith((path.name + '.ringwall', f'.{path.name}.')):
                (path.parent / name).unlink()
        path.write_text(before)
        install_with_fault(build, home, log, client, f'front:{number}', 'kill=front')
        seen.add((path.read_text(), backup.exists()))
        assert not backup.exists() or backup.read_text() == before
    # All three states occur, and no other: nothing done, only the backup made, everything done.
    assert seen == {(before, False), (before, True), (after, True)}


@pytest.mark.parametrize('error', ['ENOSPC', 'EIO', 'EACCES'])
def test_after_a_failing_call_everything_or_nothing_was_changed(build, home, tmp_path, config_path, error):
    path, log = config_path('codex'), tmp_path / 'log'
    before = existing('codex')
    path.write_text(before)
    assert install_with_fault(build, home, log, 'codex', '-', '-').returncode == 0
    after, outcomes = path.read_text(), set()
    for number in file_calls(log):
        for name in neighbours(path):
            (path.parent / name).unlink()
        path.write_text(before)
        result = install_with_fault(build, home, log, 'codex', f'front:{number}', error)
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
@pytest.mark.parametrize('name', ['it\'s', '"q"', 'with space', 'new\nline', 'ünï', 'back\\slash', 'tab\t', '{brace*',
                                  '-',
                                  '\U0001f600'], ids=ascii)
def test_directories_with_unusual_names_work(ringwall, home, workspace, config_path, client, name):
    odd = workspace / name
    odd.mkdir()
    (odd / 'here').write_text('found\n')
    (odd / 'policy.yaml').write_text('mode: auto\n')
    path = config_path(client)
    path.write_text(existing(client))
    result = ringwall('mcp', 'install', client, '--write', '--workspace', '.', '--policy', 'policy.yaml', '--ro',
                      'here', cwd=odd)
    assert (result.returncode, result.stderr) == (0, '')
    entry = entry_of(client, path.read_text())
    assert entry['args'][3:] == ['--policy', f'{odd}/policy.yaml', '--ro', f'{odd}/here']
    assert ask_server(entry['command'], entry['args'], '/', home)[1] == '1\tfound\n'
    assert ringwall('mcp', 'install', client, '--write', '--workspace', '.', '--policy', 'policy.yaml', '--ro', 'here',
                    cwd=odd).stdout == f"'ringwall' is already there: {path}\n" + OWN_TOOLS[client]


def test_relative_paths_become_absolute_and_a_tilde_is_kept(ringwall, workspace, home):
    (workspace / 'sub').mkdir()
    (home / 'y').mkdir()
    result = ringwall('mcp', 'install', 'codex', '--workspace=~/work', '--ro=~/x?', '--rw', '../y', '--deny-read',
                      'sub/./../*.pem',
                      '--deny-write={workspace}/z', '--env', 'A=./b')
    assert entry_of('codex', result.stdout)['args'] == [
        'mcp', '--workspace', '~/work', '--ro', '~/x?', '--rw', f'{home}/y', '--deny-read', f'{workspace}/*.pem',
        '--deny-write',
        '{workspace}/z', '--env', 'A=./b'], result.stderr


@pytest.mark.parametrize('name', ['it\'s', '"q"', 'a b', 'a\nb', 'ünï', 'a.b', 'x' * 65], ids=ascii)
def test_names_that_clients_refuse_are_refused(ringwall, home, name):
    result = ringwall('mcp', 'install', 'claude', '--write', '--name', name)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert re.fullmatch(r"ringwall mcp install: the name '[^\n]*' cannot be used: clients take letters, digits, - and "
                        r"_, 64 at "
                        r"most\ntry 'ringwall mcp install --help'\n", result.stderr)
    assert not (home / '.claude.json').exists()


@pytest.mark.parametrize('name, refused', [('${HOME}', {'claude', 'gemini', 'cursor', 'vscode'}), ('$HOME', {'gemini'}),
                                           ('a$', set())])
def test_path_in_which_the_client_would_expand_a_variable_is_refused(ringwall, workspace, name, refused):
    odd = workspace / name
    odd.mkdir()
    for client in CLIENTS:
        result = ringwall('mcp', 'install', client, '--ro', '.', cwd=odd)
        assert (client, result.returncode) == (client, REFUSED if client in refused else 0)
        assert client not in refused or "would expand a variable in" in result.stderr


def test_path_that_is_not_utf8_is_refused(ringwall, workspace):
    result = ringwall('mcp', 'install', 'claude', '--ro', os.fsencode(workspace) + b'/\xff')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert "\\xff' is not UTF-8, which JSON requires" in result.stderr


@pytest.mark.parametrize('arguments, message', [
    (['nobody'], "unknown client 'nobody'; use one of claude|codex|gemini|cursor|vscode"),
    ([], 'claude|codex|gemini|cursor|vscode is missing'),
    (['claude', 'codex'], "unexpected argument 'codex'"),
    (['claude', '--print', '--write'], '--print and --write exclude each other'),
    (['claude', '--scope', 'local'], "option '--scope' takes user|project, not 'local'"),
    (['claude', '--only=yes'], "option '--only' takes no value"),
])
def test_mistake_on_the_command_line_is_explained(ringwall, home, arguments, message):
    result = ringwall('mcp', 'install', *arguments)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert result.stderr.splitlines() == [f'ringwall mcp install: {message}', "try 'ringwall mcp install --help'"]
    assert not (home / '.claude.json').exists()


def test_invalid_policy_or_workspace_is_refused_at_installation(ringwall, home, workspace):
    (workspace / 'policy.yaml').write_text('modee: auto\n')
    result = ringwall('mcp', 'install', 'claude', '--write', '--policy', 'policy.yaml')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert f'{workspace}/policy.yaml:1:1: error: ' in result.stderr
    result = ringwall('mcp', 'install', 'claude', '--write', '--workspace', 'nowhere')
    assert result.returncode == REFUSED
    assert f'the workspace {workspace}/nowhere cannot be used: No such file or directory' in result.stderr
    assert not (home / '.claude.json').exists()


def test_entry_names_the_program_that_runs_also_through_a_link(ringwall, build, tmp_path):
    (tmp_path / 'link').symlink_to(build / 'ringwall')
    result = subprocess.run([tmp_path / 'link', 'mcp', 'install', 'claude'], env={'HOME': '/home/x'},
                            capture_output=True, text=True)
    assert entry_of('claude', result.stdout)['command'] == str(build / 'ringwall')
