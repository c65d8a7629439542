"""Processes that try to outlive the box, and files, mounts and processes that ringwall could leave behind."""
import contextlib
import os
import random
import secrets
import signal
import subprocess
import time

import pytest

from leftovers import left_since, leftovers
from attack_host import LEVELS, Attack, find_processes, wait_until_gone, wait_until_running

DAEMONS = ['leave_daemon', 'leave_stubborn_daemon', 'leave_stopped_daemon', 'leave_forking_daemon', 'leave_subreaper']


@pytest.fixture
def token():
    """A word for the command lines of an attack; processes that have it are killed after the test."""
    word = f'token{secrets.token_hex(8)}'
    yield word
    for _ in range(50):     # several rounds, for processes that fork faster than they are found
        found = find_processes(word)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            break


def start(stage, command):
    """Starts a command without a shell, so that a signal to the process is a signal to ringwall."""
    process = subprocess.Popen(command, cwd=stage.work, env=stage.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    stage.closing.callback(process.stdout.close)
    stage.closing.callback(process.wait)
    stage.closing.callback(process.kill)
    return process


def wait_until_started(process):
    assert process.stdout.readline().startswith(b'did:')


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', DAEMONS)
def test_no_daemon_outlives_the_command(stages, token, name, level):
    stage = stages('out')
    result = stage.run(stage.command(Attack(name, (token,))))
    assert result.returncode == 0 and wait_until_running(token), 'outside of a box the process stays'
    inner = token[::-1]
    stage = stages('in')
    result = stage.run(stage.box(Attack(name, (inner,)), level))
    assert result.returncode == 0, result
    assert wait_until_gone(inner, 10) == []


@pytest.mark.parametrize('level', LEVELS)
def test_command_dies_with_a_killed_ringwall(stages, token, level):
    """Outside, a command survives the death of the shell that started it. Inside, no process survives that of ringwall,
    not even one that ignores all signals and has a session of its own."""
    stage = stages('out')
    process = start(stage, ['/bin/sh', '-c', '"$@"; exit', 'sh', *stage.command(Attack('ignore_signals', (token,)))])
    wait_until_started(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)
    assert find_processes(token), 'outside of a box the process stays'
    inner = token[::-1]
    stage = stages('in')
    process = start(stage, stage.box(Attack('ignore_signals', (inner,)), level))
    wait_until_started(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until_gone(inner) == []


@pytest.mark.parametrize('level', LEVELS)
def test_time_limit_ends_a_command_that_ignores_signals(stages, token, level):
    stage = stages('in')
    attack = Attack('ignore_signals', (token,), flags=('--timeout', '1s'))
    process = start(stage, stage.box(attack, level))
    assert process.wait(15) == 124
    assert wait_until_gone(token) == []


@pytest.mark.parametrize('level', LEVELS)
def test_ringwall_killed_at_any_moment_leaves_no_process_file_or_mount(stages, level):
    """Starts ringwall a hundred times and kills it later each time, up to the duration of a complete run."""
    stage = stages('in')
    command = stage.box(Attack('ran'), level)
    files, mounts, names = listing(stage), mountinfo(), leftovers()
    begin = time.monotonic()
    stage.run(command)
    duration = time.monotonic() - begin
    for step in range(100):
        process = subprocess.Popen(stage.box(Attack('sleep', ('30',)), level), cwd=stage.work,
                                   env=stage.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(duration * step / 100 * random.uniform(0.8, 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert wait_until_gone(str(stage.program)) == []
    assert listing(stage) == files
    assert mountinfo() == mounts
    assert left_since(names) == set()


def listing(stage):
    """All paths in the home, which contains the workspace."""
    return sorted(os.path.join(where, name) for where, folders,
                  files in os.walk(stage.home) for name in folders + files)


def mountinfo():
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        return file.read()


@pytest.mark.parametrize('level', LEVELS)
def test_run_leaves_no_file_and_no_mount_behind(stages, level):
    """No placeholder for a protected name in the workspace or the home, no mount, no temporary directory."""
    stage = stages('in')
    files, mounts, names = listing(stage), mountinfo(), leftovers()
    result = stage.run(stage.box(Attack('ran'), level))
    assert result.returncode == 0, result
    assert listing(stage) == files
    assert mountinfo() == mounts
    assert left_since(names) == set()


@pytest.mark.parametrize('level', LEVELS)
def test_running_box_creates_no_placeholders(stages, token, level):
    stage = stages('in')
    files = listing(stage)
    process = start(stage, stage.box(Attack('ignore_signals', (token,)), level))
    wait_until_started(process)
    assert listing(stage) == files
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until_gone(token) == []
