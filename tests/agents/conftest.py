"""The fixtures of these tests: the npm packages of the lock file, and a run of an agent. Marks, homes and time limits
are those of the integration tests."""
import fcntl
import importlib.util
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = 'package.json', 'package-lock.json', '.npmrc'
UNREACHABLE = re.compile(r'npm error code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)')
sys.path.insert(0, str(HERE))
_spec = importlib.util.spec_from_file_location('integration_conftest', HERE.parent / 'integration' / 'conftest.py')
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)

from agents import AGENTS  # noqa: E402 - needs the path
from model_server import ModelServer  # noqa: E402

pytest_configure = integration.pytest_configure
pytest_collection_modifyitems = integration.pytest_collection_modifyitems
time_limit = integration.time_limit
build = integration.build
home = integration.home
workspace = integration.workspace


@pytest.fixture(scope='session')
def programs(build):
    """The folder node_modules with the packages of the lock file."""
    if not shutil.which('npm'):
        pytest.skip('needs npm')
    folder = build / 'agent-programs'
    folder.mkdir(exist_ok=True)
    wanted = b''.join((HERE / name).read_bytes() for name in INSTALLED)
    done = folder / 'installed'
    with open(folder / 'lock', 'w', encoding='ascii') as lock:      # several pytest may want it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_bytes() != wanted:
            done.unlink(missing_ok=True)
            for name in INSTALLED:
                shutil.copy(HERE / name, folder)
            result = subprocess.run(['npm', 'ci', '--no-progress'], cwd=folder, capture_output=True, text=True,
                                    check=False)
            if UNREACHABLE.search(result.stderr):
                pytest.skip('npm cannot reach its registry')
            assert result.returncode == 0, result.stderr
            done.write_bytes(wanted)
    return folder / 'node_modules'


@pytest.fixture(scope='session')
def start_agent(programs):
    """Runs an agent with an MCP server and a script: start_agent('claude', home, work, server, [(TOOL, ARGUMENTS), …])
    -> what the model was shown for each call."""
    node = programs / f'node-linux-{dict(x86_64="x64", aarch64="arm64").get(platform.machine())}/bin/node'
    if not node.exists():
        pytest.skip(f'there are no packages for {platform.machine()}')

    def start(name, home, work, server, script):
        agent = AGENTS[name](programs, node)
        with ModelServer([agent.call(tool, arguments) for tool, arguments in script]) as model:
            output = agent.run(home, work, model.address, server)
            requests = '\n'.join(f'{method} {path}' for method, path, _ in model.requests)
            assert len(model.shown) == len(script), f'{name} made {len(model.shown)} calls\n{output}\n{requests}'
            return [model.shown[number] for number in range(len(script))]
    return start
