"""Queries a name server: `dns_query.py SERVER udp|tcp TYPE NAME`. TYPE is a number; each label of NAME is in hexadecimal.
Prints the response code and the addresses in the answer, or the error."""
import errno
import socket
import struct
import sys

TIMEOUT = 3        # seconds
ADDRESSES = {1: socket.AF_INET, 28: socket.AF_INET6}


def exchange(server, transport, packet):
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if transport == 'tcp' else socket.SOCK_DGRAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect((server, 53))
        if transport == 'udp':
            connection.send(packet)
            return connection.recv(65536)
        connection.sendall(struct.pack('!H', len(packet)) + packet)
        with connection.makefile('rb') as stream:
            return stream.read(int.from_bytes(stream.read(2), 'big'))


def skip_name(packet, offset):
    while packet[offset]:
        if packet[offset] >= 0xc0:
            return offset + 2
        offset += 1 + packet[offset]
    return offset + 1


def read_addresses(packet, count):
    offset = skip_name(packet, 12) + 4
    for _ in range(count):
        offset = skip_name(packet, offset)
        kind, _, _, length = struct.unpack_from('!HHIH', packet, offset)
        data = packet[offset + 10:offset + 10 + length]
        offset += 10 + length
        if kind in ADDRESSES:
            yield socket.inet_ntop(ADDRESSES[kind], data)


server, transport, kind, name = sys.argv[1:]
labels = [bytes.fromhex(label) for label in name.split('.')]
question = b''.join(bytes([len(label)]) + label for label in labels) + struct.pack('!xHH', int(kind), 1)
try:
    answer = exchange(server, transport, struct.pack('!HHHHHH', 4711, 0x0100, 1, 0, 0, 0) + question)
    print(answer[3] & 15, *read_addresses(answer, int.from_bytes(answer[6:8], 'big')))
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
except (IndexError, struct.error):
    print('no answer')
