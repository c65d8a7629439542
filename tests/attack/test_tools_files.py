"""Files that block or are endless, endless searches, and files that other processes change or exchange."""
import contextlib
import os
import re
import socket
import stat
import subprocess

import pytest

from tool_attack import (
    Attack, Trial, assert_contained, attacks, call, connect_naive, connect_ours, each_level, grown, leaked, seen,
    silent)
from attack_host import changed
from test_races import exchanging

HUGE = 10 << 30     # bytes of a sparse file
TRIES = 1000            # calls of one race against ringwall
NAIVE_TRIES = 20000     # at most, until the naive server is harmed


def fifo_maker(name):
    return lambda stage: os.mkfifo(stage.work / name)


def bind_socket(stage):
    here = os.open(stage.work, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:       # the address of a socket must be short
        server.bind(f'/proc/self/fd/{here}/socket')
    os.close(here)


def make_device(stage):
    """Makes a device node for /dev/zero."""
    os.mknod(stage.work / 'zero', 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def huge(first=b'one\n'):
    def before(stage):
        with open(stage.work / 'huge', 'wb') as file:
            file.write(first)
            file.truncate(HUGE)
    return before


def huge_line(stage):
    """Writes a line that is too long for a reply, of characters that JSON escapes with six bytes each."""
    with open(stage.work / 'line', 'wb') as file:
        for _ in range(64):
            file.write(b'\x01' * (1 << 20))


def traceback(trial):
    """Did the naive server fail with a Python exception (no memory, too deep)?"""
    return 'Traceback' in trial.said


@attacks(
    Attack('read a fifo', call('Read', file_path='fifo'), silent, '^{work}/fifo is a fifo and cannot be read$',
           before=fifo_maker('fifo'), patience=1),
    Attack('write a fifo', call('Write', file_path='fifo', content='x'), silent,
           '^{work}/fifo is a fifo and cannot be written$', before=fifo_maker('fifo'), patience=1),
    Attack('edit a fifo', call('Edit', file_path='fifo', old_string='a', new_string='b'), silent,
           '^{work}/fifo is not a regular file$', before=fifo_maker('fifo'), patience=1),
    Attack('search past a fifo', call('Grep', pattern='notes', output_mode='files_with_matches'), silent,
           '^{work}/notes.txt\n$', before=fifo_maker('fifo'), patience=1),
    Attack('search a fifo', call('Grep', pattern='x', path='fifo'), silent, '.', before=fifo_maker('fifo'), patience=1),
    Attack('a .gitignore that is a fifo', call('Glob', pattern='notes.*'), silent, '^{work}/notes.txt\n$',
           habits=('joined', 'reads_gitignore'), before=fifo_maker('.gitignore'), patience=1),
    Attack('read a socket', call('Read', file_path='socket'), traceback,
           '^{work}/socket is a socket and cannot be read$', before=bind_socket),
    Attack('read a device', call('Read', file_path='zero'), traceback, '^{work}/zero is a device and cannot be read$',
           before=make_device, only='root', patience=60),
    Attack('read a link to a device', call('Read', file_path='link'), traceback,
           '^/dev/zero is a device and cannot be read$',
           before=lambda stage: (stage.work / 'link').symlink_to('/dev/zero'), patience=60),
    Attack('read a huge file', call('Read', file_path='huge'), traceback,
           r'^\({work}/huge is a binary file of 10737418240 bytes;', before=huge(), patience=60),
    Attack('read the beginning of a huge file', call('Read', file_path='huge', limit=1), traceback, '^1\tone',
           before=huge(b'one\n' + b'x' * 10000 + b'\n'), patience=60),
    Attack('read a huge line', call('Read', file_path='line'), grown, '^1\t\x01{2000}…', before=huge_line,
           patience=60),
)
def test_special_and_huge_files_do_not_block_or_exhaust_the_server(stages, attack, level):
    assert_contained(stages, level, attack)


def links_around(stage):
    """Makes two links to their own directory: each level doubles the number of paths."""
    for name in ('one', 'two'):
        (stage.work / name).symlink_to('.')


def link_out(stage):
    stage.plant(stage.other / f'name-{stage.secret}', '')
    stage.plant(stage.other / 'key', stage.secret)
    (stage.work / 'link').symlink_to(stage.other)


def directory_link_out(stage):
    """Replaces a directory with a link that leads out of the workspace."""
    stage.plant(stage.other / 'key', stage.secret)
    (stage.work / 'deep/er').rename(stage.work / 'away')
    (stage.work / 'deep/er').symlink_to(stage.other)


def file_link_out(stage):
    stage.plant(stage.other / 'key', stage.secret)
    (stage.work / 'link.txt').symlink_to(stage.other / 'key')


def rules_link_out(stage):
    stage.plant(stage.other / 'rules', f'[{stage.secret}\n')
    (stage.work / '.gitignore').symlink_to(stage.other / 'rules')


def slow_line(stage):
    stage.plant(stage.work / 'slow.txt', 'a' * 5000 + 'b\n')


def deep(stage):
    """Makes directories, deeper than a search goes."""
    here = os.open(stage.work, os.O_RDONLY)
    stage.closing.callback(subprocess.run, ['rm', '-rf', stage.work / 'd'], check=True)
    for _ in range(1500):
        os.mkdir('d', dir_fd=here)
        below = os.open('d', os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


CATASTROPHIC_PATTERNS = {'nested': '(a+)+$', 'twice nested': '^(([a-z])+.)+[A-Z]([a-z])+$', 'alternatives': '(a|a)*$',
                'back reference': r'^(a+)+\1\1\1c$', 'look ahead': '(?=(a+)+$)b'}


@attacks(
    Attack('find through a link', call('Glob', pattern='**/name-*'), leaked, '^no file matches$', before=link_out),
    Attack('search through a link', call('Grep', pattern='SECRET[0-9a-f]', path='deep'), leaked, '^nothing matches$',
           before=directory_link_out),
    Attack('search a link to a file', call('Grep', pattern='SECRET', path='link.txt', output_mode='content'), leaked,
           'path is outside workspace root', before=file_link_out, flags=('--workspace-only',)),
    Attack('a .gitignore that is a link out', call('Glob', pattern='notes.*'), leaked, '^{work}/notes.txt\n$',
           habits=('joined', 'reads_gitignore'), before=rules_link_out),
    Attack('find in a loop of links', call('Glob', pattern='**/notes.txt'), silent, '^{work}/notes.txt\n$',
           before=links_around, patience=2),
    Attack('search in a loop of links', call('Grep', pattern='^notes$', output_mode='files_with_matches'), silent,
           '^{work}/notes.txt\n$', before=links_around, patience=2),
    Attack('find in a tree that is too deep', call('Glob', pattern='**/notes.txt'), traceback,
           '^{work}/notes.txt\n\\(1 directories could not be read\\)\n$', before=deep),
    *(Attack(f'search for a pattern that backtracks: {name}', call('Grep', pattern=pattern, path='slow.txt'), silent,
            '^(the pattern takes too long; make it simpler|nothing matches)$',
            before=slow_line, patience=1) for name, pattern in CATASTROPHIC_PATTERNS.items()),
    Attack('a glob with many **', call('Glob', pattern='**/' * 30 + 'nothing'), silent,
           '^(no file matches|invalid pattern)',
           before=lambda stage: (stage.work / '/'.join('d' * 12)).mkdir(parents=True), patience=1),
)
def test_search_stays_in_the_workspace_and_ends(stages, attack, level):
    assert_contained(stages, level, attack)


# Files that another process changes.

def overwrite(stage, restore_time=False):
    """Another process writes the file, with as many bytes as before."""
    path = stage.work / 'notes.txt'
    before = path.stat()
    path.write_text('THEIR')
    if restore_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def stale(tool, restore_time=False, **arguments):
    """The agent reads; another process overwrites the file, and may restore its time; the agent writes."""
    def attack(client, stage):
        client.say('Read', file_path='notes.txt')
        overwrite(stage, restore_time)
        return client.say(tool, file_path='notes.txt', **arguments)
    return attack


THEIR_TEXT_IS_LOST = seen(changed('{work}/notes.txt', 'THEIR'))
MUST_READ_AGAIN = '^refusing to (edit|overwrite) {work}/notes.txt: it changed since you read it: Read it again$'


@attacks(
    Attack('overwrite a file that was not read', call('Write', file_path='notes.txt', content='mine'),
           seen(changed('{work}/notes.txt', 'notes')), '^refusing to overwrite {work}/notes.txt: Read it first$'),
    Attack('overwrite a changed file', stale('Write', content='mine'), THEIR_TEXT_IS_LOST, MUST_READ_AGAIN),
    Attack('overwrite a changed file with its old time', stale('Write', True, content='mine'), THEIR_TEXT_IS_LOST,
           MUST_READ_AGAIN),
    Attack('edit a changed file', stale('Edit', old_string='THEIR', new_string='mine'), THEIR_TEXT_IS_LOST,
           MUST_READ_AGAIN),
    Attack('edit a changed file with its old time', stale('Edit', True, old_string='THEIR', new_string='mine'),
           THEIR_TEXT_IS_LOST, MUST_READ_AGAIN),
)
def test_changes_of_another_process_are_not_overwritten(stages, attack, level):
    assert_contained(stages, level, attack)


# Races.

def overwritten(trial):
    return (trial.stage.other / 'file').read_text() != trial.stage.secret


class Race:
    """Calls a tool again and again while another process swaps a directory (or a file) with a link that leads out of
    the workspace.

    done: a regular expression for the text of a call that was not stopped by the link: it used the file inside, or
    noticed a change. swapped: "directory" or "file"."""

    def __init__(self, title, tool, done, harm, swapped='directory', **arguments):
        self.title, self.tool, self.done, self.harm = f'{title}, {swapped} swapped', tool, done, harm
        self.swapped, self.arguments = swapped, arguments

    def prepare(self, stage):
        stage.plant(stage.other / 'file', stage.secret)
        stage.plant(stage.other / f'name-{stage.secret}', '')
        (stage.work / 'real').mkdir()
        stage.plant(stage.work / 'real/file', 'inside')
        if self.swapped == 'directory':
            first, second = stage.work / 'real', stage.work / 'link'
            second.symlink_to(stage.other)
        else:
            first, second = stage.work / 'real/file', stage.work / 'real/link'
            second.symlink_to(stage.other / 'file')
        return first, second

    def attempt(self, client, number):
        if self.tool in ('Write', 'Edit'):
            client.say('Read', file_path='real/file')
        return client.say(self.tool, **{name: value.format(number) for name, value in self.arguments.items()})


RACES = [
    Race('Read', 'Read', '^1\tinside$', leaked, file_path='real/file'),
    Race('Read', 'Read', '^1\tinside$', leaked, 'file', file_path='real/file'),
    Race('Write', 'Write', '^wrote', overwritten, file_path='real/file', content='inside'),
    Race('Write', 'Write', '^wrote|Read it again|while it was|process changed it', overwritten, 'file',
         file_path='real/file', content='inside'),
    Race('Write a new file', 'Write', '^wrote', lambda trial: any(trial.stage.other.glob('new*')),
         file_path='real/new{}', content='x'),
    # Only the secret has an E, so "not found" means that the call used the file inside.
    Race('Edit', 'Edit', '^replaced|not found', overwritten, file_path='real/file', old_string='E',
         new_string='e'),
    Race('Grep', 'Grep', 'inside', leaked, pattern='inside|SECRET', path='real', output_mode='content'),
    Race('Glob', 'Glob', 'file', leaked, pattern='*', path='real'),
]


def run_race(race, stage, client, tries):
    """Returns {True, False}: some calls used the file inside and some did not. None as soon as harm was done."""
    names, outcomes = race.prepare(stage), set()
    with exchanging(*names):
        for number in range(tries):
            text = race.attempt(client, number)
            outcomes.add(bool(re.search(race.done, text)))
            if race.harm(Trial(stage, client, text)):
                return None
    return outcomes


CONNECTION = Attack('', None, None, '', habits=('real',), flags=('--workspace-only',))    # for its habits and flags
HARMED_NAIVE = set()     # the races that have harmed the naive server


@each_level
@pytest.mark.parametrize('race', RACES, ids=lambda race: race.title)
def test_exchanged_directory_or_file_never_leads_out(stages, race, level):
    if race not in HARMED_NAIVE:
        stage = stages('naive')
        client = connect_naive(stage, CONNECTION)
        with contextlib.closing(client.transport):
            assert run_race(race, stage, client, NAIVE_TRIES) is None, 'the naive server was not harmed'
        HARMED_NAIVE.add(race)
    stage = stages('ours')
    client = connect_ours(stage, CONNECTION, level)
    with contextlib.closing(client.transport):
        assert run_race(race, stage, client, TRIES) == {True, False}, 'harm, or the race was not both won and lost'
    assert not list(stage.work.rglob('.*.' + '[0-9a-f]' * 16)), 'a temporary file was left'
