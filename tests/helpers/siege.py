"""Two servers and one rule: an attack on the tools has to succeed against a naive server, and must fail against ours.

An attack is one row: a function that speaks with a server, the harm that it does to the naive one, which has the habits
that the row names (tests/attack/naive_server.py), and what ours says instead. hold() makes a fresh host for each.
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import signal
import sys
from collections.abc import Callable

import pytest

from inconclusive import SetUpFailed, WaitedTooLong
from mcp_client import PATIENCE, Client, Stdio, family, memory
from stage import LEVELS, find_processes

NAIVE = pathlib.Path(__file__).resolve().parents[1] / 'attack/naive_server.py'
NAIVE_MOST = 1 << 30        # bytes of address space, so that an attack on its memory is not one on the machine
MUCH = 96 << 20             # bytes: more than a process of ours ever needs, less than the naive one can be made to take
PROVEN = {}                 # by their identity, the rows that have harmed the naive server

# Each level by one of the two users that the suites run as. The others are long: eight minutes more.
TRIED = ('standard', 'maximum') if os.geteuid() == 0 else ('strict',)


@dataclasses.dataclass
class Trial:
    """One attack on one server: what was said in it, and whether the server fell silent."""
    stage: object
    client: Client
    said: str = ''
    silent: bool = False

    @property
    def pid(self):
        return self.client.transport.process.pid


@dataclasses.dataclass(frozen=True)
class Siege:
    """One row. attack(client, stage) returns what was said; its texts and `answer` are templates over the stage.

    harm: given the trial, was harm done? It must be with the naive server, and must not be with ours.
    answer: a regular expression that must be found in what ours said.
    habits: of the naive server. patience: seconds after which it is taken for hanging.
    before: makes the host ready. flags: for ours. only: "root" or "user". levels, when it is not for all.
    limits: of both servers, as setrlimit has them. ends: the server is over after it.
    """
    title: str
    attack: Callable
    harm: Callable
    answer: str
    habits: tuple = ('joined',)
    before: Callable | None = None
    flags: tuple = ()
    patience: float = 10
    only: str = ''
    levels: tuple = LEVELS
    limits: dict = dataclasses.field(default_factory=dict)
    ends: bool = False


def sieges(*rows):
    """A parametrisation of (siege, level)."""
    return pytest.mark.parametrize('siege, level', [
        pytest.param(row, level, marks=marks_of(row, level) + [pytest.mark.quick] * (row is rows[0]),
                     id=visible(f'{row.title}-{level}'))
        for row in rows for level in row.levels])


def marks_of(row, level):
    marks = [getattr(pytest.mark, f'only_{row.only}')] if row.only else []
    return marks + long_unless_tried(level)


def long_unless_tried(level):
    return [] if level in TRIED else [pytest.mark.long]


each_level = pytest.mark.parametrize('level', [pytest.param(level, marks=long_unless_tried(level)) for level in LEVELS])


def visible(title):
    """A name for a test, and for the directory that it gets."""
    return title.replace('/', '|').replace(' ', '_').encode('ascii', 'backslashreplace').decode()


def connect(stage, command, limits, patience=None):
    def limit():
        for which, most in limits.items():
            resource.setrlimit(which, (most, most))
    transport = Stdio(command, stage.top / 'stderr', cwd=stage.work, env=stage.environment(),
                      preexec_fn=limit if limits else None)
    return Client(transport, **({'patience': patience} if patience else {}))


def connect_naive(stage, siege):
    (stage.top / 'state').mkdir(exist_ok=True)
    command = [sys.executable, '-I', NAIVE, stage.work, *siege.habits, '--state', stage.top / 'state']
    if 'apart' in siege.habits:     # processes of its own, so that an attack on all of them does not reach ours
        command = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child',
                   'sh', '-c', '"$@"; exit $?', 'sh', *command]
    return connect(stage, command, {resource.RLIMIT_AS: NAIVE_MOST, **siege.limits}, siege.patience)


def connect_ours(stage, siege, level):
    command = [stage.build / 'ringwall', 'mcp', '--level', level, *map(stage.fill, siege.flags)]
    return connect(stage, command, siege.limits)


def besiege(siege, stage, client):
    trial = Trial(stage, client)
    try:
        trial.said = siege.attack(client, stage)
    except (TimeoutError, BrokenPipeError) as silence:
        trial.said, trial.silent = str(silence), True
    return trial


@contextlib.contextmanager
def trying(sieges, stage, start, patience):
    """One server, and the host made ready for each attack on it. Yields the trials, one by one. In the end the server
    has so many seconds to end by itself."""
    def trials():
        for siege in sieges:
            if siege.before and siege is not sieges[0]:
                siege.before(stage)
            yield siege, besiege(siege, stage, client)
    if sieges[0].before:
        sieges[0].before(stage)
    client = start()
    try:
        yield trials()
    finally:
        client.transport.close(patience)


def prove(stages, *sieges):
    """The naive server is harmed. Once for each row is enough: it knows no levels."""
    stage = stages('naive')
    with trying(sieges, stage, lambda: connect_naive(stage, sieges[0]), 0) as trials:
        for siege, trial in trials:
            if not siege.harm(trial):
                raise SetUpFailed(f'the naive server withstands {siege.title}:\n{trial.said[:2000]}\n{told(stage)}')
            PROVEN[id(siege)] = siege


def withstand(stages, level, *sieges):
    stage = stages('ours')
    with trying(sieges, stage, lambda: connect_ours(stage, sieges[0], level), PATIENCE) as trials:
        for siege, trial in trials:
            said = f'to {siege.title} at {level}:\n{trial.said[:2000]}\n{told(stage)}'
            if trial.silent and siege.harm is not silent:
                raise WaitedTooLong(f'no answer {said}')
            assert not trial.silent, f'no answer {said}'
            assert stage.secret not in trial.said, f'the secret is out {said}'
            assert not siege.harm(trial), f'harm was done {said}'
            expected = siege.answer.replace('{work}', re.escape(str(stage.work)))
            assert re.search(expected, trial.said), f'expected {expected!r} {said}'
            assert siege.ends or trial.client.lives(), f'it is dead {said}'
            assert trial.client.others == [], f'more was said than asked for {said}'


def hold(stages, level, *sieges):
    """The rule. Several attacks are made on one server, in turn; its habits and flags are those of the first."""
    if id(sieges[0]) not in PROVEN:
        prove(stages, *sieges)
    withstand(stages, level, *sieges)


def told(stage):
    return (stage.top / 'stderr').read_text(errors='replace')[-2000:]


# Harm.

def leaked(trial):
    return trial.stage.secret in trial.said


def silent(trial):
    return trial.silent


def dead(trial):
    return not trial.client.lives()


def grown(trial):
    """Did a process of it, or the server itself, ever have much memory?"""
    return max(memory(pid, 'VmHWM') for pid in family(trial.pid)) > MUCH


def forged(trial):
    """Did the client get a message that the server never meant?"""
    return any(isinstance(message, dict) and message.get('id') == 'forged' for message in trial.client.others)


def said(words):
    return lambda trial: re.search(words, trial.said) is not None


def seen(effect):
    """An effect on the host, as the rows of stage.py have them."""
    return lambda trial: effect(trial.stage)


# Attacks.

def mark(stage):
    """Gives the stage a word for command lines; what still has it after the test is ended."""
    stage.names['token'] = f'token{stage.secret}'[::-1]     # not the secret itself

    def end():
        for _ in range(50):     # a process that forks faster than it is found needs several rounds
            for pid in find_processes(stage.names['token']):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    stage.closing.callback(end)


def call(tool, **arguments):
    """One call; strings are templates over the stage."""
    def attack(client, stage):
        return client.say(tool, **{name: stage.fill(value) if isinstance(value, str) else value
                                   for name, value in arguments.items()})
    return attack


def calls(*attacks):
    return lambda client, stage: '\n'.join(attack(client, stage) for attack in attacks)


def raw(*lines):
    """Lines that no client would send. Returns what came back, with the reply to a ping that follows them."""
    def attack(client, stage):
        for line in lines:
            client.transport.send(line)
        client.transport.send(b'{"jsonrpc": "2.0", "id": "end", "method": "ping"}')
        try:
            client.await_reply('end')
        finally:
            came, client.others = client.others, []
        return '\n'.join(map(str, came))
    return attack
