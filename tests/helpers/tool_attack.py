"""Attacks on the MCP tools. Each must succeed against a naive server and fail against `ringwall mcp`, "ours".

An attack is one row, an Attack: a function that sends requests to a server, a check for the harm that it does, and the
answer that ours must give instead. The naive server (tests/attack/naive_server.py) has the bad habits that the row
names. assert_contained() runs an attack on both, each on a fresh stage (attack_host.py): directories, files and
processes to attack.
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
from attack_host import LEVELS, find_processes

NAIVE_SERVER = pathlib.Path(__file__).resolve().parents[1] / 'attack/naive_server.py'
NAIVE_MEMORY = 1 << 30      # bytes of address space, so that an attack on its memory does not harm the machine
MUCH_MEMORY = 96 << 20      # bytes: more than ours ever needs, less than an attack makes the naive server use
ATTEMPTS = 3
HARMED_NAIVE = {}           # id(row) -> row, for the rows that have harmed the naive server

# The levels that this user tests in a run that is not long. The suites run as root and as an ordinary user; each level
# as both would take 8 minutes more.
TESTED_LEVELS = ('standard', 'maximum') if os.geteuid() == 0 else ('strict',)


@dataclasses.dataclass
class Trial:
    """One attack on one server: the text of the answers, and whether the server stopped answering."""
    stage: object
    client: Client
    said: str = ''
    silent: bool = False

    @property
    def pid(self):
        return self.client.transport.process.pid


@dataclasses.dataclass(frozen=True)
class Attack:
    """One attack. attack(client, stage) returns the text of the answers.

    harm: harm(trial) returns whether harm was done. It must be true for the naive server and false for ours.
    answer: a regular expression that must match in the answers of ours; {work} in it is the workspace.
    habits: the bad habits of the naive server. patience: seconds after which that server counts as hanging.
    before: prepares the stage. flags: for ours. only: "root" or "user". levels: the levels to test.
    limits: resource limits of both servers, {resource: limit} for setrlimit(). ends: ours may exit during the attack.
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


def attacks(*rows):
    """Parametrizes a test with (attack, level)."""
    return pytest.mark.parametrize('attack, level', [
        pytest.param(row, level, marks=marks_of(row, level) + [pytest.mark.quick] * (row is rows[0]),
                     id=visible(f'{row.title}-{level}'))
        for row in rows for level in row.levels])


def marks_of(row, level):
    marks = [getattr(pytest.mark, f'only_{row.only}')] if row.only else []
    return marks + long_unless_tested(level)


def long_unless_tested(level):
    return [] if level in TESTED_LEVELS else [pytest.mark.long]


each_level = pytest.mark.parametrize(
    'level', [pytest.param(level, marks=long_unless_tested(level)) for level in LEVELS])


def visible(title):
    """The title as a test id, which is also the name of the test's directory."""
    return title.replace('/', '|').replace(' ', '_').encode('ascii', 'backslashreplace').decode()


def start_server(stage, command, limits, patience=None):
    def limit():
        for which, most in limits.items():
            resource.setrlimit(which, (most, most))
    transport = Stdio(command, stage.top / 'stderr', cwd=stage.work, env=stage.environment(),
                      preexec_fn=limit if limits else None)
    return Client(transport, **({'patience': patience} if patience else {}))


def connect_naive(stage, attack):
    (stage.top / 'state').mkdir(exist_ok=True)
    command = [sys.executable, '-I', NAIVE_SERVER, stage.work, *attack.habits, '--state', stage.top / 'state']
    if 'apart' in attack.habits:     # in its own pid namespace: an attack on all processes must not reach the tests
        command = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child',
                   'sh', '-c', '"$@"; exit $?', 'sh', *command]
    return start_server(stage, command, {resource.RLIMIT_AS: NAIVE_MEMORY, **attack.limits}, attack.patience)


def connect_ours(stage, attack, level):
    command = [stage.build / 'ringwall', 'mcp', '--level', level, *map(stage.fill, attack.flags)]
    return start_server(stage, command, attack.limits)


def run_attack(attack, stage, client):
    trial = Trial(stage, client)
    try:
        trial.said = attack.attack(client, stage)
    except (TimeoutError, BrokenPipeError) as error:
        trial.said, trial.silent = str(error), True
    return trial


@contextlib.contextmanager
def run_attacks(attacks, stage, start, patience):
    """Starts one server and prepares the stage before each attack on it. Yields an iterator of (attack, trial). At the
    end the server gets `patience` seconds to exit."""
    def trials():
        for attack in attacks:
            if attack.before and attack is not attacks[0]:
                attack.before(stage)
            yield attack, run_attack(attack, stage, client)
    if attacks[0].before:
        attacks[0].before(stage)
    client = start()
    try:
        yield trials()
    finally:
        client.transport.close(patience)


def assert_naive_is_harmed(stages, name, *attacks):
    """Asserts that the naive server is harmed. It has no levels, so once for each row is enough."""
    stage = stages(name)
    with run_attacks(attacks, stage, lambda: connect_naive(stage, attacks[0]), 0) as trials:
        for attack, trial in trials:
            if not attack.harm(trial):
                said = f'{trial.said[:2000]}\n{read_stderr(stage)}'
                raise SetUpFailed(f'no harm to the naive server by {attack.title}:\n{said}')
            HARMED_NAIVE[id(attack)] = attack


def assert_ours_is_not_harmed(stages, level, *attacks, name='ours'):
    stage = stages(name)
    with run_attacks(attacks, stage, lambda: connect_ours(stage, attacks[0], level), PATIENCE) as trials:
        for attack, trial in trials:
            said = f'{attack.title} at {level}:\n{trial.said[:2000]}\n{read_stderr(stage)}'
            if trial.silent and attack.harm is not silent:
                raise WaitedTooLong(f'no answer: {said}')
            assert not trial.silent, f'no answer: {said}'
            assert stage.secret not in trial.said, f'the secret leaked: {said}'
            assert not attack.harm(trial), f'harm was done: {said}'
            expected = attack.answer.replace('{work}', re.escape(str(stage.work)))
            assert re.search(expected, trial.said), f'expected {expected!r}: {said}'
            assert attack.ends or trial.client.lives(), f'the server does not answer any more: {said}'
            assert trial.client.others == [], f'unexpected messages {trial.client.others}: {said}'


def assert_contained(stages, level, *attacks):
    """Asserts that the attacks harm the naive server and not ours. Several attacks run on one server, in turn, with the
    habits and flags of the first."""
    for attempt in range(ATTEMPTS):     # an attack may lose its race on a busy machine
        if id(attacks[0]) in HARMED_NAIVE:
            break
        with contextlib.suppress(*([AssertionError] if attempt + 1 < ATTEMPTS else [])):
            assert_naive_is_harmed(stages, f'naive{attempt}', *attacks)
    assert_ours_is_not_harmed(stages, level, *attacks)


def read_stderr(stage):
    return (stage.top / 'stderr').read_text(errors='replace')[-2000:]


# Checks for harm.

def leaked(trial):
    return trial.stage.secret in trial.said


def silent(trial):
    return trial.silent


def dead(trial):
    return not trial.client.lives()


def grown(trial):
    """Did the server, or a descendant of it, ever use much memory?"""
    return max(memory(pid, 'VmHWM') for pid in family(trial.pid)) > MUCH_MEMORY


def forged(trial):
    """Did the client receive a message that the attack forged?"""
    return any(isinstance(message, dict) and message.get('id') == 'forged' for message in trial.client.others)


def said(words):
    return lambda trial: re.search(words, trial.said) is not None


def seen(effect):
    """Harm is an effect on the stage, as in the rows of attack_host.py."""
    return lambda trial: effect(trial.stage)


# Parts of attacks.

def mark(stage):
    """Gives the stage a word, {token}, for command lines. Processes that still have it after the test are killed."""
    stage.names['token'] = f'token{stage.secret}'[::-1]     # not the secret itself

    def end():
        for _ in range(50):     # several rounds, for processes that fork faster than they are found
            for pid in find_processes(stage.names['token']):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    stage.closing.callback(end)


def call(tool, **arguments):
    """An attack of one tool call. Strings may contain names of the stage in braces."""
    def attack(client, stage):
        return client.say(tool, **{name: stage.fill(value) if isinstance(value, str) else value
                                   for name, value in arguments.items()})
    return attack


def calls(*attacks):
    return lambda client, stage: '\n'.join(attack(client, stage) for attack in attacks)


def raw(*lines):
    """An attack that sends raw lines and then a ping. Returns all messages that arrive before the reply to the ping."""
    def attack(client, stage):
        for line in lines:
            client.transport.send(line)
        client.transport.send(b'{"jsonrpc": "2.0", "id": "end", "method": "ping"}')
        try:
            client.await_reply('end')
        finally:
            received, client.others = client.others, []
        return '\n'.join(map(str, received))
    return attack
