"""The namespaces of the test internet.

enter_namespaces() moves the calling process into a new network namespace and a new mount namespace. An ordinary user
needs a new user namespace for that, in which its uid is the same as outside. The process cannot leave them again. They
disappear with the last process in them, even if that is killed, so nothing has to be cleaned up.

The process now has every capability in these namespaces, but a process that is not root loses them at the next exec.
So ringwall, started from the main thread, has no more privileges than an ordinary user's ringwall elsewhere. A
NetworkNamespace has a thread whose children keep the capabilities, because they are ambient there (a thread has its own
capability sets). The thread is in the network namespace of the process or in a new one. A socket or process that it
makes belongs to its namespace, even if another thread uses it.
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
IP_FREEBIND, IPV6_FREEBIND = 15, 78     # allow bind() to an address that no interface has, only a local route


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f'{name}: {os.strerror(number)}')


def _write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def enter_namespaces():
    """Moves this process, which must be single-threaded, into new namespaces."""
    user, group = os.geteuid(), os.getegid()
    if threading.active_count() > 1:
        raise RuntimeError('a process with several threads cannot enter a user namespace')
    _call('unshare', CLONE_NEWNS | CLONE_NEWNET | (CLONE_NEWUSER if user else 0))
    if user:
        _write('/proc/self/setgroups', 'deny')
        _write('/proc/self/uid_map', f'{user} {user} 1')
        _write('/proc/self/gid_map', f'{group} {group} 1')
    _call('mount', None, b'/', None, MS_REC | MS_PRIVATE, None)


def mount_file_over(path, file):
    """Bind mounts `file` over `path`, for this process and its children."""
    _call('mount', os.fsencode(file), os.fsencode(os.path.realpath(path)), None, MS_BIND, None)


def _keep_capabilities():
    """Makes the capabilities of this thread ambient, so that the programs it starts have them."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()      # effective, permitted, inheritable: the low halves, then the high ones
    _call('capget', header, sets)
    sets[2], sets[5] = sets[1], sets[4]
    _call('capset', header, sets)
    for number in range(64):
        if sets[1 + 3 * (number // 32)] >> number % 32 & 1:
            _call('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0)


class NetworkNamespace:
    """A network namespace and a thread in it: that of the process, or a new one."""

    def __init__(self, new=False):
        self._thread = concurrent.futures.ThreadPoolExecutor(1, 'namespace', self._start, (new,))
        self.path = self.run(lambda: f'/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net')

    @staticmethod
    def _start(new):
        _keep_capabilities()
        if new:
            _call('unshare', CLONE_NEWNET)

    def run(self, function, *arguments, **options):
        """Calls the function in the namespace and returns its result."""
        return self._thread.submit(function, *arguments, **options).result()

    def command(self, *words):
        """Runs a command in the namespace and returns its standard output. Raises an error if it fails."""
        result = self.run(subprocess.run, words, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f'{" ".join(words)}: {result.stderr.strip()}')
        return result.stdout

    def configure(self, lines):
        """Runs ip(8) with the words of each line as its arguments."""
        for line in filter(None, map(str.strip, lines.splitlines())):
            self.command('ip', *line.split())

    def socket(self, address, port, kind=socket.SOCK_STREAM):
        """Makes a bound socket in the namespace, and listens if it is TCP. No interface needs to have the address."""
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        made = self.run(socket.socket, family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)      # allows 0.0.0.0 beside single addresses
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
