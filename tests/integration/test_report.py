"""What is told about a run: lines for a person, --json-report, --audit."""
import json
import os
import stat
import subprocess

import pytest

SOCKETS = 'import socket\nfor i in range(3):\n try: socket.socket()\n except OSError: pass\nexit(3)'


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- for a person ---

def test_a_failed_command_is_told_what_was_refused(ringwall):
    result = ringwall('run', '--', 'python3', '-c', SOCKETS)
    assert result.returncode == 3
    assert result.stderr == ('ringwall run: refused 3 times: a network socket (socket), by allow_network (default); '
                             'to allow it: --allow-domain HOST\n')


def test_the_source_of_the_rule_is_named(ringwall, workspace):
    (workspace / 'p.yaml').write_text('tools:\n  modules:\n    filesystem:\n')
    result = ringwall('run', '-p', 'p.yaml', '--', 'sh', '-c', 'exec ls')
    assert result.returncode != 0 and ': starting a program (execve), by allow_exec (' in result.stderr


def test_a_command_that_succeeds_is_not_commented(ringwall):
    script = SOCKETS.replace('exit(3)', '')
    assert ringwall('run', '--', 'python3', '-c', script).stderr == ''
    result = ringwall('run', '-v', '--', 'python3', '-c', script)
    assert result.returncode == 0 and 'level strict' in result.stderr and 'refused 3 times' in result.stderr


def test_quiet(ringwall):
    assert ringwall('run', '-q', '--', 'python3', '-c', SOCKETS).stderr == ''
    assert 'cannot run' in ringwall('run', '-q', '--', 'no-such-command').stderr


@pytest.mark.parametrize('level', ['standard'])
def test_quiet_about_what_is_not_protected(ringwall, workspace, level):
    (workspace / '.git/hooks').mkdir(parents=True)
    assert ringwall('run', '-q', '--level', 'standard', '--', 'true').stderr == ''


def test_a_flood_of_refusals_is_counted_and_bounded(ringwall, workspace):
    script = ('import ctypes, json\nlibc = ctypes.CDLL(None)\nfor i in range(20000): libc.socket(i % 60 + 2, 1, 0)\n')
    result = ringwall('run', '--json-report', 'r.json', '--', 'python3', '-c', script)
    denied = json.loads((workspace / 'r.json').read_text())['denied']
    assert result.returncode == 0 and len(denied) == 32 and sum(entry['count'] for entry in denied) == 20000


# --- --json-report ---

@pytest.mark.parametrize('level', ['standard', 'strict', 'maximum'])
def test_the_report(ringwall, workspace, level):
    ringwall('run', '--level', level, '--timeout', '1m', '--json-report', 'r.json', '--', 'sh', '-c', 'kill -9 $$')
    report = json.loads((workspace / 'r.json').read_text())
    assert report['command'] == ['sh', '-c', 'kill -9 $$'] and report['workspace'] == str(workspace)
    assert report['enforced']['level'] == level and report['enforced']['timeout'] == '1m'
    walls = report['enforced']['walls']
    assert {'net', 'harden', 'landlock', 'seccomp'} == set(walls) - {'spaces', 'limits'}
    assert ('spaces' in walls) == (level != 'standard')
    assert level != 'maximum' or 'net' in walls['spaces']
    assert report['end'].pop('milliseconds') >= 0
    assert report['end'] == {'how': 'signalled', 'status': 137, 'signal': 9} and report['denied'] == []
    assert stat.S_IMODE((workspace / 'r.json').stat().st_mode) == 0o600


def test_the_report_to_a_descriptor(build, home, workspace):
    reader, writer = os.pipe()
    subprocess.run([build / 'ringwall', 'run', '--json-report', str(writer), '--', 'sh', '-c', f'echo x >&{writer}'],
                   cwd=workspace, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, pass_fds=[writer], check=False,
                   stderr=subprocess.DEVNULL)
    os.close(writer)
    with open(reader, encoding='utf-8') as file:
        assert json.load(file)['end']['how'] == 'exited'        # and the command could not write into it


@pytest.mark.parametrize('flags, how, said', [
    (['--timeout', '1s', '--', 'sleep', '60'], 'timed_out', None),
    (['--', 'no-such-command'], 'not_started', 'cannot run no-such-command'),
    (['--unix-socket', '/run/x', '--', 'true'], 'failed', 'cannot take the unix socket /run/x'),
])
def test_the_report_says_how_it_ended(ringwall, workspace, flags, how, said):
    ringwall('run', '--json-report', 'r.json', *flags)
    end = json.loads((workspace / 'r.json').read_text())['end']
    assert end['how'] == how and (said is None or said in end['error'])


@pytest.mark.parametrize('where', ['link', 'folder/r.json'])
def test_a_link_from_an_earlier_run_does_not_lead_the_report_astray(ringwall, home, workspace, where):
    (home / 'r.json').write_text('precious')
    (workspace / 'link').symlink_to('../r.json')
    (workspace / 'folder').symlink_to('..')
    result = ringwall('run', '--json-report', where, '--', 'touch', 'ran')
    assert result.returncode == 125 and 'symbolic links' in result.stderr and not (workspace / 'ran').exists()
    assert (home / 'r.json').read_text() == 'precious'


def test_level_off_does_not_pretend_to_record(ringwall, home, workspace):
    for flags in (['--audit', str(home / 'a')], ['--json-report', 'r.json']):
        assert ringwall('run', '--level', 'off', *flags, '--', 'touch', 'ran').returncode == 125
    assert not (workspace / 'ran').exists()


@pytest.mark.parametrize('where', ['/no/such/folder/r.json', '99', ''])
def test_a_report_that_cannot_be_written_stops_the_run(ringwall, workspace, where):
    result = ringwall('run', '--json-report', where, '--', 'touch', 'ran')
    assert result.returncode == 125 and 'report' in result.stderr and not (workspace / 'ran').exists()


# --- --audit ---

def test_the_record(ringwall, home):
    path = home / 'audit.jsonl'
    for _ in range(2):
        ringwall('run', '--audit', str(path), '--', 'python3', '-c', SOCKETS)
    events = records(path)
    first = [event for event in events if event['session'] == events[0]['session']]
    assert [event['event'] for event in first] == ['session_start', 'namespace_created', 'hardening_applied',
                                                   'sandbox_applied', 'syscall_intercepted', 'session_end']
    assert len(events) == 12 and len({event['session'] for event in events}) == 2      # appended, not replaced
    assert first[-1]['status'] == 3 and first[-2]['count'] == 3 and all('T' in event['time'] for event in events)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_record_of_a_policy_has_a_place_of_its_own(ringwall, home, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {audit: true}}\n')
    assert ringwall('run', '-p', 'p.yaml', '--', 'true').returncode == 0
    [path] = (home / '.local/state/ringwall/audit').iterdir()
    assert records(path)[-1]['event'] == 'session_end'


@pytest.mark.parametrize('where, said', [
    ('inside.jsonl', 'the box may write'), ('link/inside.jsonl', 'the box may write'), ('/no/such/audit', 'audit'),
    ('{home}/link', 'link'), ('{home}/open', 'can be written by others'), ('/dev/null', 'the box may write'),
    ('{home}', 'directory'),
])
def test_a_record_that_would_be_none_is_refused(ringwall, home, workspace, where, said):
    (home / 'target').write_text('')
    (home / 'link').symlink_to('target')
    (home / 'open').write_text('')
    (home / 'open').chmod(0o666)
    (workspace / 'link').symlink_to('.')
    result = ringwall('run', '--audit', where.format(home=home), '--', 'touch', 'ran')
    assert result.returncode == 125 and said in result.stderr and not (workspace / 'ran').exists()
