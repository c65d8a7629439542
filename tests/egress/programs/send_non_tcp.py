"""Sends data by a protocol other than TCP: `send_non_tcp.py KIND ADDRESS [PORT]`. Prints the reply, or the error."""
import errno
import socket
import struct
import sys

TIMEOUT = 2        # seconds
ECHO_REQUEST = {4: 8, 6: 128}
IPPROTO_MPTCP, IPPROTO_UDPLITE, IPPROTO_SCTP, ETH_P_ALL = 262, 136, 132, 3


def checksum(data):
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def echo_request(version):
    body = struct.pack('!BBHHH8s', ECHO_REQUEST[version], 0, 0, 1, 1, b'a word..')
    return body[:2] + struct.pack('!H', checksum(body)) + body[4:]


def exchange(kind, protocol, data):
    with socket.socket(family, kind, protocol) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect((address, port))
        connection.send(data)
        return connection.recv(1000)


def ping(kind):
    version, protocol = (6, socket.IPPROTO_ICMPV6) if family == socket.AF_INET6 else (4, socket.IPPROTO_ICMP)
    return exchange(kind, protocol, echo_request(version))


def open_packet_socket():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)):
        return b'a socket'


KINDS = {
    'udp': lambda: exchange(socket.SOCK_DGRAM, 0, b'a word'),
    'udplite': lambda: exchange(socket.SOCK_DGRAM, IPPROTO_UDPLITE, b'a word'),
    'mptcp': lambda: exchange(socket.SOCK_STREAM, IPPROTO_MPTCP, b'GET / HTTP/1.0\r\n\r\n'),
    'sctp': lambda: exchange(socket.SOCK_STREAM, IPPROTO_SCTP, b'a word'),
    'ping': lambda: ping(socket.SOCK_DGRAM),
    'raw-ping': lambda: ping(socket.SOCK_RAW),
    'packets': open_packet_socket,
}

address, port = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
family = socket.AF_INET6 if ':' in address else socket.AF_INET
try:
    print('reached:', KINDS[sys.argv[1]]().hex())
except OSError as error:
    print(errno.errorcode.get(error.errno, 'silence'))
