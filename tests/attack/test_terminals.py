"""The person's terminal. The test is the person: it holds the other end and looks what arrives."""
import array
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
import tty

import pytest

from stage import LEVELS, Attack

NAMES = ['type', 'type_with_high_bits', 'type_by_dev_tty', 'paste', 'paste_with_high_bits']


class Terminal:
    """A terminal, and a shell's place behind it: the slave stays open when a command has ended."""

    def __init__(self, stage):
        self.stage = stage
        self.master, self.slave = pty.openpty()
        stage.closing.callback(os.close, self.master)
        stage.closing.callback(os.close, self.slave)
        tty.setraw(self.slave)
        self.name = os.ttyname(self.slave)
        stage.names['terminal'] = self.name
        self.shown = b''

    def run(self, command, timeout=20):
        """Runs a command whose controlling terminal this is; returns its status and what it showed."""
        def own():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, cwd=self.stage.work, env=self.stage.environment(), stdin=self.slave,
                                   stdout=self.slave, stderr=self.slave, preexec_fn=own)
        end = time.monotonic() + timeout
        while process.poll() is None and time.monotonic() < end:
            self.look()
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        self.look()
        return process.wait(), self.shown.decode(errors='replace')

    def look(self):
        while select.select([self.master], [], [], 0.02)[0]:
            try:
                self.shown += os.read(self.master, 4096)
            except OSError:     # nobody has the other end open at the moment
                return

    def typed(self):
        """What the person's shell would read next, though the person typed nothing."""
        waiting = array.array('i', [0])
        fcntl.ioctl(self.slave, termios.FIONREAD, waiting)
        return os.read(self.slave, waiting[0]) if waiting[0] else b''


def legacy_typing():
    try:
        with open('/proc/sys/dev/tty/legacy_tiocsti', encoding='utf-8') as file:
            return file.read().strip() == '1'
    except OSError:
        return True


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', NAMES)
def test_nothing_is_typed_into_the_terminal(stages, name, level):
    if name.startswith('type') and not legacy_typing() and os.geteuid() != 0:
        pytest.skip('this kernel lets nobody but root type into a terminal')
    terminal = Terminal(stages('out'))
    status, shown = terminal.run(terminal.stage.command(Attack(name)))
    assert status == 0 and 'did:' in shown, shown
    if name.startswith('type'):
        assert b'typed' in terminal.typed()
    terminal = Terminal(stages('in'))
    status, shown = terminal.run(terminal.stage.box(Attack(name), level))
    assert status == 1 and any(f'failed: {word}' in shown for word in ('EPERM', 'EACCES', 'ENXIO')), shown
    assert terminal.typed() == b''


@pytest.mark.parametrize('level', LEVELS)
def test_another_terminal_is_not_written_on(stages, level):
    """By its name in /dev/pts, from a box that has no terminal at all."""
    stage = stages('out')
    terminal = Terminal(stage)
    result = stage.run(stage.command(Attack('write_on', ('{terminal}',))))
    terminal.look()
    assert result.returncode == 0 and b'scribbled' in terminal.shown, result
    stage = stages('in')
    terminal = Terminal(stage)
    result = stage.run(stage.box(Attack('write_on', ('{terminal}',)), level))
    terminal.look()
    assert b'scribbled' not in terminal.shown
    assert result.returncode == 1 and result.stdout.strip() in ('failed: ENOENT', 'failed: EACCES', 'failed: EIO'), result


@pytest.mark.parametrize('level', LEVELS)
def test_another_terminal_is_not_read(stages, level):
    """What the person types elsewhere, a password perhaps."""
    def listen(stage, command):
        terminal = Terminal(stage)
        os.write(terminal.master, stage.secret.encode())
        return terminal, stage.run(command())
    stage = stages('out')
    terminal, result = listen(stage, lambda: stage.command(Attack('read_from', ('{terminal}',))))
    assert result.returncode == 0 and stage.secret in result.stdout, result
    stage = stages('in')
    terminal, result = listen(stage, lambda: stage.box(Attack('read_from', ('{terminal}',)), level))
    assert stage.secret not in result.stdout
    assert result.returncode == 1 and result.stdout.strip() in ('failed: ENOENT', 'failed: EACCES', 'failed: EIO'), result
    assert terminal.typed() == stage.secret.encode()
