"""The allowed hosts change while a box runs: with network.live in the policy, ringwall watches the policy files."""
import json
import os
import select
import signal
import subprocess
import time

import pytest

from fake_internet import GOOD, OTHER
from procfs import files_of_all

# Runs in the box. Each line of its input is a name, a port and a word; it connects, sends a line, and prints the answer
# or the error. With the word "keep" it keeps the connection open; with "kept" it uses that connection again.
CLIENT = '''
import socket, sys
kept = None
for line in sys.stdin:
    name, port, word = line.split()
    try:
        connection = kept if word == "kept" else socket.create_connection((name, int(port)), 10)
        connection.sendall(b"word\\n")
        answer = connection.recv(100).decode().strip() or "closed"
        if word == "keep":
            kept = connection
    except OSError as error:
        answer = type(error).__name__
    print(answer, flush=True)
'''
ECHO = 'echo.good.example'


class Box:
    """A running box with CLIENT in it. The test rewrites its policy meanwhile."""

    def __init__(self, ringwall, folder, workspace, flags=(), name='policy.yaml', **options):
        self.policy, self.record = folder / name, folder / 'record'
        self.errors = folder / 'errors'
        if not self.policy.exists():
            self.write_policy(**options)
        with open(self.errors, 'w', encoding='utf-8') as errors:
            self.process = subprocess.Popen(
                [ringwall, 'run', '-p', self.policy, f'--audit={self.record}', *flags, '--', '/usr/bin/python3', '-c',
                 CLIENT],
                cwd=workspace, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True,
                env={'PATH': '/usr/bin:/bin', 'HOME': str(folder)})

    def write_policy(self, hosts=(), live='new', level='strict', denied=()):
        """Replaces the policy by a rename, as editors do."""
        new = self.policy.with_name('new')
        new.write_text(json.dumps({'security': {'sandbox': {'level': level}},
                                   'network': {'live': live, 'allowed_domains': list(hosts),
                                               'denied_domains': list(denied)}}))
        os.replace(new, self.policy)

    def connect(self, name, port, word='once'):
        """Has CLIENT connect, and returns what it prints."""
        self.process.stdin.write(f'{name} {port} {word}\n')
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        return self.process.stdout.readline().strip() if ready else 'nothing'

    def changes(self):
        """The events network_changed of the record."""
        events = [json.loads(line) for line in self.record.read_text().splitlines()]
        return [event for event in events if event['event'] == 'network_changed']

    def change_policy(self, **options):
        """Replaces the policy, waits until the change is in the record, and returns its event."""
        count = len(self.changes())
        self.write_policy(**options)
        return self.wait_for_change(count)

    def wait_for_change(self, previous_count):
        deadline = time.monotonic() + 10
        while len(self.changes()) == previous_count:
            assert time.monotonic() < deadline, self.errors.read_text()
            time.sleep(0.01)
        return self.changes()[-1]

    def wait_for_message(self, message):
        """Waits until ringwall has printed the message, at most 10 seconds."""
        deadline = time.monotonic() + 10
        while message not in self.errors.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)

    def finish(self):
        """Closes CLIENT's input, waits for the box, and returns its exit status and error output."""
        self.process.communicate(timeout=20)
        return self.process.returncode, self.errors.read_text()


@pytest.fixture
def start_box(build, internet, tmp_path, workspace):
    """Starts a Box: start_box(hosts=[…], live='all')."""
    boxes = []

    def start(**options):
        boxes.append(Box(build / 'ringwall', tmp_path, workspace, **options))
        return boxes[-1]
    yield start
    for box in boxes:
        box.process.kill()
        box.process.communicate()


def parent_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return int(file.read().rpartition(')')[2].split()[1])


each_level = pytest.mark.parametrize('level', ['strict', 'maximum'])


@each_level
def test_hosts_are_added_and_removed(start_box, level):
    box = start_box(level=level)
    assert box.connect(ECHO, 7) == 'gaierror'
    change = box.change_policy(hosts=[f'{ECHO}:7'], level=level)
    assert (change['added'], change['removed'], change['closed']) == ([f'allow {ECHO}:7'], [], 0)
    assert box.connect(ECHO, 7, 'keep') == 'word'
    change = box.change_policy(hosts=[GOOD], level=level)
    assert (change['added'], change['removed'], change['closed']) == ([f'allow {GOOD}'], [f'allow {ECHO}:7'], 0)
    assert box.connect(ECHO, 7) == 'gaierror'
    assert box.connect(ECHO, 7, 'kept') == 'word'       # live: new closes no open connection
    status, errors = box.finish()
    assert status == 0 and f'{ECHO}, no rule allows it' in errors


@each_level
def test_live_all_closes_open_connections_to_removed_hosts(start_box, level):
    box = start_box(hosts=[f'{ECHO}:7', f'{GOOD}:22'], live='all', level=level)
    assert box.connect(ECHO, 7, 'keep') == 'word'
    assert box.change_policy(hosts=[f'{ECHO}:7'], live='all', level=level)['closed'] == 0
    assert box.connect(ECHO, 7, 'kept') == 'word'
    assert box.change_policy(hosts=[f'{GOOD}:22'], live='all', level=level)['closed'] == 1
    assert box.connect(ECHO, 7, 'kept') in ('ConnectionResetError', 'BrokenPipeError')
    assert box.finish()[0] == 0


def test_address_that_stood_for_a_name_is_refused_once_the_name_is_denied(start_box):
    """The box still knows the address that it got for the name."""
    box = start_box(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    assert box.change_policy(hosts=[f'{ECHO}:7'], denied=[ECHO])['added'] == [f'deny {ECHO}']
    for address in ('198.18.0.2', '198.18.0.3', '198.18.0.1'):
        assert box.connect(address, 7) in ('ConnectionResetError', 'ConnectionRefusedError', 'closed')
    status, errors = box.finish()
    assert status == 0 and f'by deny {ECHO} (' in errors


def test_refusal_is_reported_with_the_rule_of_the_policy_that_applied_then(start_box):
    """A rule of the first policy refused the host. The report is made later, when a policy applies whose rules have
    other numbers."""
    box = start_box(hosts=[OTHER, f'{ECHO}:7'], denied=[ECHO])
    assert box.connect(ECHO, 7) == 'gaierror'
    box.change_policy(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    status, errors = box.finish()
    assert status == 0 and f'by deny {ECHO} (' in errors
    allowed, = (event for event in map(json.loads, box.record.read_text().splitlines())
                if event['event'] == 'network_allowed')
    assert allowed['rule'] == f'allow {ECHO}:7'


def test_policy_that_denies_the_network_removes_every_host(start_box):
    """The new policy still lists a host, but denies the capabilities net.*."""
    box = start_box(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    new = box.policy.with_name('new')
    new.write_text(f'network: {{live: new, allowed_domains: ["{ECHO}:7"]}}\ntools: {{capabilities: {{deny: '
                   f'["net.*"]}}}}\n')
    os.replace(new, box.policy)
    assert box.wait_for_change(0)['removed'] == [f'allow {ECHO}:7']
    assert box.connect(ECHO, 7) == 'gaierror'
    assert box.finish()[0] == 0


def test_egress_killed_during_a_change_does_not_kill_the_box(start_box):
    """The front killed egress a second time, with a pid that meant the front's own process group."""
    box = start_box(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    egress, = (pid for pid, name in files_of_all('comm')
               if name == b'ringwall-egress\n' and parent_of(pid) == box.process.pid)
    os.kill(egress, signal.SIGSTOP)
    box.write_policy(hosts=[])
    time.sleep(0.3)
    os.kill(egress, signal.SIGKILL)
    assert box.connect(ECHO, 7) in ('gaierror', 'ConnectionRefusedError', 'ConnectionResetError')
    status, errors = box.finish()
    assert status == 0 and 'the hosts could not be changed, so the box has no network any more' in errors
    assert box.changes() == []


def test_invalid_policy_changes_nothing(start_box):
    box = start_box(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    box.policy.write_text('network: {live: new, allowed_domains: [10.0.0.1]}\n')
    box.wait_for_message('cannot be used')
    assert box.connect(ECHO, 7) == 'word'
    box.change_policy(hosts=[])
    assert box.connect(ECHO, 7) == 'gaierror'
    status, errors = box.finish()
    assert status == 0 and 'policy.yaml:1:' in errors and 'the hosts stay as they were' in errors


def test_policy_is_not_watched_with_live_off(start_box):
    box = start_box(hosts=[f'{ECHO}:7'], live='off')
    assert box.connect(ECHO, 7) == 'word'
    box.write_policy(hosts=[])
    time.sleep(0.3)
    assert box.connect(ECHO, 7) == 'word' and box.changes() == [] and box.finish()[0] == 0


# The box must not be able to change the policy.

WRITE_POLICY_TO = 'echo \'network: {live: new, allowed_domains: ["*.example.com"]}\' > '


def test_policy_in_a_writable_directory_cannot_be_written(outside, build, tmp_path):
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    result = outside(build / 'ringwall', 'run', '-p', policy, f'--rw={tmp_path}', '--', 'sh', '-c',
                     f'{WRITE_POLICY_TO}{policy}')
    assert result.returncode != 0 and 'live: new}' in policy.read_text() and 'example.com' not in policy.read_text()


def refuses_to_run(outside, build, policy, *flags):
    result = outside(build / 'ringwall', 'run', '-p', policy, *flags, '--', 'echo', 'ran')
    return ((result.returncode, result.stdout) == (125, '') and str(policy) in result.stderr and
            'cannot follow' in result.stderr)


def test_live_policy_that_cannot_be_protected_is_refused(outside, build, workspace):
    """At level standard on a kernel without SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, where there is no guard. With a
    guard, the box runs and cannot write to the policy."""
    policy = workspace / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    deny_syscalls = next(build.glob('**/deny_syscalls'))
    link = workspace.parent / 'link'
    link.symlink_to(workspace)
    for flags in ('--level=standard',), ('--level=standard', f'--workspace={link}'):
        result = outside(deny_syscalls, 'seccomp&0x20=EINVAL', '--', build / 'ringwall', 'run', '-p', policy, *flags,
                         '--',
                         'echo', 'ran')
        assert (result.returncode, result.stdout) == (125, '') and str(policy) in result.stderr
        assert 'cannot follow' in result.stderr
    result = outside(build / 'ringwall', 'run', '-p', policy, '--level=standard', '--', 'sh', '-c',
                     f'echo evil > {policy} || echo held')
    assert result.stdout == 'held\n' and policy.read_text() == 'network: {live: new}\n'


def test_live_policy_with_a_second_hard_link_is_refused(outside, build, workspace, tmp_path):
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    os.link(policy, workspace / 'other')
    result = outside(build / 'ringwall', 'run', '-p', policy, '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '') and str(policy) in result.stderr
    assert 'hard link' in result.stderr
    (workspace / 'other').unlink()
    assert outside(build / 'ringwall', 'run', '-p', policy, '--', 'true').returncode == 0


def test_policy_that_gets_a_second_hard_link_is_no_longer_watched(start_box, workspace):
    box = start_box(hosts=[f'{ECHO}:7'])
    assert box.connect(ECHO, 7) == 'word'
    os.link(box.policy, workspace / 'other')
    box.policy.write_text('network: {live: new}\n')
    box.wait_for_message('has another name now')
    assert box.connect(ECHO, 7) == 'word' and box.changes() == []
    status, errors = box.finish()
    assert status == 0 and 'has another name now' in errors


def test_live_policy_that_a_bind_mount_shows_in_the_workspace_is_refused(outside, build, workspace, tmp_path, is_root):
    """The path of the policy is outside the workspace, but by the bind mount the box can write to the same file."""
    if not is_root:
        pytest.skip('only root may mount')
    (workspace / 'deep').mkdir()
    (workspace / 'deep/p.yaml').write_text('network: {live: new}\n')
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.mkdir()
    for source, target, policy in ((workspace / 'deep', elsewhere, elsewhere / 'p.yaml'),
                                   (tmp_path / 'kept', workspace / 'deep', tmp_path / 'kept/p.yaml')):
        policy.parent.mkdir(exist_ok=True)
        if not policy.exists() and source == policy.parent:
            policy.write_text('network: {live: new}\n')
        subprocess.run(['mount', '--bind', source, target], check=True)
        try:
            assert refuses_to_run(outside, build, policy)
        finally:
            subprocess.run(['umount', target], check=True)


@pytest.mark.parametrize('attempt', [
    '{write}p.yaml', 'rm p.yaml; {write}p.yaml', '{write}x; mv x p.yaml', '{write}x; ln -f x p.yaml',
    'mv ../work ../other',
    'mkdir y; {write}y/p.yaml; mv p.yaml y; mv y/p.yaml .', '{write}link/p.yaml',
    'ln -sfn /tmp link; {write}link/p.yaml'])
def test_live_policy_in_the_workspace_cannot_be_changed_by_the_box(outside, build, workspace, tmp_path, attempt):
    """The command line names it by a symlink in the workspace. The real path must be protected."""
    (workspace / 'p.yaml').write_text('network: {live: new}\n')
    (workspace / 'link').symlink_to('.')
    record = tmp_path / 'record'
    command = attempt.format(write=WRITE_POLICY_TO) + '; sleep 0.3; getent hosts www.example.com'
    assert outside('sh', '-c', f'cd {workspace} && {WRITE_POLICY_TO}link/x && rm x').returncode == 0   # works outside
    result = outside(build / 'ringwall', 'run', '-p', 'link/p.yaml', f'--audit={record}', '--', 'sh', '-c', command)
    assert result.returncode == 2 and 'network_changed' not in record.read_text(), result.output
    assert (workspace / 'p.yaml').read_text() == 'network: {live: new}\n'


def test_policy_file_that_the_box_creates_is_not_read(outside, build, home, tmp_path, workspace):
    """The user's own policy does not exist, and the box may write to its directory."""
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    config = home / '.config/ringwall'
    config.mkdir(parents=True)
    record = tmp_path / 'record'
    result = outside(build / 'ringwall', 'run', '-p', policy, f'--rw={config}', f'--audit={record}', '--', 'sh', '-c',
                     f'{WRITE_POLICY_TO}{config}/policy.yaml; sleep 0.3; getent hosts www.example.com')
    assert result.returncode == 2 and 'network_changed' not in record.read_text(), result.output
