"""Outliving the box, and what the box itself leaves behind."""
import contextlib
import os
import random
import secrets
import signal
import subprocess
import time

import pytest

from leftovers import left_since, leftovers
from stage import LEVELS, Attack, await_none, await_some, find_processes

LEAVERS = ['leave_daemon', 'leave_stubborn_daemon', 'leave_stopped_daemon', 'leave_runner', 'leave_subreaper']


@pytest.fixture
def token():
    """Stays in the command line of every process that an attack leaves; what is left over is killed after the test."""
    word = f'token{secrets.token_hex(8)}'
    yield word
    for _ in range(50):     # a process that forks faster than it is found needs several rounds
        found = find_processes(word)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            break


def start(stage, command):
    """Starts it without a shell in between, so that a signal to the process is a signal to ringwall."""
    process = subprocess.Popen(command, cwd=stage.work, env=stage.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    stage.closing.callback(process.stdout.close)
    stage.closing.callback(process.wait)
    stage.closing.callback(process.kill)
    return process


def started(process):
    assert process.stdout.readline().startswith(b'did:')


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', LEAVERS)
def test_no_daemon_outlives_the_command(stages, token, name, level):
    stage = stages('out')
    result = stage.run(stage.command(Attack(name, (token,))))
    assert result.returncode == 0 and await_some(token), 'outside it stays'
    inner = token[::-1]
    stage = stages('in')
    result = stage.run(stage.box(Attack(name, (inner,)), level))
    assert result.returncode == 0, result
    assert await_none(inner, 10) == []


@pytest.mark.parametrize('level', LEVELS)
def test_the_command_dies_with_a_killed_ringwall(stages, token, level):
    """Outside, a command survives the death of the shell that started it. Inside, nothing survives that of ringwall,
    not even what ignores every signal and has a session of its own."""
    stage = stages('out')
    process = start(stage, ['/bin/sh', '-c', '"$@"; exit', 'sh', *stage.command(Attack('stay', (token,)))])
    started(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)
    assert find_processes(token), 'outside it stays'
    inner = token[::-1]
    stage = stages('in')
    process = start(stage, stage.box(Attack('stay', (inner,)), level))
    started(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert await_none(inner) == []


@pytest.mark.parametrize('level', LEVELS)
def test_a_time_limit_ends_what_ignores_signals(stages, token, level):
    stage = stages('in')
    attack = Attack('stay', (token,), flags=('--timeout', '1s'))
    process = start(stage, stage.box(attack, level))
    assert process.wait(15) == 124
    assert await_none(token) == []


@pytest.mark.parametrize('level', LEVELS)
def test_ringwall_killed_at_any_moment_leaves_nothing(stages, level):
    """A hundred starts, each killed a little later than the one before, up to the time that a whole run takes."""
    stage = stages('in')
    command = stage.box(Attack('ran'), level)
    before, mounts, names = listing(stage), mountinfo(), leftovers()
    begin = time.monotonic()
    stage.run(command)
    whole = time.monotonic() - begin
    for step in range(100):
        process = subprocess.Popen(stage.box(Attack('idle', ('30',)), level), cwd=stage.work,
                                   env=stage.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * step / 100 * random.uniform(0.8, 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert await_none(str(stage.program)) == []
    assert listing(stage) == before
    assert mountinfo() == mounts
    assert left_since(names) == set()


def listing(stage):
    """Every name in the home and the workspace."""
    return sorted(os.path.join(where, name) for where, folders, files in os.walk(stage.home) for name in folders + files)


def mountinfo():
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        return file.read()


@pytest.mark.parametrize('level', LEVELS)
def test_a_run_leaves_no_name_behind(stages, level):
    """No placeholder for a protected name, in the workspace or at home; no mount; no temporary directory."""
    stage = stages('in')
    stage.box(Attack('ran'), level)     # writes the policy file, if there is one
    before, mounts, names = listing(stage), mountinfo(), leftovers()
    result = stage.run(stage.box(Attack('ran'), level))
    assert result.returncode == 0, result
    assert listing(stage) == before
    assert mountinfo() == mounts
    assert left_since(names) == set()


@pytest.mark.parametrize('level', LEVELS)
def test_no_placeholder_is_there_while_it_runs(stages, token, level):
    stage = stages('in')
    stage.box(Attack('ran'), level)
    before = listing(stage)
    process = start(stage, stage.box(Attack('stay', (token,)), level))
    started(process)
    assert listing(stage) == before
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert await_none(token) == []
