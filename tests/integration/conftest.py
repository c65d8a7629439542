"""The fixtures and hooks of the integration tests. The suites attack, egress and docs import some of them.

The tests use the build in $RINGWALL_BUILD, or build/ in the clone. They run as the user who started pytest;
tests/run-suites runs them as root and as an ordinary user.
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
sys.path.insert(0, str(REPO / 'tests/helpers'))     # modules that several suites import

from inconclusive import WaitedTooLong  # noqa: E402 - needs the path

MARKERS = {
    'source': 'tests the source tree, not the programs: runs once, not once for each user',
    'only_root': 'runs only as root',
    'only_user': 'runs only as an ordinary user',
    'quick': 'a smoke test: runs in `./test quick` too',
    'long(level=..., user=...)': 'slow: runs only in `./test all`, or so at these levels, or as this user',
    'alone': 'examines the whole machine, or measures it: runs when nothing else does',
    'heavy': 'takes many seconds: starts first',
    'together': 'cases with the same word share what is made once for them',
    'attack': 'each failure but an Inconclusive one means that the attack succeeded',
    'needs_cgroups': 'needs a delegated subtree of cgroup v2 with all controllers, as the VMs of tests/vm have',
}
LONG = bool(os.environ.get('RINGWALL_LONG'))    # set by `./test all`
USER = 'root' if os.geteuid() == 0 else 'user'


def pytest_configure(config):
    # nohup and background jobs of scripts ignore these signals, and every program under test would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, meaning in MARKERS.items():
        config.addinivalue_line('markers', f'{name}: {meaning}')


def level_of(item):
    return item.callspec.params.get('level') if hasattr(item, 'callspec') else None


def is_long(item):
    """Whether only a long run has this case: by its marker `long`."""
    return not LONG and any(marker.kwargs.get('user', USER) == USER and
                            level_of(item) in marker.kwargs.get('level', [level_of(item)])
                            for marker in item.iter_markers('long'))


def pytest_collection_modifyitems(config, items):
    """Deselects the tests that another run covers: as the other user, in a VM, or in a long run. They do not count as
    skipped."""
    markers = ['only_user' if os.geteuid() == 0 else 'only_root']
    if 'RINGWALL_CGROUP' not in os.environ:
        markers.append('needs_cgroups')
    deselected = [item for item in items if any(map(item.get_closest_marker, markers)) or is_long(item)]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if item not in deselected]


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that hangs fails after three minutes, a heavy one after ten."""
    seconds = 600 if request.node.get_closest_marker('heavy') else 180

    def time_out(*_):
        raise WaitedTooLong(f'the test took more than {seconds} seconds')
    previous = signal.signal(signal.SIGALRM, time_out)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@functools.cache
def refused_levels(build):
    """The levels that `ringwall run` refuses on this kernel, as the doctor reports them. test_doctor.py checks that the
    doctor and `ringwall run` agree."""
    result = subprocess.run([build / 'ringwall', 'doctor', '--json'], capture_output=True, text=True, check=False)
    return {name for name, level in json.loads(result.stdout)['levels'].items() if level['verdict'] == 'refused'}


@pytest.fixture(autouse=True)
def level_can_be_held(request, build):
    """Skips a test whose level this kernel cannot enforce. The level is the parameter `level` or the module's LEVEL."""
    params = request.node.callspec.params if hasattr(request.node, 'callspec') else {}
    level = params.get('level') or getattr(request.module, 'LEVEL', None)
    if level in refused_levels(build):
        pytest.skip(f'this kernel cannot enforce the level {level}: ringwall refuses it')


@pytest.fixture(scope='session')
def repo():
    """The root of the clone."""
    return REPO


@pytest.fixture(scope='session')
def build():
    """The build directory."""
    return BUILD


@pytest.fixture(scope='session')
def is_root():
    """Whether the tests run as root."""
    return os.geteuid() == 0


@pytest.fixture(scope='session')
def cgroup():
    """For tests that are marked needs_cgroups: a cgroup that is delegated to the user. It enables every controller for
    its children. The tests run in its child `tests`, so that the cgroups of boxes can be siblings of `tests`."""
    return pathlib.Path(os.environ['RINGWALL_CGROUP'])


@pytest.fixture
def home(tmp_path):
    """A home directory; empty but for the workspace, if the test has one."""
    path = tmp_path / 'home'
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def workspace(home):
    """An empty workspace inside the home."""
    path = home / 'work'
    path.mkdir()
    return path


@pytest.fixture
def ringwall(home, workspace):
    """Runs ringwall: ringwall('policy', 'show', input=…, cwd=…, env={…}) -> CompletedProcess with text.

    It starts in the workspace, with HOME, PATH, LANG and TERM, and inherits no variable from the caller. `env` adds
    variables; a variable that is None there is removed.
    """
    def start(*arguments, input='', cwd=workspace, env=None, timeout=60, check=False):
        variables = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                     **(env or {})}
        return subprocess.run([BUILD / 'ringwall', *arguments], input=input, cwd=cwd, timeout=timeout, check=check,
                              env={name: value for name, value in variables.items() if value is not None},
                              capture_output=True, encoding='utf-8', errors='surrogateescape')
    return start
