"""Tries to leave the machine by a TCP socket: `break_out.py WAY ADDRESS PORT`. Prints what came back, or the error.

With the word "proxy" as the port it is that of http_proxy: the program prints it, and goes on when it has read a line.
"""
import ctypes
import errno
import os
import socket
import struct
import sys
import urllib.parse

PATIENCE = 1        # seconds
HOST_PORT = 8080    # of a service on the host
IPPROTO_MPTCP, TCP_FASTOPEN_CONNECT, IP_OPTIONS, LOOSE_ROUTE = 262, 30, 4, 131
WORD = b'a word'
libc = ctypes.CDLL(None, use_errno=True)


def unspecified(call, connection):
    """bind() or connect() with the family that is none."""
    nobody = struct.pack('H14x', socket.AF_UNSPEC)
    call(connection.fileno(), nobody, len(nobody))


def try_to(action, *arguments):
    """Whether it works or not: the connection that follows is what counts."""
    try:
        action(*arguments)
    except OSError:
        pass


def converse(connection):
    connection.settimeout(PATIENCE)
    connection.connect((address, port))
    connection.send(WORD)
    return connection.recv(100)


def after(*actions):
    """A connection by a socket that something was done with before."""
    connection = socket.socket()
    for action in actions:
        try_to(action, connection)
    return converse(connection)


def disconnected():
    connection = socket.socket()
    connection.connect(('127.0.0.1', port if proxy else HOST_PORT))
    unspecified(libc.connect, connection)
    return converse(connection)


def send_at_once(flags):
    connection = socket.socket()
    connection.sendto(WORD, flags, (address, port))
    connection.settimeout(PATIENCE)
    return connection.recv(100)


def by_number(family, kind, protocol):
    """The call itself, with what a library would not pass."""
    fd = libc.syscall(ctypes.c_long(41 if os.uname().machine == 'x86_64' else 198), ctypes.c_ulong(family), ctypes.c_ulong(kind),
                      ctypes.c_ulong(protocol))
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'socket')
    return converse(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fd))


def device(name):
    return lambda connection: connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name)


WAYS = {
    'connect': after,
    'disconnected': disconnected,
    'bound-anywhere': lambda: after(lambda s: s.bind(('0.0.0.0', 0))),
    'bound-to-own': lambda: after(lambda s: s.bind((sys.argv[4], 0))),
    'bound-unspecified': lambda: after(lambda s: unspecified(libc.bind, s)),
    'reused': lambda: after(lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1), lambda s: s.bind(('', 0))),
    'device': lambda: after(device(b'eth0')),
    'any-device': lambda: after(device(b'')),
    'source-route': lambda: after(lambda s: s.setsockopt(
        socket.IPPROTO_IP, IP_OPTIONS, bytes([LOOSE_ROUTE, 7, 4, 127, 0, 0, 1, 0]))),
    'fast-open': lambda: send_at_once(socket.MSG_FASTOPEN),
    'fast-open-connect': lambda: after(lambda s: s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)),
    'multipath': lambda: converse(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)),
    'six': lambda: converse(socket.socket(socket.AF_INET6)),
    'datagram': lambda: converse(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    'high-bits': lambda: by_number(socket.AF_INET | 1 << 32, socket.SOCK_STREAM | 1 << 33, 1 << 34),
}

address, proxy = sys.argv[2], os.environ.get('http_proxy', '')
if sys.argv[3] == 'proxy':
    port = urllib.parse.urlsplit(proxy).port
    print(port, flush=True)
    sys.stdin.readline()
else:
    port = int(sys.argv[3])
try:
    print('reached:', WAYS[sys.argv[1]]().decode())
except OSError as error:
    print(errno.errorcode.get(error.errno, 'silence'))
