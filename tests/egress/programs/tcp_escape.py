"""Tries to leave the machine by a socket, at level standard: `tcp_escape.py WAY ADDRESS PORT [OWN-ADDRESS]`. Prints what
came back, or the error.

If PORT is "proxy", it is the port of http_proxy. Then the program prints it, and continues when it has read a line.
"""
import ctypes
import errno
import os
import socket
import struct
import sys
import urllib.parse

TIMEOUT = 1        # seconds
HOST_PORT = 8080    # a service on the host
IPPROTO_MPTCP, TCP_FASTOPEN_CONNECT, IP_OPTIONS, LOOSE_ROUTE = 262, 30, 4, 131
MESSAGE = b'a word'
libc = ctypes.CDLL(None, use_errno=True)


def pass_unspecified(call, connection):
    """Calls bind() or connect() with an address of family AF_UNSPEC."""
    address_bytes = struct.pack('H14x', socket.AF_UNSPEC)
    call(connection.fileno(), address_bytes, len(address_bytes))


def ignore_errors(action, *arguments):
    """Calls the action. Only the connection that follows matters, so errors are ignored."""
    try:
        action(*arguments)
    except OSError:
        pass


def exchange(connection):
    connection.settimeout(TIMEOUT)
    connection.connect((address, port))
    connection.send(MESSAGE)
    return connection.recv(100)


def connect_after(*actions):
    """Connects a socket after these actions on it."""
    connection = socket.socket()
    for action in actions:
        ignore_errors(action, connection)
    return exchange(connection)


def connect_again():
    """Connects to the loopback, dissolves that connection by AF_UNSPEC, and connects to the address."""
    connection = socket.socket()
    connection.connect(('127.0.0.1', port if proxy else HOST_PORT))
    pass_unspecified(libc.connect, connection)
    return exchange(connection)


def send_without_connect(flags):
    connection = socket.socket()
    connection.sendto(MESSAGE, flags, (address, port))
    connection.settimeout(TIMEOUT)
    return connection.recv(100)


def call_socket(family, kind, protocol):
    """Makes the system call socket() itself, with arguments that a library would not pass."""
    fd = libc.syscall(ctypes.c_long(41 if os.uname().machine == 'x86_64' else 198), ctypes.c_ulong(family),
                      ctypes.c_ulong(kind),
                      ctypes.c_ulong(protocol))
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'socket')
    return exchange(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fd))


def bind_to_device(name):
    return lambda connection: connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name)


WAYS = {
    'connect': connect_after,
    'disconnected': connect_again,
    'bound-anywhere': lambda: connect_after(lambda s: s.bind(('0.0.0.0', 0))),
    'bound-to-own': lambda: connect_after(lambda s: s.bind((sys.argv[4], 0))),
    'bound-unspecified': lambda: connect_after(lambda s: pass_unspecified(libc.bind, s)),
    'reused': lambda: connect_after(lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1),
                                    lambda s: s.bind(('', 0))),
    'device': lambda: connect_after(bind_to_device(b'eth0')),
    'any-device': lambda: connect_after(bind_to_device(b'')),
    'source-route': lambda: connect_after(lambda s: s.setsockopt(
        socket.IPPROTO_IP, IP_OPTIONS, bytes([LOOSE_ROUTE, 7, 4, 127, 0, 0, 1, 0]))),
    'fast-open': lambda: send_without_connect(socket.MSG_FASTOPEN),
    'fast-open-connect': lambda: connect_after(lambda s: s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)),
    'multipath': lambda: exchange(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)),
    'six': lambda: exchange(socket.socket(socket.AF_INET6)),
    'datagram': lambda: exchange(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    'high-bits': lambda: call_socket(socket.AF_INET | 1 << 32, socket.SOCK_STREAM | 1 << 33, 1 << 34),
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
