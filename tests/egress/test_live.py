"""Hosts that come and go while a box runs: the policy's files are followed, if the policy asks for it."""
import json
import os
import select
import signal
import subprocess
import time

import pytest

from internet import GOOD, OTHER
from processes import files_of_all

# Reads a name, a port and words in each line; says what came of a connection. "keep" keeps it open, "kept" asks the last one again.
ASKER = '''
import socket, sys
kept = None
for line in sys.stdin:
    name, port, word = line.split()
    try:
        connection = kept if word == "kept" else socket.create_connection((name, int(port)), 10)
        connection.sendall(b"word\\n")
        said = connection.recv(100).decode().strip() or "closed"
        if word == "keep":
            kept = connection
    except OSError as error:
        said = type(error).__name__
    print(said, flush=True)
'''
ECHO = 'echo.good.example'


class Box:
    """A box on the internet's host with ASKER in it, whose policy is rewritten meanwhile."""

    def __init__(self, ringwall, folder, workspace, flags=(), name='policy.yaml', **options):
        self.policy, self.record = folder / name, folder / 'record'
        self.said = folder / 'said'
        if not self.policy.exists():
            self.write(**options)
        with open(self.said, 'w', encoding='utf-8') as said:
            self.process = subprocess.Popen(
                [ringwall, 'run', '-p', self.policy, f'--audit={self.record}', *flags, '--', '/usr/bin/python3', '-c', ASKER],
                cwd=workspace, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True,
                env={'PATH': '/usr/bin:/bin', 'HOME': str(folder)})

    def write(self, hosts=(), live='new', level='strict', denied=()):
        """As editors do it: a new file in the place of the old one."""
        new = self.policy.with_name('new')
        new.write_text(json.dumps({'security': {'sandbox': {'level': level}},
                                   'network': {'live': live, 'allowed_domains': list(hosts), 'denied_domains': list(denied)}}))
        os.replace(new, self.policy)

    def ask(self, name, port, word='once'):
        self.process.stdin.write(f'{name} {port} {word}\n')
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        return self.process.stdout.readline().strip() if ready else 'nothing'

    def changes(self):
        events = [json.loads(line) for line in self.record.read_text().splitlines()]
        return [event for event in events if event['event'] == 'network_changed']

    def change(self, **what):
        """Rewrites the policy, and returns when the box has taken notice."""
        before = len(self.changes())
        self.write(**what)
        return self.wait_for_change(before)

    def wait_for_change(self, before):
        until = time.monotonic() + 10
        while len(self.changes()) == before:
            assert time.monotonic() < until, self.said.read_text()
            time.sleep(0.01)
        return self.changes()[-1]

    def end(self):
        self.process.communicate(timeout=20)
        return self.process.returncode, self.said.read_text()


@pytest.fixture
def live(build, internet, tmp_path, workspace):
    """Starts a Box: live(hosts=[…], live='all')."""
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
def test_hosts_come_and_go(live, level):
    box = live(level=level)
    assert box.ask(ECHO, 7) == 'gaierror'
    change = box.change(hosts=[f'{ECHO}:7'], level=level)
    assert (change['added'], change['removed'], change['closed']) == ([f'allow {ECHO}:7'], [], 0)
    assert box.ask(ECHO, 7, 'keep') == 'word'
    change = box.change(hosts=[GOOD], level=level)
    assert (change['added'], change['removed'], change['closed']) == ([f'allow {GOOD}'], [f'allow {ECHO}:7'], 0)
    assert box.ask(ECHO, 7) == 'gaierror'
    assert box.ask(ECHO, 7, 'kept') == 'word'       # nobody asked for its end
    status, said = box.end()
    assert status == 0 and f'{ECHO}, no rule allows it' in said


@each_level
def test_open_connections_are_closed_if_the_policy_asks(live, level):
    box = live(hosts=[f'{ECHO}:7', f'{GOOD}:22'], live='all', level=level)
    assert box.ask(ECHO, 7, 'keep') == 'word'
    assert box.change(hosts=[f'{ECHO}:7'], live='all', level=level)['closed'] == 0
    assert box.ask(ECHO, 7, 'kept') == 'word'
    assert box.change(hosts=[f'{GOOD}:22'], live='all', level=level)['closed'] == 1
    assert box.ask(ECHO, 7, 'kept') in ('ConnectionResetError', 'BrokenPipeError')
    assert box.end()[0] == 0


def test_an_address_that_was_handed_out_leads_nowhere_any_more(live):
    """The name's address is known in the box; the name is allowed no more."""
    box = live(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    assert box.change(hosts=[f'{ECHO}:7'], denied=[ECHO])['added'] == [f'deny {ECHO}']
    for stand_in in ('198.18.0.2', '198.18.0.3', '198.18.0.1'):
        assert box.ask(stand_in, 7) in ('ConnectionResetError', 'ConnectionRefusedError', 'closed')
    status, said = box.end()
    assert status == 0 and f'by deny {ECHO} (' in said


def test_a_rule_is_told_of_the_hosts_that_held(live):
    """The refusal came by a rule of the first policy, and is told when another holds, whose rules have other numbers."""
    box = live(hosts=[OTHER, f'{ECHO}:7'], denied=[ECHO])
    assert box.ask(ECHO, 7) == 'gaierror'
    box.change(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    status, said = box.end()
    assert status == 0 and f'by deny {ECHO} (' in said
    passed, = (event for event in map(json.loads, box.record.read_text().splitlines()) if event['event'] == 'network_allowed')
    assert passed['rule'] == f'allow {ECHO}:7'


def test_a_policy_that_denies_the_network_leaves_no_host(live):
    """Though it still lists one."""
    box = live(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    new = box.policy.with_name('new')
    new.write_text(f'network: {{live: new, allowed_domains: ["{ECHO}:7"]}}\ntools: {{capabilities: {{deny: ["net.*"]}}}}\n')
    os.replace(new, box.policy)
    assert box.wait_for_change(0)['removed'] == [f'allow {ECHO}:7']
    assert box.ask(ECHO, 7) == 'gaierror'
    assert box.end()[0] == 0


def test_an_egress_that_dies_over_a_change_takes_nobody_with_it(live):
    """The front ended it a second time, by a number that meant its own process group."""
    box = live(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    egress, = (pid for pid, name in files_of_all('comm') if name == b'ringwall-egress\n' and parent_of(pid) == box.process.pid)
    os.kill(egress, signal.SIGSTOP)
    box.write(hosts=[])
    time.sleep(0.3)
    os.kill(egress, signal.SIGKILL)
    assert box.ask(ECHO, 7) in ('gaierror', 'ConnectionRefusedError', 'ConnectionResetError')
    status, said = box.end()
    assert status == 0 and 'the hosts could not be changed, so the box has no network any more' in said and box.changes() == []


def test_a_bad_policy_changes_nothing(live):
    box = live(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    box.policy.write_text('network: {live: new, allowed_domains: [10.0.0.1]}\n')
    until = time.monotonic() + 10
    while 'cannot be used' not in box.said.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    assert box.ask(ECHO, 7) == 'word'
    box.change(hosts=[])
    assert box.ask(ECHO, 7) == 'gaierror'
    status, said = box.end()
    assert status == 0 and 'policy.yaml:1:' in said and 'the hosts stay those that they were' in said


def test_without_live_nothing_is_followed(live):
    box = live(hosts=[f'{ECHO}:7'], live='off')
    assert box.ask(ECHO, 7) == 'word'
    box.write(hosts=[])
    time.sleep(0.3)
    assert box.ask(ECHO, 7) == 'word' and box.changes() == [] and box.end()[0] == 0


# The box must not be able to do it.

WRITE = 'echo \'network: {live: new, allowed_domains: ["*.example.com"]}\' > '


def test_a_policy_in_a_writable_place_cannot_be_written(outside, build, tmp_path):
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    result = outside(build / 'ringwall', 'run', '-p', policy, f'--rw={tmp_path}', '--', 'sh', '-c', f'{WRITE}{policy}')
    assert result.returncode != 0 and 'live: new}' in policy.read_text() and 'example.com' not in policy.read_text()


def refused(outside, build, policy, *flags):
    result = outside(build / 'ringwall', 'run', '-p', policy, *flags, '--', 'echo', 'ran')
    return result.returncode == 125 and result.stdout == '' and str(policy) in result.stderr and 'cannot be followed' in result.stderr


def test_where_nothing_protects_it_it_is_refused(outside, build, workspace):
    """At level standard there are no mounts that could."""
    policy = workspace / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    assert refused(outside, build, policy, '--level=standard')
    link = workspace.parent / 'link'
    link.symlink_to(workspace)
    assert refused(outside, build, policy, '--level=standard', f'--workspace={link}')


def test_a_policy_with_a_second_name_is_refused(outside, build, workspace, tmp_path):
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    os.link(policy, workspace / 'other')
    assert refused(outside, build, policy)
    (workspace / 'other').unlink()
    assert outside(build / 'ringwall', 'run', '-p', policy, '--', 'true').returncode == 0


def test_a_policy_that_gets_a_second_name_is_followed_no_more(live, workspace):
    box = live(hosts=[f'{ECHO}:7'])
    assert box.ask(ECHO, 7) == 'word'
    os.link(box.policy, workspace / 'other')
    box.policy.write_text('network: {live: new}\n')
    until = time.monotonic() + 10
    while 'has another name now' not in box.said.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    assert box.ask(ECHO, 7) == 'word' and box.changes() == []
    status, said = box.end()
    assert status == 0 and 'has another name now' in said


def test_a_policy_behind_another_mount_is_refused(outside, build, workspace, tmp_path, is_root):
    """By that mount the box's own directory is reached: it is the same file."""
    if not is_root:
        pytest.skip('nobody else may mount')
    (workspace / 'deep').mkdir()
    (workspace / 'deep/p.yaml').write_text('network: {live: new}\n')
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.mkdir()
    for shown, at, policy in ((workspace / 'deep', elsewhere, elsewhere / 'p.yaml'),
                              (tmp_path / 'kept', workspace / 'deep', tmp_path / 'kept/p.yaml')):     # the other way round
        policy.parent.mkdir(exist_ok=True)
        if not policy.exists() and shown == policy.parent:
            policy.write_text('network: {live: new}\n')
        subprocess.run(['mount', '--bind', shown, at], check=True)
        try:
            assert refused(outside, build, policy)
        finally:
            subprocess.run(['umount', at], check=True)


@pytest.mark.parametrize('attempt', [
    '{write}p.yaml', 'rm p.yaml; {write}p.yaml', '{write}x; mv x p.yaml', '{write}x; ln -f x p.yaml', 'mv ../work ../other',
    'mkdir y; {write}y/p.yaml; mv p.yaml y; mv y/p.yaml .', '{write}link/p.yaml', 'ln -sfn /tmp link; {write}link/p.yaml'])
def test_a_policy_in_the_workspace_cannot_be_changed_from_inside(outside, build, workspace, tmp_path, attempt):
    """Named by a link in the workspace, even: its place is what counts."""
    (workspace / 'p.yaml').write_text('network: {live: new}\n')
    (workspace / 'link').symlink_to('.')
    record = tmp_path / 'record'
    command = attempt.format(write=WRITE) + '; sleep 0.3; getent hosts www.example.com'
    assert outside('sh', '-c', f'cd {workspace} && {WRITE}link/x && rm x').returncode == 0     # outside it could
    result = outside(build / 'ringwall', 'run', '-p', 'link/p.yaml', f'--audit={record}', '--', 'sh', '-c', command)
    assert result.returncode == 2 and 'network_changed' not in record.read_text(), result.said
    assert (workspace / 'p.yaml').read_text() == 'network: {live: new}\n'


def test_a_policy_that_appears_is_not_followed(outside, build, home, tmp_path, workspace):
    """The person's own policy does not exist, and the box may write where it would be."""
    policy = tmp_path / 'p.yaml'
    policy.write_text('network: {live: new}\n')
    config = home / '.config/ringwall'
    config.mkdir(parents=True)
    record = tmp_path / 'record'
    result = outside(build / 'ringwall', 'run', '-p', policy, f'--rw={config}', f'--audit={record}', '--', 'sh', '-c',
                     f'{WRITE}{config}/policy.yaml; sleep 0.3; getent hosts www.example.com')
    assert result.returncode == 2 and 'network_changed' not in record.read_text(), result.said
