"""`ringwall mcp` over standard input and output: a client's lines, the tools in their box, and what happens when one dies."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

META = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}


class Client:
    """Speaks MCP with a server of its own: client('Read', file_path='f') -> result."""

    def __init__(self, build, home, workspace, *arguments, modern=False):
        self.process = subprocess.Popen([build / 'ringwall', 'mcp', *arguments], cwd=workspace, text=True,
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

    def below(self, which):
        """The process below one of the keepers: first the server's, then those of tools."""
        def children(pid):
            return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
        return children(children(self.process.pid)[which])[-1]      # behind the keeper's second, if it has one

    def server(self):
        return self.below(0)

    def box(self):
        return self.below(-1)


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
def test_a_legacy_client_begins_with_initialize(client):
    result = client.ask('initialize', protocolVersion='2025-11-25', capabilities={}, clientInfo={'name': 'test', 'version': '1'})
    assert result['protocolVersion'] == '2025-11-25' and result['serverInfo']['name'] == 'ringwall'
    client.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})
    tools = {tool['name']: tool for tool in client.ask('tools/list')['tools']}
    assert list(tools) == ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'BashOutput', 'KillShell', 'WebFetch']
    assert tools['Read']['annotations'] == {'title': 'Read a file', 'readOnlyHint': True, 'destructiveHint': False,
                                            'idempotentHint': True, 'openWorldHint': False}
    assert tools['Write']['inputSchema']['required'] == ['file_path', 'content']


@pytest.mark.quick
def test_a_modern_client_begins_with_anything(connect, level, workspace):
    client = connect('--level', level, modern=True)
    (workspace / 'f').write_text('text\n')
    assert '2026-07-28' in client.ask('server/discover')['supportedVersions']
    result = client('Read', file_path='f')
    assert result['resultType'] == 'complete' and result['content'][0]['text'] == '1\ttext\n'
    assert result['structuredContent'] == {'path': str(workspace / 'f'), 'first_line': 1, 'lines': 1, 'more': False}


@pytest.mark.quick
def test_a_file_is_written_read_and_edited(client, workspace):
    assert client.text('Write', file_path='dir/new.txt', content='one\ntwo\n') == f'wrote 8 bytes to {workspace}/dir/new.txt'
    assert client.text('Edit', file_path='dir/new.txt', old_string='two', new_string='2').startswith('replaced 1 occurrence')
    assert client.text('Read', file_path=str(workspace / 'dir/new.txt')) == '1\tone\n2\t2\n'
    assert (workspace / 'dir/new.txt').read_text() == 'one\n2\n'
    assert sorted(path.name for path in (workspace / 'dir').iterdir()) == ['new.txt']


def test_the_read_gate_is_kept_between_calls(client, workspace):
    (workspace / 'f').write_text('old')
    assert client.refusal('Write', file_path='f', content='new') == f'refusing to overwrite {workspace}/f: Read it first'
    client.text('Read', file_path='f')
    (workspace / 'f').write_text('theirs')
    assert 'it changed since you read it: Read it again' in client.refusal('Write', file_path='f', content='new')
    assert (workspace / 'f').read_text() == 'theirs'


def test_the_tools_are_in_the_box(client, home, workspace, tmp_path):
    """What the workspace does not stop, the kernel does: the tool is one of the box's processes."""
    (tmp_path / 'secret').write_text('secret')
    (workspace / 'link').symlink_to(tmp_path / 'secret')
    assert 'path is outside workspace root' in client.refusal('Read', file_path='link')
    assert 'path is outside workspace root' in client.refusal('Read', file_path=str(tmp_path / 'secret'))
    (workspace / '.git').mkdir()
    worker = client.box()
    status = dict(line.split(':\t', 1) for line in pathlib.Path(f'/proc/{worker}/status').read_text().splitlines() if ':\t' in line)
    assert (status['Seccomp'], status['NoNewPrivs'], int(status['CapEff'], 16)) == ('2', '1', 0)
    if os.geteuid() == 0:
        assert len(list(pathlib.Path(f'/proc/{worker}/fd').iterdir())) == 5     # three streams, its socket, the workspace


def test_the_server_has_nothing(connect, level):
    client = connect('--level', level)
    client.refusal('Read', file_path='none')
    server = pathlib.Path(f'/proc/{client.server()}')
    status = dict(line.split(':\t', 1) for line in (server / 'status').read_text().splitlines() if ':\t' in line)
    assert (status['Seccomp'], status['NoNewPrivs'], int(status['CapEff'], 16)) == ('2', '1', 0)
    if os.geteuid() == 0:
        assert len(list((server / 'fd').iterdir())) <= 8     # three streams, two sockets, the loop's own
        if level != 'standard':
            assert {name for name in os.listdir(server / 'root') if os.listdir(server / 'root' / name)} <= {'dev', 'proc'}
            for space in ('net', 'pid', 'mnt', 'user'):
                assert os.readlink(server / 'ns' / space) != os.readlink(f'/proc/self/ns/{space}')


def test_in_the_servers_box_nothing_can_be_done(build, home, workspace, level):
    (workspace / 'f').write_text('x')
    env = {'HOME': str(home), 'PATH': '/usr/bin:/bin', 'ATTACK_TOKEN': 'secret'}

    def tried(where):
        result = subprocess.run([build / 'tests/helpers/server_box', where, workspace / 'f'], cwd=workspace, env=env, text=True,
                                capture_output=True, timeout=30, check=True)
        return [line.removeprefix('did ').removeprefix('failed to ') for line in result.stdout.splitlines() if line.startswith('did ')], \
            len(result.stdout.splitlines())
    did, count = tried('outside')
    assert len(did) == count == 9
    assert tried(level) == ([], 9)


def test_a_server_that_dies_takes_all_with_it(build, home, workspace, level):
    client = Client(build, home, workspace, '--level', level)
    client.refusal('Read', file_path='none')
    server, worker = client.server(), client.box()
    os.kill(server, signal.SIGKILL)
    assert client.process.wait(timeout=10) == 125
    assert not os.path.exists(f'/proc/{worker}') and not os.path.exists(f'/proc/{server}')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_order(build, home, workspace, number):
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    worker = client.box()
    client.process.send_signal(number)
    assert client.process.wait(timeout=10) == 128 + number
    assert not os.path.exists(f'/proc/{worker}')


@pytest.mark.quick
def test_a_denied_file_is_denied_by_the_kernel(connect, workspace):
    (workspace / 'keys').mkdir()
    (workspace / 'keys/key').write_text('key')
    client = connect('--deny-read', 'keys', '--deny-write', 'fixed', '--level', 'strict')
    assert 'Permission denied' in client.refusal('Read', file_path='keys/key')


def test_a_write_that_the_plan_forbids_fails_with_its_reason(connect, workspace):
    (workspace / 'fixed').write_text('old')
    client = connect('--deny-write', 'fixed')
    client.text('Read', file_path='fixed')
    assert 'fixed' in client.refusal('Write', file_path='fixed', content='new')
    assert (workspace / 'fixed').read_text() == 'old' and len(list(workspace.iterdir())) == 1


def test_without_exec_no_command_is_started(connect, level, workspace):
    """Not even the first: the keeper lets an exec pass for a command of `ringwall run`, and here there is none."""
    (workspace / 'p.yaml').write_text('tools: {modules: {filesystem: }}\n')
    client = connect('--level', level, '-p', 'p.yaml')
    for _ in range(2):
        assert client.refusal('Bash', command='echo ran').startswith('cannot start bash: ')
    assert client.text('Read', file_path='p.yaml')


def test_the_plans_time_holds_for_commands(connect, workspace):
    (workspace / 'p.yaml').write_text('runtime: {timeout: 1s}\n')
    client = connect('-p', 'p.yaml')
    assert client.text('Bash', command='sleep 60', timeout=50) == 'bash: timed out after 1s\nexit: 124'
    handle = client('Bash', command='sleep 60', run_in_background=True)['structuredContent']['shell_id']
    time.sleep(1.3)
    assert '\nstatus: exited with 124\n' in client.text('BashOutput', shell_id=handle)


def test_the_record_that_a_plan_asks_for_is_kept(connect, home, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {audit: true}}\n')
    client = connect('-p', 'p.yaml')
    client.text('Bash', command='unshare -U true || true')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    record, = (home / '.local/state/ringwall').rglob('*.jsonl')
    events = [json.loads(line)['event'] for line in record.read_text().splitlines()]
    assert events[0] == 'session_start' and 'sandbox_applied' in events and 'syscall_intercepted' in events
    assert events[-1] == 'session_end'


def test_without_exec_the_keeper_waits_for_none(connect, home, workspace):
    (workspace / 'p.yaml').write_text('{tools: {modules: {filesystem: }}, security: {sandbox: {audit: true}}}\n')
    client = connect('-p', 'p.yaml')
    client.text('Read', file_path='p.yaml')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    record, = (home / '.local/state/ringwall').rglob('*.jsonl')
    assert 'sandbox_applied' in record.read_text()


def test_what_the_box_does_not_hold_is_told(build, home, workspace):
    (workspace / '.git/hooks').mkdir(parents=True)
    client = Client(build, home, workspace, '--level', 'standard')
    client.refusal('Read', file_path='none')
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    assert '.git/hooks is not protected' in client.process.stderr.read()


def test_where_no_box_can_be_made_nothing_is_served(build, home, workspace):
    helper = next(build.glob('**/withhold'))
    result = subprocess.run([helper, 'move_mount=EPERM', '--', build / 'ringwall', 'mcp', '--level', 'strict'], cwd=workspace,
                            input='{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Read", "arguments": {}}}\n',
                            capture_output=True, text=True, timeout=60, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    assert result.returncode == 125 and 'cannot mount' in result.stderr
    assert not result.stdout or json.loads(result.stdout)['result']['isError']


def test_a_session_with_a_time_is_refused(ringwall, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {idle_timeout: 60}}\n')
    result = ringwall('mcp', '-p', 'p.yaml')
    assert result.returncode == 125 and 'idle_timeout (p.yaml:1:' in result.stderr


def test_readonly_has_no_tool_that_writes(connect, workspace):
    client = connect('--readonly')
    assert [tool['name'] for tool in client.ask('tools/list')['tools']] == ['Read', 'Glob', 'Grep', 'WebFetch']
    assert client('Write', file_path='f', content='')['code'] == -32602


@pytest.mark.quick
def test_files_are_found_and_searched(client, workspace):
    (workspace / 'src').mkdir()
    (workspace / 'src/main.c').write_text('int main(void)\n{\n}\n')
    assert client.text('Glob', pattern='**/*.c') == f'{workspace}/src/main.c\n'
    assert client.text('Grep', pattern=r'main\(', output_mode='content') == f'{workspace}/src/main.c:1:int main(void)\n'
    assert client('Grep', pattern='nothing')['structuredContent'] == {'files': 0, 'matches': 0, 'more': False}


@pytest.mark.quick
def test_a_command_runs_in_the_same_box(client, home, workspace):
    (home / 'secret').write_text('secret')
    result = client('Bash', command=f'echo $PWD; id -u; cat {home}/secret || touch made; exit 3', description='look around')
    text = result['content'][0]['text']
    assert not result['isError'] and text.startswith(f'{workspace}\n{os.geteuid()}\n') and text.endswith('\nexit: 3')
    assert 'secret\n' not in text and (workspace / 'made').exists()
    assert result['structuredContent']['exit_code'] == 3
    assert client.text('Bash', command='sleep 60', timeout=1) == 'bash: timed out after 1s\nexit: 124'


def test_a_command_gets_the_plans_environment(build, home, workspace):
    client = Client(build, home, workspace, '--env', 'SHOWN=yes')
    text = client.text('Bash', command='env | sort')
    assert 'SHOWN=yes\n' in text and f'HOME={home}\n' in text
    assert set(line.split('=')[0] for line in text.splitlines()[:-1]) <= {
        'HOME', 'PATH', 'LANG', 'TERM', 'USER', 'TMPDIR', 'SHOWN', 'PWD', 'SHLVL', '_', 'OLDPWD'}
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0


def test_a_command_does_not_keep_the_others_waiting(client, workspace):
    (workspace / 'f').write_text('x')
    client.send({'jsonrpc': '2.0', 'id': 'slow', 'method': 'tools/call', 'params': {'name': 'Bash', 'arguments': {'command': 'until [ -e go ]; do sleep 0.02; done; echo done'}}})
    assert client.text('Read', file_path='f') == '1\tx\n'     # though the command cannot have ended
    (workspace / 'go').touch()
    reply = client.receive()
    assert reply['id'] == 'slow' and reply['result']['content'][0]['text'] == 'done\nexit: 0'


def test_cancelling_ends_what_was_started(client, workspace):
    client.send({'jsonrpc': '2.0', 'id': 'a', 'method': 'tools/call', 'params': {'name': 'Bash', 'arguments': {
        'command': 'touch started; sleep 3.1417; touch survived'}}})
    deadline = time.monotonic() + 10
    while not (workspace / 'started').exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'a'}})
    assert client.text('Bash', command='pgrep -fx "sleep 3.1417" || echo none') == 'none\nexit: 0'
    assert client.ask('ping') == {} and not (workspace / 'survived').exists()


def test_a_command_in_the_background(client):
    command = 'echo one; echo err >&2; sleep 0.3; echo two; sleep 60'
    handle = client('Bash', command=command, run_in_background=True)['structuredContent']['shell_id']
    seen, deadline = [], time.monotonic() + 10
    while 'two' not in seen and time.monotonic() < deadline:
        text = client.text('BashOutput', shell_id=handle)
        head, _, output = text.partition('stdout (')
        assert re.fullmatch(rf'command: {re.escape(command)}\nstatus: running\nstarted: \d{{4}}-[-0-9T:.]+Z\n', head)
        seen += [line for line in output.splitlines() if 'bytes' not in line]
        time.sleep(0.05)
    assert sorted(seen) == ['err', 'one', 'two']        # each once
    assert client.text('BashOutput', shell_id=handle, all=True).endswith('stdout (8 bytes):\none\ntwo\nstderr (4 bytes):\nerr\n')
    assert client.text('KillShell', shell_id=handle) == 'killed'
    assert client.refusal('BashOutput', shell_id=handle) == f'unknown shell_id: {handle}'


def test_calls_can_overlap_and_a_cancelled_one_is_silent(connect, workspace):
    client = connect()
    (workspace / 'f').write_text('x\n' * 1000)
    for number in range(1, 41):
        client.send({'jsonrpc': '2.0', 'id': number, 'method': 'tools/call',
                     'params': {'name': 'Read', 'arguments': {'file_path': 'f'}}})
    assert [client.receive()['id'] for _ in range(40)] == list(range(1, 41))
    client.send({'jsonrpc': '2.0', 'id': 'a', 'method': 'tools/call', 'params': {'name': 'Read', 'arguments': {'file_path': 'f'}}})
    client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'a'}})
    client.send({'jsonrpc': '2.0', 'id': 'b', 'method': 'ping'})
    assert client.receive()['id'] in ('a', 'b')     # it may have been quicker than the cancelling


@pytest.mark.parametrize('line, code', [('nonsense', -32700), ('[]', -32600), ('{"jsonrpc": "2.0", "id": 1, "method": "x"}', -32601)])
def test_bad_lines_get_an_error_and_the_next_is_served(connect, line, code):
    client = connect()
    client.process.stdin.write(line + '\n')
    client.process.stdin.flush()
    assert client.receive()['error']['code'] == code
    assert client.ask('ping') == {}
    assert client.process.poll() is None


def test_a_line_without_end_is_refused_once(connect):
    client = connect()
    client.process.stdin.write('x' * (25 << 20) + '\n')
    client.process.stdin.flush()
    assert client.receive()['error']['code'] == -32700
    assert client.ask('tools/list')['tools']


def test_a_worker_that_dies_is_replaced(client, workspace):
    (workspace / 'f').write_text('text')
    assert client.text('Read', file_path='f') == '1\ttext\n'
    for _ in range(3):
        os.kill(client.box(), signal.SIGKILL)
        result = client('Read', file_path='f')
        if result['isError']:
            assert 'the call did not come back' in result['content'][0]['text']
        assert client.text('Read', file_path='f') == '1\ttext\n'


@pytest.mark.quick
def test_nothing_is_left_when_the_client_goes(build, home, workspace):
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    worker = client.box()
    client.process.stdin.close()
    assert client.process.wait(timeout=10) == 0
    client = Client(build, home, workspace)
    client.refusal('Read', file_path='none')
    other = client.box()
    client.process.kill()
    client.process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(os.path.exists(f'/proc/{pid}') for pid in (worker, other)):
        time.sleep(0.02)
    assert not os.path.exists(f'/proc/{worker}') and not os.path.exists(f'/proc/{other}')


def test_a_mode_that_is_not_there_yet_is_refused(ringwall, workspace):
    (workspace / 'p.yaml').write_text('mode: accept-edits\n')
    for flags in (('--mode', 'accept-edits'), ('-p', 'p.yaml')):
        result = ringwall('mcp', *flags)
        assert result.returncode == 125 and 'the mode accept-edits' in result.stderr and result.stdout == ''
    result = ringwall('mcp', '--level', 'off')
    assert result.returncode == 125 and 'level off' in result.stderr


# The gate.

KEY = 'AKIA' + 'IOSFODNN7ABCDEFG'


@pytest.mark.quick
def test_a_denied_command_is_refused_and_says_where(connect):
    client = connect('--level', 'strict')
    assert client.refusal('Bash', command='echo a;\n  /usr/bin/sudo id') == (
        'command rejected: command uses denylisted token "/usr/bin/sudo" at line 2, column 3; '
        'gate.denied_commands: [-sudo] in the policy would allow it')
    for harmless in ('echo "use sudo now"', 'man mount', 'grep -r su .', 'git commit -m "fix mount bug"'):
        assert not client('Bash', command=harmless)['isError'], harmless
    (client.workspace / 'p.yaml').write_text('gate:\n  denied_commands: [-sudo, git]\n')
    other = connect('--level', 'strict', '-p', 'p.yaml')
    assert not other('Bash', command='sudo id')['isError']      # it is not there, which bash says
    assert '"git"' in other.refusal('Bash', command='git status')


def test_secrets_are_taken_out_of_all_that_is_said(connect, workspace):
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


def test_a_secret_that_is_cut_in_two_is_one(connect):
    client = connect('--level', 'strict')
    # By the pieces that are written, and so by the calls that show them;
    handle = client('Bash', command=f'printf {KEY[:9]}; sleep 0.5; echo {KEY[9:]}; sleep 60', run_in_background=True)[
        'structuredContent']['shell_id']
    seen, deadline = '', time.monotonic() + 10
    while 'REDACTED' not in seen and time.monotonic() < deadline:
        seen += client.text('BashOutput', shell_id=handle).partition('started')[2]
        time.sleep(0.05)
    assert '[REDACTED:aws-access-key]\n' in seen and KEY[:9] not in seen and KEY[9:] not in seen
    # and by the edge of what is kept of a long output.
    half = 50 << 10
    text = client.text('Bash', command=f'head -c {half - 10} /dev/zero | tr "\\0" .; echo -n " {KEY} "; head -c 200000 /dev/zero | tr "\\0" .')
    assert KEY[:9] not in text and 'elided' in text


def test_a_policy_adds_shapes_and_the_record_counts_them(connect, home, workspace):
    (workspace / 'p.yaml').write_text('gate:\n  secrets:\n    acme: "acme_[0-9]{4}"\nsecurity:\n  sandbox:\n    audit: true\n')
    client = connect('--level', 'strict', '-p', 'p.yaml')
    assert client.text('Bash', command=f'echo acme_1234 {KEY} acme_5678') == (
        '[REDACTED:acme] [REDACTED:aws-access-key] [REDACTED:acme]\nexit: 0')
    client.refusal('Bash', command='sudo id')
    client.process.stdin.close()
    client.process.wait(timeout=10)
    record, = (home / '.local/state/ringwall/audit').glob('*.jsonl')
    events = [json.loads(line) for line in record.read_text().splitlines()]
    redacted, = (event for event in events if event['event'] == 'secrets_redacted')
    assert (redacted['tool'], redacted['shapes']) == ('Bash', {'acme': 2, 'aws-access-key': 1})
    refused, = (event for event in events if event['event'] == 'call_refused')
    assert refused['tool'] == 'Bash' and 'sudo' in refused['why']
    assert KEY not in record.read_text()


def test_a_shape_that_is_wrong_is_refused_at_the_start(ringwall, workspace):
    (workspace / 'p.yaml').write_text('gate:\n  secrets:\n    acme: "acme_[0-9{4}"\n')
    result = ringwall('mcp', '-p', 'p.yaml')
    assert result.returncode == 125 and "shape 'acme'" in result.stderr


# Several workspaces.

def test_several_workspaces_by_name(connect, home, workspace):
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
        f"there is no workspace 'none'; there are {workspace.name}, docs, third")
    assert client.refusal('Read', file_path='/etc/passwd') == (
        f'path is outside workspace root: /etc/passwd is in none of {workspace}, {other}, {third}')
    assert f'is not in {other}' in client.refusal('Read', file_path='../third/f', workspace='docs')


def test_one_workspace_has_no_parameter_for_it(connect):
    client = connect('--level', 'strict')
    assert all('workspace' not in tool['inputSchema']['properties'] for tool in client.ask('tools/list')['tools'])
    assert "Read has no parameter 'workspace'" in client.refusal('Read', file_path='f', workspace='x')


def test_a_refusal_names_the_rule_and_what_would_allow_it(connect, workspace):
    for folder in ('keys', 'fixed', '.git/hooks'):
        (workspace / folder).mkdir(parents=True)
    (workspace / 'keys/key').write_text('k')
    (workspace / 'private').write_text('x')
    (workspace / 'private').chmod(0)
    client = connect('--level', 'strict', '--deny-read', 'keys', '--deny-write', 'fixed')
    assert client.refusal('Read', file_path='keys/key') == (
        f'cannot look at keys/key: Permission denied; the box does not allow it (deny_read {workspace}/keys, from --deny-read); '
        f'ringwall mcp --ro {workspace}/keys/key would allow it')
    for tool, arguments in (('Glob', {'pattern': '*'}), ('Grep', {'pattern': 'k'})):
        assert 'from --deny-read' in client.refusal(tool, path='keys', **arguments)
    hook = client.refusal('Write', file_path='.git/hooks/pre-commit', content='x')
    assert f'(protect {workspace}/.git/hooks, from default); filesystem.protect: [-git] in the policy would allow it' in hook
    fixed = client.refusal('Write', file_path='fixed/f', content='x')
    assert f'(deny_write {workspace}/fixed, from --deny-write); to allow it, take that rule out' in fixed
    if os.geteuid() != 0:       # whose mode refuses it, not the box
        assert client.refusal('Read', file_path='private').endswith('Permission denied')


@pytest.mark.parametrize('flags, sentence', [
    (('-w', '.', '-w', 'missing'), 'missing'),
    (('-w', 'a=.', '-w', 'a=/usr'), "two workspaces are called 'a'; name one: NAME=/usr"),
])
def test_workspaces_that_cannot_be(ringwall, workspace, flags, sentence):
    result = ringwall('mcp', *flags)
    assert result.returncode == 125 and sentence in result.stderr


def test_progress_is_told_to_who_asks(client):
    client.send({'jsonrpc': '2.0', 'id': 'slow', 'method': 'tools/call', 'params': {
        'name': 'Bash', 'arguments': {'command': 'sleep 1.8'}, '_meta': {**(META if client.modern else {}), 'progressToken': 't'}}})
    told = []
    while (message := client.receive()).get('method') == 'notifications/progress':
        assert message['params']['progressToken'] == 't' and message['params']['message']
        told.append(message['params']['progress'])
    assert message['id'] == 'slow' and len(told) >= 2 and told == sorted(set(told))
    client.send({'jsonrpc': '2.0', 'id': 'quiet', 'method': 'tools/call', 'params': {
        'name': 'Bash', 'arguments': {'command': 'sleep 1.2'}, **({'_meta': META} if client.modern else {})}})
    assert client.receive()['id'] == 'quiet'
