"""The fixtures of the egress tests: some of the integration tests' fixtures, the test internet, and boxes on its host.

The first test that uses the internet moves pytest itself into the host's namespaces for good; see README.md.
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

from fake_internet import Internet

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


# The variables by which clients are told which CA to trust.
CA_VARIABLES = ('CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS', 'NPM_CONFIG_CAFILE', 'PIP_CERT',
                'REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE')


@dataclasses.dataclass
class Result:
    """The exit status of a command, its output, and how long it ran."""
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def output(self):
        return self.stdout + self.stderr


def ask_doctor(build):
    result = subprocess.run([build / 'ringwall', 'doctor', '--json'], capture_output=True, text=True, check=False)
    return json.loads(result.stdout)


@pytest.fixture(scope='session')
def doctor_before(build):
    """The doctor's report from before pytest moved into the namespaces."""
    return ask_doctor(build)


@pytest.fixture(scope='session')
def everywhere(doctor_before, tmp_path_factory):
    """The internet, which is made once for all tests."""
    return Internet(tmp_path_factory.mktemp('internet'))


@pytest.fixture
def internet(everywhere):
    """The internet for one test: no visits or queries yet, and the original zone."""
    with everywhere.for_one_test():
        yield everywhere


@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    """A folder with the clients of programs/, compiled where this machine has the compiler."""
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
    def run(*command, env=None, input='', timeout=30):
        variables = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                     **{name: str(internet.authority.ca_file) for name in CA_VARIABLES}, **(env or {})}
        start_time = time.monotonic()
        result = subprocess.run(command, cwd=workspace, env=variables, input=input, timeout=timeout, check=False,
                                capture_output=True, encoding='utf-8', errors='surrogateescape')
        return Result(result.returncode, result.stdout, result.stderr, time.monotonic() - start_time)
    return run


@pytest.fixture
def boxed(outside, internet, programs, build):
    """Runs a command in a box on the host: boxed('curl', 'http://…', domains=['www.good.example'], level='maximum').

    The box can read the CA certificate, which TLS clients are told to trust, the SSH key, and the folder `programs`.
    env adds variables in the box, outer_env adds variables for ringwall itself; flags are more flags of `ringwall run`;
    input and timeout as for outside().
    """
    def run(*command, domains=(), level='strict', env=None, outer_env=None, flags=(), **options):
        variables = {**{name: internet.authority.ca_file for name in CA_VARIABLES}, **(env or {})}
        readable = (internet.authority.ca_file, internet.ssh.client_key, internet.ssh.known_hosts, programs)
        words = [f'--level={level}']
        words += [f'--allow-domain={domain}' for domain in domains]
        words += [f'--ro={path}' for path in readable]
        words += [f'--env={name}={value}' for name, value in variables.items()]
        return outside(build / 'ringwall', 'run', *words, *flags, '--', *command, env=outer_env, **options)
    return run
