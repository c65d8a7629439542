"""Signals to, and power over, processes of the host."""
import os
import signal
import subprocess

import pytest

from stage import LEVELS, Attack, Stage, hold, rows

GONE = {'standard': 'EPERM', 'strict': 'ESRCH EPERM', 'maximum': 'ESRCH EPERM'}
BY_PIDFD = {'standard': 'EPERM ENOSYS', 'strict': 'ESRCH EPERM ENOSYS', 'maximum': 'ESRCH EPERM ENOSYS'}


def deadly(name, stopped=None, **more):
    return Attack(name, ('{victim}',), stopped or GONE, effect=Stage.victim_died, **more)


@rows(
    deadly('signal'),
    deadly('kill'),
    deadly('signal_group'),
    deadly('signal_thread'),
    deadly('signal_thread_of_group'),
    deadly('signal_with_value'),
    deadly('signal_thread_with_value'),
    deadly('signal_by_pidfd', stopped=BY_PIDFD),
    # The kernel sends it later, so at standard the call itself succeeds and nothing arrives.
    deadly('signal_by_owner', private=('standard',)),
)
def test_no_signal_reaches_the_host(stages, attack, level):
    hold(stages, attack, level)


@rows(
    Attack('trace', ('{victim}',), BY_PIDFD),
    Attack('read_memory', ('{victim}', '{address}'), BY_PIDFD),
    Attack('write_memory', ('{victim}', '{address}'), BY_PIDFD),
    Attack('steal_descriptor', ('{victim}', '3'), BY_PIDFD, secret=True),
    Attack('advise_memory', ('{victim}', '{address}'), BY_PIDFD, only='root'),
    Attack('locate_pages', ('{victim}', '{address}'), BY_PIDFD, lacks='no memory nodes here'),
    Attack('compare_descriptors', ('{victim}',), BY_PIDFD),
    Attack('perf_other', ('{victim}',), {**BY_PIDFD, 'standard': 'EPERM EACCES ENOSYS'}),
)
def test_no_process_of_the_host_is_opened(stages, attack, level):
    hold(stages, attack, level)


def limit_lowered(stage):
    with open(f'/proc/{stage.process.pid}/limits', encoding='utf-8') as file:
        return any(line.split()[-3:-1] == ['0', '0'] for line in file if line.startswith('Max core file size'))


@rows(
    Attack('limit_process', ('{victim}',), GONE, effect=limit_lowered),
    Attack('slow_process', ('{victim}',), GONE,
           effect=lambda stage: os.getpriority(os.PRIO_PROCESS, stage.process.pid) == 19),
    Attack('pin_process', ('{victim}',), GONE, effect=lambda stage: os.sched_getaffinity(stage.process.pid) == {0},
           lacks='there is one processor only'),
    Attack('schedule_process', ('{victim}',), GONE,
           effect=lambda stage: os.sched_getscheduler(stage.process.pid) == os.SCHED_IDLE),
    Attack('schedule_by_attributes', ('{victim}',), GONE,
           effect=lambda stage: os.sched_getscheduler(stage.process.pid) == os.SCHED_IDLE),
    Attack('slow_disk_of', ('{victim}',), GONE),
)
def test_no_process_of_the_host_is_slowed(stages, attack, level):
    hold(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', ['signal', 'kill', 'trace'])
def test_the_keeper_of_the_box_survives(stages, name, level):
    """Outside, the parent dies or is traced; inside, the parent is ringwall or its keeper, and the command's own exit
    status still arrives: 1, because it was stopped, or 0, because a namespace's first process does not hear it."""
    stage = stages('out')
    result = stage.run(stage.command(Attack(name, ('parent',))))
    assert result.stdout.startswith('did:') or result.returncode in (-15, -9), result
    stage = stages('in')
    result = stage.run(stage.box(Attack(name, ('parent',)), level))
    told = result.stdout + result.stderr
    assert result.stdout.strip() in ('failed: EPERM', 'failed: EACCES', 'failed: ESRCH') and result.returncode == 1 or \
        name in ('signal', 'kill') and level != 'standard' and result.stdout.startswith('did:') and \
        result.returncode == 0, told


@pytest.mark.parametrize('level', LEVELS)
def test_a_kill_of_the_own_group_stays_inside(stages, level):
    """Outside, the shell that started it dies with it. Inside, ringwall lives to tell how the command ended."""
    stage = stages('out')
    result = stage.run(stage.command(Attack('signal_own_group')))
    assert result.returncode == -signal.SIGKILL, result
    stage = stages('in')
    result = stage.run(stage.box(Attack('signal_own_group'), level))
    assert result.returncode == 128 + signal.SIGKILL, result


@pytest.mark.parametrize('level', LEVELS)
def test_kill_of_everybody_stays_inside(stages, level):
    """Outside is a pid namespace that the test makes: kill(-1) on the host itself would end the machine's work."""
    stage = stages('out')
    script = 'mount -t proc proc /proc; sleep 30 & "$0" signal_everybody; wait $!; echo "died: $?"'
    result = subprocess.run(['unshare', '-Urpmf', '--kill-child', 'sh', '-c', script, stage.program], cwd=stage.work,
                            capture_output=True, text=True, timeout=20, start_new_session=True)
    assert 'did:' in result.stdout and 'died: 143' in result.stdout, result
    stage = stages('in')
    stage.start_victim()
    result = stage.run(stage.box(Attack('signal_everybody'), level))
    assert not stage.victim_died(), result
    assert result.returncode in (0, 1) and result.stdout.strip() in ('failed: EPERM', 'failed: ESRCH', 'did: it worked'), \
        result
