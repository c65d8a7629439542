"""Many connections at once: `crowd.py NAME PORT COUNT quiet|slow|names|packets SECONDS`. Prints how many it made, and
what one more client got.

quiet: they say nothing. slow: each says a byte of an HTTP head every 100 ms, and another client fetches. names: so
many names below the name are looked up. packets: so many of the largest datagrams go to the name server.
"""
import os
import socket
import struct
import sys
import time

name, port, count, how, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5])
HEAD = f'GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n'.encode()


def connect_many():
    address = socket.getaddrinfo(name, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    made = []
    for _ in range(count):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(address)
        made.append(connection)
    return made


def drip(connections):
    end, place = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for connection in connections:
            try:
                connection.send(HEAD[place:place + 1])
            except OSError:
                pass
        place += 1
        time.sleep(0.1)


def fetch():
    with socket.create_connection((name, port), 5) as connection:
        connection.sendall(HEAD)
        answer = b''
        while data := connection.recv(65536):
            answer += data
    return answer.partition(b'\r\n\r\n')[2].decode().strip()


def ask(server, label):
    labels = b''.join(bytes([len(part)]) + part for part in (label, *name.encode().split(b'.')))
    server.send(struct.pack('!HHHHHH', 1, 0x0100, 1, 0, 0, 0) + labels + struct.pack('!xHH', 1, 1))
    return server.recv(4096)[3] & 15


def resolver():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.settimeout(5)
    server.connect(('127.0.0.1', 53))
    return server


if how == 'names':
    with resolver() as server:
        codes = [ask(server, b'n%d' % number) for number in range(count)]
    print(len(codes), sorted(set(codes)))
elif how == 'packets':
    with resolver() as server:
        for _ in range(count):
            server.send(os.urandom(60000))
    print(fetch())
elif how == 'slow':
    crowd = connect_many()
    child = os.fork()
    if child == 0:
        drip(crowd)
        os._exit(0)
    time.sleep(seconds / 2)
    print(len(crowd), fetch())
    os.waitpid(child, 0)
else:
    crowd = connect_many()
    time.sleep(seconds)
    print(len(crowd), flush=True)
    for member in crowd:
        member.close()
    print(fetch() if port == 80 else 'done')
