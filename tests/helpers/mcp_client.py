"""An MCP client for tests that are hostile or heavy: it sends what no real client would, and never waits for ever.

A transport carries messages as bytes: send(message), read() takes in what is there, receive(until) -> message or None,
close(). Stdio starts a server and speaks with it over its standard streams; Http has a session with one that others use
too.
"""
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

PATIENCE = 20       # seconds; whoever is silent for so long is taken for hanging
META = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}


class Stdio:
    """A server of one's own, one message a line. What it tells a person is added to the file `errors`."""

    def __init__(self, command, errors=os.devnull, **options):
        self.again = lambda: Stdio(command, errors, **options)
        with open(errors, 'ab') as file:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, bufsize=0,
                                            stdout=subprocess.PIPE, stderr=file, start_new_session=True, **options)
        os.set_blocking(self.process.stdout.fileno(), False)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.buffer, self.messages, self.ended, self.over = bytearray(), [], False, False

    def fileno(self):
        return self.process.stdout.fileno()

    def send(self, message, end=b'\n'):
        """All of it, while reading what comes: who cannot write does not read. BrokenPipeError: the server is gone."""
        data, until = memoryview(message + end), time.monotonic() + PATIENCE
        while data:
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self.process.stdin.fileno(), data):]
            if data:
                self.wait(until, self.process.stdin)
                if time.monotonic() > until:
                    raise TimeoutError('the server does not read')

    def wait(self, until, *writers):
        readers = [] if self.ended else [self.process.stdout]
        if select.select(readers, writers, [], max(0, until - time.monotonic()))[0]:
            self.read()

    def read(self):
        """What is there."""
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self.fileno(), 1 << 20)
            self.ended = not piece
            self.buffer += piece
        *lines, rest = self.buffer.split(b'\n') if b'\n' in self.buffer[-(1 << 20):] else (self.buffer,)
        self.messages += map(bytes, lines)
        self.buffer = rest

    def receive(self, until):
        """The next message; None when there is none until then, or the server is gone."""
        while not self.messages and not self.ended and time.monotonic() < until:
            self.wait(until)
        return self.messages.pop(0) if self.messages else None

    def close(self, patience=PATIENCE):
        """Says all, and waits for the end. Returns how the server ended; None if it had to be killed."""
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.end(self.process.wait(patience))
        return self.end(None)

    def abandon(self):
        """As if the client had been killed: nobody writes to the server any more, nobody reads, nobody waits."""
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self, status):
        if not self.over:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)     # what it started may have stayed in its group
        self.over = True
        self.process.wait()
        self.process.stdout.close()
        return status


class Http:
    """A legacy session over one connection to a server on loopback. Each call is answered with one message."""

    def __init__(self, port, token):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=PATIENCE)
        self.head = {'Host': f'127.0.0.1:{port}', 'Authorization': f'Bearer {token}',
                     'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream'}
        self.buffer, self.messages, self.ended = b'', [], False
        params = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'clientInfo': {'name': 'test', 'version': '1'}}
        self.send(json.dumps({'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': params}).encode())
        assert self.receive(time.monotonic() + PATIENCE), 'initialize was not answered'
        self.head['MCP-Protocol-Version'] = '2025-11-25'

    def fileno(self):
        return self.socket.fileno()

    def send(self, message):
        head = ''.join(f'{name}: {value}\r\n' for name, value in {**self.head, 'Content-Length': len(message)}.items())
        self.socket.sendall(f'POST /mcp HTTP/1.1\r\n{head}\r\n'.encode() + message)

    def read(self):
        piece = self.socket.recv(1 << 20)
        self.ended = not piece
        self.buffer += piece
        while (end := self.buffer.find(b'\r\n\r\n')) >= 0:
            first, *lines = self.buffer[:end].decode().split('\r\n')
            head = {name.lower(): value for name, _, value in (line.partition(': ') for line in lines)}
            assert first.split()[1] in ('200', '202') and 'content-length' in head, self.buffer[:end]
            behind = end + 4 + int(head['content-length'])
            if len(self.buffer) < behind:
                return
            if 'mcp-session-id' in head:
                self.head['Mcp-Session-Id'] = head['mcp-session-id']
            self.messages += [self.buffer[end + 4:behind]] if behind > end + 4 else []
            self.buffer = self.buffer[behind:]

    def receive(self, until):
        while not self.messages and not self.ended and time.monotonic() < until:
            if select.select([self.socket], [], [], max(0, until - time.monotonic()))[0]:
                self.read()
        return self.messages.pop(0) if self.messages else None

    def close(self):
        self.socket.close()


class Client:
    """Speaks with a server: client('Read', file_path='f') -> result, client.say(…) -> its text, whatever it is."""

    def __init__(self, transport, modern=False, patience=PATIENCE):
        self.transport, self.modern, self.patience, self.last, self.others = transport, modern, patience, 0, []

    def again(self):
        """Another client like this one, with a server of its own."""
        return Client(self.transport.again(), self.modern, self.patience)

    def request(self, method, **params):
        """The next request, as bytes. self.last is its id."""
        self.last += 1
        params.update({'_meta': META} if self.modern else {})
        return json.dumps({'jsonrpc': '2.0', 'id': self.last, 'method': method, 'params': params}).encode()

    def receive(self, patience=None):
        """The next message, whatever it is: parsed, or as bytes when it is no JSON. None after silence."""
        message = self.transport.receive(time.monotonic() + (self.patience if patience is None else patience))
        with contextlib.suppress(ValueError):
            return None if message is None else json.loads(message)
        return message

    def await_reply(self, number):
        """The reply with this id. What comes before it is kept in self.others."""
        until = time.monotonic() + self.patience
        while (message := self.receive(until - time.monotonic())) is not None:
            if isinstance(message, dict) and type(message.get('id')) is type(number) and message['id'] == number:
                return message
            self.others.append(message)
        raise TimeoutError(f'no reply to {number}; other messages: {self.others}')

    def ask(self, method, **params):
        self.transport.send(self.request(method, **params))
        reply = self.await_reply(self.last)
        return reply['result'] if 'result' in reply else reply['error']

    def __call__(self, tool, **arguments):
        return self.ask('tools/call', name=tool, arguments=arguments)

    def start(self, tool, **arguments):
        """Sends a call and does not wait. Returns its id."""
        self.transport.send(self.request('tools/call', name=tool, arguments=arguments))
        return self.last

    def say(self, tool, **arguments):
        """The text of the answer, also of a failure."""
        return text_of(self(tool, **arguments))

    def lives(self):
        """Does it answer, and rightly?"""
        with contextlib.suppress(TimeoutError, BrokenPipeError):
            return self.ask('ping') == {}
        return False


def text_of(result):
    return result['content'][0]['text'] if 'content' in result else result['message']


# The processes of a server, as /proc tells.

def children(pid):
    with contextlib.suppress(OSError):
        return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    return []


def family(pid):
    """A process and all that come from it."""
    return [pid, *(member for child in children(pid) for member in family(child))]


def memory(pid, field):
    """Of /proc/PID/status, in bytes: VmHWM is the most that it ever had, RssAnon what is its own now; 0: it is gone."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
            if line.startswith(f'{field}:'):
                return int(line.split()[1]) << 10
    return 0


def is_alive(pid):
    """One that has ended and waits to be reaped is not."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    return False
