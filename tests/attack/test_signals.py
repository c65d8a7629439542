"""Attacks on processes of the host: signals, ptrace, memory, limits, priorities."""
import os
import signal
import subprocess

import pytest

from attack_host import LEVELS, Attack, Stage, assert_stopped, rows

UNREACHABLE = {'standard': 'EPERM', 'strict': 'ESRCH EPERM', 'maximum': 'ESRCH EPERM'}
BY_PIDFD = {'standard': 'EPERM ENOSYS', 'strict': 'ESRCH EPERM ENOSYS', 'maximum': 'ESRCH EPERM ENOSYS'}


def signals_victim(name, stopped=None, **more):
    return Attack(name, ('{victim}',), stopped or UNREACHABLE, effect=Stage.victim_died, **more)


@rows(
    signals_victim('signal'),
    signals_victim('kill'),
    signals_victim('signal_group'),
    signals_victim('signal_thread'),
    signals_victim('signal_thread_of_group'),
    signals_victim('signal_with_value'),
    signals_victim('signal_thread_with_value'),
    signals_victim('signal_by_pidfd', stopped=BY_PIDFD),
    # The kernel sends the signal later; at standard the call itself succeeds, but no signal arrives.
    signals_victim('signal_by_owner', may_succeed_at=('standard',)),
)
def test_no_signal_reaches_the_host(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    Attack('trace', ('{victim}',), BY_PIDFD),
    Attack('read_memory', ('{victim}', '{address}'), BY_PIDFD),
    Attack('write_memory', ('{victim}', '{address}'), BY_PIDFD),
    Attack('steal_descriptor', ('{victim}', '3'), BY_PIDFD, secret=True),
    Attack('advise_memory', ('{victim}', '{address}'), BY_PIDFD, only='root'),
    Attack('locate_pages', ('{victim}', '{address}'), BY_PIDFD, lacks='this kernel has no NUMA memory nodes'),
    Attack('compare_descriptors', ('{victim}',), BY_PIDFD),
    Attack('perf_event_open_other', ('{victim}',), {**BY_PIDFD, 'standard': 'EPERM EACCES ENOSYS'}),
)
def test_processes_of_the_host_cannot_be_traced_or_read(stages, attack, level):
    assert_stopped(stages, attack, level)


def core_limit_is_zero(stage):
    with open(f'/proc/{stage.process.pid}/limits', encoding='utf-8') as file:
        return any(line.split()[-3:-1] == ['0', '0'] for line in file if line.startswith('Max core file size'))


@rows(
    Attack('limit_process', ('{victim}',), UNREACHABLE, effect=core_limit_is_zero),
    Attack('lower_priority', ('{victim}',), UNREACHABLE,
           effect=lambda stage: os.getpriority(os.PRIO_PROCESS, stage.process.pid) == 19),
    Attack('pin_process', ('{victim}',), UNREACHABLE,
           effect=lambda stage: os.sched_getaffinity(stage.process.pid) == {0}, lacks='this machine has one processor'),
    Attack('schedule_process', ('{victim}',), UNREACHABLE,
           effect=lambda stage: os.sched_getscheduler(stage.process.pid) == os.SCHED_IDLE),
    Attack('schedule_by_attributes', ('{victim}',), UNREACHABLE,
           effect=lambda stage: os.sched_getscheduler(stage.process.pid) == os.SCHED_IDLE),
    Attack('lower_io_priority', ('{victim}',), UNREACHABLE),
)
def test_limits_and_priorities_of_processes_of_the_host_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', ['signal', 'kill', 'trace'])
def test_keeper_of_the_box_survives(stages, name, level):
    """Outside, the parent dies or is traced. Inside, the parent is ringwall or its keeper, and the exit status of the
    attack still arrives: 1 if the call failed, or 0 because the kernel discards signals to pid 1 of a namespace."""
    stage = stages('out')
    result = stage.run(stage.command(Attack(name, ('parent',))))
    assert result.stdout.startswith('did:') or result.returncode in (-15, -9), result
    stage = stages('in')
    result = stage.run(stage.box(Attack(name, ('parent',)), level))
    output = result.stdout + result.stderr
    assert result.stdout.strip() in ('failed: EPERM', 'failed: EACCES', 'failed: ESRCH') and result.returncode == 1 or \
        name in ('signal', 'kill') and level != 'standard' and result.stdout.startswith('did:') and \
        result.returncode == 0, output


@pytest.mark.parametrize('level', LEVELS)
def test_kill_of_the_own_process_group_does_not_kill_ringwall(stages, level):
    """Outside, the shell that started the attack dies too. Inside, ringwall survives and reports the signal."""
    stage = stages('out')
    result = stage.run(stage.command(Attack('signal_own_group')))
    assert result.returncode == -signal.SIGKILL, result
    stage = stages('in')
    result = stage.run(stage.box(Attack('signal_own_group'), level))
    assert result.returncode == 128 + signal.SIGKILL, result


@pytest.mark.parametrize('level', LEVELS)
def test_signal_to_all_processes_stays_inside(stages, level):
    """"Outside" is a pid namespace of the test, because kill(-1) on the host itself would kill everything."""
    stage = stages('out')
    script = 'mount -t proc proc /proc; sleep 30 & "$0" signal_all; wait $!; echo "died: $?"'
    result = subprocess.run(['unshare', '-Urpmf', '--kill-child', 'sh', '-c', script, stage.program], cwd=stage.work,
                            capture_output=True, text=True, timeout=20, start_new_session=True)
    assert 'did:' in result.stdout and 'died: 143' in result.stdout, result
    stage = stages('in')
    stage.start_victim()
    result = stage.run(stage.box(Attack('signal_all'), level))
    assert not stage.victim_died(), result
    assert result.returncode in (0, 1) and result.stdout.strip() in ('failed: EPERM', 'failed: ESRCH',
                                                                     'did: it worked'), \
        result
