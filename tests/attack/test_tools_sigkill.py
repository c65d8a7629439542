"""kill -9 at random moments of a call: the broker, the server, the tools, their keepers, the client; 500 times in all.

Afterwards a file has its old or its new content, no process, mount or other file is left, and the next call is answered:
by the same server if it is alive, otherwise by a new one.
"""
import contextlib
import os
import pathlib
import random
import signal
import time

import pytest

from leftovers import left_since, leftovers
from mcp_client import PATIENCE, Client, Stdio, children, family, is_alive, text_of
from tool_attack import each_level, mark
from attack_host import wait_until_gone
from test_lifecycle import mountinfo

IN_VM = 'RINGWALL_CGROUP' in os.environ     # where everything takes twenty times as long
SIZE = 200_000                              # bytes of a file: so large that a partial write would be noticed
LOST = 'the call got no answer: '
STRAYS_MAX = 2  # for one test: a new file has a temporary name for some microseconds before it replaces the old one. If
                # the kill comes then, the temporary file stays; its content must be complete.


def content(number):
    """A text with its number in every line."""
    line = f'this is text {number:8}\n'
    return line * (SIZE // len(line))


def find_broker(client):
    return client.transport.process.pid


def find(box, depth):
    """Returns a function that finds a process. Box 0 is that of the server, 1 that of the tools. Depth 0 is the keeper,
    1 its last child except the guard."""
    def is_guard(pid):      # not killed: the box ends only a moment later, perhaps after the next answer
        with contextlib.suppress(OSError):
            return pathlib.Path(f'/proc/{pid}/comm').read_text() == 'rw-guard\n'
        return True

    def find_in(client):
        boxes = children(find_broker(client))
        keeper = boxes[box] if len(boxes) > box else None
        if depth == 0 or not keeper:
            return keeper
        return next((child for child in reversed(children(keeper)) if not is_guard(child)), None)
    return find_in


# How to find each process, and how often it is killed at each level: 504 times in all. Fewer times where the test has
# to wait for the other processes to end.
VICTIMS = {'broker': (find_broker, 50), 'keeper of the server': (find(0, 0), 8), 'server': (find(0, 1), 8),
           'keeper of the tools': (find(1, 0), 50), 'tools': (find(1, 1), 44), 'client': (None, 8)}
RESTARTED = {'keeper of the tools', 'tools'}     # by the same server, which answers the call


class Campaign:
    """Servers, one after the other, in one workspace, and the contents that its file may have."""

    def __init__(self, stage, level):
        self.stage, self.level, self.client, self.number = stage, level, None, 0
        self.file, self.allowed = stage.work / 'file', set()
        self.torn, self.strays = [], set()
        self.known = {*stage.work.iterdir(), *(stage.work / name for name in ('file', 'copy', 'folder', 'folder/new'))}
        self.connect()

    def connect(self):
        command = [self.stage.build / 'ringwall', 'mcp', '--level', self.level, '--workspace', self.stage.work]
        self.client = Client(Stdio(command, cwd=self.stage.work, env=self.stage.environment()))
        self.stage.closing.callback(self.client.transport.close)

    def calls(self):
        """The calls during which a process is killed, each with the contents that the file may have afterwards."""
        old, new, token = self.file.read_text(), content(self.number), self.stage.names['token']
        half, rest = old[:SIZE // 2], old[SIZE // 2:]
        return [
            ('Write', {'file_path': 'file', 'content': new}, {old, new}),
            ('Edit', {'file_path': 'file', 'old_string': half, 'new_string': new}, {old, new + rest}),
            ('Bash', {'command': f'cat file > copy; (exec -a {token} sleep 0.02) & wait'}, {old}),
            ('Bash', {'command': f'setsid bash -c "exec -a {token} sleep 60" & cat file; sleep 0.02'}, {old}),
            ('Write', {'file_path': 'folder/new', 'content': new}, {old}),
        ]

    def begin(self):
        """Sends a random call; returns its id and how long such a call takes."""
        self.number += 1
        self.client.say('Read', file_path='file', limit=1)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.stage.work / 'folder/new')
        tool, arguments, self.allowed = random.choice(self.calls())
        return self.client.start(tool, **arguments), 0.03 if tool == 'Bash' else 0.006

    def check(self):
        text = self.file.read_text()
        if text not in self.allowed:
            self.torn.append((self.number, len(text)))
        new = self.stage.work / 'folder/new'
        if new.exists() and new.read_text() != content(self.number):
            self.torn.append((self.number, 'new', len(new.read_text())))
        for path in {*self.stage.work.iterdir(), *(self.stage.work / 'folder').glob('*')} - self.known:
            self.strays.add(path.name)
            if path.read_text() not in self.allowed:
                self.torn.append((self.number, path.name))
            path.unlink()

    def kill(self, victim):
        number, duration = self.begin()
        processes = family(find_broker(self.client))
        time.sleep(random.uniform(0, duration))
        if victim == 'client':
            self.client.transport.abandon()
        elif pid := VICTIMS[victim][0](self.client):
            os.kill(pid, signal.SIGKILL)
            self.await_end([pid])
        if victim in RESTARTED:
            self.await_answer(number)
        else:
            self.client.transport.process.wait(PATIENCE)
            self.await_end(processes)
            self.connect()
        assert self.client.say('Read', file_path='notes.txt') == '1\tnotes\n'

    def await_answer(self, number):
        """The call is answered, as lost or with a result. In the second case the next call may be lost, if it was sent to
        the dead tools before the server noticed. If the guard died a moment before the tools, their calls fail."""
        said = text_of(self.client.await_reply(number)['result'])
        for _ in range(3 if not said.startswith(LOST) else 0):
            said = self.client.say('Read', file_path='notes.txt')
            if said == '1\tnotes\n' or said.startswith(LOST):
                return
            assert said.endswith(': Function not implemented')

    @staticmethod
    def await_end(processes):
        """Waits until the processes have ended by themselves. Their pids are not reused so quickly."""
        until = time.monotonic() + 5
        while (alive := [pid for pid in processes if is_alive(pid)]) and time.monotonic() < until:
            time.sleep(0.001)
        assert not alive, f'left running: {alive}'


@each_level
@pytest.mark.parametrize('victim', VICTIMS)
def test_kill_during_a_call_leaves_complete_files_and_no_process(stages, victim, level):
    stage = stages('ours')
    mark(stage)
    stage.plant(stage.work / 'file', content(0))
    mounts, names = mountinfo(), leftovers()
    campaign = Campaign(stage, level)
    for _ in range(2 if IN_VM else VICTIMS[victim][1]):
        campaign.kill(victim)
        campaign.check()
    assert campaign.client.transport.close() == 0
    assert wait_until_gone(stage.names['token'], 10) == []
    assert wait_until_gone(str(stage.work), 10) == []
    campaign.check()
    assert campaign.torn == []
    assert len(campaign.strays) <= STRAYS_MAX, campaign.strays
    assert mountinfo() == mounts
    assert left_since(names) == set()
