"""`ringwall mcp` over standard input and output: messages, the tools in their box, and processes that die."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from mcp_client import details

META = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}


class Client:
    """An MCP client with a server of its own: client('Read', file_path='f') -> result."""

    def __init__(self, build, home, workspace, *arguments, modern=False, wrapper=()):
        self.process = subprocess.Popen([*wrapper, build / 'ringwall', 'mcp', *arguments], cwd=workspace, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'})
        self.modern, self.last, self.workspace = modern, 0, workspace

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + '\n')
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def ask(self, method, **params):
        self.last += 1
        if self.modern:
            params['_meta'] = META
        self.send({'jsonrpc': '2.0', 'id': self.last, 'method': method, 'params': params})
        reply = self.receive()
        assert reply['id'] == self.last and reply['jsonrpc'] == '2.0'
        return reply['result'] if 'result' in reply else reply['error']

    def __call__(self, tool, **arguments):
        return self.ask('tools/call', name=tool, arguments=arguments)

    def text(self, tool, **arguments):
        result = self(tool, **arguments)
        assert not result['isError'], result
        return result['content'][0]['text']

    def refusal(self, tool, **arguments):
        result = self(tool, **arguments)
        assert result['isError'], result
        return result['content'][0]['text']

    def child_of_keeper(self, index):
        """The process that a keeper confines. The first keeper is the server's, the others are those of tools."""
        def children(pid):
            found = [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
            return [child for child in found if pathlib.Path(f'/proc/{child}/comm').read_text() != 'rw-guard\n']
        for _ in range(100):
            child = children(children(self.process.pid)[index])[-1]    # the keeper's first child may be a watchdog
            if 'Seccomp:\t0' not in pathlib.Path(f'/proc/{child}/status').read_text():
                break
            time.sleep(0.1)     # a guard that has no name yet
        return child

    def server_pid(self):
        return self.child_of_keeper(0)

    def worker_pid(self):
        return self.child_of_keeper(-1)


@pytest.fixture
def connect(build, home, workspace):
    clients = []

    def start(*arguments, modern=False):
        clients.append(Client(build, home, workspace, *arguments, modern=modern))
        return clients[-1]
    yield start
    for client in clients:
        with contextlib.suppress(BrokenPipeError):
            client.process.stdin.close()
        assert client.process.wait(timeout=20) == 0 or client.process.returncode < 0, client.process.stderr.read()
        client.process.stdout.close()
        client.process.stderr.close()


@pytest.fixture(params=['standard', 'strict', 'maximum'])
def level(request):
    return request.param


@pytest.fixture
def client(connect, level):
    return connect('--level', level)


@pytest.mark.quick
def test_legacy_client_begins_with_initialize(client):
    result = client.ask('initialize', protocolVersion='2025-11-25', capabilities={},
                        clientInfo={'name': 'test', 'version': '1'})
    assert result['protocolVersion'] == '2025-11-25' and result['serverInfo']['name'] == 'ringwall'
    client.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})
    tools = {tool['name']: tool for tool in client.ask('tools/list')['tools']}
    assert list(tools) == ['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'List', 'Move', 'Glob', 'Grep', 'Bash',
                           'BashOutput', 'KillShell', 'WebFetch']
    assert tools['Read']['annotations'] == {'title': 'Read a file', 'readOnlyHint': True, 'destructiveHint': False,
                                            'idempotentHint': True, 'openWorldHint': False}
    assert tools['Write']['inputSchema']['required'] == ['file_path', 'content']


@pytest.mark.quick
def test_modern_client_needs_no_initialize(connect, level, workspace):
    client = connect('--level', level, modern=True)
    (workspace / 'f').write_text('text\n')
    assert '2026-07-28' in client.ask('server/discover')['supportedVersions']
    result = client('Read', file_path='f')
    assert result['resultType'] == 'complete' and result['content'][0]['text'] == '1\ttext\n'
    assert details(result) == {'path': str(workspace / 'f'), 'first_line': 1, 'lines': 1, 'more': False}


@pytest.mark.quick
def test_file_is_written_read_and_edited(client, workspace):
    assert client.text('Write', file_path='dir/new.txt',
                       content='one\ntwo\n') == f'wrote 8 bytes to {workspace}/dir/new.txt'
    assert client.text('Edit', file_path='dir/new.txt', old_string='two',
                       new_string='2').startswith('replaced 1 occurrence')
    assert client.text('Read', file_path=str(workspace / 'dir/new.txt')) == '1\tone\n2\t2\n'
    assert (workspace / 'dir/new.txt').read_text() == 'one\n2\n'
    assert sorted(path.name for path in (workspace / 'dir').iterdir()) == ['new.txt']


def test_file_must_be_read_before_it_is_overwritten(client, workspace):
    (workspace / 'f').write_text('old')
    assert client.refusal('Write',
                          file_path='f', content='new') == f'refusing to overwrite {workspace}/f: Read it first'
    client.text('Read', file_path='f')
    (workspace / 'f').write_text('theirs')
    assert 'it changed since you read it: Read it again' in client.refusal('Write', file_path='f', content='new')
    assert (workspace / 'f').read_text() == 'theirs'


def test_process_of_the_tools_is_confined(connect, level, workspace, tmp_path):
    """With --workspace-only the tools refuse other paths; without it the kernel confines their process all the same."""
    (tmp_path / 'secret').write_text('secret')
    (workspace / 'link').symlink_to(tmp_path / 'secret')
    client = connect('--level', level, '--workspace-only')
    for path in 'link', str(tmp_path / 'secret'):
        assert 'path is outside workspace root' in client.refusal('Read', file_path=path)
    client = connect('--level', level)
    for path in 'link', str(tmp_path / 'secret'):
        refusal = client.refusal('Read', file_path=path)
        assert re.search('no such file|does not exist|Permission denied', refusal), refusal
    (workspace / '.git').mkdir()
    worker = client.worker_pid()
    status = dict(line.split(':\t', 1) for line in pathlib.Path(f'/proc/{worker}/status').read_text().splitlines()
                  if ':\t' in line)
    assert (status['Seccomp'], status['NoNewPrivs'], int(status['CapEff'], 16)) == ('2', '1', 0)
    if os.geteuid() == 0:
        # three standard streams, its socket, the workspace, the box's root
        assert len(list(pathlib.Path(f'/proc/{worker}/fd').iterdir())) == 6


@pytest.mark.quick
def test_file_tools_reach_what_commands_reach(connect, level, home, workspace, tmp_path):
    """Each path is tried by a command and by a file tool of the same session: both succeed, or both fail."""
    for name in 'ro', 'rw', 'neither':
        (tmp_path / name).mkdir()
        (tmp_path / name / 'file').write_text(f'in {name}\n')
    (home / '.ssh').mkdir(exist_ok=True)
    (home / '.ssh/id_ed25519').write_text('key')
    (workspace / 'to-ro').symlink_to(tmp_path / 'ro/file')
    (workspace / 'to-neither').symlink_to(tmp_path / 'neither/file')
    client = connect('--level', level, '--ro', tmp_path / 'ro', '--rw', tmp_path / 'rw')
    client.text('Bash', command='echo temp >$TMPDIR/temp; echo home >~/made; cp /bin/true ./true')
    temp = client.text('Bash', command='printf %s $TMPDIR').partition('\n')[0]
    new_home = client.text('Bash', command='printf %s ~').partition('\n')[0]
    reached = {'read': [], 'write': []}
    ro = os.path.relpath(tmp_path / 'ro', workspace)
    for path in (f'{ro}/file', tmp_path / 'ro/file', tmp_path / 'rw/file', tmp_path / 'neither/file', 'to-ro',
                 'to-neither', f'{temp}/temp', f'{new_home}/made', '/usr/include/stdio.h', '/etc/passwd', '/etc/shadow',
                 home / '.ssh/id_ed25519', '/proc/1/environ', '/root/.bashrc', '/nowhere/file'):
        by_command = 'exit: 0' in client.text('Bash', command=f'cat {path} >/dev/null 2>&1')
        by_tool = not client('Read', file_path=str(path))['isError']
        assert by_tool == by_command, (path, by_command, client('Read', file_path=str(path)))
        reached['read'] += [path] * by_tool
    for folder in (ro, tmp_path / 'ro', tmp_path / 'rw', tmp_path / 'neither', temp, new_home, '/usr/include',
                   '/etc', '/'):
        by_command = 'exit: 0' in client.text('Bash', command=f'echo x >{folder}/new-1')
        result = client('Write', file_path=f'{folder}/new-2', content='x')
        assert (not result['isError']) == by_command, (folder, by_command, result)
        reached['write'] += [folder] * by_command
    assert {tmp_path / 'ro/file', tmp_path / 'rw/file', 'to-ro', f'{temp}/temp', '/etc/passwd'} <= set(reached['read'])
    assert not {tmp_path / 'neither/file', 'to-neither', home / '.ssh/id_ed25519'} & set(reached['read'])
    assert {tmp_path / 'rw', temp, new_home} <= set(reached['write']) and tmp_path / 'ro' not in reached['write']
    assert (tmp_path / 'rw/new-2').read_text() == 'x' and not (tmp_path / 'neither/new-2').exists()
    assert str(tmp_path / 'ro/file') in client.text('Glob', pattern='*', path=str(tmp_path / 'ro'))
    assert 'in rw' in client.text('Grep', pattern='in rw', path=str(tmp_path / 'rw'), output_mode='content')


def test_server_has_no_files_no_capabilities_and_no_network(connect, level):
    client = connect('--level', level)
    client.refusal('Read', file_path='none')
    server = pathlib.Path(f'/proc/{client.server_pid()}')
    status = dict(line.split(':\t', 1) for line in (server / 'status').read_text().splitlines() if ':\t' in line)
    assert (status['Seccomp'], status['NoNewPrivs'], int(status['CapEff'], 16)) == ('2', '1', 0)
    if os.geteuid() == 0:
        assert len(list((server / 'fd').iterdir())) <= 8     # standard streams, two sockets, the event loop's
        if level != 'standard':
            assert {name for name in os.listdir(server / 'root') if os.listdir(server / 'root' / name)} <= {'dev',
                                                                                                            'proc'}
            for space in ('net', 'pid', 'mnt', 'user'):
                assert os.readlink(server / 'ns' / space) != os.readlink(f'/proc/self/ns/{space}')


def test_attempts_that_succeed_outside_fail_in_the_box_of_the_server(build, home, workspace, level):
    (workspace / 'f').write_text('x')
    env = {'HOME': str(home), 'PATH': '/usr/bin:/bin', 'ATTACK_TOKEN': 'secret'}

    def successes(level):
        result = subprocess.run([build / 'tests/helpers/try_server_box', level, workspace / 'f'], cwd=workspace,
                                env=env,
                                text=True,
                                capture_output=True, timeout=30, check=True)
        return [line.removeprefix('did ').removeprefix('failed to ')
                for line in result.stdout.splitlines() if line.startswith('did ')], \
            len(result.stdout.splitlines())
    succeeded, count = successes('outside')
    assert len(succeeded) == count == 9
    assert successes(level) == ([], 9)


def test_if_the_server_dies_ringwall_exits_and_ends_the_boxes(build, home, workspace, level):
    client = Client(build, home, workspace, '--level', level)
    client.refusal('Read', file_path='none')
    server, worker = client.server_pid(), client.worker_pid()
    os.kill(server, signal.SIGKILL)
    assert client.process.wait(timeout=10) == 125
    assert not os.path.exists(f'/proc/{worker}') and not os.path.exists(f'/proc/{server}')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_ringwall_and_its_boxes(build, home, workspace, number):
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    worker = client.worker_pid()
    client.process.send_signal(number)
    assert client.process.wait(timeout=10) == 128 + number
    assert not os.path.exists(f'/proc/{worker}')


@pytest.mark.quick
def test_denied_file_is_denied_by_the_kernel(connect, workspace):
    (workspace / 'keys').mkdir()
    (workspace / 'keys/key').write_text('key')
    client = connect('--deny-read', 'keys', '--deny-write', 'fixed', '--level', 'strict')
    assert 'Permission denied' in client.refusal('Read', file_path='keys/key')


def test_write_that_the_plan_denies_is_refused(connect, workspace):
    (workspace / 'fixed').write_text('old')
    client = connect('--deny-write', 'fixed')
    client.text('Read', file_path='fixed')
    reason = client.refusal('Write', file_path='fixed', content='new')
    assert f'cannot write {workspace}/fixed' in reason, reason
    assert 'Permission denied' in reason or 'Read-only' in reason, reason
    assert (workspace / 'fixed').read_text() == 'old' and len(list(workspace.iterdir())) == 1


def test_without_exec_no_command_is_started(connect, level, workspace):
    """Not even the first. For `ringwall run` the keeper allows one exec, that of the command; here it must not."""
    (workspace.parent / 'p.yaml').write_text('tools: {modules: {filesystem: }}\n')
    (workspace / 'file').write_text('here')
    client = connect('--level', level, '-p', '../p.yaml')
    for _ in range(2):
        assert client.refusal('Bash', command='echo ran').startswith('cannot start bash: ')
    assert client.text('Read', file_path='file')


def test_timeout_of_the_plan_applies_to_commands(connect, workspace):
    (workspace / 'p.yaml').write_text('runtime: {timeout: 1s}\n')
    client = connect('-p', 'p.yaml')
    assert client.text('Bash', command='sleep 60', timeout=50) == 'bash: timed out after 1s\nexit: 124'
    handle = details(client('Bash', command='sleep 60', run_in_background=True))['shell_id']
    time.sleep(1.3)
    assert '\nstatus: exited with 124\n' in client.text('BashOutput', shell_id=handle)


def test_plan_with_audit_writes_a_record(connect, home, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {audit: true}}\n')
    client = connect('-p', 'p.yaml')
    client.text('Bash', command='unshare -U true || true')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    record, = (home / '.local/state/ringwall').rglob('*.jsonl')
    events = [json.loads(line)['event'] for line in record.read_text().splitlines()]
    assert events[0] == 'session_start' and 'sandbox_applied' in events and 'syscall_intercepted' in events
    assert events[-1] == 'session_end'


def test_without_exec_the_record_still_says_that_the_walls_were_applied(connect, home, workspace):
    (workspace / 'p.yaml').write_text('{tools: {modules: {filesystem: }}, security: {sandbox: {audit: true}}}\n')
    client = connect('-p', 'p.yaml')
    client.text('Read', file_path='p.yaml')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    record, = (home / '.local/state/ringwall').rglob('*.jsonl')
    assert 'sandbox_applied' in record.read_text()


def test_rule_that_is_not_enforced_is_reported(build, home, workspace):
    (workspace / '.git/hooks').mkdir(parents=True)
    without_guard = [next(build.glob('**/deny_syscalls')), 'seccomp&0x20=EINVAL', '--']
    client = Client(build, home, workspace, '--level', 'standard', wrapper=without_guard)
    client.refusal('Read', file_path='none')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    assert '.git/hooks is not protected' in client.process.stderr.read()


def test_if_no_box_can_be_made_no_call_succeeds(build, home, workspace):
    helper = next(build.glob('**/deny_syscalls'))
    result = subprocess.run([helper, 'move_mount=EPERM', '--', build / 'ringwall', 'mcp', '--level', 'strict'],
                            cwd=workspace,
                            input='{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Read", '
                                  '"arguments": {}}}\n',
                            capture_output=True, text=True, timeout=60,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    assert result.returncode == 125 and 'cannot mount' in result.stderr
    assert not result.stdout or json.loads(result.stdout)['result']['isError']


@pytest.mark.parametrize('file_mode, folder_mode', [(0o444, 0o755), (0o400, 0o755), (0o644, 0o555), (0o444, 0o555)])
def test_file_tools_may_write_what_a_command_may_write(client, workspace, file_mode, folder_mode):
    folder = workspace / 'folder'
    folder.mkdir()
    (folder / 'f').write_text('old')
    inode = (folder / 'f').stat().st_ino
    (folder / 'f').chmod(file_mode)
    folder.chmod(folder_mode)
    by_command = 'exit: 0' in client.text('Bash', command='echo old >folder/f')
    assert by_command == bool(file_mode & 0o200), 'a box has no capability that overrides a mode'
    client.text('Read', file_path='folder/f')
    written = client('Write', file_path='folder/f', content='new')
    edited = client('Edit', file_path='folder/f', old_string='new' if by_command else 'old', new_string='newer')
    assert (not written['isError'], not edited['isError']) == (by_command, by_command)
    folder.chmod(0o755)
    (folder / 'f').chmod(0o600)
    assert (folder / 'f').read_text() == ('newer' if by_command else 'old')
    assert folder_mode != 0o555 or (folder / 'f').stat().st_ino == inode, 'it was written in place'


def test_file_that_is_granted_alone_is_written_in_place(connect, level, tmp_path):
    (tmp_path / 'granted').write_text('old')
    client = connect('--level', level, '--rw', str(tmp_path / 'granted'))
    assert client.text('Bash', command=f'echo by command >{tmp_path}/granted') == 'exit: 0'
    client.text('Read', file_path=str(tmp_path / 'granted'))
    client.text('Write', file_path=str(tmp_path / 'granted'), content='by tool')
    assert (tmp_path / 'granted').read_text() == 'by tool' and os.listdir(tmp_path).count('granted') == 1


def test_policy_with_an_idle_timeout_is_refused(ringwall, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {idle_timeout: 60}}\n')
    result = ringwall('mcp', '-p', 'p.yaml')
    assert result.returncode == 125 and 'idle_timeout (p.yaml:1:' in result.stderr


def test_readonly_has_no_tool_that_writes(connect, workspace):
    client = connect('--readonly')
    assert [tool['name'] for tool in client.ask('tools/list')['tools']] == ['Read', 'List', 'Glob', 'Grep', 'WebFetch']
    assert client('Write', file_path='f', content='')['code'] == -32602


@pytest.mark.quick
def test_files_are_found_and_searched(client, workspace):
    (workspace / 'src').mkdir()
    (workspace / 'src/main.c').write_text('int main(void)\n{\n}\n')
    assert client.text('Glob', pattern='**/*.c') == f'{workspace}/src/main.c\n'
    assert client.text('Grep', pattern=r'main\(', output_mode='content') == f'{workspace}/src/main.c:1:int main(void)\n'
    assert details(client('Grep', pattern='nothing')) == {'files': 0, 'matches': 0, 'more': False}


@pytest.mark.quick
def test_command_runs_in_the_box_of_the_tools(client, home, workspace):
    (home / 'secret').write_text('secret')
    result = client('Bash', command=f'echo $PWD; id -u; cat {home}/secret || touch made; exit 3',
                    description='look around')
    text = result['content'][0]['text']
    assert not result['isError'] and text.startswith(f'{workspace}\n{os.geteuid()}\n') and text.endswith('\nexit: 3')
    assert 'secret\n' not in text and (workspace / 'made').exists()
    assert details(result)['exit_code'] == 3
    assert client.text('Bash', command='sleep 60', timeout=1) == 'bash: timed out after 1s\nexit: 124'
    assert client.text('Bash', command='sleep 60', timeout=1200) == 'bash: timed out after 1.2s\nexit: 124'


def test_command_gets_the_plans_environment(build, home, workspace):
    client = Client(build, home, workspace, '--env', 'SHOWN=yes')
    text = client.text('Bash', command='env | sort')
    assert 'SHOWN=yes\n' in text and f'HOME={home}\n' in text
    assert set(line.split('=')[0] for line in text.splitlines()[:-1]) <= {
        'HOME', 'PATH', 'LANG', 'TERM', 'USER', 'TMPDIR', 'SHOWN', 'PWD', 'SHLVL', '_', 'OLDPWD'}
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0


def test_running_command_does_not_block_other_calls(client, workspace):
    (workspace / 'f').write_text('x')
    client.send({'jsonrpc': '2.0', 'id': 'slow', 'method': 'tools/call',
                 'params': {'name': 'Bash',
                            'arguments': {'command': 'until [ -e go ]; do sleep 0.02; done; echo done'}}})
    assert client.text('Read', file_path='f') == '1\tx\n'     # while the command is still running
    (workspace / 'go').touch()
    reply = client.receive()
    assert reply['id'] == 'slow' and reply['result']['content'][0]['text'] == 'done\nexit: 0'


def test_cancelling_a_call_kills_its_command(client, workspace):
    client.send({'jsonrpc': '2.0', 'id': 'a', 'method': 'tools/call', 'params': {'name': 'Bash', 'arguments': {
        'command': 'touch started; sleep 3.1417; touch survived'}}})
    deadline = time.monotonic() + 10
    while not (workspace / 'started').exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'a'}})
    # A killed process may still be visible for a moment.
    seen = client.text('Bash', command='for i in 1 2 3 4 5 6 7 8 9; do pgrep -fx "sleep 3.1417" >/dev/null || break; '
                                       'sleep 0.1; done; pgrep -fx "sleep 3.1417" || echo none')
    assert seen == 'none\nexit: 0'
    assert client.ask('ping') == {} and not (workspace / 'survived').exists()


def test_background_command_can_be_watched_and_killed(client):
    command = 'echo one; echo err >&2; sleep 0.3; echo two; sleep 60'
    handle = details(client('Bash', command=command, run_in_background=True))['shell_id']
    seen, deadline = [], time.monotonic() + 10
    while 'two' not in seen and time.monotonic() < deadline:
        text = client.text('BashOutput', shell_id=handle)
        head, _, output = text.partition('stdout (')
        assert re.fullmatch(rf'command: {re.escape(command)}\nstatus: running\nstarted: \d{{4}}-[-0-9T:.]+Z\n', head)
        seen += [line for line in output.splitlines() if 'bytes' not in line]
        time.sleep(0.05)
    assert sorted(seen) == ['err', 'one', 'two']        # each line once
    assert client.text('BashOutput', shell_id=handle, all=True).endswith('stdout (8 bytes):\none\ntwo\nstderr (4 '
                                                                         'bytes):\nerr\n')
    assert client.text('KillShell', shell_id=handle) == 'killed'
    assert client.refusal('BashOutput', shell_id=handle) == f'unknown shell_id: {handle}'


def test_calls_can_overlap_and_be_cancelled(connect, workspace):
    client = connect()
    (workspace / 'f').write_text('x\n' * 1000)
    for number in range(1, 41):
        client.send({'jsonrpc': '2.0', 'id': number, 'method': 'tools/call',
                     'params': {'name': 'Read', 'arguments': {'file_path': 'f'}}})
    assert [client.receive()['id'] for _ in range(40)] == list(range(1, 41))
    client.send({'jsonrpc': '2.0', 'id': 'a', 'method': 'tools/call',
                 'params': {'name': 'Read', 'arguments': {'file_path': 'f'}}})
    client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'a'}})
    client.send({'jsonrpc': '2.0', 'id': 'b', 'method': 'ping'})
    assert client.receive()['id'] in ('a', 'b')     # the call may have finished before it was cancelled


@pytest.mark.parametrize('line, code', [('nonsense', -32700), ('[]', -32600),
                                        ('{"jsonrpc": "2.0", "id": 1, "method": "x"}', -32601)])
def test_bad_line_gets_an_error_and_the_next_line_is_served(connect, line, code):
    client = connect()
    client.process.stdin.write(line + '\n')
    client.process.stdin.flush()
    assert client.receive()['error']['code'] == code
    assert client.ask('ping') == {}
    assert client.process.poll() is None


def test_line_that_is_too_long_gets_one_error(connect):
    client = connect()
    client.process.stdin.write('x' * (25 << 20) + '\n')
    client.process.stdin.flush()
    assert client.receive()['error']['code'] == -32700
    client.send({'method': 'ping', 'params': {'a': 'x' * (25 << 20)}, 'jsonrpc': '2.0', 'id': 'big'})
    reply = client.receive()
    assert reply['id'] == 'big' and 'longer than 10 MiB' in reply['error']['message']
    assert client.ask('tools/list')['tools']


def test_worker_that_dies_is_replaced(client, workspace):
    (workspace / 'f').write_text('text')
    assert client.text('Read', file_path='f') == '1\ttext\n'
    for _ in range(3):
        os.kill(client.worker_pid(), signal.SIGKILL)
        result = client('Read', file_path='f')
        if result['isError']:
            assert 'the call got no answer' in result['content'][0]['text']
        assert client.text('Read', file_path='f') == '1\ttext\n'


@pytest.mark.quick
def test_no_process_is_left_when_the_client_exits_or_ringwall_is_killed(build, home, workspace):
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    worker = client.worker_pid()
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    other = client.worker_pid()
    client.process.kill()
    client.process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(os.path.exists(f'/proc/{pid}') for pid in (worker, other)):
        time.sleep(0.02)
    assert not os.path.exists(f'/proc/{worker}') and not os.path.exists(f'/proc/{other}')


def test_modes_that_are_not_implemented_and_level_off_are_refused(ringwall, workspace):
    (workspace / 'p.yaml').write_text('mode: accept-edits\n')
    for flags in (('--mode', 'accept-edits'), ('-p', 'p.yaml')):
        result = ringwall('mcp', *flags)
        assert result.returncode == 125 and 'mode accept-edits' in result.stderr and result.stdout == ''
    result = ringwall('mcp', '--level', 'off')
    assert result.returncode == 125 and 'level off' in result.stderr


# The gate.

KEY = 'AKIA' + 'IOSFODNN7ABCDEFG'


@pytest.mark.quick
def test_refusal_of_a_denied_command_names_its_position(connect):
    client = connect('--level', 'strict')
    assert client.refusal('Bash', command='echo a;\n  /usr/bin/sudo id') == (
        'command rejected: command uses denylisted token "/usr/bin/sudo" at line 2, column 3; '
        'gate.denied_commands: [-sudo] in the policy would allow it')
    for harmless in ('echo "use sudo now"', 'man mount', 'grep -r su .', 'git commit -m "fix mount bug"'):
        assert not client('Bash', command=harmless)['isError'], harmless
    (client.workspace / 'p.yaml').write_text('gate:\n  denied_commands: [-sudo, git]\n')
    other = connect('--level', 'strict', '-p', 'p.yaml')
    assert not other('Bash', command='sudo id')['isError']      # bash runs, and reports that sudo is not installed
    assert '"git"' in other.refusal('Bash', command='git status')


def test_secrets_are_redacted_in_every_answer(connect, workspace):
    client = connect('--level', 'strict')
    (workspace / 'env').write_text(f'key: {KEY}\n')
    (workspace / KEY).write_text('x')
    assert client.text('Read', file_path='env') == '1\tkey: [REDACTED:aws-access-key]\n'
    assert client.text('Bash', command=f'echo {KEY[:9]}""{KEY[9:]}; echo {KEY} >&2') == (
        '[REDACTED:aws-access-key]\n' * 2 + 'exit: 0')
    assert client.text('Grep', pattern='key', output_mode='content').count(KEY) == 0
    assert KEY not in client.text('Glob', pattern='*')
    assert KEY not in client.refusal('Read', file_path=f'none/{KEY}')
    assert KEY not in json.dumps(client('Read', file_path=KEY))


def test_secret_that_is_split_in_two_is_redacted(connect):
    client = connect('--level', 'strict')
    # Split between two writes, and so between two calls of BashOutput.
    command = f'printf {KEY[:9]}; sleep 0.5; echo {KEY[9:]}; sleep 60'
    handle = details(client('Bash', command=command, run_in_background=True))['shell_id']
    seen, deadline = '', time.monotonic() + 10
    while 'REDACTED' not in seen and time.monotonic() < deadline:
        seen += client.text('BashOutput', shell_id=handle).partition('started')[2]
        time.sleep(0.05)
    assert '[REDACTED:aws-access-key]\n' in seen and KEY[:9] not in seen and KEY[9:] not in seen
    # Split where a long output is cut.
    half = 50 << 10
    text = client.text('Bash', command=f'head -c {half - 10} /dev/zero | tr "\\0" .; echo -n " {KEY} "; head -c 200000 '
                                       f'/dev/zero | tr "\\0" .')
    assert KEY[:9] not in text and 'elided' in text


def test_policy_adds_patterns_of_secrets_and_the_record_counts_them(connect, home, workspace):
    (workspace / 'p.yaml').write_text('gate:\n  secrets:\n    acme: "acme_[0-9]{4}"\nsecurity:\n  sandbox:\n    audit: '
                                      'true\n')
    client = connect('--level', 'strict', '-p', 'p.yaml')
    assert client.text('Bash', command=f'echo acme_1234 {KEY} acme_5678') == (
        '[REDACTED:acme] [REDACTED:aws-access-key] [REDACTED:acme]\nexit: 0')
    client.refusal('Bash', command='sudo id')
    client.process.stdin.close()
    client.process.wait(timeout=10)
    record, = (home / '.local/state/ringwall/audit').glob('*.jsonl')
    events = [json.loads(line) for line in record.read_text().splitlines()]
    redacted, = (event for event in events if event['event'] == 'secrets_redacted')
    assert (redacted['tool'], redacted['patterns']) == ('Bash', {'acme': 2, 'aws-access-key': 1})
    refused, = (event for event in events if event['event'] == 'call_refused')
    assert refused['tool'] == 'Bash' and 'sudo' in refused['why']
    assert KEY not in record.read_text()


def test_invalid_shape_of_a_secret_is_refused_at_the_start(ringwall, workspace):
    (workspace / 'p.yaml').write_text('gate:\n  secrets:\n    acme: "acme_[0-9{4}"\n')
    result = ringwall('mcp', '-p', 'p.yaml')
    assert result.returncode == 125 and "pattern 'acme'" in result.stderr


# Several workspaces.

def test_several_workspaces_are_chosen_by_name_or_by_path(connect, home, workspace):
    other, third = home / 'other', home / 'third'
    for folder in (other, third):
        folder.mkdir()
        (folder / 'f').write_text(f'of {folder.name}\n')
    (workspace / 'f').write_text('of the first\n')
    client = connect('--level', 'strict', '-w', '.', '-w', f'docs={other}', '-w', str(third))
    schema = {tool['name']: tool['inputSchema']['properties'] for tool in client.ask('tools/list')['tools']}
    assert schema['Read']['workspace']['enum'] == [workspace.name, 'docs', 'third']
    assert 'workspace' not in schema['KillShell']
    assert client.text('Read', file_path='f') == '1\tof the first\n'
    assert client.text('Read', file_path='f', workspace='docs') == '1\tof other\n'
    assert client.text('Read', file_path=str(third / 'f')) == '1\tof third\n'
    assert client.text('Bash', command='pwd', workspace='third') == f'{third}\nexit: 0'
    client.text('Write', file_path='new', content='x', workspace='docs')
    assert (other / 'new').read_text() == 'x' and not (workspace / 'new').exists()
    assert client.text('Glob', pattern='*', workspace='third') == f'{third}/f\n'
    assert client.refusal('Read', file_path='f', workspace='none') == (
        f"unknown workspace 'none'; the workspaces are {workspace.name}, docs, third")
    assert client.text('Read', file_path='../third/f', workspace='docs') == '1\tof third\n'
    client = connect('--level', 'strict', '-w', '.', '-w', f'docs={other}', '-w', str(third), '--workspace-only')
    assert client.refusal('Read', file_path='/etc/passwd') == (
        f'path is outside workspace root: /etc/passwd is in none of {workspace}, {other}, {third}')
    assert f'is not in {other}' in client.refusal('Read', file_path='../third/f', workspace='docs')


def test_with_one_workspace_no_tool_has_a_workspace_parameter(connect):
    client = connect('--level', 'strict')
    assert all('workspace' not in tool['inputSchema']['properties'] for tool in client.ask('tools/list')['tools'])
    assert "Read has no parameter 'workspace'" in client.refusal('Read', file_path='f', workspace='x')


def test_refusal_names_the_rule_and_what_would_allow_it(connect, workspace):
    for folder in ('keys', 'fixed', '.git/hooks'):
        (workspace / folder).mkdir(parents=True)
    (workspace / 'keys/key').write_text('k')
    (workspace / 'private').write_text('x')
    (workspace / 'private').chmod(0)
    client = connect('--level', 'strict', '--deny-read', 'keys', '--deny-write', 'fixed')
    assert client.refusal('Read', file_path='keys/key') == (
        "OS sandbox blocked 'Read': [Errno 13] cannot open keys/key: Permission denied; the box does not allow it "
        f'(deny_read {workspace}/keys, from --deny-read); '
        f'ringwall mcp --ro {workspace}/keys/key would allow it')
    for tool, arguments in (('Glob', {'pattern': '*'}), ('Grep', {'pattern': 'k'})):
        assert 'from --deny-read' in client.refusal(tool, path='keys', **arguments)
    hook = client.refusal('Write', file_path='.git/hooks/pre-commit', content='x')
    assert f'(protect {workspace}/.git/hooks, from default)' in hook
    assert ', from default); filesystem.protect: [-git] in the policy would allow it' in hook
    fixed = client.refusal('Write', file_path='fixed/f', content='x')
    assert f'(deny_write {workspace}/fixed, from --deny-write); to allow it, remove that rule' in fixed
    if os.geteuid() != 0:       # the file's mode denies it, not the box
        assert client.refusal('Read', file_path='private').endswith('Permission denied')


@pytest.mark.parametrize('flags, sentence', [
    (('-w', '.', '-w', 'missing'), 'missing'),
    (('-w', 'a=.', '-w', 'a=/usr'), "two workspaces are called 'a'; rename one with NAME=/usr"),
])
def test_missing_workspaces_and_equal_names_are_refused(ringwall, workspace, flags, sentence):
    result = ringwall('mcp', *flags)
    assert result.returncode == 125 and sentence in result.stderr


def test_progress_is_sent_only_to_a_client_that_asks_for_it(client):
    client.send({'jsonrpc': '2.0', 'id': 'slow', 'method': 'tools/call', 'params': {
        'name': 'Bash', 'arguments': {'command': 'sleep 1.8'},
        '_meta': {**(META if client.modern else {}), 'progressToken': 't'}}})
    progress = []
    while (message := client.receive()).get('method') == 'notifications/progress':
        assert message['params']['progressToken'] == 't' and message['params']['message']
        progress.append(message['params']['progress'])
    assert message['id'] == 'slow' and len(progress) >= 2 and progress == sorted(set(progress))
    client.send({'jsonrpc': '2.0', 'id': 'quiet', 'method': 'tools/call', 'params': {
        'name': 'Bash', 'arguments': {'command': 'sleep 1.2'}, **({'_meta': META} if client.modern else {})}})
    assert client.receive()['id'] == 'quiet'
