"""Attempts to bypass the guard: raw unix sockets, automatic addresses of sockets, second mounts, a second procfs, core
files, setuid bits, ioctls and leases. Most of them first have to succeed outside."""
import ast
import os
import socket
import subprocess

import pytest

from name_attack import LEVELS, box

PYTHON = '/usr/bin/python3'


def run(stage, level, script, *arguments, rules=None, flags=(), around=()):
    """Runs a Python script, in a box unless the level is None."""
    prefix = [] if level is None else box(stage, level, rules or {}, *flags)
    return stage.run([*around, *prefix, PYTHON, '-c', script, *map(stage.fill, arguments)])


SEND = '''
import socket, sys
for kind in socket.SOCK_DGRAM, socket.SOCK_RAW:
    for make in lambda: socket.socket(socket.AF_UNIX, kind), lambda: socket.socketpair(socket.AF_UNIX, kind)[0]:
        try: make().sendto(b"harm", sys.argv[1])
        except OSError as e: print(e)
'''


@pytest.mark.parametrize('level', LEVELS)
def test_no_datagram_reaches_a_socket_of_the_host(stages, level):
    """The kernel treats SOCK_RAW of a unix socket like SOCK_DGRAM."""
    for place in (None, level):
        stage = stages(f'at-{place}')
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            os.chdir(stage.given)
            server.bind('host')
            server.settimeout(0.2)
            result = run(stage, place, SEND, '{given}/host', flags=('--ro', '{given}'))
            received = 0
            try:
                while server.recv(100):
                    received += 1
            except TimeoutError:
                pass
        assert received == (4 if place is None else 0), result.stdout + result.stderr
    os.chdir('/')


AUTOBIND = '''
import socket, sys, threading
dead = socket.socket(socket.AF_UNIX); dead.bind("dead")
s = socket.socket(socket.AF_UNIX); s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
on = True
def again():
    while on: s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
t = threading.Thread(target=again); t.start()
for _ in range(int(sys.argv[1])):
    try: s.connect("dead")
    except OSError: pass
on = False; t.join()
try: s.listen()
except OSError as e: print(e)
print(repr(s.getsockname()), flush=True)
sys.stdin.read()
'''


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('rounds', [1, 300])
def test_automatic_address_of_a_socket_in_a_box_is_not_reachable_from_outside(stages, level, rounds):
    """With SO_PASSCRED a connect() that fails leaves the socket with an abstract address."""
    for place in (None, level):
        stage = stages(f'at-{place}')
        prefix = [] if place is None else box(stage, place, {})
        with subprocess.Popen([*prefix, PYTHON, '-c', AUTOBIND, str(rounds)], cwd=stage.work, env=stage.environment(),
                              text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            line = process.stdout.readline()
            while line.startswith('['):     # an error of listen()
                line = process.stdout.readline()
            name = ast.literal_eval(line)
            reached = False
            with socket.socket(socket.AF_UNIX) as client:
                if isinstance(name, bytes) and name:
                    try:
                        client.connect(name)
                        reached = True
                    except OSError:
                        pass
            process.stdin.close()
        assert reached == (place is None), (place, name)


@pytest.mark.only_root
def test_second_mount_of_the_workspace_does_not_bypass_its_rules(stages):
    """At standard Landlock grants a directory by every path to it; the rules name only one of the paths."""
    for level in (None, 'standard'):
        stage = stages(f'at-{level}')
        (stage.home / 'again').mkdir()
        around = ['unshare', '-m', 'sh', '-c', f'mount --make-rprivate / && mount --bind {stage.work} '
                                               f'{stage.home}/again && exec "$@"', 'sh']
        script = ('import sys; top = sys.argv[1]\nopen(top + "/locked.txt", "w").write("evil")\n'
                  'print(open(top + "/vault/secret.txt").read())')
        result = run(stage, level, script, '{home}/again', rules={'deny_write': ['locked.txt'], 'deny_read': ['vault']},
                     around=around)
        assert (stage.locked.read_text() == 'evil') == (level is None), result.stderr
        reading = script.replace('open(top + "/locked.txt", "w").write("evil")', '')
        result = run(stage, level, reading, '{home}/again',
                     rules={'deny_write': ['locked.txt'], 'deny_read': ['vault']}, around=around)
        assert (stage.secret in result.stdout) == (level is None), result.stderr


@pytest.mark.only_root
@pytest.mark.parametrize('level', LEVELS)
def test_second_procfs_does_not_give_access_to_the_memory_of_the_guard(stages, level):
    """The guard opens files for the caller, so "self" in another procfs would be the guard."""
    stage = stages('in')
    (stage.work / 'p').mkdir()
    around = ['unshare', '-m', 'sh', '-c', f'mount --make-rprivate / && mount -t proc proc {stage.work}/p && exec "$@"',
              'sh']
    script = '''
import os
for process in "self", "thread-self", *filter(str.isdigit, os.listdir("p")):
    try:
        with open(f"p/{process}/mem", "r+b"): print("opened", process, open(f"p/{process}/comm").read())
    except OSError: pass
'''
    assert 'opened self' in run(stage, None, script, around=around).stdout
    result = run(stage, level, script, rules={'deny_read': ['vault']}, around=around)
    assert result.stdout == '', result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_box_cannot_allow_core_files(stages, level):
    """The kernel writes a core file to the working directory without regard to rules by name."""
    stage = stages('in')
    script = 'ulimit -Hc; ulimit -c unlimited 2>/dev/null || ulimit -c 100 2>/dev/null || echo refused'
    assert stage.run([*box(stage, level, {}), 'sh', '-c', script]).stdout == '0\nrefused\n'


SET_ID = 'import os; f = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o6755); print(oct(os.fstat(f).st_mode & 0o6000))'


@pytest.mark.parametrize('level', LEVELS)
def test_file_created_with_o_tmpfile_has_no_setuid_or_setgid_bit(stages, level):
    for place in (None, level):
        result = run(stages(f'at-{place}'), place, SET_ID)
        if place is None and 'not supported' in result.stderr:
            pytest.skip('this file system does not support O_TMPFILE')
        assert (result.stdout == '0o6000\n') == (place is None), result.stdout + result.stderr


VERSION = '''
import fcntl, struct, sys
f = open(sys.argv[1])
fcntl.ioctl(f, 0x40087602, struct.pack("l", 4242))
print(struct.unpack("l", fcntl.ioctl(f, 0x80087601, struct.pack("l", 0)))[0])
'''
LEASE = 'import fcntl, sys; fcntl.fcntl(open(sys.argv[1]), fcntl.F_SETLEASE, fcntl.F_RDLCK); print("leased")'


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('script, output', [(VERSION, '4242\n'), (LEASE, 'leased\n')], ids=['version', 'lease'])
def test_read_only_file_cannot_get_a_new_version_or_a_lease(stages, level, script, output):
    for place in (None, level):
        stage = stages(f'at-{place}')
        result = run(stage, place, script, '{given_file}', flags=('--ro', '{given}'))
        if place is None and 'Inappropriate ioctl' in result.stderr:
            pytest.skip('this file system has no versions of files')
        assert (result.stdout == output) == (place is None), result.stdout + result.stderr


LOCKS = '''
import fcntl, os
for i in range(500):
    with open("lock", "a+") as file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
data = open("/bin/true", "rb").read()
for i in range(50):
    if i: os.unlink("prog")
    with open("prog", "wb") as file: file.write(data)
    os.chmod("prog", 0o755)
    assert os.spawnl(os.P_WAIT, "./prog", "prog") == 0
print("done")
'''


@pytest.mark.parametrize('level', LEVELS)
def test_guard_keeps_no_copy_of_a_descriptor_that_the_program_has_closed(stages, level):
    """Such a copy once kept a lock, or a program open for writing, so that executing it failed with ETXTBSY."""
    result = run(stages('in'), level, LOCKS)
    assert result.stdout == 'done\n', result.stderr
