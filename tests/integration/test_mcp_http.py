"""`ringwall mcp --http`: who may connect, requests that are refused, sessions and their boxes, streams and how they are
resumed."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

TOKEN = 'an-ordinary-token-for-tests'
VERSION = 'io.modelcontextprotocol/protocolVersion'
META = {VERSION: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
BOTH = 'application/json, text/event-stream'
SESSIONS = 127  # at the same time, besides the one for requests that need no box


class Unix(http.client.HTTPConnection):
    """A connection over a unix socket."""

    def __init__(self, path):
        super().__init__('localhost', timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """A running server: server.post({…}) -> status, headers, the body as JSON."""

    def __init__(self, build, home, workspace, arguments, wrapper=()):
        self.process = subprocess.Popen([*wrapper, build / 'ringwall', 'mcp', *arguments], cwd=workspace, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin',
                                             'MALLOC_PERTURB_': '165'})     # makes a use of freed memory fail
        self.startup_lines = [self.process.stderr.readline() for argument in arguments if argument == '--http']
        found = re.search(r'http://127.0.0.1:(\d+)/mcp', ''.join(self.startup_lines))
        self.port = int(found[1]) if found else None

    def connect(self):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)

    def raw(self):
        return socket.create_connection(('127.0.0.1', self.port), timeout=30)

    def ask(self, method='POST', body=None, connection=None, path='/mcp', **headers):
        """headers: name=value, with _ for -. A header that is None is not sent."""
        all_headers = {'Authorization': f'Bearer {TOKEN}', 'Content-Type': 'application/json', 'Accept': BOTH,
                       **{name.replace('_', '-'): value for name, value in headers.items()}}
        connection = connection or self.connect()
        connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body).encode(),
                           {name: value for name, value in all_headers.items() if value is not None})
        return connection.getresponse()

    def post(self, body, **options):
        response = self.ask(body=body, **options)
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None

    def modern(self, method, connection=None, request_id=1, **params):
        named = {'Mcp_Name': params['name']} if 'name' in params else {}
        return self.post(call(method, request_id, _meta=META, **params), connection=connection, Mcp_Method=method,
                         MCP_Protocol_Version='2026-07-28', **named)

    def open(self, **options):
        """Opens a legacy session. Returns the headers that belong to it."""
        status, headers, reply = self.post(call('initialize', 0, protocolVersion='2025-11-25', capabilities={},
                                                clientInfo={'name': 'test', 'version': '1'}), **options)
        assert status == 200 and reply['result']['protocolVersion'] == '2025-11-25'
        session = {'Mcp_Session_Id': headers['Mcp-Session-Id'], 'MCP_Protocol_Version': '2025-11-25'}
        status, _, reply = self.post({'jsonrpc': '2.0', 'method': 'notifications/initialized'},
                                     **{**options, **session})
        assert (status, reply) == (202, None)
        return session

    def boxes(self):
        """The number of boxes of tools: children of the broker without the first, which is the server's box."""
        return len(children(self.process.pid)) - 1

    def memory(self):
        """The resident memory, in KiB, of the server process in its box."""
        server = children(children(self.process.pid)[0])[-1]
        return int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{server}/status').read_text())[1])


def children(pid):
    return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def call(method, request_id=1, **params):
    return {'jsonrpc': '2.0', 'id': request_id, 'method': method, 'params': params}


def tool(name, request_id=1, **arguments):
    return call('tools/call', request_id, name=name, arguments=arguments)


def text_of(reply):
    return reply['result']['content'][0]['text']


def events(response):
    """Yields the events of a stream as they arrive: (id, message or None)."""
    fields = {}
    for line in response:
        line = line.decode().rstrip('\n')
        if not line and 'data' in fields:
            yield fields.get('id'), json.loads(fields['data']) if fields['data'] else None
            fields = {}
        elif line and not line.startswith(':'):
            name, _, value = line.partition(': ')
            fields[name] = value


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f'the condition was not met within {seconds} s'
        time.sleep(0.02)


@pytest.fixture
def token_file(home):
    path = home / 'token'
    path.write_text(TOKEN + '\n')
    path.chmod(0o600)
    return path


@pytest.fixture
def serve(build, home, workspace):
    started = []

    def start(*arguments, **options):
        started.append(Server(build, home, workspace, [str(argument) for argument in arguments], **options))
        return started[-1]
    yield start
    for server in started:
        server.process.terminate()
        assert server.process.wait(timeout=20) == 128 + signal.SIGTERM, server.process.stderr.read()
        server.process.stdout.close()
        server.process.stderr.close()


@pytest.fixture
def server(serve, token_file):
    return serve('--http', '127.0.0.1:0', '--token-file', token_file)


# Who may connect.

@pytest.mark.quick
@pytest.mark.parametrize('headers, status', [
    ({'Authorization': None}, 401),
    ({'Authorization': 'Bearer'}, 401),
    ({'Authorization': 'Bearer '}, 401),
    ({'Authorization': 'Bearer wrong'}, 401),
    ({'Authorization': f'Bearer {TOKEN[:-1]}'}, 401),
    ({'Authorization': f'Bearer {TOKEN}x'}, 401),
    ({'Authorization': f'Bearer {TOKEN[:-1]}x'}, 401),
    ({'Authorization': f'Bearer x{TOKEN[1:]}'}, 401),
    ({'Authorization': f'Basic {TOKEN}'}, 401),
    ({'Authorization': TOKEN}, 401),
    ({'Authorization': f'bearer {TOKEN}'}, 200),
    ({'Host': 'evil.example'}, 403),
    ({'Host': 'localhost.evil.example'}, 403),
    ({'Host': '127.0.0.1.evil.example'}, 403),
    ({'Host': '127.0.0.1:80:80'}, 403),
    ({'Host': '127.0.0.2'}, 403),
    ({'Host': ''}, 403),
    ({'Host': 'localhost'}, 200),
    ({'Host': 'LOCALHOST:1'}, 200),
    ({'Host': '[::1]:80'}, 200),
    ({'Origin': 'http://evil.example'}, 403),
    ({'Origin': 'null'}, 403),
    ({'Origin': ''}, 403),
    ({'Origin': 'http://localhost.evil.example'}, 403),
    ({'Origin': 'http://localhost@evil.example'}, 403),
    ({'Origin': 'file://localhost'}, 403),
    ({'Origin': 'http://localhost:3000'}, 200),
    ({'Origin': 'https://127.0.0.1'}, 200),
    ({'Host': 'evil.example', 'Authorization': None}, 403),     # a foreign page is not told that a token is needed
])
def test_token_host_and_origin_decide_who_may_connect(server, headers, status):
    got, answer, _ = server.post(call('initialize', protocolVersion='2025-11-25'), **headers)
    assert got == status
    assert (answer['WWW-Authenticate'] == 'Bearer realm="ringwall"') == (status == 401)
    assert ('Mcp-Session-Id' in answer) == (status == 200)


def test_client_without_the_token_is_refused_before_it_sends_a_body(server):
    """The server must not allocate memory for a body before it has checked the token."""
    with server.raw() as connection:
        connection.sendall(b'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n'
                           b'Expect: 100-continue\r\n\r\n')
        assert connection.recv(4096).startswith(b'HTTP/1.1 401 Unauthorized\r\n')


# Requests that are refused.

@pytest.mark.parametrize('method, path, headers, status', [
    ('POST', '/', {}, 404),
    ('POST', '/mcp/', {}, 404),
    ('POST', '/mcp?x', {}, 404),
    ('GET', '/favicon.ico', {}, 404),
    ('PUT', '/mcp', {}, 405),
    ('OPTIONS', '/mcp', {}, 405),
    ('GET', '/mcp', {}, 405),                                   # without a session there is only POST
    ('DELETE', '/mcp', {}, 405),
    ('GET', '/mcp', {'Mcp-Session-Id': 'nobody'}, 404),
    ('DELETE', '/mcp', {'Mcp-Session-Id': 'nobody'}, 404),
    ('GET', '/mcp', {'Mcp-Session-Id': 'nobody', 'MCP-Protocol-Version': '2026-07-28'}, 405),
    ('GET', '/mcp', {'Mcp-Session-Id': 'nobody', 'MCP-Protocol-Version': 'v999'}, 400),
    ('POST', '/mcp', {'Content-Type': None}, 415),
    ('POST', '/mcp', {'Content-Type': 'text/plain'}, 415),
    ('POST', '/mcp', {'Content-Type': 'application/jsonx'}, 415),
    ('POST', '/mcp', {'Accept': 'text/html'}, 406),
    ('POST', '/mcp', {'Accept': 'text/event-stream'}, 406),
    ('POST', '/mcp', {}, 400),                                  # no session
    ('POST', '/mcp', {'Mcp-Session-Id': 'nobody'}, 404),
    ('POST', '/mcp', {'Mcp-Session-Id': ''}, 404),
])
def test_wrong_methods_paths_and_headers_are_refused(server, method, path, headers, status):
    response = server.ask(method, call('tools/list') if method == 'POST' else None, path=path,
                          **{name.replace('-', '_'): value for name, value in headers.items()})
    assert response.status == status
    sentence = json.loads(response.read())['error']['message']
    assert sentence and not sentence.endswith('.')
    allowed = 'POST' if method in ('GET', 'DELETE') else 'POST, GET, DELETE'
    assert response.headers['Allow'] == (allowed if status == 405 else None)


@pytest.mark.parametrize('body, status, code', [
    (b'', 400, -32700),
    (b'{', 400, -32700),
    (b'[]', 400, -32600),
    (json.dumps([call('ping')]).encode(), 400, -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
    (b'{"id": 1, "params": {"text": "\\u0000"}', 400, -32700),
    (b'{"id": 1, "jsonrpc": "1.0", "method": "ping"}', 400, -32600),
])
def test_body_that_is_not_a_message_is_refused(server, body, status, code):
    got, _, reply = server.post(body)
    assert (got, reply['error']['code'], reply.get('id')) == (status, code, 1 if body[:9] == b'{"id": 1,' else None)


@pytest.mark.parametrize('headers, body, status, code', [
    ({}, call('ping', _meta=META), 404, -32601),
    ({'Mcp_Method': 'tools/list'}, call('ping', _meta=META), 400, -32020),
    ({'Mcp_Method': None}, call('tools/list', _meta=META), 400, -32020),
    ({'MCP_Protocol_Version': '2025-11-25'}, call('tools/list', _meta=META), 400, -32020),
    ({'MCP_Protocol_Version': None}, call('tools/list', _meta=META), 400, -32020),
    ({}, call('tools/list'), 400, -32602),
    ({'Mcp_Name': 'Write'}, call('tools/call', name='Read', _meta=META), 400, -32020),
    ({'Mcp_Name': None}, call('tools/call', name='Read', _meta=META), 400, -32020),
    ({'Mcp_Name': '=?base64?UmVhZA?='}, call('tools/call', name='Read', _meta=META), 400, -32020),
    ({'MCP_Protocol_Version': 'v9'}, call('tools/list', _meta={**META, VERSION: 'v9'}), 400, -32022),
    ({'Mcp_Name': 'Nothing'}, call('tools/call', name='Nothing', _meta=META), 200, -32602),
])
def test_wrong_modern_requests_are_refused(server, headers, body, status, code):
    got, _, reply = server.post(body, **{'Mcp_Method': body['method'], 'MCP_Protocol_Version': '2026-07-28', **headers})
    assert (got, reply['error']['code'], reply['id']) == (status, code, 1)


HEAD = (f'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n'
        'Content-Type: application/json\r\n').encode()
LIST = json.dumps(call('tools/list', _meta=META)).encode()
MODERN = HEAD + b'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n'
GOOD = MODERN + b'Content-Length: %d\r\n\r\n%s' % (len(LIST), LIST)


@pytest.mark.parametrize('request_bytes, status', [
    (HEAD + b'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}', 400),
    (HEAD + b'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
    (HEAD + b'Transfer-Encoding: gzip\r\n\r\n', 501),
    (HEAD + b'Transfer-Encoding: chunked\r\n\r\nx\r\n', 400),
    (HEAD.replace(b'\r\n', b'\n') + b'\n', 400),
    (HEAD + b' folded\r\n\r\n', 400),
    (HEAD + b'Name : x\r\n\r\n', 400),
    (HEAD + b'Name: \0\r\n\r\n', 400),
    (HEAD + b'Host: localhost\r\n\r\n', 400),
    (b'GET /mcp\r\n\r\n', 400),
    (b'GET /mcp HTTP/1.0\r\nHost: localhost\r\n\r\n', 505),
    (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400),
    (HEAD + b'Expect: magic\r\n\r\n', 417),
    (HEAD + b'A: %s\r\n\r\n' % (b'x' * 20000), 431),
    (HEAD + b'A: b\r\n' * 64 + b'\r\n', 431),
    (HEAD + b'Content-Length: 10485761\r\n\r\n', 413),
    (HEAD + b'Transfer-Encoding: chunked\r\n\r\nA00001\r\n', 413),
])
def test_malformed_and_too_large_http_requests_close_the_connection(server, request_bytes, status):
    """The answer gives a reason. Other connections are not affected."""
    with server.raw() as connection:
        connection.sendall(request_bytes)
        answer = b''.join(iter(lambda: connection.recv(65536), b''))
    head, _, body = answer.partition(b'\r\n\r\n')
    assert head.startswith(b'HTTP/1.1 %d ' % status) and b'\r\nConnection: close' in head
    assert json.loads(body)['error']['message'] in ('malformed HTTP request', 'the request is too large')
    assert server.modern('tools/list')[0] == 200


# Requests in pieces, pipelined requests, clients that do not read or disconnect.

def read_head(file):
    """Reads the head of an answer. Returns its status and the length of the body."""
    status = int(file.readline().split()[1])
    headers = dict(line.split(b': ') for line in iter(lambda: file.readline().strip(), b''))
    return status, int(headers[b'Content-Length'])


def read_answer(file):
    """Reads an answer. Returns its status and its body."""
    status, length = read_head(file)
    return status, file.read(length)


def test_pipelined_requests_are_answered_in_order(server):
    bodies = [json.dumps(call('tools/list', number, _meta=META)).encode() for number in range(20)]
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.sendall(b''.join(MODERN + b'Content-Length: %d\r\n\r\n%s' % (len(body), body) for body in bodies))
        assert [json.loads(read_answer(file)[1])['id'] for _ in bodies] == list(range(20))


def test_pipelined_request_does_not_overtake_a_slow_one(server):
    slow, fast = [json.dumps(call('tools/call', number, name='Bash', arguments={'command': command},
                                  _meta=META)).encode()
                  for number, command in ((1, 'sleep 0.4; echo first'), (2, 'echo second'))]
    head = HEAD + b'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: Bash\r\n'
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.sendall(b''.join(head + b'Content-Length: %d\r\n\r\n%s' % (len(body), body)
                                    for body in (slow, fast)))
        assert [text_of(json.loads(read_answer(file)[1])) for _ in range(2)] == ['first\nexit: 0', 'second\nexit: 0']


@pytest.mark.parametrize('size', [1, 2, 7, 100000])
def test_body_may_come_in_chunks_of_any_size(server, size):
    chunks = b''.join(b'%x;ext=1\r\n%s\r\n' % (len(LIST[at:at + size]), LIST[at:at + size])
                      for at in range(0, len(LIST), size))
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.sendall(MODERN + b'Transfer-Encoding: chunked\r\n\r\n' + chunks + b'0\r\nTrailer: x\r\n\r\n' + GOOD)
        assert [read_answer(file)[0] for _ in range(2)] == [200, 200]


def test_request_may_arrive_byte_by_byte(server):
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in GOOD:
            connection.sendall(bytes([byte]))
        assert read_answer(file)[0] == 200


def test_expect_100_continue_is_answered(server):
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.sendall(MODERN + b'Content-Length: %d\r\nExpect: 100-continue\r\n\r\n' % len(LIST))
        assert (file.readline(), file.readline()) == (b'HTTP/1.1 100 Continue\r\n', b'\r\n')
        connection.sendall(LIST)
        assert read_answer(file)[0] == 200


def test_answers_that_a_client_does_not_read_are_bounded_and_not_lost(server):
    """The server stops reading requests until the client reads; afterwards every request is answered."""
    server.modern('tools/list')
    before, sent = server.memory(), 0
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.settimeout(1)
        with contextlib.suppress(TimeoutError):
            while sent < 20_000_000:
                sent += connection.send((GOOD * 101)[sent % len(GOOD):])
        assert sent < 20_000_000 and server.memory() - before < 8192
        connection.settimeout(30)
        rest = threading.Thread(target=connection.sendall, args=[GOOD[sent % len(GOOD):]])
        rest.start()
        assert {read_answer(file)[0] for _ in range(sent // len(GOOD) + 1)} == {200}
        rest.join()


def test_connection_close_is_obeyed(server):
    with server.raw() as connection:
        connection.sendall(GOOD.replace(b'Content-Length', b'Connection: close\r\nContent-Length'))
        assert b''.join(iter(lambda: connection.recv(65536), b'')).startswith(b'HTTP/1.1 200 OK\r\n')


def test_answer_to_head_has_no_body(server):
    """The client would take a body for the next answer."""
    head = HEAD.replace(b'POST', b'HEAD') + b'\r\n'
    with server.raw() as connection, connection.makefile('rb') as file:
        connection.sendall(head + GOOD)
        status, length = read_head(file)
        assert (status, read_answer(file)[0]) == (405, 200) and length > 0


def test_clients_that_disconnect_in_mid_request_leak_no_memory(server):
    assert server.modern('tools/list')[0] == 200
    before = server.memory()
    for cut in (1, 20, len(HEAD), len(MODERN), len(GOOD) - 1, len(GOOD)):
        for _ in range(30):
            with server.raw() as connection:
                connection.sendall(GOOD[:cut])
    assert server.modern('tools/list')[0] == 200
    assert server.memory() - before < 2048


def test_connections_over_the_limit_replace_the_oldest_without_a_request(server):
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(server.raw()) for _ in range(600)]
        connections[-1].sendall(GOOD)
        assert connections[-1].recv(65536).startswith(b'HTTP/1.1 200 OK\r\n')
        assert connections[0].recv(1) == b''
    assert server.modern('tools/list')[0] == 200


# Sessions.

def test_session_has_a_box_of_its_own_until_it_is_deleted(server):
    first, second = server.open(), server.open()
    assert first != second and re.fullmatch('[0-9a-f]{32}', first['Mcp_Session_Id'])
    wait_for(lambda: server.boxes() == 1)
    for session in (first, second):
        assert text_of(server.post(tool('Bash', command='echo here'), **session)[2]) == 'here\nexit: 0'
    wait_for(lambda: server.boxes() == 3)
    assert server.ask('DELETE', **first).status == 200
    wait_for(lambda: server.boxes() == 2)
    assert server.post(tool('Bash', command='true'), **first)[0] == 404
    assert server.ask('DELETE', **first).status == 404 and server.ask('GET', **first).status == 404
    assert text_of(server.post(tool('Bash', command='echo still'), **second)[2]) == 'still\nexit: 0'


def test_deleting_a_session_ends_its_calls(server, workspace):
    session, done = server.open(), []
    waiting = threading.Thread(target=lambda: done.append(server.ask(body=tool('Bash',
                                                                               command='echo > started; sleep 100'),
                                                                     **session).status))
    waiting.start()
    wait_for((workspace / 'started').exists)
    assert server.ask('DELETE', **session).status == 200
    waiting.join(10)
    assert done == [404]
    wait_for(lambda: server.boxes() == 1)


def test_file_that_one_session_read_is_unread_in_another(server, workspace):
    (workspace / 'f').write_text('old')
    first, second = server.open(), server.open()
    server.post(tool('Read', file_path='f'), **first)
    assert text_of(server.post(tool('Write', file_path='f', content='new'), **second)[2]).endswith('Read it first')
    assert not server.post(tool('Write', file_path='f', content='new'), **first)[2]['result']['isError']


def test_id_in_use_is_refused_within_a_session_but_not_between_clients(server, workspace):
    session, answers = server.open(), []
    waits = tool('Bash', 7, command='until [ -e go ]; do sleep 0.02; done')
    waiting = threading.Thread(target=lambda: answers.append(server.ask(body=waits, **session).read()))
    waiting.start()
    wait_for(lambda: server.boxes() == 2)
    wait_for(lambda: server.post(tool('Bash', 7, command='true'), **session)[0] == 400)
    assert server.modern('tools/call', request_id=7, name='Bash', arguments={'command': 'true'})[0] == 200
    (workspace / 'go').touch()
    waiting.join(20)
    assert b'exit: 0' in answers[0]


def test_session_over_the_limit_replaces_the_one_that_was_idle_longest(server):
    first, second = server.open(), server.open()
    rest = [server.open() for _ in range(SESSIONS - 2)]
    assert server.post(call('ping'), **first)[0] == 200      # now the second session is idle for longest
    server.open()
    assert server.post(call('ping'), **second)[0] == 404
    assert [server.post(call('ping'), **session)[0] for session in (first, rest[0], rest[-1])] == [200] * 3


# Streams.

@pytest.mark.parametrize('start', [b'', b'POST /mcp HTTP/1.1\r\nHost: 127.0', b'POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n'])
def test_connections_without_access_keep_nobody_out(server, start):
    used = server.connect()
    assert server.modern('server/discover', connection=used)[0] == 200
    with contextlib.ExitStack() as stack:
        for _ in range(600):    # the server has 512
            with contextlib.suppress(ConnectionError):
                stack.enter_context(server.raw()).sendall(start)
        for _ in range(10):
            assert server.modern('server/discover')[0] == 200
        assert server.modern('server/discover', connection=used)[0] == 200, 'an accepted connection is not closed'


@pytest.mark.heavy
def test_session_ends_half_an_hour_after_its_last_request(serve, token_file):
    library, = pathlib.Path('/usr/lib').glob('*/faketime/libfaketime.so.1')
    server = serve('--http', '127.0.0.1:0', '--token-file', token_file,
                   wrapper=('env', f'LD_PRELOAD={library}', 'FAKETIME=+0 x300'))    # half an hour takes 6 s
    session, deadline = server.open(), time.monotonic() + 9
    assert b'here' in server.ask(body=tool('Bash', command='echo here'), **session).read()
    boxes = server.boxes()
    while time.monotonic() < deadline:      # a session that is used stays
        time.sleep(1)
        assert server.post(call('tools/list'), **session)[0] == 200
    time.sleep(10)
    assert server.post(call('tools/list'), **session)[0] == 404
    wait_for(lambda: server.boxes() == boxes - 1)


def test_slow_call_is_answered_by_a_stream(server):
    session = server.open()
    response = server.ask(body=tool('Bash', 5, command='sleep 1.3; echo late'), **session)
    assert (response.status, response.headers['Content-Type']) == (200, 'text/event-stream')
    (first, nothing), (second, reply) = events(response)
    assert nothing is None and reply['id'] == 5 and text_of(reply) == 'late\nexit: 0'
    assert first.split('-')[0] == second.split('-')[0]


def test_client_that_does_not_accept_streams_gets_json(server):
    response = server.ask(body=tool('Bash', command='sleep 1.3; echo late'),
                          **{**server.open(), 'Accept': 'application/json'})
    assert response.headers['Content-Type'] == 'application/json'
    assert text_of(json.loads(response.read())) == 'late\nexit: 0'


def test_legacy_client_can_resume_a_lost_stream(server, workspace):
    session = server.open()
    command = 'until [ -e go ]; do sleep 0.02; done; echo done'
    connection = server.connect()
    response = server.ask(body=tool('Bash', 9, command=command), connection=connection, **session)
    last, nothing = next(events(response))
    assert nothing is None
    response.close()
    connection.close()
    resumed = server.ask('GET', Last_Event_ID=last, **session)    # before there is an answer
    assert resumed.status == 200
    (workspace / 'go').touch()
    assert [text_of(reply) for _, reply in events(resumed)] == ['done\nexit: 0']
    assert server.ask('GET', Last_Event_ID=last, **session).status == 404     # it was delivered


def test_answer_is_kept_if_the_connection_is_lost(server, workspace):
    session = server.open()
    connection = server.connect()
    response = server.ask(body=tool('Bash', 9, command='sleep 1.3; echo > finished; echo done'), connection=connection,
                          **session)
    last, _ = next(events(response))
    response.close()
    connection.close()
    wait_for((workspace / 'finished').exists)
    time.sleep(0.1)
    assert [text_of(reply) for _, reply in events(server.ask('GET', Last_Event_ID=last,
                                                             **session))] == ['done\nexit: 0']


def test_only_the_newest_undelivered_answers_are_kept(server, workspace):
    session, names = server.open(), []

    def start(numbers):
        """Starts calls, and closes each connection as soon as its stream has begun."""
        streams = []
        for number in numbers:
            connection = server.connect()
            body = tool('Bash', number, command=f'sleep 1.2; echo {number}; echo > ended{number}')
            connection.request('POST', '/mcp', json.dumps(body),
                               {'Authorization': f'Bearer {TOKEN}', 'Content-Type': 'application/json', 'Accept': BOTH,
                                **{name.replace('_', '-'): value for name, value in session.items()}})
            streams.append(connection)
        for connection in streams:
            names.append(next(events(connection.getresponse()))[0])
            connection.close()
        wait_for(lambda: all((workspace / f'ended{number}').exists() for number in numbers))
    start(range(40))
    start(range(40, 60))    # whenever a call starts, fewer than 32 answers may be waiting
    kept = [[text_of(reply) for _, reply in events(response)] if response.status == 200 else response.status
            for response in (server.ask('GET', Last_Event_ID=name, **session) for name in names)]
    assert kept.count(404) == 40 - 31 and kept[40:] == [[f'{number}\nexit: 0'] for number in range(40, 60)]


@pytest.mark.parametrize('name', ['', '-', '1', '1-', '-1', '0-0', '99-1', '18446744073709551616-1', 'x-1', '1-1-1'])
def test_unknown_event_id_is_refused(server, name):
    assert server.ask('GET', Last_Event_ID=name, **server.open()).status == 404


def test_stream_cannot_be_resumed_by_another_session(server, workspace):
    """Both clients have the token, but an event's id is valid only in its own session."""
    session = server.open()
    response = server.ask(body=tool('Bash', command='until [ -e go ]; do sleep 0.02; done; echo done'), **session)
    last, _ = next(events(response))
    assert server.ask('GET', Last_Event_ID=last, **server.open()).status == 404
    (workspace / 'go').touch()
    assert [text_of(reply) for _, reply in events(response)] == ['done\nexit: 0']


def test_old_connection_of_a_resumed_stream_can_be_used_again(server, workspace):
    """The end of the first call must not affect the second call, which uses the first call's connection."""
    session, connection = server.open(), server.connect()
    waits = 'until [ -e %s ]; do sleep 0.02; done; echo %s'
    response = server.ask(body=tool('Bash', 1, command=waits % ('first', 'first')), connection=connection, **session)
    last, _ = next(events(response))
    moved = server.ask('GET', Last_Event_ID=last, **session)
    assert response.read() == b''
    second = server.ask(body=tool('Bash', 2, command=waits % ('second', 'second; echo > done')), connection=connection,
                        **session)
    again, _ = next(events(second))
    (workspace / 'first').touch()
    assert [text_of(reply) for _, reply in events(moved)] == ['first\nexit: 0']
    second.close()
    connection.close()
    (workspace / 'second').touch()
    wait_for((workspace / 'done').exists)
    time.sleep(0.2)     # time for the server to see the end of the call, while no connection waits for the answer
    resumed = server.ask('GET', Last_Event_ID=again, **session)
    assert [text_of(reply) for _, reply in events(resumed)] == ['second\nexit: 0']


def test_modern_client_that_disconnects_cancels_its_call(server, workspace):
    connection = server.connect()
    command = 'echo > started; sleep 4.321; echo > ended'
    response = server.ask(body=call('tools/call', name='Bash', arguments={'command': command}, _meta=META),
                          connection=connection,
                          Mcp_Method='tools/call', Mcp_Name='Bash', MCP_Protocol_Version='2026-07-28')
    assert (workspace / 'started').exists() and response.headers['Content-Type'] == 'text/event-stream'
    response.close()
    connection.close()
    pgrep = {'command': "pgrep -fx 'sleep 4.321'"}
    wait_for(lambda: 'exit: 1' in text_of(server.modern('tools/call', name='Bash', arguments=pgrep)[2]), 2)
    assert not (workspace / 'ended').exists()


def test_legacy_client_cancels_a_call_by_a_notification(server, workspace):
    session = server.open()
    response = server.ask(body=tool('Bash', 3, command='echo > started; sleep 5.432; echo > ended'), **session)
    assert (workspace / 'started').exists()
    note = {'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 3}}
    assert server.post(note, **session)[0] == 202
    assert [message for _, message in events(response) if message] == []
    assert 'exit: 1' in text_of(server.post(tool('Bash', command="pgrep -fx 'sleep 5.432'"), **session)[2])
    assert not (workspace / 'ended').exists()


def test_second_listening_stream_of_a_session_ends_the_first(server):
    session = server.open()
    first, second = server.ask('GET', **session), server.ask('GET', **session)
    assert (first.status, second.status) == (200, 200)
    assert first.read().startswith(b':') and second.readline().startswith(b':')
    assert server.ask('DELETE', **session).status == 200
    second.read()   # returns when the stream ends


@pytest.mark.heavy
@pytest.mark.long
def test_ten_thousand_requests_leak_no_memory(server):
    connection = server.connect()
    session = server.open(connection=connection)
    before = 0
    for number in range(10000):
        if number % 2:
            assert server.post(call('ping', number), connection=connection, **session)[0] == 200
        else:
            assert server.modern('tools/list', connection=connection, request_id=number)[0] == 200
        if number == 1000:
            before = server.memory()
    assert server.memory() - before < 1024


# Addresses and tokens.

@pytest.mark.parametrize('address, sentence', [
    *((address, 'only loopback') for address in ('0.0.0.0:0', '192.168.1.1:80', '[::]:0', 'example.com:80', '[::1',
                                                 ':0')),
    *((address, 'is not an address to listen on') for address in ('127.0.0.1', '127.0.0.1:', '127.0.0.1:65536',
                                                              '127.0.0.1:-1')),
    *((address, 'the path of a unix socket has 1 to 107 bytes') for address in ('unix:', 'unix:' + 'x' * 108)),
    ('unix:/nowhere/socket', 'cannot listen on /nowhere/socket'),
])
def test_addresses_outside_loopback_and_malformed_ones_are_refused(ringwall, address, sentence):
    result = ringwall('mcp', '--http', address)
    assert result.returncode != 0 and sentence in result.stderr and result.stdout == ''


def test_without_a_token_file_a_token_is_generated_and_printed(serve):
    server = serve('--http', '127.0.0.1:0')
    line = server.process.stderr.readline()
    token = re.fullmatch(r'ringwall mcp: the token is ([0-9a-f]{64})\n', line)[1]
    assert server.post(call('initialize', protocolVersion='2025-11-25'), Authorization=f'Bearer {token}')[0] == 200
    assert server.post(call('initialize', protocolVersion='2025-11-25'))[0] == 401


@pytest.mark.parametrize('content, mode, sentence', [
    (TOKEN, 0o644, 'must be a file of yours that nobody else can read'),
    (TOKEN, 0o640, 'must be a file of yours that nobody else can read'),
    ('x' * 15, 0o600, 'must have 16 to'),
    ('', 0o600, 'must have 16 to'),
    ('x' * 5000, 0o600, 'must have 16 to'),
    ('a token with spaces', 0o600, 'characters that are not allowed in a header'),
    ('tökentökentöken', 0o600, 'characters that are not allowed in a header'),
])
def test_token_files_that_are_refused(ringwall, token_file, content, mode, sentence):
    token_file.write_text(content)
    token_file.chmod(mode)
    result = ringwall('mcp', '--http', '127.0.0.1:0', '--token-file', str(token_file))
    assert result.returncode != 0 and sentence in result.stderr


def test_token_file_must_be_a_regular_file_and_needs_http(ringwall, home, token_file):
    for path in (home, home / 'none'):
        assert ringwall('mcp', '--http', '127.0.0.1:0', '--token-file', str(path)).returncode != 0
    assert '--token-file needs --http' in ringwall('mcp', '--token-file', str(token_file)).stderr


@pytest.mark.only_root
def test_token_file_of_another_user_is_refused(ringwall, token_file):
    os.chown(token_file, 65534, 65534)
    assert 'must be a file of yours' in ringwall('mcp', '--http', '127.0.0.1:0', '--token-file', str(token_file)).stderr


# A unix socket.

def test_unix_socket_needs_no_token_and_is_removed_at_the_end(serve, home):
    path = home / 'socket'
    server = serve('--http', f'unix:{path}')
    assert server.startup_lines == [f'ringwall mcp: listening on unix:{path}\n']
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    session = server.open(connection=Unix(path), Authorization=None, Host='anything')
    reply = server.post(tool('Bash', command='echo here'), connection=Unix(path), **session)[2]
    assert text_of(reply) == 'here\nexit: 0'
    server.process.terminate()
    server.process.wait(timeout=20)
    assert not path.exists()


def test_foreign_origin_is_refused_on_a_unix_socket_too(serve, home):
    path = home / 'socket'
    serve('--http', f'unix:{path}')
    connection = Unix(path)
    connection.request('POST', '/mcp', b'{}', {'Origin': 'http://evil.example', 'Content-Type': 'application/json'})
    assert connection.getresponse().status == 403


def test_stale_socket_is_replaced_but_one_in_use_is_not(serve, ringwall, home):
    path = home / 'socket'
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = serve('--http', f'unix:{path}')
    assert server.open(connection=Unix(path))
    assert f'another server listens on {path}' in ringwall('mcp', '--http', f'unix:{path}').stderr
    assert server.open(connection=Unix(path))


def test_file_that_is_not_a_socket_is_not_removed(ringwall, home):
    (home / 'file').write_text('precious')
    assert 'exists and is not a socket' in ringwall('mcp', '--http', f'unix:{home}/file').stderr
    assert (home / 'file').read_text() == 'precious'


def test_session_cannot_be_used_through_another_listener(serve, home, token_file):
    """A client with the token cannot use a session that was opened on the unix socket, nor the other way round."""
    path = home / 'socket'
    server = serve('--http', '127.0.0.1:0', '--http', f'unix:{path}', '--token-file', token_file)
    by_tcp, by_unix = server.open(), server.open(connection=Unix(path))
    assert server.post(call('ping'), **by_tcp)[0] == 200
    assert server.post(call('ping'), connection=Unix(path), **by_unix)[0] == 200
    assert server.post(call('ping'), **by_unix)[0] == 404
    assert server.post(call('ping'), connection=Unix(path), **by_tcp)[0] == 404
    assert server.ask('DELETE', **by_unix).status == 404


@pytest.mark.only_root
def test_another_user_is_refused_on_a_unix_socket(serve, home, tmp_path):
    """By the mode of the socket; and after a chmod, by the uid that the kernel reports for the client."""
    path = home / 'socket'
    serve('--http', f'unix:{path}')
    for folder in (home, tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o011 != 0o011:
            folder.chmod(folder.stat().st_mode | 0o011)
    script = ('import socket, sys\none = socket.socket(socket.AF_UNIX)\none.connect(sys.argv[1])\n'
              'one.sendall(b"GET /mcp HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")\nprint(one.recv(4096).decode())')
    command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '/usr/bin/python3', '-c', script,
               str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd='/')
    assert 'PermissionError' in result.stderr
    path.chmod(0o666)
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd='/')
    assert result.stdout.startswith('HTTP/1.1 403 Forbidden') and 'this server belongs to another user' in result.stdout
