"""What the tests of egress share: the fixtures of the integration tests, a small internet, and boxes on its host.

pytest itself moves to the host of that internet with the first test that asks for it, and stays there; README.md.
"""
import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from internet import Internet

HERE = pathlib.Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location('integration_conftest', HERE.parent / 'integration' / 'conftest.py')
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)

pytest_configure = integration.pytest_configure
time_limit = integration.time_limit
level_can_be_held = integration.level_can_be_held
build = integration.build
is_root = integration.is_root
home = integration.home
workspace = integration.workspace



def pytest_collection_modifyitems(config, items):
    integration.pytest_collection_modifyitems(config, items)
    for item in items:
        if item.module.__name__.startswith('test_attacks'):
            item.add_marker('attack')


# By each of these some client is told which authority to trust.
TRUST = ('CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS', 'NPM_CONFIG_CAFILE', 'PIP_CERT',
         'REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE')


@dataclasses.dataclass
class Result:
    """How a command ended, what it said, and how long it took."""
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def said(self):
        return self.stdout + self.stderr


def ask_doctor(build):
    result = subprocess.run([build / 'ringwall', 'doctor', '--json'], capture_output=True, text=True, check=False)
    return json.loads(result.stdout)


@pytest.fixture(scope='session')
def doctor_before(build):
    """What the doctor said before pytest moved."""
    return ask_doctor(build)


@pytest.fixture(scope='session')
def everywhere(doctor_before, tmp_path_factory):
    """The internet, made once."""
    return Internet(tmp_path_factory.mktemp('internet'))


@pytest.fixture
def internet(everywhere):
    """The internet for one test: nothing was seen yet, and the zone is as it was made."""
    with everywhere.for_one_test():
        yield everywhere


@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    """A folder with our own clients, those of them compiled that this machine can compile."""
    folder = tmp_path_factory.mktemp('programs')
    shutil.copytree(HERE / 'programs', folder, dirs_exist_ok=True)
    env = {'PATH': os.environ['PATH'], 'HOME': str(folder), 'GO111MODULE': 'off', 'CGO_ENABLED': '0'}
    for tool, command in (('javac', ['javac', 'Fetch.java']), ('go', ['go', 'build', '-o', 'fetch-go', 'fetch.go'])):
        if shutil.which(tool):
            subprocess.run(command, cwd=folder, env=env, check=True)
    return folder


@pytest.fixture
def outside(internet, home, workspace):
    """Runs a command on the host, without a box: outside('curl', 'http://…', env={…}) -> Result."""
    def start(*command, env=None, input='', timeout=30):
        variables = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                     **{name: str(internet.authority.file) for name in TRUST}, **(env or {})}
        begin = time.monotonic()
        result = subprocess.run(command, cwd=workspace, env=variables, input=input, timeout=timeout, check=False,
                                capture_output=True, encoding='utf-8', errors='surrogateescape')
        return Result(result.returncode, result.stdout, result.stderr, time.monotonic() - begin)
    return start


@pytest.fixture
def boxed(outside, internet, programs, build):
    """Runs a command in a box on the host: boxed('curl', 'http://…', domains=['www.good.example'], level='maximum').

    It can read the test authority's certificate, which TLS clients are told to trust, the key for SSH, and the folder
    `programs`. env adds variables inside, outer to ringwall's own environment; flags are further ones of `ringwall run`;
    input and timeout as for outside().
    """
    def start(*command, domains=(), level='strict', env=None, outer=None, flags=(), **options):
        variables = {**{name: internet.authority.file for name in TRUST}, **(env or {})}
        readable = (internet.authority.file, internet.ssh.client_key, internet.ssh.known_hosts, programs)
        words = [f'--level={level}']
        words += [f'--allow-domain={domain}' for domain in domains]
        words += [f'--ro={path}' for path in readable]
        words += [f'--env={name}={value}' for name, value in variables.items()]
        return outside(build / 'ringwall', 'run', *words, *flags, '--', *command, env=outer, **options)
    return start
