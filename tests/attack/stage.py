"""A host with something worth attacking, and the rule that every attack is put to.

An attack is one row: the name of a function in the program `attacks`, its arguments, and how the box is expected to stop
it. hold() runs it twice, on two fresh hosts: outside a box, where it has to succeed (a broken attack proves nothing), and
inside, where it has to fail for a reason that the row names, without the effect that it had outside.
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
SPACES = ('strict', 'maximum')      # the levels with namespaces
DIED_OF_SIGSYS = 'SIGSYS'

# Why a row is not declared for every level. Each is a promise that the design does not make at that level.
NOT_PROMISED = {
    'metadata': 'Landlock has no right for modes, owners, times and attributes; a read-only mount has',
    'protect': 'protected and unwritable names inside a writable root need a mount over them; standard refuses to run',
    'deny': 'a denial inside a writable root needs a mount over it; standard refuses to run',
    'visible': 'without a pid namespace other processes can be seen, though not touched',
    'proc': 'without a mount nothing can stand in front of a file of /proc',
    'bounding': 'an ordinary user cannot empty the bounding set; no_new_privs keeps it from mattering',
    'exists': 'Landlock does not hide that a name exists',
}

PROVEN = {}     # by their identity, the rows that have succeeded outside; holding them keeps the numbers their own


@dataclasses.dataclass(frozen=True)
class Attack:
    """One row. Arguments and flags are templates over the stage: {key}, {work}, {victim}, …

    stopped: the words after "failed: " that count as stopped; one string, or one for each level.
    effect: given the stage, is the harm visible on the host? It must be True outside and False inside.
    secret: must what was read outside contain the secret? Inside it must never appear, whatever the row says.
    private: the levels at which the call may succeed, because the box has a thing of its own by that name; then only
    the effect, which the row has to have, is looked at.
    may_refuse: ringwall may refuse to run such a plan at all.
    only: "root" or "user", if the attack succeeds outside for one of them only.
    lacks: what the machine lacks if the attack says that there is nothing to try it on.
    why: of NOT_PROMISED, when it is not for every level. hole: a known one, and hole_levels where it is open.
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
    private: tuple = ()
    only: str = ''
    before: Callable | None = None
    descriptors: Callable | None = None
    may_refuse: bool = False
    lacks: str = ''
    why: str = ''
    hole: str = ''
    hole_levels: tuple = LEVELS

    def stopped_at(self, level):
        words = self.stopped if isinstance(self.stopped, str) else self.stopped[level]
        return words.split()


def rows(*attacks):
    """A parametrisation of (attack, level), with the marks that a row asks for."""
    parameters = []
    for attack in attacks:
        if attack.levels != LEVELS:
            assert attack.why in NOT_PROMISED, f'{attack.name}: say why it is not for every level'
        for level in attack.levels:
            marks = [getattr(pytest.mark, f'only_{attack.only}')] if attack.only else []
            if attack is attacks[0]:
                marks.append(pytest.mark.quick)     # one of each kind
            if attack.hole and level in attack.hole_levels:
                marks.append(pytest.mark.xfail(strict=True, reason=attack.hole, raises=AssertionError))
            label = attack.title or ' '.join((attack.name, *attack.arguments))
            parameters.append(pytest.param(attack, level, marks=marks, id=f'{label}-{level}'.replace('/', '|')))
    return pytest.mark.parametrize('attack, level', parameters)


class Stage:
    """A home with an ssh key, a workspace with a repository, things that are not the workspace's, and a process."""

    def __init__(self, top, build):
        self.top, self.build, self.secret = top, build, f'SECRET{secrets.token_hex(8)}'
        self.home, self.closing = top / 'home', contextlib.ExitStack()
        self.ssh, self.other, self.work = self.home / '.ssh', self.home / 'other', self.home / 'work'
        self.evil = self.home / 'work-evil'         # begins like the workspace and is not in it
        self.given = self.home / 'given'            # for --ro
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
        path.write_text(text)
        return path

    def close(self):
        self.closing.close()

    def environment(self):
        return {'HOME': str(self.home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                'ATTACK_TOKEN': self.secret, **getattr(self, 'variables', {})}

    def start_victim(self):
        """A process of the host that holds the secret in its memory, its environment and an open file."""
        self.process = subprocess.Popen([self.program, 'victim', self.secret, self.key], cwd=self.ssh,
                                        env=self.environment(), stdout=subprocess.PIPE, start_new_session=True)
        self.closing.callback(self.process.stdout.close)
        self.closing.callback(self.process.wait)
        self.closing.callback(self.process.kill)
        self.names['address'] = self.process.stdout.readline().decode().strip()
        self.names['victim'] = str(self.process.pid)

    def victim_died(self):
        """Was the host's process signalled? It does not handle any signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.15)
        return self.process.poll() is not None

    def fill(self, text):
        places = {name: str(value) for name, value in vars(self).items() if isinstance(value, (str, os.PathLike))}
        return text.format(**{**places, **self.names})

    def command(self, attack):
        return [str(self.program), attack.name, *map(self.fill, attack.arguments)]

    def box(self, attack, level):
        policy = standard_policy(attack, level)
        flags = list(map(self.fill, attack.flags))
        if policy:
            path = self.plant(self.home / 'policy.yaml', policy)
            flags = ['-p', str(path), *flags]
        return [str(self.build / 'ringwall'), 'run', '--level', level, *flags, '--', *self.command(attack)]

    def run(self, command, descriptors=None, timeout=30):
        """Runs to the end, with a shell as the parent, so that a parent is there to be attacked."""
        with contextlib.ExitStack() as opened:
            inherited = descriptors(self, opened) if descriptors else {}

            def place():
                for number, target in inherited.items():
                    os.dup2(target, number)
            try:
                return subprocess.run(['/bin/sh', '-c', '"$@"; exit $?', 'sh', *command], cwd=self.work, timeout=timeout,
                                      env=self.environment(), start_new_session=True, close_fds=False,
                                      preexec_fn=place if inherited else None, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8',
                                      errors='surrogateescape')
            except subprocess.TimeoutExpired as late:
                raise WaitedTooLong(str(late)) from late


def standard_policy(attack, level):
    """At standard the protected set cannot be held in a writable root, so it is released: the rest is attacked."""
    released = 'filesystem:\n  protect: [-protected]\n' if level == 'standard' else ''
    return attack.policy + released


def prepare(attack, stage, first=None):
    """Makes ready what the row needs. {first} is the first process of a box, and outside one the victim."""
    if any(name in text for text in attack.arguments for name in ('{victim}', '{address}', '{first}')):
        stage.start_victim()
        stage.names['first'] = first or stage.names['victim']
    if attack.before:
        attack.before(stage)


def attack_outside(attack, stage):
    """Succeeds, or the attack is broken. Returns only then."""
    prepare(attack, stage)
    result = stage.run(stage.command(attack), attack.descriptors)
    if result.returncode == 2 and attack.lacks:
        pytest.skip(f'{attack.name}: {attack.lacks}')
    told = f'outside the box:\n{result.stdout}{result.stderr}'
    if result.returncode not in (0, -signal.SIGTERM) or result.returncode == 0 and not result.stdout.startswith('did:'):
        raise SetUpFailed(told)
    if attack.secret and stage.secret not in result.stdout:
        raise SetUpFailed(f'no secret {told}')
    if attack.effect and not attack.effect(stage):
        raise SetUpFailed(f'no effect {told}')


def attack_inside(attack, level, stage):
    prepare(attack, stage, first='1')
    result = stage.run(stage.box(attack, level), attack.descriptors)
    told = f'inside, at {level}:\n{result.stdout}{result.stderr}'
    assert result.returncode != 125 or attack.may_refuse, f'it did not run: {told}'
    assert stage.secret not in result.stdout + result.stderr, f'the secret is out: {told}'
    if attack.effect:
        assert not attack.effect(stage), f'the host was changed: {told}'
    if result.returncode == 0 and attack.effect and level in attack.private:
        return
    if result.returncode == 125:
        return
    assert result.returncode == 1, told
    words = attack.stopped_at(level)
    assert result.stdout.strip() in [f'failed: {word}' for word in words], f'expected one of {words}: {told}'


def hold(stages, attack, level):
    """The rule: it succeeds outside and fails inside. Outside there are no levels: there, once for each row is enough."""
    if id(attack) not in PROVEN:
        attack_outside(attack, stages('out'))
        PROVEN[id(attack)] = attack
    attack_inside(attack, level, stages('in'))


def changed(path, text):
    """An effect: is the file no longer what it was?"""
    return lambda stage: not is_still(stage, path, text)


def is_still(stage, path, text):
    with contextlib.suppress(OSError):
        with open(stage.fill(path), encoding='utf-8') as file:
            return file.read() == text
    return False


def there(path):
    """An effect: does the name exist now?"""
    return lambda stage: os.path.lexists(stage.fill(path))


def find_processes(token):
    """The processes whose command line has the token in it. On a busy machine one look at all of them takes as long as
    a process lives that forks and goes; so those that came meanwhile are looked at too."""
    found, seen = [], set()
    for _ in range(20):
        born = set(filter(str.isdigit, os.listdir('/proc'))) - seen
        for pid in born:
            with contextlib.suppress(OSError):
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    if token.encode() in file.read():
                        found.append(int(pid))
        if not born:
            break
        seen |= born
    return found


def await_none(token, seconds=3):
    """Waits until no process carries the token; returns those that stay. One look can miss a process that forks, so
    several in a row have to find nothing."""
    end, quiet, found = time.monotonic() + seconds, 0, []
    while quiet < 5 and time.monotonic() < end:
        found = find_processes(token)
        quiet = 0 if found else quiet + 1
        time.sleep(0.01)
    return found


def await_some(token, seconds=10):
    """Waits until a process carries the token."""
    end = time.monotonic() + seconds
    while not (found := find_processes(token)) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def listener(stage, address, kind=socket.SOCK_STREAM, family=socket.AF_UNIX):
    """A server of the host. Its effect: did anything arrive?"""
    server = stage.closing.enter_context(socket.socket(family, kind))
    server.bind(address)
    if kind != socket.SOCK_DGRAM:
        server.listen(4)
    server.setblocking(False)
    stage.server = server
    return server


def reached(stage):
    """Did a connection or a datagram arrive at the stage's server?"""
    time.sleep(0.05)
    with contextlib.suppress(BlockingIOError):
        if stage.server.type == socket.SOCK_DGRAM:
            return bool(stage.server.recv(100))
        stage.server.accept()[0].close()
        return True
    return False
