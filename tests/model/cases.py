"""A random case: a tree, a policy and operations, all made from a seed; see model.py."""
import collections
import os
import random
import re
import stat

PLAIN_NAMES = [b'a', b'b', b'c', b'key', b'x.key', b'y.pem', b'secret']
ODD_NAMES = [b'A', b'Key', b'a b', b'new\nline', b'\xff\xfe', b'dot.', b'..x', b'x' * 255, b'\xc3\xa9', b'[z]', b'q*',
             b'-', b'.hidden', b'back\\slash', b'\xc3', b'...']
AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW, EXCHANGE, NOREPLACE = 0x400, 0x100, 2, 1

# side: "box" or "outside"; code: the letter of an operation of player.c
Operation = collections.namedtuple('Operation', 'side code flags mode one two')


def is_utf8(path):
    try:
        return bool(path.decode()) or not path
    except UnicodeDecodeError:
        return False


ODD_BYTES = re.compile(rb'[\x80-\xff]+')


def escape(path):
    """A pattern that matches just this path."""
    return b''.join(b'\\' + bytes([c]) if c in b'*?[\\' else bytes([c]) for c in path)


class Case:
    """A case, made from the seed alone: `tree`, a list of (kind, path, extra); `rules`, a list of (where, key, path)
    with "flag", "policy" or "ceiling" as `where`; and `operations`. In paths, `{root}` stands for the directory of the
    tree."""

    def __init__(self, seed, length):
        self.seed, self.random = seed, random.Random(f'ringwall {seed}')
        r = self.random
        self.names = r.sample(PLAIN_NAMES, 4) + r.sample(ODD_NAMES, 3)
        self.dirs, self.files = [b''], []
        self.tree = []
        self.make_tree()
        self.rules = []
        self.make_rules()
        self.frequent_paths = [self.any_path() for _ in range(r.randint(10, 40))]
        self.operations = [self.make_operation() for _ in range(length)]

    def grantable_dir(self):
        """A directory that can be granted: UTF-8 and not a pattern."""
        good = [d for d in self.dirs if is_utf8(d) and not set(d) & set(b'*?[\\')]
        return min(self.random.choice(good), self.random.choice(good), key=lambda d: d.count(b'/') + bool(d))

    def name(self):
        return self.random.choice(self.names)

    def any_dir(self):
        d = self.random.choice(self.dirs)
        if self.random.random() < 0.15:
            d = join(d, self.name())
        return d

    def any_path(self):
        r = self.random
        if r.random() < 0.25 and self.files:
            return r.choice(self.files)
        if r.random() < 0.1 and len(self.dirs) > 1:
            return r.choice(self.dirs[1:])
        return join(self.any_dir(), self.name())

    def make_tree(self):
        r = self.random
        for _ in range(r.randint(3, 10)):
            path = join(r.choice(self.dirs), self.name())
            if path not in self.dirs and path.count(b'/') < 4:
                self.dirs.append(path)
                self.tree.append(('dir', path, b''))
        for _ in range(r.randint(2, 14)):
            kind = r.choice(['file', 'file', 'file', 'program', 'script', 'link', 'link', 'dangling', 'hard', 'fifo'])
            path, extra = join(r.choice(self.dirs), self.name()), b''
            if kind == 'link':
                extra = self.link_target(path)
            elif kind == 'dangling':
                extra = self.name() + b'/' + self.name() if r.random() < 0.5 else self.name()
            elif kind == 'hard':
                extra = r.choice(self.files) if self.files else b'none'
            if path not in self.dirs:
                self.tree.append((kind, path, extra))
                self.files.append(path)

    def link_target(self, path):
        target = self.any_path()
        if self.random.random() < 0.4:
            return b'{root}/' + target
        return b'../' * path.count(b'/') + target

    def make_rules(self):
        r = self.random
        self.rules.append(('flag', 'workspace', self.grantable_dir()))
        for _ in range(r.choice([0, 0, 1, 1, 2, 3])):
            path = self.grantable_dir() if r.random() < 0.8 else self.any_path()
            if not is_utf8(path) or set(path) & set(b'*?[\\'):
                continue
            self.rules.append((r.choice(['flag', 'flag', 'policy']), r.choice(['rw', 'ro']), path))
        for _ in range(r.choice([0, 1, 2, 3, 4, 6])):
            where = r.choice(['flag', 'flag', 'policy', 'ceiling'])
            key = r.choice(['deny-read', 'deny-write'] if where == 'flag' else ['deny-read', 'deny-write', 'protect'])
            pattern = self.make_pattern(key)
            self.rules.append((where, key, pattern if is_utf8(pattern) else ODD_BYTES.sub(b'*', pattern)))
        if r.random() < 0.1:
            self.rules.append(('ceiling', 'rw', self.grantable_dir()))
        if r.random() < 0.1:
            self.rules.append(('flag', 'read', b'broad'))

    def make_pattern(self, key):
        r = self.random
        kind = r.random()
        if kind < 0.5:
            return b'{root}/' + escape(self.any_path())
        name = r.choice([escape(self.name()), b'*', b'*.key', b'?', b'[a-c]', b'[!a]*', b'*e*', b'??*',
                         b'*' + escape(self.name()[-1:])
                         if self.names[0][-1] < 0x80 else b'*'])
        if key == 'protect' and kind < 0.65:    # a pattern for every writable directory
            return r.choice([escape(self.name()), b'**/' + name])
        directory = b'{root}/' + escape(r.choice(self.dirs))
        return join(directory.rstrip(b'/'), r.choice([name, b'**/' + name, b'*/' + name, name + b'/**',
                                                      b'**/' + name + b'/' +
                                                      escape(self.name())]))

    def spell(self, path):
        """A spelling of the path below `{root}`, or instead of it a random path relative to the player's current
        directory."""
        r = self.random
        if r.random() < 0.15:
            return r.choice([b'', b'', b'../', b'./']) + (self.name()
                                                          if r.random() < 0.7 else join(self.name(), self.name()))
        if r.random() < 0.1:
            path = path.replace(b'/', r.choice([b'//', b'/./']), 1)
        if r.random() < 0.05:
            path = join(r.choice(self.dirs), b'../' * 0 + self.name()) + b'/../' + path.rsplit(b'/', 1)[-1]
        if r.random() < 0.04:
            path += r.choice([b'/', b'/.', b'/..'])
        return b'{root}/' + path

    def make_operation(self):
        r = self.random
        side = 'outside' if r.random() < 0.25 else 'box'
        code = r.choice('ooooooooommnsslpbrrrrruuudcctTTxx' + 'khh' * (side == 'box' and r.random() < 0.3))
        flags = mode = 0
        path = r.choice(self.frequent_paths) if r.random() < 0.8 else self.any_path()
        one, two = self.spell(path), b''
        if code == 'o':
            flags = r.choice([os.O_RDONLY, os.O_RDONLY, os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC,
                              os.O_RDONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND])
            flags |= r.choice([0, 0, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_NOFOLLOW])
            mode, two = r.choice([0o644, 0o600, 0o666, 0o755]), b'text %d' % r.randrange(1000)
        elif code in 'lpr':
            other = r.choice(self.frequent_paths) if r.random() < 0.8 else self.any_path()
            two = self.spell(other)
            flags = {'l': [0, 0, AT_SYMLINK_FOLLOW], 'p': [0], 'r': [0, 0, 0, EXCHANGE, NOREPLACE]}[code]
            flags = r.choice(flags)
            if code == 'p':
                one = self.spell(r.choice(self.dirs))
        elif code == 's':
            two = self.link_target(path) if r.random() < 0.8 else self.name()
        elif code in 'mnc':
            mode = r.choice([0o755, 0o755, 0o700, 0o644, 0o777, 0o600] + [0o555, 0] * (r.random() < 0.1))
            mode |= r.choice([stat.S_IFIFO, stat.S_IFREG]) if code == 'n' else 0
        elif code == 't':
            mode, flags = r.randrange(1000), r.choice([0, AT_SYMLINK_NOFOLLOW])
        elif code == 'T':
            mode = r.randrange(100)
        elif code == 'h':
            one = b'{root}/' + self.any_dir()
        elif code == 'k':
            mode = r.choice([0o22, 0o77, 0, 0o2])
        return Operation(side, code, flags, mode, one, two)

    def reduced(self, tree=None, rules=None, operations=None):
        """A copy with only these entries of each list, by index; None keeps the whole list."""
        other = object.__new__(Case)
        other.__dict__.update(self.__dict__)
        pick = lambda whole, indexes: whole if indexes is None else [whole[i] for i in indexes]
        other.tree, other.rules = pick(self.tree, tree), pick(self.rules, rules)
        other.operations = pick(self.operations, operations)
        return other


def join(directory, name):
    return directory + b'/' + name if directory else name


def describe(operation):
    names = {'o': 'open', 'm': 'mkdir', 'n': 'mknod', 's': 'symlink', 'l': 'link', 'p': 'link-unnamed', 'b': 'bind',
             'r': 'rename',
             'u': 'unlink', 'd': 'rmdir', 'c': 'chmod', 't': 'utimensat', 'T': 'truncate', 'x': 'exec', 'k': 'umask',
             'h': 'chdir'}
    return f'{operation.side}: {names[operation.code]} {operation.one!r} {operation.two!r} ' \
           f'flags {operation.flags:#o} ' \
           f'mode {operation.mode:#o}'
