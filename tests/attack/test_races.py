"""Two at once: while boxes start, somebody with the same files exchanges what was granted for a link that leads out."""
import contextlib
import subprocess
import sys

import pytest

from stage import LEVELS

SECRET = 'what nobody granted'
TRIES = 150

# Landlock alone cannot hold something read-only inside what is writable, and refuses every time.
CASES = [(level, flag) for level in LEVELS for flag in ('--ro', '--rw') if (level, flag) != ('standard', '--ro')]

# Exchanges two names for as long as it lives.
SWAP = '''
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
a, b = (name.encode() for name in sys.argv[1:])
print(flush=True)
while libc.renameat2(-100, a, -100, b, 2) == 0:
    pass
sys.exit(1)
'''


@contextlib.contextmanager
def exchanging(first, second):
    with subprocess.Popen([sys.executable, '-c', SWAP, first, second], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield
            assert process.poll() is None, 'nothing was exchanged'
        finally:
            process.kill()


@pytest.fixture
def lure(tmp_path):
    """A directory to grant, and a link in its place by turns."""
    (tmp_path / 'secret').mkdir()
    (tmp_path / 'secret/file').write_text(SECRET)
    (tmp_path / 'shared/granted').mkdir(parents=True)
    (tmp_path / 'shared/granted/file').write_text('granted')
    (tmp_path / 'shared/link').symlink_to(tmp_path / 'secret')
    (tmp_path / 'workspace').mkdir()
    return tmp_path


def test_the_exchange_works_outside(lure):
    with exchanging(lure / 'shared/granted', lure / 'shared/link'):
        seen = {subprocess.run(['cat', lure / 'shared/granted/file'], capture_output=True, text=True, check=False).stdout
                for _ in range(TRIES)}
    assert SECRET in seen


@pytest.mark.parametrize('level, flag', CASES)
def test_a_grant_never_leads_elsewhere(build, lure, level, flag):
    """The box may refuse or see nothing. It never sees the other directory, and never writes into it."""
    granted = lure / 'shared/granted'
    command = [build / 'ringwall', 'run', '-q', '--level', level, flag, granted, '--rw', lure / 'shared', '--', 'sh', '-c',
               f'cat {granted}/file; echo x > {granted}/written']
    with exchanging(granted, lure / 'shared/link'):
        results = [subprocess.run(command, capture_output=True, text=True, cwd=lure / 'workspace', check=False)
                   for _ in range(TRIES)]
    assert not [r.stdout for r in results if SECRET in r.stdout]
    assert sorted(path.name for path in (lure / 'secret').iterdir()) == ['file']
    assert {r.returncode == 125 for r in results} == {True, False}, 'both ends of the race must have been seen'
