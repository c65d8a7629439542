"""`ringwall mcp uninstall` takes out what `ringwall mcp install` has put into a client's files, and nothing else: after
both, each file has the bytes that it had before."""
import json
import os
import re
import subprocess

import pytest

from client_files import (CLIENTS, SWITCHED_OFF, SWITCHES, entry_of, existing, file_calls, find_path, names_of,
                          neighbours, parse, switches_of)

REFUSED = 125
each_client = pytest.mark.parametrize('client', CLIENTS)
each_switchable = pytest.mark.parametrize('client', SWITCHES)
each_scope = pytest.mark.parametrize('scope', ['user', 'project'])
# Every client without --only, and those that have switches with it.
each_way = pytest.mark.parametrize('client, flags', [*[(client, []) for client in CLIENTS],
                                                     *[(client, ['--only']) for client in SWITCHES]])

# Contents that are hard to restore: an empty text, empty objects, white space at odd places, lines without an end.
ODD = {
    'json': ['', ' \n', '{}', '{ }\n', '{\n}\n', '{"SECTION": {}}', '{"SECTION": { \n }, "a": [1 , 2]}\n\n',
             '{\r\n    "a" : {"b":{}},\r\n\r\n    "SECTION" :\r\n {"o":{}}\r\n}  ', '{"a":1,"SECTION":{"o":1}}',
             '{\n   "permissions": {"deny": []},\n   "tools": {"exclude": [ ]}\n}\n',
             '{\n\t"permissions": {"deny": ["Bash(su:*)"]},\n\t"tools": {\n\t\t"exclude": [\n\t\t\t"save_memory"\n'
             '\t\t]\n\t}\n}\n',
             '{"permissions": {"deny": ["WebFetch" ,  "a"]}, "tools": {"exclude": ["glob" ,  "a"]}}'],
    'toml': ['', '\n', '# only a comment', 'a = 1', 'a = 1\n\n\n', 'a = 1\r\n\r\n[b]\r\nc = 2', '[features]\n',
             '[features]\nshell_tool = true\n', '[features]\nview_image = false # mine\n[x]\n',
             '  [features] # x\n\n # y', '[mcp_servers]\n', '[mcp_servers.other]\ncommand = "o"\n   \n'],
}
# every content in each file of each client that it is for
ODD_FILES = [pytest.param(client, files, text, id=f'{client}-{files[0]}-{number}')
             for client in CLIENTS for files in dict.fromkeys([CLIENTS[client][:2], *[SWITCHES[name][:2]
                                                               for name in SWITCHES if name == client]])
             for number, text in enumerate(ODD['toml' if client == 'codex' else 'json'])]


@pytest.fixture
def config_path(home, workspace):
    """The path of a client's file; makes its directory: config_path('codex', 'user') -> path."""
    return lambda client, scope='user': find_path(CLIENTS[client], home, workspace, scope)


@pytest.fixture
def switches_path(home, workspace):
    """The path of the file with a client's switches; makes its directory."""
    return lambda client, scope='user': find_path(SWITCHES[client], home, workspace, scope)


def files_in(folder):
    """{path: bytes} of all files, without the backups."""
    return {path: path.read_bytes() for path in folder.rglob('*')
            if path.is_file() and '.ringwall-backup' not in path.name}


# There and back.

@each_way
@each_scope
def test_nothing_stays_of_files_that_were_not_there(ringwall, home, client, flags, scope):
    ringwall('mcp', 'install', client, '--write', *flags, '--scope', scope, check=True)
    made = files_in(home)
    result = ringwall('mcp', 'uninstall', client, '--write', '--scope', scope)
    assert (result.returncode, result.stderr, files_in(home)) == (0, '', {})
    for path, content in made.items():
        backup = path.with_name(path.name + '.ringwall-backup')
        assert f'removed {path}, in which nothing else was\nbackup: {backup}\n' in result.stdout
        assert backup.read_bytes() == content


@each_way
@each_scope
def test_file_with_other_settings_gets_its_bytes_back(ringwall, home, config_path, client, flags, scope):
    path = config_path(client, scope)
    path.write_text(existing(client))
    path.chmod(0o640)
    before = files_in(home)
    ringwall('mcp', 'install', client, '--write', *flags, '--scope', scope, check=True)
    assert files_in(home) != before
    result = ringwall('mcp', 'uninstall', client, '--write', '--scope', scope)
    assert (result.returncode, result.stderr, files_in(home)) == (0, '', before)
    assert f"removed 'ringwall' from {path}\n" in result.stdout and path.stat().st_mode & 0o777 == 0o640
    assert path.with_name(path.name + '.ringwall-backup').read_text() == existing(client)


@pytest.mark.parametrize('client, files, text', ODD_FILES)
@pytest.mark.parametrize('flags', [[], ['--only']], ids=['server', 'only'])
def test_odd_files_get_their_bytes_back(ringwall, home, workspace, client, files, text, flags):
    if flags and client not in SWITCHES:
        flags = []
    path = find_path(files, home, workspace)
    path.write_bytes(text.replace('SECTION', CLIENTS[client][2]).encode())
    before = files_in(home)
    ringwall('mcp', 'install', client, '--write', *flags, check=True)
    result = ringwall('mcp', 'uninstall', client, '--write')
    assert (result.returncode, result.stderr, files_in(home)) == (0, '', before), result.stdout


@each_switchable
def test_installing_in_two_steps_is_undone_too(ringwall, home, config_path, client):
    config_path(client).write_text(existing(client))
    before = files_in(home)
    ringwall('mcp', 'install', client, '--write', check=True)
    ringwall('mcp', 'install', client, '--write', '--only', check=True)
    ringwall('mcp', 'uninstall', client, '--write', check=True)
    assert files_in(home) == before


@each_client
def test_later_changes_by_the_client_are_kept(ringwall, config_path, client):
    """A client writes to its file after the installation, so no backup has the bytes that must stay."""
    path = config_path(client)
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', check=True)
    text = path.read_text()
    changed = text.replace('[tui]', '[other]\n[tui]') if client == 'codex' else text.replace('1E4', '1E5')
    path.write_text(changed + '\n')
    assert changed != text
    ringwall('mcp', 'uninstall', client, '--write', check=True)
    expected = existing(client)
    expected = expected.replace('[tui]', '[other]\n[tui]') if client == 'codex' else expected.replace('1E4', '1E5')
    assert path.read_text() == expected + '\n'


@each_way
def test_without_backups_the_same_settings_stay(ringwall, home, config_path, client, flags):
    path = config_path(client)
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', *flags, check=True)
    for backup in list(home.rglob('*.ringwall-backup*')):
        backup.unlink()
    ringwall('mcp', 'uninstall', client, '--write', check=True)
    assert parse(client, path.read_text()) == parse(client, existing(client))
    assert list(files_in(home)) == [path]


# Printing.

@each_way
def test_printing_is_the_default_and_changes_nothing(ringwall, home, config_path, client, flags):
    path = config_path(client)
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', *flags, check=True)
    before = files_in(home)
    result = ringwall('mcp', 'uninstall', client)
    assert (result.returncode, result.stderr, files_in(home)) == (0, '', before)
    first, rest = result.stdout.split('\n', 1)
    assert first == f"'ringwall' in {path}:" and rest.endswith('\n--write removes this\n')
    assert '"mcp"' in rest and result.stdout == ringwall('mcp', 'uninstall', client, '--print').stdout
    switches = home / SWITCHES[client][0] if flags else None
    assert (f'what switches off in {switches}: {names_of(client)}\n' in rest) if flags else 'switches off' not in rest


@each_client
@each_scope
@pytest.mark.parametrize('flags', [[], ['--write']], ids=['print', 'write'])
def test_nothing_to_remove_is_no_failure(ringwall, home, config_path, client, scope, flags):
    path = config_path(client, scope)
    for text in None, existing(client):
        if text is not None:
            path.write_text(text)
        before = files_in(home)
        result = ringwall('mcp', 'uninstall', client, '--scope', scope, *flags)
        assert (result.returncode, result.stderr) == (0, '')
        assert result.stdout == f"there is no 'ringwall' in {path}\n"
        assert files_in(home) == before and not [name for name in neighbours(path) if 'backup' in name]


# Entries of others.

@each_client
@pytest.mark.parametrize('flags', [[], ['--write']], ids=['print', 'write'])
def test_entry_of_another_program_is_shown_and_removed_only_by_force(ringwall, config_path, client, flags):
    path = config_path(client)
    path.write_text(existing(client))
    result = ringwall('mcp', 'uninstall', client, '--name', 'other', *flags)
    assert (result.returncode, result.stdout, path.read_text()) == (REFUSED, '', existing(client))
    first, entry = result.stderr.split('\n', 1)
    assert first == (f"ringwall mcp uninstall: 'other' in {path} does not start ringwall; --force removes it. It is:")
    assert 'command' in entry
    assert ringwall('mcp', 'uninstall', client, '--name', 'other', '--force', *flags).returncode == 0
    expected = parse(client, existing(client))
    if flags:
        del expected[CLIENTS[client][2]]
        assert parse(client, path.read_text()) == expected
        assert path.with_name(path.name + '.ringwall-backup').read_text() == existing(client)
    else:
        assert path.read_text() == existing(client)


@pytest.mark.parametrize('entry', [{'command': '/bin/ringwall-mcp', 'args': ['mcp']}, {'command': 'ringwall'},
                                   {'command': 'ringwall', 'args': ['run']}, {'url': 'http://127.0.0.1/'}, 'ringwall',
                                   {'command': 'x ringwall', 'args': ['mcp']}], ids=str)
def test_what_does_not_start_ringwall_is_not_ringwalls(ringwall, config_path, entry):
    path = config_path('claude')
    path.write_text(json.dumps({'mcpServers': {'ringwall': entry}}))
    result = ringwall('mcp', 'uninstall', 'claude', '--write')
    assert result.returncode == REFUSED and 'does not start ringwall' in result.stderr


@each_client
def test_entry_by_another_name_stays(ringwall, config_path, client):
    path = config_path(client)
    ringwall('mcp', 'install', client, '--write', check=True)
    ringwall('mcp', 'install', client, '--write', '--name', 'second', check=True)
    result = ringwall('mcp', 'uninstall', client, '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert list(parse(client, path.read_text())[CLIENTS[client][2]]) == ['second']
    ringwall('mcp', 'uninstall', client, '--write', '--name', 'second', check=True)
    assert not path.exists()


def test_entry_that_a_user_has_extended_is_removed(ringwall, config_path):
    path = config_path('codex')
    path.write_text('[mcp_servers.ringwall]\ncommand = "/usr/bin/ringwall"\nargs = ["mcp"]\n\n'
                    '[mcp_servers.ringwall.env]\nA = "b"\n\n# the end\n')
    ringwall('mcp', 'uninstall', 'codex', '--write', check=True)
    assert path.read_text() == '\n# the end\n'


# The client's own tools.

@each_switchable
def test_tools_that_were_off_before_stay_off(ringwall, switches_path, client):
    kept = {'claude': 'WebFetch', 'codex': 'view_image', 'gemini': 'glob'}[client]
    path = switches_path(client)
    path.write_text({'claude': '{"permissions": {"deny": ["WebFetch"]}}', 'codex': '[features]\nview_image = false\n',
                     'gemini': '{"tools": {"exclude": ["glob"]}}'}[client])
    ringwall('mcp', 'install', client, '--write', '--only', check=True)
    # A later change, so that the bytes of the backup cannot be restored.
    path.write_text(path.read_text().replace('{', '{"later": 1, ', 1) if client != 'codex' else
                    'later = 1\n' + path.read_text())
    result = ringwall('mcp', 'uninstall', client, '--write')
    assert (result.returncode, result.stderr) == (0, '')
    assert f'left off, because they were off before --only: {kept}\n' in result.stdout
    others = ', '.join(name for name in SWITCHED_OFF[client] if name != kept)
    assert f'switched on in {path}: {others}\n' in result.stdout
    assert list(switches_of(client, path.read_text())) == [kept] and parse(client, path.read_text())['later'] == 1


@each_switchable
def test_tools_that_a_user_has_switched_off_stay_off(ringwall, home, switches_path, client):
    """Without --only: the list is not complete."""
    path = switches_path(client)
    text = {'claude': '{"permissions": {"deny": ["Bash", "WebFetch"]}}', 'codex': '[features]\nshell_tool = false\n',
            'gemini': '{"tools": {"exclude": ["glob", "replace"]}}'}[client]
    path.write_text(text)
    before = files_in(home)
    ringwall('mcp', 'install', client, '--write', check=True)
    result = ringwall('mcp', 'uninstall', client, '--write')
    assert (result.returncode, result.stderr, files_in(home)) == (0, '', before)
    names = {'claude': 'Bash, WebFetch', 'codex': 'shell_tool', 'gemini': 'replace, glob'}[client]
    note = f'left off, because --only switches off more than these: {names}\n'
    assert note in result.stdout
    result = ringwall('mcp', 'uninstall', client, '--write', '--force')
    assert result.stdout.startswith("there is no 'ringwall' in ") and result.stdout.endswith(note)
    assert files_in(home) == before


@pytest.mark.parametrize('client', ['claude', 'gemini'])
def test_other_names_in_the_list_stay(ringwall, switches_path, client):
    path = switches_path(client)
    ringwall('mcp', 'install', client, '--write', '--only', check=True)
    outer, inner = SWITCHES[client][2]
    value = json.loads(path.read_text())
    value[outer][inner].insert(0, 'first')
    value[outer][inner].insert(4, 'middle')
    value[outer][inner].append('last')
    path.write_text(json.dumps(value, indent=1))
    ringwall('mcp', 'uninstall', client, '--write', check=True)
    assert json.loads(path.read_text()) == {outer: {inner: ['first', 'middle', 'last']}}
    value[outer][inner] = ['first', 'middle', 'last']
    assert path.read_text().rstrip() == json.dumps({outer: value[outer]}, indent=1)


# Files that cannot be edited.

@pytest.mark.parametrize('client, text, where', [
    *[(client, '{\n  // mine\n  "a": 1\n}\n', "2:3: string or '}' expected near '/'") for client in CLIENTS
      if client != 'codex'],
    ('codex', 'a = 1\nb = "x\n', '2:5: this string does not end on its line'),
    ('codex', 'mcp_servers = {}\n', '1:1: the servers are not written as tables here'),
    ('codex', 'features = {}\n', '1:1: the settings are not written as a table here'),
])
@pytest.mark.parametrize('flags', [[], ['--write', '--force']], ids=['print', 'write'])
def test_file_that_cannot_be_parsed_is_not_changed(ringwall, config_path, client, text, where, flags):
    path = config_path(client)
    path.write_text(text)
    result = ringwall('mcp', 'uninstall', client, *flags)
    assert (result.returncode, result.stdout, path.read_text()) == (REFUSED, '', text)
    first, second = result.stderr.splitlines()
    assert first.startswith(f'ringwall mcp uninstall: {path}:{where}')
    kind = 'TOML' if client == 'codex' else 'JSON'
    assert second.startswith(f'Nothing was written: only plain {kind} can be changed '
                             f"safely. Remove this by hand: 'ringwall' in {CLIENTS[client][2]}")
    assert not [name for name in neighbours(path) if 'ringwall' in name]


def test_nothing_is_removed_if_the_second_file_cannot_be_edited(ringwall, home, switches_path):
    ringwall('mcp', 'install', 'claude', '--write', '--only', check=True)
    switches_path('claude').write_text('{"permissions": 1}')
    before = files_in(home)
    result = ringwall('mcp', 'uninstall', 'claude', '--write')
    assert (result.returncode, files_in(home)) == (REFUSED, before)
    assert result.stderr.endswith('Remove this by hand: what --only has added to permissions\n')


@pytest.mark.only_user
@each_client
@pytest.mark.parametrize('there', [False, True], ids=['new', 'existing'])
def test_read_only_files_and_directories_are_not_changed(ringwall, config_path, client, there):
    path = config_path(client)
    if there:
        path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', check=True)
    text, names = path.read_text(), neighbours(path)
    for target, mode in (path, 0o444), (path.parent, 0o555):
        old = target.stat().st_mode
        target.chmod(mode)
        result = ringwall('mcp', 'uninstall', client, '--write')
        target.chmod(old)
        assert (result.returncode, result.stdout) == (REFUSED, ''), target
        assert 'Permission denied' in result.stderr and path.read_text() == text and neighbours(path) == names


def uninstall_with_fault(build, home, log, client, fault_at, action):
    return subprocess.run([build / 'tests/helpers/inject_fault', log, fault_at, action, '--', build / 'ringwall', 'mcp',
                           'uninstall', client, '--write'], cwd=home,
                          env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize('client', ['claude', 'codex'])
@pytest.mark.parametrize('action', ['kill=front', 'EIO', 'ENOSPC'])
@pytest.mark.parametrize('there', [False, True], ids=['new', 'existing'])
def test_after_a_fault_at_any_call_the_file_is_the_old_or_the_new_one(ringwall, build, home, tmp_path, config_path,
                                                                      client, action, there):
    path, log = config_path(client), tmp_path / 'log'
    if there:
        path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', check=True)
    before, old_backups = path.read_text(), neighbours(path)
    backup = path.with_name(f'{path.name}.ringwall-backup{".1" if there else ""}')
    assert uninstall_with_fault(build, home, log, client, '-', '-').returncode == 0
    after, seen = path.read_text() if there else None, set()
    for number in file_calls(log):
        for name in neighbours(path):
            if name not in old_backups:
                (path.parent / name).unlink()
        path.write_text(before)
        result = uninstall_with_fault(build, home, log, client, f'front:{number}', action)
        seen.add((path.read_text() if path.exists() else None, backup.exists()))
        assert not backup.exists() or backup.read_text() == before
        if action != 'kill=front':
            is_old = path.exists() and path.read_text() == before
            assert not is_old or (result.returncode, neighbours(path)) == (REFUSED, old_backups), result.stderr
    assert {(before, False), (after, True)} <= seen <= {(before, False), (before, True), (after, True)}


# Symbolic links.

@each_client
def test_symbolic_link_to_the_file_is_kept(ringwall, home, config_path, client):
    (home / 'dotfiles').mkdir()
    target, path = home / 'dotfiles/file', config_path(client)
    path.symlink_to(os.path.relpath(target, path.parent))
    for text in existing(client), '':
        target.write_text(text)
        ringwall('mcp', 'install', client, '--write', check=True)
        result = ringwall('mcp', 'uninstall', client, '--write')
        assert (result.returncode, result.stderr) == (0, '')
        assert path.is_symlink() and path.resolve() == target and target.read_text() == text


@each_client
def test_link_is_never_left_without_a_file(ringwall, home, config_path, client):
    """The file was made by the installation, and became a link afterwards."""
    path = config_path(client)
    ringwall('mcp', 'install', client, '--write', check=True)
    (home / 'dotfiles').mkdir()
    path.rename(home / 'dotfiles/file')
    path.symlink_to(home / 'dotfiles/file')
    ringwall('mcp', 'uninstall', client, '--write', check=True)
    assert path.is_symlink() and parse(client, path.read_text()) == {}


def test_in_a_project_a_link_that_leads_out_of_it_is_refused(ringwall, home, workspace, config_path):
    text = json.dumps({'mcpServers': {'ringwall': {'command': 'ringwall', 'args': ['mcp']}}})
    (home / 'precious').write_text(text)
    path = config_path('claude', 'project')
    path.symlink_to('../precious')
    result = ringwall('mcp', 'uninstall', 'claude', '--write', '--scope', 'project')
    assert (result.returncode, result.stdout) == (REFUSED, '')
    assert f'{path} is a symbolic link that leads out of {workspace}' in result.stderr
    assert (home / 'precious').read_text() == text


@each_switchable
def test_forged_backup_cannot_bring_settings_into_a_file(ringwall, workspace, config_path, switches_path, client):
    """An agent that works in the project can write the backups there."""
    path, switches = config_path(client, 'project'), switches_path(client, 'project')
    path.write_text(existing(client))
    ringwall('mcp', 'install', client, '--write', '--only', '--scope', 'project', check=True)
    forged = existing(client).replace('"o"', '"evil"').replace("'o'", "'evil'")
    for file in path, switches:
        for number in range(3):
            file.with_name(f'{file.name}.ringwall-backup{f".{number}" if number else ""}').write_text(forged)
    ringwall('mcp', 'uninstall', client, '--write', '--scope', 'project', check=True)
    assert parse(client, path.read_text()) == parse(client, existing(client))
    assert switches == path or not switches.exists()


# The command line.

@pytest.mark.parametrize('arguments, message', [
    (['nobody'], "unknown client 'nobody'; use one of claude|codex|gemini|cursor|vscode"),
    ([], 'claude|codex|gemini|cursor|vscode is missing'),
    (['claude', '--print', '--write'], '--print and --write exclude each other'),
    (['claude', '--name', 'a.b'], "the name 'a.b' cannot be used: clients take letters, digits, - and _, 64 at most"),
    (['claude', '--only'], "unknown option '--only'"),
])
def test_mistake_on_the_command_line_is_explained(ringwall, arguments, message):
    result = ringwall('mcp', 'uninstall', *arguments)
    assert (result.returncode, result.stdout) == (REFUSED, '')
    first, last = result.stderr.splitlines()
    assert first.startswith(f'ringwall mcp uninstall: {message}') and last == "try 'ringwall mcp uninstall --help'"


def test_undo_that_install_prints_undoes_it(ringwall, home, config_path):
    config_path('gemini').write_text(existing('gemini'))
    before = files_in(home)
    for flags in [], ['--only'], ['--name', 'second'], ['--scope', 'project']:
        result = ringwall('mcp', 'install', 'gemini', '--write', *flags)
        words = re.search(r'^to undo: ringwall (.*)$', result.stdout, re.M)[1].split()
        assert files_in(home) != before
        ringwall(*words, check=True)
        assert files_in(home) == before, words


def test_file_of_a_server_that_ended_is_not_read(ringwall, config_path):
    """A FIFO must not make the command hang."""
    path = config_path('claude')
    os.mkfifo(path)
    assert 'is not a regular file' in ringwall('mcp', 'uninstall', 'claude', '--write', timeout=10).stderr
    path.unlink()
    ringwall('mcp', 'install', 'claude', '--write', check=True)
    os.mkfifo(path.with_name(path.name + '.ringwall-backup'))
    ringwall('mcp', 'uninstall', 'claude', '--write', timeout=10, check=True)
    assert not path.exists() and 'ringwall' in entry_of('claude', path.with_name(
        path.name + '.ringwall-backup.1').read_text())['command']
