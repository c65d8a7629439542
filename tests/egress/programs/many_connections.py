"""Puts load on egress: `many_connections.py NAME PORT COUNT quiet|slow|names|packets SECONDS`. Prints what it did.

quiet: COUNT connections that send nothing for SECONDS; prints COUNT, closes them, and prints what a further client
fetched, or "done" if PORT is not 80. slow: COUNT connections that each send a byte of an HTTP request every 100 ms for
SECONDS; prints COUNT and what a further client fetched meanwhile. names: looks up COUNT names below NAME; prints COUNT
and the response codes. packets: sends COUNT very large datagrams to the name server; prints what a client then fetched.
"""
import os
import socket
import struct
import sys
import time

name, port, count, mode, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5])
REQUEST = f'GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n'.encode()


def connect_many():
    address = socket.getaddrinfo(name, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    connections = []
    for _ in range(count):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(address)
        connections.append(connection)
    return connections


def send_bytewise(connections):
    end, offset = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for connection in connections:
            try:
                connection.send(REQUEST[offset:offset + 1])
            except OSError:
                pass
        offset += 1
        time.sleep(0.1)


def fetch():
    with socket.create_connection((name, port), 5) as connection:
        connection.sendall(REQUEST)
        answer = b''
        while data := connection.recv(65536):
            answer += data
    return answer.partition(b'\r\n\r\n')[2].decode().strip()


def look_up(server, label):
    """The response code for LABEL.NAME."""
    labels = b''.join(bytes([len(part)]) + part for part in (label, *name.encode().split(b'.')))
    server.send(struct.pack('!HHHHHH', 1, 0x0100, 1, 0, 0, 0) + labels + struct.pack('!xHH', 1, 1))
    return server.recv(4096)[3] & 15


def connect_to_resolver():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.settimeout(5)
    server.connect(('127.0.0.1', 53))
    return server


if mode == 'names':
    with connect_to_resolver() as server:
        codes = [look_up(server, b'n%d' % number) for number in range(count)]
    print(len(codes), sorted(set(codes)))
elif mode == 'packets':
    with connect_to_resolver() as server:
        for _ in range(count):
            server.send(os.urandom(60000))
    print(fetch())
elif mode == 'slow':
    crowd = connect_many()
    child = os.fork()
    if child == 0:
        send_bytewise(crowd)
        os._exit(0)
    time.sleep(seconds / 2)
    print(len(crowd), fetch())
    os.waitpid(child, 0)
else:
    crowd = connect_many()
    time.sleep(seconds)
    print(len(crowd), flush=True)
    for idle_connection in crowd:
        idle_connection.close()
    print(fetch() if port == 80 else 'done')
