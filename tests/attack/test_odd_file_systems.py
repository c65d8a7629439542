"""A workspace on an unusual file system: it ignores the case of names, or takes long to answer. odd_fs.c implements it
with FUSE; to mount it needs root."""
import contextlib
import os
import subprocess
import time

import pytest

from attack_host import LEVELS

pytestmark = [pytest.mark.only_root, pytest.mark.skipif(not os.path.exists('/dev/fuse'),
                                                        reason='this kernel has no FUSE')]
STALL_MS = 1500

# One thread opens a file whose lookup takes long; meanwhile another thread writes a denied name into the path.
CHANGE_PATH = '''
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b'slow', 64)
def change():
    time.sleep(0.3)
    path.value = b'locked'
thread = threading.Thread(target=change)
thread.start()
fd = libc.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
thread.join()
assert fd >= 0 and path.value == b'locked'
os.write(fd, b'written')
print('opened')
'''


@pytest.fixture
def mount_odd_fs(build, tmp_path):
    """Mounts an odd file system: mount_odd_fs('fold') -> its directory. It is unmounted after the test."""
    directory = tmp_path / 'odd'
    directory.mkdir()
    with contextlib.ExitStack() as stack:
        def mount(*options):
            process = stack.enter_context(subprocess.Popen([build / 'tests/attack/odd_fs', directory, *options],
                                                           stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout.readline() == b'mounted\n'
            stack.callback(subprocess.run, ['umount', '-l', directory], check=True)
            return directory
        yield mount


def run(build, directory, *command, level='strict', flags=()):
    return subprocess.run([build / 'ringwall', 'run', '--level', level, *flags, '--', *command], cwd=directory,
                          capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('names', [[], ['Name'], ['1', '2', 'b']])
def test_workspace_that_ignores_case_is_refused(build, mount_odd_fs, level, names):
    """The file system itself decides which names are the same, so rules by name cannot be enforced. An empty directory
    is not recognised."""
    directory = mount_odd_fs('fold')
    (directory / 'X').touch()
    assert (directory / 'x').exists(), 'the file system does not ignore case'
    (directory / 'X').unlink()
    for name in names:
        (directory / name).touch()
    result = run(build, directory, 'sh', '-c', 'echo x > .ENVRC', level=level)
    if not names:
        assert result.returncode == 0, result.stderr
        return
    assert result.returncode == 125
    assert f'{directory} is on a case-insensitive file system' in result.stderr
    assert '--best-effort' in result.stderr and not (directory / '.envrc').exists()
    result = run(build, directory, 'true', level=level, flags=['--best-effort'])
    assert result.returncode == 0 and 'case-insensitive file system' in result.stderr, result.stderr


def test_hard_link_whose_name_differs_in_case_is_not_taken_for_case_folding(build, tmp_path):
    (tmp_path / 'Makefile').write_text('')
    (tmp_path / 'mAKEFILE').hardlink_to(tmp_path / 'Makefile')
    result = run(build, tmp_path, 'true')
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_path_that_changes_during_a_slow_lookup_is_not_read_again(build, mount_odd_fs, level):
    directory = mount_odd_fs('stall', str(STALL_MS))
    result = run(build, directory, '/usr/bin/python3', '-c', CHANGE_PATH, level=level, flags=['--deny-write', 'locked'])
    assert result.stdout == 'opened\n', result.stderr
    assert sorted(os.listdir(directory)) == ['slow'] and (directory / 'slow').read_text() == 'written'


@pytest.mark.parametrize('level', LEVELS)
def test_guard_serves_other_calls_during_a_slow_lookup(build, mount_odd_fs, level):
    directory = mount_odd_fs('stall', str(STALL_MS))
    script = ('(echo x > slow; echo > "$TMPDIR/done") & sleep 0.2; i=0; while [ $i -lt 50 ]; do echo > '
              '"$TMPDIR/file$i"; i=$((i+1)); done; '
              '[ -e "$TMPDIR/done" ] && echo late || echo "in time"; wait; cat slow')
    result = run(build, directory, 'sh', '-c', script, level=level)
    assert result.stdout == 'in time\nx\n', result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_box_that_waits_for_a_file_system_ends_when_that_dies(build, mount_odd_fs, level):
    """Until then the box cannot end: a process that waits for an answer of FUSE cannot be killed."""
    directory = mount_odd_fs('stall', '100000')
    command = [build / 'ringwall', 'run', '--level', level, '--', 'sh', '-c', 'echo begins; echo x > slow']
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == 'begins\n'
        time.sleep(0.3)
        process.terminate()
        subprocess.run(['pkill', '-f', f'odd_fs {directory} '], check=True)
        process.communicate(timeout=30)
        assert process.returncode == 128 + 15
