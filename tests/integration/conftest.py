"""What the integration tests share: the program under test, a workspace, and who runs them.

The tests run on the build in $RINGWALL_BUILD, or build/ in the clone, with the rights of whoever started them;
tests/run-suites starts them as root and as an ordinary user.
"""
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('RINGWALL_BUILD') or REPO / 'build').resolve()
sys.path.insert(0, str(REPO / 'tests/helpers'))     # what several suites import

from inconclusive import WaitedTooLong  # noqa: E402 - needs the path

MARKERS = {
    'source': 'about the source tree, not the programs: runs once, not for each user',
    'only_root': 'makes sense only as root',
    'only_user': 'makes sense only as an ordinary user',
    'quick': 'a smoke test, in ./test quick too',
    'long': 'only in ./test all',
    'alone': 'looks at the whole machine, or measures it: runs when nothing else does',
    'heavy': 'takes many seconds: begins first',
    'together': 'cases with the same word share what is made for them once',
    'attack': 'every failure but an Inconclusive one means that the attack succeeded',
    'needs_cgroups': 'needs a delegated part of a full cgroup v2 tree, which the VMs of tests/vm have',
}


def pytest_configure(config):
    for name, meaning in MARKERS.items():
        config.addinivalue_line('markers', f'{name}: {meaning}')


def pytest_collection_modifyitems(config, items):
    """Leaves out what the other run covers. It is not skipped: it has nothing to say here."""
    others = ['only_user' if os.geteuid() == 0 else 'only_root']
    if 'RINGWALL_CGROUP' not in os.environ:
        others.append('needs_cgroups')
    left_out = [item for item in items if any(map(item.get_closest_marker, others))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that hangs fails after three minutes, a heavy one after ten."""
    seconds = 600 if request.node.get_closest_marker('heavy') else 180

    def stop(*_):
        raise WaitedTooLong(f'the test took more than {seconds} seconds')
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@functools.cache
def refused_levels(build):
    """The levels that `ringwall run` refuses on this kernel, by the doctor's word; test_doctor.py compares the two."""
    result = subprocess.run([build / 'ringwall', 'doctor', '--json'], capture_output=True, text=True, check=False)
    return {name for name, level in json.loads(result.stdout)['levels'].items() if level['verdict'] == 'refused'}


@pytest.fixture(autouse=True)
def level_can_be_held(request, build):
    """What is said of a level is asked only where this kernel can hold it."""
    params = request.node.callspec.params if hasattr(request.node, 'callspec') else {}
    level = params.get('level') or getattr(request.module, 'LEVEL', None)
    if level in refused_levels(build):
        pytest.skip(f'this kernel cannot hold the level {level}: ringwall refuses it')


@pytest.fixture(scope='session')
def repo():
    """The clone."""
    return REPO


@pytest.fixture(scope='session')
def build():
    """The build directory."""
    return BUILD


@pytest.fixture(scope='session')
def is_root():
    """Do the tests run as root?"""
    return os.geteuid() == 0


@pytest.fixture(scope='session')
def cgroup():
    """For tests that are marked needs_cgroups: the group that belongs to the user. It has every controller and passes
    them on; the tests run in its child `tests`, so boxes can be beside that."""
    return pathlib.Path(os.environ['RINGWALL_CGROUP'])


@pytest.fixture
def home(tmp_path):
    """An empty home."""
    path = tmp_path / 'home'
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def workspace(home):
    """An empty directory to work in, inside the home, as people have them."""
    path = home / 'work'
    path.mkdir()
    return path


@pytest.fixture
def ringwall(home, workspace):
    """Runs ringwall: ringwall('policy', 'show', input=…, cwd=…, env={…}) -> CompletedProcess with text.

    It starts in the workspace, with HOME, a plain PATH and locale, and nothing else of the caller's environment. A
    variable in env is added, or taken away by None.
    """
    def start(*arguments, input='', cwd=workspace, env=None, timeout=60, check=False):
        variables = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                     **(env or {})}
        return subprocess.run([BUILD / 'ringwall', *arguments], input=input, cwd=cwd, timeout=timeout, check=check,
                              env={name: value for name, value in variables.items() if value is not None},
                              capture_output=True, encoding='utf-8', errors='surrogateescape')
    return start
