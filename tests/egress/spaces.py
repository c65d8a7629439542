"""Namespaces for a test internet: this process moves into new ones, and threads of it work in further ones.

How it works: enter() takes the calling process into a network and a mount namespace of its own; an ordinary user needs
a user namespace for that, in which the user keeps the number that it has outside. There is no way back: what enters
stays until it ends, and the namespaces end with the last process in them: nothing is left behind, whatever killed it.

Whoever entered has every capability over these namespaces, but loses them with the next exec, as everybody does who is
not root. So ringwall, started from the main thread, is what it is for an ordinary user. A Space is a thread that keeps
its capabilities over an exec (they are ambient there, and a thread has its own), in the network namespace of the
process or in a new one. Sockets and processes made in it belong to its namespace wherever they are used.
"""
import concurrent.futures
import ctypes
import os
import socket
import subprocess
import threading

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CAPABILITY_VERSION_3 = 0x20080522
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
IP_FREEBIND, IPV6_FREEBIND = 15, 78     # an address that no interface has can be bound; only a route leads to it


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f'{name}: {os.strerror(number)}')


def _write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def enter():
    """Moves this process, which must have no other thread yet, into namespaces of its own."""
    user, group = os.geteuid(), os.getegid()
    if threading.active_count() > 1:
        raise RuntimeError('a process with several threads cannot enter a user namespace')
    _call('unshare', CLONE_NEWNS | CLONE_NEWNET | (CLONE_NEWUSER if user else 0))
    if user:
        _write('/proc/self/setgroups', 'deny')
        _write('/proc/self/uid_map', f'{user} {user} 1')
        _write('/proc/self/gid_map', f'{group} {group} 1')
    _call('mount', None, b'/', None, MS_REC | MS_PRIVATE, None)


def cover(path, file):
    """Lets a file stand in the place of another, for this process and what it starts from now on."""
    _call('mount', os.fsencode(file), os.fsencode(os.path.realpath(path)), None, MS_BIND, None)


def _keep_capabilities():
    """What this thread starts has its capabilities."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()      # effective, permitted, inheritable: the low halves, then the high ones
    _call('capget', header, sets)
    sets[2], sets[5] = sets[1], sets[4]
    _call('capset', header, sets)
    for number in range(64):
        if sets[1 + 3 * (number // 32)] >> number % 32 & 1:
            _call('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0)


class Space:
    """A network namespace, and a thread that works in it."""

    def __init__(self, new=False):
        self._thread = concurrent.futures.ThreadPoolExecutor(1, 'space', self._begin, (new,))
        self.path = self.run(lambda: f'/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net')

    @staticmethod
    def _begin(new):
        _keep_capabilities()
        if new:
            _call('unshare', CLONE_NEWNET)

    def run(self, function, *arguments, **options):
        """Calls the function in the space, and returns what it returns."""
        return self._thread.submit(function, *arguments, **options).result()

    def command(self, *words):
        """Runs a command in the space; returns what it printed."""
        result = self.run(subprocess.run, words, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f'{" ".join(words)}: {result.stderr.strip()}')
        return result.stdout

    def configure(self, lines):
        """Runs ip(8) with each of the lines."""
        for line in filter(None, map(str.strip, lines.splitlines())):
            self.command('ip', *line.split())

    def socket(self, address, port, kind=socket.SOCK_STREAM):
        """A socket of the space, bound; also to an address that only a route leads to."""
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        made = self.run(socket.socket, family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)      # one for every address beside those for some
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        else:
            made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        try:
            self.run(made.bind, (address, port))
        except BaseException:
            made.close()
            raise
        if kind == socket.SOCK_STREAM:
            made.listen(128)
        return made

    def close(self):
        self._thread.shutdown()
