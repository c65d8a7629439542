"""tools/demonstrate, which ./run without arguments starts: the first thing that a newcomer sees."""
import os
import subprocess

import pytest


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp('demonstration')


@pytest.fixture(scope='module')
def output(repo, build, directory):
    result = subprocess.run([repo / 'tools/demonstrate', build / 'ringwall'], capture_output=True, text=True,
                            timeout=60,
                            env={'HOME': str(directory), 'PATH': '/usr/bin:/bin', 'TMPDIR': str(directory)})
    assert (result.returncode, result.stderr) == (0, '')
    return result.stdout


@pytest.mark.parametrize('action', ['read an ssh key', 'write to the shell', 'delete the project', 'reach a server',
                                    'see a process of yours', 'leave a daemon behind'])
def test_action_succeeds_outside_and_fails_inside(output, action):
    line = next(line for line in output.splitlines() if line.strip().startswith(action))
    assert line.split()[-2:] == ['yes', 'no']


def test_number_of_processes_is_limited_except_for_root(output):
    line = next(line for line in output.splitlines() if 'start processes without end' in line)
    outside, inside = line.split()[-2:]
    assert outside == '200' and (int(inside) < 60 or os.geteuid() == 0)


def test_doctor_reports_every_level_at_the_end(output):
    levels = output.split('What this machine can enforce')[1]
    assert all(f'  {level} ' in levels for level in ('standard', 'strict', 'maximum'))


def test_no_file_is_left_behind(output, directory):
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize('missing, level, expected', [
    ('move_mount=EPERM', 'standard', 'inside one (level standard)'),
    ('landlock_create_ruleset=ENOSYS', 'off', 'No box can be made on this machine'),
])
def test_demonstration_names_the_strictest_level_that_works(repo, build, tmp_path, missing, level, expected):
    """It shows the strictest level that works here. Where none works it says so: a box that did not start would look
    like a box that stopped everything."""
    result = subprocess.run([next(build.glob('**/deny_syscalls')), missing, '--', repo / 'tools/demonstrate',
                             build / 'ringwall'],
                            capture_output=True, text=True, timeout=60,
                            env={'HOME': str(tmp_path), 'PATH': '/usr/bin:/bin', 'TMPDIR': str(tmp_path)})
    assert expected in result.stdout
