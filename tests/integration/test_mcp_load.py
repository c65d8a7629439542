"""64 clients at once, each with 1,000 calls of all kinds, one after the other. Every answer is correct, and memory
grows little after the first thousand calls.

Memory is RssAnon of every process of ringwall. After the first thousand calls of all clients together, two things may
still grow: the table of files that were read, where each client has a handful, and what the allocator keeps after the
largest request and answer. That is less than 256 KiB for each client. After half of all calls every size has occurred,
and less than 32 KiB may be added: a leak of 64 bytes in each call would be found.
"""
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess

import pytest

from mcp_client import Client, Http, Stdio, family, memory

pytestmark = pytest.mark.only_user      # the user makes no difference here, so one of the two runs is enough

IN_VM = 'RINGWALL_CGROUP' in os.environ
CLIENTS, CALLS = (8, 50) if IN_VM else (64, 1000)
GROWTH = {1000: 256 << 10, CLIENTS * CALLS // 2: 32 << 10}  # after so many calls: bytes that each client may add


class Load:
    """The calls of one client, one after the other: a tool, its arguments, and a pattern for the answer."""

    def __init__(self, client, folder, number):
        self.client, self.folder, self.name, self.done = client, folder, f'client-{number}', 0
        (folder / self.name).mkdir()
        (folder / self.name / 'source.c').write_text(f'int main(void)\n{{\n        return {number};\n}}\n' * 100)
        self.sent, self.expected = None, None

    def next_call(self):
        own, path, number = self.name, self.folder / self.name, self.done
        text = f'text {number}\n' * (1 + number % 500)
        return [
            ('Write', {'file_path': f'{own}/file', 'content': text}, f'^wrote {len(text)} bytes to {path}/file$'),
            ('Read', {'file_path': f'{own}/file', 'limit': 3}, f'^1\ttext {number - 1}\n'),
            ('Edit', {'file_path': f'{path}/file', 'old_string': 'text', 'new_string': 'edited', 'replace_all': True},
             f'^replaced {1 + (number - 2) % 500} occurrence'),
            ('Read', {'file_path': f'{own}/source.c'}, '^1\tint main'),
            ('Glob', {'pattern': '**/*.c', 'path': own}, f'^{path}/source.c\n$'),
            ('Grep', {'pattern': r'return \d+', 'path': own, 'output_mode': 'count'}, r'source\.c:100\n$'),
            ('Bash', {'command': f'echo {number}; wc -l < {own}/source.c'}, f'^{number}\n400\nexit: 0$'),
            ('Read', {'file_path': '../none'}, '^no such file'),
            ('Edit', {'file_path': f'{own}/none', 'old_string': 'a', 'new_string': 'b'}, '^no such file'),
            ('None', {}, "^there is no tool 'None'$"),
        ][number % 10]

    def send(self):
        tool, arguments, self.expected = self.next_call()
        self.client.start(tool, **arguments)

    def receive(self):
        """Reads what has arrived, and checks the answer. Returns whether there was one."""
        self.client.transport.read()
        assert not self.client.transport.ended, f'{self.name}: its server has exited after {self.done} calls'
        if not self.client.transport.messages:
            return False
        message = json.loads(self.client.transport.messages.pop(0))
        assert message['id'] == self.client.last
        answer = message['result']['content'][0]['text'] if 'result' in message else message['error']['message']
        assert re.search(self.expected, answer), f'{self.name}: expected {self.expected}, got {answer[:300]}'
        self.done += 1
        return True


@contextlib.contextmanager
def stdio(build, home, workspace):
    """Each client has a server of its own. Yields the clients, and the pids of the servers."""
    environment = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'}
    clients = [Client(Stdio([build / 'ringwall', 'mcp'], cwd=workspace, env=environment)) for _ in range(CLIENTS)]
    yield clients, [client.transport.process.pid for client in clients]
    assert [client.transport.close() for client in clients] == [0] * CLIENTS


@contextlib.contextmanager
def http(build, home, workspace):
    """All clients use one server; each has its own session and box. Yields the clients, and the server's pid."""
    environment = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'}
    with subprocess.Popen([build / 'ringwall', 'mcp', '--http', '127.0.0.1:0'], cwd=workspace, env=environment,
                          text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            port, token = read_port_and_token(server.stderr)
            clients = [Client(Http(port, token)) for _ in range(CLIENTS)]
            yield clients, [server.pid]
            for client in clients:
                client.transport.close()
        finally:
            server.terminate()
        assert server.wait(60) == 128 + signal.SIGTERM


def read_port_and_token(lines):
    """The port and the token, which the server prints when it starts."""
    found = {}
    for line in lines:
        found.update((name, match[1]) for name, match in (('port', re.search(r'http://127\.0\.0\.1:(\d+)/mcp', line)),
                                                          ('token', re.search(r'the token is (\S+)$', line))) if match)
        if len(found) == 2:
            return int(found['port']), found['token']
    raise AssertionError(f'the server printed only {found}')


def run_all(loads, after_call):
    """Runs all calls, and after_call(done) after each of them. Returns their number."""
    waiting, done = selectors.DefaultSelector(), 0
    for load in loads:
        waiting.register(load.client.transport, selectors.EVENT_READ, load)
        load.send()
    while waiting.get_map():
        for key, _ in waiting.select():
            load = key.data
            if not load.receive():
                continue
            done += 1
            after_call(done)
            if load.done < CALLS:
                load.send()
            else:
                waiting.unregister(load.client.transport)
    return done


def anonymous_memory(roots):
    return sum(memory(pid, 'RssAnon') for root in roots for pid in family(root))


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize('transport', [stdio, http])
def test_many_clients_get_correct_answers_and_memory_hardly_grows(build, home, workspace, transport):
    sizes = {}
    with transport(build, home, workspace) as (clients, roots):
        def record_memory(done):
            if done in GROWTH:
                sizes[done] = anonymous_memory(roots)
        loads = [Load(client, workspace, number) for number, client in enumerate(clients)]
        assert run_all(loads, record_memory) == CLIENTS * CALLS
        growth = {done: (anonymous_memory(roots) - size) // CLIENTS for done, size in sizes.items()}
        assert all(growth[done] < GROWTH[done] for done in sizes), growth
        for load in loads:
            assert sorted(os.listdir(workspace / load.name)) == ['file', 'source.c']
