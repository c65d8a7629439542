"""Real programs in a box, without proxy settings: each reaches the allowed name, and for any other name quickly reports
its usual error for a name that does not exist.

Each client is one row of a table. Outside a box it must reach both names, so that a broken client is noticed, and must
report the row's error for a name that does not exist. In a box it must report the same error for a name that exists but
is not allowed.
"""
import dataclasses
import glob
import re
import shutil
from collections.abc import Callable

import pytest

from fake_internet import GOOD, OTHER
from site_content import CONTENT

LEVELS = ('strict', 'maximum')
TIMEOUT = 20            # seconds in which a client must succeed or fail, on a busy machine too
MISSING = 'missing.good.example'

SSH = 'ssh -F none -i {key} -o UserKnownHostsFile={known_hosts} -o BatchMode=yes'
REQUEST = r"printf 'GET / HTTP/1.0\r\nHost: {name}\r\n\r\n'"
NPM = ('npm install --registry https://{name}/npm/ --no-audit --no-fund --no-update-notifier --fetch-retries 0 '
       'thing >&2 && node -e "process.stdout.write(require(\'thing\'))"')
PIP = ('PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) /usr/bin/python3 -m pip download --quiet '
       '--disable-pip-version-check --no-deps --retries 1 --no-cache-dir --index-url https://{name}/simple/ thing >&2 '
       '&& PYTHONPATH=thing-1.0.0-py3-none-any.whl /usr/bin/python3 -c "import thing; print(thing.TEXT, end=\'\')"')
URLLIB = ('/usr/bin/python3 -c "import sys, urllib.request; '
          "sys.stdout.write(urllib.request.urlopen('https://{name}/').read().decode())\"")

# dig prints comments, and then the records of the answer.
DIG, COMMENTS = 'dig +tries=1 +noall +comments +answer', r'(;.*\n|\n)*'
# Addresses of a site, and the addresses that stand for a name in a box.
REAL4, REAL6 = r'93\.184\.216\.\d+', r'2606:2800:220::\d+'
FAKE4, FAKE6 = r'198\.1[89]\.\d+\.\d+', r'fd72:696e:6777:616c:[0-9a-f:]+'


@dataclasses.dataclass(frozen=True)
class Client:
    """One row. line: a shell command; the test fills in {name}, {ca}, {key}, {known_hosts} and {programs}.

    output: a regular expression for its whole standard output when it reaches the name; box_output: the same in a box,
    if it differs. error_status and error: its exit status, and a regular expression for its message, if the name does
    not exist. port: the port to allow; without it the default ports are allowed. needs: programs or files that the
    machine must have.
    """
    title: str
    line: str
    output: str
    error_status: int
    error: str
    box_output: str = ''
    port: str = ''
    needs: tuple = ()


HTTP, HTTPS = '{name} over http\n', '{name} over https\n'
NOT_RESOLVED = r'Could not resolve host: {name}'
NOT_KNOWN = 'Name or service not known'

CLIENTS = [
    Client('curl-http', 'curl -sS http://{name}/', HTTP, 6, NOT_RESOLVED),
    Client('curl-https', 'curl -sS --http1.1 https://{name}/', HTTPS, 6, NOT_RESOLVED),
    Client('curl-h2', "curl -sS --http2 -w '%{http_version}' https://{name}/", f'{HTTPS}2', 6, NOT_RESOLVED),
    Client('curl-v4', 'curl -sS -4 https://{name}/', HTTPS, 6, NOT_RESOLVED),
    Client('curl-v6', 'curl -sS -6 https://{name}/', HTTPS, 6, NOT_RESOLVED),
    Client('wget-http', 'wget -nv -O- http://{name}/', HTTP, 4,
           'unable to resolve host address .{name}.'),
    Client('wget-https', 'wget -nv --ca-certificate {ca} -O- https://{name}/', HTTPS, 4,
           'unable to resolve host address .{name}.'),
    Client('git-https', 'git clone -q https://{name}/thing.git && cat thing/thing.txt', CONTENT, 128, NOT_RESOLVED),
    Client('git-ssh', f'GIT_SSH_COMMAND="{SSH}" git clone -q git@{{name}}:thing.git && cat thing/thing.txt', CONTENT,
           128, f'Could not resolve hostname {{name}}: {NOT_KNOWN}', port=':22', needs=('ssh',)),
    Client('npm', NPM, CONTENT, 1, 'getaddrinfo ENOTFOUND {name}', needs=('npm', 'node')),
    Client('pip', PIP, CONTENT, 1, NOT_KNOWN, needs=('/usr/share/python-wheels/pip-*.whl',)),
    Client('node-fetch', 'node {programs}/fetch.mjs https://{name}/', HTTPS, 1, 'fetch failed: ENOTFOUND',
           needs=('node',)),
    Client('python-urllib', URLLIB, HTTPS, 1, NOT_KNOWN),
    Client('python-sockets', '/usr/bin/python3 {programs}/libc_fetch.py {name}', HTTP, 1,
           f'getaddrinfo: -2 {NOT_KNOWN}'),
    Client('java', 'java -cp {programs} Fetch https://{name}/', HTTPS, 1, 'java.net.UnknownHostException: {name}',
           needs=('java', 'javac')),
    Client('go', '{programs}/fetch-go https://{name}/', HTTPS, 1, 'lookup {name} on .*: no such host', needs=('go',)),
    Client('nc', f'{REQUEST} | nc {{name}} 80', rf'HTTP/1\.1 200 OK\n(.+\n)+\n{HTTP}', 1,
           f'nc: getaddrinfo for host "{{name}}" port 80: {NOT_KNOWN}'),
    Client('dig-a', f'{DIG} {{name}}', rf'{COMMENTS}{{name}}\.\t+\d+\tIN\tA\t{REAL4}\n\n', 0, 'status: NXDOMAIN',
           rf'{COMMENTS}{{name}}\.\t+\d+\tIN\tA\t{FAKE4}\n\n'),
    Client('dig-aaaa-tcp', f'{DIG} +tcp {{name}} AAAA', rf'{COMMENTS}{{name}}\.\t+\d+\tIN\tAAAA\t{REAL6}\n\n', 0,
           'status: NXDOMAIN', rf'{COMMENTS}{{name}}\.\t+\d+\tIN\tAAAA\t{FAKE6}\n\n'),
    Client('getent', 'getent ahostsv4 {name}', rf'({REAL4} +[A-Z]+ .*\n){{3}}', 2, '', rf'({FAKE4} +[A-Z]+ .*\n){{3}}'),
    Client('busybox-wget', 'busybox wget -q -O- http://{name}/', HTTP, 1, "bad address '{name}'"),
    Client('busybox-nslookup', 'busybox nslookup {name}', rf'(.*\n)*Address: {REAL4}\n(.*\n)*', 1,
           "can't find {name}: NXDOMAIN", rf'(.*\n)*Address: {FAKE4}\n(.*\n)*'),
]
each_client = pytest.mark.parametrize('client', CLIENTS, ids=lambda client: client.title)
each_level = pytest.mark.parametrize('level', LEVELS)


@pytest.fixture(autouse=True)
def skip_missing_programs(client):
    for need in client.needs:
        if not (glob.glob(need) if '/' in need else shutil.which(need, path='/usr/local/bin:/usr/bin:/bin')):
            pytest.skip(f'this machine has no {need}')


@dataclasses.dataclass
class Trial:
    """Runs one client and checks its result."""
    client: Client
    paths: dict
    outside: Callable
    boxed: Callable

    def fill_in(self, text, name):
        for key, value in {**self.paths, 'name': name}.items():
            text = text.replace(f'{{{key}}}', str(value))
        return text

    def run(self, name, level=None):
        """Runs the client outside, or, with a level, in a box that may reach GOOD."""
        command = 'sh', '-c', self.fill_in(self.client.line, name)
        if not level:
            return self.outside(*command)
        return self.boxed(*command, domains=[f'{GOOD}{self.client.port}'], level=level)

    def check_reached(self, result, name, output):
        expected = self.fill_in(output, name)
        assert result.returncode == 0, result.output
        assert re.fullmatch(expected, result.stdout), f'expected {expected!r}: {result.output}'
        assert result.seconds < TIMEOUT

    def check_refused(self, result, name):
        expected = self.fill_in(self.client.error, name)
        assert result.returncode == self.client.error_status, result.output
        assert re.search(expected, result.output), f'expected {expected!r}: {result.output}'
        assert f'{name} over' not in result.output and CONTENT not in result.output
        assert result.seconds < TIMEOUT


@pytest.fixture
def trial(internet, programs, outside, boxed, client):
    paths = {'ca': internet.authority.ca_file, 'key': internet.ssh.client_key, 'known_hosts': internet.ssh.known_hosts,
             'programs': programs}
    return Trial(client, paths, outside, boxed)


@each_client
def test_client_works_outside(trial, client, workspace):
    for name in (GOOD, OTHER):
        trial.check_reached(trial.run(name), name, client.output)
        shutil.rmtree(workspace / 'thing', ignore_errors=True)
    trial.check_refused(trial.run(MISSING), MISSING)


@each_client
@each_level
def test_allowed_name_is_reached(trial, internet, client, level):
    trial.check_reached(trial.run(GOOD, level), GOOD, client.box_output or client.output)
    visits = [visit for visit in internet.visits if visit.server != 'resolver']
    assert all(visit.server == GOOD for visit in visits), visits
    assert {visit.sni for visit in visits if visit.port == 443} <= {GOOD}
    assert {request.host for visit in visits for request in visit.requests} <= {GOOD}
    assert bool(visits) != bool(client.box_output)      # only clients that just resolve a name have a box_output


@each_client
@each_level
def test_name_that_is_not_allowed_does_not_exist_in_the_box(trial, internet, level):
    result = trial.run(OTHER, level)
    trial.check_refused(result, OTHER)
    assert f'to allow it: --allow-domain {OTHER}\n' in result.stderr       # ringwall's hint for the user
    internet.settle()
    assert internet.names.queries_for('other.example') == []      # not even the query left the box
    assert internet.visits == []
