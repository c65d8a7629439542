"""A home directory and processes to attack, and the check that every attack goes through.

An attack is one row: the name of a function in the program `attacks`, its arguments, and the errors with which a box may
stop it. assert_stopped() runs it twice, each time on a fresh stage: outside of a box, where it has to succeed (a broken
attack proves nothing), and inside, where it has to fail with one of these errors and without the effect that it had
outside.
"""
import contextlib
import dataclasses
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable

import pytest

from inconclusive import SetUpFailed, WaitedTooLong

LEVELS = ('standard', 'strict', 'maximum')
NAMESPACE_LEVELS = ('strict', 'maximum')
DIED_OF_SIGSYS = 'SIGSYS'

ROUNDS = int(os.environ.get('RINGWALL_ROUNDS', '1000'))     # of a race
RACE_INSIDE, RACE_OUTSIDE = max(250, ROUNDS // 10), 10000   # milliseconds

# Reasons why a row is not for every level: things that the other levels do not promise.
NOT_PROMISED = {
    'visible': 'without a pid namespace other processes are visible, though not accessible',
    'proc': 'without a mount namespace no mount can cover a file in /proc',
    'bounding': 'an ordinary user cannot empty the bounding set; with no_new_privs it has no effect',
    'exists': 'Landlock does not hide that a name exists',
}

PROVEN = {}     # id(row) -> row: the rows that have succeeded outside; a reference keeps the id from being used again


@dataclasses.dataclass(frozen=True)
class Attack:
    """One row. Arguments and flags are templates that the stage fills in: {key}, {work}, {victim}, …

    stopped: the errors that count as stopped, separated by spaces; one string, or one for each level.
    levels: the levels that are tested. why: the key in NOT_PROMISED if these are not all.
    effect: called with the stage, returns whether the attack damaged the host: True outside, False inside.
    secret: whether the output outside must contain the secret. Inside it must never appear.
    may_succeed_at: the levels at which the call itself may succeed; the row needs an effect, which must still be absent.
    before: prepares the stage. descriptors: opens what the attack inherits.
    may_refuse: ringwall may refuse to run the plan: then the attack counts as stopped.
    only: "root" or "user", if the attack succeeds outside for one of them only.
    lacks: the reason to skip the test if the attack cannot be tried on this machine.
    known_hole: a reason to expect that the attack succeeds, at the levels known_hole_at.
    """
    name: str
    arguments: tuple = ()
    stopped: str | dict = 'EACCES EPERM'
    levels: tuple = LEVELS
    flags: tuple = ()
    policy: str = ''
    title: str = ''
    effect: Callable | None = None
    secret: bool = False
    may_succeed_at: tuple = ()
    only: str = ''
    before: Callable | None = None
    descriptors: Callable | None = None
    may_refuse: bool = False
    lacks: str = ''
    why: str = ''
    known_hole: str = ''
    known_hole_at: tuple = LEVELS

    def stopped_at(self, level):
        errors = self.stopped if isinstance(self.stopped, str) else self.stopped[level]
        return errors.split()


def rows(*attacks):
    """A decorator that runs a test for each attack at each of its levels."""
    parameters = []
    for attack in attacks:
        if attack.levels != LEVELS:
            assert attack.why in NOT_PROMISED, f'{attack.name}: give the reason why it is not for every level'
        for level in attack.levels:
            marks = [getattr(pytest.mark, f'only_{attack.only}')] if attack.only else []
            if attack is attacks[0]:
                marks.append(pytest.mark.quick)     # one of each kind
            if attack.known_hole and level in attack.known_hole_at:
                marks.append(pytest.mark.xfail(strict=True, reason=attack.known_hole, raises=AssertionError))
            label = attack.title or ' '.join((attack.name, *attack.arguments))
            parameters.append(pytest.param(attack, level, marks=marks, id=f'{label}-{level}'.replace('/', '|')))
    return pytest.mark.parametrize('attack, level', parameters)


class Stage:
    """A home with an ssh key, a workspace with a repository, files outside of the workspace, and a victim process."""

    def __init__(self, top, build):
        self.top, self.build, self.secret = top, build, f'SECRET{secrets.token_hex(8)}'
        self.home, self.closing = top / 'home', contextlib.ExitStack()
        self.ssh, self.other, self.work = self.home / '.ssh', self.home / 'other', self.home / 'work'
        self.evil = self.home / 'work-evil'         # its path begins like that of the workspace
        self.given = self.home / 'given'            # some rows grant it with --ro
        for folder in (self.ssh, self.other / 'empty', self.work / '.git/hooks', self.work / 'vault',
                       self.work / 'deep/er', self.evil,
                       self.given / 'inner'):
            folder.mkdir(parents=True)
        self.key = self.plant(self.ssh / 'id_ed25519', self.secret)
        self.keep = self.plant(self.other / 'keep.txt', 'keep me')
        self.given_file = self.plant(self.given / 'file.txt', 'read me')
        self.given_secret = self.plant(self.given / 'inner/secret.txt', self.secret)
        self.vault_secret = self.plant(self.work / 'vault/secret.txt', self.secret)
        self.deep_secret = self.plant(self.work / 'deep/er/secret.txt', self.secret)
        self.plant(self.work / 'deep/er/locked.txt', 'deep')
        self.locked = self.plant(self.work / 'locked.txt', 'locked')
        self.hook = self.plant(self.work / '.git/hooks/pre-commit', '#!/bin/sh\n')
        self.hook.chmod(0o755)
        self.config = self.plant(self.work / '.git/config', '[core]\n')
        self.plant(self.work / 'notes.txt', 'notes')
        self.program = self.work / 'attacks'
        shutil.copy(build / 'tests/attack/attacks', self.program)
        self.names = {'backwards': self.secret[::-1]}
        self.process = None

    @staticmethod
    def plant(path, text):
        """Writes a file."""
        path.write_text(text)
        return path

    def close(self):
        self.closing.close()

    def environment(self):
        return {'HOME': str(self.home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                'ATTACK_TOKEN': self.secret, **getattr(self, 'variables', {})}

    def start_victim(self):
        """Starts a process of the host with the secret in its memory, its environment and an open file."""
        self.process = subprocess.Popen([self.program, 'victim', self.secret, self.key], cwd=self.ssh,
                                        env=self.environment(), stdout=subprocess.PIPE, start_new_session=True)
        self.closing.callback(self.process.stdout.close)
        self.closing.callback(self.process.wait)
        self.closing.callback(self.process.kill)
        self.names['address'] = self.process.stdout.readline().decode().strip()
        self.names['victim'] = str(self.process.pid)

    def victim_died(self):
        """Whether a signal killed the victim, which handles none."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.15)
        return self.process.poll() is not None

    def fill(self, text):
        """Fills in a template with the paths and names of the stage."""
        paths = {name: str(value) for name, value in vars(self).items() if isinstance(value, (str, os.PathLike))}
        return text.format(**{**paths, **self.names})

    def command(self, attack):
        """The command line of the attack, without a box."""
        return [str(self.program), attack.name, *map(self.fill, attack.arguments)]

    def box(self, attack, level):
        """The command line of the attack in a box."""
        flags = list(map(self.fill, attack.flags))
        if attack.policy:
            path = self.plant(self.home / 'policy.yaml', attack.policy)
            flags = ['-p', str(path), *flags]
        return [str(self.build / 'ringwall'), 'run', '--level', level, *flags, '--', *self.command(attack)]

    def run(self, command, descriptors=None, timeout=30):
        """Runs a command. Its parent is a shell, so that attacks on the parent process have a target."""
        with contextlib.ExitStack() as opened:
            inherited = descriptors(self, opened) if descriptors else {}

            def duplicate():
                for number, fd in inherited.items():
                    os.dup2(fd, number)
            try:
                return subprocess.run(['/bin/sh', '-c', '"$@"; exit $?', 'sh', *command], cwd=self.work,
                                      timeout=timeout, env=self.environment(), start_new_session=True, close_fds=False,
                                      preexec_fn=duplicate if inherited else None, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8',
                                      errors='surrogateescape')
            except subprocess.TimeoutExpired as late:
                raise WaitedTooLong(str(late)) from late


def prepare(attack, stage, first=None):
    """Prepares the stage for the row. {first} is pid 1 in a box, and the victim outside. {milliseconds} is the duration of
    a race. Outside a race ends when the attack has succeeded, so it may take longer there."""
    stage.names['milliseconds'] = str(RACE_OUTSIDE if first is None else RACE_INSIDE)
    if any(name in text for text in attack.arguments for name in ('{victim}', '{address}', '{first}')):
        stage.start_victim()
        stage.names['first'] = first or stage.names['victim']
    if attack.before:
        attack.before(stage)


def attack_outside(attack, stage):
    """The attack has to succeed; otherwise it is broken."""
    prepare(attack, stage)
    result = stage.run(stage.command(attack), attack.descriptors)
    if result.returncode == 2 and attack.lacks:
        pytest.skip(f'{attack.name}: {attack.lacks}')
    output = f'outside of the box:\n{result.stdout}{result.stderr}'
    if result.returncode not in (0, -signal.SIGTERM) or result.returncode == 0 and not result.stdout.startswith('did:'):
        raise SetUpFailed(output)
    if attack.secret and stage.secret not in result.stdout:
        raise SetUpFailed(f'no secret {output}')
    if attack.effect and not attack.effect(stage):
        raise SetUpFailed(f'no effect {output}')


def attack_inside(attack, level, stage):
    prepare(attack, stage, first='1')
    result = stage.run(stage.box(attack, level), attack.descriptors)
    output = f'inside, at {level}:\n{result.stdout}{result.stderr}'
    assert result.returncode != 125 or attack.may_refuse, f'ringwall refused to run it: {output}'
    assert stage.secret not in result.stdout + result.stderr, f'the secret leaked: {output}'
    if attack.effect:
        assert not attack.effect(stage), f'the attack changed the host: {output}'
    if result.returncode == 0 and attack.effect and level in attack.may_succeed_at:
        return
    if result.returncode == 125:
        return
    if result.returncode == 2 and attack.lacks:     # it succeeded outside, so in the box the filter answered ENOSYS
        return
    assert result.returncode == 1, output
    errors = attack.stopped_at(level)
    assert result.stdout.strip() in [f'failed: {error}' for error in errors], f'expected one of {errors}: {output}'


def assert_stopped(stages, attack, level):
    """The attack succeeds outside, which is tried once for each row, and fails inside at this level."""
    if id(attack) not in PROVEN:
        attack_outside(attack, stages('out'))
        PROVEN[id(attack)] = attack
    attack_inside(attack, level, stages('in'))


def changed(path, text):
    """An effect: the content of the file is no longer the text."""
    return lambda stage: not has_content(stage, path, text)


def has_content(stage, path, text):
    with contextlib.suppress(OSError):
        with open(stage.fill(path), encoding='utf-8') as file:
            return file.read() == text
    return False


def exists(path):
    """An effect: the file exists."""
    return lambda stage: os.path.lexists(stage.fill(path))


def find_processes(token):
    """The processes with the token in their command line. One pass over /proc can take as long as a process lives that
    forks and exits, so processes that started meanwhile are examined too."""
    found, seen = [], set()
    for _ in range(20):
        started = set(filter(str.isdigit, os.listdir('/proc'))) - seen
        for pid in started:
            with contextlib.suppress(OSError):
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    if token.encode() in file.read():
                        found.append(int(pid))
        if not started:
            break
        seen |= started
    return found


def wait_until_gone(token, seconds=3):
    """Waits until no process has the token; returns those that are left. One scan can miss a process that forks, so
    several scans in a row have to find nothing."""
    end, empty_scans, found = time.monotonic() + seconds, 0, []
    while empty_scans < 5 and time.monotonic() < end:
        found = find_processes(token)
        empty_scans = 0 if found else empty_scans + 1
        time.sleep(0.01)
    return found


def wait_until_running(token, seconds=10):
    """Waits until a process has the token; returns all that have it."""
    end = time.monotonic() + seconds
    while not (found := find_processes(token)) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def start_listener(stage, address, kind=socket.SOCK_STREAM, family=socket.AF_UNIX):
    """Starts a server on the host; server_reached() is the effect that belongs to it."""
    server = stage.closing.enter_context(socket.socket(family, kind))
    server.bind(address)
    if kind != socket.SOCK_DGRAM:
        server.listen(4)
    server.setblocking(False)
    stage.server = server
    return server


def server_reached(stage):
    """An effect: the server of the stage has received a connection or a datagram."""
    time.sleep(0.05)
    with contextlib.suppress(BlockingIOError):
        if stage.server.type == socket.SOCK_DGRAM:
            return bool(stage.server.recv(100))
        stage.server.accept()[0].close()
        return True
    return False
