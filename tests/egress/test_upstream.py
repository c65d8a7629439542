"""The person's own proxy (HTTPS_PROXY): everything that is allowed goes through it by CONNECT, and nothing else does."""
import base64
import json
import socket
import threading

import pytest

from internet import GOOD, HOLE, OTHER
from mcp_client import Client, Stdio, family
from names import Reply

LEVELS = ('strict', 'maximum')
each_level = pytest.mark.parametrize('level', LEVELS)
FAR = 'far.good.example'        # known to the proxy alone


class Proxy:
    """Somewhere in the world. Knows where names lead by itself; `answer` is what it says instead of letting through."""

    def __init__(self, internet):
        self.address = internet.allot()[0]
        self.port, self.heads, self.answer, self.places = 3128, [], None, {}
        self.lead(GOOD, *internet.web[GOOD].sites[0].addresses[:1])
        internet.listen(self.address, self.port, self.serve, 'proxy')

    @property
    def url(self):
        return f'http://{self.address}:{self.port}'

    def lead(self, name, address):
        self.places[name] = str(address)

    def serve(self, connection, _):
        head = b''
        while b'\r\n\r\n' not in head:
            if not (data := connection.recv(65536)):
                return
            head += data
        self.heads.append(head.decode())
        if self.answer is not None:
            connection.sendall(self.answer)
            if not self.answer:     # it only listens
                connection.recv(1)
            return
        name, _, port = head.split()[1].decode().rpartition(':')
        with socket.create_connection((self.places[name], int(port))) as server:
            first = server.recv(65536) if int(port) == 7001 else b''        # of a server that speaks first
            connection.sendall(b'HTTP/1.1 200 Go on\r\nVia: test\r\n\r\n' + first)
            back = threading.Thread(target=pass_on, args=(server, connection))
            back.start()
            pass_on(connection, server)
            back.join()


def pass_on(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def proxy(internet):
    return Proxy(internet)


def asked(internet):
    """The names that the machine's name server was asked for."""
    internet.settle()
    return {str(query.name) for query in internet.names.queries}


@each_level
@pytest.mark.parametrize('scheme', ['http', 'https'])
@pytest.mark.parametrize('name', [GOOD, FAR])
def test_hosts_are_reached_through_it(boxed, internet, proxy, level, scheme, name):
    site = internet.make_site(FAR)
    proxy.lead(FAR, site.addresses[0])
    del internet.names.zone[FAR]
    result = boxed('curl', '-sS', f'{scheme}://{name}/', domains=[name], level=level, outer={'HTTPS_PROXY': proxy.url})
    assert (result.returncode, result.stdout) == (0, f'{name} over {scheme}\n'), result.said
    port = {'http': 80, 'https': 443}[scheme]
    assert [head.splitlines() for head in proxy.heads] == [[f'CONNECT {name}:{port} HTTP/1.1', f'Host: {name}:{port}', '']]
    assert asked(internet) == set()     # the proxy knows


@each_level
def test_it_is_found_by_its_name_and_told_who_asks(boxed, internet, proxy, level):
    internet.names.zone['proxy.example'] = Reply(proxy.address)
    result = boxed('curl', '-sS', f'https://{GOOD}/', domains=[GOOD], level=level,
                   outer={'https_proxy': 'http://me:se%63ret@proxy.example:3128/'})
    assert (result.returncode, result.stdout) == (0, f'{GOOD} over https\n'), result.said
    assert f'Proxy-Authorization: Basic {base64.b64encode(b"me:secret").decode()}' in proxy.heads[0].splitlines()


@each_level
def test_a_host_that_speaks_first_is_heard(boxed, internet, proxy, level):
    proxy.lead('half.good.example', internet.names.zone['half.good.example'].addresses[0])
    result = boxed('nc', '-N', 'half.good.example', '7001', domains=['half.good.example:7001'], level=level,
                   input='words\n', outer={'HTTPS_PROXY': proxy.url})
    assert (result.returncode, result.stdout) == (0, 'I have said all.\n'), result.said
    assert proxy.heads[0].startswith('CONNECT half.good.example:7001 ')


@pytest.mark.parametrize('exceptions', [GOOD, 'good.example', '.good.example', 'localhost, *.good.example', '*'])
def test_exceptions_are_reached_without_it(boxed, internet, proxy, exceptions):
    result = boxed('curl', '-sS', f'https://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': proxy.url, 'NO_PROXY': exceptions})
    assert (result.returncode, result.stdout, proxy.heads) == (0, f'{GOOD} over https\n', []), result.said
    assert len(internet.visits_to(GOOD)) == 1


@pytest.mark.parametrize('way', [(), ('-x', 'http://127.0.0.1:3128'), ('-x', 'socks5h://127.0.0.1:1080')],
                         ids=['direct', 'http', 'socks'])
def test_what_is_not_allowed_does_not_come_to_it(boxed, internet, proxy, way):
    for url in (f'https://{OTHER}/', f'http://{OTHER}/', f'https://{GOOD}:8443/', 'https://127.0.0.1/', f'http://{proxy.address}:3128/'):
        result = boxed('curl', '-sS', '-m', '5', *way, url, domains=[GOOD], outer={'HTTPS_PROXY': proxy.url})
        assert ' over http' not in result.stdout, result.said
    assert proxy.heads == [] and internet.visits_to('proxy') == []


def test_another_name_in_tls_is_refused_there_too(boxed, internet, proxy):
    result = boxed('curl', '-sS', '-k', '--connect-to', f'{OTHER}:443:{GOOD}:443', f'https://{OTHER}/', domains=[GOOD],
                   outer={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 35 and 'its TLS names another host (www.other.example)' in result.stderr, result.said
    assert internet.visits_to(GOOD) == [] or not internet.visits_to(GOOD)[0].sni


@pytest.mark.parametrize('answer, words', [
    (b'HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nno!\n', 'lets nobody through (status 403)'),
    (b'HTTP/1.1 407 Who are you\r\n\r\n', 'lets nobody through (status 407)'),
    (b'HTTP/1.1 200 Go', 'lets nobody through (status 200)'),       # and then its end
    (b'HTTP/1.1 200 Go on\r\nX: ' + b'x' * 70000, 'lets nobody through (status 200)'),
    (b'SSH-2.0-thing\r\n', 'lets nobody through (no answer)'),
    (b'\0', 'lets nobody through (no answer)'),
], ids=['forbidden', 'unknown', 'cut', 'endless', 'ssh', 'nul'])
def test_its_refusal_is_told(boxed, proxy, answer, words):
    proxy.answer = answer
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 0 and f'ringwall: cannot reach {GOOD} port 80' in result.stdout, result.said
    assert words in result.stdout and words in result.stderr


def test_without_it_nothing_is_reached(boxed, internet):
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': 'http://93.184.216.240:1'})
    assert 'the proxy that HTTPS_PROXY names cannot be reached' in result.stdout, result.said
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': 'http://nobody.example:3128'})
    assert 'the proxy that HTTPS_PROXY names cannot be reached' in result.stdout, result.said
    assert internet.visits_to(GOOD) == []


def test_a_client_that_goes_meanwhile_is_not_waited_for(boxed, proxy):
    proxy.answer = b''
    result = boxed('curl', '-sS', '-m', '1', f'https://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 28 and result.seconds < 5, result.said


@pytest.mark.parametrize('url, why', [
    ('socks5://127.0.0.1:1080', 'only proxies of the form http://host:port can be used'),
    ('https://proxy.example:3128', 'only proxies of the form http://host:port can be used'),
    ('http://proxy.example:99999', 'a port is a number from 1 to 65535'),
    ('http://pröxy.example', 'has bytes in it that are no part'),
])
def test_what_cannot_be_used_refuses_to_run(boxed, url, why):
    result = boxed('echo', 'ran', domains=[GOOD], outer={'HTTPS_PROXY': url})
    assert (result.returncode, result.stdout) == (125, '') and why in result.stderr and 'HTTPS_PROXY' in result.stderr, result.said


def test_the_box_does_not_hear_of_it(boxed, internet, proxy, tmp_path):
    record = tmp_path / 'record'
    url = f'http://me:secret@{proxy.address}:3128'
    result = boxed('sh', '-c', f'env; curl -sS https://{GOOD}/', domains=[GOOD], flags=[f'--audit={record}'],
                   outer={'HTTPS_PROXY': url})
    assert f'{GOOD} over https\n' in result.stdout and 'secret' not in result.stdout and proxy.address not in result.stdout
    events = [json.loads(line) for line in record.read_text().splitlines()]
    passed, = (event for event in events if event['event'] == 'network_allowed')
    assert 'secret' not in record.read_text()
    assert (passed['host'], passed['address'], passed['proxied']) == (GOOD, proxy.address, True)


def test_silence_of_the_hole(boxed):
    """A proxy where packets vanish: the program's own patience ends it."""
    result = boxed('curl', '-sS', '-m', '2', f'https://{GOOD}/', domains=[GOOD], outer={'HTTPS_PROXY': f'http://{HOLE[0]}:3128'})
    assert result.returncode == 28 and result.seconds < 6, result.said


def memory_has(pid, words):
    """Whether a process has these words anywhere in what it can write."""
    with open(f'/proc/{pid}/maps', encoding='utf-8') as maps, open(f'/proc/{pid}/mem', 'rb') as memory:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split('-'))
            if line.split()[1].startswith('rw'):
                memory.seek(begin)
                if words in memory.read(end - begin):
                    return True
    return False


def test_no_process_in_the_box_has_the_password(internet, proxy, build, home, workspace, is_root):
    """The process of the tools is a copy of one that had it in its environment."""
    if not is_root:
        pytest.skip('nobody else may look into it')
    client = Client(Stdio([build / 'ringwall', 'mcp', '--allow-domain', GOOD], cwd=workspace, env={
        'HOME': str(home), 'PATH': '/usr/bin:/bin', 'HTTPS_PROXY': f'http://me:pass-4711-word@{proxy.address}:3128'}))
    assert not client('Bash', command='true', description='so that there is a box')['isError']
    inside = {}
    for pid in family(client.transport.process.pid):
        with open(f'/proc/{pid}/status', encoding='utf-8') as status:
            fields = dict(line.split(':\t', 1) for line in status if ':\t' in line)
        inside[pid] = len(fields['NSpid'].split()) > 1 and fields['NSpid'].split()[-1] != '1', fields['Name'].strip()
    have = {pid for pid in inside if memory_has(pid, b'pass-4711-word')}
    assert [pid for pid, (boxed, name) in inside.items() if name == 'ringwall-egress' and pid in have]      # one may, and must
    assert [pid for pid, (boxed, _) in inside.items() if boxed] and not [pid for pid, (boxed, _) in inside.items() if boxed and pid in have]
    assert client.transport.close() == 0
