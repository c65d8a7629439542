"""A race for a grant: while boxes start, another process exchanges the granted directory for a link that leads out."""
import contextlib
import os
import subprocess
import sys

import pytest

from attack_host import LEVELS

SECRET = 'a secret that was not granted'
TRIES = 25 if os.environ.get('RINGWALL_VM') and not os.environ.get('RINGWALL_LONG') else 150     # a VM is slow

CASES = [(level, flag) for level in LEVELS for flag in ('--ro', '--rw')]

# Exchanges two files until it is killed: many times in a row and then a pause, so that some boxes start between two
# exchanges.
EXCHANGE = '''
import ctypes, random, sys, time
libc = ctypes.CDLL(None, use_errno=True)
a, b = (name.encode() for name in sys.argv[1:])
print(flush=True)
while True:
    for _ in range(random.randrange(1, 2000)):
        if libc.renameat2(-100, a, -100, b, 2) != 0:
            sys.exit(1)
    time.sleep(random.random() / 50)
'''


@contextlib.contextmanager
def exchanging(first, second):
    """Exchanges two files again and again until the end of the block."""
    with subprocess.Popen([sys.executable, '-c', EXCHANGE, first, second], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield
            assert process.poll() is None, 'the exchange failed'
        finally:
            process.kill()


@pytest.fixture
def folders(tmp_path):
    """A directory to grant, a link for the exchange, and a secret directory that the link leads to."""
    (tmp_path / 'secret').mkdir()
    (tmp_path / 'secret/file').write_text(SECRET)
    (tmp_path / 'shared/granted').mkdir(parents=True)
    (tmp_path / 'shared/granted/file').write_text('granted')
    (tmp_path / 'shared/link').symlink_to(tmp_path / 'secret')
    (tmp_path / 'workspace').mkdir()
    return tmp_path


def test_outside_of_a_box_the_exchange_gives_access_to_the_secret(folders):
    with exchanging(folders / 'shared/granted', folders / 'shared/link'):
        contents = {subprocess.run(['cat', folders / 'shared/granted/file'], capture_output=True, text=True,
                               check=False).stdout
                for _ in range(TRIES)}
    assert SECRET in contents


@pytest.mark.parametrize('level, flag', CASES)
def test_exchanged_grant_never_gives_access_to_another_directory(build, folders, level, flag):
    """Some runs have to be refused and some not; in none may the box read the secret directory or write to it."""
    granted = folders / 'shared/granted'
    command = [build / 'ringwall', 'run', '-q', '--level', level, flag, granted, '--rw', folders / 'shared', '--', 'sh',
               '-c',
               f'cat {granted}/file; echo x > {granted}/written']
    with exchanging(granted, folders / 'shared/link'):
        results = [subprocess.run(command, capture_output=True, text=True, cwd=folders / 'workspace', check=False)
                   for _ in range(TRIES)]
    assert not [r.stdout for r in results if SECRET in r.stdout]
    assert sorted(path.name for path in (folders / 'secret').iterdir()) == ['file']
    assert {r.returncode == 125 for r in results} == {True, False}, 'the race must have been won and lost'
