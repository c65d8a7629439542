"""Paths that lead the agent's tools out of the workspace: by .. and other spellings, by links, by odd names."""
import dataclasses
import functools
import os

import pytest

from tool_attack import (
    Attack, assert_contained, assert_ours_is_not_harmed, attacks, call, calls, each_level, leaked, raw, seen, silent,
    visible)
from attack_host import changed, exists

OUTSIDE = 'path is outside workspace root'
ONLY = ('--workspace-only',)
KEEP = changed('{target}/keep.txt', 'keep me')


def fill_target(stage, folder):
    """Puts a key, a name with the secret in it and a file into a directory outside of the workspace."""
    folder.mkdir(exist_ok=True)
    stage.plant(folder / 'key', stage.secret)
    stage.plant(folder / f'name-{stage.secret}', '')
    stage.plant(folder / 'keep.txt', 'keep me')
    stage.names['target'] = str(folder)


def other(stage):
    fill_target(stage, stage.other)


def sibling(stage):
    fill_target(stage, stage.evil)


def capitals(stage):
    fill_target(stage, stage.home / 'WORK')


def linked(target, *names):
    """Makes each name a link to the next one, and the last name a link to the target."""
    def before(stage):
        other(stage)
        for name, to in zip(names, (*names[1:], None)):
            (stage.work / name).unlink(missing_ok=True)
            (stage.work / name).symlink_to(f'{stage.work}/{to}' if to else stage.fill(target))
    return before


def with_own_pid(stage):
    other(stage)
    stage.names['me'] = str(os.getpid())


# (a path to a directory outside; the habit with which the naive server reaches that directory; what prepares the stage;
# whether the path is for ringwall an ordinary one in the workspace, which may be created)
PATHS = [
    ('../other', 'prefix', other, False),
    ('deep/../../other', 'prefix', other, False),
    ('./deep/./er/../../../other/.', 'prefix', other, False),
    ('..//other//', 'prefix', other, False),
    ('{work}/../other', 'prefix', other, False),
    ('{work}/deep/../../other', 'prefix', other, False),
    ('{other}', 'joined', other, False),
    ('//{other}', 'joined', other, False),
    ('/./{other}/empty/..', 'joined', other, False),
    ('../work-evil', 'normalized', sibling, False),
    ('{evil}', 'normalized', sibling, False),
    ('{work}-evil', 'normalized', sibling, False),
    ('../WORK', 'folded', capitals, False),
    ('....//other', 'stripped', other, True),
    ('..././other', 'stripped', other, True),
    ('%2e%2e/other', 'decoded', other, True),
    ('%2e%2e%2fother', 'decoded', other, True),
    ('..%2Fother', 'decoded', other, True),
    ('..\\other', 'decoded', other, True),
    ('~/other', 'expanded', other, True),
    ('$HOME/other', 'expanded', other, True),
    ('${{HOME}}/other', 'expanded', other, True),
    ('\uff0e\uff0e/other', 'composed', other, True),
    ('\u2025/other', 'composed', other, True),
    ('link', 'compared', linked('{other}', 'link'), False),
    ('link', 'compared', linked('../other', 'link'), False),
    ('link/', 'compared', linked('{other}/empty/..', 'link'), False),
    ('{work}/link', 'compared', linked('../../home/other', 'link'), False),
    ('first', 'compared', linked('{other}', 'first', 'second', 'deep/third'), False),
    ('link/other', 'compared', linked('..', 'link'), False),
    ('link/home/other', 'compared', linked('{top}', 'link'), False),
    ('root{other}', 'compared', linked('/', 'root'), False),
    ('magic', 'compared', linked('/proc/self/root{other}', 'magic'), False),
    ('magic/../other', 'prefix', linked('/proc/self/cwd', 'magic'), False),
    ('/proc/self/root{other}', 'joined', other, False),
    ('/proc/thread-self/root{other}', 'joined', other, False),
    ('/proc/self/cwd/../other', 'joined', other, False),
    ('/proc/{me}/root{other}', 'joined', with_own_pid, False),
    ('/proc/self/task/../cwd/../other', 'joined', other, False),
]


def assert_box_prevents_harm(stages, level, *attacks):
    """Without --workspace-only the path is not refused, and the box alone must prevent the harm."""
    attacks = [dataclasses.replace(attack, flags=(), answer='') for attack in attacks]
    assert_ours_is_not_harmed(stages, level, *attacks, name='box')


@functools.cache
def rows_of(path, habit, before, ordinary):
    """The same path with each of the tools that take a path. Cached, so that each row is proven only once."""
    return list(each_tool(path, habit, before, ordinary))


def each_tool(path, habit, before, ordinary):
    row = {'habits': (habit,), 'before': before, 'flags': ONLY}
    missing = 'no such (file|directory)' if ordinary or path == 'magic/../other' else OUTSIDE
    written = '^wrote 6 bytes to {work}/' if missing != OUTSIDE else OUTSIDE
    yield Attack(f'Read {path}', call('Read', file_path=f'{path}/key'), leaked, missing, **row)
    yield Attack(f'Edit {path}', calls(call('Read', file_path=f'{path}/keep.txt'), call(
        'Edit', file_path=f'{path}/keep.txt', old_string='keep', new_string='lose')), seen(KEEP),
                 f'{missing}.*\n.*{missing}', **row)
    yield Attack(f'Glob {path}', call('Glob', pattern='name-*', path=path), leaked, missing, **row)
    yield Attack(f'Grep {path}', call('Grep', pattern='SECRET', path=path, output_mode='content'), leaked, missing,
                 **row)
    yield Attack(f'Write {path}', call('Write', file_path=f'{path}/keep.txt', content='broken'), seen(KEEP), written,
                 **row)
    yield Attack(f'Write anew {path}', call('Write', file_path=f'{path}/new.txt', content='broken'),
                 seen(exists('{target}/new.txt')), written, **row)


@each_level
@pytest.mark.parametrize('row', PATHS, ids=lambda row: visible(row[0]))
def test_no_path_leads_out_of_the_workspace(stages, row, level):
    assert_contained(stages, level, *rows_of(*row))
    assert_box_prevents_harm(stages, level, *rows_of(*row))


# Links to files, and dangling links.

def link_to(target):
    def before(stage):
        other(stage)
        (stage.work / 'link').symlink_to(stage.fill(target))
    return before


def hard_link(stage):
    """Makes a hard link in the workspace to a file outside."""
    other(stage)
    os.link(stage.other / 'keep.txt', stage.work / 'hard')


READ_LINK = call('Read', file_path='link')
WRITE_LINK = calls(READ_LINK, call('Write', file_path='link', content='broken'))


@attacks(
    Attack('read a link to a file', READ_LINK, leaked, OUTSIDE, ('compared',), link_to('{target}/key'), flags=ONLY),
    Attack('read a link through /proc', READ_LINK, leaked, OUTSIDE, ('compared',),
           link_to('/proc/self/root{target}/key'), flags=ONLY),
    Attack('write through a link', WRITE_LINK, seen(KEEP), f'{OUTSIDE}.*\n.*{OUTSIDE}', ('compared',),
           link_to('{target}/keep.txt'), flags=ONLY),
    Attack('edit through a link', call('Edit', file_path='link', old_string='keep', new_string='lose'), seen(KEEP),
           OUTSIDE, ('compared',), link_to('../other/keep.txt'), flags=ONLY),
    Attack('write through a dangling link', call('Write', file_path='link', content='made'),
           seen(exists('{target}/new')), OUTSIDE, ('real',), link_to('{target}/new'), flags=ONLY),
    Attack('write through a dangling relative link', call('Write', file_path='link', content='made'),
           seen(exists('{target}/new')), OUTSIDE, ('real',), link_to('../other/new'), flags=ONLY),
    Attack('write below a link', call('Write', file_path='link/new', content='made'), seen(exists('{target}/new')),
           OUTSIDE, ('compared',), link_to('{target}'), flags=ONLY),
    Attack('make directories below a link', call('Write', file_path='link/empty/new', content='made'),
           seen(exists('{target}/empty/new')), OUTSIDE, ('compared',), link_to('{target}'), flags=ONLY),
    # The path is in the workspace, so writing is allowed; it replaces the link by a new file.
    Attack('write through a hard link',
           calls(call('Read', file_path='hard'), call('Write', file_path='hard', content='broken')), seen(KEEP),
           '^1\tkeep me\n\nwrote 6 bytes to {work}/hard$', ('real',), hard_link),
    Attack('edit through a hard link', calls(call('Read', file_path='hard'), call(
        'Edit', file_path='hard', old_string='keep', new_string='lose')), seen(KEEP), 'replaced 1 occurrence',
           ('real',), hard_link),
    Attack('make a hard link',
           calls(call('Bash', command='ln ../other/key own || echo no link'), call('Read', file_path='own')), leaked,
           'no link\nexit: 0\nno such file: {work}/own', ('real',), other),
)
def test_no_link_leads_out_of_the_workspace(stages, attack, level):
    assert_contained(stages, level, attack)
    if attack.flags == ONLY:
        assert_box_prevents_harm(stages, level, attack)


def odd_names(stage):
    """Makes files with names that have a newline, invalid UTF-8, and a tab and a quote."""
    other(stage)
    for name in (b'line\nbreak.txt', b'bad\xff\xfename.txt', b'tab\tquote".txt'):
        with open(os.path.join(bytes(stage.work), name), 'w', encoding='utf-8') as file:
            file.write('needle\n')


def traceback(trial):
    return 'Traceback' in trial.said


def raw_read(path):
    """A Read with a path that is invalid JSON for ringwall, so the error has no id."""
    return raw(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
               b'{"name": "Read", "arguments": {"file_path": "' + path + b'"}}}')


UNREADABLE = "^{'jsonrpc': '2.0', 'error': {'code': -32700, 'message': .the message .*}(, 'id': [0-9]+)?}$"


@attacks(
    Attack('a path with a zero byte', raw_read(b'../other/key\\u0000.txt'), leaked, UNREADABLE, ('suffixed',), other),
    Attack('half a surrogate pair', raw_read(b'\\udc80'), traceback, UNREADABLE),
    Attack('a path of a megabyte', call('Read', file_path='a/' * 500000), traceback,
           '^the path is longer than 4096 bytes$'),
    Attack('a name of a kilobyte', call('Read', file_path='a' * 1000), traceback,
           r'^a name in a{150,250}… is longer than 255 bytes$'),
    Attack('a path with many components', call('Read', file_path='a/' * 2000 + 'b'), traceback,
           '^no such file: {work}/a/a/a/'),
    Attack('a path through a file', call('Read', file_path='notes.txt/key'), traceback,
           '^{work}/notes.txt is not a directory$'),
    Attack('a loop of links', call('Read', file_path='link'), traceback, '^link has too many symbolic links$',
           before=lambda stage: (stage.work / 'link').symlink_to('link')),
    Attack('names that break a reply',
           calls(call('Glob', pattern='*.txt'), call('Grep', pattern='needle', output_mode='content')), silent,
           r'{work}/bad\\xff\\xfename\.txt\n(.*\n)*{work}/line\\x0abreak\.txt:1:needle\n',
           before=odd_names, patience=2),
)
def test_odd_paths_get_a_clear_error(stages, attack, level):
    assert_contained(stages, level, attack)
