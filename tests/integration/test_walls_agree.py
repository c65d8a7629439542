"""The kernel allows exactly what the plan allows. For random trees and rules (flags, policies, ceilings) a box tries to
read and write every file, and to list and create a file in every directory. Each result is compared with
rules_decide() (tests/helpers/decide.c).

    RINGWALL_WALLS_CASES=200 RINGWALL_WALLS_SEED=5000 python3 -m pytest tests/integration/test_walls_agree.py

tries 200 trees, from that seed on. A failure prints the seed and a minimal set of rules that shows it.

Two things are not compared. Names that a pattern denies and that do not exist yet: mounts and Landlock only know
existing files; the guard enforces names. And at level standard the listing of a directory with a denied file in it,
which Landlock cannot allow without allowing the file (src/linux/landlock_only.c).
"""
import json
import os
import random
import shutil
import subprocess
import sys

import pytest

CASES = int(os.environ.get('RINGWALL_WALLS_CASES', 30))
SEED = int(os.environ.get('RINGWALL_WALLS_SEED', 1))

# Runs in the box. Gets a list of files and directories, tries each of them, and prints the results.
PROBE = r'''
import json, os, sys
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError:
        return None
def read(path):
    with open(path) as file:
        return file.read()
def write(path):
    os.close(os.open(path, os.O_WRONLY))
    return True
def create(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)
    return True
found = {}
for kind, path in json.load(sys.stdin):
    if kind == 'file':
        found[path] = {'read': attempt(read, path), 'write': attempt(write, path)}
    else:
        names = attempt(os.listdir, path)
        found[path] = {'list': None if names is None else sorted(names), 'create': attempt(create, path + '/new-name')}
print(json.dumps(found))
'''


class Tree:
    """A random tree of directories and files, and beside it symbolic links to some of the directories."""

    def __init__(self, folder, rng):
        self.top, self.directories, self.files, self.links = folder / 'tree', [], [], []
        self.grow(self.top, rng, 0)
        for i in range(rng.randrange(3)):
            self.links.append(folder / f'link{i}')
            self.links[i].symlink_to(rng.choice(self.directories))

    def remove(self):
        shutil.rmtree(self.top)
        for link in self.links:
            link.unlink()

    def grow(self, directory, rng, depth):
        directory.mkdir(parents=True)
        self.directories.append(directory)
        for name in rng.sample(['f', 'g', 'h'], rng.randrange(1, 3)):
            (directory / name).write_text(f'{directory / name}')
            self.files.append(directory / name)
        if depth < 4:
            for name in rng.sample(['a', 'b', 'c'], rng.randrange(1 if depth < 2 else 0, 3)):
                self.grow(directory / name, rng, depth + 1)

    def random_path(self, rng):
        return str(rng.choice(self.directories[1:] * 2 + self.files))

    def random_denied_path(self, rng):
        """A path for a denial: a path in the tree, a path through a link, or a pattern."""
        choice = rng.randrange(5)
        if choice == 0 and self.links:
            link = rng.choice(self.links)
            inner = sorted(path.name for path in link.iterdir())
            return f'{link}/{rng.choice(inner + ["*", "**", "**/f"])}'
        if choice == 1:
            return str(self.top / rng.choice(['*/b', '**/f', 'a/*', '**', '[ab]/c', '**/c', '*', '**/b/**', '*/*/g',
                                              '**/a/*']))
        return self.random_path(rng)


def random_rules(tree, rng):
    """Rules like ('rw', path), ('policy.protect', path), ('ceiling.allow_write', path)."""
    rules = []
    for _ in range(rng.randrange(2, 8)):
        kind = rng.choice(['ro', 'rw', 'rw', 'deny-read', 'deny-write', 'policy.allow_write', 'policy.allow_paths',
                           'policy.deny_read', 'policy.deny_write', 'policy.protect', 'ceiling.deny_read',
                           'ceiling.deny_write', 'ceiling.protect', 'ceiling.allow_write', 'ceiling.allow_paths'])
        grants = kind in ('ro', 'rw') or '.allow' in kind
        path = tree.random_path(rng) if grants else tree.random_denied_path(rng)
        if kind.endswith('allow_paths'):
            path += rng.choice(['', ':ro', ':rw'])
        rules.append((kind, path))
    if rng.random() < 0.5:
        rules.append(('workspace', str(rng.choice(tree.directories))))
    # A ceiling's list can narrow a grant to a deeper path. A denial of the grant through a link does not match that
    # path, so links are resolved here.
    narrowed = any(kind.startswith('ceiling.allow') for kind, _ in rules)
    return [(kind, resolve_links(path)) for kind, path in rules] if narrowed else rules


def resolve_links(path):
    """The path with its symbolic links resolved; of a pattern, those before its first wildcard."""
    head, tail = path, ''
    while any(c in head for c in '*?['):
        head, name = os.path.split(head)
        tail = f'/{name}{tail}'
    return os.path.realpath(head) + tail


def flags_of(rules, folder, resolve):
    """The rules as flags; policies and ceilings are written to files in the folder. `resolve`: without symlinks."""
    flags, files = [], {}
    for kind, path in rules:
        path = resolve_links(path) if resolve else path
        if '.' not in kind:
            flags.append((kind, path))
            continue
        file, key = kind.split('.')
        files.setdefault(file, {}).setdefault(key, []).append(path)
    for name, keys in files.items():
        paths = keys.pop('allow_paths', None)
        policy = {'filesystem': keys, **({'security': {'sandbox': {'allow_paths': paths}}} if paths else {})}
        file = folder / f'{name}{"-real" if resolve else ""}.yaml'
        file.write_text(json.dumps(policy))     # JSON is YAML
        flags.append((name, str(file)))
    return flags


class Host:
    """A home and a working directory, where plans are made and boxes are run."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.home, self.work = folder / 'home', folder / 'work'
        for path in self.home, self.work:
            path.mkdir()
        self.env = {'HOME': str(self.home), 'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8'}

    def plan(self, flags, paths):
        """What the plan allows for each path: (read, write, kind). None if the rules make no valid plan."""
        words = [word for flag in flags for word in flag]
        result = subprocess.run([self.build / 'tests/helpers/decide', *words], cwd=self.work, env=self.env, text=True,
                                input=''.join(f'{path}\0' for path in paths), capture_output=True, timeout=60)
        if result.returncode:
            return None
        lines = [line.split() for line in result.stdout.splitlines()]
        return {path: (read == '1', write == '1', kind) for path, (read, write, kind) in zip(paths, lines)}

    def box(self, level, flags, probes):
        """What a box can do with each path: a dictionary. If the box did not start, the error message."""
        words = [word for name, value in flags for word in (f'--{name}', value)]
        result = subprocess.run([self.build / 'ringwall', 'run', '--level', level, *words, '--', sys.executable, '-c',
                                 PROBE],
                                cwd=self.work, env=self.env, input=json.dumps(probes), text=True, capture_output=True,
                                timeout=100)
        return json.loads(result.stdout) if result.returncode == 0 else result.stderr


def may_list(tree, plan, directory, names):
    """Whether a directory that the plan does not allow to be read may still list these names: on the way to a readable
    path a box has directories, and in place of a denied path an empty file or directory that cannot be opened."""
    visible = [path for path in tree.directories + tree.files if plan[str(path)][2] in ('read', 'write', 'deny_read')]
    return all(any(path.is_relative_to(directory / name) for path in visible) for name in names)


def compare(level, tree, plan, box):
    """Yields a sentence for each disagreement."""
    for path in tree.files:
        read, write, kind = plan[str(path)]
        real, found = kind != 'private', box[str(path)]
        if (found['read'] == path.read_text()) != (read and real):
            yield f'read {path}: the plan says {read} ({kind}), the box {found["read"]!r}'
        if real and bool(found['write']) != write:
            yield f'write {path}: the plan says {write} ({kind}), the box {found["write"]}'
    for path in tree.directories:
        read, write, kind = plan[str(path)]
        names = box[str(path)]['list']
        in_parts = level == 'standard' and any(not plan[str(p)][0]
                                             for p in tree.directories + tree.files if p.is_relative_to(path))
        if not read or kind == 'private':
            if names is not None and not may_list(tree, plan, path, names):
                yield f'list {path}: the plan says no ({kind}), the box {names}'
        elif names != sorted(os.listdir(path)) and not in_parts:
            yield f'list {path}: the plan says yes, the box {names}'
        create = plan[f'{path}/new-name'][1]
        if kind != 'private' and create == write and bool(box[str(path)]['create']) != create:
            yield f'create in {path}: the plan says {create} ({kind}), the box {box[str(path)]["create"]}'


def disagreements(host, level, tree, rules):
    """The disagreements. None if there is no valid plan, or if ringwall refuses it because the level cannot enforce
    it."""
    probes = [('file', str(path)) for path in tree.files] + [('directory', str(path)) for path in tree.directories]
    paths = [path for _, path in probes] + [f'{path}/new-name' for path in tree.directories]
    plan = host.plan(flags_of(rules, host.folder, True), paths)
    if plan is None:
        return None
    box = host.box(level, flags_of(rules, host.folder, False), probes)
    if isinstance(box, str):
        # "cannot enter": the workspace is denied
        refused = 'cannot enter' in box or (level == 'standard' and '--level strict' in box)
        return None if refused else [f'the box did not start: {box}']
    return list(compare(level, tree, plan, box))


def minimize(host, level, tree, rules):
    """Removes the rules without which the box and the plan still disagree."""
    for rule in list(rules):
        fewer = [other for other in rules if other is not rule]
        if disagreements(host, level, tree, fewer):
            rules = fewer
    return rules


@pytest.mark.parametrize('level', ['strict', 'standard'])
def test_kernel_allows_what_the_plan_allows(build, tmp_path, level):
    host, compared = Host(build, tmp_path), 0
    for seed in range(SEED, SEED + CASES):
        rng = random.Random(seed)
        tree = Tree(tmp_path, rng)
        rules = random_rules(tree, rng)
        found = disagreements(host, level, tree, rules)
        if found:
            rules = minimize(host, level, tree, rules)
            found = disagreements(host, level, tree, rules)
            pytest.fail(f'seed {seed} at {level}, rules {rules}, links '
                        f'{[(str(link), os.readlink(link)) for link in tree.links]}:\n' + '\n'.join(found))
        compared += 2 * len(tree.files + tree.directories) if found is not None else 0
        tree.remove()
    assert compared > 10 * CASES
