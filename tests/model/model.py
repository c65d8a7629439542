#!/usr/bin/python3
"""Compares what a box does with what its plan decides about names: random trees, policies and operations.

    tests/model/model.py [--seed N] [--level L] [--length N] [--decisions N]
    tests/model/model.py --seed N --level L --ops 3,17 --rules 0,2 --tree 1,5      one case, reduced to these parts

A case has two copies of a tree. A player in a box performs operations on the first; another player, outside, performs
the allowed ones on the second. Before each operation of the box this program resolves the path, on the second copy,
and asks the oracle (rules_decide()) about every name that the operation depends on. The verdict is one of these:

  denied        the operation must fail, with EACCES unless it has another reason to fail, and change nothing;
  not granted   it must fail;
  allowed       it must have the same errno and output as the same operation on the second copy;
  either        the model cannot tell: the operation may fail.

In between, operations are performed from outside, on both copies. At the end the copies must be equal.

Known differences are counted (see README.md). `mounts`: an operation failed because of a mount point (EXDEV, EBUSY).
`displaced`: it failed because a mount point was moved from outside. `executed`: a program was executed at a name that
must not be read. `granted in parts`: at standard a path could not be read because something beside it is denied.

A case is made from its seed alone, so every part of it can be left out. A failing case is reduced as long as it fails.
"""
import argparse
import collections
import errno
import json
import os
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from cases import AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW, EXCHANGE, Case, describe, join
from players import BUILD, PLAYER, Oracle, PlanRefused, Player

# A program for x86_64 that exits with status 42. On other machines it cannot be executed (ENOEXEC on both sides).
PROGRAM = (b'\x7fELF\x02\x01\x01' + bytes(9) +
           struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0) +
           struct.pack('<IIQQQQQQ', 1, 5, 0, 0x400000, 0x400000, 132, 132, 4096) +
           b'\xbf\x2a\0\0\0\xb8\x3c\0\0\0\x0f\x05')

WRITING_CODES = 'mnslpbrudctT'
CASE_TIMEOUT = 60       # seconds
REFUSAL_ERRNOS = {errno.EACCES, errno.EROFS, errno.ENOENT, errno.EXDEV}


class Disagreement(Exception):
    """The box did not behave as the plan says. `kind` identifies the failure while it is reduced."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class ResolvedPath:
    """What a path resolves to: its final path, its mode (None: it does not exist), the symlinks and directories on the
    way, and the errno if it cannot be resolved. slash: it ends with a slash. named: its last part is neither "." nor
    "..".
    """
    __slots__ = ('path', 'mode', 'links', 'dirs', 'error', 'slash', 'named')

    def __init__(self):
        self.path, self.mode, self.links, self.dirs = b'', None, [], []
        self.error, self.slash, self.named = 0, False, True


class Run:
    """One case at one level. Its players:

    box             in the box, on the real tree
    copy_player     outside, performs the box's operations on the copy
    outside_player  outside, performs the operations from outside on the real tree
    outside_copy_player     the same on the copy
    """

    def __init__(self, case, level, folder):
        self.case, self.level, self.folder = case, level, folder
        self.counts = collections.Counter()
        self.real, self.copy = f'{folder}/real'.encode(), f'{folder}/copy'.encode()
        self.model_root = self.copy     # the tree on which paths are resolved
        self.log = []
        self.cwd_unknown = self.abandoned = False

    # -- the start of a case --

    def make_entry(self, root, kind, path, extra):
        path = root + b'/' + path
        extra = extra.replace(b'{root}', root)
        try:
            if kind == 'dir':
                os.mkdir(path)
            elif kind in ('link', 'dangling'):
                os.symlink(extra, path)
            elif kind == 'hard':
                os.link(root + b'/' + extra, path, follow_symlinks=False)
            elif kind == 'fifo':
                os.mkfifo(path)
            else:
                text = b'content of %d' % zlib.crc32(path[len(root):])
                text = {'program': PROGRAM, 'script': b'#!/bin/false\n'}.get(kind, text)
                with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644 if kind == 'file' else 0o755),
                               'wb') as file:
                    file.write(text)
        except OSError:
            pass    # its directory was left out, or the name exists

    def write_policy(self):
        """Writes the policy files. Returns the flags of the policy, which name them: [flag, value, …]."""
        flags, texts = [], {'policy': {}, 'ceiling': {}}
        for where, key, path in self.case.rules:
            full = path.replace(b'{root}', self.real)
            if key in ('workspace', 'rw', 'ro'):
                full = (self.real + b'/' + path).rstrip(b'/')
                if os.path.realpath(full) != full:
                    continue    # the grant would apply to what a symlink leads to, which the plan does not have
            text = full.decode()
            if where == 'flag':
                flags += [key.encode(), full]
            else:
                section, name, value = ('filesystem', key.replace('-', '_'), text)
                if key in ('rw', 'ro'):
                    section, name, value = ('security', 'allow_paths', f'{text}:{key}') if where == 'policy' else \
                        ('filesystem', 'allow_write', text)
                part = texts[where].setdefault(section, {})
                if section == 'security':
                    part = part.setdefault('sandbox', {})
                part.setdefault(name, []).append(value)
        for where, text in texts.items():
            if text:
                if where == 'ceiling' and 'allow_write' in text.get('filesystem', {}):
                    text['filesystem']['allow_write'].append('{workspace}')
                name = f'{self.folder}/{where}.yaml'
                with open(name, 'w', encoding='utf-8') as file:
                    json.dump(text, file, ensure_ascii=False)
                flags += [where.encode(), name.encode()]
        return flags + [b'level', self.level.encode(), b'ro', PLAYER.encode()]

    def start(self):
        os.makedirs(f'{self.folder}/home', exist_ok=True)
        os.umask(0o022)
        for root in {self.real, self.model_root}:
            os.mkdir(root)
            for entry in self.case.tree:
                self.make_entry(root, *entry)
        workspaces = [path for where, key, path in self.case.rules if key == 'workspace']
        if not workspaces or not os.path.isdir(join(self.real, workspaces[0])):
            raise PlanRefused('no workspace')
        self.cwd = join(self.model_root, workspaces[0]).rstrip(b'/')
        flags = self.write_policy()
        env = {'HOME': f'{self.folder}/home', 'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8'}
        workspace = join(self.real, workspaces[0]).rstrip(b'/')
        self.box = self.copy_player = self.outside_player = self.outside_copy_player = None
        self.oracle = Oracle(flags, env=env, cwd=workspace)
        command = [f'{BUILD}/ringwall', 'run', '-q']
        for i in range(0, len(flags), 2):
            command += [b'--' + flags[i], flags[i + 1]]
        self.command = command
        self.box = Player([*command, '--', PLAYER], env=env, cwd=workspace)
        try:
            _, mounts = self.box.perform('M')
        except (EOFError, BrokenPipeError) as end:
            text = self.box.close()
            self.box = None
            raise PlanRefused(text) from end
        self.note_mounts(mounts)
        if self.model_root != self.real:
            self.outside_player, self.outside_copy_player = Player([PLAYER, workspace]), Player([PLAYER, self.cwd])
            self.copy_player = Player([PLAYER, self.cwd])

    def note_mounts(self, text):
        """Finds the box's mount points in its mountinfo: `mounts` maps the device and inode of a mount point to its
        path."""
        self.mounts = {}
        self.extra = []     # mounts over the targets of symlinks that match a denied pattern
        for line in text.split(b'\n'):
            fields = line.split()
            if len(fields) > 4:
                point = fields[4].replace(b'\\040', b' ').replace(b'\\012', b'\n').replace(b'\\134', b'\\')
                if point.startswith(self.real):
                    cover = b' - tmpfs ' in line
                    if b'ro' in fields[5].split(b',') and self.allowed(point, 'r' if cover else 'w'):
                        self.extra.append(point)
                    try:
                        st = os.lstat(point)
                        self.mounts[st.st_dev, st.st_ino] = point
                    except OSError:
                        pass

    def close(self):
        for player in (self.box, self.copy_player, self.outside_player, self.outside_copy_player):
            if player:
                player.close()
        if hasattr(self, 'oracle'):
            self.oracle.close()

    # -- the model --

    def resolve(self, text, follow, entry=False):
        """Resolves a path. entry: the operation is about the name itself, so a symlink is not followed even if a slash
        follows it."""
        result = ResolvedPath()
        rest = [part for part in text.split(b'/') if part]
        result.slash = text.endswith(b'/')
        at = b'' if text.startswith(b'/') else self.cwd
        links = 0
        while rest:
            part = rest.pop(0)
            result.path, result.mode, result.named = at or b'/', None, False
            if part == b'.':
                continue
            if part == b'..':
                at = os.path.dirname(at) if at else b''
                if at == b'/':
                    at = b''
                result.path = at or b'/'
                continue
            path = at + b'/' + part
            result.path, result.named = path, True
            if self.model_root.startswith(path) and len(path) <= len(self.model_root):
                at = path
                continue
            try:
                mode = os.lstat(path).st_mode
            except OSError as e:
                if rest or e.errno != errno.ENOENT:
                    result.error = e.errno
                return result
            result.mode = mode
            if stat.S_ISLNK(mode):
                if rest or follow or (result.slash and not entry):
                    result.links.append(path)
                    links += 1
                    if links > 40:
                        result.error = errno.ELOOP
                        return result
                    target = os.readlink(path)
                    if target.startswith(b'/'):
                        at = b''
                    if not rest and target.endswith(b'/'):
                        result.slash = True
                    rest = [p for p in target.split(b'/') if p] + rest
                    result.mode = None
                    if not rest:
                        result.path = at or b'/'
                continue
            if stat.S_ISDIR(mode):
                at = path
                if rest:
                    result.dirs.append(path)
            elif rest:
                result.error = errno.ENOTDIR
                return result
        if not result.named:
            try:
                result.mode = os.lstat(result.path).st_mode
            except OSError as e:
                result.error = e.errno
        return result

    def box_path(self, path):
        """The path in the box for a path in the copy."""
        return self.real + path[len(self.model_root):] if path.startswith(self.model_root) else path

    def required_access(self, operation):
        """The resolved paths of an operation, and the access that it needs: [(path in the box, 'r' or 'w')]."""
        code, flags = operation.code, operation.flags
        exclusive = code == 'o' and flags & os.O_CREAT and flags & os.O_EXCL
        follow = code in 'cTxp' or (code == 'o' and not exclusive and not flags & os.O_NOFOLLOW) or \
            (code == 't' and not flags & AT_SYMLINK_NOFOLLOW) or (code == 'l' and flags & AT_SYMLINK_FOLLOW)
        entry = code in 'mnsbrud' or (code == 'o' and flags & os.O_CREAT)
        first = self.resolve(operation.one.replace(b'{root}', self.model_root), follow, entry)
        resolved, needs = [first], []
        write = code in WRITING_CODES
        if code == 'o':
            write = flags & os.O_ACCMODE != os.O_RDONLY or flags & os.O_TRUNC or (flags & os.O_CREAT
                                                                                  and first.mode is None)
        if not first.error:
            needs.append((first.path, 'w' if write else 'r'))
        if code in 'lpr':
            second = self.resolve(operation.two.replace(b'{root}', self.model_root), False, True)
            resolved.append(second)
            if not second.error:
                needs.append((second.path, 'w'))
        needs = [(link, 'r') for f in resolved for link in f.links] + needs
        return resolved, [(self.box_path(path), access) for path, access in needs]

    def allowed(self, path, access):
        return self.oracle.decide(path, access) == 'a'

    def rename_changes_rules(self, source, target):
        """Do other rules apply to a name below the directory after the rename? None if a directory cannot be read."""
        unknown = False
        pending = [source]
        while pending:
            directory = pending.pop()
            try:
                entries = list(os.scandir(directory))
                unknown |= os.lstat(directory).st_mode & 0o500 != 0o500
            except OSError:
                unknown = True
                continue
            for entry in entries:
                old, new = self.box_path(entry.path), self.box_path(target + entry.path[len(source):])
                for access in 'rw':
                    if self.allowed(old, access) != self.allowed(new, access):
                        return True
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
        return None if unknown else False

    def verdict(self, operation):
        """The verdict on an operation of the box: ('denied' | 'not granted' | 'allowed' | 'either', resolved paths,
        reason). 'outside': a path leads out of the tree."""
        resolved, needs = self.required_access(operation)
        if any(not f.path.startswith(self.model_root) for f in resolved):
            return 'outside', resolved, ''
        why = [(self.oracle.decide(path, access), path, access) for path, access in needs]
        for letter, path, access in why:
            if letter in 'RWP':
                return 'denied', resolved, f'{letter} {access} {path!r}'
        links = {self.box_path(link) for f in resolved for link in f.links}
        for letter, path, access in why:
            if letter == 'n' and path not in links:
                return 'not granted', resolved, f'{access} {path!r}'
        # A symlink outside the grants exists in the box if a rule leads through it. A grant of a missing path is void.
        is_void = any((path + b'/').startswith(grant) for _, path, _ in why for grant in self.oracle.missing_grants)
        verdict = 'either' if is_void or any(letter == 'n' for letter, _, _ in why) else 'allowed'
        for f in resolved:
            path = self.box_path(f.path)
            if f.error and self.oracle.decide(path, 'r') != 'a' and path not in self.oracle.grant_parents:
                verdict = 'either'
            if operation.code in 'mnslpbrud' and self.oracle.decide(os.path.dirname(path), 'w') != 'a':
                verdict = 'either'      # a granted path itself: the directory that contains it cannot be changed
            for directory in f.dirs:
                path = self.box_path(directory)
                letter = self.oracle.decide(path, 'r')
                if letter in 'RWP' or (letter == 'n' and path not in self.oracle.grant_parents):
                    verdict = 'either'
        # a symlink that replaces a directory through which the path of a denial leads
        links = [resolved[-1]] if operation.code == 's' else []
        if operation.code in 'rl' and not any(f.error for f in resolved):
            exchanges = operation.code == 'r' and operation.flags & EXCHANGE
            pairs = [(resolved[0], resolved[1])] + [(resolved[1], resolved[0])] * bool(exchanges)
            links += [target for source, target in pairs if source.mode is not None and stat.S_ISLNK(source.mode)]
        if any(self.oracle.decide(self.box_path(f.path), 'b') == 'y' for f in links):
            return 'denied', resolved, 'a denial leads through the link'
        if operation.code == 'r' and not any(f.error or not f.named for f in resolved) and \
                resolved[0].path != resolved[1].path:
            pairs = [(resolved[0], resolved[1])] + [(resolved[1], resolved[0])] * bool(operation.flags & EXCHANGE)
            for source, target in pairs:
                if source.mode is not None and stat.S_ISDIR(source.mode):
                    moved = self.rename_changes_rules(source.path, target.path)
                    if moved:
                        return 'denied', resolved, f'other rules would apply to a name in {source.path!r}'
                    if moved is None:
                        verdict = 'either'
        return verdict, resolved, ''

    def is_displaced(self, resolved):
        """Was a mount point on the way moved from outside, so that the mount is at another path now?"""
        for f in resolved:
            path = self.box_path(f.path)
            for start in [path] + [self.box_path(p) for p in f.links + f.dirs]:
                parent = start
                if any((parent + b'/').startswith(extra + b'/') for extra in self.extra):
                    return True
                while len(parent) > len(self.real):
                    try:
                        st = os.lstat(parent)
                        if self.mounts.get((st.st_dev, st.st_ino), parent) != parent:
                            return True
                    except OSError:
                        pass
                    parent = os.path.dirname(parent)
        return False

    def contains_mounts(self, resolved):
        """Is there a mount below one of the paths? The guard cannot look into a covered directory."""
        return any(point.startswith(self.box_path(f.path) + b'/') for f in resolved for point in self.mounts.values())

    def cwd_was_moved(self):
        """Is the current directory of the box's player no longer the directory at that path?"""
        error, path = self.box.perform('w')
        lines = self.box.perform('S', one=b'.', two=self.box_path(self.cwd))[1].split(b'\n')
        mounts = [line.split() for line in lines[:2]]
        return error or path != self.box_path(self.cwd) or mounts[0] != mounts[1]

    def crosses_mounts(self, operation, resolved, error):
        """Is one of the names a mount point, or are the two on different mounts?"""
        mounts = []
        for f in resolved:
            path = self.box_path(f.path)
            lines = self.box.perform('S', one=path, two=os.path.dirname(path))[1].split(b'\n')
            mounts.append([line.split() for line in lines[:2]])
        if error == errno.EBUSY:
            return any(entry[0][1] == b'1' for entry in mounts)
        if error == errno.EXDEV and len(mounts) == 2:
            return len({entry[1][0] for entry in mounts}) > 1 or any(entry[0][1] == b'1' for entry in mounts)
        return False

    # -- performing operations and comparing --

    def perform(self, player, root, operation):
        return player.perform(operation.code, operation.flags, operation.mode, operation.one.replace(b'{root}', root),
                              operation.two.replace(b'{root}', root))

    def perform_all(self):
        for number, operation in enumerate(self.case.operations):
            self.log.append(f'{number} {describe(operation)}')
            if number and (self.case.operations[number - 1].side == 'outside'
                           or self.case.operations[number - 1].code in 'rdh'):
                error, self.cwd = (self.copy_player or self.box).perform('w')
                self.cwd = b'' if error or self.cwd_unknown or not self.cwd.startswith(self.model_root) else self.cwd
            if operation.side == 'outside':
                self.perform_outside(operation)
            else:
                self.perform_in_box(operation)
            if self.abandoned:
                return
            if number % 50 == 49 and os.geteuid() == 0:
                self.compare_trees()
        self.compare_trees()

    def perform_without_rules(self, operation):
        """Performs an operation that no rule concerns: umask or chdir."""
        error, _ = self.perform(self.box, self.real, operation)
        self.log[-1] += f' -> {errno.errorcode.get(error, "done")}'
        if self.copy_player and not error:
            other, _ = self.perform(self.copy_player, self.copy, operation)
            self.cwd_unknown = bool(other)      # a directory that only the box has

    def perform_outside(self, operation):
        if not operation.one.startswith(b'{') or (operation.code in 'lpr' and not operation.two.startswith(b'{')):
            return
        resolved, _ = self.required_access(operation)
        for f in resolved:
            path = self.box_path(f.path)
            if not f.path.startswith(self.model_root) or path in self.oracle.grant_parents | self.oracle.granted_paths:
                return      # granted paths are not moved from outside
        error, output = self.perform(self.outside_player, self.real, operation)
        other, text = self.perform(self.outside_copy_player, self.copy, operation)
        if (error, output) != (other, text):
            raise Disagreement('model', f'outside the copies differ: {describe(operation)}: {error} {output!r}, '
                                        f'{other} {text!r}')

    def perform_in_box(self, operation):
        """Performs an operation in the box, and compares the result with the verdict and with the copy."""
        if operation.code in 'kh':
            self.perform_without_rules(operation)
            return
        relative = [path for path in (operation.one, operation.two if operation.code in 'lpr' else b'{')
                    if not path.startswith(b'{')]
        if relative and not self.cwd:
            return      # the current directory was removed
        verdict, resolved, why = self.verdict(operation)
        if relative and any(f.error == errno.EACCES for f in resolved):
            return      # the model cannot resolve the path of the current directory
        if verdict == 'outside' or (operation.code == 'c' and verdict == 'not granted'):
            return      # a chmod could make the whole tree inaccessible
        try:
            error, output = self.perform(self.box, self.real, operation)
        except EOFError as end:
            raise Disagreement('end', f'the box exited during {describe(operation)}') from end
        self.counts['decisions'] += 1
        self.counts[verdict] += 1
        summary = f'{describe(operation)}: {why}; the box: {errno.errorcode.get(error, "done")} {output[:80]!r}'
        self.log[-1] += f' -> {verdict} {why}: {errno.errorcode.get(error, "done")}'
        if verdict in ('denied', 'not granted'):
            if error == 0 and verdict == 'denied' and operation.code == 'x':
                self.counts['executed'] += 1
            elif error == 0 and verdict == 'not granted' and relative and operation.code in 'ox' and \
                    self.cwd_was_moved():
                self.counts['displaced'] += 1
            elif error == 0 and verdict == 'not granted' and self.was_link(resolved):
                # The box has a copy of a symlink that a rule led through, and the original was replaced from outside.
                self.abandoned = True
            elif error == 0 and not (verdict == 'not granted' and self.is_made_by_box(operation, resolved)):
                raise Disagreement(f'hole {operation.code}', f'{verdict} but done: {summary}')
            if verdict == 'denied' and error and error not in REFUSAL_ERRNOS:
                self.check_reason(error, resolved, summary)
            return
        if self.level == 'standard' and error == errno.EACCES and not any(self.allowed(self.box_path(f.path), 'w')
                                                                          for f in resolved):
            self.counts['granted in parts'] += 1    # beside a denied path Landlock grants only what was there
            return
        if error in (errno.EXDEV, errno.EBUSY) and self.crosses_mounts(operation, resolved, error):
            self.counts['mounts'] += 1
            return
        if error == errno.EACCES and operation.code == 'r' and self.contains_mounts(resolved):
            self.counts['mounts'] += 1
            return
        if error in (errno.EACCES, errno.EROFS, errno.ENOENT, errno.EBUSY, errno.EXDEV) and self.is_displaced(resolved):
            self.counts['displaced'] += 1
            return
        if verdict == 'either' and error:
            return
        if error in REFUSAL_ERRNOS and relative and self.cwd_was_moved():
            self.counts['displaced'] += 1
            return
        other, text = self.perform(self.copy_player, self.copy, operation)
        if other and error and (verdict == 'either' or error in (errno.EROFS, errno.EBUSY, errno.EXDEV)):
            return      # both fail; in the box a mount fails before the other reason
        if verdict == 'either' and not error and (operation.code in 'ct'
                                                  or (other and self.is_made_by_box(operation, resolved))):
            return      # the name belongs to a directory that ringwall made for the box
        if (error, other) == (errno.ENAMETOOLONG, errno.ELOOP):
            return      # the guard has a smaller buffer for the targets of symlinks
        if (error, other) in ((errno.EACCES, errno.EEXIST), (errno.ENOTDIR, errno.ENOENT)):
            return      # both fail; in the box the guard or a mount fails before the other reason
        if operation.code == 'r' and (error, other) == (errno.EACCES, errno.EINVAL):
            return      # a rename of a directory into itself, which contains something that the guard cannot look into
        if (error, output) != (other, text.replace(self.copy, self.real)):
            kind = ('strict' if error and not other else 'loose' if other and not error else
                    'errno' if error else 'content')
            raise Disagreement(f'{kind} {operation.code} {error} {other}',
                               f'{verdict}: {summary}; outside: {errno.errorcode.get(other, "done")} {text[:80]!r}')
        self.counts['succeeded'] += not error

    def was_link(self, resolved):
        """Was the first path a symlink or hard link at the start, in a directory that must not be read?"""
        path = resolved[0].path[len(self.model_root) + 1:]
        return any(kind in ('link', 'dangling', 'hard') and path == name for kind, name, _ in self.case.tree) and \
            not self.allowed(os.path.dirname(self.box_path(resolved[0].path)), 'r')

    def is_made_by_box(self, operation, resolved):
        """May the first path be one of the directories that ringwall makes in the box, above granted paths, mounts and
        symlinks that rules lead through? They contain nothing else, and stay when the original is replaced outside."""
        mode, path = resolved[0].mode, self.box_path(resolved[0].path)
        name = resolved[0].path[len(self.model_root) + 1:]
        links = (link for kind, link, _ in self.case.tree if kind in ('link', 'dangling', 'hard'))
        above = any(point.startswith(path + b'/') for point in self.mounts.values()) or \
            any(link.startswith(name + b'/') for link in links)
        return operation.code == 't' or (operation.code == 'o' and (above or mode is None or stat.S_ISDIR(mode)))

    def check_reason(self, error, resolved, summary):
        """A denied operation failed with an errno that is not a refusal's: there must be a reason for it."""
        missing = any(f.mode is None or f.error for f in resolved)
        exists = any(f.mode is not None or not self.allowed(os.path.dirname(self.box_path(f.path)), 'r')
                     for f in resolved)
        reasons = {errno.EEXIST: exists, errno.EADDRINUSE: exists, errno.ENOTDIR: True, errno.EISDIR: True,
                   errno.ELOOP: True, errno.EINVAL: True, errno.EBUSY: True, errno.ENOTEMPTY: exists,
                   errno.ENAMETOOLONG: True, errno.EPERM: True,
                   errno.ENXIO: exists, errno.ENOEXEC: exists}
        if not reasons.get(error, missing and error == errno.ENOENT):
            raise Disagreement(f'errno {error}', f'refused with {errno.errorcode.get(error)}: {summary}')

    def compare_trees(self):
        if self.model_root == self.real:
            return
        real, copy = self.snapshot(self.real), self.snapshot(self.copy)
        for path in sorted(set(real) | set(copy)):
            if real.get(path) != copy.get(path):
                raise Disagreement('tree', f'{path!r} is {real.get(path)} and should be {copy.get(path)}')

    def snapshot(self, root):
        """Path -> mode, owner, number of links, content, and time of change if an operation set it."""
        snapshot = {}
        pending = [root]
        while pending:
            directory = pending.pop()
            if os.geteuid() != 0:
                os.chmod(directory, 0o700)
            for entry in os.scandir(directory):
                st = entry.stat(follow_symlinks=False)
                text = b''
                if stat.S_ISDIR(st.st_mode):
                    pending.append(entry.path)
                elif stat.S_ISLNK(st.st_mode):
                    text = os.readlink(entry.path).replace(root, b'{root}')
                elif stat.S_ISREG(st.st_mode):
                    if os.geteuid() != 0:
                        os.chmod(entry.path, st.st_mode & 0o7777 | 0o400)
                    with open(entry.path, 'rb') as file:
                        text = file.read(4096)
                changed = int(st.st_mtime) if st.st_mtime < 1000 else None
                snapshot[entry.path[len(root):]] = (oct(st.st_mode), st.st_uid, st.st_nlink, text, changed)
        return snapshot


def run_case(case, level, base):
    """Runs a case. Returns its counts, a Disagreement or None, and its Run. Raises PlanRefused."""
    folder = tempfile.mkdtemp(prefix='model-', dir=base)
    run = Run(case, level, folder)
    run.box = run.copy_player = run.outside_player = run.outside_copy_player = None
    def time_out(*_):
        raise Disagreement('hang', f'the case took more than {CASE_TIMEOUT} seconds: {run.log[-1:]}')
    previous = signal.signal(signal.SIGALRM, time_out)
    signal.alarm(CASE_TIMEOUT)
    try:
        run.start()
        run.perform_all()
        return run.counts, None, run
    except Disagreement as disagreement:
        return run.counts, disagreement, run
    except BrokenPipeError:
        return run.counts, Disagreement('end', f'a process exited: {run.log[-1:]}'), run
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        run.close()
        remove(folder)


def remove(folder):
    if os.geteuid() != 0:
        subprocess.run(['chmod', '-R', 'u+rwX', folder], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


# --- reducing a failure ---

def still_fails(case, level, base, kind, parts):
    for _ in range(1):
        try:
            _, failure, _ = run_case(case.reduced(*parts), level, base)
        except PlanRefused:
            return False
        if failure and failure.kind == kind:
            return True
    return False


def shrink_list(parts, index, test):
    """Removes pieces of parts[index], large ones first, as long as the test stays true."""
    size = max(1, len(parts[index]) // 2)
    while True:
        offset = 0
        while offset < len(parts[index]):
            candidate = list(parts)
            candidate[index] = parts[index][:offset] + parts[index][offset + size:]
            if test(candidate):
                parts[index] = candidate[index]
            else:
                offset += size
        if size == 1:
            return
        size = max(1, size // 2)


def shrink(case, level, base, kind, deadline):
    parts = [list(range(len(case.tree))), list(range(len(case.rules))), list(range(len(case.operations)))]
    test = lambda candidate: time.monotonic() < deadline and still_fails(case, level, base, kind, candidate)
    for index in (2, 1, 0, 2, 1):
        shrink_list(parts, index, test)
    return parts


def command_line(case, level, length, parts):
    words = ['tests/model/model.py', '--seed', str(case.seed), '--level', level, '--length', str(length)]
    for name, part in zip(('--tree', '--rules', '--ops'), parts):
        words += [name, ','.join(map(str, part)) or 'none']
    return shlex.join(words)


def explain(case, level, base, length, failure, seconds=60):
    """The report of a failure, with a case that was reduced for at most so many seconds."""
    parts = shrink(case, level, base, failure.kind, time.monotonic() + seconds)
    small = case.reduced(*parts)
    lines = [f'{failure.kind}: {failure}', command_line(case, level, length, parts)]
    try:
        _, again, run = run_case(small, level, base)
        lines += [f'reduced: {again}', 'tree:'] + [f'  {entry}' for entry in small.tree] + ['rules:'] + \
            [f'  {rule}' for rule in small.rules] + ['operations:'] + [f'  {line}' for line in run.log]
    except PlanRefused as refused:
        lines.append(f'reduced: refused: {refused}')
    return '\n'.join(lines)


def search(seed, level, decisions, base, length=150, deadline=None, progress=None):
    """Runs cases with this seed and the following ones, until there were enough decisions. Returns the counts, and a
    report for each failure."""
    counts, reports = collections.Counter(), []
    while counts['decisions'] < decisions and not (deadline and time.monotonic() > deadline):
        case = Case(seed, length)
        counts['cases'] += 1
        try:
            case_counts, failure, _ = run_case(case, level, base)
            counts += case_counts
        except PlanRefused as refused:
            counts['refused'] += 1
            failure = None
            if progress:
                progress(f'seed {seed}: refused: {str(refused)[:160]}')
            if counts['refused'] > 200 and counts['refused'] > counts['cases'] * 0.9:
                raise
        if failure:
            reports.append(explain(case, level, base, length, failure))
            if progress:
                progress(reports[-1] + '\n')
            if len(reports) >= 20:
                break
        seed += 1
    return counts, reports


def main():
    parser = argparse.ArgumentParser(description='Compares what a box does with what its plan decides.')
    numbers = lambda text: [int(n) for n in text.split(',')] if text != 'none' else []
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--level', default='strict', choices=['standard', 'strict', 'maximum'])
    parser.add_argument('--decisions', type=int, default=0,
                        help='run cases with this seed and the following ones until there were so many decisions')
    parser.add_argument('--length', type=int, default=150, help='the number of operations of a case')
    parser.add_argument('--base', default='/home', help='where the trees are made; other rules apply in /tmp')
    parser.add_argument('--verbose', action='store_true')
    for name in ('tree', 'rules', 'ops'):
        parser.add_argument(f'--{name}', type=numbers, help='keep only these of the case, by number')
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='.ringwall-model-', dir=a.base, ignore_cleanup_errors=True) as base:
        if a.decisions:
            start = time.monotonic()
            counts, reports = search(a.seed, a.level, a.decisions, base, a.length,
                                     progress=lambda text: (a.verbose or not text.startswith('seed'))
                                     and print(text, flush=True))
            seconds = time.monotonic() - start
            print(dict(counts), f'{seconds:.1f} s, {counts["decisions"] / seconds:.0f} decisions/s,',
                  f'{len(reports)} failures')
            return 1 if reports else 0
        case = Case(a.seed, a.length).reduced(a.tree, a.rules, a.ops)
        try:
            counts, failure, run = run_case(case, a.level, base)
        except PlanRefused as refused:
            print(f'refused: {refused}')
            return 2
        print('\n'.join([f'tree: {entry}' for entry in case.tree] + [f'rule: {rule}' for rule in case.rules] + run.log))
        print(shlex.join(os.fsdecode(word) for word in run.command))
        print(dict(counts), f'{failure.kind}: {failure}' if failure else 'agreed')
        return 1 if failure else 0


if __name__ == '__main__':
    sys.exit(main())
