"""Attacks by the data of a connection: TLS and HTTP that name another host, or that a server could understand so, and
requests to the box's proxies for hosts that are not allowed.

A connection to echo.good.example is allowed, and its server sends everything back. So outside a box all data arrives;
from a box, the part that would make a server serve another host must never arrive.
"""
import re
import socket
import ssl
import struct
import threading

import pytest

import servers
from fake_internet import GOOD, HOST, METADATA, OTHER

SITE, GOAL = 'echo.good.example', 'hidden.other.example'
LEVEL = 'strict'
CRASHED = re.compile('egress exited|runtime error:|ERROR: AddressSanitizer')    # a crash is not a refusal
REFUSALS = 'HTTP/1.1 4', '\x15\x03\x03', ''     # how a refusal begins: an HTTP error, a TLS alert, a reset


def send(*pieces):
    """Lines for programs/scripted_client.py: `send HEX` for bytes; a string is a line itself."""
    return [piece if isinstance(piece, str) else f'send {piece.hex()}' for piece in pieces]


def bytewise(data):
    return [f'bytewise {data.hex()}']


@pytest.fixture
def exchange(outside, boxed, programs):
    """Runs programs/scripted_client.py: exchange(address, port, lines) outside; with domains, in a box that may reach
    them."""
    def run(address, port, lines, domains=None, **options):
        command = '/usr/bin/python3', '-IS', programs / 'scripted_client.py', address, str(port)
        if domains is None:
            lines = lines if 'end' in lines else [*lines, 'end']    # outside no refusal would end the connection
        lines = ''.join(f'{line}\n' for line in lines)
        if domains is None:
            return outside(*command, input=lines)
        result = boxed(*command, domains=domains, input=lines, level=LEVEL, **options)
        assert not CRASHED.search(result.stderr), result.stderr
        return result
    return run


# TLS.

def hello(name):
    """A ClientHello, made by OpenSSL, with this name as SNI."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def records(message, size):
    """The message in TLS records of at most so many bytes."""
    return b''.join(struct.pack('!BHH', 22, 0x0301, len(message[i:i + size])) + message[i:i + size]
                    for i in range(0, len(message), size))


def rewrite_extensions(data, change):
    """The ClientHello with changed extensions. `change` is a function of their list: (type, bytes)…"""
    end = 5 + 4 + 2 + 32
    end += 1 + data[end]
    end += 2 + int.from_bytes(data[end:end + 2], 'big')
    end += 1 + data[end]
    extensions, offset = [], end + 2
    while offset < len(data):
        kind, length = struct.unpack_from('!HH', data, offset)
        extensions.append((kind, data[offset + 4:offset + 4 + length]))
        offset += 4 + length
    block = b''.join(struct.pack('!HH', kind, len(body)) + body for kind, body in change(extensions))
    body = data[9:end] + struct.pack('!H', len(block)) + block
    return records(b'\1' + len(body).to_bytes(3, 'big') + body, 16384)


def server_name(*names):
    """The extension server_name with these names."""
    name_list = b''.join(struct.pack('!BH', 0, len(name)) + name for name in names)
    return 0, struct.pack('!H', len(name_list)) + name_list


def hello_with_names(*names):
    """A ClientHello with exactly these bytes as its names."""
    return rewrite_extensions(hello(SITE), lambda old: [server_name(*names)] + [one for one in old if one[0] != 0])


def hello_with_extensions(*added):
    return rewrite_extensions(hello(SITE), lambda old: old + list(added))


def message_of(data):
    """The handshake message, without the header of its record."""
    return data[5:]


ALLOWED = SITE.encode()
TLS = {
    'sni-of-another': send(hello(GOAL)),
    'sni-missing': send(hello(None)),
    'sni-of-the-parent': send(hello('good.example')),
    'sni-with-a-prefix': send(hello(f'x{SITE}')),
    'sni-below': send(hello(f'x.{SITE}')),
    'sni-with-a-suffix': send(hello(f'{SITE}.other.example')),
    'sni-nul': send(hello_with_names(ALLOWED + b'\0.other.example')),
    'sni-cr-lf': send(hello_with_names(ALLOWED + b'\r\n')),
    'sni-two-dots': send(hello_with_names(ALLOWED + b'..')),
    'sni-space': send(hello_with_names(ALLOWED + b' ')),
    'sni-empty': send(hello_with_names(b'')),
    'sni-address': send(hello_with_names(b'10.0.0.1')),
    'sni-full-width-dot': send(hello_with_names('echo.good\uff0eexample'.encode())),
    'sni-two-names': send(hello_with_names(ALLOWED, GOAL.encode())),
    'sni-two-extensions': send(hello_with_extensions(server_name(GOAL.encode()))),
    'sni-in-one-byte-writes': bytewise(hello(GOAL)),
    'sni-in-many-records': send(records(message_of(hello(GOAL)), 40)),
    'sni-in-many-records-and-writes': bytewise(records(message_of(hello(GOAL)), 40)),
    'ech': send(hello_with_extensions((0xfe0d, b'\0' * 64))),
    'ech-draft': send(hello_with_extensions((0xff02, b'\0' * 64))),
    'ech-in-one-byte-writes': bytewise(hello_with_extensions((0xfe0d, b'\0' * 64))),
    'record-empty': send(b'\x16\x03\x01\0\0' + hello(SITE)),
    'record-with-a-second-message': send(records(message_of(hello(SITE)) + message_of(hello(GOAL)), 16384)),
    'record-of-an-alert-first': send(b'\x15\x03\x01\0\2\1\0' + hello(GOAL)),
    'record-too-long': send(b'\x16\x03\x01\xff\xff' + bytes(70000)),
    'hello-too-long': send(records(b'\1\xff\xff\xff' + bytes(60000), 16384)),
    'hello-cut': send(hello(SITE)[:-1], 'end'),
    'hello-of-ssl2': send(b'\x80\x2e\1\3\1\0\x15\0\0\0\x10' + bytes(37)),
    'http-on-443': send(f'GET / HTTP/1.1\r\nHost: {SITE}\r\n\r\n'.encode()),
    'ssh-on-443': send(b'SSH-2.0-OpenSSH_9.2\r\n'),
    'nothing-known-on-443': send(b'\0\1\2\3'),
}
TLS_PASSES = {
    'whole': send(hello(SITE)),
    'upper-case': send(hello(SITE.upper())),
    'one-byte-writes': bytewise(hello(SITE)),
    'many-records': send(records(message_of(hello(SITE)), 40)),
}


def received(internet):
    internet.settle()
    return [visit.received for visit in internet.visits_to(SITE) if visit.received]


@pytest.mark.parametrize('lines', TLS.values(), ids=TLS.keys())
def test_tls_that_does_not_name_the_host_is_refused(exchange, internet, lines):
    assert exchange(SITE, 443, lines).stdout != ''      # the server sent it back
    internet.visits.clear()
    result = exchange(SITE, 443, lines, [SITE])
    assert result.stdout.startswith(REFUSALS) and 'refused' in result.stderr, result.output
    assert received(internet) == []
    assert result.seconds < 5


@pytest.mark.parametrize('lines', TLS_PASSES.values(), ids=TLS_PASSES.keys())
def test_tls_that_names_the_host_passes(exchange, internet, lines):
    sent = b''.join(bytes.fromhex(line.partition(' ')[2]) for line in lines)
    exchange(SITE, 443, lines, [SITE])
    assert received(internet) == [sent]


# A server may ask for a second ClientHello (HelloRetryRequest, RFC 8446, 4.1.4). Its name could differ from the first.

RETRY_RANDOM = bytes.fromhex('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c')
RETRY = b'\2\0\0\x34\3\3' + RETRY_RANDOM + b'\0\x13\1\0\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x18'
EARLY_DATA, CHANGE_CIPHER = b'\x17\3\3\0\4data', b'\x14\3\3\0\1\1'
SECOND_HELLOS = {
    'at-once': send(hello(SITE), 'wait', hello(GOAL)),
    'behind-a-change-of-cipher': send(hello(SITE), 'wait', CHANGE_CIPHER + hello(GOAL)),
    'behind-early-data': send(hello(SITE) + CHANGE_CIPHER + EARLY_DATA, 'wait', EARLY_DATA + hello(GOAL)),
    'before-it-is-asked-for': send(hello(SITE) + hello(GOAL)),
    'before-it-is-asked-for-and-then-the-end': send(hello(SITE) + hello(GOAL), 'end'),
    'in-one-byte-writes': send(hello(SITE), 'wait', *bytewise(hello(GOAL))),
    'in-many-records': send(hello(SITE), 'wait', records(message_of(hello(GOAL)), 40)),
    'without-a-name': send(hello(SITE), 'wait', hello(None)),
}


RETRY_REQUESTS = {'whole': records(RETRY, 16384), 'two-records': records(RETRY, 30),
                  'behind-an-alert': b'\x15\3\3\0\2\1\x70' + records(RETRY, 16384)}


def request_retry(connection, visit, answer=RETRY_REQUESTS['whole']):
    """Receives a ClientHello, asks for another one, and receives until the client closes."""
    visit.received = bytearray(connection.recv(65536))
    connection.sendall(answer)
    for _ in servers.receive(connection, visit):
        pass


@pytest.mark.parametrize('title', SECOND_HELLOS)
def test_second_hello_that_does_not_name_the_host_is_refused(exchange, internet, title):
    internet.make_server('again.good.example', (443, request_retry))
    internet.names.zone[SITE] = internet.names.zone['again.good.example']
    for domains in (None, [SITE]):
        result = exchange(SITE, 443, SECOND_HELLOS[title], domains)
        internet.settle()
        visit, = internet.visits_to('again.good.example')
        hellos = visit.received.count(b'\x16\3\1')      # handshake records
        assert hellos > 1 if domains is None else hellos == 1, result.output
        internet.visits.clear()


@pytest.mark.parametrize('answer', RETRY_REQUESTS.values(), ids=RETRY_REQUESTS.keys())
def test_second_hello_for_another_host_is_refused_whatever_the_retry_request_looks_like(exchange, internet, answer):
    internet.make_server('again.good.example',
                         (443, lambda connection, visit: request_retry(connection, visit, answer)))
    internet.names.zone[SITE] = internet.names.zone['again.good.example']
    for domains in (None, [SITE]):
        exchange(SITE, 443, SECOND_HELLOS['at-once'], domains)
        internet.settle()
        visit, = internet.visits_to('again.good.example')
        assert (GOAL.encode() in visit.received) == (domains is None)
        internet.visits.clear()


def test_second_hello_that_names_the_host_passes(boxed, internet):
    """A real client sends it, because its first key share does not suit the server."""
    context = internet.authority.server_context('picky.good.example', ['http/1.1'])
    context.set_ecdh_curve('secp384r1')

    def serve(connection, _):
        with context.wrap_socket(connection, server_side=True) as tls:
            tls.recv(65536)
            tls.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\npicky\n')
    internet.make_server('picky.good.example', (443, serve))
    result = boxed('openssl', 's_client', '-connect', 'picky.good.example:443', '-servername', 'picky.good.example',
                   '-msg',
                   domains=['picky.good.example'], input='GET / HTTP/1.0\n\n')
    assert result.stdout.count('ClientHello') == 2, result.output
    result = boxed('curl', '-sS', 'https://picky.good.example/', domains=['picky.good.example'])
    assert (result.returncode, result.stdout) == (0, 'picky\n'), result.output


def test_server_sees_that_the_client_disconnected_before_the_answer(boxed, internet, programs):
    """Egress waits for the answer, to inspect it, and must still pass on the client's EOF."""
    ended = []

    def receive_only(connection, visit):
        for _ in servers.receive(connection, visit):
            pass
        ended.append(visit.ended)
    internet.make_server('silent.good.example', (443, receive_only))
    result = boxed('sh', '-c', 'for i in 1 2 3; do curl -sS -m 0.5 https://silent.good.example/; done; sleep 1.5; '
                               'touch over',
                   domains=['silent.good.example'])
    assert 'timed out' in result.stderr and ended == ['closed'] * 3, result.output


# HTTP.

OWN_HOST, OTHER_HOST = f'Host: {SITE}\r\n', f'Host: {GOAL}\r\n'
FIRST = f'GET /first HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()
UPGRADE = b'Connection: upgrade\r\nUpgrade: websocket\r\n\r\n'
SMUGGLED = f'GET /goal HTTP/1.1\r\n{OTHER_HOST}\r\n'.encode()


def http_request(*headers, line='POST /goal HTTP/1.1', body=SMUGGLED):
    """Lines for programs/scripted_client.py that send an HTTP request to SITE."""
    return send('\r\n'.join((line, f'Host: {SITE}', *headers, '', '')).encode() + body)


CHUNKED = b'%x\r\n%b\r\n0\r\n\r\n' % (len(SMUGGLED), SMUGGLED)
HTTP = {
    'host-of-another': send(SMUGGLED),
    'host-missing': send(b'GET /goal HTTP/1.1\r\n\r\n'),
    'host-missing-1.0': send(b'GET /goal HTTP/1.0\r\n\r\n'),
    'host-missing-0.9': send(b'GET /goal\r\n'),
    'host-twice': http_request(OTHER_HOST.strip()),
    'host-twice-other-first': send(f'GET /goal HTTP/1.1\r\n{OTHER_HOST}{OWN_HOST}\r\n'.encode()),
    'host-folded': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}\r\n {GOAL}\r\n\r\n'.encode()),
    'host-behind-a-fold': send(f'GET /goal HTTP/1.1\r\nX: y\r\n Host: {GOAL}\r\n{OWN_HOST}\r\n'.encode()),
    'host-space-before-colon': send(f'GET /goal HTTP/1.1\r\nHost : {GOAL}\r\n{OWN_HOST}\r\n'.encode()),
    'length-with-an-underscore': send(f'GET /goal HTTP/1.1\r\n{OWN_HOST}Content_Length: 3\r\n\r\nabc'.encode()),
    'host-with-a-nul': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}\0.other.example\r\n\r\n'.encode()),
    'host-with-a-cr': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}\rHost: {GOAL}\r\n\r\n'.encode()),
    'host-with-a-user': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}@{GOAL}\r\n\r\n'.encode()),
    'host-with-a-suffix': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}.other.example\r\n\r\n'.encode()),
    'host-with-a-prefix': send(f'GET /goal HTTP/1.1\r\nHost: x{SITE}\r\n\r\n'.encode()),
    'host-with-another-port': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}:8080\r\n\r\n'.encode()),
    'host-with-a-full-width-dot': send('GET /goal HTTP/1.1\r\nHost: echo.good\uff0eexample\r\n\r\n'.encode()),
    'host-two-in-one': send(f'GET /goal HTTP/1.1\r\nHost: {SITE}, {GOAL}\r\n\r\n'.encode()),
    'host-address': send(b'GET /goal HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n'),
    'target-of-another': send(f'GET http://{GOAL}/goal HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()),
    'target-own-host-of-another': send(f'GET http://{SITE}/goal HTTP/1.1\r\n{OTHER_HOST}\r\n'.encode()),
    'target-with-a-user': send(f'GET http://{SITE}@{GOAL}/goal HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()),
    'target-two-slashes-https': send(f'GET https://{GOAL}/goal HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()),
    'target-connect': send(f'CONNECT {GOAL}:443/goal HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()),
    'target-with-a-tab': send(f'GET\t/goal HTTP/1.1\r\n{OWN_HOST}\r\n'.encode()),
    'newlines-bare': send(f'GET /goal HTTP/1.1\nHost: {SITE}\n\n'.encode()),
    'newline-bare-in-a-value': send(f'GET /goal HTTP/1.1\r\nX: y\n{OTHER_HOST}{OWN_HOST}\r\n'.encode()),
    'empty-lines-first': send(b'\r\n\r\n' + SMUGGLED),
    'space-first': send(b' ' + SMUGGLED),
    'nul-first': send(b'\0' + SMUGGLED),
    'one-byte-writes': bytewise(SMUGGLED),
    'second-request': send(FIRST, 'wait', SMUGGLED),
    'pipelined': send(FIRST + SMUGGLED),
    'pipelined-in-one-byte-writes': bytewise(FIRST + SMUGGLED),
    'behind-a-body': http_request('Content-Length: 3', body=b'abc' + SMUGGLED),
    'behind-chunks': http_request('Transfer-Encoding: chunked', body=b'3\r\nabc\r\n0\r\n\r\n' + SMUGGLED),
    'length-and-chunks': http_request(f'Content-Length: {len(CHUNKED)}', 'Transfer-Encoding: chunked',
                                      body=b'0\r\n\r\n' + SMUGGLED),
    'length-twice': http_request('Content-Length: 0', f'Content-Length: {len(SMUGGLED)}'),
    'length-list': http_request(f'Content-Length: {len(SMUGGLED)}, 0'),
    'length-signed': http_request(f'Content-Length: +{len(SMUGGLED)}'),
    'length-octal': http_request(f'Content-Length: 0{len(SMUGGLED)}'),
    'length-hexadecimal': http_request(f'Content-Length: {len(SMUGGLED):#x}'),
    'length-negative': http_request('Content-Length: -1'),
    'length-too-large': http_request(f'Content-Length: {2 ** 64 + 3}'),
    'length-space-before-colon': http_request(f'Content-Length : {len(SMUGGLED)}'),
    'coding-space-before-colon': http_request('Transfer-Encoding : chunked', body=CHUNKED),
    'coding-tab-before': http_request('Transfer-Encoding:\tchunked', body=CHUNKED),
    'coding-vertical-tab': http_request('Transfer-Encoding: \vchunked', body=CHUNKED),
    'coding-twice': http_request('Transfer-Encoding: chunked', 'Transfer-Encoding: identity', body=CHUNKED),
    'coding-list': http_request('Transfer-Encoding: identity, chunked', body=CHUNKED),
    'coding-unknown': http_request('Transfer-Encoding: xchunked', body=CHUNKED),
    'coding-quoted': http_request('Transfer-Encoding: "chunked"', body=CHUNKED),
    'coding-with-an-underscore': http_request('Transfer_Encoding: chunked', body=CHUNKED),
    'coding-in-1.0': http_request('Transfer-Encoding: chunked', line='POST /goal HTTP/1.0', body=CHUNKED),
    'coding-by-connection': http_request('Connection: Transfer-Encoding', 'Transfer-Encoding: chunked', body=CHUNKED),
    'chunk-size-signed': http_request('Transfer-Encoding: chunked', body=b'+' + CHUNKED),
    'chunk-size-hexadecimal': http_request('Transfer-Encoding: chunked', body=b'0x' + CHUNKED),
    'chunk-size-too-large': http_request('Transfer-Encoding: chunked', body=b'1' + b'0' * 15 + CHUNKED),
    'chunk-without-its-end': http_request('Transfer-Encoding: chunked', body=b'3\r\nabcde\r\n0\r\n\r\n' + SMUGGLED),
    'chunk-bare-newline': http_request('Transfer-Encoding: chunked', body=b'0\n\n' + SMUGGLED),
    'chunk-extension-quoted': http_request('Transfer-Encoding: chunked', body=b'0;x="\r\n\r\n' + SMUGGLED),
    'trailer-with-a-host': http_request('Transfer-Encoding: chunked',
                                        body=b'0\r\n' + OTHER_HOST.encode() + b'\r\n' + SMUGGLED),
    'http2-at-once': send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + SMUGGLED),
    'version-unknown': http_request(line='GET /goal HTTP/1.2', body=b''),
    'websocket-without-an-answer': send(FIRST[:-2] + UPGRADE + SMUGGLED),
    'tls-on-80': send(hello(SITE) + b'/goal'),
    'ssh-on-80': send(b'SSH-2.0-goal\r\n'),
    'head-without-end': send(b'GET /' + b'a' * 100000 + b'/goal'),
    'headers-without-end': send(FIRST[:-2] + b'x: y\r\n' * 20000 + b'x: goal\r\n\r\n'),
}
# The headers of these are valid and reach the server. What follows them must not.
HEADERS_PASS = {title for title in HTTP if title.startswith(('behind', 'chunk', 'trailer'))}


@pytest.mark.parametrize('title', HTTP)
def test_http_that_a_server_could_take_for_another_host_does_not_arrive(exchange, internet, title):
    lines = HTTP[title]
    goal = SMUGGLED if title in HEADERS_PASS else b'goal'
    assert goal.decode().replace('\r\n', '\n') in exchange(SITE, 80, lines).stdout
    internet.visits.clear()
    result = exchange(SITE, 80, lines, [SITE])
    assert goal not in b''.join(received(internet)), result.output
    assert result.seconds < 5


@pytest.mark.parametrize('split', [False, True], ids=['whole', 'bytewise'])
@pytest.mark.parametrize('data', [
    FIRST, FIRST + FIRST, f'GET http://{SITE}/ HTTP/1.1\r\nhost: {SITE.upper()}:80\r\n\r\n'.encode(),
    f'POST / HTTP/1.1\r\n{OWN_HOST}Content-Length: {len(SMUGGLED)}\r\n\r\n'.encode() + SMUGGLED,
], ids=['one', 'two', 'absolute', 'body-that-looks-like-one'])
def test_http_that_names_the_host_passes(exchange, internet, data, split):
    exchange(SITE, 80, bytewise(data) if split else send(data), [SITE])
    assert received(internet) == [data]


def test_offer_to_upgrade_to_http2_is_removed(exchange, internet):
    lines = http_request('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__',
                         line='GET /goal HTTP/1.1', body=b'')
    exchange(SITE, 80, lines)
    assert b'Upgrade: h2c' in received(internet)[0]
    internet.visits.clear()
    exchange(SITE, 80, lines, [SITE])
    data, = received(internet)
    assert data.startswith(b'GET /goal HTTP/1.1\r\n') and b'h2c' not in data and b'AAMAAABkAAQAAP__' not in data


def answer_with_late_body(connection, visit):
    """Sends an answer whose body comes late and looks like the beginning of another answer, and then echoes."""
    visit.received = connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n')
    threading.Event().wait(0.1)
    connection.sendall(b'HTTP/1.1 101 Switching Protocols\r\n\r\n')
    servers.echo(connection, visit)


def test_body_of_an_earlier_answer_is_not_taken_for_the_answer_to_an_upgrade(exchange, internet):
    """A request for a WebSocket followed another request. Egress took the body of the first answer for the server's
    consent, and then passed everything."""
    internet.make_server('slowly.good.example', (80, answer_with_late_body))
    own = b'Host: slowly.good.example\r\n'
    lines = send(b'GET / HTTP/1.1\r\n' + own + b'\r\n', 'wait',
                 b'GET / HTTP/1.1\r\n' + own + UPGRADE, SMUGGLED)
    for domains in (None, ['slowly.good.example']):
        exchange('slowly.good.example', 80, lines, domains)
        internet.settle()
        visit, = internet.visits_to('slowly.good.example')
        assert (GOAL.encode() in visit.received) == (domains is None)
        internet.visits.clear()


def switch_protocols(connection, visit):
    """Consents to an upgrade, and then echoes."""
    visit.received = connection.recv(65536)
    connection.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n')
    servers.echo(connection, visit)


def test_websocket_passes(exchange, internet):
    internet.make_server('socket.good.example', (80, switch_protocols))
    lines = send(b'GET / HTTP/1.1\r\nHost: socket.good.example\r\n' + UPGRADE, 'wait', b'\x81\5hello',
                 'wait', b'\x81\5again')
    result = exchange('socket.good.example', 80, lines, ['socket.good.example'])
    assert 'hello' in result.stdout and 'again' in result.stdout, result.output


# Any protocol may pass on other ports, but no HTTP for another host.

@pytest.mark.parametrize('lines', [
    send(SMUGGLED), bytewise(SMUGGLED), send(SMUGGLED[:9], 'pause', SMUGGLED[9:]),
    send(SMUGGLED.replace(b' HTTP', b'\fHTTP')), send(SMUGGLED.replace(b' HTTP', b'\vHTTP')), send(b'\f' + SMUGGLED),
    send(SMUGGLED.replace(b' HTTP', b'\x1cHTTP')), send(b'\x1f' + SMUGGLED), send(SMUGGLED.replace(b'\r', b'')),
], ids=['whole', 'bytewise', 'cut', 'form-feed', 'vertical-tab', 'form-feed-first', 'separator', 'separator-first',
        'bare-newlines'])
def test_http_for_another_host_is_refused_on_other_ports(exchange, internet, lines):
    """Python's http.server accepts all of these: it splits the line at every kind of white space."""
    web = internet.web['front.good.example']
    for address in web.sites[0].addresses:
        internet.listen(address, 8081, web.serve_http, 'front.good.example')

    def requests():
        internet.settle()
        return [request.host for visit in internet.visits_to('front.good.example') for request in visit.requests]
    exchange('front.good.example', 8081, lines)
    assert requests() == [GOAL]
    internet.visits.clear()
    result = exchange('front.good.example', 8081, lines, ['front.good.example:8081'])
    assert requests() == [], result.output


# Proxies.

def join(one, other):
    """Passes data on in both directions until both have closed."""
    def pass_on(source, target):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    back = threading.Thread(target=ignore_errors, args=(pass_on, other, one), daemon=True)
    back.start()
    ignore_errors(pass_on, one, other)
    back.join()


def ignore_errors(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass        # a peer may disconnect at any time


def serve_http_proxy(connection, visit):
    """An HTTP proxy that connects to any host, in every spelling that the C library accepts."""
    asked = connection.recv(65536)
    method, target = asked.split()[:2]
    authority = target.decode('latin-1').removeprefix('http://').partition('/')[0].partition('\0')[0]
    host, _, port = authority.rpartition(':') if authority.rpartition(':')[2].isdigit() else (authority, '', '80')
    with socket.create_connection((host.strip('[]').strip(), int(port)), 5) as upstream:
        if method == b'CONNECT':
            connection.sendall(b'HTTP/1.1 200 OK\r\n\r\n')
        else:
            upstream.sendall(asked.replace(target, b'/', 1))
        join(connection, upstream)


def serve_socks_proxy(connection, visit):
    """The same for SOCKS5."""
    connection.recv(3)
    connection.sendall(b'\5\0')
    asked = connection.recv(1000)
    size = {1: 4, 4: 16}.get(asked[3], 0)
    host = socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, asked[4:4 + size]) if size else (
        asked[5:-2].decode('latin-1').partition('\0')[0].strip())
    with socket.create_connection((host, int.from_bytes(asked[-2:], 'big')), 5) as upstream:
        connection.sendall(b'\5\0\0\1\0\0\0\0\0\0')
        join(connection, upstream)


@pytest.fixture
def proxies(internet):
    """Proxies on the host, without restrictions, at the addresses where a box has its own."""
    internet.listen('127.0.0.1', 3128, serve_http_proxy, 'proxy', internet.host)
    internet.listen('127.0.0.1', 1080, serve_socks_proxy, 'proxy', internet.host)


# Each of these returns the port of a proxy and lines for programs/scripted_client.py.

def connect(host, port=80, name=GOOD):
    return 3128, send(f'CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n'.encode('latin-1'), 'wait',
                      f'GET / HTTP/1.1\r\nHost: {name}\r\n\r\n'.encode())


def absolute(host, port=80):
    authority = host if port == 80 else f'{host}:{port}'
    return 3128, send(f'GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n'.encode('latin-1'))


def socks(host, port=80, kind=3):
    host = host.encode('latin-1')
    family = {1: socket.AF_INET, 4: socket.AF_INET6}.get(kind)
    address = socket.inet_pton(family, host.decode()) if family else bytes([len(host)]) + host
    return 1080, send(b'\5\1\0', 'wait', b'\5\1\0' + bytes([kind]) + address + struct.pack('!H', port), 'wait',
                      f'GET / HTTP/1.1\r\nHost: {GOOD}\r\n\r\n'.encode())


# Spellings of forbidden addresses that the C library and browsers accept.
SPELLINGS = {
    'plain': '10.0.0.1', 'decimal': '167772161', 'hexadecimal': '0xa000001', 'octal': '012.0.0.1', 'short': '10.1',
    'mixed': '0xa.0.1', 'loopback': '127.0.0.1', 'loopback-short': '127.1', 'zero': '0', 'metadata': METADATA,
    'host': HOST[0],
    'localhost': 'localhost', 'fake': '198.18.0.9', 'public': '93.184.216.1',
}
SPELLINGS6 = {
    'six': '[fd12::1]', 'mapped': '[::ffff:10.0.0.1]', 'mapped-hexadecimal': '[::ffff:a00:1]', 'loopback6': '[::1]',
    'translated': '[64:ff9b::a00:1]', 'fake6': '[fd72:696e:6777:616c::99]',
}
NAMES = {
    'name-of-another': OTHER, 'name-with-a-nul': f'{OTHER}\0.{GOOD}', 'name-of-the-parent': 'good.example',
    'name-with-a-suffix': f'{GOOD}.other.example', 'name-with-a-prefix': f'x{GOOD}',
}
PROXIED = {
    **{f'connect-{title}': connect(host) for title, host in {**SPELLINGS, **SPELLINGS6, **NAMES}.items()},
    **{f'absolute-{title}': absolute({**SPELLINGS, **SPELLINGS6, **NAMES}[title]) for title in (
        'plain', 'octal', 'short', 'metadata', 'mapped', 'loopback6', 'name-of-another', 'name-with-a-suffix')},
    **{f'socks-{title}': socks(host) for title, host in {**SPELLINGS, **NAMES}.items()},
    **{f'socks-{title}': socks(host.strip('[]'), kind=4) for title, host in SPELLINGS6.items()},
    'socks-name-with-cr-lf': socks(f'{OTHER}\r\n'),
    'socks-name-with-a-space': socks(f'{OTHER} '),
    'connect-name-with-a-cr': connect(f'{OTHER}\r'),
    'connect-name-with-a-tab': connect(f'\t{OTHER}'),
    'socks-address': socks('10.0.0.1', kind=1),
    'socks-address-of-a-site': socks('93.184.216.1', kind=1),
    'connect-another-port': connect(GOOD, 22),
    'socks-another-port': socks(GOOD, 22),
    'connect-then-another-host': connect(GOOD, 80, OTHER),
    'connect-host-of-an-allowed-one': (3128, send(
        f'CONNECT {OTHER}:80 HTTP/1.1\r\nHost: {GOOD}:80\r\n\r\n'.encode(), 'wait',
        f'GET / HTTP/1.1\r\nHost: {GOOD}\r\n\r\n'.encode())),
    'absolute-then-another-host': (3128, absolute(GOOD)[1] + ['wait'] + absolute(OTHER)[1]),
}
ONLY_INSIDE = {'absolute-then-another-host'}       # the proxy outside handles only one request for each connection


@pytest.mark.parametrize('title', PROXIED)
def test_proxy_refuses_hosts_that_are_not_allowed(exchange, internet, proxies, title):
    port, lines = PROXIED[title]
    for name in (f'{GOOD}.other.example', f'x{GOOD}', 'good.example'):
        internet.names.zone[name] = internet.names.zone[OTHER]

    def reached():
        internet.settle()
        return [visit for visit in internet.visits if visit.server not in ('proxy', 'resolver')]
    exchange('127.0.0.1', port, lines)
    assert reached() or title in ONLY_INSIDE
    internet.visits.clear()
    internet.names.reset()
    result = exchange('127.0.0.1', port, lines, [GOOD])
    assert [visit for visit in reached() if visit.server != GOOD] == [], result.output
    assert {request.host for visit in reached() for request in visit.requests} <= {GOOD}
    assert {query.name for query in internet.names.queries} <= {GOOD}
    assert result.seconds < 4


def test_tls_for_another_host_in_a_proxy_tunnel_is_refused(exchange, internet, proxies):
    """CONNECT has the allowed name, SNI has another."""
    lines = connect(SITE, 443)[1][:-1] + send(hello(GOAL))
    exchange('127.0.0.1', 3128, lines)
    assert received(internet)
    internet.visits.clear()
    result = exchange('127.0.0.1', 3128, lines, [SITE])
    assert result.stdout.startswith('HTTP/1.1 200') and received(internet) == []
    assert GOAL in result.stderr


@pytest.mark.parametrize('command', [2, 3], ids=['bind', 'datagrams'])
def test_socks_commands_other_than_connect_are_refused(exchange, command):
    lines = send(b'\5\1\0', 'wait', bytes([5, command, 0, 1, 0, 0, 0, 0, 0, 0]))
    assert exchange('127.0.0.1', 1080, lines, [GOOD]).stdout.encode('utf-8', 'surrogateescape')[2:4] == b'\5\7'
