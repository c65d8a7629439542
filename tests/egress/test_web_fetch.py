"""WebFetch of a real `ringwall mcp` on the host of the test internet: how it shows a page, what it refuses and with
which message, hostile servers, timeouts, and the fetch process."""
import contextlib
import glob
import gzip
import os
import re
import signal
import threading
import time
import urllib.parse

import pytest

from fake_internet import GOOD, OTHER
from mcp_client import Client, Stdio, details, family, is_alive, text_of
from fake_dns import Reply
from test_attacks_process import name_of

LEVELS = ('strict', 'maximum')
MAX_BYTES = 1 << 20     # of a body; the rest is not fetched
PAGES = 'pages.good.example'
HTML = '''<!DOCTYPE html><html><head><title>A page</title><script>alert(1)</script></head>
<body><h1>Head</h1><p>Some <b>text</b> with a <a href="/there">link</a>.</p><ul><li>one<li>two</ul></body></html>'''


def redirect(request):
    return 302, {'Location': urllib.parse.unquote(request.target.partition('?')[2])}, b'elsewhere'


OFFERS = {
    '/html': lambda request: (200, {'Content-Type': 'text/html; charset=utf-8'}, HTML.encode()),
    '/plain': lambda request: (200, {'Content-Type': 'text/plain'}, b'plain words\n'),
    '/binary': lambda request: (200, {'Content-Type': 'image/png'}, b'\x89PNG\0\0'),
    '/empty': lambda request: (200, {'Content-Type': 'text/plain'}, b''),
    '/gone': lambda request: (410, {'Content-Type': 'text/html'}, b'<h1>It is gone</h1>'),
    '/large': lambda request: (200, {'Content-Type': 'text/plain'}, b'0123456789abcdef' * (3 * MAX_BYTES // 16)),
    '/exact': lambda request: (200, {'Content-Type': 'text/plain'}, b'x' * MAX_BYTES),
    '/zipped': lambda request: (200, {'Content-Type': 'text/plain', 'Content-Encoding': 'gzip'},
                                gzip.compress(b'it was packed\n')),
    '/bomb': lambda request: (200, {'Content-Type': 'text/plain', 'Content-Encoding': 'gzip'},
                              gzip.compress(bytes(MAX_BYTES) * 256)),
    '/twice': lambda request: (200, {'Content-Type': 'text/plain', 'Content-Encoding': 'gzip, gzip'},
                               gzip.compress(gzip.compress(b'a' * MAX_BYTES * 64))),
    '/asked': lambda request: (
        200, {'Content-Type': 'text/plain'},
        ''.join(f'{name}: {value}\n' for name, value in sorted(request.headers.items())).encode()),
    '/redirect': redirect,
    '/loop': lambda request: (301, {'Location': '/loop'}, b''),
    '/nowhere': lambda request: (302, {}, b'I will not say where'),
}


@pytest.fixture
def pages(internet):
    """A site with the pages of OFFERS."""
    site = internet.make_site(PAGES)
    site.offers = {**OFFERS}
    return site


@pytest.fixture
def connect(internet, home, workspace, build):
    """Starts `ringwall mcp` with a box that may reach the domains and, if trusted, trusts the test CA. Returns a
    client."""
    clients = []

    def start(*flags, domains=(), level='strict', env=None, trusted=True):
        words = [build / 'ringwall', 'mcp', f'--level={level}', *(f'--allow-domain={domain}' for domain in domains)]
        if trusted:
            words += [f'--ro={internet.authority.ca_file}', f'--env=SSL_CERT_FILE={internet.authority.ca_file}']
        words += [f'--env={name}={value}' for name, value in (env or {}).items()]
        variables = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'}
        clients.append(Client(Stdio([*words, *flags], errors=workspace.parent / 'errors', cwd=workspace,
                                    env=variables)))
        return clients[-1]
    yield start
    for client in clients:
        assert client.transport.close() == 0, (workspace.parent / 'errors').read_text()


@pytest.fixture
def client(connect, pages):
    return connect(domains=[PAGES, GOOD])


def fetch(client, url, **arguments):
    """Calls WebFetch, which must succeed, and returns the result."""
    result = client('WebFetch', url=url, **arguments)
    assert not result['isError'], result
    return result


def fetch_error(client, url, **arguments):
    """Calls WebFetch, which must fail, and returns the text of its error."""
    result = client('WebFetch', url=url, **arguments)
    assert result['isError'] and '_meta' not in result, result
    return text_of(result)


# Pages.

@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('url, alpn, version', [
    (f'http://{GOOD}/', None, 'HTTP/1.1'),
    (f'https://{GOOD}/', 'h2', 'HTTP/2'),
    ('https://old.good.example/', 'http/1.1', 'HTTP/1.1'),
    ('https://six.good.example/', 'h2', 'HTTP/2'),
    ('https://four.good.example/', 'h2', 'HTTP/2'),
])
def test_page_is_fetched(connect, internet, level, url, alpn, version):
    scheme, host = url.split('/')[0][:-1], url.split('/')[2]
    result = fetch(connect(domains=[host], level=level), url)
    body = f'{host} over {scheme}\n'
    assert text_of(result) == body
    assert details(result) == {'url': url, 'status': 200, 'content_type': '', 'bytes': len(body),
                                           'more': False}
    visit, = internet.visits_to(host)
    assert (visit.sni, visit.alpn) == (host if scheme == 'https' else None, alpn)
    request, = visit.requests
    assert (request.method, request.path, request.host, request.version) == ('GET', '/', host, version)


@pytest.mark.parametrize('path, arguments, text, structured', [
    ('/html', {}, 'Title: A page\n\n# Head\n\nSome text with a [link](/there).\n\n- one\n- two', {'more': False}),
    ('/html', {'format': 'html'}, HTML, {'content_type': 'text/html'}),
    ('/html', {'max_bytes': 6},
     f'Title: A page\n\n# Head\n(there is more: continue with offset 6)',
     {'more': True}),
    ('/plain?a=1#part', {}, 'plain words\n', {'url': f'https://{PAGES}/plain?a=1'}),
    ('/empty', {}, f'(https://{PAGES}/empty is empty)', {'bytes': 0}),
    ('/zipped', {}, 'it was packed\n', {'bytes': 14}),
])
def test_page_is_shown(client, path, arguments, text, structured):
    result = fetch(client, f'https://{PAGES}{path}', **arguments)
    assert text_of(result) == text
    assert {name: details(result)[name] for name in structured} == structured


@pytest.mark.parametrize('path, text', [
    ('/binary', f'https://{PAGES}/binary is binary: image/png, 6 bytes; only text can be shown'),
    ('/gone', f'https://{PAGES}/gone: the server answered with status 410\n\n# It is gone'),
    ('/nowhere', f'https://{PAGES}/nowhere: the server answered with status 302\n\nI will not say where'),
])
def test_binary_content_and_http_errors_are_errors(client, path, text):
    assert fetch_error(client, f'https://{PAGES}{path}') == text


def test_users_netrc_and_curlrc_are_not_used(connect, pages, home):
    (home / '.netrc').write_text(f'machine {PAGES} login somebody password secret\n')
    (home / '.curlrc').write_text('header = "X-Mine: yes"\n')
    client = connect('--rw', home, domains=[PAGES])
    assert text_of(fetch(client, f'http://{PAGES}/asked')) == (
        f'accept: */*\naccept-encoding: gzip, deflate\nhost: {PAGES}\nuser-agent: ringwall\n')


def test_internationalized_host_name(connect, internet):
    internet.make_site('xn--bcher-kva.good.example')
    result = fetch(connect(domains=['bücher.good.example']), 'https://bücher.good.example/')
    assert text_of(result) == 'xn--bcher-kva.good.example over https\n'


def test_readonly_server_fetches(connect):
    client = connect('--readonly', domains=[GOOD])
    tool = {tool['name']: tool for tool in client.ask('tools/list')['tools']}['WebFetch']
    assert tool['annotations'] == {'title': 'Fetch a page', 'readOnlyHint': True, 'destructiveHint': False,
                                   'idempotentHint': True, 'openWorldHint': True}
    assert text_of(fetch(client, f'https://{GOOD}/')) == f'{GOOD} over https\n'


# Large bodies.

@pytest.mark.parametrize('path', ['/large', '/bomb', '/twice'])
def test_large_body_is_truncated(client, path):
    start_time = time.monotonic()
    result = client('WebFetch', url=f'https://{PAGES}{path}', max_bytes=16)
    assert time.monotonic() - start_time < 10
    if path == '/bomb':     # it expands to zero bytes, which are not text
        assert text_of(result) == (
            f'https://{PAGES}{path} is binary: text/plain, {MAX_BYTES} bytes; only text can be shown')
        return
    start = '0123456789abcdef' if path == '/large' else 'a' * 16
    assert text_of(result) == f'{start}\n(there is more: continue with offset 16)'
    assert details(result) == {'url': f'https://{PAGES}{path}', 'status': 200, 'content_type': 'text/plain',
                                           'bytes': MAX_BYTES, 'more': True}


def test_body_of_the_maximum_size_is_complete(client):
    result = fetch(client, f'http://{PAGES}/exact', max_bytes=MAX_BYTES)
    assert text_of(result) == 'x' * MAX_BYTES and not details(result)['more']


# Redirects.

@pytest.mark.parametrize('location, url, text', [
    ('/plain', f'https://{PAGES}/plain', 'plain words\n'),
    ('plain?x=%2541#part', f'https://{PAGES}/plain?x=%41', 'plain words\n'),
    (f'https://{GOOD}/', f'https://{GOOD}/', f'{GOOD} over https\n'),
    (f'//{GOOD}', f'https://{GOOD}/', f'{GOOD} over https\n'),
    (f'/redirect?https://{GOOD}/', f'https://{GOOD}/', f'{GOOD} over https\n'),
])
def test_redirect_is_followed(client, location, url, text):
    result = fetch(client, f'https://{PAGES}/redirect?{location.replace("#", "%23")}')
    assert (text_of(result), details(result)['url']) == (text, url)


NOT_FOLLOWED = f'a redirect of {PAGES} is not followed: '
ONLY_HTTP = 'the URL does not begin with https:// or http://; nothing else can be fetched'


@pytest.mark.parametrize('location, message', [
    ('file:///etc/passwd', ONLY_HTTP),
    ('ftp://www.good.example/', ONLY_HTTP),
    ('javascript:alert(1)', ONLY_HTTP),
    (f'http://{GOOD}/', f'it leads from https to http, to {GOOD}'),
    ('https://127.0.0.1/', '127.0.0.1 may not be fetched from: it is in 127.0.0.0/8, '),
    ('https://0x7f.1/', '0x7f.1 may not be fetched from: its address 127.0.0.1 is in 127.0.0.0/8, '),
    ('https://[::1]/', '::1 may not be fetched from: it is in ::1/128, '),
    ('https://10.0.0.1/', '10.0.0.1 may not be fetched from: it is in 10.0.0.0/8, '),
    ('https://169.254.169.254/latest/meta-data/', '169.254.169.254 may not be fetched from: it is in '
                                                  '169.254.169.254/32, '),
    ('https://metadata.google.internal/',
     'metadata.google.internal may not be fetched from: it is the metadata service'),
    ('https://localhost/', 'localhost may not be fetched from: it means this machine'),
    (f'https://me:secret@{GOOD}/', 'the URL has a user name in front of its host'),
    (f'https://{GOOD}\\@{OTHER}/', 'the URL has a backslash'),
])
def test_redirect_to_a_forbidden_url_is_not_followed(client, internet, location, message):
    text = fetch_error(client, f'https://{PAGES}/redirect?{urllib.parse.quote(location, safe="")}')
    assert text.startswith(f'https://{PAGES}/redirect?') and f' was not fetched: {NOT_FOLLOWED}{message}' in text
    assert internet.visits_to(GOOD) == internet.visits_to(OTHER) == internet.forbidden_visits() == []


@pytest.mark.parametrize('location, message', [
    (f'https://{OTHER}/', f'{OTHER} port 443, no rule allows it; to allow it: --allow-domain {OTHER}'),
    (f'https://{GOOD}:8443/',
     f'{GOOD} port 8443, it is allowed on other ports; to allow it: --allow-domain {GOOD}:8443'),
    ('https://93.184.216.1/', '93.184.216.1 port 443, hosts must be reached by name, not by address'),
])
def test_redirect_to_a_host_that_is_not_allowed_is_refused(client, internet, location, message):
    url = f'https://{PAGES}/redirect?{location}'
    assert fetch_error(client, url) == f'{location}, a redirect of {url}, was not fetched: {message}'
    assert internet.visits_to(GOOD) == internet.visits_to(OTHER) == internet.forbidden_visits() == []


def test_redirect_loop_ends_after_ten_redirects(client, internet):
    assert fetch_error(client, f'https://{PAGES}/loop') == (
        f'https://{PAGES}/loop was not fetched: {PAGES} redirects once more after 10 redirects; it may be a redirect '
        f'loop')
    assert sum(len(visit.requests) for visit in internet.visits_to(PAGES)) == 11


# Refusals, and the hints in their messages.

@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('scheme, port', [('http', 80), ('https', 443)])
def test_host_that_is_not_allowed_is_refused_with_a_hint(connect, internet, level, scheme, port):
    client = connect(domains=[GOOD], level=level)
    assert fetch_error(client, f'{scheme}://{OTHER}/') == (
        f'{scheme}://{OTHER}/ was not fetched: {OTHER} port {port}, no rule allows it; to allow it: --allow-domain '
        f'{OTHER}')
    assert text_of(fetch(connect(domains=[GOOD, OTHER], level=level),
                         f'{scheme}://{OTHER}/')) == f'{OTHER} over {scheme}\n'
    assert len(internet.visits_to(OTHER)) == 1


@pytest.mark.parametrize('level', ('standard', *LEVELS))
def test_box_without_a_network_gives_a_hint(connect, internet, level):
    assert fetch_error(connect(level=level), f'https://{GOOD}/') == (
        f'{GOOD} cannot be reached: the policy allows no host, so the box reaches none; ringwall mcp --allow-domain '
        f'{GOOD} '
        'would allow it, or network.allowed_domains in the policy')
    assert internet.visits == []


LIE = 'private10.lies.example'
NOT_PUBLIC = f'port {{}}, it resolves to an address that is not public; to allow it: --allow-private {LIE}'


@pytest.mark.parametrize('url, text', [
    (f'http://{LIE}/', f'{LIE} {NOT_PUBLIC.format(80)}'),
    (f'https://{LIE}/', f'{LIE} {NOT_PUBLIC.format(443)}'),
    ('http://missing.good.example/', 'cannot reach missing.good.example port 80, the name cannot be resolved'),
    ('https://missing.good.example/', 'cannot reach missing.good.example port 443, the name cannot be resolved'),
    (f'https://{GOOD}:444/', f'{GOOD} port 444, it is allowed on other ports; to allow it: --allow-domain {GOOD}:444'),
])
def test_error_has_the_reason_why_egress_refused(connect, internet, url, text):
    client = connect(domains=[LIE, 'missing.good.example', GOOD])
    assert fetch_error(client, url) == f'{url} was not fetched: {text}'
    assert internet.visits == []


def test_denied_host_is_refused(connect, workspace):
    policy = workspace.parent / 'policy.yaml'
    policy.write_text(f'network: {{allowed_domains: ["*.good.example"], denied_domains: [{GOOD}]}}\n')
    assert fetch_error(connect('-p', policy), f'https://{GOOD}/') == (
        f'https://{GOOD}/ was not fetched: {GOOD} port 443, it is denied')


@pytest.mark.parametrize('url, part', [
    ('http://127.0.0.1/', '127.0.0.1 may not be fetched from'),
    ('http://169.254.169.254/', 'metadata'),
    ('file:///etc/passwd', ONLY_HTTP),
    ('https://metadata/', 'metadata service'),
])
def test_forbidden_first_url_is_refused_too(client, internet, url, part):
    assert part in fetch_error(client, url)
    assert internet.visits == []


# Certificates.

def test_certificate_of_an_unknown_authority_is_refused(connect):
    text = fetch_error(connect(domains=[GOOD], trusted=False), f'https://{GOOD}/')
    assert text.startswith(f"https://{GOOD}/ was not fetched: its server's certificate cannot be trusted: ")
    assert text.endswith('; to trust an authority of your own: --env SSL_CERT_FILE=FILE and --ro FILE')


def test_certificate_for_another_name_is_refused(connect, internet):
    internet.names.zone['wrong.good.example'] = Reply(*internet.web[GOOD].sites[0].addresses)
    text = fetch_error(connect(domains=['wrong.good.example']), 'https://wrong.good.example/')
    assert "its server's certificate cannot be trusted: " in text and 'wrong.good.example' in text
    assert all(visit.requests == [] for visit in internet.visits_to(GOOD))


@pytest.mark.parametrize('variable', ['CURL_CA_BUNDLE', 'SSL_CERT_FILE'])
def test_authority_is_taken_from_the_environment_of_the_box(connect, internet, variable):
    client = connect(f'--ro={internet.authority.ca_file}', domains=[GOOD], trusted=False,
                     env={variable: internet.authority.ca_file})
    assert text_of(fetch(client, f'https://{GOOD}/')) == f'{GOOD} over https\n'


# The proxies of the box.

@pytest.mark.parametrize('scheme', ['http', 'https'])
def test_proxy_variables_are_honoured(connect, internet, workspace, scheme):
    policy = workspace.parent / 'policy.yaml'
    policy.write_text(f'network: {{allowed_domains: [{GOOD}], proxy_variables: true}}\n')
    client = connect('-p', policy)
    assert text_of(fetch(client, f'{scheme}://{GOOD}/')) == f'{GOOD} over {scheme}\n'
    text = fetch_error(client, f'{scheme}://{OTHER}/')
    port = 443 if scheme == 'https' else 80
    assert f'{OTHER} port {port}, no rule allows it; to allow it: --allow-domain {OTHER}' in text
    assert internet.visits_to(OTHER) == []


# Slow and hostile servers.

def never_answer(connection, visit):
    """Sends nothing, and records when the client closes."""
    visit.received = connection.recv(65536)
    visit.ended = 'closed' if connection.recv(1) == b'' else ''


def send_endless_headers(connection, visit):
    visit.received = connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\n')
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b'X-More: ' + b'x' * 1000 + b'\r\n')


def send(answer):
    """A handler that sends this answer."""
    def handler(connection, visit):
        visit.received = connection.recv(65536)
        connection.sendall(answer)
    return handler


def test_fetch_times_out(connect, internet):
    internet.make_server('silent-web.good.example', (80, never_answer))
    client = connect(domains=['silent-web.good.example'])
    start_time = time.monotonic()
    assert fetch_error(client, 'http://silent-web.good.example/', timeout=1) == (
        'http://silent-web.good.example/ was not fetched: it did not answer within 1 s; raise the parameter timeout '
        '(at most 120)')
    assert 0.9 < time.monotonic() - start_time < 15    # 30 s is the default
    internet.settle()
    visit, = internet.visits_to('silent-web.good.example')
    assert visit.ended == 'closed'


def test_slow_server_may_take_its_time_before_the_timeout(connect):
    assert text_of(fetch(connect(domains=['slow.good.example']), 'http://slow.good.example/', timeout=10)) == 'slow\n'


HEAD = b'HTTP/1.1 200 OK\r\nConnection: close\r\n'


@pytest.mark.parametrize('handler, message', [
    (send(b'I speak no HTTP\r\n'), 'the response is malformed or incomplete: '),
    (send(b''), 'the response is malformed or incomplete: '),
    (send(HEAD + b'Content-Length: 100\r\n\r\nshort'), 'the response is malformed or incomplete: '),
    (send(HEAD + b'Content-Length: -5\r\n\r\nx'), 'the response is malformed or incomplete: '),
    (send(HEAD + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n'), 'the response is malformed or incomplete: '),
    (send(HEAD + b'Content-Encoding: gzip\r\n\r\nno gzip at all'), 'the response is malformed or incomplete: '),
    (send(HEAD + b'Content-Encoding: ' + b'gzip, ' * 100 + b'gzip\r\n\r\nx'),
     'the response is malformed or incomplete: '),
    (send(b'HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n'),
     'a redirect of hostile.good.example is not followed: it has several Location headers'),
    (send(b'HTTP/1.1 302 Found\r\nLocation: /' + b'a' * 9000 + b'\r\nContent-Length: 0\r\n\r\n'),
     'a redirect of hostile.good.example is not followed: the URL is longer than 8192 bytes'),
    (send(b'HTTP/1.1 302 Found\r\nLocation: /\xff\r\nContent-Length: 0\r\n\r\n'),
     'a redirect of hostile.good.example is not followed: the URL is not UTF-8'),
    (send_endless_headers, 'the response is malformed or incomplete: '),
    (send(HEAD + b'Content-Type: a\x1b[31m/b\r\n\r\n\0'), 'is binary: a\\x1b[31m/b, 1 bytes; only text can be shown'),
], ids=['no-http', 'nothing', 'short', 'negative', 'chunks', 'no-gzip', 'encodings', 'locations', 'long', 'no-utf8',
        'flood',
        'escape'])
def test_hostile_answer_is_an_error(connect, internet, handler, message):
    internet.make_server('hostile.good.example', (80, handler))
    client = connect(domains=['hostile.good.example'])
    text = fetch_error(client, 'http://hostile.good.example/', timeout=10)
    assert message in text and re.fullmatch(r'[ -~]+', text), text
    assert client.lives()


# The fetch process.

@contextlib.contextmanager
def pending_fetch(connect, internet):
    """A client, the id of a WebFetch call that waits for its server, and the pid of the fetch process."""
    internet.make_server('silent-web.good.example', (80, never_answer))
    client = connect(domains=['silent-web.good.example'])
    assert client.say('Bash', command='true') == 'exit: 0'      # starts the process of the tools
    before = set(family(client.transport.process.pid))
    call = client.start('WebFetch', url='http://silent-web.good.example/', timeout=60)
    deadline = time.monotonic() + 10
    while not internet.visits_to('silent-web.good.example') and time.monotonic() < deadline:
        time.sleep(0.01)
    fetch_process, = [pid for pid in set(family(client.transport.process.pid)) - before if name_of(pid) != 'rw-guard']
    yield client, call, fetch_process


def test_cancelled_call_ends_its_fetch_process(connect, internet):
    with pending_fetch(connect, internet) as (client, call, fetch_process):
        client.transport.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", '
                              b'"params": {"requestId": %d}}' % call)
        assert client.lives()
        deadline = time.monotonic() + 5
        while is_alive(fetch_process) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_alive(fetch_process)
        internet.settle()
        visit, = internet.visits_to('silent-web.good.example')
        assert visit.ended == 'closed'


def test_crash_of_the_fetch_process_is_reported(connect, internet):
    with pending_fetch(connect, internet) as (client, call, fetch_process):
        os.kill(fetch_process, signal.SIGSEGV)
        assert text_of(client.await_reply(call)['result']) == (
            'http://silent-web.good.example/ was not fetched: the fetch process was killed by signal 11')
        assert client.say('Bash', command='true') == 'exit: 0'


@pytest.mark.only_root      # only root may read its descriptors
def test_fetch_process_has_no_descriptors_of_the_tools(connect, internet):
    def descriptors(pid):
        return [os.readlink(f'/proc/{pid}/fd/{number}') for number in sorted(map(int, os.listdir(f'/proc/{pid}/fd')))]
    with pending_fetch(connect, internet) as (_, __, fetch_process):
        with open(f'/proc/{fetch_process}/stat', encoding='ascii') as file:
            tools = int(file.read().rpartition(')')[2].split()[1])
        links = descriptors(fetch_process)
        assert links[:3] == ['/dev/null'] * 3 and links[3].startswith('pipe:')
        assert set(links) & set(descriptors(tools)) == {'/dev/null', links[3]}
        assert os.stat(f'/proc/{fetch_process}/ns/net').st_ino == os.stat(f'/proc/{tools}/ns/net').st_ino


def test_ten_calls_run_at_the_same_time(connect, internet):
    all_connected = threading.Barrier(10)

    def wait_for_all(connection, visit):
        visit.received = connection.recv(65536)
        all_connected.wait(10)
        connection.sendall(HEAD + b'Content-Type: text/plain\r\n\r\n' + visit.received.split()[1])
    internet.make_server('many.good.example', (80, wait_for_all))
    client = connect(domains=['many.good.example'])
    calls = {client.start('WebFetch', url=f'http://many.good.example/{number}'): number for number in range(10)}
    for call, number in calls.items():
        reply = next((other for other in client.others if other.get('id') == call), None) or client.await_reply(call)
        assert text_of(reply['result']) == f'/{number}'


# Boxes without libcurl or the right to fork, and live policies.

LIBRARIES = {kind: glob.glob(f'/usr/lib/*/{kind}.so.4*') for kind in ('libcurl', 'libcurl-gnutls')}


def test_box_without_libcurl_gives_a_hint(connect):
    paths = [path for found in LIBRARIES.values() for path in found]
    client = connect(*(f'--deny-read={path}' for path in paths), domains=[GOOD])
    text = fetch_error(client, f'https://{GOOD}/')
    assert text.startswith(f'https://{GOOD}/ was not fetched: libcurl cannot be loaded in the box: ')
    assert text.endswith('; its package is libcurl4 (Debian, Ubuntu)')


@pytest.mark.skipif(not LIBRARIES['libcurl-gnutls'], reason='this machine has no libcurl-gnutls.so.4')
def test_libcurl_with_gnutls_is_used_if_the_other_is_missing(connect):
    client = connect(*(f'--deny-read={path}' for path in LIBRARIES['libcurl']), domains=[GOOD])
    assert text_of(fetch(client, f'https://{GOOD}/')) == f'{GOOD} over https\n'


def test_box_that_may_not_fork_gives_a_hint(connect, workspace):
    policy = workspace.parent / 'policy.yaml'
    policy.write_text(f'tools: {{modules: {{filesystem: {{}}, http: {{}}}}}}\nnetwork: {{allowed_domains: [{GOOD}]}}\n')
    assert fetch_error(connect('-p', policy), f'https://{GOOD}/') == (
        'cannot start the fetch process: Operation not permitted; to allow it, add process.* to '
        'tools.capabilities.grant')


def test_live_policy_changes_the_hosts_of_webfetch(connect, pages, tmp_path):
    policy = tmp_path / 'policy.yaml'

    def allow(hosts):
        new = tmp_path / 'new'
        new.write_text(f'network: {{live: new, allowed_domains: [{hosts}]}}\n')
        os.replace(new, policy)

    def fetch_until(is_error):
        deadline = time.monotonic() + 10
        while (result := client('WebFetch', url=f'http://{PAGES}/plain'))['isError'] != is_error:
            assert time.monotonic() < deadline, text_of(result)
        return text_of(result)
    allow('')
    client = connect('-p', policy)
    assert f'{PAGES} port 80, no rule allows it' in fetch_until(True)
    allow(PAGES)
    assert fetch_until(False) == 'plain words\n'
    allow('10.0.0.1')       # not a valid policy: nothing changes
    time.sleep(0.2)
    assert fetch_until(False) == 'plain words\n'
    allow(GOOD)
    fetch_until(True)
