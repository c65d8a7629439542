"""Reports about a run: messages, --json-report, --audit."""
import json
import os
import stat
import subprocess

import pytest

# The programs of a box may use its own network. This policy denies them that, so a socket is refused.
NO_SOCKETS = 'tools: {capabilities: {deny: [net.socket]}}\n'
SOCKETS = 'import socket\nfor i in range(3):\n try: socket.socket()\n except OSError: pass\nexit(3)'


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def no_sockets(workspace):
    (workspace / 'p.yaml').write_text(NO_SOCKETS)
    return 'p.yaml'


# --- messages ---

def test_refusals_are_reported_if_the_command_fails(ringwall, no_sockets):
    result = ringwall('run', '-p', no_sockets, '--', 'python3', '-c', SOCKETS)
    assert result.returncode == 3
    assert result.stderr == ('ringwall run: refused 3 times: a network socket (socket), by allow_network '
                             f'({no_sockets}:1:31)\n')


def test_refusal_names_the_setting_behind_it(ringwall, workspace):
    (workspace / 'p.yaml').write_text('tools:\n  modules:\n    filesystem:\n')
    result = ringwall('run', '-p', 'p.yaml', '--', 'sh', '-c', 'exec ls')
    assert result.returncode != 0 and ': starting a program (execve), by allow_exec (' in result.stderr


def test_refusals_are_not_reported_if_the_command_succeeds_unless_verbose(ringwall, no_sockets):
    script = SOCKETS.replace('exit(3)', '')
    assert ringwall('run', '-p', no_sockets, '--', 'python3', '-c', script).stderr == ''
    result = ringwall('run', '-v', '-p', no_sockets, '--', 'python3', '-c', script)
    assert result.returncode == 0 and 'level strict' in result.stderr and 'refused 3 times' in result.stderr


def test_quiet_prints_only_errors(ringwall, no_sockets):
    assert ringwall('run', '-q', '-p', no_sockets, '--', 'python3', '-c', SOCKETS).stderr == ''
    assert 'cannot run' in ringwall('run', '-q', '--', 'no-such-command').stderr


@pytest.mark.parametrize('level', ['standard'])
def test_quiet_prints_no_warning_about_rules_that_are_not_enforced(ringwall, workspace, level):
    (workspace / '.git/hooks').mkdir(parents=True)
    assert ringwall('run', '-q', '--level', 'standard', '--', 'true').stderr == ''


def test_many_different_refusals_are_counted_in_a_bounded_list(ringwall, workspace, no_sockets):
    script = ('import ctypes, json\nlibc = ctypes.CDLL(None)\nfor i in range(20000): libc.socket(i % 60 + 2, 1, 0)\n')
    result = ringwall('run', '-p', no_sockets, '--json-report', 'r.json', '--', 'python3', '-c', script)
    denied = json.loads((workspace / 'r.json').read_text())['denied']
    assert result.returncode == 0 and len(denied) == 32 and sum(entry['count'] for entry in denied) == 20000


# --- --json-report ---

@pytest.mark.parametrize('level', ['standard', 'strict', 'maximum'])
def test_report_has_command_walls_and_end(ringwall, workspace, level):
    ringwall('run', '--level', level, '--timeout', '1m', '--json-report', 'r.json', '--', 'sh', '-c', 'kill -9 $$')
    report = json.loads((workspace / 'r.json').read_text())
    assert report['command'] == ['sh', '-c', 'kill -9 $$'] and report['workspace'] == str(workspace)
    assert report['enforced']['level'] == level and report['enforced']['timeout'] == '1m'
    walls = report['enforced']['walls']
    assert {'guard', 'net', 'harden', 'landlock', 'seccomp'} == set(walls) - {'namespaces', 'limits'}
    assert ('namespaces' in walls) == (level != 'standard')
    assert level != 'maximum' or 'net' in walls['namespaces']
    assert report['end'].pop('milliseconds') >= 0
    assert report['end'] == {'how': 'signalled', 'status': 137, 'signal': 9} and report['denied'] == []
    assert stat.S_IMODE((workspace / 'r.json').stat().st_mode) == 0o600


def test_report_goes_to_a_descriptor_that_the_command_cannot_write_to(build, home, workspace):
    reader, writer = os.pipe()
    subprocess.run([build / 'ringwall', 'run', '--json-report', str(writer), '--', 'sh', '-c', f'echo x >&{writer}'],
                   cwd=workspace, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, pass_fds=[writer], check=False,
                   stderr=subprocess.DEVNULL)
    os.close(writer)
    with open(reader, encoding='utf-8') as file:
        assert json.load(file)['end']['how'] == 'exited'        # and nothing that the command wrote


@pytest.mark.parametrize('flags, how, error', [
    (['--timeout', '1s', '--', 'sleep', '60'], 'timed_out', None),
    (['--', 'no-such-command'], 'not_started', 'cannot run no-such-command'),
    (['--unix-socket', '/run/x', '--', 'true'], 'failed', 'cannot open the unix socket /run/x'),
])
def test_report_says_how_the_command_ended(ringwall, workspace, flags, how, error):
    ringwall('run', '--json-report', 'r.json', *flags)
    end = json.loads((workspace / 'r.json').read_text())['end']
    assert end['how'] == how and (error is None or error in end['error'])


@pytest.mark.parametrize('path', ['link', 'folder/r.json'])
def test_report_does_not_follow_symbolic_links_in_the_workspace(ringwall, home, workspace, path):
    (home / 'r.json').write_text('precious')
    (workspace / 'link').symlink_to('../r.json')
    (workspace / 'folder').symlink_to('..')
    result = ringwall('run', '--json-report', path, '--', 'touch', 'ran')
    assert result.returncode == 125 and 'symbolic links' in result.stderr and not (workspace / 'ran').exists()
    assert (home / 'r.json').read_text() == 'precious'


def test_level_off_refuses_to_record_or_report(ringwall, home, workspace):
    for flags in (['--audit', str(home / 'a')], ['--json-report', 'r.json']):
        assert ringwall('run', '--level', 'off', *flags, '--', 'touch', 'ran').returncode == 125
    assert not (workspace / 'ran').exists()


@pytest.mark.parametrize('path', ['/no/such/folder/r.json', '99', ''])
def test_command_does_not_run_if_the_report_cannot_be_written(ringwall, workspace, path):
    result = ringwall('run', '--json-report', path, '--', 'touch', 'ran')
    assert result.returncode == 125 and 'report' in result.stderr and not (workspace / 'ran').exists()


# --- --audit ---

def test_record_has_the_events_of_each_run_and_is_appended_to(ringwall, home, no_sockets):
    path = home / 'audit.jsonl'
    for _ in range(2):
        ringwall('run', '-p', no_sockets, '--audit', str(path), '--', 'python3', '-c', SOCKETS)
    events = records(path)
    first = [event for event in events if event['session'] == events[0]['session']]
    assert [event['event'] for event in first] == ['session_start', 'namespace_created', 'hardening_applied',
                                                   'sandbox_applied', 'syscall_intercepted', 'session_end']
    assert len(events) == 12 and len({event['session'] for event in events}) == 2      # appended, not replaced
    assert first[-1]['status'] == 3 and first[-2]['count'] == 3 and all('T' in event['time'] for event in events)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_policy_with_audit_records_in_the_state_directory(ringwall, home, workspace):
    (workspace / 'p.yaml').write_text('security: {sandbox: {audit: true}}\n')
    assert ringwall('run', '-p', 'p.yaml', '--', 'true').returncode == 0
    [path] = (home / '.local/state/ringwall/audit').iterdir()
    assert records(path)[-1]['event'] == 'session_end'


@pytest.mark.parametrize('path, error', [
    ('inside.jsonl', 'the box may write'), ('link/inside.jsonl', 'the box may write'), ('/no/such/audit', 'audit'),
    ('{home}/link', 'link'), ('{home}/open', 'can be written by others'), ('/dev/null', 'the box may write'),
    ('{home}', 'directory'),
])
def test_record_that_could_be_forged_or_not_written_is_refused(ringwall, home, workspace, path, error):
    (home / 'target').write_text('')
    (home / 'link').symlink_to('target')
    (home / 'open').write_text('')
    (home / 'open').chmod(0o666)
    (workspace / 'link').symlink_to('.')
    result = ringwall('run', '--audit', path.format(home=home), '--', 'touch', 'ran')
    assert result.returncode == 125 and error in result.stderr and not (workspace / 'ran').exists()
