"""The user's own proxy (HTTPS_PROXY): all allowed connections go through it by CONNECT, and no others."""
import base64
import json
import socket
import threading

import pytest

from fake_internet import GOOD, BLACK_HOLE, OTHER
from mcp_client import Client, Stdio, family
from fake_dns import Reply

LEVELS = ('strict', 'maximum')
each_level = pytest.mark.parametrize('level', LEVELS)
FAR = 'far.good.example'        # only the proxy can resolve it


class Proxy:
    """A proxy in the world, with its own table of names and addresses. If `answer` is set, it answers with that instead
    of opening a connection. `requests` are the headers that it received."""

    def __init__(self, internet):
        self.address = internet.allocate_addresses()[0]
        self.port, self.requests, self.answer, self.addresses = 3128, [], None, {}
        self.add_name(GOOD, *internet.web[GOOD].sites[0].addresses[:1])
        internet.listen(self.address, self.port, self.serve, 'proxy')

    @property
    def url(self):
        return f'http://{self.address}:{self.port}'

    def add_name(self, name, address):
        self.addresses[name] = str(address)

    def serve(self, connection, _):
        request = b''
        while b'\r\n\r\n' not in request:
            if not (data := connection.recv(65536)):
                return
            request += data
        self.requests.append(request.decode())
        if self.answer is not None:
            connection.sendall(self.answer)
            if not self.answer:     # no answer at all: waits until the client closes
                connection.recv(1)
            return
        name, _, port = request.split()[1].decode().rpartition(':')
        with socket.create_connection((self.addresses[name], int(port))) as server:
            first = server.recv(65536) if int(port) == 7001 else b''        # this server sends first
            connection.sendall(b'HTTP/1.1 200 Go on\r\nVia: test\r\n\r\n' + first)
            back = threading.Thread(target=pass_on, args=(server, connection))
            back.start()
            pass_on(connection, server)
            back.join()


def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def proxy(internet):
    return Proxy(internet)


def queried_names(internet):
    """The names that the host's name server was asked for."""
    internet.settle()
    return {str(query.name) for query in internet.names.queries}


@each_level
@pytest.mark.parametrize('scheme', ['http', 'https'])
@pytest.mark.parametrize('name', [GOOD, FAR])
def test_allowed_hosts_are_reached_through_the_proxy(boxed, internet, proxy, level, scheme, name):
    site = internet.make_site(FAR)
    proxy.add_name(FAR, site.addresses[0])
    del internet.names.zone[FAR]
    result = boxed('curl', '-sS', f'{scheme}://{name}/', domains=[name], level=level,
                   outer_env={'HTTPS_PROXY': proxy.url})
    assert (result.returncode, result.stdout) == (0, f'{name} over {scheme}\n'), result.output
    port = {'http': 80, 'https': 443}[scheme]
    assert [request.splitlines() for request in proxy.requests] == [
        [f'CONNECT {name}:{port} HTTP/1.1', f'Host: {name}:{port}', '']]
    assert queried_names(internet) == set()     # the proxy resolves the name


@each_level
def test_proxy_url_may_have_a_name_a_user_and_a_password(boxed, internet, proxy, level):
    internet.names.zone['proxy.example'] = Reply(proxy.address)
    result = boxed('curl', '-sS', f'https://{GOOD}/', domains=[GOOD], level=level,
                   outer_env={'https_proxy': 'http://me:se%63ret@proxy.example:3128/'})
    assert (result.returncode, result.stdout) == (0, f'{GOOD} over https\n'), result.output
    assert f'Proxy-Authorization: Basic {base64.b64encode(b"me:secret").decode()}' in proxy.requests[0].splitlines()


@each_level
def test_data_of_a_server_that_sends_first_arrives(boxed, internet, proxy, level):
    proxy.add_name('half.good.example', internet.names.zone['half.good.example'].addresses[0])
    result = boxed('nc', '-N', 'half.good.example', '7001', domains=['half.good.example:7001'], level=level,
                   input='words\n', outer_env={'HTTPS_PROXY': proxy.url})
    assert (result.returncode, result.stdout) == (0, 'I have said all.\n'), result.output
    assert proxy.requests[0].startswith('CONNECT half.good.example:7001 ')


@pytest.mark.parametrize('exceptions', [GOOD, 'good.example', '.good.example', 'localhost, *.good.example', '*'])
def test_hosts_of_no_proxy_are_reached_directly(boxed, internet, proxy, exceptions):
    result = boxed('curl', '-sS', f'https://{GOOD}/', domains=[GOOD],
                   outer_env={'HTTPS_PROXY': proxy.url, 'NO_PROXY': exceptions})
    assert (result.returncode, result.stdout, proxy.requests) == (0, f'{GOOD} over https\n', []), result.output
    assert len(internet.visits_to(GOOD)) == 1


@pytest.mark.parametrize('way', [(), ('-x', 'http://127.0.0.1:3128'), ('-x', 'socks5h://127.0.0.1:1080')],
                         ids=['direct', 'http', 'socks'])
def test_hosts_that_are_not_allowed_do_not_reach_the_proxy(boxed, internet, proxy, way):
    for url in (f'https://{OTHER}/', f'http://{OTHER}/', f'https://{GOOD}:8443/', 'https://127.0.0.1/',
                f'http://{proxy.address}:3128/'):
        result = boxed('curl', '-sS', '-m', '5', *way, url, domains=[GOOD], outer_env={'HTTPS_PROXY': proxy.url})
        assert ' over http' not in result.stdout, result.output
    assert proxy.requests == [] and internet.visits_to('proxy') == []


def test_tls_for_another_host_is_refused_with_a_proxy_too(boxed, internet, proxy):
    result = boxed('curl', '-sS', '-k', '--connect-to', f'{OTHER}:443:{GOOD}:443', f'https://{OTHER}/', domains=[GOOD],
                   outer_env={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 35, result.output
    assert 'the TLS handshake names another host (www.other.example)' in result.stderr, result.output
    assert internet.visits_to(GOOD) == [] or not internet.visits_to(GOOD)[0].sni


@pytest.mark.parametrize('answer, message', [
    (b'HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nno!\n', 'did not open a connection (status 403)'),
    (b'HTTP/1.1 407 Who are you\r\n\r\n', 'did not open a connection (status 407)'),
    (b'HTTP/1.1 200 Go', 'did not open a connection (status 200)'),       # and then EOF
    (b'HTTP/1.1 200 Go on\r\nX: ' + b'x' * 70000, 'did not open a connection (status 200)'),
    (b'SSH-2.0-thing\r\n', 'did not open a connection (no valid answer)'),
    (b'\0', 'did not open a connection (no valid answer)'),
], ids=['forbidden', 'unknown', 'cut', 'endless', 'ssh', 'nul'])
def test_refusal_by_the_proxy_is_reported(boxed, proxy, answer, message):
    proxy.answer = answer
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD], outer_env={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 0 and f'ringwall: cannot reach {GOOD} port 80' in result.stdout, result.output
    assert message in result.stdout and message in result.stderr


def test_no_host_is_reached_directly_if_the_proxy_is_unreachable(boxed, internet):
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD],
                   outer_env={'HTTPS_PROXY': 'http://93.184.216.240:1'})
    assert 'the proxy in HTTPS_PROXY cannot be reached' in result.stdout, result.output
    result = boxed('curl', '-sS', f'http://{GOOD}/', domains=[GOOD],
                   outer_env={'HTTPS_PROXY': 'http://nobody.example:3128'})
    assert 'the proxy in HTTPS_PROXY cannot be reached' in result.stdout, result.output
    assert internet.visits_to(GOOD) == []


def test_box_ends_at_once_if_the_client_gives_up_while_the_proxy_is_silent(boxed, proxy):
    proxy.answer = b''
    result = boxed('curl', '-sS', '-m', '1', f'https://{GOOD}/', domains=[GOOD], outer_env={'HTTPS_PROXY': proxy.url})
    assert result.returncode == 28 and result.seconds < 5, result.output


@pytest.mark.parametrize('url, message', [
    ('socks5://127.0.0.1:1080', 'only proxies of the form http://host:port can be used'),
    ('https://proxy.example:3128', 'only proxies of the form http://host:port can be used'),
    ('http://proxy.example:99999', 'a port is a number from 1 to 65535'),
    ('http://pröxy.example', 'contains bytes that are not printable ASCII'),
])
def test_ringwall_refuses_to_run_with_a_proxy_that_it_cannot_use(boxed, url, message):
    result = boxed('echo', 'ran', domains=[GOOD], outer_env={'HTTPS_PROXY': url})
    assert (result.returncode, result.stdout) == (125, '') and message in result.stderr, result.output
    assert 'HTTPS_PROXY' in result.stderr, result.output


def test_box_does_not_see_the_proxy_and_no_password_is_recorded(boxed, internet, proxy, tmp_path):
    record = tmp_path / 'record'
    url = f'http://me:secret@{proxy.address}:3128'
    result = boxed('sh', '-c', f'env; curl -sS https://{GOOD}/', domains=[GOOD], flags=[f'--audit={record}'],
                   outer_env={'HTTPS_PROXY': url})
    assert f'{GOOD} over https\n' in result.stdout and 'secret' not in result.stdout
    assert proxy.address not in result.stdout
    events = [json.loads(line) for line in record.read_text().splitlines()]
    allowed, = (event for event in events if event['event'] == 'network_allowed')
    assert 'secret' not in record.read_text()
    assert (allowed['host'], allowed['address'], allowed['proxied']) == (GOOD, proxy.address, True)


def test_client_times_out_if_packets_to_the_proxy_are_dropped(boxed):
    """The client's own timeout ends it."""
    result = boxed('curl', '-sS', '-m', '2', f'https://{GOOD}/', domains=[GOOD],
                   outer_env={'HTTPS_PROXY': f'http://{BLACK_HOLE[0]}:3128'})
    assert result.returncode == 28 and result.seconds < 6, result.output


def memory_contains(pid, data):
    """Whether the writable memory of a process contains these bytes."""
    with open(f'/proc/{pid}/maps', encoding='utf-8') as maps, open(f'/proc/{pid}/mem', 'rb') as memory:
        for line in maps:
            start, end = (int(word, 16) for word in line.split()[0].split('-'))
            if line.split()[1].startswith('rw'):
                memory.seek(start)
                if data in memory.read(end - start):
                    return True
    return False


def test_no_process_in_the_box_has_the_password(internet, proxy, build, home, workspace, is_root):
    """The process of the tools is a fork, without exec, of a process that had the password in its environment."""
    if not is_root:
        pytest.skip('only root may read the memory of these processes')
    client = Client(Stdio([build / 'ringwall', 'mcp', '--allow-domain', GOOD], cwd=workspace, env={
        'HOME': str(home), 'PATH': '/usr/bin:/bin', 'HTTPS_PROXY': f'http://me:pass-4711-word@{proxy.address}:3128'}))
    assert not client('Bash', command='true', description='so that there is a box')['isError']
    processes = {}      # pid -> whether it is in a box (and not its keeper), and its name
    for pid in family(client.transport.process.pid):
        with open(f'/proc/{pid}/status', encoding='utf-8') as status:
            fields = dict(line.split(':\t', 1) for line in status if ':\t' in line)
        boxed = len(fields['NSpid'].split()) > 1 and fields['NSpid'].split()[-1] != '1'
        processes[pid] = boxed, fields['Name'].strip()
    have_password = {pid for pid in processes if memory_contains(pid, b'pass-4711-word')}
    # egress needs the password
    assert [pid for pid, (boxed, name) in processes.items() if name == 'ringwall-egress' and pid in have_password]
    assert [pid for pid, (boxed, _) in processes.items() if boxed]
    assert not [pid for pid, (boxed, _) in processes.items() if boxed and pid in have_password]
    assert client.transport.close() == 0
