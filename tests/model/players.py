"""The processes of a case: players, which perform operations, and the oracle, which answers what the plan decides; see
model.py."""
import contextlib
import os
import struct
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.abspath(os.environ.get('RINGWALL_BUILD') or f'{TOP}/build')
PLAYER, ORACLE = f'{BUILD}/tests/model/player', f'{BUILD}/tests/model/oracle'


class PlanRefused(Exception):
    """ringwall refused the plan, so there is no box."""


class Player:
    """A process that runs player.c, in a box if the command starts one."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **options)
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()

    def read_exactly(self, size):
        data = b''
        while len(data) < size:
            more = os.read(self.output, size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def perform(self, code, flags=0, mode=0, one=b'', two=b''):
        """Performs an operation. Returns its errno and its output: the content of a file, the names in a directory."""
        os.write(self.input, struct.pack('<cIIHH', code.encode(), flags, mode, len(one), len(two)) + one + two)
        answer = os.read(self.output, 65536 + 8)
        if not answer:
            raise EOFError
        if len(answer) < 8:
            answer += self.read_exactly(8 - len(answer))
        error, length = struct.unpack_from('<II', answer)
        return error, answer[8:] + self.read_exactly(8 + length - len(answer))

    def close(self):
        """Ends the process and returns what it wrote to standard error."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors.decode(errors='replace')


class Oracle:
    """A process that runs oracle.c. grants: a list of (writable, path). granted_paths: those that exist.
    missing_grants: those that do not, each with a slash at its end. grant_parents: all directories above granted paths.
    """

    def __init__(self, flags, **options):
        self.process = subprocess.Popen([ORACLE, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        first = self.process.stdout.readline()
        if first != b'plan\n':
            self.close()
            raise PlanRefused(first.decode(errors='replace'))
        self.cache = {}
        self.grants = []
        while (entry := self.read_first_grant()) != b'':
            self.grants.append((entry[:1] == b'w', entry[2:]))
            if len(self.grants) == 1:
                rest = b''
                while not (rest.endswith(b'\0\0') or rest == b'\0'):
                    rest += os.read(self.process.stdout.fileno(), 65536)
                self.grants += [(e[:1] == b'w', e[2:]) for e in rest.split(b'\0') if e]
                break
        self.missing_grants = [path + b'/' for _, path in self.grants if not os.path.lexists(path)]
        self.granted_paths = {path for _, path in self.grants if os.path.lexists(path)}
        self.grant_parents = {path[:i] for path in self.granted_paths
                              for i, c in enumerate(path) if c == 0x2f and i} | {b'/'}

    def read_first_grant(self):
        """Requests the grants and reads the first."""
        self.process.stdin.write(b'g\0')
        self.process.stdin.flush()
        entry = b''
        while not entry.endswith(b'\0'):
            entry += os.read(self.process.stdout.fileno(), 1)
        return entry[:-1]

    def decide(self, path, access):
        """The letter that oracle.c answers: for access 'r' or 'w', 'a' allowed, 'n' not granted, or the letter of the
        denial; for 'b', 'y' or 'n'."""
        key = access, path
        answer = self.cache.get(key)
        if answer is None:
            os.write(self.process.stdin.fileno(), access.encode() + path + b'\0')
            answer = self.cache[key] = os.read(self.process.stdout.fileno(), 1).decode()
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
