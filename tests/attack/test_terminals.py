"""Attacks on the user's terminal. The test has the master side of the terminal and looks at what arrives there."""
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

from attack_host import LEVELS, Attack

INPUT_ATTACKS = ['type', 'type_with_high_bits', 'type_by_dev_tty', 'paste', 'paste_with_high_bits']


class Terminal:
    """A pseudo terminal. The slave side stays open when a command has ended, like that of a shell."""

    def __init__(self, stage):
        self.stage = stage
        self.master, self.slave = pty.openpty()
        stage.closing.callback(os.close, self.master)
        stage.closing.callback(os.close, self.slave)
        tty.setraw(self.slave)
        self.name = os.ttyname(self.slave)
        stage.names['terminal'] = self.name
        self.output = b''

    def run(self, command, timeout=20):
        """Runs a command with this controlling terminal; returns its status and all output of the terminal."""
        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, cwd=self.stage.work, env=self.stage.environment(), stdin=self.slave,
                                   stdout=self.slave, stderr=self.slave, preexec_fn=take_terminal)
        end = time.monotonic() + timeout
        while process.poll() is None and time.monotonic() < end:
            self.read_output()
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        self.read_output()
        return process.wait(), self.output.decode(errors='replace')

    def read_output(self):
        while select.select([self.master], [], [], 0.02)[0]:
            try:
                self.output += os.read(self.master, 4096)
            except OSError:     # no process has the slave side open
                return

    def pending_input(self):
        """The input that the user's shell would read next."""
        waiting = array.array('i', [0])
        fcntl.ioctl(self.slave, termios.FIONREAD, waiting)
        return os.read(self.slave, waiting[0]) if waiting[0] else b''


def tiocsti_is_allowed():
    try:
        with open('/proc/sys/dev/tty/legacy_tiocsti', encoding='utf-8') as file:
            return file.read().strip() == '1'
    except OSError:
        return True


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', INPUT_ATTACKS)
def test_box_cannot_put_input_into_the_terminal(stages, name, level):
    if name.startswith('type') and not tiocsti_is_allowed() and os.geteuid() != 0:
        pytest.skip('this kernel allows TIOCSTI only to root')
    terminal = Terminal(stages('out'))
    status, output = terminal.run(terminal.stage.command(Attack(name)))
    assert status == 0 and 'did:' in output, output
    if name.startswith('type'):
        assert b'typed' in terminal.pending_input()
    terminal = Terminal(stages('in'))
    status, output = terminal.run(terminal.stage.box(Attack(name), level))
    assert status == 1 and any(f'failed: {word}' in output for word in ('EPERM', 'EACCES', 'ENXIO')), output
    assert terminal.pending_input() == b''


@pytest.mark.parametrize('level', LEVELS)
def test_box_cannot_write_to_another_terminal(stages, level):
    """The attack opens it by its name in /dev/pts; the box has no terminal."""
    stage = stages('out')
    terminal = Terminal(stage)
    result = stage.run(stage.command(Attack('write_to_terminal', ('{terminal}',))))
    terminal.read_output()
    assert result.returncode == 0 and b'scribbled' in terminal.output, result
    stage = stages('in')
    terminal = Terminal(stage)
    result = stage.run(stage.box(Attack('write_to_terminal', ('{terminal}',)), level))
    terminal.read_output()
    assert b'scribbled' not in terminal.output
    assert result.returncode == 1, result
    assert result.stdout.strip() in ('failed: ENOENT', 'failed: EACCES', 'failed: EIO'), result


@pytest.mark.parametrize('level', LEVELS)
def test_box_cannot_read_another_terminal(stages, level):
    """The input could be a password."""
    def run_with_input(stage, command):
        terminal = Terminal(stage)
        os.write(terminal.master, stage.secret.encode())
        return terminal, stage.run(command())
    stage = stages('out')
    terminal, result = run_with_input(stage, lambda: stage.command(Attack('read_terminal', ('{terminal}',))))
    assert result.returncode == 0 and stage.secret in result.stdout, result
    stage = stages('in')
    terminal, result = run_with_input(stage, lambda: stage.box(Attack('read_terminal', ('{terminal}',)), level))
    assert stage.secret not in result.stdout
    assert result.returncode == 1, result
    assert result.stdout.strip() in ('failed: ENOENT', 'failed: EACCES', 'failed: EIO'), result
    assert terminal.pending_input() == stage.secret.encode()
