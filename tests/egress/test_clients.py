"""Real programs in a box, without any setting for a proxy: each reaches the name that is allowed, and learns in time
and in words of its own that there is no other.

Each client is one row. Outside it reaches both names, so that a broken one proves nothing, and says what the row has of
a name that does not exist; inside it has to say that of a name that does exist and is not allowed.
"""
import dataclasses
import glob
import re
import shutil
from collections.abc import Callable

import pytest

from internet import GOOD, OTHER
from offers import CONTENT

LEVELS = ('strict', 'maximum')
PATIENCE = 20           # seconds for any answer, on a busy machine too; a client that hangs does so for longer
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

# Remarks, and then the records of the answer.
DIG, REMARKS = 'dig +tries=1 +noall +comments +answer', r'(;.*\n|\n)*'
# An address of a site, and one out of those that a name has inside a box.
REAL4, REAL6 = r'93\.184\.216\.\d+', r'2606:2800:220::\d+'
FAKE4, FAKE6 = r'198\.1[89]\.\d+\.\d+', r'fd72:696e:6777:616c:[0-9a-f:]+'


@dataclasses.dataclass(frozen=True)
class Client:
    """One row. line is for the shell; {name}, {ca}, {key}, {known_hosts} and {programs} stand for what the test has.

    says: a regular expression for all of its output when it reaches the name; inside: the same in a box, if it differs.
    status and refusal: its exit status and words for a name that is not there.
    port: that the domain is allowed with; none means those that any host has. needs: programs, or files.
    """
    title: str
    line: str
    says: str
    status: int
    refusal: str
    inside: str = ''
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
    Client('python-sockets', '/usr/bin/python3 {programs}/sockets.py {name}', HTTP, 1,
           f'getaddrinfo: -2 {NOT_KNOWN}'),
    Client('java', 'java -cp {programs} Fetch https://{name}/', HTTPS, 1, 'java.net.UnknownHostException: {name}',
           needs=('java', 'javac')),
    Client('go', '{programs}/fetch-go https://{name}/', HTTPS, 1, 'lookup {name} on .*: no such host', needs=('go',)),
    Client('nc', f'{REQUEST} | nc {{name}} 80', rf'HTTP/1\.1 200 OK\n(.+\n)+\n{HTTP}', 1,
           f'nc: getaddrinfo for host "{{name}}" port 80: {NOT_KNOWN}'),
    Client('dig-a', f'{DIG} {{name}}', rf'{REMARKS}{{name}}\.\t+\d+\tIN\tA\t{REAL4}\n\n', 0, 'status: NXDOMAIN',
           rf'{REMARKS}{{name}}\.\t+\d+\tIN\tA\t{FAKE4}\n\n'),
    Client('dig-aaaa-tcp', f'{DIG} +tcp {{name}} AAAA', rf'{REMARKS}{{name}}\.\t+\d+\tIN\tAAAA\t{REAL6}\n\n', 0,
           'status: NXDOMAIN', rf'{REMARKS}{{name}}\.\t+\d+\tIN\tAAAA\t{FAKE6}\n\n'),
    Client('getent', 'getent ahostsv4 {name}', rf'({REAL4} +[A-Z]+ .*\n){{3}}', 2, '', rf'({FAKE4} +[A-Z]+ .*\n){{3}}'),
    Client('busybox-wget', 'busybox wget -q -O- http://{name}/', HTTP, 1, "bad address '{name}'"),
    Client('busybox-nslookup', 'busybox nslookup {name}', rf'(.*\n)*Address: {REAL4}\n(.*\n)*', 1,
           "can't find {name}: NXDOMAIN", rf'(.*\n)*Address: {FAKE4}\n(.*\n)*'),
]
each_client = pytest.mark.parametrize('client', CLIENTS, ids=lambda client: client.title)
each_level = pytest.mark.parametrize('level', LEVELS)


@pytest.fixture(autouse=True)
def machine_has_it(client):
    for need in client.needs:
        if not (glob.glob(need) if '/' in need else shutil.which(need, path='/usr/local/bin:/usr/bin:/bin')):
            pytest.skip(f'this machine has no {need}')


@dataclasses.dataclass
class Trial:
    """A client in the hand of a test."""
    client: Client
    places: dict
    outside: Callable
    boxed: Callable

    def fill(self, text, name):
        for key, value in {**self.places, 'name': name}.items():
            text = text.replace(f'{{{key}}}', str(value))
        return text

    def run(self, name, level=None):
        """Outside, or at a level in a box that may reach GOOD."""
        command = 'sh', '-c', self.fill(self.client.line, name)
        if not level:
            return self.outside(*command)
        return self.boxed(*command, domains=[f'{GOOD}{self.client.port}'], level=level)

    def check_reached(self, result, name, says):
        expected = self.fill(says, name)
        assert result.returncode == 0, result.said
        assert re.fullmatch(expected, result.stdout), f'expected {expected!r}: {result.said}'
        assert result.seconds < PATIENCE

    def check_refused(self, result, name):
        expected = self.fill(self.client.refusal, name)
        assert result.returncode == self.client.status, result.said
        assert re.search(expected, result.said), f'expected {expected!r}: {result.said}'
        assert f'{name} over' not in result.said and CONTENT not in result.said
        assert result.seconds < PATIENCE


@pytest.fixture
def trial(internet, programs, outside, boxed, client):
    places = {'ca': internet.authority.file, 'key': internet.ssh.client_key, 'known_hosts': internet.ssh.known_hosts,
              'programs': programs}
    return Trial(client, places, outside, boxed)


@each_client
def test_client_works_outside(trial, client, workspace):
    for name in (GOOD, OTHER):
        trial.check_reached(trial.run(name), name, client.says)
        shutil.rmtree(workspace / 'thing', ignore_errors=True)
    trial.check_refused(trial.run(MISSING), MISSING)


@each_client
@each_level
def test_allowed_name_is_reached(trial, internet, client, level):
    trial.check_reached(trial.run(GOOD, level), GOOD, client.inside or client.says)
    seen = [visit for visit in internet.visits if visit.server != 'resolver']
    assert all(visit.server == GOOD for visit in seen), seen
    assert {visit.sni for visit in seen if visit.port == 443} <= {GOOD}
    assert {request.host for visit in seen for request in visit.requests} <= {GOOD}
    assert bool(seen) != bool(client.inside)        # a client that only resolves has no reason to reach it


@each_client
@each_level
def test_another_name_does_not_exist(trial, internet, level):
    result = trial.run(OTHER, level)
    trial.check_refused(result, OTHER)
    assert f'to allow it: --allow-domain {OTHER}\n' in result.stderr       # for the person
    internet.settle()
    assert internet.names.asked('other.example') == []      # not even the question left
    assert internet.visits == []
