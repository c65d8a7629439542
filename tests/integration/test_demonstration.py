"""./run without arguments: what a newcomer sees first."""
import os
import subprocess

import pytest


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    return tmp_path_factory.mktemp('demonstration')


@pytest.fixture(scope='module')
def shown(repo, build, place):
    result = subprocess.run([repo / 'tools/demonstrate', build / 'ringwall'], capture_output=True, text=True, timeout=60,
                            env={'HOME': str(place), 'PATH': '/usr/bin:/bin', 'TMPDIR': str(place)})
    assert (result.returncode, result.stderr) == (0, '')
    return result.stdout


@pytest.mark.parametrize('what', ['read an ssh key', 'write to the shell', 'delete the project', 'reach a server',
                                  'see a process of yours', 'leave a daemon behind'])
def test_it_succeeds_outside_and_fails_inside(shown, what):
    line = next(line for line in shown.splitlines() if line.strip().startswith(what))
    assert line.split()[-2:] == ['yes', 'no']


def test_processes_are_limited_unless_root(shown):
    line = next(line for line in shown.splitlines() if 'start processes without end' in line)
    outside, inside = line.split()[-2:]
    assert outside == '200' and (int(inside) < 60 or os.geteuid() == 0)


def test_the_verdict_of_the_doctor_follows(shown):
    levels = shown.split('What this machine can hold')[1]
    assert all(f'  {level} ' in levels for level in ('standard', 'strict', 'maximum'))


def test_nothing_is_left(shown, place):
    assert list(place.iterdir()) == []


@pytest.mark.parametrize('missing, level, told', [
    ('move_mount=EPERM', 'standard', 'inside one (level standard)'),
    ('landlock_create_ruleset=ENOSYS', 'off', 'No box can be made on this machine'),
])
def test_where_less_can_be_held_it_says_so(repo, build, tmp_path, missing, level, told):
    """It shows the strictest level that works, and never the silence of a box that did not start."""
    result = subprocess.run([next(build.glob('**/withhold')), missing, '--', repo / 'tools/demonstrate', build / 'ringwall'],
                            capture_output=True, text=True, timeout=60,
                            env={'HOME': str(tmp_path), 'PATH': '/usr/bin:/bin', 'TMPDIR': str(tmp_path)})
    assert told in result.stdout
