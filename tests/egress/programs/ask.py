"""Asks a name server: `ask.py SERVER udp|tcp TYPE NAME`, the type as a number, each label of the name in hexadecimal.
Prints the code of the answer and the addresses in it, or why there is none."""
import errno
import socket
import struct
import sys

PATIENCE = 3        # seconds
ADDRESSES = {1: socket.AF_INET, 28: socket.AF_INET6}


def exchange(server, transport, packet):
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if transport == 'tcp' else socket.SOCK_DGRAM) as connection:
        connection.settimeout(PATIENCE)
        connection.connect((server, 53))
        if transport == 'udp':
            connection.send(packet)
            return connection.recv(65536)
        connection.sendall(struct.pack('!H', len(packet)) + packet)
        with connection.makefile('rb') as stream:
            return stream.read(int.from_bytes(stream.read(2), 'big'))


def skip_name(packet, place):
    while packet[place]:
        if packet[place] >= 0xc0:
            return place + 2
        place += 1 + packet[place]
    return place + 1


def read_addresses(packet, count):
    place = skip_name(packet, 12) + 4
    for _ in range(count):
        place = skip_name(packet, place)
        kind, _, _, length = struct.unpack_from('!HHIH', packet, place)
        data = packet[place + 10:place + 10 + length]
        place += 10 + length
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
