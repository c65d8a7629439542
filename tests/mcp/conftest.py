"""The fixtures of these tests: the npm packages of the lock file, a Node that is new enough for all of them, and
servers."""
import fcntl
import os
import pathlib
import platform
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = 'package.json', 'package-lock.json', '.npmrc', 'sdk_session.mjs', 'sdk_v2_transport.mjs'
BUILD = pathlib.Path(os.environ.get('RINGWALL_BUILD') or HERE.parents[1] / 'build').resolve()


@pytest.fixture(scope='session')
def build():
    """The build directory."""
    return BUILD


@pytest.fixture(scope='session')
def scripts():
    """A folder with the scripts of this folder and the installed packages of its lock file."""
    if not shutil.which('npm') or int(subprocess.run(['node', '-p', 'process.versions.node.split(".")[0]'],
                                                     capture_output=True,
                                                     text=True, check=True).stdout) < 20:
        pytest.skip('needs Node 20 or newer, with npm')
    folder = BUILD / 'mcp-clients'
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
            assert result.returncode == 0, result.stderr
            done.write_bytes(wanted)
    return folder


@pytest.fixture(scope='session')
def node(scripts):
    """Node 22, which some of the packages need."""
    path = scripts / f'node_modules/node-linux-{dict(x86_64="x64", aarch64="arm64").get(platform.machine())}/bin/node'
    if not path.exists():
        pytest.skip(f'there is no Node 22 for {platform.machine()} among the packages')
    return path


@pytest.fixture(scope='session')
def token():
    """The token that clients over HTTP must send."""
    return 'an-ordinary-token-for-tests'


@pytest.fixture
def serve(token, tmp_path):
    """Starts `ringwall mcp` on HTTP: serve('--level', 'strict') -> its URL and its process. Its workspace is
    tmp_path / 'work'."""
    work, token_file = tmp_path / 'work', tmp_path / 'token'
    work.mkdir(exist_ok=True)
    token_file.write_text(token)
    token_file.chmod(0o600)
    processes = []

    def start(*arguments):
        process = subprocess.Popen([BUILD / 'ringwall', 'mcp', '--http', '127.0.0.1:0', '--token-file', token_file,
                                    '--workspace', work, *arguments],
                                   cwd=work, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        processes.append(process)
        line = process.stderr.readline()
        assert line.startswith('ringwall mcp: listening on '), line
        return line.split()[-1], process
    yield start
    for process in processes:
        process.terminate()
        assert process.wait(timeout=20) == 128 + 15, process.stderr.read()
        process.stderr.close()
