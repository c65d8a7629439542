"""An MCP client for attack and load tests: it can send malformed messages, and every wait has a timeout.

A transport carries messages as bytes: send(message), read() buffers the bytes that have arrived, receive(until) ->
message or None, close(). Stdio starts a server of its own and uses its standard streams. Http opens a session on a
running server, which other clients may use too.
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

PATIENCE = 20       # seconds until a server that does not answer counts as hanging
META = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}


class Stdio:
    """Starts a server; a message is a line. The server's standard error is appended to the file `errors`."""

    def __init__(self, command, errors=os.devnull, **options):
        self.again = lambda: Stdio(command, errors, **options)
        with open(errors, 'ab') as file:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, bufsize=0,
                                            stdout=subprocess.PIPE, stderr=file, start_new_session=True, **options)
        os.set_blocking(self.process.stdout.fileno(), False)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.buffer, self.messages, self.ended, self.group_killed = bytearray(), [], False, False

    def fileno(self):
        return self.process.stdout.fileno()

    def send(self, message, end=b'\n'):
        """Sends the whole message, and reads meanwhile: a server that cannot write does not read. Raises
        BrokenPipeError if the server has exited."""
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
        """Reads the bytes that have arrived, without waiting."""
        with contextlib.suppress(BlockingIOError):
            received = os.read(self.fileno(), 1 << 20)
            self.ended = not received
            self.buffer += received
        *lines, rest = self.buffer.split(b'\n') if b'\n' in self.buffer[-(1 << 20):] else (self.buffer,)
        self.messages += map(bytes, lines)
        self.buffer = rest

    def receive(self, until):
        """Returns the next message, or None if none arrives until then or the server has exited."""
        while not self.messages and not self.ended and time.monotonic() < until:
            self.wait(until)
        return self.messages.pop(0) if self.messages else None

    def close(self, patience=PATIENCE):
        """Closes the server's input and waits. Returns its exit status, or None if it had to be killed."""
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.end(self.process.wait(patience))
        return self.end(None)

    def abandon(self):
        """Closes both pipes and does not wait for the server, as if the client had been killed."""
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self, status):
        if not self.group_killed:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)     # its children may still be in its group
        self.group_killed = True
        self.process.wait()
        self.process.stdout.close()
        return status


class Http:
    """A session of the legacy protocol over one connection to a server on loopback. Each request gets one message."""

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
        received = self.socket.recv(1 << 20)
        self.ended = not received
        self.buffer += received
        while (end := self.buffer.find(b'\r\n\r\n')) >= 0:
            status_line, *lines = self.buffer[:end].decode().split('\r\n')
            head = {name.lower(): value for name, _, value in (line.partition(': ') for line in lines)}
            assert status_line.split()[1] in ('200', '202') and 'content-length' in head, self.buffer[:end]
            body_end = end + 4 + int(head['content-length'])
            if len(self.buffer) < body_end:
                return
            if 'mcp-session-id' in head:
                self.head['Mcp-Session-Id'] = head['mcp-session-id']
            self.messages += [self.buffer[end + 4:body_end]] if body_end > end + 4 else []
            self.buffer = self.buffer[body_end:]

    def receive(self, until):
        while not self.messages and not self.ended and time.monotonic() < until:
            if select.select([self.socket], [], [], max(0, until - time.monotonic()))[0]:
                self.read()
        return self.messages.pop(0) if self.messages else None

    def close(self):
        self.socket.close()


class Client:
    """A client: client('Read', file_path='f') -> result, client.say(…) -> text of the result or error."""

    def __init__(self, transport, modern=False, patience=PATIENCE):
        self.transport, self.modern, self.patience, self.last, self.others = transport, modern, patience, 0, []

    def again(self):
        """Returns another client of the same kind, with its own server."""
        return Client(self.transport.again(), self.modern, self.patience)

    def request(self, method, **params):
        """Returns the next request, as bytes. self.last is its id."""
        self.last += 1
        params.update({'_meta': META} if self.modern else {})
        return json.dumps({'jsonrpc': '2.0', 'id': self.last, 'method': method, 'params': params}).encode()

    def receive(self, patience=None):
        """Returns the next message: parsed, or as bytes if it is not JSON. None after a timeout."""
        message = self.transport.receive(time.monotonic() + (self.patience if patience is None else patience))
        with contextlib.suppress(ValueError):
            return None if message is None else json.loads(message)
        return message

    def await_reply(self, number):
        """Waits for the reply with this id. Messages that arrive before it are appended to self.others."""
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
        """Sends a tool call and does not wait for the reply. Returns its id."""
        self.transport.send(self.request('tools/call', name=tool, arguments=arguments))
        return self.last

    def say(self, tool, **arguments):
        """Calls a tool and returns the text of the result, or of the error."""
        return text_of(self(tool, **arguments))

    def lives(self):
        """Whether the server answers a ping correctly."""
        with contextlib.suppress(TimeoutError, BrokenPipeError):
            return self.ask('ping') == {}
        return False


def details(result):
    """The fields of a tool's result that programs read. Clients do not show them to the model."""
    return result['_meta']['ringwall/details']


def text_of(result):
    return result['content'][0]['text'] if 'content' in result else result['message']


# The processes of a server, from /proc.

def children(pid):
    with contextlib.suppress(OSError):
        return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    return []


def family(pid):
    """A process and all its descendants."""
    return [pid, *(member for child in children(pid) for member in family(child))]


def memory(pid, field):
    """A field of /proc/PID/status, in bytes: VmHWM is the peak resident memory, RssAnon the private memory now. 0 if
    the process has exited."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
            if line.startswith(f'{field}:'):
                return int(line.split()[1]) << 10
    return 0


def is_alive(pid):
    """Does the process exist? A zombie does not count."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    return False
