"""Attacks on rules about file names.

A row has the rules (deny_read, deny_write, protect), the attack, and the effect that it must not have. Like every attack
it first has to succeed outside. Inside, the whole home is compared before and after: no file may appear, disappear or
change, except files with "of-attack" in their names, which belong to the attack. So a rule leaves no placeholder either.
"""
import contextlib
import dataclasses
import os
import pathlib
import stat
import subprocess

import pytest

from inconclusive import SetUpFailed
from attack_host import LEVELS, NAMESPACE_LEVELS, PROVEN, attack_outside, prepare

DENIED = 'EACCES EPERM EROFS EBUSY EXDEV'
ATTACK_FILE = 'of-attack'     # in the names of files that belong to an attack
ATTEMPTS = 5                  # to succeed outside
GIT = {'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@example.com', 'GIT_COMMITTER_NAME': 'a',
       'GIT_CONFIG_NOSYSTEM': '1',
       'GIT_COMMITTER_EMAIL': 'a@example.com', 'GIT_AUTHOR_DATE': '@1700000000 +0000',
       'GIT_COMMITTER_DATE': '@1700000000 +0000'}


def snapshot(top, times=True):
    """{path: [mode, content, attributes, time]} of everything below top. Paths are bytes: they may be invalid UTF-8."""
    entries = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, os.fsencode(top))
            status = os.lstat(path)
            entry = [stat.filemode(status.st_mode)]
            if stat.S_ISLNK(status.st_mode):
                entry.append(os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                entry += [pathlib.Path(os.fsdecode(path)).read_bytes(), sorted(os.listxattr(path))]
                entry += [status.st_mtime_ns] if times else []
            entries[relative] = entry
        folders[:] = [name for name in folders if ATTACK_FILE.encode() not in name]
    return {path: entry for path, entry in entries.items() if ATTACK_FILE.encode() not in path}


def difference(before, after):
    """Lines that say what differs between two snapshots."""
    return [f'{word} {name}' for word, names in (
        ('appeared:', after.keys() - before.keys()), ('disappeared:', before.keys() - after.keys()),
        ('changed:', {name for name in before.keys() & after.keys() if before[name] != after[name]}))
            for name in sorted(names)]


@dataclasses.dataclass(frozen=True)
class NameAttack:
    """One row. The members that attack_host.Attack also has mean the same.

    rules: {'deny_read': [...], 'deny_write': [...], 'protect': [...]} as in a policy, relative to the workspace.
    compare_times: whether the modification times of files must not change either.
    may_succeed: the call may succeed, without the effect. tree_may_change: other files may appear, disappear or change.
    """
    name: str
    arguments: tuple = ()
    rules: dict = dataclasses.field(default_factory=dict)
    flags: tuple = ()
    stopped: str = DENIED
    levels: tuple = LEVELS
    title: str = ''
    effect: object = None
    secret: bool = False
    before: object = None
    descriptors: object = None
    only: str = ''
    lacks: str = ''
    compare_times: bool = True
    may_succeed: bool = False
    tree_may_change: bool = False

    def label(self):
        rule = ' '.join(f'{key}={",".join(value)}' for key, value in self.rules.items())
        return self.title or ' '.join((self.name, *self.arguments, rule, *self.flags))


def name_rows(*attacks, levels=None):
    """A decorator that runs a test for each attack at each of its levels."""
    parameters = []
    for attack in attacks:
        marks = [getattr(pytest.mark, f'only_{attack.only}')] if attack.only else []
        for level in levels or attack.levels:
            parameters.append(pytest.param(attack, level, marks=marks,
                                           id=f'{attack.label()}-{level}'.replace('/', '|')))
    return pytest.mark.parametrize('attack, level', parameters)


def policy_of(rules):
    """The text of a policy with these rules."""
    lines = [f'  {key}: [{", ".join(f"{value!r}" for value in values)}]' for key, values in rules.items()]
    return '\n'.join(('filesystem:', *lines, '')) if lines else '{}\n'


def box(stage, level, rules, *flags):
    """The start of a command line, which runs the rest of it in a box with these rules."""
    policy = stage.plant(stage.home / 'policy.yaml', policy_of({key: list(map(stage.fill, values))
                                                                for key, values in rules.items()}))
    return [str(stage.build / 'ringwall'), 'run', '--level', level, '-p', str(policy), *map(stage.fill, flags), '--']


# In a box with a guard openat2 fails with ENOSYS, because its flags are in memory, where a filter cannot see them.
NEEDS_OPENAT2 = ('by_openat2', 'by_openat2_beneath', 'by_openat2_in_root', 'write_by_openat2', 'read_by_openat2',
                 'read_in_root')


# The filter answers new calls with ENOSYS; a path of more than PATH_MAX bytes cannot be made in a box with a guard.
IMPOSSIBLE_INSIDE = ('setxattrat', 'file_setattr', 'from_deep_directory')


def attack_inside_by_name(attack, level, stage):
    prepare(attack, stage, first='1')
    command = [*box(stage, level, attack.rules, *attack.flags), *stage.command(attack)]
    before = snapshot(stage.home, attack.compare_times)
    result = stage.run(command, attack.descriptors)
    after = snapshot(stage.home, attack.compare_times)
    output = f'inside, at {level}:\n{result.stdout}{result.stderr}'
    assert stage.secret not in result.stdout + result.stderr, f'the secret leaked: {output}'
    if attack.effect:
        assert not attack.effect(stage), f'the attack had its effect: {output}'
    assert attack.tree_may_change or not difference(before, after), f'{difference(before, after)} {output}'
    if result.returncode == 0 and attack.may_succeed and attack.effect:
        return
    if result.returncode == 2 and attack.name in IMPOSSIBLE_INSIDE:
        return
    assert result.returncode == 1, output
    errors = [*attack.stopped.split(), *(['ENOSYS'] if attack.name in NEEDS_OPENAT2 else [])]
    assert result.stdout.strip() in [f'failed: {error}' for error in errors], f'expected one of {errors}: {output}'


def assert_name_attack_stopped(stages, attack, level):
    """Like attack_host.assert_stopped(); inside, the home of the host must not change either."""
    for attempt in range(ATTEMPTS):     # on a busy machine even an attack outside may lose its race
        if id(attack) in PROVEN:
            break
        with contextlib.suppress(*([SetUpFailed] if attempt + 1 < ATTEMPTS else [])):
            attack_outside(attack, stages(f'out{attempt}'))
            PROVEN[id(attack)] = attack
    attack_inside_by_name(attack, level, stages('in'))


def git(where, *arguments, check=True, **env):
    """Runs git outside of a box."""
    result = subprocess.run(['git', *arguments], cwd=where, check=False, capture_output=True, encoding='utf-8',
                            errors='replace',
                            stdin=subprocess.DEVNULL, timeout=60,
                            env={'HOME': '/nonexistent', 'PATH': '/usr/local/bin:/usr/bin:/bin', **GIT, **env})
    assert not check or result.returncode == 0, f'git {" ".join(arguments)}: {result.stdout}{result.stderr}'
    return result


@contextlib.contextmanager
def running(command, **options):
    """Starts a process and kills it at the end of the block."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding='utf-8', errors='replace', start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


__all__ = ['DENIED', 'GIT', 'LEVELS', 'NAMESPACE_LEVELS', 'NameAttack', 'assert_name_attack_stopped',
           'attack_inside_by_name', 'box', 'difference', 'git', 'name_rows', 'policy_of', 'running', 'snapshot']
